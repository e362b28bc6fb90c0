"""Estimates how many shingles a source and its hits share, from their sketches, with confidence intervals.

A source has a shingles, a hit has b shingles, and they share I. Below the bound of level L, x hashes are in both
sketches, ya only in the source's sketch, and yb only in the hit's sketch. A shingle is below the bound with probability
r = 2**-L. So x, ya and yb are independent and have binomial distributions with I, a - I and b - I trials. The
likelihoods of I and I - 1 have the ratio

    L(I) / L(I - 1) = I / (I - x) * (a - I + 1 - ya) / (a - I + 1) * (b - I + 1 - yb) / (b - I + 1) / (1 - r)

The ratio falls as I rises, so the estimate is the largest I with a ratio of at least 1. At level 0, r is 1 and I is x.

If the number of drawn hashes is given, the distribution of x is exact. The hashes can be drawn from the source (there
are x + ya), from the hit (x + yb), or from the union of both (x + ya + yb):

    source   x ~ Hypergeometric(a, I, x + ya)
    hit      x ~ Hypergeometric(b, I, x + yb)
    union    x ~ Hypergeometric(a + b - I, I, x + ya + yb)

Each distribution gives an interval of I. It contains each I for which P(X >= x) and P(X <= x) exceed half of
1 - confidence (Clopper and Pearson). So it contains the true I with at least this confidence. The three shares rise
with I, so the interval of I gives the intervals of the shares.

The choice of the distribution must not depend on the counted hashes, so it depends on the sizes alone:

    union            if the larger document is at most 1.5 times as large as the smaller
    source or hit    otherwise; the smaller document, because its interval is narrower

Let a be the smaller size, and s = (a + b) / a. Then the interval of the union is the narrowest if I / a is below
s (3 - s) / 2. Up to the factor 1.5, s is at most 5 / 2, so this limit is at least 5 / 8.

`judge_overlaps` verifies the candidates of a calibrated search (one with a stated recall). It uses two of the
distributions. The number of drawn hashes carries no information about I.

    source   for similarity, and for hits that contain the source
    hit      for smaller hits that the source contains, because they share only a few of the source's hashes

The distribution `hit` holds on average over hash functions, so for a single source the recall can differ by some
percentage points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.compiled.kernel import as_loop_array, loops_if_loaded
from whorl.fingerprint.sketch.frac_minhash import Overlaps, Sketch, compare
from whorl.fingerprint.statistics.hypergeometric import SLACK, Bools, Counts, bisect_first, reaches, upper_tail
from whorl.fingerprint.statistics.metric import (
    Intervals,
    Metric,
    Shares,
    denominator_of,
    least_overlap,
)

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated overlap of a source (A) and a hit (B).

    Args:
        low, high: Lower and upper ends of the confidence intervals of the shares. If `is_exact`, both equal the shares.
        shared_hashes: Number of hashes in both sketches.
        source_hashes: Number of hashes of the source that were compared with the hit.
        is_exact: Whether all hashes were compared.
    """

    JSON_FIELDS: ClassVar[tuple[str, ...]] = (
        *("*shares", "exact=is_exact", "intervals?"),
        *("shared_hashes", "source_hashes", "shingles=hit_size"),
    )

    shares: Shares
    low: Shares
    high: Shares
    shared_hashes: int
    source_hashes: int
    source_size: int
    hit_size: int
    is_exact: bool

    @property
    def intervals(self) -> Intervals | None:
        return None if self.is_exact else Intervals.between(self.low, self.high)


def estimate(source: Sketch, hits: Sequence[Sketch]) -> tuple[Estimate, ...]:
    return tuple(estimate_overlaps(compare(source, hits)))


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Estimated overlaps of a source and several hits, in int64 arrays of shape (hits,); makes an `Estimate` on demand.

    Args:
        overlaps: Counts of hashes, the basis of the estimates.
        middle, low, high: Likeliest numbers of shared shingles, and the ends of their intervals.
    """

    overlaps: Overlaps
    middle: Counts
    low: Counts
    high: Counts

    def __iter__(self) -> Iterator[Estimate]:
        return map(self.__getitem__, range(self.middle.size))

    def __getitem__(self, index: int) -> Estimate:
        overlaps = self.overlaps
        columns = (self.middle, self.low, self.high, overlaps.sizes, overlaps.shared, overlaps.source_counts)
        likeliest, least, largest, hit_size, common, counted = (int(column[index]) for column in columns)
        size, is_exact = overlaps.source_size, least == largest
        shares = low = high = Shares.of_counts(likeliest, size, hit_size)
        if not is_exact:
            low, high = (Shares.of_counts(end, size, hit_size) for end in (least, largest))
        return Estimate(shares, low, high, common, counted, size, hit_size, is_exact=is_exact)

    def shares(self, metric: Metric) -> list[float]:
        """Return each hit's likeliest share according to a metric, as in `Estimate.shares`."""
        return self._shares(metric, self.middle)

    def lowest_shares(self, metric: Metric) -> list[float]:
        return self._shares(metric, self.low)

    def _shares(self, metric: Metric, shared: Counts) -> list[float]:
        whole = denominator_of(metric, shared, self.overlaps.source_size, self.overlaps.sizes)
        shares: list[float] = (shared / np.maximum(whole, 1)).tolist()
        return shares


def estimate_overlaps(overlaps: Overlaps) -> Estimates:
    size, sizes = overlaps.source_size, overlaps.sizes
    middle = low = high = overlaps.shared
    # At level 0, the counts are exact and need no estimate.
    if overlaps.levels.any():
        counts = overlaps.levels, overlaps.source_counts, overlaps.counts, overlaps.shared
        middle, low, high = shared_shingles(np.full_like(sizes, size), sizes, *counts)
    return Estimates(overlaps, middle, low, high)


def shared_shingles(
    sizes_a: Counts,
    sizes_b: Counts,
    levels: Counts,
    counts_a: Counts,
    counts_b: Counts,
    shared: Counts,
    *,
    confidence: float = CONFIDENCE,
) -> tuple[Counts, Counts, Counts]:
    """Return the likeliest number of shared shingles of each pair of documents, and both ends of its interval.

    `counts_a`, `counts_b` and `shared` are numbers of hashes below the bound of the common level of both sketches.
    """
    alone_a, alone_b = counts_a - shared, counts_b - shared
    most = np.minimum(sizes_a - alone_a, sizes_b - alone_b)
    smaller, together = np.minimum(sizes_a, sizes_b), sizes_a + sizes_b
    is_union = 2 * together <= 5 * smaller
    of_smaller = np.where(sizes_a <= sizes_b, counts_a, counts_b)
    drawn = np.where(is_union, shared + alone_a + alone_b, of_smaller)
    low, high = overlap_interval(np.where(is_union, together, smaller), is_union, drawn, shared, most, confidence)
    lost = 1.0 - np.exp2(-levels.astype(np.float64))
    if loops := loops_if_loaded():
        middle = np.empty(low.shape, np.int64)
        loops.overlap_estimates.likeliest(
            *map(as_loop_array, (sizes_a, sizes_b, alone_a, alone_b, shared, low, high)), lost, middle
        )
        return middle, low, high

    def falls(overlaps: Counts) -> Bools:
        """Return a mask of the pairs for which `overlaps` + 1 shared shingles are less likely than `overlaps`."""
        in_a, in_b = sizes_a - overlaps, sizes_b - overlaps
        # Cross-multiplied form of the ratio in the module docstring. If the overlap equals a size, 0 / 0 counts as 0.
        gain = (overlaps + 1) * ((in_a - alone_a) / np.maximum(in_a, 1)) * ((in_b - alone_b) / np.maximum(in_b, 1))
        return np.asarray(gain < (overlaps + 1 - shared) * lost)

    return bisect_first(falls, low, high), low, high


def overlap_interval(
    total: Counts, is_union: Bools, drawn: Counts, shared: Counts, most: Counts, confidence: float
) -> tuple[Counts, Counts]:
    """Return the smallest and the largest number of shared shingles compatible with the counted hashes.

    Both numbers lie between `shared` and `most`. The counted hashes are a sample of `drawn` shingles, and `shared` of
    them are in both documents. The sample comes from the shingles of one document, and `total` is their number. If
    `is_union`, it comes from the union of both documents, and `total` is the sum of both sizes, which counts the shared
    shingles twice.
    """
    # Reduce the tail a little: rounding could otherwise exclude a probability that is equal to the tail.
    tail = (1 - confidence) / 2 * (1 - SLACK)
    if loops := loops_if_loaded():
        low, high = np.empty((2, *shared.shape), np.int64)
        counts = map(as_loop_array, (total, is_union, drawn, shared, np.maximum(shared, most)))
        loops.overlap_estimates.overlap_intervals(*counts, tail, low, high)
        return low, high
    # Search for both ends at once. The first half of each array holds the lower ends.
    total, drawn, shared, most = (
        np.tile(part, 2).astype(np.int64) for part in (total, drawn, shared, np.maximum(shared, most))
    )
    is_union, is_lower = np.tile(is_union, 2).astype(np.bool_), np.arange(total.size) < total.size // 2
    # The impossible numbers form a run at each end of the range, so a bisection from each end finds the first possible
    # number.
    outer, inwards = np.where(is_lower, shared, most), np.where(is_lower, 1, -1)

    def is_possible(steps: Counts) -> Bools:
        overlaps = outer + inwards * steps
        population = total - np.where(is_union, overlaps, 0)
        # P(at most `shared` hashes are shared) = P(at least `drawn - shared` are not), so one call of `upper_tail`
        # is enough for both ends.
        good, least_drawn = np.where(is_lower, (overlaps, shared), (population - overlaps, drawn - shared))
        return np.asarray(upper_tail(population, good, drawn, least_drawn) > tail)

    ends = outer + inwards * bisect_first(is_possible, np.zeros_like(most), most - shared)
    least, largest = ends[is_lower], ends[~is_lower]
    return least, np.maximum(least, largest)


def judge_overlaps(overlaps: Overlaps, metric: Metric, threshold: Fraction, recall: Fraction) -> npt.NDArray[np.bool_]:
    """Return a mask of the candidates to keep. A candidate just at the threshold is kept with probability `recall`."""
    source_size, sizes, shared = overlaps.source_size, overlaps.sizes, overlaps.shared
    needed = np.array([least_overlap(metric, threshold, source_size, size) for size in sizes.tolist()], dtype=np.int64)
    is_exact = overlaps.levels == 0
    is_possible = needed <= np.minimum(source_size, sizes)
    is_kept: npt.NDArray[np.bool_] = is_exact & is_possible & (shared >= needed)
    at = np.flatnonzero(is_possible & ~is_exact)
    if not at.size:
        return is_kept
    population, drawn = population_and_draws(
        metric, source_size, sizes[at], overlaps.source_counts[at], overlaps.counts[at]
    )
    is_kept[at] = reaches(population, needed[at], drawn, shared[at], recall)
    return is_kept


def population_and_draws(
    metric: Metric,
    source_size: int,
    sizes: npt.NDArray[np.int64],
    source_counts: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return population and sample size of each hit's distribution of shared hashes (see the module docstring)."""
    is_of_hit = (sizes < source_size) & metric.allows_smaller
    return np.where(is_of_hit, sizes, source_size), np.where(is_of_hit, counts, source_counts)
