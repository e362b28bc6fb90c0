"""What all-pairs searches ask: a metric of two documents, a threshold and a recall.

With a and b shingles, a <= b, and I in both, a pair is one when

    jaccard       I / (a + b - I) >= threshold
    containment   I / a >= threshold: most of the smaller document is within the larger one
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from whorl.duplicates.sketches import Numbers
from whorl.errors import ParameterError
from whorl.fingerprint.statistics.metric import Metric, Percent, fraction_of, metric_named, require_threshold

DEFAULT_THRESHOLD = Fraction(80, 100)
DEFAULT_RECALL = Fraction(95, 100)
#: A threshold of a thousand digits would not fit the arithmetic below; nobody measures finer than this.
_FINEST = 10**6


#: The metrics that a search for all pairs can have.
METRICS = (Metric.JACCARD, Metric.CONTAINMENT)
#: The words for them that people may type.
PairWord: TypeAlias = Literal["jaccard", "containment", "similarity"]


@dataclass(frozen=True, slots=True)
class PairQuestion:
    """Which pairs are to be found.

    Args:
        metric: What the threshold is a share of.
        threshold: Fraction in (0, 1], in steps of a millionth.
        recall: How many of the pairs just at the threshold are to be found, at least; fraction in (0, 1].

    Raises:
        ParameterError: The metric is none of METRICS, or a fraction is outside its range.
    """

    metric: Metric = Metric.JACCARD
    threshold: Fraction = DEFAULT_THRESHOLD
    recall: Fraction = DEFAULT_RECALL

    def __post_init__(self) -> None:
        metric_named(self.metric, METRICS)
        require_threshold(self.threshold)
        if self.threshold.denominator > _FINEST:
            raise ParameterError(f"threshold has steps of a ten thousandth of a percent, got {float(self.threshold):%}")
        if not 0 < self.recall <= 1:
            raise ParameterError(f"recall must be a fraction above 0 and at most 1, got {self.recall}")

    def __str__(self) -> str:
        return f"{self.metric.value} {self.threshold} with recall {self.recall}"

    def least_overlap(self, sizes_a: Numbers, sizes_b: Numbers) -> Numbers:
        """Return how many shingles pairs of these sizes must share, at least 1.

        Args:
            sizes_a: Distinct shingles of the one document; int64 array.
            sizes_b: Those of the other.
        """
        part, whole = self.threshold.as_integer_ratio()
        if self.metric is Metric.JACCARD:
            # I >= t (a + b - I), solved for I.
            needed = -(-part * (sizes_a + sizes_b) // (whole + part))
        else:
            needed = -(-part * np.minimum(sizes_a, sizes_b) // whole)
        at_least: Numbers = np.maximum(1, needed)
        return at_least

    def smallest_partner(self, sizes: Numbers) -> Numbers:
        """Return the smallest documents that can make a pair with larger ones of these sizes."""
        part, whole = self.threshold.as_integer_ratio()
        if self.metric is Metric.CONTAINMENT:
            return np.ones_like(sizes)
        smallest: Numbers = np.maximum(1, -(-part * sizes // whole))
        return smallest

    @property
    def share_of_smaller(self) -> Fraction:
        """Share of the smaller document's shingles that the larger one has, at least, whatever its size."""
        threshold = self.threshold
        return 2 * threshold / (1 + threshold) if self.metric is Metric.JACCARD else threshold


def ask_pairs(metric: Metric | str, threshold: Percent, recall: Percent) -> PairQuestion:
    """Return the question of numbers as people give them.

    Args:
        metric: "jaccard" (or "similarity"), or "containment" (how much of the smaller document the larger one has).
        threshold: In percent, above 0, at most 100; up to 1 a fraction.
        recall: The same.

    Raises:
        ParameterError: There is no such metric, or a number is no percentage above 0.
    """
    chosen = metric_named(metric, METRICS)
    return PairQuestion(chosen, fraction_of("threshold", threshold), fraction_of("recall", recall))
