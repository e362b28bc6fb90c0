"""Dates in queries and documents, with Solr's date math: pure, in whole milliseconds since 1970, UTC.

A date without time, or a part of a date, is an interval: `2021-05` is a month, `2021-05-03` a day. Date math gives one
moment, the same as Solr's DateMathParser.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_DATE = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)"
    r"(?:T(?P<hour>\d\d)(?::(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d{1,9}))?)?)?"
    r"(?P<zone>Z|[+-]\d\d:?\d\d)?)?)?)?",
    re.ASCII | re.IGNORECASE,
)
_MATHS = re.compile(r"/\s*(?P<rounded>[A-Z]+)|(?P<count>[+-]\s*\d{1,9})\s*(?P<unit>[A-Z]+)", re.ASCII | re.IGNORECASE)
#: Names that can stand for the date before date math.
_NAMES = re.compile("(?P<name>NOW|TODAY)", re.IGNORECASE)

_UNITS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "MILLI")
_ALIASES = {"DATE": "DAY", "MILLISECOND": "MILLI"}
_MILLISECONDS = {"DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000, "MILLI": 1}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class DateError(ValueError):
    """Invalid date; the message gives the reason. It is caught within this package."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Interval of a date, both ends included, in milliseconds since 1970."""

    first: int
    last: int


def read_date(text: str, now: datetime) -> Moments:
    """Return the interval of a date in a query: a date or a part of one, NOW or TODAY, with or without date math.

    Args:
        text: `2021`, `2021-05-03`, `2021-05-03T10:30Z`, `NOW/DAY-1MONTH`, `2021-05-03+6MONTHS`. Without a zone, UTC.
        now: Value of NOW, with a time zone.

    Raises:
        DateError: The text is not a date, or its date is outside the years 1 to 9999.

    >>> written(read_date("2021-05", datetime(2024, 1, 31, 12, tzinfo=UTC)).last)
    '2021-05-31T23:59:59.999Z'
    >>> written(read_date("NOW/DAY+1MONTH", datetime(2024, 1, 31, 12, tzinfo=UTC)).first)
    '2024-02-29T00:00:00.000Z'
    """
    text = text.strip()
    named = _NAMES.match(text)
    if named:
        moment, end = now.astimezone(UTC), named.end()
        if named["name"].upper() == "TODAY":
            moments = _span(_rounded(moment, "DAY"), "DAY")
        else:
            moments = _span(_rounded(moment, "MILLI"), "MILLI")
    else:
        found = _DATE.match(text)
        if not found:
            raise DateError(f"{text!r} is no date; write 2021-05-03, 2021-05-03T10:30:00Z or NOW-1MONTH")
        # In 2021-05-03-1DAY, match as much as possible as the date.
        moments, end = _read(found), found.end()
    if end == len(text):
        return moments
    moment = _EPOCH + timedelta(milliseconds=moments.first)
    try:
        while end < len(text):
            step = _MATHS.match(text, end)
            if not step:
                raise DateError(
                    f"{text[end:]!r} is no date maths; write +6MONTHS, -1DAY or /DAY after {text[:end]!r}, with units "
                    "YEAR, MONTH, DAY, HOUR, MINUTE, SECOND"
                )
            if step["rounded"]:
                moment = _rounded(moment, _unit(step["rounded"]))
            else:
                moment = _added(moment, int(step["count"].replace(" ", "")), _unit(step["unit"]))
            end = step.end()
    except (OverflowError, ValueError) as error:
        if isinstance(error, DateError):
            raise
        raise DateError(f"{text!r} lies outside the years 1 to 9999") from error
    return _span(moment, "MILLI")


def date_of(text: str) -> int | None:
    """Return the moment of a document's value, or None if it is not a date with at least year, month and day.

    >>> date_of("1970-01-02"), date_of("1970-01-01T01:00:00+01:00"), date_of("1970"), date_of("next week")
    (86400000, 0, None, None)
    """
    found = _DATE.fullmatch(text)
    if not found or not found["day"]:
        return None
    try:
        return _read(found).first
    except DateError:
        return None


def written(milliseconds: int) -> str:
    """Return a moment in Solr's format.

    >>> written(1)
    '1970-01-01T00:00:00.001Z'
    """
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    return f"{moment.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def _read(found: re.Match[str]) -> Moments:
    last = next(name for name in ("fraction", "second", "minute", "hour", "day", "month", "year") if found[name])
    year, month, day, hour, minute, second = (
        int(found[name] or least)
        for name, least in (("year", 1), ("month", 1), ("day", 1), ("hour", 0), ("minute", 0), ("second", 0))
    )
    microsecond = int((found["fraction"] or "0")[:3].ljust(3, "0")) * 1000
    zone = (found["zone"] or "Z").upper()
    try:
        moment = datetime(year, month, day, hour, minute, second, microsecond, tzinfo=UTC)
        if zone != "Z":
            offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
            moment = moment - offset if zone[0] == "+" else moment + offset
    except (ValueError, OverflowError) as error:
        raise DateError(f"{found[0]!r} is no date: {error}") from error
    return _span(moment, "MILLI" if last == "fraction" else last.upper())


def _span(moment: datetime, unit: str) -> Moments:
    first = (moment - _EPOCH) // timedelta(milliseconds=1)
    match unit:
        case "YEAR":
            length = (365 + calendar.isleap(moment.year)) * _MILLISECONDS["DAY"]
        case "MONTH":
            length = calendar.monthrange(moment.year, moment.month)[1] * _MILLISECONDS["DAY"]
        case _:
            length = _MILLISECONDS[unit]
    return Moments(first, first + length - 1)


def _unit(typed: str) -> str:
    unit = typed.upper()
    unit = unit.removesuffix("S")
    unit = _ALIASES.get(unit, unit)
    if unit not in _UNITS:
        raise DateError(f"{typed!r} is no unit of time; there are YEAR, MONTH, DAY, HOUR, MINUTE, SECOND and MILLI")
    return unit


def _rounded(moment: datetime, unit: str) -> datetime:
    """Return the start of the unit that contains a moment."""
    if unit == "MILLI":
        return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    parts = (moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second)
    kept = _UNITS.index(unit) + 1
    year, month, day, hour, minute, second = (*parts[:kept], *(1, 1, 1, 0, 0, 0)[kept:])
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC)


def _added(moment: datetime, count: int, unit: str) -> datetime:
    if unit in _MILLISECONDS:
        return moment + timedelta(milliseconds=count * _MILLISECONDS[unit])
    months = moment.year * 12 + moment.month - 1 + count * (12 if unit == "YEAR" else 1)
    year, month = months // 12, months % 12 + 1
    # The day after a change of months is at most the last day of the month, as in Java.
    day = min(moment.day, calendar.monthrange(year, month)[1])
    return moment.replace(year=year, month=month, day=day)
