"""Shares of two sets, thresholds and percentages, compared with brute force."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.errors import ParameterError
from whorl.fingerprint.statistics.metric import (
    Metric,
    Percent,
    Shares,
    fraction_of,
    least_overlap,
    metric_named,
    sizes_for,
)
from whorl.query.ast import Fingerprint
from whorl.query.parser import parse

fractions = st.fractions(Fraction(1, 100), 1, max_denominator=100)


@given(st.sampled_from(Metric), fractions, st.integers(1, 40), st.integers(1, 40))
def test_overlap_is_the_least_that_reaches_the_threshold(metric: Metric, threshold: Fraction, a: int, b: int) -> None:
    """
    The minimum overlap equals that found by trying all; if no overlap is enough, it exceeds the smaller size.
    """

    def value(overlap: int) -> Fraction:
        wholes = {Metric.JACCARD: a + b - overlap, Metric.A_IN_B: a, Metric.B_IN_A: b, Metric.CONTAINMENT: min(a, b)}
        whole = wholes[metric]
        return Fraction(overlap, whole)

    reaching = [overlap for overlap in range(min(a, b) + 1) if value(overlap) >= threshold]
    needed = least_overlap(metric, threshold, a, b)
    smallest, largest = sizes_for(metric, threshold, a)
    if reaching:
        assert needed == reaching[0]
        assert Shares.of_counts(needed, a, b).measured_by(metric) == pytest.approx(float(value(needed)))
        assert smallest <= b
        assert largest is None or b <= largest
    else:
        assert needed > min(a, b)


def test_thresholds_are_not_floats() -> None:
    """
    7 % of 100 shingles are 7; in floating point they would be 8.
    """
    assert least_overlap(Metric.A_IN_B, Fraction(7, 100), 100, 500) == 7
    assert sizes_for(Metric.JACCARD, Fraction(7, 100), 100) == (7, 1428)
    assert least_overlap(Metric.A_IN_B, Fraction(-1, 10), 100, 500) == 0


@given(st.sampled_from(Metric), fractions, st.integers(1, 40))
def test_sizes_are_those_that_can_reach_the_threshold(metric: Metric, threshold: Fraction, size: int) -> None:
    """
    The sizes are the smallest and the largest for which some overlap reaches the threshold.
    """
    beyond = 100 * size + 1
    enough = [
        other for other in range(1, beyond + 1) if least_overlap(metric, threshold, size, other) <= min(size, other)
    ]
    smallest, largest = sizes_for(metric, threshold, size)
    assert smallest == enough[0]
    assert enough[-1] == (beyond if largest is None else largest)


@pytest.mark.parametrize(
    ("word", "metric"),
    [
        ("jaccard", Metric.JACCARD),
        ("similarity", Metric.JACCARD),
        ("contains", Metric.A_IN_B),
        ("a_in_b", Metric.A_IN_B),
        ("within", Metric.B_IN_A),
        (Metric.CONTAINMENT, Metric.CONTAINMENT),
    ],
)
def test_words_for_metrics(word: Metric | str, metric: Metric) -> None:
    """
    A metric is given by its name, by its word for users, or as the metric itself.
    """
    assert metric_named(word, list(Metric)) is metric


@pytest.mark.parametrize("word", ["JACCARD", "", "contains", "containment", Metric.CONTAINMENT, "jaccard ", []])
def test_unknown_metrics_are_refused(word: Any) -> None:
    """
    An unknown metric, or one not allowed here, is an error that lists the valid ones.
    """
    with pytest.raises(ParameterError, match=r"^metric must be jaccard or b_in_a, got"):
        metric_named(word, [Metric.JACCARD, Metric.B_IN_A])


def test_shares_by_hand() -> None:
    """
    Shares of 10 shared of 20 and 40; empty sets share nothing.
    """
    shares = Shares.of_counts(10, 20, 40)
    assert (shares.jaccard, shares.a_in_b, shares.b_in_a) == (0.2, 0.5, 0.25)
    assert [shares.measured_by(metric) for metric in Metric] == [0.2, 0.5, 0.25, 0.5]
    assert Shares.of_counts(0, 0, 0) == Shares(0.0, 0.0, 0.0)
    assert Shares.of_counts(0, 0, 5).measured_by(Metric.CONTAINMENT) == 0.0


@pytest.mark.parametrize(
    ("percent", "fraction"),
    [
        (70, Fraction(7, 10)),
        (0.8, Fraction(4, 5)),
        (1, Fraction(1)),
        ("1.0", Fraction(1)),
        (1.5, Fraction(3, 200)),
        ("0.001", Fraction(1, 1000)),
        ("12.5", Fraction(1, 8)),
        ("1e1", Fraction(1, 10)),
        (100, Fraction(1)),
        (Fraction(200, 3), Fraction(2, 3)),
        (5e-324, Fraction("5e-324")),
    ],
)
def test_percentages(percent: Percent, fraction: Fraction) -> None:
    """
    Percentages are converted exactly; numbers up to 1 are fractions.
    """
    assert fraction_of("recall", percent) == fraction


@given(st.decimals("0.0001", 100, places=4))
def test_one_rule_for_every_percentage(typed: Decimal) -> None:
    """
    The numbers of a FINGERPRINT clause have the same meaning as those of every option.
    """
    clause = parse(f"FINGERPRINT:x_{typed:f}")
    assert isinstance(clause, Fingerprint)
    assert clause.overlap is not None
    assert Fraction(clause.overlap) == fraction_of("threshold", f"{typed:f}")


@pytest.mark.parametrize(
    "percent", [0, -1, 101, 100.1, "", "many", "1/0", "nan", "inf", float("nan"), "1e-99999999", "1e99999999", "5%"]
)
def test_invalid_percentages_are_refused(percent: Percent) -> None:
    """
    The message has the name and the given value, even for a number of a hundred million digits.
    """
    with pytest.raises(ParameterError, match=r"^recall must be a percentage above 0 and at most 100, got"):
        fraction_of("recall", percent)
