"""Reference implementation of the fingerprint: slow, with Python integers, following Lucene's filter step by step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import mmh3
import numpy as np

from whorl.fingerprint.minhash.signature_and_tokens import Signature, minima_of
from whorl.fingerprint.shingling import JoinedWords, Scheme, pieces
from whorl.fingerprint.sketch.frac_minhash import Sketch, SketchScheme, sketch_of_distinct
from whorl.fingerprint.words.tokenizer import tokens

_MASK = (1 << 64) - 1


def plain_minima(words: list[str], bucket_count: int) -> list[tuple[int, int]]:
    """Return the minimum (high half, low half) of each bucket, after rotation; empty for fewer than five words."""
    tokens = plain_filter(words, Scheme(bucket_count=bucket_count))
    return [(token >> 64, token & _MASK) for token in tokens]


def plain_filter(words: list[str], scheme: Scheme) -> list[int]:
    """Return the 128-bit tokens that Lucene's MinHash filter emits for the words, in its order, under any scheme."""
    size = scheme.shingle_size
    tokens = []
    for number in range(scheme.hash_count if len(words) >= size else 0):
        number_1, number_2 = mmh3.hash64(number.to_bytes(4, "big"), 0, x64arch=True, signed=False)
        buckets: dict[int, list[tuple[int, int]]] = {}
        for at in range(len(words) - size + 1):
            half_1, half_2 = mmh3.hash64(java_bytes(" ".join(words[at : at + size])), 0, x64arch=True, signed=False)
            value = ((half_2 * 37 + number_2) & _MASK, (half_1 * 37 + number_1) & _MASK)
            bucket_values = buckets.setdefault((value[0] >> 32) // -(-(1 << 32) // scheme.bucket_count), [])
            if len(bucket_values) == scheme.hash_set_size:
                if value >= max(bucket_values):
                    continue
                bucket_values.remove(max(bucket_values))  # as Lucene does, even if the value is already in the set
            if value not in bucket_values:
                bucket_values.append(value)
        for bucket in range(scheme.bucket_count):
            if scheme.rotation and scheme.hash_set_size == 1:
                while bucket not in buckets:
                    bucket = (bucket + 1) % scheme.bucket_count
            for value in sorted(buckets.get(bucket, [])):
                short = number << 96 | value[0] << 32 | value[1] >> 32
                tokens.append(value[0] << 64 | value[1] if scheme.hash_count == 1 else short)
    return tokens


def shingles(words: Sequence[str], size: int = 5) -> list[str]:
    """Return every window of words, joined by one space, like Lucene's ShingleFilter without unigrams."""
    return [" ".join(words[at : at + size]) for at in range(len(words) - size + 1)]


def java_bytes(text: str) -> bytes:
    """Encode in UTF-16LE with U+FFFD for lone surrogates."""
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in joined).encode("utf-16-le")


def plain_token(high: int) -> str:
    """Spell 64 bits as the index does: as four UTF-16 units, surrogate pairs joined into one character."""
    units = [(high >> shift) & 0xFFFF for shift in (48, 32, 16, 0)]
    spelled, at = "", 0
    while at < 4:
        unit = units[at]
        following = units[at + 1] if at < 3 else 0
        if 0xD800 <= unit < 0xDC00 and 0xDC00 <= following < 0xE000:
            spelled += chr(0x10000 + ((unit - 0xD800) << 10) + (following - 0xDC00))
            at += 2
        else:
            spelled += "\ufffd" if 0xD800 <= unit < 0xE000 else chr(unit)
            at += 1
    return spelled


def plain_signature(text: str) -> Signature:
    """Return the signature of a text under the default scheme."""
    return Signature(Scheme(), np.array([high for high, _ in plain_minima(tokens(text), 512)], np.uint64))


@cache
def plain_tokens(text: str) -> tuple[str, ...]:
    """Return the tokens of a text under the default scheme, in the spelling of an index."""
    return tuple(plain_token(high) for high, _ in plain_minima(tokens(text), 512))


def murmur_halves(words: list[str], size: int) -> np.ndarray:
    """Return murmur's two halves of every shingle, in text order: uint64 array of shape (shingles, 2)."""
    shingles = (java_bytes(" ".join(words[at : at + size])) for at in range(len(words) - size + 1))
    raw = b"".join([mmh3.mmh3_x64_128_digest(shingle, 0) for shingle in shingles])
    return np.frombuffer(raw, "<u8").reshape(-1, 2)


def full_minima(words: list[str], scheme: Scheme) -> np.ndarray:
    """Return the `minima_of` of the words' shingles, hashed one by one."""
    return minima_of([murmur_halves(words, scheme.shingle_size)], scheme)


def sketch_of(hashes: np.ndarray, scheme: SketchScheme) -> Sketch:
    """Return the sketch of unsorted hashes that may repeat."""
    return sketch_of_distinct(np.unique(hashes), scheme)


def read_joined_words(text: str, profile: str) -> JoinedWords:
    return JoinedWords.concatenate(pieces(text, profile))
