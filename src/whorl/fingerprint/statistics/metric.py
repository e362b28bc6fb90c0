"""The three questions that a search can ask of two sets of shingles, and how many shared shingles answer yes.

With a shingles in the source, b in the hit and I in both:

    similarity   I / (a + b - I)   how alike the two are (Jaccard)
    contains     I / a             how much of the source the hit contains
    within       I / b             how much of the hit lies within the source

All numbers here decide who is found, so they are computed in fractions, never in floats.
"""

from __future__ import annotations

import math
from enum import Enum
from fractions import Fraction

from whorl.errors import ParameterError


class Metric(Enum):
    """What a threshold is a share of."""

    SIMILARITY = "similarity"
    CONTAINS = "contains"
    WITHIN = "within"


def require_threshold(threshold: Fraction) -> None:
    """Raise ParameterError unless a threshold is a fraction above 0 and at most 1."""
    if not 0 < threshold <= 1:
        raise ParameterError(f"threshold must be a fraction above 0 and at most 1, got {threshold}")


def least_overlap(metric: Metric, threshold: Fraction, source_size: int, hit_size: int) -> int:
    """Return how many shingles must be shared to reach a threshold: at least 1, more than there are where none can.

    Args:
        metric: What the threshold is a share of.
        threshold: Fraction; at 0 and below nothing has to be shared, and 0 is returned.
        source_size: Distinct shingles of the source.
        hit_size: Distinct shingles of the hit.

    >>> least_overlap(Metric.SIMILARITY, Fraction(1, 2), 30, 30)
    20
    """
    if threshold <= 0:
        return 0
    numerator, denominator = threshold.as_integer_ratio()
    match metric:
        case Metric.SIMILARITY:
            # I >= t (a + b - I), solved for I.
            needed = -(-numerator * (source_size + hit_size) // (denominator + numerator))
        case Metric.CONTAINS:
            needed = -(-numerator * source_size // denominator)
        case Metric.WITHIN:
            needed = -(-numerator * hit_size // denominator)
    return max(1, needed)


def sizes_for(metric: Metric, threshold: Fraction, source_size: int) -> tuple[int, int | None]:
    """Return the smallest and the largest size that a hit at a threshold can have, None where any size can.

    Args:
        metric: What the threshold is a share of.
        threshold: Fraction in (0, 1].
        source_size: Distinct shingles of the source.

    >>> sizes_for(Metric.SIMILARITY, Fraction(7, 10), 10)
    (7, 14)
    """
    require_threshold(threshold)
    smallest = 1 if metric is Metric.WITHIN else max(1, math.ceil(threshold * source_size))
    return smallest, None if metric is Metric.CONTAINS else math.floor(source_size / threshold)


def share(metric: Metric, overlap: float, source_size: int, hit_size: int) -> float:
    """Return the metric of two documents that share `overlap` shingles; 0 where both have none.

    >>> share(Metric.SIMILARITY, 20, 30, 30)
    0.5
    """
    whole = {
        Metric.SIMILARITY: source_size + hit_size - overlap,
        Metric.CONTAINS: source_size,
        Metric.WITHIN: hit_size,
    }[metric]
    return overlap / whole if whole else 0.0
