"""Verifies candidate pairs by sketches: counts shared hashes, and keeps the pairs above the threshold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import group_equals, run_starts
from whorl.duplicates.options import PairOptions
from whorl.duplicates.sketch_arrays import Numbers, Sketches
from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.sketch.frac_minhash import compare
from whorl.fingerprint.statistics.hypergeometric import reaches
from whorl.fingerprint.statistics.overlap_estimates import CONFIDENCE, shared_shingles
from whorl.request_context import require_time

#: Verification may cause this fraction of the allowed misses; the candidate search may cause the other misses.
_SHARE_OF_MISSES = Fraction(4, 5)
#: Minimum number of pairs or hashes for which the compiled loops save more time than importing numba takes.
LARGE = 20_000
#: Number of pairs to compare between two checks of the deadline: at most a second of work.
_AT_ONCE = 1 << 19


class PairOverlaps(NamedTuple):
    """Numbers of comparable hashes of each pair of sketches: in A, in B, and in both.

    A sketch of level L has the hashes in the lowest fraction 2**-L of the hash space. So only hashes below the bound of
    the pair's higher level (`levels`) can be compared.
    """

    levels: Numbers
    counts_a: Numbers
    counts_b: Numbers
    shared: Numbers


def overlaps(
    sketches: Sketches, a: Numbers, b: Numbers, workers: int = 1, needed: Numbers | None = None
) -> PairOverlaps:
    """Count the hashes that the two sketches of each pair of documents share.

    If `needed` has the number of hashes that each pair must share, counting stops early for a pair of complete sketches
    that can no longer reach this number. The returned count is then too small.
    """
    levels = sketches.scheme.levels(np.maximum(sketches.sizes[a], sketches.sizes[b]))
    counts_a, counts_b = sketches.count_at_level(a, levels), sketches.count_at_level(b, levels)
    if is_fast(a.size):
        least = np.zeros_like(levels) if needed is None else np.where(levels == 0, needed, 0)
        shared = _shared_by_merging(sketches, a, b, counts_a, counts_b, least, workers)
    else:
        shared = _shared_by_lookup(sketches, a, b)
    return PairOverlaps(levels, counts_a, counts_b, shared)


def is_fast(amount: int) -> bool:
    """Check whether the compiled loops are available and faster for this number of pairs or hashes."""
    return kernel.is_available() and (amount >= LARGE or kernel.is_loaded())


def _shared_by_merging(
    sketches: Sketches, a: Numbers, b: Numbers, counts_a: Numbers, counts_b: Numbers, least: Numbers, workers: int
) -> Numbers:
    from whorl.fingerprint.compiled.sketch_loops import count_shared

    shared = np.empty(a.size, np.int64)

    def count(first: int, upto: int) -> None:
        for part, hashes, starts_a, starts_b in sketches.portions(a[first:upto], b[first:upto]):
            rows = slice(first + part.start, first + part.stop)
            count_shared(hashes, starts_a, counts_a[rows], starts_b, counts_b[rows], least[rows], shared[rows])

    for at in range(0, a.size, _AT_ONCE):
        require_time()
        portion = slice(at, at + _AT_ONCE)
        ranges = split_evenly(np.cumsum(counts_a[portion] + counts_b[portion]), workers)
        run_in_threads(count, [(at + first, at + upto) for first, upto in ranges])
    return shared


def _shared_by_lookup(sketches: Sketches, a: Numbers, b: Numbers) -> Numbers:
    """Count shared hashes without compiled loops: compare each document of `a` with all its partners at once."""
    shared = np.empty(a.size, np.int64)
    for group in group_equals(a):
        require_time()
        hits = [sketches.sketch(index) for index in b[group].tolist()]
        shared[group] = compare(sketches.sketch(int(a[group[0]])), hits).shared
    return shared


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of documents in columns: int64 arrays of shape (pairs,).

    Args:
        a: Indices of the first documents; in verified pairs smaller than `b`.
        shared: Number of shared shingles: an exact count, or the most likely number, estimated from sketches.
        low, high: Limits of the confidence interval of `shared` (by default 95 %); equal if all shingles were compared.
    """

    a: Numbers
    b: Numbers
    sizes_a: Numbers
    sizes_b: Numbers
    shared: Numbers
    low: Numbers
    high: Numbers

    def __len__(self) -> int:
        return self.a.size

    @property
    def is_exact(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.low == self.high)

    @property
    def jaccard(self) -> npt.NDArray[np.float64]:
        return np.asarray(self.shared / np.maximum(1, self.sizes_a + self.sizes_b - self.shared))

    def select(self, which: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> Pairs:
        return Pairs(*(part[which] for part in self._columns()))

    def renumber(self, indices: Numbers) -> Pairs:
        """Replace each index i by `indices[i]`, and put the smaller index of each pair first."""
        a, b = indices[self.a], indices[self.b]
        is_turned = a > b
        sizes_a = np.where(is_turned, self.sizes_b, self.sizes_a)
        sizes_b = np.where(is_turned, self.sizes_a, self.sizes_b)
        return Pairs(np.minimum(a, b), np.maximum(a, b), sizes_a, sizes_b, self.shared, self.low, self.high)

    def _columns(self) -> tuple[Numbers, ...]:
        return self.a, self.b, self.sizes_a, self.sizes_b, self.shared, self.low, self.high

    @classmethod
    def concatenate(cls, several: Iterable[Pairs]) -> Pairs:
        """Join several collections of pairs into one, without repeated pairs, sorted by `a` and then `b`."""
        columns = [pairs._columns() for pairs in several] or [(np.empty(0, np.int64),) * 7]
        joined = cls(*(np.concatenate(parts) for parts in zip(*columns, strict=True)))
        order = np.lexsort((joined.b, joined.a))
        return joined.select(order[run_starts(joined.a[order], joined.b[order])])


def measure_pairs(sketches: Sketches, a: Numbers, b: Numbers, confidence: float = CONFIDENCE) -> Pairs:
    """Count the shared shingles of the given pairs, whether or not they reach the threshold, with confidence intervals.

    `confidence` is between 0 and 1.
    """
    return _with_intervals(sketches, a, b, overlaps(sketches, a, b), confidence)


def verify_pairs(sketches: Sketches, a: Numbers, b: Numbers, pair_options: PairOptions, workers: int = 1) -> Pairs:
    """Return the candidate pairs that reach the threshold.

    Two complete sketches are compared exactly. If a sketch is a sample, `reaches` computes how many hashes the pair
    must share: a pair just at the threshold shares this number with a probability that ensures the recall. The number
    of shared hashes has a hypergeometric distribution. Its population is the smaller document's shingles.
    """
    a, b = np.minimum(a, b), np.maximum(a, b)
    sizes_a, sizes_b = sketches.sizes[a], sketches.sizes[b]
    needed = pair_options.least_overlap(sizes_a, sizes_b)
    smaller = np.minimum(sizes_a, sizes_b)
    seen = overlaps(sketches, a, b, workers, needed)
    is_pair = (seen.levels == 0) & (seen.shared >= needed)
    at = np.flatnonzero((seen.levels > 0) & (needed <= smaller))
    if at.size:
        drawn = np.where(sizes_a <= sizes_b, seen.counts_a, seen.counts_b)[at]
        recall = 1 - (1 - pair_options.recall) * _SHARE_OF_MISSES
        is_pair[at] = reaches(smaller[at], needed[at], drawn, seen.shared[at], recall)
    return _with_intervals(sketches, a[is_pair], b[is_pair], PairOverlaps(*(column[is_pair] for column in seen)))


def _with_intervals(
    sketches: Sketches, a: Numbers, b: Numbers, seen: PairOverlaps, confidence: float = CONFIDENCE
) -> Pairs:
    sizes_a, sizes_b = sketches.sizes[a], sketches.sizes[b]
    shared, low, high = seen.shared.copy(), seen.shared.copy(), seen.shared.copy()
    at = np.flatnonzero(seen.levels > 0)
    if at.size:
        sampled = (column[at] for column in (sizes_a, sizes_b, *seen))
        shared[at], low[at], high[at] = shared_shingles(*sampled, confidence=confidence)
    return Pairs(a, b, sizes_a, sizes_b, shared, low, high)


Result = TypeVar("Result")
#: Minimum amount of work, in hashes, to divide among several threads.
_LEAST_THREAD_WORK = 1 << 20


def split_evenly(totals: Numbers, most: int) -> list[tuple[int, int]]:
    """Divide items into at most `most` half-open ranges of about equal work; do not divide a small amount of work.

    `totals` has the cumulative work up to and including each item.

    >>> split_evenly(np.array([10, 20, 1_000_000, 2_000_000]), 2)
    [(0, 3), (3, 4)]
    """
    count = totals.size
    if not count or most < 2 or totals[-1] < _LEAST_THREAD_WORK:
        return [(0, count)]
    cuts = np.searchsorted(totals, [int(totals[-1]) * part // most for part in range(1, most)]) + 1
    return list(pairwise(np.unique([0, *np.minimum(cuts, count).tolist(), count]).tolist()))


def run_in_threads(work: Callable[..., Result], given: Iterable[tuple[object, ...]]) -> list[Result]:
    """Call `work` with each tuple of arguments in `given`, in parallel; return the results in order.

    The last call runs in the current thread; every other call gets a new thread. If a call fails, the error is raised
    after all calls have ended.
    """
    *others, last = given
    if not others:
        return [work(*last)]
    with ThreadPoolExecutor(len(others), "whorl-duplicates") as pool:
        futures = [pool.submit(work, *arguments) for arguments in others]
        own = work(*last)
        return [*(future.result() for future in futures), own]
