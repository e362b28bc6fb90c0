"""Dates and date maths as in Solr's DateMathParser, and the period that an incomplete date denotes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.query.plan.dates import DateError, Moments, date_of, read_date, written

NOW = datetime(2024, 3, 31, 12, 30, 45, 123456, tzinfo=UTC)


def ends(text: str) -> tuple[str, str]:
    moments = read_date(text, NOW)
    return written(moments.first), written(moments.last)


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
        ("TODAY", "2024-03-31T00:00:00.000Z", "2024-03-31T23:59:59.999Z"),
        ("NOW", "2024-03-31T12:30:45.123Z", "2024-03-31T12:30:45.123Z"),
        ("9999", "9999-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_date_means_all_of_its_last_part(text: str, first: str, last: str) -> None:
    """
    A date denotes the whole year, month, day, hour, minute or second; NOW and a date with a fraction are one moment.
    """
    assert ends(text) == (first, last)


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
        ("now/day", "2024-03-31T00:00:00.000Z"),
        ("TODAY+1DAY", "2024-04-01T00:00:00.000Z"),
        ("NOW-14MONTHS", "2023-01-31T12:30:45.123Z"),
    ],
)
def test_maths_means_one_moment(text: str, moment: str) -> None:
    """
    Date maths rounds and adds in the order of the text, and denotes one moment.
    """
    assert ends(text) == (moment, moment)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is no date"),
        ("next week", "is no date"),
        ("2021-13", "month must be in 1..12"),
        ("2021-02-30", "day is out of range"),
        ("2021-05-03T25", "hour must be in 0..23"),
        ("0000", "year 0 is out of range"),
        ("NOW/WEEK", "'WEEK' is no unit of time"),
        ("NOW+DAY", "is no date maths"),
        ("NOW+1", "is no date maths"),
        ("NOW*2", "is no date maths"),
        ("NOW+9999YEARS", "outside the years 1 to 9999"),
        ("NOW-999999999DAYS", "outside the years 1 to 9999"),
        ("0001-01-01T00:00:00+05:00", "is no date"),
        ("٢٠٢١", "is no date"),
    ],
)
def test_what_is_no_date(text: str, reason: str) -> None:
    """
    The message shows the text and the reason.
    """
    with pytest.raises(DateError, match=reason):
        read_date(text, NOW)


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)))
def test_dates_of_documents(moment: datetime) -> None:
    """
    A date that Python writes is read back to the millisecond, and written in Solr's form.
    """
    text = moment.isoformat(timespec="milliseconds")
    found = date_of(text)
    assert found is not None
    assert written(found) == f"{text}Z"
    assert read_date(text, NOW) == Moments(found, found)


@pytest.mark.parametrize("text", ["2021", "2021-05", "2021-05-03 or so", "NOW", "2021-02-30", "1.5", ""])
def test_texts_that_are_no_dates(text: str) -> None:
    """
    A document's value is a date if it is a complete one, otherwise a text.
    """
    assert date_of(text) is None
