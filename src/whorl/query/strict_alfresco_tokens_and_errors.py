"""Reads the tokens of the strict parser (Alfresco's own grammar, `alfresco.lark`), and writes its error messages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from decimal import Decimal

from lark import Token

from whorl.errors import Span
from whorl.query.ast import Pattern, as_typed
from whorl.query.literals import MAX_NUMBER_LENGTH, OPEN_ENDS, read_field, read_pattern
from whorl.query.messages import (
    Mistake,
    bracket_error,
    empty_query_error,
    find_open_parentheses,
    misplaced_token_error,
    shorten,
    span_of,
    unclosed_quote_error,
    unfinished_query_error,
)

_DIGITS_OR_DOT = re.compile(r"[+-]?[0-9]+|\.")
_BLANK_OR_ESCAPE = re.compile(r"(\\.)|[\s\u180e\u200b]+", re.DOTALL)
_OTHER_CHARACTER = re.compile(r"\\.|([^\x00-\x7f])", re.DOTALL)
_FIRST = ("L", "M", "N", "Sc", "So")
_INSIDE = (*_FIRST, "Sm", "Pc", "Pd", "Po")
_BROKEN_DATE = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{3}(?:Z|[+-]\d\d(?::\d\d)?)?)?)?(?:/[A-Za-z]+)?(?:[+-]\d+[A-Za-z]+)*"
)
_SIGNED_DOTS = re.compile(r"[+-]\.\d+\.(?!\.)")
_PUNCTUATION = frozenset("~()+-:&!|=[],^><@%.*?$")
_STARTS_OF_A_TEST = frozenset({"FORM", "TILDE"})


class Splitter:
    """Splits `1.2.` and `.2.` into digits and dots, like Alfresco's lexer."""

    always_accept = ("DOTTED",)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        for token in stream:
            if token.type == "DOTTED":
                for part in _DIGITS_OR_DOT.finditer(token):
                    start = span_of(token).start
                    kind = "DOT" if part[0] == "." else "INTEGER"
                    yield Token(kind, part[0], start + part.start(), end_pos=start + part.end())
            else:
                if token.type == "WORD" and not token.isascii():
                    _check_characters(token)
                yield token


def _check_characters(word: Token) -> None:
    """Raise an error for a character that Alfresco's lexer does not know, such as any character above U+FFFF."""
    start = span_of(word).start
    for match in _OTHER_CHARACTER.finditer(word):
        char = match[1]
        categories = _INSIDE if match.start() else _FIRST
        if char and (char > "\uffff" or not unicodedata.category(char).startswith(categories)):
            raise _unknown_character_error(char, start + match.start())


def _unknown_character_error(char: str, at: int) -> Mistake:
    message = f"{char} begins nothing in Alfresco's language"
    return Mistake(message, Span(at, at + 1), "Quote it, or leave out strict.")


def read_word(token: Token) -> Pattern:
    start = span_of(token).start
    match token.type:
        case "PHRASE":
            return read_pattern(token[1:-1], start + 1)
        case "WORD" | "STAR" | "QUESTION_MARK":
            return read_pattern(token, start)
        case "FIELD":
            raise _refused_text_error(":", Span(span_of(token).end - 1, span_of(token).end))
        case "NAME" | "QUALIFIED":
            return (read_name(token, start),)
        case _:
            return (str(token),)


def read_name(typed: str, start: int) -> str:
    return read_field(_BLANK_OR_ESCAPE.sub(lambda match: match[1] or "", typed), start)


def read_bound(token: Token) -> str | None:
    text = as_typed(read_word(token))
    return None if text in OPEN_ENDS else text


def read_number(typed: str, start: int) -> Decimal:
    """Read a boost or a similarity. Unlike whorl, Alfresco accepts numbers of any value."""
    number = typed.lstrip("^ \t\r\n\f")
    if len(number) > MAX_NUMBER_LENGTH:
        end = start + len(typed)
        raise Mistake(f"a number has more than {MAX_NUMBER_LENGTH} characters", Span(end - len(number), end))
    return Decimal(number)


def read_slop(typed: str, start: int) -> int:
    return int(read_number(typed, start))


def bad_character_error(query: str, at: int, before: Sequence[Token]) -> Mistake:
    char, span = query[at], Span(at, at + 1)
    if char in "\"'":
        return unclosed_quote_error(char, span)
    if char == "{":
        return bracket_error(char, span)
    if broken := _BROKEN_DATE.match(query, at):
        # Include the character that breaks the date, unless the query ends there.
        end = min(broken.end() + 1, len(query))
        return Mistake("this date does not go on as a date does", Span(at, end), "Quote it.")
    if signed := _SIGNED_DOTS.match(query, at):
        return Mistake("a number with a sign cannot stand between dots", Span(*signed.span()), "Quote it.")
    if char in _PUNCTUATION:
        span = Span(at, at + 2) if query.startswith("..", at) else span
        return _refused_test_error(query, span, before)
    return _unknown_character_error(char, at)


def refused_token_error(query: str, got: Token, before: Sequence[Token]) -> Mistake:
    if before and before[-1].type == "FIELD":
        return _refused_test_error(query, span_of(got), before)
    if got.type in ("_OR", "_AND") or (got.type == "RPAR" and not find_open_parentheses(before)):
        return misplaced_token_error(query, got, before)
    span = span_of(got)
    # A field's group cannot contain another field, so report the error at the inner field's colon.
    return _refused_test_error(query, Span(span.end - 1, span.end) if got.type == "FIELD" else span, before)


def early_end_error(query: str, before: Sequence[Token]) -> Mistake:
    span = Span(len(query), len(query))
    if not before:  # The query has only blanks that `str.strip` keeps, such as U+200B.
        return empty_query_error(query)
    if before[-1].type in _STARTS_OF_A_TEST or before[-1].type == "FIELD":
        return _refused_test_error(query, span, before)
    if before[-1].type in ("NOT", "EXCLAMATION", "PLUS", "MINUS", "BAR"):
        return Mistake("something to search for is missing at the end", span)
    if before[-1].type in ("_OR", "_AND") or find_open_parentheses(before):
        return unfinished_query_error(query, before)
    return _refused_test_error(query, span_of(before[-1]), before[:-1])


def _refused_test_error(query: str, here: Span, before: Sequence[Token]) -> Mistake:
    previous = before[-1] if before else None
    if previous is not None and previous.type in _STARTS_OF_A_TEST:
        here = span_of(previous)
    elif previous is not None and previous.type == "FIELD":
        # Without a value, the name is not a field, so report the error at the colon.
        here = Span(span_of(previous).end - 1, span_of(previous).end)
    return _refused_text_error(query[here.start : here.end], here)


def _refused_text_error(typed: str, here: Span) -> Mistake:
    message = f"Alfresco's grammar cannot go on with {shorten(typed)}"
    return Mistake(message, here, "Quote what is text, or leave out strict.")
