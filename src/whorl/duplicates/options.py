"""Options of the all-pairs search: metric, threshold and recall.

Two documents with a and b shingles, a <= b, and I shared ones are a pair when

    jaccard       I / (a + b - I) >= threshold
    containment   I / a >= threshold: most of the smaller document is within the larger one
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from whorl.duplicates.sketches import Numbers
from whorl.errors import ParameterError
from whorl.fingerprint.statistics.metric import Metric, Percent, fraction_of, metric_named, notes_on, require_threshold

DEFAULT_THRESHOLD = Fraction(80, 100)
DEFAULT_RECALL = Fraction(95, 100)
#: Finest denominator of a threshold: one of a thousand digits would overflow the int64 arithmetic below.
_FINEST = 10**6


#: Metrics of the all-pairs search.
METRICS = (Metric.JACCARD, Metric.CONTAINMENT)
#: Names of these metrics that users may type.
PairWord: TypeAlias = Literal["jaccard", "containment", "similarity"]


@dataclass(frozen=True, slots=True)
class PairQuestion:
    """Options of the all-pairs search.

    Args:
        metric: Metric that the threshold applies to.
        threshold: Fraction in (0, 1], in steps of a millionth.
        recall: Share of the pairs just at the threshold to find, at least; fraction in (0, 1].
        notes: Remarks on ambiguous numbers and how they were read.

    Raises:
        ParameterError: The metric is none of METRICS, or a fraction is outside its range.
    """

    metric: Metric = Metric.JACCARD
    threshold: Fraction = DEFAULT_THRESHOLD
    recall: Fraction = DEFAULT_RECALL
    notes: tuple[str, ...] = field(default=(), compare=False)

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
        """Return the number of shingles that pairs of these sizes must share, at least 1.

        Args:
            sizes_a: Distinct shingles of the first documents; int64 array.
            sizes_b: Distinct shingles of the second documents; int64 array.
        """
        part, whole = self.threshold.as_integer_ratio()
        if self.metric is Metric.JACCARD:
            # Solve I >= t (a + b - I) for I.
            needed = -(-part * (sizes_a + sizes_b) // (whole + part))
        else:
            needed = -(-part * np.minimum(sizes_a, sizes_b) // whole)
        at_least: Numbers = np.maximum(1, needed)
        return at_least

    def smallest_partner(self, sizes: Numbers) -> Numbers:
        """Return the smallest size of a document that can make a pair with a larger one of each given size."""
        part, whole = self.threshold.as_integer_ratio()
        if self.metric is Metric.CONTAINMENT:
            return np.ones_like(sizes)
        smallest: Numbers = np.maximum(1, -(-part * sizes // whole))
        return smallest

    @property
    def share_of_smaller(self) -> Fraction:
        """Smallest share of the smaller document's shingles that a pair has in common, whatever the sizes."""
        threshold = self.threshold
        return 2 * threshold / (1 + threshold) if self.metric is Metric.JACCARD else threshold


def ask_pairs(metric: Metric | str, threshold: Percent, recall: Percent) -> PairQuestion:
    """Return the options for numbers as users type them.

    Args:
        metric: "jaccard" (or "similarity"), or "containment" (share of the smaller document found in the larger one).
        threshold: Percentage above 0, at most 100; a number up to 1 is a fraction.
        recall: Percentage, read like the threshold.

    Raises:
        ParameterError: The metric is unknown, or a number is no percentage above 0.
    """
    chosen = metric_named(metric, METRICS)
    notes = notes_on(threshold=threshold, recall=recall)
    return PairQuestion(chosen, fraction_of("threshold", threshold), fraction_of("recall", recall), notes)
