"""Options of a calibrated search: parsing and errors."""

from __future__ import annotations

from fractions import Fraction

import pytest

from whorl import Store
from whorl.errors import ParameterError
from whorl.fingerprint.statistics.metric import Metric, Percent
from whorl.search.similar.options import SimilarCriteria, make_criteria


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "alike"}, "metric must be containment"),
        ({"threshold": 0}, "threshold must be a percentage above 0"),
        ({"threshold": "x"}, "got x"),
        ({"recall": 101}, "recall must be a percentage"),
        ({"rows": -1}, "rows"),
    ],
)
def test_invalid_options_are_refused(store: Store, options: dict[str, object], message: str) -> None:
    """
    The message names the value and the valid ones.
    """
    with pytest.raises(ParameterError, match=message):
        store.similar("whole", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("typed", "metric"),
    [
        ("containment", Metric.CONTAINMENT),
        ("jaccard", Metric.JACCARD),
        ("similarity", Metric.JACCARD),
        ("contains", Metric.A_IN_B),
        ("within", Metric.B_IN_A),
        (Metric.A_IN_B, Metric.A_IN_B),
    ],
)
def test_metrics_by_their_words(typed: str | Metric, metric: Metric) -> None:
    """
    A metric is given by name, by one of its other words, or as the metric itself.
    """
    assert make_criteria(typed, 50, 90) == SimilarCriteria(metric, Fraction(1, 2), Fraction(9, 10))


@pytest.mark.parametrize(
    ("percent", "fraction"),
    [(7, Fraction(7, 100)), (0.1, Fraction(1, 10)), ("2.5", Fraction(1, 40)), ("1e-2", Fraction(1, 100))],
)
def test_percentages_are_what_is_written(percent: Percent, fraction: Fraction) -> None:
    """
    A percentage is converted exactly, even from a float.
    """
    assert make_criteria("jaccard", percent, percent) == SimilarCriteria(Metric.JACCARD, fraction, fraction)


@pytest.mark.parametrize("percent", [0, -1, 100.1, "nan", "inf", "", "1e99999999", "50%", Fraction(0)])
def test_invalid_percentages_are_refused(percent: Percent) -> None:
    """
    The error names the invalid number, threshold or recall.
    """
    with pytest.raises(ParameterError, match="threshold must be a percentage above 0 and at most 100, got"):
        make_criteria("jaccard", percent, 95)
    with pytest.raises(ParameterError, match="recall must be a percentage above 0 and at most 100, got"):
        make_criteria("jaccard", 20, percent)
