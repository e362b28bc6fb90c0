"""Lexemes that make one together: `a..b`, and `a * b`, which two words of looking ahead tell from `a *`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from whorl.errors import Span, UnsupportedQueryError
from whorl.query import ast
from whorl.query.lexeme import WORDS, Lexeme, literal
from whorl.query.mistakes import Mistake
from whorl.query.numbers import read_slop
from whorl.query.ranges import read_bound

DEFAULT_SLOP = ast.Proximity(("a", "b")).slop

_WORD, _DOTS, _STARS = frozenset({"WORD"}), frozenset({"DOTDOT"}), frozenset({"STAR", "DISTANCE"})
_ENDS = WORDS | {"STAR"}
_WORDS_AND_FIELDS = WORDS | {"FIELD"}


def joined(lexemes: Iterator[Lexeme]) -> Iterator[Lexeme]:
    """Yield the lexemes of a query with its ranges and proximity searches in one piece each."""
    window = _Window(lexemes)
    before = ""
    while window.sees(None):
        if window.sees(_ENDS, _DOTS, _ENDS):
            made = _range(window.take(3))
        elif window.sees(_WORD, _STARS, _WORD):
            parts = window.take(3)
            while window.sees(_STARS, _WORD):
                parts += window.take(2)
            made = _proximity(parts)
        else:
            (made,) = window.take(1)
            if made.type in _STARS:
                made = _star(made, before, window.sees(_WORDS_AND_FIELDS))
        before = made.type
        yield made


class _Window:
    """The next few lexemes."""

    def __init__(self, lexemes: Iterator[Lexeme]) -> None:
        self._source = lexemes
        self._ahead: list[Lexeme] = []

    def sees(self, *types: frozenset[str] | None) -> bool:
        """Say whether the next lexemes are of these types, None for any."""
        for place, wanted in enumerate(types):
            if place == len(self._ahead):
                self._ahead += islice(self._source, 1)
            if place == len(self._ahead) or (wanted is not None and self._ahead[place].type not in wanted):
                return False
        return True

    def take(self, count: int) -> list[Lexeme]:
        """Return the next lexemes and pass on."""
        taken, self._ahead = self._ahead[:count], self._ahead[count:]
        return taken


def _range(parts: Sequence[Lexeme]) -> Lexeme:
    low, _, high = parts
    ends = ast.Range(read_bound(low.text, low.span.start), read_bound(high.text, high.span.start))
    return _one("RANGE", parts, ends)


def _proximity(parts: Sequence[Lexeme]) -> Lexeme:
    words, stars = parts[::2], parts[1::2]
    for word in words:
        if any(isinstance(piece, ast.Joker) for piece in word.pattern):
            message = "wildcards in a proximity search are not supported"
            raise Mistake(message, word.span, "Write the whole words.", UnsupportedQueryError)
    slops = [_slop(star) for star in stars]
    for star, slop in zip(stars, slops, strict=True):
        if slop != slops[0]:
            message = "different distances in one proximity search are not supported"
            raise Mistake(message, star.span, f"Write *({slops[0]}) each time.", UnsupportedQueryError)
    return _one("PROXIMITY", parts, ast.Proximity(tuple(literal(word.pattern) for word in words), slops[0]))


def _slop(star: Lexeme) -> int:
    digits = re.search(r"\d+", star.text)
    return int(read_slop("~" + digits[0], star.span.start + digits.start() - 1)) if digits else DEFAULT_SLOP


def _one(kind: str, parts: Sequence[Lexeme], node: ast.Range | ast.Proximity) -> Lexeme:
    span = Span(parts[0].span.start, parts[-1].span.end)
    return Lexeme(kind, "".join(part.text for part in parts), span, node)


def _star(star: Lexeme, before: str, is_before_word: bool) -> Lexeme:
    if star.type == "DISTANCE" or (before in WORDS and is_before_word):
        # To read it as three alternatives, one of them everything, would surprise.
        raise Mistake("a proximity search has one word on each side of *", star.span, "As in big *(3) apple")
    return Lexeme("WORD", star.text, star.span, star.value)
