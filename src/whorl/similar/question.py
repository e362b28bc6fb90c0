"""What a calibrated search is asked: a metric, a threshold and a wanted recall, as people write them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from whorl.boilerplate import CommonOptions
from whorl.fingerprint.statistics.metric import Metric, Percent, fraction_of, metric_named

#: The metrics that a search for one source can have.
METRICS = (Metric.JACCARD, Metric.A_IN_B, Metric.B_IN_A)
#: The words for them that people may type.
SimilarWord: TypeAlias = Literal["jaccard", "a_in_b", "b_in_a", "similarity", "contains", "within"]
DEFAULT_THRESHOLD, DEFAULT_RECALL = Fraction(20, 100), Fraction(95, 100)


@dataclass(frozen=True, slots=True)
class Question:
    """What a calibrated search is to find.

    Args:
        metric: What the threshold is a share of.
        threshold: Fraction in (0, 1].
        recall: Wanted chance to find a document at the threshold, a fraction in (0, 1].

    Raises:
        ParameterError: The metric is none of METRICS.
    """

    metric: Metric = Metric.JACCARD
    threshold: Fraction = DEFAULT_THRESHOLD
    recall: Fraction = DEFAULT_RECALL

    def __post_init__(self) -> None:
        metric_named(self.metric, METRICS)


class SimilarOptions(CommonOptions, total=False):
    """What documents that share content with a source are looked for, as the arguments of `Store.prepare_similar`."""

    source: str | None
    metric: Metric | str
    threshold: Percent
    recall: Percent
    only: str | None


def ask(metric: Metric | str, threshold: Percent, recall: Percent) -> Question:
    """Return the question of numbers as people give them.

    Raises:
        ParameterError: There is no such metric, or a number is no percentage above 0.
    """
    chosen = metric_named(metric, METRICS)
    return Question(chosen, fraction_of("threshold", threshold), fraction_of("recall", recall))
