"""The tokens that Alfresco's lexer makes of a text, each with a letter for its kind.

The longest token wins, and of equally long ones the first of: date, keyword, name, number, word. Whitespace separates
tokens and is otherwise nothing, also inside what its grammar puts together from them.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import NamedTuple

from whorl.errors import Span
from whorl.query.mistakes import Mistake, character

_UNIT = r"(?i:YEARS?|MONTHS?|DAYS?|DATE|HOURS?|MINUTES?|SECONDS?|MILLISECONDS?|MILLIS?)"
_TIME = r"\d\d(?::\d\d(?::\d\d(?:\.\d{3}(?:Z|[+-]\d\d(?::\d\d)?)?)?)?)?"
_DATE = re.compile(
    rf"(?:\d{{4}}(?:-\d\d(?:-\d\d(?:T(?:{_TIME})?)?)?)?|(?i:NOW))(?:/{_UNIT})?(?:[+-]\d+{_UNIT})*", re.ASCII
)
# What only a date can make of what follows its time.
_BROKEN = re.compile(r"[+-]|(?<=:\d\d:\d\d)\.|(?<![A-XYa-z])/", re.ASCII)
_EXPONENT = r"[eE][+-]?\d+"
_NUMBER = re.compile(
    rf"(?P<sign>[+-])?(?:(?P<whole>\d+)"
    rf"(?:\.(?!\.)(?:(?P<part>\d+)(?:{_EXPONENT}|(?P<dot>\.(?!\.)))?|{_EXPONENT})?|{_EXPONENT})?"
    rf"|\.(?:(?P<only>\d+)(?:{_EXPONENT}|(?P<end>\.(?!\.)))?|(?P<range>\.(?!\.)))?)",
    re.ASCII,
)
_ESCAPE = r"\\(?:u[0-9a-fA-F]{4}|[\x00-\uffff])"
_NAME = re.compile(rf"\d*[A-Za-z_](?:[A-Za-z0-9_$#]|{_ESCAPE})*", re.ASCII)
_PHRASE = re.compile(rf""""(?:{_ESCAPE}|[^"\\])*"|'(?:{_ESCAPE}|[^'\\])*'""")
_URI = re.compile(r"\{[A-Za-z0-9\-._~\[\]@!$&'()*+,;=:/?#]*\}")
_SPACE = re.compile(r"[ \t\r\n\f\xa0\u1680\u180e\u2000-\u200b\u2028\u2029\u202f\u205f\u3000]+")
_KEYWORDS = {"or": "o", "and": "a", "not": "n", "to": "t"}
_PUNCTUATION = frozenset("~()+-:&!|=[],^><@%")


class Token(NamedTuple):
    """A token: its text, its place, and what it is.

    Kinds: i name, w word, p word ending in *, v word with other jokers, d whole number, g number, D date, q phrase,
    u namespace, o OR, a AND, n NOT, t TO, r two dots; punctuation is itself.
    """

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """The place behind it."""
        return self.start + len(self.text)


def tokens(query: str) -> list[Token]:
    """Return the tokens, or raise Mistake where Alfresco's lexer stops."""
    found: list[Token] = []
    at = 0
    while at < len(query):
        if space := _SPACE.match(query, at):
            at = space.end()
            continue
        found += _next(query, at)
        at = found[-1].end
    return found


def _next(query: str, at: int) -> list[Token]:
    char = query[at]
    if char in "\"'{":
        match = (_URI if char == "{" else _PHRASE).match(query, at)
        if not match:
            raise character(query, at, None)
        return [Token("u" if char == "{" else "q", match[0], at)]
    date, name, number, word = (pattern.match(query, at) for pattern in (_DATE, _NAME, _NUMBER, _word()))
    longest = max((match.end() for match in (date, name, number, word) if match), default=at)
    if longest == at:
        if char in _PUNCTUATION:
            return [Token(char, char, at)]
        hint = "Quote it, or leave out strict."
        raise Mistake(f"{char} begins nothing in Alfresco's language", Span(at, at + 1), hint)
    text = query[at:longest]
    if date and date.end() == longest:
        if ":" in text and _BROKEN.match(query, longest):
            # No word has a colon, so Alfresco's lexer is bound to the date and cannot go back.
            raise Mistake("this date does not go on as a date does", Span(at, longest + 1), "Quote it.")
        return [Token("D", text, at)]
    if name and name.end() == longest:
        return [Token(_KEYWORDS.get(text.lower(), "i"), text, at)]
    if number and number.end() == longest:
        return _numbers(number, at)
    return [Token(_word_kind(text), text, at)]


def _numbers(number: re.Match[str], at: int) -> list[Token]:
    """Return a number; but 1.2. and .2. are their digits and dots."""
    text, last = number[0], number.end() - 1
    if number["range"]:
        return [Token("r", text, at)]
    if number["dot"]:
        dot = number.end("whole")
        whole = Token("d", number.string[at:dot], at)
        return [whole, Token(".", ".", dot), Token("d", number["part"], dot + 1), Token(".", ".", last)]
    if number["end"] and number["sign"]:
        # A condition of the rule fails, and a lexer of ANTLR does not go back.
        raise Mistake("a number with a sign cannot stand between dots", Span(at, last + 1), "Quote it.")
    if number["end"]:
        return [Token(".", ".", at), Token("d", number["only"], at + 1), Token(".", ".", last)]
    if not number["whole"] and not number["only"]:
        return [Token(".", text, at)]
    return [Token("d" if number.end("whole") == number.end() else "g", text, at)]


def _word_kind(text: str) -> str:
    if text in ("*", "?", "$"):
        return text
    bare = re.sub(_ESCAPE, "", text)
    if "*" not in bare and "?" not in bare:
        return "w"
    return "p" if bare.endswith("*") and bare.count("*") == 1 and "?" not in bare else "v"


@cache
def _word() -> re.Pattern[str]:
    first = "$0-9A-Za-z" + _characters("L", "M", "N", "Sc", "So")
    inside = "!-'+\\-/-9;=@-Z_a-z|" + _characters("L", "M", "N", "Sc", "So", "Sm", "Pc", "Pd", "Po")
    return re.compile(rf"(?:{_ESCAPE}|[{first}*?])(?:{_ESCAPE}|[{inside}*?])*")


def _characters(*categories: str) -> str:
    """Return the non-ASCII characters of some categories in the basic plane, as ranges for a character class."""
    ranges: list[list[int]] = []
    for code in range(0x80, 0x10000):
        if unicodedata.category(chr(code)).startswith(categories):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)
