"""Rounding of shares in all output: shares down, intervals outward."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.fingerprint.statistics.metric import Shares
from whorl.output.numbers import fraction, percent, percent_interval, shares_values

counts = st.integers(1, 10**6).flatmap(lambda whole: st.tuples(st.integers(0, whole), st.just(whole)))


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.0, "0.0%"),
        (1.0, "100.0%"),
        (float(Fraction(10**9 - 1, 10**9)), "99.9%"),
        (1e-9, "<0.1%"),
        (0.001, "0.1%"),
        (22 / 187, "11.7%"),
        (0.29, "29.0%"),
    ],
)
def test_percent(share: float, shown: str) -> None:
    """
    Only a share of 1 is 100 percent, and only a share of 0 is 0 percent.
    """
    assert percent(share) == shown


@given(counts)
def test_shares_are_rounded_down(count: tuple[int, int]) -> None:
    """
    Shares are rounded down exactly, to six decimals and to a tenth of a percent; rounding twice changes nothing.
    """
    part, whole = count
    assert Fraction(str(fraction(part / whole))) == Fraction(10**6 * part // whole, 10**6)
    tenths = 1000 * part // whole
    if tenths or not part:
        assert percent(part / whole) == percent(fraction(part / whole)) == f"{tenths // 10}.{tenths % 10}%"


@given(st.lists(st.integers(0, 1000), min_size=3, max_size=3).map(sorted), st.integers(1000, 10**6))
def test_intervals_hold_what_they_held(overlaps: list[int], size: int) -> None:
    """
    The lower ends of intervals are rounded down, the upper ends up; only an estimate has intervals.
    """
    low, likeliest, high = (Shares.of_counts(overlap, size, size + 7) for overlap in overlaps)
    told: Any = shares_values(likeliest, low, high, is_exact=False)
    assert list(told) == ["jaccard", "a_in_b", "b_in_a", "exact", "intervals"]
    for name in Shares.NAMES:
        least, largest = told["intervals"][name]
        assert least <= getattr(low, name) <= getattr(high, name) <= largest + 1e-15
        assert least <= told[name] <= largest
        first, last = map(int, percent_interval(getattr(low, name), getattr(high, name)).split("–"))
        assert first / 100 <= getattr(low, name) + 1e-9
        assert last / 100 >= getattr(high, name) - 1e-9
    assert "intervals" not in shares_values(likeliest, likeliest, likeliest, is_exact=True)
