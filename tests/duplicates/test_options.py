"""Tests of the options of the all-pairs search: overlaps against plain fractions, and invalid options."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.duplicates.options import DuplicatesOptions, PairOptions, parse_pair_options
from whorl.duplicates.retention import Keep
from whorl.errors import ParameterError
from whorl.fingerprint.statistics.metric import PAIR_METRICS, Metric, least_overlap

METRICS = st.sampled_from(list(PAIR_METRICS))


@pytest.mark.parametrize("wrong", [0, -1, Fraction(101, 100), Fraction(1, 10**7)])
def test_wrong_thresholds(wrong: Fraction) -> None:
    """
    A threshold out of range raises an error that names it.
    """
    with pytest.raises(ParameterError, match="threshold"):
        PairOptions(threshold=Fraction(wrong))


@pytest.mark.parametrize(
    ("metric", "threshold", "recall", "named"),
    [("a_in_b", 80, 95, "metric"), ("jaccard", 0, 95, "threshold"), ("jaccard", 80, 101, "recall")],
)
def test_invalid_pair_options_are_refused(metric: str, threshold: int, recall: int, named: str) -> None:
    """
    An invalid metric or number raises an error that names it.
    """
    with pytest.raises(ParameterError, match=named):
        parse_pair_options(metric, threshold, recall)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DuplicatesOptions(keep="longest"), r"keep must .*, such as Keep\('longest'\), got 'longest'"),  # type: ignore[arg-type]
        (lambda: DuplicatesOptions(80), "pairs must .* got 80"),  # type: ignore[arg-type]
        (lambda: DuplicatesOptions(granularity="line"), r"granularity must .* Granularity\.LINE, got 'line'"),  # type: ignore[arg-type]
        (lambda: DuplicatesOptions(state="seen"), r"state must .* Path\('seen'\), got 'seen'"),  # type: ignore[arg-type]
        (lambda: DuplicatesOptions(workers=1.5), r"workers must be a whole number, got 1\.5"),  # type: ignore[arg-type]
        (lambda: DuplicatesOptions(workers=0), "workers must be at least 1, got 0"),
        (lambda: PairOptions(threshold=0.8), r"threshold must be a fraction .* such as Fraction\(4, 5\), got 0\.8"),  # type: ignore[arg-type]
        (lambda: PairOptions(recall="95"), "recall must be a fraction .* got 95"),  # type: ignore[arg-type]
        (lambda: Keep.parse(None), "keep must be text, got None"),  # type: ignore[arg-type]
    ],
)
def test_options_of_other_types(make: Callable[[], object], message: str) -> None:
    """
    An option of another type raises an error with the value and a correct one.
    """
    with pytest.raises(ParameterError, match=message):
        make()


SIZES = st.lists(st.tuples(st.integers(1, 400), st.integers(1, 400)), min_size=1, max_size=5)


@given(SIZES, METRICS, st.integers(1, 100).map(lambda percent: Fraction(percent, 100)))
def test_least_overlaps(sizes: list[tuple[int, int]], metric: Metric, threshold: Fraction) -> None:
    """
    The least overlap reaches the threshold, and one shingle less does not. A search for one source uses the same
    number.
    """
    options = PairOptions(metric, threshold)
    a, b = np.array(sizes, np.int64).T
    for size_a, size_b, needed in zip(a.tolist(), b.tolist(), options.least_overlap(a, b).tolist(), strict=True):

        def share(overlap: int, a: int = size_a, b: int = size_b) -> Fraction:
            return Fraction(overlap, a + b - overlap if metric is Metric.JACCARD else min(a, b))

        assert needed == 1 or share(needed - 1) < threshold
        assert needed > min(size_a, size_b) or share(needed) >= threshold
        assert needed == least_overlap(metric, threshold, size_a, size_b)


@given(
    st.integers(1, 400),
    METRICS,
    st.integers(1, 100).map(lambda percent: Fraction(percent, 100)),
)
def test_smallest_partners(size: int, metric: Metric, threshold: Fraction) -> None:
    """
    The smallest partner is the smallest document that reaches the threshold if all of its shingles are shared.
    """
    options = PairOptions(metric, threshold)
    (smallest,) = options.smallest_partner(np.array([size])).tolist()
    others = np.arange(1, size + 1)
    possible = options.least_overlap(others, np.full(size, size)) <= others
    assert possible.tolist() == (others >= smallest).tolist()
    # A partner of any size shares at least this part of the smaller document.
    shared = options.least_overlap(others, np.full(size, size))[possible]
    assert all(
        Fraction(int(s), int(o)) >= options.share_of_smaller for s, o in zip(shared, others[possible], strict=True)
    )


@pytest.mark.parametrize("wrong", [None, 80, {"threshold": 80}])
def test_options_of_another_type(wrong: Any) -> None:
    """
    Options of another type are an error that names the right ones.
    """
    with pytest.raises(
        ParameterError, match=r"options must be DuplicatesOptions, or those of parse_pair_options\(\), got"
    ):
        DuplicatesOptions.from_options(wrong)


@pytest.mark.parametrize("wrong", [Metric.A_IN_B, Metric.B_IN_A])
def test_metrics_with_a_direction(wrong: Metric) -> None:
    """
    The all-pairs search refuses asymmetric metrics.
    """
    with pytest.raises(ParameterError, match="metric must be jaccard"):
        PairOptions(wrong)


def test_percentages_become_exact_fractions() -> None:
    """
    Percentages become exact fractions, down to a ten thousandth of a percent.
    """
    assert parse_pair_options("similarity", 80, "99.9") == PairOptions(
        Metric.JACCARD, Fraction(4, 5), Fraction(999, 1000)
    )
    assert parse_pair_options("jaccard", 0.8, "0.95") == PairOptions()
    assert parse_pair_options("containment", "1e-6", 100).threshold == Fraction(1, 10**6)
    with pytest.raises(ParameterError, match=r"steps of a ten thousandth of a percent, got 80\.00001 %"):
        parse_pair_options("jaccard", "80.00001", 95)
    with pytest.raises(ParameterError, match=r"got 70\.00000000000001 %; round it to four decimals"):
        parse_pair_options("jaccard", 0.1 * 7, 95)
    for wrong in (Fraction(0), Fraction(2)):
        with pytest.raises(ParameterError, match="recall must be a fraction above 0 and at most 1"):
            PairOptions(recall=wrong)
