"""Turns errors of Lark's lexer and parser into messages with a position and a hint.

The package raises `Mistake`, and `parse` turns it into a `QueryError` with the whole query. Messages quote the query
and name the missing part, never a terminal of the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from whorl.errors import QueryError, QuerySyntaxError, Span, UnsupportedQueryError

if TYPE_CHECKING:
    from lark import Token

FIELDS = frozenset({"FIELD", "QUALIFIED_FIELD"})
OPERATORS = frozenset({"PLUS", "MINUS", "BAR", "NOT", "_AND", "_OR"})

_AS_TEXT = r"To search for the character itself, put a \ before it."
_RANGE = "A range is [1 TO 9] with its ends, <1 TO 9> without; MIN and MAX leave an end open."


class Mistake(Exception):  # noqa: N818 - internal; `parse` turns it into a QueryError
    """An error and its position, raised by code that does not know the whole query."""

    def __init__(self, message: str, span: Span, hint: str = "", kind: type[QueryError] = QuerySyntaxError) -> None:
        super().__init__(message)
        self.message, self.span, self.hint, self.kind = message, span, hint, kind

    def error(self, query: str) -> QueryError:
        return self.kind(self.message, query=query, span=self.span, hint=self.hint)


def shorten(text: str, longest: int = 60) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def span_of(first: Token, last: Token | None = None) -> Span:
    """Return the position of a token, or the range from the token `first` to the token `last`."""
    assert first.start_pos is not None, "it comes from the lexer"
    end = (last or first).end_pos
    assert end is not None, "it comes from the lexer"
    return Span(first.start_pos, end)


def too_deep_error(span: Span, most: int) -> Mistake:
    message = f"a query can be at most {most} levels deep"
    return Mistake(message, span, "Remove parentheses that change nothing.", UnsupportedQueryError)


def too_many_clauses_error(span: Span, most: int) -> Mistake:
    message = f"a query can have at most {most:,} words, phrases and fingerprints"
    return Mistake(message, span, "", UnsupportedQueryError)


def bad_character_error(query: str, at: int, before: Sequence[Token]) -> Mistake:
    char, span = query[at], Span(at, at + 1)
    if char in "\"'":
        return unclosed_quote_error(char, span)
    if mistake := _unfinished_part_error(query, at, before):
        return mistake
    if char == "\\":
        return Mistake("the backslash at the end escapes nothing", span, r"A backslash is written \\.")
    if char == "&":
        return Mistake("a single & is not an operator", span, r"Write && or AND; the character itself is \&.")
    if char == ":":
        return _colon_error(query, at, before)
    if char == "%":
        return Mistake("a template is %field or %(field field)", span, _AS_TEXT)
    return Mistake(f"{char} has no place here", span, _AS_TEXT)


def unclosed_quote_error(quote: str, here: Span) -> Mistake:
    hint = f"Close it, or put a \\ before it to search for {quote} itself."
    return Mistake("this quote is never closed", here, hint)


def _colon_error(query: str, at: int, before: Sequence[Token]) -> Mistake:
    span, previous = Span(at, at + 1), before[-1] if before else None
    if previous is None or previous.type != "WORD" or previous.end_pos != at:
        return Mistake("the name of a field is missing before the colon", span, r"The character itself is \:.")
    if mistake := _unfinished_part_error(query, span_of(previous).start, before[:-1]):
        return mistake
    if before[:-1] and before[-2].type in FIELDS:
        return missing_value_error(before[-2], span_of(previous))
    value = re.compile(r"""[^\s()"']*""").match(query, at)
    text = shorten(previous + (value[0] if value else ""))
    message = f"{shorten(previous)} cannot be the name of a field"
    return Mistake(message, span_of(previous), f'To search for the text, quote it: "{text}"')


def _unfinished_part_error(query: str, at: int, before: Sequence[Token]) -> Mistake | None:
    """Return an error if a range, template, proximity search or fingerprint ends too early, at `at`; otherwise None."""
    for token in reversed(before[-4:]):
        if token.type == "RANGE_START":
            return bracket_error(token, span_of(token))
        if token.type not in ("BOUND", "TO"):
            break
    previous = before[-1] if before else None
    if previous is None:
        return None
    if previous.type == "FINGERPRINT":
        return missing_id_error(at)
    if previous.type == "NEAR":
        return proximity_error(previous)
    if previous.type == "DOTDOT":
        return _dotted_range_error(previous)
    if previous.type == "TEMPLATE":
        return Mistake("a template is %field or %(field field)", span_of(previous), _AS_TEXT)
    opened = next((token for token in reversed(before) if token.type not in ("REFERENCE", "_COMMA")), previous)
    if opened.type == "TEMPLATE_GROUP":
        end = query.find(")", at)
        span = Span(at, end if end >= 0 else len(query))
        return Mistake("this is not the name of a field", span, "As in %(cm:name cm:title)")
    return None


def missing_id_error(at: int) -> Mistake:
    hint = 'Write it directly after the colon, as in FINGERPRINT:1234 or FINGERPRINT:"my doc_50"'
    return Mistake("the id of a document is missing", Span(at, at), hint)


def proximity_error(star: Token) -> Mistake:
    return Mistake("a proximity search has one word on each side of *", span_of(star), "As in big *(3) apple")


def _dotted_range_error(dots: Token) -> Mistake:
    return Mistake("a range has a word or a phrase on each side of ..", span_of(dots), "As in 1..9, or [1 TO MAX]")


def bracket_error(char: str, here: Span) -> Mistake:
    """Return the error for a bracket outside a range."""
    return Mistake(f"this {char} is not part of a range", here, f"{_RANGE} {_AS_TEXT}")


def empty_query_error(query: str) -> Mistake:
    hint = 'Write a word, a "quoted phrase", FINGERPRINT:<id>, or * for all documents.'
    return Mistake("the query is empty", Span(0, len(query)), hint)


def unfinished_query_error(query: str, before: Sequence[Token]) -> Mistake:
    span, previous = Span(len(query), len(query)), before[-1]
    if mistake := _unfinished_part_error(query, len(query), before):
        return mistake
    if previous.type in FIELDS:
        return missing_value_error(previous, span)
    if previous.type == "FORM":
        return form_error(previous, span)
    if previous.type in OPERATORS:
        return _missing_operand_error(previous, span)
    opening = find_open_parentheses(before)[-1]
    return Mistake("this parenthesis is never closed", span_of(opening), "Close it, or remove it.")


def misplaced_token_error(query: str, got: Token, before: Sequence[Token]) -> Mistake:
    previous, span = before[-1] if before else None, span_of(got)
    if mistake := _unfinished_part_error(query, span.start, before):
        return mistake
    if got.type == "DOTDOT":
        return _dotted_range_error(got)
    if got.type in ("RANGE_START", "RANGE_END"):
        return bracket_error(got, span)
    if got.type == "NEAR":
        return proximity_error(got)
    if got.type in ("SIMILARITY", "SLOP"):
        message = f"there is nothing before {shorten(got)} that it could belong to"
        return Mistake(message, span, 'As in word~0.8, or "some words"~2')
    if previous is not None and previous.type in FIELDS:
        if got.type == "FORM":
            return Mistake(f"{got} stands before the field", span, f"As in {got}{shorten(previous)}word")
        return missing_value_error(previous, span)
    if previous is not None and previous.type == "FORM":
        return form_error(previous, span)
    if got.type == "RPAR" and not find_open_parentheses(before):
        return Mistake("this parenthesis closes nothing", span, "Remove it, or open one before it.")
    if previous is not None and previous.type in OPERATORS:
        return _missing_operand_error(previous, span)
    if previous is not None and got.type == "RPAR":
        return Mistake("there is nothing between the parentheses", span_of(previous, got))
    if previous is not None and got.type == previous.type == "BOOST":
        return Mistake("this is already boosted", span, "Multiply the two factors.")
    if got.type == "BOOST":
        return Mistake("there is nothing before ^ to boost", span, "As in word^2 or (some words)^2")
    return Mistake(f"{got.upper()} needs something to search for before it", span, _operator_as_text(got))


def form_error(form: Token, here: Span) -> Mistake:
    hint = f"As in {form}word, {form}field:word or field:({form}word {form}other). {_AS_TEXT}"
    return Mistake(f"a word or a phrase must follow {form}", here, hint)


def missing_space_error(
    typed: str, here: Span, hint: str = r"A quote that belongs to the text is written \" or \'"
) -> Mistake:
    return Mistake(f"a space is missing before {shorten(typed)}", here, hint)


def missing_value_error(field: Token, here: Span) -> Mistake:
    hint = f'As in {shorten(field)}word or {shorten(field)}"some words".'
    if field.count(":") > 2:
        hint = 'Put a value with colons into quotes, as in name:"a:b:1".'
    return Mistake(f"a word or a quoted phrase must follow {shorten(field)}", here, hint)


def _missing_operand_error(operator: Token, here: Span) -> Mistake:
    message = f"{operator.upper()} needs something to search for after it"
    return Mistake(message, here, _operator_as_text(operator))


def _operator_as_text(operator: Token) -> str:
    return f'To search for the word itself, quote it: "{operator}"' if operator.isalpha() else _AS_TEXT


def find_open_parentheses(tokens: Sequence[Token]) -> list[Token]:
    waiting: list[Token] = []
    for token in tokens:
        if token.type == "LPAR":
            waiting.append(token)
        elif token.type == "RPAR" and waiting:
            waiting.pop()
    return waiting
