"""The text cut into lexemes, as whorl reads it: what stands together belongs together.

Everything is decided from the text and the lexeme before, in one pass over each. Alfresco's own reading is in
strict.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from whorl.errors import Span
from whorl.query import ast
from whorl.query.escapes import NAME, QUALIFIED, URI, read_name, read_pattern
from whorl.query.fingerprint import read_fingerprint
from whorl.query.joining import joined
from whorl.query.lexeme import OPERATORS, WORDS, Lexeme, Pattern, Value, is_adjacent
from whorl.query.mistakes import Mistake, character, shorten
from whorl.query.numbers import read_boost, read_similarity, read_slop
from whorl.query.ranges import BRACKETS, read_range

# In the middle of a word most punctuation is text (don't, C++, R&D, a-b); at its start it may be an operator. Two dots
# are a range; one dot, or three and more, are text.
_DOTS = r"\.{3,}|\.(?!\.)"
_NEXT = rf'(?:\\.|[^\s"()\[\]{{}}<>~^:|&.\\]|&(?!&)|\|(?!\|)|{_DOTS})'
_FIRST = rf"""(?:\\.|[^\s"'()\[\]{{}}<>~^:|!&=+\-%.\\]|%(?![^\W\d]|[(@{{])|{_DOTS})"""
_TIME = r"\d{4}-\d\d-\d\dT\d\d(?::\d\d){1,2}(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_SIGNED = r"[+-]\.?\d"
_QUOTED = r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""
# A keyword ends where nothing of a word follows: "android" and "and.txt" are words.
_END = r"""(?![^\s()"'!^|&])"""

# In this order. A name has at least one letter, so 12:30 is no field. The literal of a FINGERPRINT is one lexeme,
# because whitespace inside it would end it. A caret takes all that follows it, so that a bad number is shown whole.
_LEXEME = re.compile(
    rf"""
      (?P<SPACE>\s+)
    | (?P<FINGERPRINT>FINGERPRINT:(?!\s*\()\s*(?:{_QUOTED})?(?:\\.|[^\s()"'^\\])*)
    | (?P<FIELD>@?(?:(?:{"|".join(QUALIFIED)})\s*:|(?:{URI})?(?:{NAME}\s*:(?!//))+))
    | (?P<_OR>(?i:or){_END}|\|\|)
    | (?P<_AND>(?i:and){_END}|&&)
    | (?P<NOT>(?i:not){_END}|!)
    | (?P<RANGE>{BRACKETS})
    | (?P<DOTDOT>\.\.(?!\.))
    | (?P<EVERYTHING>\*:\*(?![^\s)^]))
    | (?P<URL>(?i:[a-z][a-z0-9+.\-]*)://(?:\\.|[^\s"()^\\])+)
    | (?P<PHRASE>{_QUOTED})
    | (?P<WORD>(?:{_TIME}|{URI}(?={NAME})|{_FIRST}|{_SIGNED}(?=[\d.]*\.\.(?!\.))){_NEXT}*)
    | (?P<FUZZY>~(?=[\d.+\-])(?!{NAME}\s*:)[^\s()"'^]*)
    | (?P<FORM>[=~])
    | (?P<PLUS>\+) | (?P<MINUS>-) | (?P<BAR>\|) | (?P<LPAR>\() | (?P<RPAR>\))
    | (?P<BOOST>\^\s*[^\s()"'^]*)
    | (?P<TEMPLATE>%@?(?:{URI}{NAME}|{NAME}(?::{NAME})?)|%\([^()]*\))
    """,
    re.VERBOSE | re.DOTALL,
)
_DISTANCE = re.compile(r"(?P<DISTANCE>\*\s*\(\s*\d*\s*\))")
# Directly behind a field, and behind the dots of a range, a sign is a number's and a keyword is a word.
_VALUE = re.compile(rf"(?P<WORD>(?:{_SIGNED}|{_FIRST}){_NEXT}*)", re.DOTALL)
_QUALIFIED_VALUE = re.compile(r"(?P<WORD>[\w.\-*?]+:[\w.\-*?]+)")
_BEFORE_FIELD = re.compile(rf"@?(?P<uri>(?:{URI})?)")
_PART_OF_FIELD = re.compile(rf"({NAME})\s*:", re.DOTALL)
_TEMPLATE_FIELD = re.compile(rf"@?((?:{URI})?{NAME}(?::{NAME})*)[\s,]*", re.DOTALL)


def scan(query: str) -> Iterator[Lexeme]:
    """Yield the lexemes of a query, or raise Mistake where none begins."""
    return joined(_cut(query))


def _cut(query: str) -> Iterator[Lexeme]:
    at = 0
    before: Lexeme | None = None
    while at < len(query):
        match = _match(query, at, before)
        if match is None:
            raise character(query, at, before)
        if match.lastgroup != "SPACE":
            before = _lexeme(match, before)
            yield before
        at = match.end()


def _match(query: str, at: int, before: Lexeme | None) -> re.Match[str] | None:
    match = _LEXEME.match(query, at)
    if before is not None and before.type in ("FIELD", "DOTDOT") and is_adjacent(before, at):
        if before.value in QUALIFIED and (value := _QUALIFIED_VALUE.match(query, at)):
            return value
        if match is not None and match.lastgroup in OPERATORS:
            return _VALUE.match(query, at) or match
    if before is not None and before.type == "WORD" and match is not None and match[0] == "*":
        return _DISTANCE.match(query, at) or match
    return match


def _lexeme(match: re.Match[str], before: Lexeme | None) -> Lexeme:
    kind, text, span = match.lastgroup or "STAR", match[0], Span(*match.span())
    follows_words = before is not None and before.type in WORDS | {"STAR"}
    if kind == "FUZZY":
        if before is None or not follows_words:
            message = f"there is nothing before {shorten(text)} that it could belong to"
            raise Mistake(message, span, 'As in word~0.8, or "some words"~2')
        is_phrase = before.type == "PHRASE"
        return Lexeme(kind, text, span, (read_slop if is_phrase else read_similarity)(text, span.start))
    if kind == "FINGERPRINT" and text.rstrip().endswith(":") and match.string[span.end : span.end + 1] in ("'", '"'):
        raise character(match.string, span.end, before)
    if text == "~" and follows_words and is_adjacent(before, span.start):
        raise Mistake("a number must follow ~ directly", span, 'As in word~0.8, or "some words"~2')
    if text == "*":
        kind = "STAR"
    read_value = _VALUES.get(kind)
    value = None if read_value is None else read_value(text, span.start)
    return Lexeme("WORD" if kind == "URL" else kind, text, span, value)


def _field(text: str, start: int) -> str:
    match = _BEFORE_FIELD.match(text)
    assert match is not None, "the scanner found a field"
    parts = [read_name(part[1], start + part.start(1)) for part in _PART_OF_FIELD.finditer(text, match.end())]
    return match["uri"] + ":".join(parts)


def _phrase(text: str, start: int) -> Pattern:
    return read_pattern(text[1:-1], start + 1)


def _address(text: str, start: int) -> Pattern:
    return read_pattern(text, start, is_url=True)


def _form(text: str, _start: int) -> ast.Form:
    return ast.Form(text)


def _template(text: str, start: int) -> Pattern:
    names: list[str] = []
    at, end = (2, len(text) - 1) if text[1] == "(" else (1, len(text))
    at += len(text[at:end]) - len(text[at:end].lstrip())
    while at < end:
        match = _TEMPLATE_FIELD.match(text, at, end)
        if not match:
            hint = "As in %(cm:name cm:title)"
            raise Mistake("this is not the name of a field", Span(start + at, start + end), hint)
        names.append(read_name(match[1], start + match.start(1)))
        at = match.end()
    if not names:
        raise Mistake("a template needs a field", Span(start, start + len(text)), "As in %(cm:name cm:title)")
    return tuple(names)


_VALUES: dict[str, Callable[[str, int], Value]] = {
    "FIELD": _field,
    "WORD": read_pattern,
    "STAR": read_pattern,
    "URL": _address,
    "PHRASE": _phrase,
    "RANGE": read_range,
    "FINGERPRINT": read_fingerprint,
    "FORM": _form,
    "BOOST": read_boost,
    "TEMPLATE": _template,
}
