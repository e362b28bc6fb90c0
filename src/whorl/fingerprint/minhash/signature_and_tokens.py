"""Computes the MinHash signature of a text, and converts it to and from the tokens of an index.

A signature is a one-permutation MinHash. The hashes of a text's shingles fall into buckets by their top bits, and the
signature has the smallest hash of each bucket. Lucene's MinHashFilter computes the same hashes (identical in Lucene 8,
9 and 10). Rotation fills an empty bucket with the hash of the next filled bucket. A token is a hash of the signature,
encoded for an index.

An index keeps each token once, without its bucket. The first UTF-16 unit of the token determines the bucket (the first
two units, if the number of buckets is not a power of two). A token repeated by rotation belongs to its own bucket and
to the empty buckets directly before it.

An index writes U+FFFD for a unit that is a lone surrogate. So the order of tokens that begin with U+FFFD (buckets 432
to 447 of 512, sometimes 511) is unknown, and the number of their repetitions is uncertain. Alfresco drops the leading
zeros of units, and so loses the borders between units.

Computations that decide about hits use exact fractions.

Source: MinHashFilter's rotation; UnicodeUtil.UTF16toUTF8.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from itertools import groupby, pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import counts_in_groups, find_sorted, is_first_of_group
from whorl.errors import ParameterError
from whorl.fingerprint.minhash.bucket_estimates import Buckets, buckets_of
from whorl.fingerprint.shingling import Scheme, lucene_hashes, murmur_pieces, pieces

#: Smallest and largest number of digits in Alfresco's tokens, which have eight units of one to four digits, and
#: almost always at least 20 digits.
ALFRESCO_LENGTHS = (20, 32)
ALFRESCO_TOKEN = re.compile(rf"[0-9a-f]{{{ALFRESCO_LENGTHS[0]},{ALFRESCO_LENGTHS[1]}}}")

#: Character that an index writes for a lone surrogate.
_LOST = 0xFFFD


class TokenEncoding(Enum):
    """Encoding of tokens in an index: number of bits kept, and form of each 16-bit unit."""

    UNITS_4 = "64-bit tokens, four UTF-16 units"
    UNITS_8 = "128-bit tokens, eight UTF-16 units"
    HEX = "Alfresco's hexadecimal, units without leading zeros"


#: Number of bytes per token in `read_tokens`. A UTF-16 unit takes two bytes, and a hexadecimal digit takes one.
_BYTES = {TokenEncoding.UNITS_4: 8, TokenEncoding.UNITS_8: 16, TokenEncoding.HEX: 32}


def write_tokens(hashes: npt.NDArray[np.uint64], encoding: TokenEncoding = TokenEncoding.UNITS_4) -> tuple[str, ...]:
    """Encode hashes as tokens of an index; `read_tokens` is the inverse.

    `hashes` has both halves of each hash, or only the high half. The encodings are:

    - UNITS_4: MinHashFilter's term, cut by TruncateTokenFilter(prefixLength=4)
    - UNITS_8: MinHashFilter's whole term
    - HEX: the form that Alfresco stores (SolrInformationServer: Integer.toHexString of each unit)

    The first two encodings replace lone surrogates with U+FFFD, as an index does (UnicodeUtil.UTF16toUTF8).
    """
    if not len(hashes):
        return ()
    if encoding is not TokenEncoding.HEX:
        units, is_pair = _well_formed_units(hashes, encoding)
        text = units.tobytes().decode("utf-16-be")
        ends = np.cumsum(units.shape[1] - is_pair.sum(axis=1)).tolist()
        return tuple([text[start:end] for start, end in pairwise([0, *ends])])
    units = _units(hashes, encoding)
    if units.shape[1] * 2 == _BYTES[TokenEncoding.HEX]:
        return tuple(bytes(letters).rstrip(b"\0").decode(errors="replace") for letters in units)
    return tuple("".join(f"{unit:x}" for unit in row) for row in units.tolist())


def _units(hashes: npt.NDArray[np.uint64], encoding: TokenEncoding) -> npt.NDArray[np.uint16]:
    words = hashes.reshape(len(hashes), -1)
    if encoding is TokenEncoding.UNITS_4:
        words = words[:, :1]
    return words.astype(">u8").view(">u2").reshape(len(words), -1)


def _well_formed_units(
    hashes: npt.NDArray[np.uint64], encoding: TokenEncoding
) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.bool_]]:
    """Return the 16-bit units of tokens (U+FFFD for lone surrogates), and a mask of the starts of surrogate pairs."""
    units = _units(hashes, encoding)
    if not ((units & 0xF800) == 0xD800).any():
        # Most tokens from an index have no surrogates, because an index replaces lone surrogates, so skip the search.
        return units, np.zeros((len(units), units.shape[1] - 1), np.bool_)
    is_high, is_low = (units & 0xFC00) == 0xD800, (units & 0xFC00) == 0xDC00
    # Look for pairs row by row, because the last unit of a token does not form a pair with the first of the next token.
    is_pair = is_high[:, :-1] & is_low[:, 1:]
    is_lone = is_high | is_low
    is_lone[:, :-1] &= ~is_pair
    is_lone[:, 1:] &= ~is_pair
    units[is_lone] = _LOST
    return units, is_pair


def as_indexed(hashes: npt.NDArray[np.uint64], encoding: TokenEncoding) -> npt.NDArray[np.uint64]:
    """Convert hashes to the numbers in an index: `read_tokens(write_tokens(hashes))`. UNITS_8 keeps both halves."""
    if encoding is TokenEncoding.HEX or not len(hashes):
        return read_tokens(write_tokens(hashes, encoding), encoding)
    words = _well_formed_units(hashes, encoding)[0].view(">u8").astype(np.uint64)
    return words.reshape(-1) if encoding is TokenEncoding.UNITS_4 else words


def read_tokens(tokens: Sequence[str], encoding: TokenEncoding = TokenEncoding.UNITS_4) -> npt.NDArray[np.uint64]:
    r"""Decode an index's tokens to distinct numbers; `write_tokens` is the inverse.

    Returns:
        uint64 array of shape (tokens,) for UNITS_4, (tokens, 2) for UNITS_8: the part of each hash that the index has.
            For HEX, the hash is uncertain, so the array has shape (tokens, 4) and contains the letters of each token in
            ASCII.

    >>> [hex(number) for number in read_tokens(["ab\U0001f600"])]
    ['0x610062d83dde00']
    """
    size, codec = _BYTES[encoding], "utf-8" if encoding is TokenEncoding.HEX else "utf-16-be"
    # A token of another length matches no document, so cut or pad it to the usual length.
    raw = b"".join([token.encode(codec, "surrogatepass")[:size].ljust(size, b"\0") for token in tokens])
    words = np.frombuffer(raw, ">u8").astype(np.uint64)
    return words if size == _BYTES[TokenEncoding.UNITS_4] else words.reshape(len(tokens), size // 8)


def integers(hashes: npt.NDArray[np.uint64]) -> tuple[int, ...]:
    """Return each token as one integer; the bits of the first column are the highest."""
    if hashes.ndim == 1:
        return tuple(hashes.tolist())
    raw, size = hashes.astype(">u8").tobytes(), 8 * hashes.shape[1]
    return tuple(int.from_bytes(raw[at : at + size], "big") for at in range(0, len(raw), size))


def write_integer_tokens(numbers: Sequence[int], encoding: TokenEncoding) -> tuple[str, ...]:
    size = _BYTES[encoding]
    raw = b"".join([number.to_bytes(size, "big") for number in numbers])
    return write_tokens(np.frombuffer(raw, ">u8").reshape(-1, size // 8), encoding)


_SURROGATES = (0xD800, 0xDFFF)
_REPLACEMENT = "\ufffd"
#: Largest value of a hash's top 32 bits for which the first unit has fewer than four digits in Alfresco.
_LARGEST_SHORT_UNIT = 0x0FFF_FFFF
#: Base of the digits in Alfresco's tokens, and the shift of each of the first sixteen digits in a 64-bit number.
_BASE, _WORD = 16, np.arange(60, -1, -4, dtype=np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """A document's tokens, in Lucene's order.

    Args:
        hashes: uint64 array of shape (tokens,) with the top 64 bits of each token, or an array from `read_tokens` for
            `encoding`. Most schemes have one token for each bucket, in order; rotation fills empty buckets. The array
            is empty for a text with fewer words than a shingle.
        encoding: Token encoding of the index that the signature comes from or is compared with. An encoding loses parts
            of tokens; None means complete tokens.
        is_exact: False if the order or the repetitions of some tokens are guessed.
    """

    scheme: Scheme
    hashes: npt.NDArray[np.uint64]
    encoding: TokenEncoding | None = None
    is_exact: bool = True

    def __len__(self) -> int:
        return len(self.hashes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Signature):
            return NotImplemented
        mine, theirs = ((signature.scheme, signature.encoding, signature.is_exact) for signature in (self, other))
        return mine == theirs and np.array_equal(self.hashes, other.hashes)

    def __hash__(self) -> int:
        return hash((self.scheme, self.hashes.tobytes()))

    @property
    def tokens(self) -> tuple[str, ...]:
        """Tokens as strings, in the encoding of the index; without an index, in the encoding UNITS_4."""
        return write_tokens(self.hashes, self.encoding or TokenEncoding.UNITS_4)

    @property
    def integers(self) -> tuple[int, ...]:
        return integers(self.hashes)


def signature_of(minima: npt.NDArray[np.uint64], scheme: Scheme, encoding: TokenEncoding | None = None) -> Signature:
    """Return the signature of a text from the result of `text_minima`."""
    if encoding is None:
        return Signature(scheme, minima[:, 0])
    return Signature(scheme, as_indexed(minima, encoding), encoding)


def shared_tokens(source: Signature, other: Signature) -> int:
    """Count the tokens of the source, with their repetitions, that the other signature also has."""
    source.scheme.require(other.scheme)
    if len(other) and source.hashes.ndim == other.hashes.ndim == 1:
        return int(np.count_nonzero(find_sorted(np.sort(other.hashes), source.hashes)[1]))
    held = frozenset(other.integers)
    return sum(token in held for token in source.integers)


def from_distinct(
    repeats: Mapping[str, int], scheme: Scheme, encoding: TokenEncoding, *, has_repeats: bool, order_matters: bool
) -> Signature:
    """Rebuild a document's signature from its distinct tokens in an index, which has lost their order and buckets.

    `repeats` maps each token to its count in the signature if `has_repeats` (an index with rotation), otherwise to 1.
    If `order_matters` (it does for bands), a guessed order makes the signature inexact.
    """
    tokens, is_exact = _sort_by_bucket(repeats, scheme, has_repeats=has_repeats, order_matters=order_matters)
    return Signature(scheme, read_tokens(tokens, encoding), encoding, is_exact)


def combine_values(repeats: Mapping[str, int], scheme: Scheme) -> tuple[Mapping[str, int], bool]:
    """Combine the signatures of the values of a text field: keep only the smallest token of each bucket.

    Return the kept tokens with their counts, and whether all tokens were kept. If not, the counts are unknown, so they
    are 1. A token whose bucket is unreadable is kept. If the scheme has several tokens per bucket, all are kept.
    """
    if not scheme.fills_every_bucket:
        return repeats, True
    smallest: dict[int | str, str] = {}
    for token in sorted(repeats, key=_utf16_bytes):
        bucket = _bucket(token, scheme.bucket_count)
        smallest.setdefault(token if bucket is None else bucket, token)
    is_whole = len(smallest) == len(repeats)
    return (repeats if is_whole else dict.fromkeys(smallest.values(), 1)), is_whole


def bucket_of_each(signature: Signature) -> npt.NDArray[np.int64]:
    """Return the bucket of each token, or -1 if the bucket is unreadable."""
    count = signature.scheme.bucket_count
    if signature.encoding is TokenEncoding.HEX:
        return _read_alfresco_tokens(signature)[0]
    top, width = _words(signature) >> np.uint64(32), np.uint64(-(-(1 << 32) // count))
    buckets = (top // width).astype(np.int64)
    if signature.encoding is None:
        return buckets
    # If the second unit is U+FFFD, it may have been any surrogate. The bucket is certain only if the lowest surrogate,
    # which is farthest from U+FFFD, would give the same bucket.
    farthest = np.where(top & np.uint64(0xFFFF) == _LOST, top - np.uint64(_LOST - _SURROGATES[0]), top)
    is_sure = (top >> np.uint64(16) != _LOST) & (farthest // width == top // width)
    return np.where(is_sure, buckets, -1)


def _read_alfresco_tokens(signature: Signature) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64], bool]:
    """Return the buckets of Alfresco's tokens (-1 if unreadable), their top 64 bits, and whether all are exact.

    In a complete ordered list, the position of a token gives its bucket, and the bucket gives the length of its first
    unit. In any other list, this function assumes that the first unit has four letters. Later units are always read as
    if no zero were missing.

    The assumption is wrong for one token in sixteen. The function detects this if another token has the same bucket.
    Undetected errors do little harm, because a token is misread in the same way in every document.
    """
    count = signature.scheme.bucket_count
    # ASCII letters, padded with 0.
    letters = signature.hashes.astype(">u8").view(np.uint8).reshape(len(signature), -1)
    digits, lengths = _digits(letters), (letters != 0).sum(axis=1)
    is_token = (lengths >= ALFRESCO_LENGTHS[0]) & (digits < _BASE).all(axis=1)
    words = (np.minimum(digits, _BASE - 1)[:, : _WORD.size].astype(np.uint64) << _WORD).sum(axis=1, dtype=np.uint64)
    if is_token.all() and len(signature) == count:
        own = _own_buckets(letters)
        # Restore the missing zeros of a shorter first unit.
        padded = [words >> np.uint64(4 * zeros) for zeros in range(4)]
        fits = [bucket_of(candidates, count) == own for candidates in padded]
        if np.logical_or.reduce(fits).all():
            return own, np.select(fits, padded), True
    buckets = bucket_of(words, count).astype(np.int64)
    buckets[~is_token | np.isin(buckets, _buckets_between(0, _LARGEST_SHORT_UNIT, count))] = -1
    # If several tokens seem to belong to one bucket, take the longest. A token that lost the leading zeros of its first
    # unit is shorter, and seems to belong to another bucket.
    order = np.lexsort((words, -lengths, buckets))
    taken, first = np.unique(buckets[order], return_index=True)
    is_best = words[order[first]][np.searchsorted(taken, buckets)] == words
    return np.where(is_best, buckets, -1), words, False


def _own_buckets(letters: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Return the bucket that each token comes from, for a complete list with the token of each bucket, in order.

    Rotation copies a bucket's token into the empty buckets before it. So if consecutive buckets have equal tokens, the
    token comes from the last of these buckets. The result is -1 if the bucket is unknown.
    """
    places = np.arange(len(letters))
    ends = np.flatnonzero((letters != np.roll(letters, -1, axis=0)).any(axis=1))
    # Rotation wraps around, so equal tokens at the end and at the start of the list belong together. If all tokens are
    # equal, there is no last bucket, so the bucket is unknown.
    return ends[np.searchsorted(ends, places) % ends.size] if ends.size else np.full(len(letters), -1)


def buckets_from(signature: Signature) -> Buckets:
    """Return the buckets of a signature; mark a bucket as unknown if its token can be unreadable in an index.

    The first 16-bit unit of a token shows its bucket. An index replaces this unit if it is a lone surrogate, and
    Alfresco omits its leading zeros, so the bucket of such a token is unreadable. A bucket that can have such a token
    is marked as unknown in every document, because the readable tokens alone would be a biased sample. Losses in later
    units do no harm, because they are the same in every document.
    """
    scheme, count = signature.scheme, signature.scheme.bucket_count
    if not scheme.fills_every_bucket:
        raise ParameterError(f"documents under {scheme.name} have not one token per bucket, so they cannot be compared")
    # An empty bucket has a value outside its range: the start of the next bucket.
    minima = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(-(-(1 << 32) // count)) << np.uint64(32)
    is_known = np.ones(count, dtype=np.bool_)
    if signature.encoding is TokenEncoding.HEX:
        buckets, words, is_known[_buckets_between(0, _LARGEST_SHORT_UNIT, count)] = _read_alfresco_tokens(signature)
    else:
        buckets, words = bucket_of_each(signature), _words(signature)
    is_read = buckets >= 0
    minima[buckets[is_read]] = words[is_read]
    if signature.encoding in (TokenEncoding.UNITS_4, TokenEncoding.UNITS_8):
        is_known[_buckets_between(_SURROGATES[0] << 16, (_SURROGATES[1] << 16) + 0xFFFF, count)] = False
        for token in set(write_tokens(signature.hashes[~is_read], signature.encoding)):
            is_known[_possible_buckets(token, count)] = False
    return buckets_of(minima, is_known)


def _words(signature: Signature) -> npt.NDArray[np.uint64]:
    return signature.hashes if signature.hashes.ndim == 1 else signature.hashes[:, 0]


def _digits(letters: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return the values of letters as digits: 0 to 9 for the digits, 10 for a, 11 for b and so on; 0 for padding."""
    is_letter = letters >= ord("a")
    return np.where(letters == 0, 0, letters - np.where(is_letter, ord("a") - 10, ord("0"))).astype(np.uint8)


def _sort_by_bucket(
    repeats: Mapping[str, int], scheme: Scheme, *, has_repeats: bool, order_matters: bool
) -> tuple[tuple[str, ...], bool]:
    """Return the tokens in the order of their buckets, with repetitions, and whether the result is exact.

    The arguments are as in `from_distinct`. Repetitions that the index has lost are derived from the buckets.
    """
    if not repeats:
        return (), True
    if scheme.hash_count > 1 or scheme.hash_set_size > 1:
        return _sort_by_units(repeats, scheme, has_repeats=has_repeats, order_matters=order_matters)
    counts_known = has_repeats and sum(repeats.values()) == scheme.bucket_count
    if counts_known and not order_matters:
        return tuple(token for token, count in repeats.items() for _ in range(count)), True
    read = {token: _bucket(token, scheme.bucket_count) for token in repeats}
    known = {token: bucket for token, bucket in read.items() if bucket is not None}
    unsure = [token for token in repeats if token not in known]
    buckets = known | _guess_buckets(unsure, set(known.values()), scheme.bucket_count)
    ordered_tokens = sorted(repeats, key=lambda token: (buckets[token], token))
    if not counts_known:
        # A token is in its own bucket, and in the empty buckets before it. So its count is the distance to the bucket
        # of the token before; for the first token, this is the last token, because rotation wraps around.
        own = [buckets[token] for token in ordered_tokens]
        borders = pairwise([own[-1] - scheme.bucket_count, *own])
        repeats = {
            token: max(1, after - before) for token, (before, after) in zip(ordered_tokens, borders, strict=True)
        }
    # A field with several values has a signature for each value, so its buckets contain several tokens.
    is_one_signature = len(set(buckets.values())) == len(buckets)
    is_whole = len(repeats) == scheme.bucket_count and not order_matters
    is_exact = is_one_signature and (not unsure or is_whole)
    return tuple(_with_repeats(ordered_tokens, repeats, buckets[ordered_tokens[0]])), is_exact


def _with_repeats(ordered_tokens: list[str], repeats: Mapping[str, int], first_bucket: int) -> list[str]:
    """Return the tokens of one hash function in the order of their buckets, each as often as `repeats` says.

    A token fills its own bucket and the empty buckets before it. `first_bucket` is the bucket of the first token.
    """
    repeated = [token for token in ordered_tokens for _ in range(repeats[token])]
    # Rotation wraps around: the empty buckets after the last filled bucket repeat the first token.
    wrapped = max(0, repeats[ordered_tokens[0]] - first_bucket - 1)
    return [*repeated[wrapped:], *repeated[:wrapped]]


def _sort_by_units(
    repeats: Mapping[str, int], scheme: Scheme, *, has_repeats: bool, order_matters: bool
) -> tuple[tuple[str, ...], bool]:
    """Sort tokens like `_sort_by_bucket`, for a scheme with several hash functions or several tokens per bucket."""
    has_all_units = not any(_REPLACEMENT in token for token in repeats)
    if scheme.hash_set_size > 1:
        # Two of a token's four units are the number of the hash function. If the index has lost the other two units,
        # several tokens of a hash function look like one token, so its count is unknown.
        counts_known = has_repeats or has_all_units or scheme.hash_count == 1
    else:
        counts_known = has_repeats and sum(repeats.values()) == scheme.hash_count * scheme.bucket_count
    is_exact = counts_known and (not order_matters or has_all_units)
    ordered_tokens = sorted(repeats, key=_utf16_bytes)
    if scheme.hash_set_size > 1 or not is_exact or not order_matters:
        return tuple(token for token in ordered_tokens for _ in range(repeats[token])), is_exact
    tokens: list[str] = []
    # The first two units are the number of the hash function.
    for _, group in groupby(ordered_tokens, key=lambda token: _utf16_bytes(token)[:4]):
        same = list(group)
        first_bucket = _bucket_of_bits(int.from_bytes(_utf16_bytes(same[0])[4:8], "big"), scheme.bucket_count)
        tokens += _with_repeats(same, repeats, first_bucket)
    return tuple(tokens), is_exact


def _utf16_bytes(token: str) -> bytes:
    return token.encode("utf-16-be")


def _bucket_of_bits(bits: int, bucket_count: int) -> int:
    return bits // -(-(1 << 32) // bucket_count)


def _buckets_between(first: int, last: int, bucket_count: int) -> range:
    return range(_bucket_of_bits(first, bucket_count), _bucket_of_bits(last, bucket_count) + 1)


def _bucket(token: str, bucket_count: int) -> int | None:
    possible = _possible_buckets(token, bucket_count)
    return possible[0] if len(possible) == 1 else None


def _guess_buckets(tokens: list[str], taken: set[int], bucket_count: int) -> dict[str, int]:
    """Guess the buckets of tokens whose bucket is unreadable; prefer `_possible_buckets`, and avoid `taken`."""
    free = dict.fromkeys(bucket for bucket in range(bucket_count) if bucket not in taken)
    guessed = {}
    for token in sorted(tokens):
        possible = _possible_buckets(token, bucket_count)
        guessed[token] = next((bucket for bucket in possible if bucket in free), next(iter(free), bucket_count - 1))
        free.pop(guessed[token], None)
    return guessed


def _possible_buckets(token: str, bucket_count: int) -> list[int]:
    """Return the buckets that a token may belong to, the likeliest first.

    Several are possible if one of its UTF-16 units was a lone surrogate, or if leading zeros are missing.
    """
    if ALFRESCO_TOKEN.fullmatch(token):
        if len(token) == ALFRESCO_LENGTHS[1]:
            return [_bucket_of_bits(int(token[:8], 16), bucket_count)]
        # If leading zeros are missing, the borders between units are unknown, so the first unit may have one to four
        # digits.
        return [_bucket_of_bits(int(token[:digits], 16) << 16, bucket_count) for digits in (4, 3, 2, 1)]
    first, second = (int.from_bytes(_utf16_bytes(token)[at : at + 2], "big") for at in (0, 2))
    lowest, highest = _SURROGATES
    if first == _LOST:
        surrogates = _buckets_between(lowest << 16, (highest << 16) + 0xFFFF, bucket_count)
        return [*surrogates, *_buckets_between(_LOST << 16, (_LOST << 16) + 0xFFFF, bucket_count)]
    bits = first << 16
    is_lost = second == _LOST
    return [*_buckets_between(bits + (lowest if is_lost else second), bits + second, bucket_count)]


_LARGEST = np.iinfo(np.uint64).max
#: Number of hashes converted to Python integers at a time.
_AT_ONCE = 1 << 16


def text_minima(text: str, scheme: Scheme) -> npt.NDArray[np.uint64]:
    return minima_of(murmur_pieces(pieces(text, scheme.profile), scheme.shingle_size), scheme)


def minima_of(murmur: Iterable[npt.NDArray[np.uint64]], scheme: Scheme) -> npt.NDArray[np.uint64]:
    """Return the smallest hash or hashes of each bucket, after rotation has filled the empty buckets.

    `murmur` yields both halves of the murmur hash of all shingles, in pieces.

    Returns:
        uint64 array of shape (tokens, 2) with the tokens' 128 bits, in Lucene's order. The number of tokens is
            usually `bucket_count`. It is smaller without rotation, larger with several hash functions or several hashes
            per bucket, and 0 for a text with fewer words than a shingle.

    Source: MinHashFilter.incrementToken.
    """
    kind = _BucketMinima if scheme.hash_set_size == 1 else _SeveralMinima
    functions = [kind(scheme, number) for number in range(scheme.hash_count)]
    # Read one piece after another, so that only one piece of a long text's hashes is in memory.
    for piece in murmur:
        for function in functions:
            function.add(piece)
    if scheme.hash_count == 1:
        return functions[0].smallest()
    return np.concatenate([_with_number(function.smallest(), number) for number, function in enumerate(functions)])


def bucket_of(high: npt.NDArray[np.uint64], bucket_count: int) -> npt.NDArray[np.intp]:
    """Return the bucket of each hash. Buckets are equal ranges of the top 32 bits; the last bucket may be smaller."""
    return ((high >> np.uint64(32)) // np.uint64(-(-(1 << 32) // bucket_count))).astype(np.intp)


def distinct_minima(
    hashes: npt.NDArray[np.uint64], sizes: npt.NDArray[np.int64], bucket_count: int
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """Return the high half of the smallest hash in each filled bucket of each text, and their number in each text.

    The scheme must have one hash per bucket. `hashes` has the high halves of the hashes, text after text. Within a
    text, they ascend and are distinct, and so are the results. `sizes` has the number of hashes of each text.
    """
    buckets = bucket_of(hashes, bucket_count)
    is_minimum = is_first_of_group(sizes)
    is_minimum[1:] |= buckets[1:] != buckets[:-1]
    return hashes[is_minimum], counts_in_groups(is_minimum, sizes)


class _BucketMinima:
    """Collects the smallest hash of each bucket for one hash function, from pieces of a long text."""

    def __init__(self, scheme: Scheme, number: int) -> None:
        self.scheme, self.number = scheme, number
        self.high, self.low = np.full((2, scheme.bucket_count), _LARGEST, dtype=np.uint64)
        self.is_filled = np.zeros(scheme.bucket_count, dtype=np.bool_)

    def add(self, piece: npt.NDArray[np.uint64]) -> None:
        high, low = lucene_hashes(piece, self.number)
        buckets = bucket_of(high, self.scheme.bucket_count)
        before = self.high.copy()
        np.minimum.at(self.high, buckets, high)
        self.low[self.high < before] = _LARGEST
        best = np.flatnonzero(high == self.high[buckets])
        np.minimum.at(self.low, buckets[best], low[best])
        self.is_filled[buckets] = True

    def smallest(self) -> npt.NDArray[np.uint64]:
        filled = np.flatnonzero(self.is_filled)
        smallest = np.stack((self.high, self.low), axis=1)
        return rotate(smallest, filled) if self.scheme.rotation and filled.size else smallest[filled]


class _SeveralMinima:
    """Collects the smallest hashes of each bucket for one hash function, like Lucene's FixedSizeTreeSet.

    If a full set gets a hash that is smaller than its largest member, Lucene first drops this member, and then checks
    whether the set already has the hash. So a repeated shingle shrinks the set, and hashes must be processed one by
    one.
    """

    def __init__(self, scheme: Scheme, number: int) -> None:
        self.scheme, self.number = scheme, number
        self.members: dict[int, list[tuple[int, int]]] = {}

    def add(self, piece: npt.NDArray[np.uint64]) -> None:
        for at in range(0, len(piece), _AT_ONCE):
            high, low = lucene_hashes(piece[at : at + _AT_ONCE], self.number)
            buckets = bucket_of(high, self.scheme.bucket_count).tolist()
            for bucket, value in zip(buckets, zip(high.tolist(), low.tolist(), strict=True), strict=True):
                members = self.members.setdefault(bucket, [])
                if len(members) == self.scheme.hash_set_size:
                    if value >= members[-1]:
                        continue
                    members.pop()
                place = bisect_left(members, value)
                if members[place : place + 1] != [value]:
                    members.insert(place, value)

    def smallest(self) -> npt.NDArray[np.uint64]:
        pairs = [pair for bucket in sorted(self.members) for pair in self.members[bucket]]
        return np.array(pairs, dtype=np.uint64).reshape(-1, 2)


def _with_number(hashes: npt.NDArray[np.uint64], number: int) -> npt.NDArray[np.uint64]:
    """Return the hashes with the hash function's number as the top 32 bits, and without their last 32 bits."""
    half = np.uint64(32)
    high = (hashes[:, 0] >> half) | np.uint64(number << 32)
    low = (hashes[:, 0] << half) | (hashes[:, 1] >> half)
    return np.stack((high, low), axis=1)


def rotate(smallest: npt.NDArray[np.uint64], filled: npt.NDArray[np.intp]) -> npt.NDArray[np.uint64]:
    """Fill each empty bucket with the hash of the next filled bucket, wrapping around; `filled` is ascending."""
    following = filled[np.searchsorted(filled, np.arange(len(smallest))) % filled.size]
    return smallest[following]


Item = TypeVar("Item")


def min_should_match(token_count: int, overlap: Fraction) -> int:
    """Return the minimum number of a source's tokens that a hit must share: ceil(count * overlap).

    The number is exact. Alfresco computes it in 32-bit floats, and sometimes requires one token too many. Source:
    Solr4QueryParser.createFingerPrintQuery.

    >>> min_should_match(512, Fraction(7, 10))
    359
    """
    return math.ceil(token_count * overlap)


def band_match_probability(similarity: float, bands: int, rows: int) -> float:
    """Return the probability that two documents have equal tokens in at least one whole band.

    The tokens of a signature are cut into `bands` bands of `rows` tokens. The probability that two documents have the
    same token at a position is their similarity.

    Source: Mining of Massive Datasets, section 3.4.2.

    >>> round(band_match_probability(0.8, bands=20, rows=5), 4)
    0.9996
    """
    return 1.0 - (1.0 - similarity**rows) ** bands


@lru_cache
def band_rows(token_count: int, overlap: Fraction, probability: Fraction) -> int:
    """Return the largest band size, in tokens, that finds a document with this overlap more often than `probability`.

    If no band size does, return 1. This is always so for a `probability` of 1, because no document is found more often.

    Args:
        token_count: Number of the source's tokens, with repetitions, at least 1.
        overlap: Fraction in (0, 1].
        probability: Fraction in (0, 1].

    Source: Solr4QueryParser.computeBandSize and MinHashQParser.computeBandSize, which also divide without a remainder.

    >>> [band_rows(512, Fraction(o, 100), Fraction(p, 100)) for o, p in [(20, 80), (70, 90), (90, 99), (100, 50)]]
    [2, 9, 17, 512]
    """
    similarity, wanted = float(overlap), float(probability)
    for bands in range(1, token_count + 1):
        rows = token_count // bands
        if band_match_probability(similarity, bands, rows) > wanted:
            return rows
    return 1


def cut_bands(tokens: Sequence[Item], rows: int) -> tuple[tuple[Item, ...], ...]:
    """Cut tokens into bands of `rows` tokens, and pad the last band with the first tokens.

    >>> cut_bands("abcde", 2)
    (('a', 'b'), ('c', 'd'), ('e', 'a'))
    """
    missing = -len(tokens) % rows
    padded = (*tokens, *tokens[:missing])
    return tuple(padded[at : at + rows] for at in range(0, len(padded), rows))
