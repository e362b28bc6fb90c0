"""Bucket minima of shingle hashes, as computed by Lucene's MinHashFilter.

Source: org.apache.lucene.analysis.minhash.MinHashFilter (identical in Lucene 8, 9 and 10).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.shingling import numbered
from whorl.fingerprint.words.shingles import murmur_pieces, pieces

_LARGEST = np.iinfo(np.uint64).max
#: Hashes converted to Python integers at a time.
_AT_ONCE = 1 << 16


def text_minima(text: str, scheme: Scheme) -> npt.NDArray[np.uint64]:
    """Return the bucket minima of a text's shingles, as `minima_of` does.

    Raises:
        ParameterError: The profile does not exist.
    """
    return minima_of(murmur_pieces(pieces(text, scheme.profile), scheme.shingle_size), scheme)


def minima_of(murmur: Iterable[npt.NDArray[np.uint64]], scheme: Scheme) -> npt.NDArray[np.uint64]:
    """Return the smallest hashes of each bucket, with empty buckets filled from the next filled one.

    Args:
        murmur: uint64 arrays of shape (shingles, 2), murmur's two halves; concatenated they cover all shingles.
        scheme: Token scheme.

    Returns:
        uint64 array of shape (tokens, 2), the tokens' 128 bits in Lucene's order: (bucket_count, 2) under the usual
        scheme, fewer rows without rotation, hash_count times as many with several hash functions, and up to
        hash_set_size times as many with several hashes per bucket; (0, 2) if there are fewer words than one shingle.
        With one hash function the high half is that of Lucene's hash, whose top bits are the bucket, and the low half
        is its low one.

    Source: MinHashFilter.incrementToken.
    """
    kind = _Smallest if scheme.hash_set_size == 1 else _SmallestSeveral
    functions = [kind(scheme, number) for number in range(scheme.hash_count)]
    # Piece by piece, so that the hashes of a long text are never all in memory.
    for piece in murmur:
        for function in functions:
            function.add(piece)
    if scheme.hash_count == 1:
        return functions[0].kept()
    return np.concatenate([_with_number(function.kept(), number) for number, function in enumerate(functions)])


def minima_of_each(murmur: Sequence[npt.NDArray[np.uint64]], scheme: Scheme) -> list[npt.NDArray[np.uint64]]:
    """Return `minima_of` for each of several short texts, faster than one by one.

    Args:
        murmur: At least one array of shape (shingles, 2), murmur's two halves of all shingles of a text.
        scheme: Token scheme.
    """
    if not scheme.fills_every_bucket:
        return [minima_of([each], scheme) for each in murmur]
    counts, shape = [len(each) for each in murmur], (len(murmur), scheme.bucket_count)
    high, low = numbered(np.concatenate(murmur), 0)
    buckets = bucket_of(high, scheme.bucket_count)
    buckets += np.repeat(np.arange(len(murmur)) * scheme.bucket_count, counts)
    smallest = np.full((2, len(murmur) * scheme.bucket_count), np.iinfo(np.uint64).max, np.uint64)
    np.minimum.at(smallest[0], buckets, high)
    best = np.flatnonzero(high == smallest[0, buckets])
    np.minimum.at(smallest[1], buckets[best], low[best])
    is_filled = np.zeros(shape, np.bool_)
    is_filled.ravel()[buckets] = True
    # Rotation: find the next filled bucket of the same text, wrapping around, as an index into all filled buckets.
    before = is_filled.cumsum().reshape(shape) - is_filled
    ends = is_filled.sum(axis=1).cumsum()[:, None]
    begins = np.concatenate(([[0]], ends[:-1]))
    filled = np.append(np.flatnonzero(is_filled), 0)
    minima = np.stack((smallest[0], smallest[1]), axis=1)[filled[np.where(before < ends, before, begins)]]
    return [each if count else each[:0] for each, count in zip(minima, counts, strict=True)]


def bucket_of(high: npt.NDArray[np.uint64], bucket_count: int) -> npt.NDArray[np.intp]:
    """Return the buckets of hashes: equal ranges of the top 32 bits, rounded up, so the last bucket may be smaller."""
    bucket_size = -(-(1 << 32) // bucket_count)
    return ((high >> np.uint64(32)) // np.uint64(bucket_size)).astype(np.intp)


class _Smallest:
    """The smallest hash of each bucket for one hash function."""

    def __init__(self, scheme: Scheme, number: int) -> None:
        self.scheme, self.number = scheme, number
        self.high, self.low = np.full((2, scheme.bucket_count), _LARGEST, dtype=np.uint64)
        self.is_filled = np.zeros(scheme.bucket_count, dtype=np.bool_)

    def add(self, piece: npt.NDArray[np.uint64]) -> None:
        """Add hashes, given as murmur's halves."""
        high, low = numbered(piece, self.number)
        buckets = bucket_of(high, self.scheme.bucket_count)
        before = self.high.copy()
        np.minimum.at(self.high, buckets, high)
        self.low[self.high < before] = _LARGEST
        best = np.flatnonzero(high == self.high[buckets])
        np.minimum.at(self.low, buckets[best], low[best])
        self.is_filled[buckets] = True

    def kept(self) -> npt.NDArray[np.uint64]:
        """Return one hash per bucket with rotation, otherwise one per filled bucket; none without input."""
        filled = np.flatnonzero(self.is_filled)
        smallest = np.stack((self.high, self.low), axis=1)
        return rotate(smallest, filled) if self.scheme.rotation and filled.size else smallest[filled]


class _SmallestSeveral:
    """The smallest hashes of each bucket for one hash function, ascending, as in Lucene's FixedSizeTreeSet.

    A full set drops its largest member before it checks whether the smaller one is a duplicate, so a repeated shingle
    shrinks the set. The result therefore depends on order and repeats, and hashes are processed one by one.
    """

    def __init__(self, scheme: Scheme, number: int) -> None:
        self.scheme, self.number = scheme, number
        self.members: dict[int, list[tuple[int, int]]] = {}

    def add(self, piece: npt.NDArray[np.uint64]) -> None:
        """Add hashes, given as murmur's halves."""
        for at in range(0, len(piece), _AT_ONCE):
            high, low = numbered(piece[at : at + _AT_ONCE], self.number)
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

    def kept(self) -> npt.NDArray[np.uint64]:
        """Return the hashes of all buckets, in order."""
        kept = [pair for bucket in sorted(self.members) for pair in self.members[bucket]]
        return np.array(kept, dtype=np.uint64).reshape(-1, 2)


def _with_number(kept: npt.NDArray[np.uint64], number: int) -> npt.NDArray[np.uint64]:
    """Put the hash function's number into the top 32 bits, and drop the last 32 bits of the hash."""
    half = np.uint64(32)
    high = (kept[:, 0] >> half) | np.uint64(number << 32)
    low = (kept[:, 0] << half) | (kept[:, 1] >> half)
    return np.stack((high, low), axis=1)


def rotate(smallest: npt.NDArray[np.uint64], filled: npt.NDArray[np.intp]) -> npt.NDArray[np.uint64]:
    """Give every empty bucket the value of the next filled one, wrapping around.

    Args:
        smallest: uint64 array of shape (buckets, halves).
        filled: Indexes of the filled buckets, ascending, at least one.
    """
    following = filled[np.searchsorted(filled, np.arange(len(smallest))) % filled.size]
    return smallest[following]
