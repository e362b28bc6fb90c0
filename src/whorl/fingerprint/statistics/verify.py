"""Verification step of a calibrated search: keeps or drops candidates by the overlap of their sketches.

At their common level the source's sketch has x of the hit's hashes. With a shingles in the source, b in the hit and I
in both, two laws are exact for x, each given a number that carries no information about I:

    source   x ~ Hypergeometric(a, I, the source's hashes at the level)
    hit      x ~ Hypergeometric(b, I, the hit's hashes at the level)

The first holds for each source's sketch, and so for all results of one search; it judges similarity and hits that
contain the source. The second holds over the choice of the hash function for both, so for one source its recall can
differ by some points. Only the second can judge a small hit within a large source, because the few shared hashes of the
source's many vary like a count of rare events. It judges hits that lie within the source and are smaller.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.sketch.sketch import Overlaps
from whorl.fingerprint.statistics.hypergeometric import reaches
from whorl.fingerprint.statistics.metric import Metric, least_overlap, require_threshold


def judge_overlaps(overlaps: Overlaps, metric: Metric, threshold: Fraction, recall: Fraction) -> npt.NDArray[np.bool_]:
    """Return a mask of the candidates to keep.

    Args:
        overlaps: Overlaps of the source's sketch with those of the candidates.
        metric: Metric of the threshold.
        threshold: Fraction in (0, 1].
        recall: Minimum probability in (0, 1] of keeping a document just at the threshold.

    Raises:
        ParameterError: A fraction is out of range.
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
    """Return the population and the sample size of the law that judges each hit.

    Args:
        metric: Metric of the threshold.
        source_size: Distinct shingles of the source.
        sizes: Distinct shingles of the hits; this and the next two are int64 arrays of shape (hits,).
        source_counts: Hashes of the source at the common level.
        counts: Hashes of the hits at the common level.
    """
    is_of_hit = (sizes < source_size) & (metric is Metric.B_IN_A)
    return np.where(is_of_hit, sizes, source_size), np.where(is_of_hit, counts, source_counts)
