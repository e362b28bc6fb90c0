r"""Ranges: `[1 TO 9]`, `<1 TO 9>`, `[NOW/DAY-1DAY TO *]`, read and written, and their ends.

An end in square brackets belongs to the range, one in angles or braces does not. `*`, MIN and MAX leave an end open;
in quotes or behind a backslash they are text.
"""

from __future__ import annotations

import re

from whorl.query import ast
from whorl.query.escapes import URI, check_unicode, read, write_quoted

_QUOTED = r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""
_BOUND = rf"""(?:{_QUOTED}|(?:{URI})?(?:\\.|[^\s\[\]<>{{}}"'\\])+)"""
_OPEN_ENDS = frozenset({"*", "MIN", "MAX"})
# Any other is written in quotes.
_PLAIN = re.compile(r"[\w.:/+-]+", re.ASCII)

#: The whole of a range with brackets.
BRACKETS = rf"[\[<{{]\s*{_BOUND}\s+(?i:to)\s+{_BOUND}\s*[\]>}}]"
_PARTS = re.compile(rf"([\[<{{])\s*({_BOUND})\s+(?i:to)\s+({_BOUND})\s*([\]>}}])", re.DOTALL)


def read_range(text: str, start: int) -> ast.Range:
    """Return the range that `BRACKETS` found at place `start` of the query."""
    match = _PARTS.fullmatch(text)
    assert match is not None, "the scanner found it by the same pattern"
    low = read_bound(match[2], start + match.start(2), is_inclusive=match[1] == "[")
    high = read_bound(match[3], start + match.start(3), is_inclusive=match[4] == "]")
    return ast.Range(low, high)


def read_bound(typed: str, start: int, *, is_inclusive: bool = True) -> ast.Bound | None:
    """Return one end of a range, None where it is open."""
    if typed in _OPEN_ENDS:
        return None
    if typed[0] in "\"'":
        return ast.Bound(read(typed[1:-1], start + 1), is_inclusive)
    return ast.Bound(read(typed, start), is_inclusive)


def write_range(node: ast.Range) -> str:
    """Return a range with brackets, without its field."""
    opening = "[" if node.low is None or node.low.is_inclusive else "<"
    closing = "]" if node.high is None or node.high.is_inclusive else ">"
    return f"{opening}{_write_bound(node.low)} TO {_write_bound(node.high)}{closing}"


def _write_bound(bound: ast.Bound | None) -> str:
    if bound is None:
        return "*"
    check_unicode(bound.text)
    is_plain = _PLAIN.fullmatch(bound.text) and bound.text not in _OPEN_ENDS
    return bound.text if is_plain else write_quoted(bound.text, special="")
