"""Typed values: reads them from documents and queries, and makes tests for values and ranges."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable
from datetime import datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from whorl.fingerprint.shingling import well_formed
from whorl.query.ast import Bound
from whorl.query.plan.clauses import Between, Equal, Kind, Test, Value
from whorl.query.plan.dates import DateError, Moments, date_of, read_date

#: Maximum number of characters of a text that is stored whole; indexes limit the length of values.
LONGEST_WHOLE = 1000
#: Longer texts are stored as a beginning of this length and a digest of the whole text.
_BEGINNING = 200
#: Maximum number of characters of a bound of a range; less than the stored beginning of a text.
LONGEST_BOUND = 100
_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?")


class UnreadableError(ValueError):
    """A text cannot be read as a value of a type; the message gives the reason. It is caught within this package."""


def typed(value: Value) -> tuple[Kind, Value]:
    """Return the type of a document's value, and the stored value; a text that is a date is stored as a date.

    >>> typed("2021-05-03"), typed("May"), typed(True)
    ((<Kind.DATE: 'dates'>, 1620000000000), (<Kind.KEYWORD: 'text'>, 'May'), (<Kind.BOOLEAN: 'true or false'>, True))
    """
    match value:
        case bool():
            return Kind.BOOLEAN, value
        case int():
            return Kind.INTEGER, value
        case float():
            # -0.0 and 0.0 are equal, but differ in an index.
            return Kind.FLOAT, value + 0.0
        case _:
            moment = date_of(value)
            return (Kind.KEYWORD, value) if moment is None else (Kind.DATE, moment)


def whole(text: str) -> str:
    """Return the indexed form of a whole text: all of it, or its beginning and a digest."""
    if len(text) <= LONGEST_WHOLE:
        return text
    return f"{text[:_BEGINNING]}…{hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}"


def value_of(kind: Kind, place: str, text: str, now: datetime) -> Test:
    """Return a test for one value, with weight 0.

    Raises:
        UnreadableError: The text is no value of this type.
    """
    match kind:
        case Kind.DATE:
            moments = _moments(text, now)
            return Between(place, kind, moments.first, moments.last, weight=0.0)
        case Kind.INTEGER:
            number = _number(text)
            if number != number.to_integral_value():
                raise UnreadableError(f"{text!r} is no whole number")
            if not _SMALLEST <= number <= _LARGEST:
                raise UnreadableError(f"{text!r} has more than 64 bits")
            return Equal(place, kind, int(number), 0.0)
        case Kind.FLOAT:
            return Equal(place, kind, _float(text), 0.0)
        case Kind.BOOLEAN:
            if text.strip().lower() not in ("true", "false"):
                raise UnreadableError(f"{text!r} is neither true nor false")
            return Equal(place, kind, text.strip().lower() == "true", 0.0)
        case _:
            return Equal(place, Kind.KEYWORD, well_formed(text), 0.0)


def range_of(kind: Kind, place: str, low: Bound | None, high: Bound | None, now: datetime) -> Test:
    """Return a test for the values of a range, with weight 0.

    Raises:
        UnreadableError: A bound is no value of this type, or the type has no order.
    """
    match kind:
        case Kind.DATE:
            # A date that is an interval is in the range as a whole, or not at all.
            return _between(place, kind, _date(low, now, is_low=True), _date(high, now, is_low=False))
        case Kind.INTEGER:
            return _between(place, kind, _whole(low, is_low=True), _whole(high, is_low=False))
        case Kind.FLOAT:
            return _between(place, kind, _end(low, _float), _end(high, _float))
        case Kind.KEYWORD:
            return _between(place, kind, _end(low, _text), _end(high, _text))
        case _:
            raise UnreadableError("a range needs values that have an order")


def _between(
    place: str, kind: Kind, low: tuple[Value, bool] | None = None, high: tuple[Value, bool] | None = None
) -> Between:
    lowest, includes_low = low or (None, True)
    highest, includes_high = high or (None, True)
    return Between(place, kind, lowest, highest, includes_low, includes_high, 0.0)


def _end(end: Bound | None, read: Callable[[str], Value]) -> tuple[Value, bool] | None:
    return None if end is None else (read(end.text), end.is_inclusive)


def _moments(text: str, now: datetime) -> Moments:
    try:
        return read_date(text, now)
    except DateError as error:
        raise UnreadableError(str(error)) from error


def _number(text: str) -> Decimal:
    if not _NUMBER.fullmatch(text.strip()):
        raise UnreadableError(f"{text!r} is no number")
    return Decimal(text.strip())


def _float(text: str) -> float:
    number = float(_number(text))
    if math.isinf(number):
        raise UnreadableError(f"{text!r} is too large")
    return number + 0.0


def _date(end: Bound | None, now: datetime, *, is_low: bool) -> tuple[int, bool] | None:
    """Return the bound of a range of dates, and whether it is included."""
    if end is None:
        return None
    moments = _moments(end.text, now)
    return (moments.first if is_low == end.is_inclusive else moments.last), end.is_inclusive


def _whole(end: Bound | None, *, is_low: bool) -> tuple[int, bool] | None:
    """Return the bound of a range of 64-bit integers, and whether it is included."""
    if end is None:
        return None
    number = _number(end.text)
    rounded = int(number.to_integral_value(ROUND_CEILING if is_low else ROUND_FLOOR))
    if not _SMALLEST <= rounded <= _LARGEST:
        is_above = rounded > _LARGEST
        # Beyond all numbers: the range is empty, or the bound excludes no number.
        return (_LARGEST if is_above else _SMALLEST, False) if is_above == is_low else None
    return rounded, end.is_inclusive or rounded != number


def _text(text: str) -> str:
    if len(text) > LONGEST_BOUND:
        raise UnreadableError(f"an end of a range has at most {LONGEST_BOUND} characters, got {len(text)}")
    return well_formed(text)
