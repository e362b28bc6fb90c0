"""The numbers of the language: boosts, similarities, slops and distances, read and written."""

from __future__ import annotations

import re
from decimal import Context, Decimal

from whorl.errors import ParameterError, Span
from whorl.query.mistakes import Mistake, shorten

# Longer than any number that is meant; it bounds the work and keeps the arithmetic exact.
MAX_NUMBER_LENGTH = 20
MAX_BOOST = 1000
MAX_SIMILARITY = 100
MAX_SLOP = 1_000_000

EXACT = Context(prec=3 * MAX_NUMBER_LENGTH)
NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)")


def read_boost(typed: str, start: int) -> Decimal:
    """Return the factor of `^<factor>`, where `typed` begins with the caret."""
    number = typed[1:].lstrip()
    at = start + len(typed) - len(number)
    if not number:
        raise Mistake("a number must follow ^", Span(start, start + 1), "As in ^2.5")
    factor = read_number(number, at, "a boost", "As in ^2.5")
    if not 0 < factor <= MAX_BOOST:
        message = f"a boost must be above 0 and at most {MAX_BOOST}, got {shorten(number)}"
        raise Mistake(message, Span(at, at + len(number)))
    return factor


def read_similarity(typed: str, start: int) -> Decimal:
    """Return the number of `~<similarity>`, where `typed` begins with the tilde."""
    similarity = read_number(typed[1:], start + 1, "a similarity", "As in word~0.8")
    if not 0 <= similarity <= MAX_SIMILARITY:
        message = f"a similarity is 0 to 1, or a number of edits up to {MAX_SIMILARITY}, got {shorten(typed[1:])}"
        raise Mistake(message, Span(start + 1, start + len(typed)), "As in word~0.8")
    return similarity


def read_slop(typed: str, start: int) -> Decimal:
    """Return the number of `~<slop>` behind a phrase, where `typed` begins with the tilde."""
    slop = read_number(typed[1:], start + 1, "a slop", 'As in "some words"~2')
    if slop != slop.to_integral_value() or not 0 <= slop <= MAX_SLOP:
        message = f"a slop is a whole number up to {MAX_SLOP:,}, got {shorten(typed[1:])}"
        raise Mistake(message, Span(start + 1, start + len(typed)), 'As in "some words"~2')
    return slop


def read_number(typed: str, start: int, name: str, hint: str = "") -> Decimal:
    """Return a plain decimal number; `name` and `hint` are for the message."""
    span = Span(start, start + len(typed))
    if not NUMBER.fullmatch(typed):
        message = f"{name} must be a number, got {shorten(typed)}"
        raise Mistake(message, span, _repair(typed) or hint)
    if len(typed.lstrip("-0")) > MAX_NUMBER_LENGTH:
        raise Mistake(f"{name} has more than {MAX_NUMBER_LENGTH} characters", span)
    return Decimal(typed)


def _repair(typed: str) -> str:
    if typed.endswith("%") and NUMBER.fullmatch(typed[:-1]):
        return f"Leave out the %: {shorten(typed[:-1])}"
    if NUMBER.fullmatch(typed.replace(",", ".", 1)):
        return f"Use a point: {shorten(typed.replace(',', '.', 1))}"
    if re.fullmatch(NUMBER.pattern + r"[eE][+-]?[0-9]+", typed):
        return "Write the number without an exponent."
    return ""


def write_number(value: Decimal, name: str, most: int, *, is_zero_meant: bool = False) -> str:
    """Return a number above 0 and at most `most`, without an exponent."""
    if is_zero_meant and value == 0:
        return "0"
    if value.is_finite() and 0 < value <= most and value.adjusted() > -MAX_NUMBER_LENGTH:
        text = f"{EXACT.normalize(value):f}"
        if len(text.lstrip("0")) <= MAX_NUMBER_LENGTH and Decimal(text) == value:
            return text
    limits = f"above 0, at most {most} and of at most {MAX_NUMBER_LENGTH} characters"
    raise ParameterError(f"{name} must be {limits}, got {value}")


def write_slop(value: int) -> str:
    """Return a slop or a distance."""
    if not 0 <= value <= MAX_SLOP:
        raise ParameterError(f"a slop must be 0 to {MAX_SLOP:,}, got {value}")
    return str(value)
