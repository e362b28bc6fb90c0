"""Estimates the overlap of a source and its hits from sketches, with confidence intervals.

A source has a shingles, a hit b, and both share I. x hashes are in both sketches, ya only in the source's and yb only
in the hit's, all below 2**-L of the hash space. These are three independent binomials of I, a - I and b - I shingles,
each kept with probability r = 2**-L, so the likelihood of I grows by

    L(I) / L(I - 1) = I / (I - x) * (a - I + 1 - ya) / (a - I + 1) * (b - I + 1 - yb) / (b - I + 1) / (1 - r)

which falls as I rises; the estimate is the last I with a ratio of at least 1. At level 0, r is 1 and I is x.

Two laws are exact for x and give the interval: x ~ Hypergeometric(a, I, x + ya), or the same for the hit, and x ~
Hypergeometric(a + b - I, I, x + ya + yb), the union's. The smaller document's law has less spread than the larger
one's. For documents of similar size the union's has the least: with a <= b, s = (a + b) / a and I / a below s (3 - s) /
2. The choice of the law must not depend on the observation, so sizes within 3 : 2 of each other (s <= 5 / 2) take the
union's.

An interval contains each I for which a count as large as observed, and one as small, has at least half the probability
left by the confidence (Clopper and Pearson's construction, for a law of integers): it covers the truth with at least
that confidence, for any truth. The three shares rise with I, so the ends of the interval give theirs.

`judge_overlaps` verifies the candidates of a calibrated search by the overlap of their sketches. At their common level
the source's sketch has x of the hit's hashes. Two laws are exact for x, each given a number that carries no information
about I:

    source   x ~ Hypergeometric(a, I, the source's hashes at the level)
    hit      x ~ Hypergeometric(b, I, the hit's hashes at the level)

The first holds for each source's sketch, and so for all results of one search; it judges similarity and hits that
contain the source. The second holds over the choice of the hash function for both, so for one source its recall can
differ by some points. Only the second can judge a small hit within a large source, because the few shared hashes of the
source's many vary like a count of rare events. It judges hits that lie within the source and are smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from whorl.errors import ParameterError
from whorl.fingerprint.compiled.kernel import for_loops, loops_at_hand
from whorl.fingerprint.sketch.sketch import Overlaps, Sketch, compare
from whorl.fingerprint.statistics.hypergeometric import SLACK, Bools, Counts, first_that, reaches, upper_tail
from whorl.fingerprint.statistics.metric import Intervals, Metric, Shares, least_overlap, require_fraction

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated overlap of a source (A) and a hit (B).

    Args:
        shares: The likeliest shares.
        low: Lower ends of their intervals; equal to the shares if these are exact.
        high: Upper ends of their intervals.
        shared_hashes: Number of hashes in both sketches.
        source_hashes: Number of hashes of the source that were looked for in the hit.
        is_exact: Whether all hashes were compared, so that the values are exact.
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
        """Intervals of the shares, unless these are exact."""
        return None if self.is_exact else Intervals.between(self.low, self.high)


def estimate(source: Sketch, hits: Sequence[Sketch], confidence: float = CONFIDENCE) -> tuple[Estimate, ...]:
    """Estimate the overlap of a source with hits from the sketches of both sides."""
    return estimate_overlaps(compare(source, hits), confidence)


def estimate_overlaps(overlaps: Overlaps, confidence: float = CONFIDENCE) -> tuple[Estimate, ...]:
    _require_confidence(confidence)
    size, sizes = overlaps.source_size, overlaps.sizes
    middle = low = high = overlaps.shared
    # At level 0 the counts are exact.
    if overlaps.levels.any():
        middle, low, high = shared_shingles(
            np.full(sizes.shape, size, dtype=np.int64),
            sizes,
            overlaps.levels,
            overlaps.source_counts,
            overlaps.counts,
            overlaps.shared,
            confidence,
        )
    estimates = []
    columns = (middle, low, high, sizes, overlaps.shared, overlaps.source_counts)
    for likeliest, least, largest, hit_size, common, counted in zip(*(part.tolist() for part in columns), strict=True):
        shares = low_shares = high_shares = Shares.of_counts(likeliest, size, hit_size)
        if least < largest:
            low_shares, high_shares = (Shares.of_counts(end, size, hit_size) for end in (least, largest))
        is_exact = least == largest
        estimates.append(Estimate(shares, low_shares, high_shares, common, counted, size, hit_size, is_exact=is_exact))
    return tuple(estimates)


def shared_shingles(
    sizes_a: Counts,
    sizes_b: Counts,
    levels: Counts,
    counts_a: Counts,
    counts_b: Counts,
    shared: Counts,
    confidence: float = CONFIDENCE,
) -> tuple[Counts, Counts, Counts]:
    """Estimate the shared shingles of pairs of documents: the likeliest number, and the ends of its interval.

    All counts, and `shared`, are hashes below the bound of the level that the sketches have in common.
    """
    alone_a, alone_b = counts_a - shared, counts_b - shared
    most = np.minimum(sizes_a - alone_a, sizes_b - alone_b)
    smaller, together = np.minimum(sizes_a, sizes_b), sizes_a + sizes_b
    is_union = 2 * together <= 5 * smaller
    of_smaller = np.where(sizes_a <= sizes_b, counts_a, counts_b)
    drawn = np.where(is_union, shared + alone_a + alone_b, of_smaller)
    low, high = overlap_interval(np.where(is_union, together, smaller), is_union, drawn, shared, most, confidence)
    lost = 1.0 - np.exp2(-levels.astype(np.float64))
    if loops := loops_at_hand():
        middle = np.empty(low.shape, np.int64)
        loops.sketches.likeliest(*map(for_loops, (sizes_a, sizes_b, alone_a, alone_b, shared, low, high)), lost, middle)
        return middle, low, high

    def falls(overlaps: Counts) -> Bools:
        """Check elementwise whether the likelihood of an overlap exceeds that of the next one."""
        in_a, in_b = sizes_a - overlaps, sizes_b - overlaps
        # Cross-multiplied form of the ratio in the module docstring; where a size is reached, 0 instead of 0 / 0.
        gain = (overlaps + 1) * ((in_a - alone_a) / np.maximum(in_a, 1)) * ((in_b - alone_b) / np.maximum(in_b, 1))
        return np.asarray(gain < (overlaps + 1 - shared) * lost)

    return first_that(falls, low, high), low, high


def overlap_interval(
    total: Counts, is_union: Bools, drawn: Counts, shared: Counts, most: Counts, confidence: float
) -> tuple[Counts, Counts]:
    """Return the smallest and the largest overlap that are compatible with the counts.

    `total` is the population; if `is_union`, it is the sum of both sizes, and the overlap is subtracted once. `shared`
    of the `drawn` hashes are good; the overlap is at least `shared` and at most `most`.
    """
    _require_confidence(confidence)
    # A computed probability that equals the tail may be slightly too small.
    tail = (1 - confidence) / 2 * (1 - SLACK)
    if loops := loops_at_hand():
        low, high = np.empty((2, *shared.shape), np.int64)
        counts = map(for_loops, (total, is_union, drawn, shared, np.maximum(shared, most)))
        loops.sketches.overlap_intervals(*counts, tail, low, high)
        return low, high
    # Search both ends at once: the first half of each array holds the lower ends.
    total, drawn, shared, most = (
        np.tile(part, 2).astype(np.int64) for part in (total, drawn, shared, np.maximum(shared, most))
    )
    is_union, is_lower = np.tile(is_union, 2).astype(np.bool_), np.arange(total.size) < total.size // 2
    # Going inwards from the end, overlaps are impossible up to a point, and possible after it.
    outer, inwards = np.where(is_lower, shared, most), np.where(is_lower, 1, -1)

    def is_possible(steps: Counts) -> Bools:
        overlaps = outer + inwards * steps
        population = total - np.where(is_union, overlaps, 0)
        # At most x good items is equivalent to at least drawn - x bad items: both tails in one call.
        good, least_drawn = np.where(is_lower, (overlaps, shared), (population - overlaps, drawn - shared))
        return np.asarray(upper_tail(population, good, drawn, least_drawn) > tail)

    ends = outer + inwards * first_that(is_possible, np.zeros_like(most), most - shared)
    least, largest = ends[is_lower], ends[~is_lower]
    return least, np.maximum(least, largest)


def _require_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence must be a fraction between 0 and 1, got {confidence}")


def judge_overlaps(overlaps: Overlaps, metric: Metric, threshold: Fraction, recall: Fraction) -> npt.NDArray[np.bool_]:
    """Return a mask of the candidates to keep, with the recall for documents just at the threshold."""
    require_fraction("threshold", threshold)
    source_size, sizes, shared = overlaps.source_size, overlaps.sizes, overlaps.shared
    needed = np.array([least_overlap(metric, threshold, source_size, size) for size in sizes.tolist()], dtype=np.int64)
    is_exact = overlaps.levels == 0
    is_possible = needed <= np.minimum(source_size, sizes)
    is_kept: npt.NDArray[np.bool_] = is_exact & is_possible & (shared >= needed)
    at = np.flatnonzero(is_possible & ~is_exact)
    if not at.size:
        return is_kept
    population, drawn = law(metric, source_size, sizes[at], overlaps.source_counts[at], overlaps.counts[at])
    is_kept[at] = reaches(population, needed[at], drawn, shared[at], recall)
    return is_kept


def law(
    metric: Metric,
    source_size: int,
    sizes: npt.NDArray[np.int64],
    source_counts: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the population and the sample size of the law that judges each hit."""
    is_of_hit = (sizes < source_size) & (metric in (Metric.B_IN_A, Metric.CONTAINMENT))
    return np.where(is_of_hit, sizes, source_size), np.where(is_of_hit, counts, source_counts)
