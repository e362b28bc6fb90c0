"""Finds all pairs of codes within a Hamming distance, and clusters (connected components of the pairs).

The bits are split into more than `distance` blocks, so near codes agree on at least `blocks - distance` blocks. For
each choice of `blocks - distance` blocks, the search sorts the codes by the chosen blocks, and compares codes that
agree on these blocks. It reports a pair only once, for the first choice of blocks that its codes agree on. If too many
codes agree for a comparison of all pairs, the search splits their other bits into blocks again.

Source: G. S. Manku, A. Jain, A. Das Sarma, Detecting Near-Duplicates for Web Crawling (WWW 2007), section 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from whorl.arrays_and_batches import expand_ranges, run_starts, sort_distinct
from whorl.connected_components import stars_of
from whorl.hamming.codes import Codes, CodesLike, as_codes, as_distance, blocks_of
from whorl.hamming.groups import Groups
from whorl.hamming.load_loops import loops_if_worth_loading
from whorl.hamming.lookup_tables import PADDING, order_by
from whorl.request_context import report_progress

#: Pairs of codes; uint64 of shape (pairs, 2), the smaller code first.
Pairs = NDArray[np.uint64]
#: Name of this step in progress reports, which count the sorted and compared codes.
_STEP = "comparing"

#: Approximate number of pairs in a batch, and of codes that numpy compares at a time.
_AT_ONCE = 1 << 18
#: Maximum number of blocks beyond the minimum of distance + 1. The codes are sorted once for each combination of
#: blocks, and each additional block multiplies the combinations.
_MOST_SPARE = 3
#: Maximum number of nested calls of `_pairs_of` below the first; the innermost call compares all pairs.
_DEEPEST = 4
#: Time in seconds to sort a code and compare it with its neighbours, without numba.
_PLAIN_SECONDS = 60e-9


@dataclass(frozen=True, slots=True)
class _Costs:
    """Times of one implementation (numpy or compiled loops) in nanoseconds, to choose the number of blocks.

    Args:
        sort: Time to sort a code by the chosen blocks.
        block: Additional time for each chosen block.
        compare: Time to compare two codes.
        table: Fixed time for each choice of blocks.
    """

    sort: float
    block: float
    compare: float
    table: float

    @cache  # noqa: B019 - there are only two objects, and few numbers of bits
    def blocks(self, count: int, bits: int, distance: int) -> int:
        """Return the fastest number of blocks for `count` random codes, or 0 if comparing all pairs is faster.

        The codes may differ in `bits` bits; `distance` is the maximum distance of a pair.
        """
        best, least = 0, self.compare * count * count / 2
        for blocks in range(distance + 1, min(distance + 1 + _MOST_SPARE, bits) + 1):
            agreed = bits * (blocks - distance) // blocks
            each_code = self.sort + self.block * (blocks - distance) + self.compare * count / 2 ** (1 + agreed)
            cost = comb(blocks, distance) * (self.table + count * each_code)
            if cost < least:
                best, least = blocks, cost
        return best

    @cache  # noqa: B019
    def largest_pairwise_run(self, bits: int, distance: int) -> int:
        """Return the largest number of codes for which comparing all pairs is fastest, rounded to a power of two."""
        count = 128
        while not self.blocks(count, bits, distance) and count < 2**40:
            count *= 2
        return count


_PLAIN = _Costs(sort=60.0, block=0.0, compare=15.0, table=100_000.0)
_COMPILED = _Costs(sort=1.0, block=5.0, compare=0.13, table=20_000.0)


def find_pairs(codes: CodesLike, distance: int) -> Pairs:
    """Return all pairs of distinct codes that differ in at most `distance` bits.

    Args:
        codes: In any order; a repeated code counts once.
        distance: Maximum number of differing bits, 0 to 64.

    Returns:
        uint64 of shape (pairs, 2); the smaller code first, in ascending order.

    Raises:
        ParameterError: A distance or a code is out of range.
    """
    pairs = np.concatenate([np.empty((0, 2), np.uint64), *stream_pairs(codes, distance)])
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def stream_pairs(codes: CodesLike, distance: int) -> Iterator[Pairs]:
    """Yield the pairs of `find_pairs` in batches, each pair once, in an arbitrary but reproducible order.

    The search takes 16 bytes per code (about 50 without numba), and reports its progress (`whorl.request_context`).
    """
    distance = as_distance(distance)
    own = sort_distinct([as_codes(codes)])
    padded = np.empty(own.size + PADDING, np.uint64)
    padded[: own.size] = own
    del own
    return _pairs_of(padded, np.empty(0, np.uint64), distance, _DEEPEST)


def _pairs_of(codes: Codes, differing: Codes, distance: int, depth: int) -> Iterator[Pairs]:
    """Yield the pairs of codes within `distance` bits that differ in at least one bit of every mask in `differing`.

    `codes` ends with PADDING additional elements, and is reordered. `depth` is the number of nested calls left.
    """
    count, is_outermost = codes.size - PADDING, depth == _DEEPEST
    codes[count:] = 0
    if not distance or count < 2:
        if is_outermost:
            report_progress(_STEP, 1, 1)
        return
    # Bits that are equal in all codes need no blocks.
    free = int(np.bitwise_or.reduce(codes[:count]) ^ np.bitwise_and.reduce(codes[:count]))
    bits = free.bit_count()
    compiled = loops_if_worth_loading(count * comb(distance + 2, distance) * _PLAIN_SECONDS)
    costs = _COMPILED if compiled else _PLAIN
    blocks = costs.blocks(1 << count.bit_length(), bits, distance) if depth else 0

    def report(found: Iterator[tuple[int, Pairs]], before: int, total: int) -> Iterator[Pairs]:
        for done, pairs in found:
            if pairs.size:
                yield pairs
            if is_outermost:
                report_progress(_STEP, before + done, total)

    if not blocks:
        yield from report(_pairs_in_runs(codes, 0, differing, distance, count, []), 0, count)
        return
    masks = blocks_of(free, blocks)
    scratch = np.empty(count, np.uint64) if compiled else None
    choices = list(combinations(range(blocks), blocks - distance))
    total = count * len(choices)
    for before, chosen in zip(range(0, total, count), choices, strict=True):
        lead = sum(masks[block] for block in chosen)
        earlier = [masks[block] for block in range(chosen[-1]) if block not in chosen]
        must = np.concatenate((differing, np.array(earlier, np.uint64)))
        order_by(codes[:count], lead, scratch)
        longest = costs.largest_pairwise_run(bits - lead.bit_count(), distance)
        long: list[tuple[int, int]] = []
        yield from report(_pairs_in_runs(codes, lead, must, distance, longest, long), before, total)
        for start, end in long:
            yield from _pairs_of(codes[start : end + PADDING].copy(), must, distance, depth - 1)


def _run_bounds(numbers: Codes) -> NDArray[np.int64]:
    """Return the start of each run of equal numbers, followed by the number of elements."""
    return np.append(run_starts(numbers), numbers.size)


def _pairs_in_runs(
    codes: Codes, lead: int, differing: Codes, distance: int, longest: int, long: list[tuple[int, int]]
) -> Iterator[tuple[int, Pairs]]:
    """Yield the number of codes processed so far, and near pairs among codes that agree on the bits of `lead`.

    Codes that agree are adjacent, and `codes` ends with PADDING additional codes. A pair differs in at least one bit of
    each mask in `differing`. Runs longer than `longest` are skipped; `long` receives their starts and ends.
    """
    count = codes.size - PADDING
    compiled = loops_if_worth_loading(0)
    if compiled:
        numbers = np.array([lead, distance, longest], np.uint64)
        output, state = np.empty((max(_AT_ONCE, min(longest, count)), 2), np.uint64), np.zeros(2, np.int64)
        begin = 0
        while begin < count:
            begin = compiled.pairs(codes, begin, numbers, differing, output, state)
            yield begin, output[: state[0]].copy()
        if not state[1]:
            return
    bounds = _run_bounds(codes[:count] & np.uint64(lead))
    sizes = np.diff(bounds)
    is_long = sizes > longest
    long += zip(bounds[:-1][is_long].tolist(), bounds[1:][is_long].tolist(), strict=True)
    if compiled:
        return
    # Compare each code with the rest of its run; an end of 0 leaves out the codes of long runs.
    ends = np.repeat(np.where(is_long, 0, bounds[1:]), sizes)
    for first, second in expand_ranges(np.arange(1, count + 1), ends, _AT_ONCE):
        one, other = codes[first], codes[second]
        change = one ^ other
        near = np.flatnonzero(np.bitwise_count(change) <= distance)
        for mask in differing:
            near = near[change[near] & mask != 0]
        pairs = np.stack((one[near], other[near]), axis=1)
        pairs.sort(axis=1)
        yield int(first[-1]), pairs
    yield count, np.empty((0, 2), np.uint64)


def find_clusters(codes: CodesLike, distance: int) -> Groups:
    """Return the groups of codes that pairs within `distance` bits connect; omit codes without a pair.

    The codes of a group ascend, and the groups are ordered by their smallest codes.
    """
    return clusters_of(stream_pairs(codes, distance))


def clusters_of(pairs: Iterable[Pairs]) -> Groups:
    """Return the connected components of pairs; keep at most about one pair per code in memory."""
    others, smallest = stars_of(((batch[:, 0], batch[:, 1]) for batch in pairs), _AT_ONCE, np.uint64)
    roots = sort_distinct([smallest])
    owners, members = np.concatenate((roots, smallest)), np.concatenate((roots, others))
    order = np.lexsort((members, owners))
    return Groups(members[order], _run_bounds(owners[order]))
