"""Finds the codes within a Hamming distance of a query, in immutable lookup tables (Multi-Index Hashing).

The 64 bits are split into blocks. If two codes differ in at most `distance` bits, they differ in at most ``distance //
blocks`` bits of some block (pigeonhole principle). This number is the `radius`. So a search examines only codes that
differ from the query in at most `radius` bits of a block.

A table holds all codes, sorted by one block. The codes of a bucket have the same leading bits of the block, the bucket
number. The table has the first position of each bucket.

Source: M. Norouzi, A. Punjani, D. J. Fleet, Fast Exact Search in Hamming Space with Multi-Index Hashing
(arXiv:1307.2982). With a radius of 0, and one more block than differing bits, these are the tables of G. S. Manku, A.
Jain, A. Das Sarma, Detecting Near-Duplicates for Web Crawling (WWW 2007).
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from whorl.arrays_and_batches import expand_ranges, ranges_of
from whorl.hamming.codes import BITS, LARGEST, Codes, Permutation, bits_of
from whorl.hamming.groups import Groups
from whorl.hamming.load_loops import loops_if_worth_loading

#: Number of additional codes at the end of arrays, because the compiled loops read this number of codes at a time.
PADDING = 8
#: Maximum number of bits of a bucket number: the bucket bounds of a table then fit into the processor cache.
_WIDEST = 22
_LARGEST_RADIUS = 2
#: Time in nanoseconds to visit a bucket, and to compare a code in it. The choice of the layout uses both.
_PROBE, _CODE = 25.0, 0.3
#: Times in nanoseconds without numba: to compare a code, to answer a query, and to sort a code into a table.
_PLAIN_CODE, _PLAIN_QUERY, _PLAIN_SORT = 15, 500, 60
#: Time in seconds to visit four buckets for a single query, without numba.
_PLAIN_LOOK = 8e-6
#: Number of codes that numpy compares at a time.
_AT_ONCE = 1 << 18
#: For a bucket with more codes than this, numpy is faster than Python's integers.
_FEW = 24


@dataclass(frozen=True, slots=True)
class Layout:
    """Division of the bits of codes into blocks. Each block has a table.

    Args:
        lows: Lowest bit of the bucket number in each table's block, from the highest block down.
        width: Number of bits of a bucket number; with 0, a search compares all codes.
        radius: Maximum number of bits that differ between the bucket numbers of a query and of a searched bucket.
    """

    distance: int
    lows: tuple[int, ...]
    width: int
    radius: int

    @classmethod
    def choose(cls, distance: int, count: int) -> Layout:
        """Return the layout with the fastest queries, for `count` uniformly distributed codes."""
        widest = min(_WIDEST, max(1, count.bit_length() - 1))
        best, least = cls(distance, (0,), 0, 0), _PROBE + _CODE * count
        for radius in range(_LARGEST_RADIUS + 1):
            blocks = distance // (radius + 1) + 1
            width = min(BITS // blocks, widest)
            probes = blocks * sum(comb(width, changed) for changed in range(radius + 1))
            cost = probes * (_PROBE + _CODE * count / 2**width)
            if cost < least:
                tops = [(block + 1) * BITS // blocks for block in reversed(range(blocks))]
                best, least = cls(distance, tuple(top - width for top in tops), width, radius), cost
        return best

    @property
    def masks(self) -> list[int]:
        return [((1 << self.width) - 1) << low for low in self.lows]

    @property
    def flips(self) -> list[int]:
        """XOR masks that turn a bucket number into all bucket numbers within the radius."""
        return [
            sum(1 << bit for bit in changed)
            for size in range(self.radius + 1)
            for changed in combinations(range(self.width), size)
        ]


def order_by(codes: Codes, mask: int, scratch: Codes | None = None) -> None:
    """Sort codes in place by the bits of a mask, so that codes that agree on these bits become adjacent."""
    compiled = loops_if_worth_loading(codes.size * _PLAIN_SORT * 1e-9)
    if compiled:
        scratch = np.empty_like(codes) if scratch is None else scratch
        is_set = np.array([mask >> bit & 1 for bit in range(BITS)], np.bool_)
        # Sort by each range of consecutive bits of the mask, the lowest first: the sort is stable.
        for low, end in ranges_of(is_set).tolist():
            compiled.radix_sort(codes, scratch, low, end - low, np.empty(1 << 11, np.int64))
    else:
        permutation = Permutation([*bits_of(mask), *bits_of(LARGEST ^ mask)])
        permuted = permutation.apply(codes)
        permuted.sort()
        codes[:] = permutation.undo(permuted)


class Tables:
    """Lookup tables of a fixed set of codes. Only one thread at a time may use them."""

    def __init__(self, codes: Codes, distance: int) -> None:
        self.layout = layout = Layout.choose(distance, codes.size)
        tables, buckets = len(layout.lows), 1 << layout.width
        self._size = codes.size
        self._all = np.empty(tables * codes.size + PADDING, np.uint64)
        self._all[-PADDING:] = 0
        self._bounds = np.empty(tables * (buckets + 1), np.int32 if codes.size < 2**31 else np.int64)
        scratch = np.empty(codes.size if tables > 1 else 0, np.uint64)
        compiled = loops_if_worth_loading(tables * codes.size * _PLAIN_SORT * 1e-9)
        for number, (low, mask) in enumerate(zip(layout.lows, layout.masks, strict=True)):
            table = self._all[number * codes.size : (number + 1) * codes.size]
            table[:] = codes
            # The codes are sorted, so the first table, whose buckets are the highest bits, is already in order.
            if number:
                order_by(table, mask, scratch)
            bounds = self._bounds[number * (buckets + 1) : (number + 1) * (buckets + 1)]
            if compiled:
                compiled.bucket_bounds(table, low, layout.width, bounds)
            else:
                bounds[0] = 0
                bounds[1:] = np.cumsum(np.bincount(self._buckets_of(table, low), minlength=buckets))
        self._masks = np.array(layout.masks, np.uint64)
        self._flips = np.array(layout.flips, np.int64)
        self._lows = np.array(layout.lows, np.int64)
        self._numbers = np.array([distance, layout.radius, codes.size, buckets - 1], np.int64)
        # Use memoryviews for single queries: they return Python integers twice as fast as arrays.
        self._view, self._bounds_view = self._all.data, self._bounds.data
        self._look_seconds = _PLAIN_LOOK * len(layout.lows) * len(layout.flips) / 4
        self._blocks = [
            (low, number * codes.size, number * (buckets + 1), layout.masks[:number])
            for number, low in enumerate(layout.lows)
        ]
        self._flip_list = layout.flips
        self._low, self._last = layout.lows[0], buckets - 1
        self._query, self._found, self._counts = np.zeros(1, np.uint64), np.empty(64, np.uint64), np.zeros(2, np.int64)
        self._query_view = self._query.data
        self._call = (self._query, 0, self._all, self._bounds, self._lows, self._masks, self._flips, self._numbers)

    def _buckets_of(self, codes: Codes, low: int) -> NDArray[np.int64]:
        mask = np.uint64((1 << self.layout.width) - 1)
        return ((codes >> np.uint64(low)) & mask).astype(np.int64)

    def __len__(self) -> int:
        return self._size

    def __contains__(self, code: int) -> bool:
        bucket, bounds = code >> self._low & self._last, self._bounds_view
        end = bounds[bucket + 1]
        index = bisect_left(self._view, code, bounds[bucket], end)
        return index < end and self._view[index] == code

    @property
    def codes(self) -> Codes:
        return self._all[: self._size]

    @property
    def nbytes(self) -> int:
        return self._all.nbytes + self._bounds.nbytes

    def find(self, query: int) -> list[int]:
        compiled = loops_if_worth_loading(self._look_seconds)
        if compiled is None:
            return self._find_plainly(query)
        self._query_view[0] = query
        while compiled.find(*self._call, self._found, self._counts) == 0:
            self._found = np.empty(2 * self._found.size, np.uint64)
        count = self._counts[1]
        return self._found[:count].tolist() if count else []

    def _find_plainly(self, query: int) -> list[int]:
        distance, last = self.layout.distance, self._last
        codes, bounds = self._view, self._bounds_view
        results: list[int] = []
        for low, first_code, first_bucket, earlier in self._blocks:
            own = query >> low & last
            for flip in self._flip_list:
                bucket = first_bucket + (own ^ flip)
                start, end = first_code + bounds[bucket], first_code + bounds[bucket + 1]
                if end - start <= _FEW:
                    near = [code for code in codes[start:end] if (code ^ query).bit_count() <= distance]
                else:
                    bucket_codes = self._all[start:end]
                    near = bucket_codes[np.bitwise_count(bucket_codes ^ np.uint64(query)) <= distance].tolist()
                if near:
                    results += [code for code in near if self._is_new(code ^ query, earlier)]
        return sorted(results)

    def _is_new(self, differing: int, earlier: list[int]) -> bool:
        """Check that no earlier table has led to this code.

        `differing` is the code XOR the query; `earlier` has the masks of the bucket numbers in the earlier tables.
        """
        return all((differing & mask).bit_count() > self.layout.radius for mask in earlier)

    def find_all(self, queries: Codes) -> Groups:
        # Expected number of codes to compare with a query, if the codes are spread evenly over the buckets.
        comparisons = self._size * len(self.layout.lows) * len(self._flips) / (self._last + 1)
        compiled = loops_if_worth_loading(queries.size * (_PLAIN_QUERY + _PLAIN_CODE * comparisons) * 1e-9)
        if compiled is None:
            return self._find_all_plainly(queries)
        results, counts = np.empty(queries.size + 1024, np.uint64), np.zeros(queries.size + 1, np.int64)
        answered = 0
        while (answered := compiled.find(queries, answered, *self._call[2:], results, counts)) < queries.size:
            results = np.concatenate((results, np.empty_like(results)))
        return Groups(results[: counts[-1]].copy(), counts)

    def _find_all_plainly(self, queries: Codes) -> Groups:
        layout, buckets = self.layout, 1 << self.layout.width
        owners, codes = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
        for number, low in enumerate(layout.lows):
            table = self._all[number * self._size : (number + 1) * self._size]
            bounds = self._bounds[number * (buckets + 1) : (number + 1) * (buckets + 1)].astype(np.int64)
            own = self._buckets_of(queries, low)
            for flip in layout.flips:
                for owner, indices in expand_ranges(bounds[own ^ flip], bounds[(own ^ flip) + 1], _AT_ONCE):
                    differing = table[indices] ^ queries[owner]
                    near = np.flatnonzero(np.bitwise_count(differing) <= layout.distance)
                    for mask in layout.masks[:number]:
                        near = near[np.bitwise_count(differing[near] & np.uint64(mask)) > layout.radius]
                    owners.append(owner[near])
                    codes.append(table[indices[near]])
        every, matches = np.concatenate(owners), np.concatenate(codes)
        order = np.lexsort((matches, every))
        counts = np.bincount(every, minlength=queries.size)
        return Groups(matches[order], np.concatenate(([0], np.cumsum(counts))).astype(np.int64))
