"""Values of documents and queries: their types, the values in a range, and dates with Solr's date math."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.query.ast import Bound
from whorl.query.plan.fields_and_values import (
    DateSpan,
    UnreadableError,
    date_of,
    encode_keyword,
    format_date,
    infer_kind,
    range_of,
    read_date,
    value_of,
)
from whorl.query.plan.nodes import Between, Equal, Kind, Test

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
    kind, number = infer_kind(value)
    assert (kind, type(number)) in [(K, str), (D, int), (N, int), (F, float), (B, bool)]
    if kind is not D:
        assert number == value
    assert str(number) != "-0.0"


def test_long_values_are_kept_apart() -> None:
    """
    A text too long for the index is shortened to a value that differs for every text.
    """
    assert encode_keyword("x" * 1000) == "x" * 1000
    texts = [encode_keyword("x" * length) for length in range(1001, 1100)]
    assert len(set(texts)) == len(texts)
    assert max(map(len, texts)) < 300


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
def test_typed_values(kind: Kind, text: str, value: str | float | bool) -> None:
    """
    Numbers are compared by value, not by notation; a text is kept unchanged.
    """
    parsed = value_of(kind, "place", text, NOW)
    assert parsed == Equal("place", K if kind is Kind.TEXT else kind, value, 0.0)
    assert str(getattr(parsed, "value", None)) == str(value)


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        (N, "7.5", "'7.5' is not a whole number"),
        (N, "9223372036854775808", "is above 2^63 - 1 or below -2^63"),
        (N, "1e999", "is above 2^63 - 1 or below -2^63"),
        (N, "٣", "is not a number"),
        (N, "0x10", "is not a number"),
        (N, "1_000", "is not a number"),
        (N, "9" * 41, "is not a number"),
        (F, "nan", "is not a number"),
        (F, "inf", "is not a number"),
        (F, "1e400", "is too large"),
        (F, "1e1000", "is not a number"),
        (B, "1", "neither true nor false"),
        (D, "2021-02-30", "day is out of range"),
        (D, "", "is not a date"),
    ],
)
def test_values_of_another_type_are_refused(kind: Kind, text: str, reason: str) -> None:
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


def holds(test: Test, value: float) -> bool:
    """Return True if a range of numbers contains a value."""
    assert isinstance(test, Between)
    low, high = test.low, test.high
    assert not isinstance(low, str)
    assert not isinstance(high, str)
    above = low is None or (value >= low if test.includes_low else value > low)
    return above and (high is None or (value <= high if test.includes_high else value < high))


@pytest.mark.parametrize("kind", [N, F])
@given(low=ends, high=ends)
def test_a_range_holds_the_numbers_between_its_ends(
    kind: Kind, low: tuple[Decimal, bool] | None, high: tuple[Decimal, bool] | None
) -> None:
    """
    Ends beyond 64 bits and ends between two whole numbers give the same range as exact arithmetic. In a field of
    floating-point numbers, ends are rounded as values are: 8.1 is in the range from 8.1.
    """
    value_range = range_of(kind, "place", bound(low), bound(high), NOW)
    if kind is F:
        low, high = (end and (Decimal(float(end[0])), end[1]) for end in (low, high))
    for value in (*range(-21, 22), *ENDS):
        above = low is None or (value >= low[0] if low[1] else value > low[0])
        below = high is None or (value <= high[0] if high[1] else value < high[0])
        assert holds(value_range, value) == (above and below), value


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
    value_range = range_of(D, "place", bound(low), bound(high), NOW)
    for day in range(33):
        inside = [holds(value_range, moment) for moment in (day * DAY, day * DAY + DAY // 2, (day + 1) * DAY - 1)]
        assert inside == [day in days] * 3, day


def test_ranges_that_nothing_can_be_in() -> None:
    """
    Types without an order have no ranges. The ends of a text range have a maximum length if the index may cut values.
    """
    with pytest.raises(UnreadableError, match="a range needs values that have an order"):
        range_of(B, "place", Bound("true"), None, NOW)
    with pytest.raises(UnreadableError, match="at most 100 characters, got 101"):
        range_of(K, "place", None, Bound("x" * 101), NOW)
    assert range_of(K, "place", None, Bound("x" * 101), NOW, is_whole=True) == Between(
        "place", K, None, "x" * 101, weight=0.0
    )
    assert range_of(K, "place", Bound("\ud800"), Bound("b", False), NOW) == Between(
        "place", K, "\ufffd", "b", True, False, 0.0
    )


LEAP_YEAR_NOW = datetime(2024, 3, 31, 12, 30, 45, 123456, tzinfo=UTC)


def first_and_last(text: str) -> tuple[str, str]:
    moments = read_date(text, LEAP_YEAR_NOW)
    return format_date(moments.first), format_date(moments.last)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2021", "2021-01-01T00:00:00.000Z", "2021-12-31T23:59:59.999Z"),
        ("2020-02", "2020-02-01T00:00:00.000Z", "2020-02-29T23:59:59.999Z"),
        ("2021-05-03", "2021-05-03T00:00:00.000Z", "2021-05-03T23:59:59.999Z"),
        ("2021-05-03T10", "2021-05-03T10:00:00.000Z", "2021-05-03T10:59:59.999Z"),
        ("2021-05-03T10:30Z", "2021-05-03T10:30:00.000Z", "2021-05-03T10:30:59.999Z"),
        ("2021-05-03T10:30:05", "2021-05-03T10:30:05.000Z", "2021-05-03T10:30:05.999Z"),
        ("2021-05-03T10:30:05.1234Z", "2021-05-03T10:30:05.123Z", "2021-05-03T10:30:05.123Z"),
        ("2021-05-03T10:00:00+02:00", "2021-05-03T08:00:00.000Z", "2021-05-03T08:00:00.999Z"),
        ("2017-04-10T10:52:30.868+0000", "2017-04-10T10:52:30.868Z", "2017-04-10T10:52:30.868Z"),
        ("2021-05-03T10:00:00-0130", "2021-05-03T11:30:00.000Z", "2021-05-03T11:30:00.999Z"),
        ("2021-05-03 10:30", "2021-05-03T10:30:00.000Z", "2021-05-03T10:30:59.999Z"),
        ("2021-05-03 10:30:05.25+02", "2021-05-03T08:30:05.250Z", "2021-05-03T08:30:05.250Z"),
        ("TODAY", "2024-03-31T00:00:00.000Z", "2024-03-31T23:59:59.999Z"),
        ("NOW", "2024-03-31T12:30:45.123Z", "2024-03-31T12:30:45.123Z"),
        ("9999", "9999-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_date_means_all_of_its_last_part(text: str, first: str, last: str) -> None:
    """
    A date denotes the whole year, month, day, hour, minute or second; NOW and a date with a fraction are one moment.
    """
    assert first_and_last(text) == (first, last)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        # The examples of Solr's reference guide, calculated by hand.
        ("NOW+2MONTHS", "2024-05-31T12:30:45.123Z"),
        ("NOW-1DAY", "2024-03-30T12:30:45.123Z"),
        ("NOW/HOUR", "2024-03-31T12:00:00.000Z"),
        ("NOW+6MONTHS+3DAYS/DAY", "2024-10-03T00:00:00.000Z"),
        ("1972-05-20T17:33:18.772Z+6MONTHS+3DAYS/DAY", "1972-11-23T00:00:00.000Z"),
        ("NOW/DAY-1MONTH", "2024-02-29T00:00:00.000Z"),
        ("NOW-1YEAR/YEAR", "2023-01-01T00:00:00.000Z"),
        ("NOW/MONTH", "2024-03-01T00:00:00.000Z"),
        ("NOW/MINUTE", "2024-03-31T12:30:00.000Z"),
        ("NOW/SECOND", "2024-03-31T12:30:45.000Z"),
        ("NOW+1MILLI", "2024-03-31T12:30:45.124Z"),
        ("NOW+2MILLISECONDS", "2024-03-31T12:30:45.125Z"),
        ("NOW-90MINUTES", "2024-03-31T11:00:45.123Z"),
        ("NOW+1DATE", "2024-04-01T12:30:45.123Z"),
        ("2020-02-29+1YEAR", "2021-02-28T00:00:00.000Z"),
        ("2021-05-03-1DAY", "2021-05-02T00:00:00.000Z"),
        ("2021-05-03T10:30+12MONTHS", "2022-05-03T10:30:00.000Z"),
        ("2021-05-03 10:30Z+1200 MINUTES", "2021-05-04T06:30:00.000Z"),
        ("now/day", "2024-03-31T00:00:00.000Z"),
        ("TODAY+1DAY", "2024-04-01T00:00:00.000Z"),
        ("NOW-14MONTHS", "2023-01-31T12:30:45.123Z"),
    ],
)
def test_maths_means_one_moment(text: str, moment: str) -> None:
    """
    Date maths rounds and adds in the order of the text, and denotes one moment.
    """
    assert first_and_last(text) == (moment, moment)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not a date"),
        ("next week", "is not a date"),
        ("2021-13", "month must be in 1..12"),
        ("2021-02-30", "day is out of range"),
        ("2021-05-03T25", "hour must be in 0..23"),
        ("0000", "year 0 is out of range"),
        ("NOW/WEEK", "'WEEK' is not a unit of time"),
        ("NOW+DAY", "is not date maths"),
        ("NOW+1", "is not date maths"),
        ("NOW*2", "is not date maths"),
        ("NOW+9999YEARS", "outside the years 1 to 9999"),
        ("NOW-999999999DAYS", "outside the years 1 to 9999"),
        ("0001-01-01T00:00:00+05:00", "is not a date"),
        ("٢٠٢١", "is not a date"),
    ],
)
def test_invalid_dates_are_refused(text: str, reason: str) -> None:
    """
    The message shows the text and the reason.
    """
    with pytest.raises(UnreadableError, match=reason):
        read_date(text, LEAP_YEAR_NOW)


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)))
def test_dates_of_documents(moment: datetime) -> None:
    """
    A date that Python writes, also with a blank, is read back to the millisecond, and written in Solr's form.
    """
    text = moment.isoformat(timespec="milliseconds")
    date = date_of(text)
    assert date is not None
    assert date_of(moment.isoformat(" ", "milliseconds")) == date
    assert format_date(date) == f"{text}Z"
    assert read_date(text, LEAP_YEAR_NOW) == DateSpan(date, date)


@pytest.mark.parametrize(
    "text", ["2021", "2021-05", "2021-05-03 or so", "2021-05-03 10", "NOW", "2021-02-30", "1.5", ""]
)
def test_texts_that_are_no_dates(text: str) -> None:
    """
    A document's text is a date only if it is a complete and valid date.
    """
    assert date_of(text) is None
