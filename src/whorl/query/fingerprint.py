r"""The literal `FINGERPRINT:<id>[_<overlap>[_<probability>]]`, read and written.

    FINGERPRINT:1234_20_80          cut at each underscore; `\_` belongs to the id
    FINGERPRINT:"an id_20_80"       the same, and the id may hold blanks, parentheses and ^
    FINGERPRINT:"my_doc_1"_20_80    the quoted part is the id, underscores and all

A number above 1 is a percentage and any other a fraction, as in Alfresco: `_20` and `_0.2` are equal, `_1` is 100
percent.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from whorl.errors import ParameterError, Span
from whorl.query import ast
from whorl.query.escapes import KEYWORDS, check_text, read, write_quoted
from whorl.query.mistakes import Mistake, shorten
from whorl.query.numbers import EXACT, NUMBER, read_number, write_number

PREFIX = "FINGERPRINT:"

_QUOTED = re.compile(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""", re.DOTALL)
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_PLAIN_ID = re.compile(r"[A-Za-z0-9./:@#$+-]+")


class _Part(NamedTuple):
    """A piece of the literal as it was typed, and where in the query it starts."""

    text: str
    start: int

    @property
    def span(self) -> Span:
        return Span(self.start, self.start + len(self.text))


def read_fingerprint(literal: str, start: int) -> ast.Fingerprint:
    """Return the node for a literal that stands at place `start` of the query."""
    body = literal.removeprefix(PREFIX).lstrip()
    at = start + len(literal) - len(body)
    if body.lower() in KEYWORDS and literal != PREFIX + body:
        body = ""  # "FINGERPRINT: AND x": the keyword is no id
    parts, escaped = _parts(_Part(body, at))
    if not parts[0].text:
        hint = "Write it directly behind the colon, as in FINGERPRINT:1234"
        raise Mistake("the id of a document is missing", parts[0].span, hint)
    if len(parts) > 3:
        raise _too_many(parts, escaped)
    names = ("the overlap", "the probability")
    numbers = [_fraction(part, name, escaped) for part, name in zip(parts[1:], names, strict=False)]
    overlap, probability = [*numbers, None, None][:2]
    return ast.Fingerprint(read(*parts[0]), overlap, probability, Span(start, start + len(literal)))


def _parts(body: _Part) -> tuple[list[_Part], str]:
    """Return the id and the numbers, and how to write the literal if its underscores were the id's."""
    quoted = _QUOTED.match(body.text)
    if not quoted:
        return _cut(body), _quoted_apart(body.text) or PREFIX + _escape_underscores(body.text)
    inside = _Part(quoted[0][1:-1], body.start + 1)
    outside = _Part(body.text[quoted.end() :], body.start + quoted.end())
    if not outside.text:
        return _cut(inside), PREFIX + _escape_underscores(quoted[0])
    if not outside.text.startswith("_"):
        hint = 'As in FINGERPRINT:"my_doc"_20_80'
        raise Mistake("only _<overlap>_<probability> can follow the closing quote", outside.span, hint)
    return [inside, *_cut(_Part(outside.text[1:], outside.start + 1))], ""


def _cut(part: _Part) -> list[_Part]:
    parts: list[_Part] = []
    start = part.start
    for piece in _ESCAPED.sub("..", part.text).split("_"):
        begin = start - part.start
        parts.append(_Part(part.text[begin : begin + len(piece)], start))
        start += len(piece) + 1
    return parts


def _quoted_apart(typed: str) -> str:
    """Return the literal with the id quoted and its one or two last numbers outside, or "" where that says nothing."""
    told = re.fullmatch(rf'([^"\\]*?)((?:_{NUMBER.pattern}){{1,2}})', typed)
    return f'{PREFIX}"{told[1]}"{told[2]}' if told and "_" in told[1] else ""


def _escape_underscores(typed: str) -> str:
    return re.sub(r"(\\.)|_", lambda match: match[1] or r"\_", typed, flags=re.DOTALL)


def _too_many(parts: list[_Part], escaped: str) -> Mistake:
    extra = Span(parts[3].start, parts[-1].span.end)
    return Mistake("more than two numbers follow the id", extra, _of_the_id(escaped))


def _fraction(part: _Part, name: str, escaped: str) -> Decimal:
    """Return a percentage or fraction as a fraction in (0, 1]."""
    hint = _of_the_id(escaped)
    if not part.text:
        raise Mistake(f"{name} behind _ is missing", part.span, hint)
    value = read_number(part.text, part.start, name, hint)
    if not 0 < value <= 100:
        message = f"{name} must be above 0 and at most 100 percent, got {shorten(part.text)}"
        raise Mistake(message, part.span, hint)
    return EXACT.normalize(EXACT.divide(value, Decimal(100)) if value > 1 else value)


def _of_the_id(escaped: str) -> str:
    if not escaped:
        return ""
    return f'If "_" belongs to the id, write {shorten(escaped, 200)} (in an id, \\_ is an underscore)'


def write_fingerprint(node: ast.Fingerprint) -> str:
    """Return the literal for a node.

    Raises:
        ParameterError: The id is empty, or a number is outside its range or has too many digits.
    """
    check_text(node.reference, "the id of a fingerprint search")
    if node.overlap is None and node.probability is not None:
        raise ParameterError("a fingerprint search with a probability needs an overlap")
    numbers = "".join("_" + _percent(value) for value in (node.overlap, node.probability) if value is not None)
    if _PLAIN_ID.fullmatch(node.reference):
        return PREFIX + node.reference + numbers
    # Numbers outside the quotes leave the underscores inside to the id.
    return PREFIX + write_quoted(node.reference, special="" if numbers else "_") + numbers


def _percent(fraction: Decimal) -> str:
    # Up to one percent it would be read as a fraction, so it is written as one.
    is_percentage = fraction.is_finite() and fraction > Decimal("0.01")
    value = EXACT.multiply(fraction, Decimal(100)) if is_percentage else fraction
    return write_number(value, "an overlap or probability", most=100)
