"""Hashes the shingles of a text (runs of consecutive words) as Lucene does; `Scheme` holds the parameters.

The package `compiled` computes the same numbers faster, for large amounts of text.

Source: org.apache.lucene.analysis.minhash.MinHashFilter (identical in Lucene 8, 9 and 10): MurmurHash3_x64_128 with
seed 0 of the shingle's UTF-16LE bytes, combined with the hash of the hash function's number.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache
from itertools import chain, islice, pairwise
from typing import Any, Self

import mmh3
import numpy as np
import numpy.typing as npt

from whorl.errors import ParameterError, SchemeMismatchError, require_int
from whorl.fingerprint.words.tokenizer import CHARACTERS, DEFAULT_PROFILE, PROFILES, buffers, segmenter_of
from whorl.request_context import timely

#: Format of `Scheme.name`. The name omits the last three parts if they are the defaults of Lucene's filter.
_NAME = re.compile(r"minhash1-(\w+)-w(\d{1,3})-b(\d{1,5})(?:-h(\d{1,4}))?(?:-s(\d{1,5}))?(-unrotated)?", re.ASCII)
#: Upper limits of the parameters: far above practical values, but a signature still fits in memory.
_LARGEST = {"shingle_size": 999, "bucket_count": 65536, "hash_count": 1024, "hash_set_size": 65536}


@dataclass(frozen=True, slots=True)
class Scheme:
    """All parameters of a signature. Signatures of different schemes cannot be compared.

    Args:
        profile: Word-break profile (the ICU tables that split the text into words), or CHARACTERS.
        shingle_size: Number of words, or of characters, per shingle, 1 to 999.
        bucket_count: Number of buckets of the hash space, 1 to 65536; Lucene's bucketCount.
        hash_count: Number of hash functions, each with separate buckets, 1 to 1024; Lucene's hashCount.
        hash_set_size: Number of smallest hashes kept per bucket, 1 to 65536; Lucene's hashSetSize.
        rotation: Whether an empty bucket repeats the token of the next filled bucket; Lucene's withRotation. Always
            True if rotation has no effect (one bucket, or several hashes per bucket).
        version: Revision of the hash computation; earlier revisions stay available.

    Raises:
        ParameterError: A number is out of range.
    """

    profile: str = DEFAULT_PROFILE
    shingle_size: int = 5
    bucket_count: int = 512
    hash_count: int = 1
    hash_set_size: int = 1
    rotation: bool = True
    version: int = 1

    def __post_init__(self) -> None:
        for part, largest in _LARGEST.items():
            value = require_int(part.replace("_", " "), getattr(self, part))
            object.__setattr__(self, part, value)
            if not 1 <= value <= largest:
                raise ParameterError(f"{part.replace('_', ' ')} is 1 to {largest}, got {value}")
        if self.bucket_count == 1 or self.hash_set_size > 1:
            object.__setattr__(self, "rotation", True)

    @property
    def fills_every_bucket(self) -> bool:
        """Whether a signature has exactly one token per bucket, in order. Bands and the compiled loops require this."""
        return self.hash_count == 1 and self.hash_set_size == 1 and self.rotation

    @property
    def unit(self) -> str:
        return CHARACTERS if self.profile == CHARACTERS else "words"

    @property
    def name(self) -> str:
        """Name of the scheme, as stored and shown: `minhash1-icu74-w5-b512`."""
        more = f"-h{self.hash_count}" if self.hash_count > 1 else ""
        more += f"-s{self.hash_set_size}" if self.hash_set_size > 1 else ""
        more += "" if self.rotation else "-unrotated"
        return f"minhash{self.version}-{self.profile}-{self.unit[0]}{self.shingle_size}-b{self.bucket_count}{more}"

    @classmethod
    def parse(cls, name: str) -> Self:
        """Parse a scheme name: a full name, or the word-break profile alone.

        >>> Scheme.parse("minhash1-icu77-w5-b1-s512").hash_set_size
        512
        """
        whole = _NAME.fullmatch(name)
        profile = whole[1] if whole else name
        if profile not in PROFILES:
            known = ", ".join(PROFILES)
            raise ParameterError(
                f"there is no scheme {name!r:.80}; name {known}, or a whole one as {cls().name}, with -h2 for two hash "
                "functions, -s3 for three hashes in a bucket, -unrotated for empty buckets left empty"
            )
        if not whole:
            return cls(profile)
        words, buckets, functions, set_size = (int(part) if part else 1 for part in whole.groups()[1:5])
        return cls(profile, words, buckets, functions, set_size, rotation=not whole[6])

    def require(self, other: Scheme) -> None:
        if differences := differing_fields(self, other):
            raise SchemeMismatchError(f"signatures differ in {differences}; make both under one scheme")


def differing_fields(one: Any, other: Any) -> str:
    """Describe the fields that differ between two dataclass objects, with both values."""
    names = [field.name for field in fields(one) if getattr(one, field.name) != getattr(other, field.name)]
    return ", ".join(f"{name} ({getattr(one, name)} and {getattr(other, name)})" for name in names)


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_MULTIPLIER = np.uint64(37)
_ENCODED_BLANK = np.array([0x20, 0], np.uint8)
_WHITE_SPACE = re.compile(r"\s+")
#: Number of characters per piece of a long text with the profile CHARACTERS, where every character is a word.
_CHARACTERS_IN_PIECE = 1 << 18
#: Number of Lucene's buffers per piece of a long text with all profiles except CHARACTERS. A piece then has about a
#: million characters, which limits the memory.
_BUFFERS_IN_PIECE = 256
#: Number of words measured or hashed between two checks of the deadline.
_WORDS_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True)
class JoinedWords:
    """The folded words of a text in UTF-16LE, separated by single blanks, with U+FFFD for each lone surrogate.

    `starts` has the byte offset of each word, and at the end the offset at which another word would start. A word ends
    2 bytes (a blank) before the next start.
    """

    encoded: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.int64]

    def words(self) -> list[str]:
        text = self.encoded.tobytes().decode("utf-16-le")
        if text.count(" ") == len(self.starts) - 2:
            return text.split(" ")
        raw, ends = self.encoded.tobytes(), self.starts.tolist()
        return [raw[start : end - 2].decode("utf-16-le") for start, end in pairwise(ends)]

    @classmethod
    def concatenate(cls, parts: Iterable[JoinedWords]) -> JoinedWords:
        filled = [part for part in parts if len(part.starts) > 1]
        if len(filled) <= 1:
            return filled[0] if filled else join([])
        offsets = np.cumsum([0, *(part.starts[-1] for part in filled)])
        starts = [part.starts[:-1] + offset for part, offset in zip(filled, offsets.tolist(), strict=False)]
        encoded = [array for part in filled for array in (_ENCODED_BLANK, part.encoded)]
        return cls(np.concatenate(encoded[1:]), np.concatenate([*starts, offsets[-1:]]))

    def last_words(self, count: int) -> JoinedWords:
        starts = self.starts[-count - 1 :]
        return JoinedWords(self.encoded[starts[0] :], starts - starts[0])


def join(words: Sequence[str]) -> JoinedWords:
    # Separate the words by blanks, so that each shingle is a slice of the joined words.
    encoded = java_utf16(" ".join(words))
    return JoinedWords(np.frombuffer(encoded, np.uint8), _starts(words, encoded))


def lucene_hashes(murmur: npt.NDArray[np.uint64], number: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return Lucene's hashes of shingles for the hash function with this number, as high halves and low halves.

    `murmur` has both halves of each shingle's murmur hash. Lucene combines the murmur hash with the number
    (combineOrdered), even if the number is 0. The high half determines the bucket and the order; the low half decides
    ties.
    """
    first, second = hash_of_number(number).tolist()
    high, low = murmur[:, 1] * _MULTIPLIER, murmur[:, 0] * _MULTIPLIER
    high += np.uint64(second)
    low += np.uint64(first)
    return high, low


@cache
def hash_of_number(number: int) -> npt.NDArray[np.uint64]:
    """Return the two 64-bit halves of the murmur hash of a number's four big-endian bytes."""
    return np.frombuffer(mmh3.mmh3_x64_128_digest(number.to_bytes(4, "big"), 0), dtype="<u8")


def _starts(words: Sequence[str], encoded: bytes) -> npt.NDArray[np.int64]:
    if not words:
        return np.zeros(1, np.int64)
    blanks = np.flatnonzero(np.frombuffer(encoded, "<u2") == ord(" "))
    if len(blanks) == len(words) - 1:
        return np.concatenate(([0], 2 * (blanks + 1), [len(encoded) + 2]))
    # Folding inserts blanks into some words, such as Arabic ligatures. So the blanks do not show where words start:
    # compute the starts from the lengths of the words.
    lengths = np.fromiter(map(len, timely(words, _WORDS_AT_ONCE)), np.int64, len(words))
    if 2 * (int(lengths.sum()) + len(words) - 1) != len(encoded):
        # Characters beyond the first plane take two units, so encode each word to get its length.
        encoded_words = (len(java_utf16(word)) // 2 for word in timely(words, _WORDS_AT_ONCE))
        lengths = np.fromiter(encoded_words, np.int64, len(words))
    return np.concatenate(([0], np.cumsum(2 * (lengths + 1))))


def java_utf16(text: str) -> bytes:
    """Encode a text like Java's UTF-16LE encoder: without a byte-order mark, with U+FFFD for each lone surrogate."""
    try:
        return text.encode("utf-16-le")
    except UnicodeEncodeError:
        return well_formed(text).encode("utf-16-le")


def well_formed(text: str) -> str:
    """Join surrogate pairs and write U+FFFD for each lone surrogate, like every UTF-8 writer of Lucene."""
    # Nearly all texts are well-formed, and checking is much faster than converting, so check first.
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        pass
    else:
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _LONE_SURROGATE.sub("\ufffd", joined)


def pieces(text: str, profile: str = DEFAULT_PROFILE) -> Iterator[JoinedWords]:
    """Yield the folded words of a text in order, in pieces that end where a buffer of Lucene's tokenizer ends.

    With the profile CHARACTERS, yield the characters instead, in Unicode's form NFKC, case-folded, with one blank for
    each run of white space.
    """
    if profile == CHARACTERS:
        folded = _WHITE_SPACE.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()
        for at in range(0, len(folded), _CHARACTERS_IN_PIECE):
            yield join(folded[at : at + _CHARACTERS_IN_PIECE])
        return
    segmenter, unread = segmenter_of(profile), buffers(text)
    while piece := list(islice(unread, _BUFFERS_IN_PIECE)):
        yield join(list(chain.from_iterable(map(segmenter.words, piece))))


def murmur(words: JoinedWords, size: int) -> npt.NDArray[np.uint64]:
    """Return both halves of the murmur hash of every shingle, in order; uint64 array of shape (shingles, 2)."""
    encoded, starts, digest = words.encoded.tobytes(), words.starts.tolist(), mmh3.mmh3_x64_128_digest
    slices = timely(zip(starts, starts[size:], strict=False), _WORDS_AT_ONCE)
    return np.frombuffer(b"".join([digest(encoded[start : end - 2], 0) for start, end in slices]), "<u8").reshape(-1, 2)


def murmur_pieces(read: Iterable[JoinedWords], size: int) -> Iterator[npt.NDArray[np.uint64]]:
    """Yield the result of `murmur` for each piece of a text, including shingles that begin in the previous piece."""
    before = join([])
    for piece in read:
        words = JoinedWords.concatenate((before, piece))
        yield murmur(words, size)
        before = words.last_words(size - 1)
