"""Values of documents and queries: their types, and the numbers and dates in a range."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.query.ast import Bound
from whorl.query.plan.clauses import Between, Equal, Kind, Test
from whorl.query.plan.values import UnreadableError, range_of, typed, value_of, whole

NOW = datetime(2024, 3, 31, 12, tzinfo=UTC)
K, N, F, D, B = Kind.KEYWORD, Kind.INTEGER, Kind.FLOAT, Kind.DATE, Kind.BOOLEAN
DAY = 86_400_000
#: The smallest and the largest 64-bit integer.
ENDS = (-(1 << 63), (1 << 63) - 1)


@given(st.one_of(st.text(), st.integers(), st.floats(allow_nan=False), st.booleans()))
def test_types_of_values(value: str | float | bool) -> None:
    """
    A document's value keeps its type and its value.
    """
    kind, kept = typed(value)
    assert (kind, type(kept)) in [(K, str), (D, int), (N, int), (F, float), (B, bool)]
    if kind is not D:
        assert kept == value
    assert str(kept) != "-0.0"


def test_long_values_are_kept_apart() -> None:
    """
    A text too long for the index is shortened to a value that differs for every text.
    """
    assert whole("x" * 1000) == "x" * 1000
    kept = [whole("x" * length) for length in range(1001, 1100)]
    assert len(set(kept)) == len(kept)
    assert max(map(len, kept)) < 300


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (N, " +007 ", 7),
        (N, "1e3", 1000),
        (N, "-9223372036854775808", ENDS[0]),
        (F, ".5", 0.5),
        (F, "-0", 0.0),
        (F, "1e-400", 0.0),
        (B, " True ", True),
        (K, "a\ud800b", "a\ufffdb"),
        (Kind.TEXT, "Big Dog", "Big Dog"),
    ],
)
def test_what_is_typed_is_one_value(kind: Kind, text: str, value: str | float | bool) -> None:
    """
    Numbers are compared by value, not by notation; a text is kept unchanged.
    """
    asked = value_of(kind, "place", text, NOW)
    assert asked == Equal("place", K if kind is Kind.TEXT else kind, value, 0.0)
    assert str(getattr(asked, "value", None)) == str(value)


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        (N, "7.5", "'7.5' is no whole number"),
        (N, "9223372036854775808", "has more than 64 bits"),
        (N, "1e999", "has more than 64 bits"),
        (N, "٣", "is no number"),
        (N, "0x10", "is no number"),
        (N, "1_000", "is no number"),
        (N, "9" * 41, "is no number"),
        (F, "nan", "is no number"),
        (F, "inf", "is no number"),
        (F, "1e400", "is too large"),
        (F, "1e1000", "is no number"),
        (B, "1", "neither true nor false"),
        (D, "2021-02-30", "day is out of range"),
        (D, "", "is no date"),
    ],
)
def test_what_is_no_value_of_a_type(kind: Kind, text: str, reason: str) -> None:
    """
    The reason shows the typed text.
    """
    with pytest.raises(UnreadableError, match=re.escape(reason)):
        value_of(kind, "place", text, NOW)


numbers = st.one_of(
    st.integers(-20, 20).map(Decimal), st.decimals(-20, 20, places=1), st.decimals("-1e30", "1e30", places=0)
)
ends = st.none() | st.builds(lambda number, is_in: (number, is_in), numbers, st.booleans())


def bound(end: tuple[object, bool] | None) -> Bound | None:
    return None if end is None else Bound(str(end[0]), end[1])


def holds(asked: Test, value: float) -> bool:
    """Return True if a range of numbers contains a value."""
    assert isinstance(asked, Between)
    low, high = asked.low, asked.high
    assert not isinstance(low, str)
    assert not isinstance(high, str)
    above = low is None or (value >= low if asked.includes_low else value > low)
    return above and (high is None or (value <= high if asked.includes_high else value < high))


@pytest.mark.parametrize("kind", [N, F])
@given(low=ends, high=ends)
def test_a_range_holds_the_numbers_between_its_ends(
    kind: Kind, low: tuple[Decimal, bool] | None, high: tuple[Decimal, bool] | None
) -> None:
    """
    Ends beyond 64 bits and ends between two whole numbers give the same range as exact arithmetic.
    """
    asked = range_of(kind, "place", bound(low), bound(high), NOW)
    for value in (*range(-21, 22), *ENDS):
        above = low is None or (value >= low[0] if low[1] else value > low[0])
        below = high is None or (value <= high[0] if high[1] else value < high[0])
        assert holds(asked, value) == (above and below), value


@pytest.mark.parametrize(
    ("low", "high", "days"),
    [
        (("1970-01-02", True), ("1970-01-03", True), [1, 2]),
        (("1970-01-02", False), ("1970-01-03", True), [2]),
        (("1970-01-02", True), ("1970-01-03", False), [1]),
        (("1970-01", False), None, [31, 32]),
        (None, ("1970-01-02", False), [0]),
    ],
)
def test_a_date_is_in_a_range_with_all_that_it_means(
    low: tuple[str, bool] | None, high: tuple[str, bool] | None, days: list[int]
) -> None:
    """
    A day is in a range from its first to its last millisecond, or not at all.
    """
    asked = range_of(D, "place", bound(low), bound(high), NOW)
    for day in range(33):
        inside = [holds(asked, moment) for moment in (day * DAY, day * DAY + DAY // 2, (day + 1) * DAY - 1)]
        assert inside == [day in days] * 3, day


def test_ranges_that_nothing_can_be_in() -> None:
    """
    Types without an order have no ranges, and the ends of a text range have a maximum length.
    """
    with pytest.raises(UnreadableError, match="a range needs values that have an order"):
        range_of(B, "place", Bound("true"), None, NOW)
    with pytest.raises(UnreadableError, match="at most 100 characters, got 101"):
        range_of(K, "place", None, Bound("x" * 101), NOW)
    assert range_of(K, "place", Bound("\ud800"), Bound("b", False), NOW) == Between(
        "place", K, "\ufffd", "b", True, False, 0.0
    )
