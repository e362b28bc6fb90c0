"""Options of a similarity search: metric, threshold and recall."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from whorl.fingerprint.statistics.metric import (
    SIMILAR_METRICS,
    Metric,
    Percent,
    fraction_of,
    metric_named,
    notes_on,
    require_fraction,
)
from whorl.operations import CommonOptions, SimilarOperation

DEFAULT_METRIC = metric_named(SimilarOperation.metric, SIMILAR_METRICS)
DEFAULT_THRESHOLD = fraction_of("threshold", SimilarOperation.threshold)
DEFAULT_RECALL = fraction_of("recall", SimilarOperation.recall)
#: Share of the allowed misses (1 - recall) that the look-ups, the first phase of a search, may cause.
_FIRST_SHARE = Fraction(1, 5)


@dataclass(frozen=True, slots=True)
class SimilarCriteria:
    """Options of the calibrated search; an option out of its range raises ParameterError.

    Args:
        metric: One of SIMILAR_METRICS.
        threshold: Fraction in (0, 1].
        recall: Minimum probability that a document just at the threshold is found, a fraction in (0, 1].
        notes: Notes for the user on ambiguous numbers, such as a threshold of 1.
    """

    metric: Metric = DEFAULT_METRIC
    threshold: Fraction = DEFAULT_THRESHOLD
    recall: Fraction = DEFAULT_RECALL
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        metric_named(self.metric, SIMILAR_METRICS)
        require_fraction("threshold", self.threshold)
        require_fraction("recall", self.recall)

    def phase_recalls(self, requests: int = 1) -> tuple[Fraction, Fraction]:
        """Divide the allowed misses between the two phases of a search.

        Return the recall of each of `requests` queries for candidates, and the recall of the verification.
        """
        misses = 1 - self.recall
        return 1 - _FIRST_SHARE / requests * misses, 1 - (1 - _FIRST_SHARE) * misses


class SimilarOptions(CommonOptions, total=False):
    """Keywords of `Store.similar`; `SimilarOperation` describes them."""

    metric: Metric | str
    threshold: Percent
    recall: Percent
    exact: bool
    filter: str | None
    rows: int
    start: int


def make_criteria(metric: Metric | str, threshold: Percent, recall: Percent) -> SimilarCriteria:
    chosen = metric_named(metric, SIMILAR_METRICS)
    notes = notes_on(threshold=threshold, recall=recall)
    return SimilarCriteria(chosen, fraction_of("threshold", threshold), fraction_of("recall", recall), notes=notes)
