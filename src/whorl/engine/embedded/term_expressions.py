"""Regular expressions for terms: patterns with jokers, and ranges, which tantivy cannot ask of texts otherwise.

They are read by tantivy and, but for `compiled`, by Python's `re` alike.
"""

from __future__ import annotations

import re

from whorl.planning.clauses import Pattern
from whorl.query.ast import Joker

_SYNTAX = re.compile(r"[\\.+*?()|\[\]{}^$#&~-]")
_ONE, _ANY = "(?s:.)", "(?s:.)*"
_FIRST, _LAST = "\0", "\U0010ffff"


def expression(pattern: Pattern) -> str:
    """Return the expression for what looks like a pattern.

    >>> expression(("a b", Joker.ANY))
    'a b(?s:.)*'
    """
    jokers = {Joker.ANY: _ANY, Joker.ONE: _ONE}
    return "".join(jokers[piece] if isinstance(piece, Joker) else _literal(piece) for piece in pattern)


def compiled(pattern: Pattern) -> re.Pattern[str]:
    """Return what matches the texts that look like a pattern, in a time that grows with their length and no faster.

    What stands between two * is looked for once, where it comes first: no later place could be better.

    >>> bool(compiled(("a", Joker.ANY) * 40).fullmatch("az" * 39))
    False
    """
    segments: list[Pattern] = [()]
    for piece in pattern:
        if piece is Joker.ANY:
            segments.append(())
        else:
            segments[-1] += (piece,)
    first, *middle = map(expression, segments)
    last = [_ANY + middle.pop()] if middle else []
    return re.compile("".join([first, *(f"(?>(?s:.)*?{segment})" for segment in middle), *last]))


def between(low: str | None, high: str | None, *, includes_low: bool, includes_high: bool) -> str | None:
    """Return the expression for the texts of a range by code point, None where there can be none.

    An end that is None is open.

    >>> bool(re.fullmatch(between("b", "d", includes_low=True, includes_high=False), "cherry"))
    True
    """
    if high is None:
        found = _above(low or "", is_included=includes_low or low is None)
    elif low is None:
        found = _below(high, is_included=includes_high, has_empty=True)
    else:
        if low > high or (low == high and not (includes_low and includes_high)):
            return None
        at = next((at for at, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low))
        same, low, high = _literal(low[:at]), low[at:], high[at:]
        if low:
            higher = [f"{_literal(low[0])}(?:{each})" for each in _above(low[1:], is_included=includes_low)]
            lower = [
                f"{_literal(high[0])}(?:{each})" for each in _below(high[1:], is_included=includes_high, has_empty=True)
            ]
            found = [*higher, *_one_of(_next(low[0]), _previous(high[0])), *lower]
        elif high:
            found = _below(high, is_included=includes_high, has_empty=includes_low)
        else:
            return same
        found = [same + each for each in found]
    return f"(?:{'|'.join(found)})" if found else None


def _above(low: str, *, is_included: bool) -> list[str]:
    """Return what fits texts that are greater, whatever comes first in them."""
    greater = [_literal(low[:at]) + each for at, letter in enumerate(low) for each in _one_of(_next(letter), _LAST)]
    return [*greater, _literal(low) + (_ANY if is_included else _ONE + _ANY)]


def _below(high: str, *, is_included: bool, has_empty: bool) -> list[str]:
    less = [_literal(high[:at]) + each for at, letter in enumerate(high) for each in _one_of(_FIRST, _previous(letter))]
    beginnings = [_literal(high[:at]) for at in range(0 if has_empty else 1, len(high))]
    is_there = is_included and (has_empty or high)
    return [*less, *beginnings, *([_literal(high)] if is_there else [])]


def _one_of(first: str | None, last: str | None) -> list[str]:
    """Return what fits texts that begin with one of a range of characters."""
    if first is None or last is None or first > last:
        return []
    return [f"[{_literal(first)}-{_literal(last)}]{_ANY}"]


def _next(letter: str) -> str | None:
    number = ord(letter) + 1
    # No text that is kept holds a half of a surrogate pair.
    return None if letter == _LAST else chr(0xE000 if number == 0xD800 else number)


def _previous(letter: str) -> str | None:
    number = ord(letter) - 1
    return None if letter == _FIRST else chr(0xD7FF if number == 0xDFFF else number)


def _literal(text: str) -> str:
    return _SYNTAX.sub(r"\\\g<0>", text)
