"""Verifies candidate pairs by sketches: counts shared hashes, and keeps the pairs above the threshold."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from whorl.arrays_and_batches import group_equals
from whorl.duplicates.options import PairOptions
from whorl.duplicates.pairs import Pairs
from whorl.duplicates.sketch_arrays import Numbers, Sketches
from whorl.duplicates.thread_ranges import run_in_threads, split_evenly
from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.sketch.frac_minhash import compare
from whorl.fingerprint.statistics.hypergeometric import reaches
from whorl.fingerprint.statistics.overlap_estimates import CONFIDENCE, shared_shingles
from whorl.request_context import require_time

#: Fraction of the allowed misses that verification may cause; the candidate search may cause the others.
_SHARE_OF_MISSES = Fraction(4, 5)
#: Minimum number of pairs or hashes for which the compiled loops save more time than importing numba takes.
LEAST_FOR_COMPILED = 20_000
#: Number of pairs to compare between two checks of the deadline: at most a second of work.
_AT_ONCE = 1 << 19


class PairOverlaps(NamedTuple):
    """Numbers of comparable hashes of each pair of sketches: in A, in B, and in both.

    Only hashes below the bound of the pair's higher level (`levels`) are comparable.
    """

    levels: Numbers
    counts_a: Numbers
    counts_b: Numbers
    shared: Numbers


def overlaps(
    sketches: Sketches, a: Numbers, b: Numbers, workers: int = 1, needed: Numbers | None = None
) -> PairOverlaps:
    """Count the hashes that the two sketches of each pair share.

    If `needed` has the number of hashes that each pair must share, counting stops early for a pair of complete sketches
    that cannot reach it; the returned count is then too small.
    """
    levels = sketches.scheme.levels(np.maximum(sketches.sizes[a], sketches.sizes[b]))
    counts_a, counts_b = sketches.count_at_level(a, levels), sketches.count_at_level(b, levels)
    if is_compiled_faster(a.size):
        least = np.zeros_like(levels) if needed is None else np.where(levels == 0, needed, 0)
        shared = _shared_by_merging(sketches, a, b, counts_a, counts_b, least, workers)
    else:
        shared = _shared_by_lookup(sketches, a, b)
    return PairOverlaps(levels, counts_a, counts_b, shared)


def is_compiled_faster(amount: int) -> bool:
    """Check whether the compiled loops are available and faster for this number of pairs or hashes."""
    return kernel.is_available() and (amount >= LEAST_FOR_COMPILED or kernel.is_loaded())


def _shared_by_merging(
    sketches: Sketches, a: Numbers, b: Numbers, counts_a: Numbers, counts_b: Numbers, least: Numbers, workers: int
) -> Numbers:
    from whorl.fingerprint.compiled.sketch_loops import count_shared

    shared = np.empty(a.size, np.int64)

    def count(first: int, upto: int) -> None:
        for part, hashes, starts_a, starts_b in sketches.pair_batches(a[first:upto], b[first:upto]):
            rows = slice(first + part.start, first + part.stop)
            count_shared(hashes, starts_a, counts_a[rows], starts_b, counts_b[rows], least[rows], shared[rows])

    for at in range(0, a.size, _AT_ONCE):
        require_time()
        portion = slice(at, at + _AT_ONCE)
        ranges = split_evenly(np.cumsum(counts_a[portion] + counts_b[portion]), workers)
        run_in_threads(count, [(at + first, at + upto) for first, upto in ranges])
    return shared


def _shared_by_lookup(sketches: Sketches, a: Numbers, b: Numbers) -> Numbers:
    """Count shared hashes without compiled loops, comparing each document of `a` with all its partners at once."""
    shared = np.empty(a.size, np.int64)
    for group in group_equals(a):
        require_time()
        hits = [sketches.sketch(index) for index in b[group].tolist()]
        shared[group] = compare(sketches.sketch(int(a[group[0]])), hits).shared
    return shared


def measure_pairs(sketches: Sketches, a: Numbers, b: Numbers, confidence: float = CONFIDENCE) -> Pairs:
    """Count the shared shingles of pairs, also below the threshold; `confidence` (0 to 1) is for the intervals."""
    return _with_intervals(sketches, a, b, overlaps(sketches, a, b), confidence)


def verify_pairs(sketches: Sketches, a: Numbers, b: Numbers, pair_options: PairOptions, workers: int = 1) -> Pairs:
    """Return the candidate pairs that reach the threshold.

    Two complete sketches are compared exactly. If a sketch is a sample, the pair must share a minimum number of hashes,
    chosen so that this step causes at most the fraction `_SHARE_OF_MISSES` of the misses that `recall` allows. The
    number of shared hashes has a hypergeometric distribution, with the smaller document's shingles as its population.
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
