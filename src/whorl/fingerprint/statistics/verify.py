"""The second phase of a calibrated search: candidates whose sketches are known are kept or dropped.

At their common level the source's sketch has x of the hit's hashes. With a shingles in the source, b in the hit and
I in both, two laws are exact for x, each given a number that says nothing about I itself:

    source   x ~ Hypergeometric(a, I, the source's hashes at the level)
    hit      x ~ Hypergeometric(b, I, the hit's hashes at the level)

The first holds for each source's sketch as it is, and so for all that one user's search finds; it judges similarity
and what contains the source. The second holds over the choice of the hash for both, which for one source can be some
points more or less; but a small hit within a large source is told by it alone, since a few of the source's many
hashes are spread like a count of rare events. It judges what lies within the source and is the smaller one.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.sketch.sketch import Overlaps
from whorl.fingerprint.statistics.hypergeometric import reaches
from whorl.fingerprint.statistics.metric import Metric, least_overlap, require_threshold


def judge_overlaps(overlaps: Overlaps, metric: Metric, threshold: Fraction, recall: Fraction) -> npt.NDArray[np.bool_]:
    """Return which candidates to keep.

    Args:
        overlaps: What the source's sketch has in common with those of the candidates.
        metric: What the threshold is a share of.
        threshold: Fraction in (0, 1].
        recall: Chance in (0, 1] with which a document just at the threshold is kept, at least.

    Raises:
        ParameterError: A fraction is outside its range.
    """
    require_threshold(threshold)
    source_size, sizes, shared = overlaps.source_size, overlaps.sizes, overlaps.shared
    needed = np.array([least_overlap(metric, threshold, source_size, size) for size in sizes.tolist()], dtype=np.int64)
    is_exact = overlaps.levels == 0
    is_possible = needed <= np.minimum(source_size, sizes)
    kept: npt.NDArray[np.bool_] = is_exact & is_possible & (shared >= needed)
    at = np.flatnonzero(is_possible & ~is_exact)
    if not at.size:
        return kept
    population, drawn = law(metric, source_size, sizes[at], overlaps.source_counts[at], overlaps.counts[at])
    kept[at] = reaches(population, needed[at], drawn, shared[at], recall)
    return kept


def law(
    metric: Metric,
    source_size: int,
    sizes: npt.NDArray[np.int64],
    source_counts: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the population and the number drawn of the law by which hits are judged.

    Args:
        metric: What the threshold is a share of.
        source_size: Distinct shingles of the source.
        sizes: Those of the hits; this and the next two int64 arrays of shape (hits,).
        source_counts: Hashes of the source at the common level.
        counts: Hashes of the hits there.
    """
    is_of_hit = (sizes < source_size) & (metric is Metric.B_IN_A)
    return np.where(is_of_hit, sizes, source_size), np.where(is_of_hit, counts, source_counts)
