"""What can be wrong with a query, in words: the constructs that are not supported, and the parser's errors explained.

A `Mistake` is raised inside this package by whoever sees it and becomes a `QueryError` in `parse`, which knows the
whole text. The user reads what was typed and what is missing, never the name of a terminal of the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from whorl.errors import QueryError, QuerySyntaxError, Span, UnsupportedQueryError


class Mistake(Exception):  # noqa: N818 - it never leaves the package, and becomes one that ends in Error
    """One fault and its place, before the query's text is known."""

    def __init__(self, message: str, span: Span, hint: str = "", kind: type[QueryError] = QuerySyntaxError) -> None:
        super().__init__(message)
        self.message, self.span, self.hint, self.kind = message, span, hint, kind

    def error(self, query: str) -> QueryError:
        """Return the error for the user."""
        return self.kind(self.message, query=query, span=self.span, hint=self.hint)


class Construct(NamedTuple):
    """Something AFTS has and this language has not; `start` is how it begins where no word can go on."""

    names: str
    start: str
    hint: str


_OPERATORS = frozenset({"_AND", "_OR", "NOT", "PLUS", "MINUS"})
_AS_TEXT = r"To search for the character itself, put a \ before it."
# For what the lexer can read and the parser cannot use: no text starts it, it is recognised by its tokens.
_BY_ITS_TOKENS = r"(?!)"

PROXIMITY = Construct("proximity searches (a * b)", r"\*\(", "Use AND, or quote the words as a phrase.")
WILDCARDS = Construct("wildcards (* and ?)", r"[*?]", _AS_TEXT)
FIELD_GROUPS = Construct("groups behind a field", _BY_ITS_TOKENS, "Repeat the field: (type:pdf OR type:txt).")
ANY_VALUE = Construct("searches for any value of a field", _BY_ITS_TOKENS, _AS_TEXT)

# The first that matches is named. A construct that the grammar learns loses its row.
UNSUPPORTED = (
    PROXIMITY,
    WILDCARDS,
    FIELD_GROUPS,
    ANY_VALUE,
    Construct("fuzzy, slop and analysed searches (~)", r"~", _AS_TEXT),
    Construct("exact searches (=)", r"=", _AS_TEXT),
    Construct("ranges", r"\.\.|[\[\]<>]", _AS_TEXT),
    Construct("braces", r"[{}]", "Quote the text that has braces in it."),
    Construct("| marks", r"\|", r"For alternatives write a OR b, or a || b."),
    Construct("templates (%)", r"%", _AS_TEXT),
)


def unsupported(construct: Construct, span: Span) -> Mistake:
    """Return the mistake of using a construct that the language does not have."""
    return Mistake(f"{construct.names} are not supported", span, construct.hint, UnsupportedQueryError)


def span_of(first: Token, last: Token | None = None) -> Span:
    """Return the place of one token, or of all from the first to the last."""
    start, end = first.start_pos, (last or first).end_pos
    assert start is not None, "a token of the lexer knows its place"
    assert end is not None, "a token of the lexer knows its place"
    return Span(start, end)


def shorten(text: str, longest: int = 60) -> str:
    """Return text as a message can show it."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def explain(error: UnexpectedInput, query: str, tokens: Sequence[Token]) -> Mistake:
    """Return what is wrong where the parser stopped, after it had read `tokens`."""
    if isinstance(error, UnexpectedCharacters):
        assert error.pos_in_stream is not None, "the lexer knows where it is"
        return _character(query, error.pos_in_stream, tokens[-1] if tokens else None)
    assert isinstance(error, UnexpectedToken), f"the LALR parser raises nothing else, got {error!r}"
    got: Token = error.token
    before = tokens[:-1] if tokens and tokens[-1] is got else tokens
    if got.type == "$END":
        return _end(query, before)
    return misplaced(got, before)


def _character(query: str, at: int, previous: Token | None) -> Mistake:
    char, here = query[at], Span(at, at + 1)
    if char in "\"'":
        hint = f"Close it, or put a \\ before it to search for {char} itself."
        return Mistake("this quote is never closed", here, hint)
    if char == "\\":
        return Mistake("the backslash at the end escapes nothing", here, r"A backslash is written \\.")
    if char == "&":
        return Mistake("a single & is no operator", here, r"Write && or AND; the character itself is \&.")
    if char == ":":
        return _colon(query, at, previous)
    for construct in UNSUPPORTED:
        if match := re.compile(construct.start).match(query, at):
            return unsupported(construct, Span(at, match.end()))
    return Mistake(f"{char} has no place here", here, _AS_TEXT)


def _colon(query: str, at: int, previous: Token | None) -> Mistake:
    here = Span(at, at + 1)
    if previous is None or previous.type != "WORD":
        return Mistake("the name of a field is missing before the colon", here, r"The character itself is \:.")
    if previous.end_pos == at:
        value = re.compile(r"""[^\s()"']*""").match(query, at)
        text = shorten(previous + (value[0] if value else ""))
        message = f"{shorten(previous)} cannot be the name of a field"
        return Mistake(message, span_of(previous), f'To search for the text, quote it: "{text}"')
    hint = f"Write them together, as in {shorten(previous)}:word"
    return Mistake("a space stands between a field and its colon", here, hint)


def _end(query: str, before: Sequence[Token]) -> Mistake:
    here, previous = Span(len(query), len(query)), before[-1]
    if previous.type == "FIELD":
        return _value_missing(previous, here)
    if previous.type in _OPERATORS:
        return _operand_missing(previous, here)
    return Mistake("this parenthesis is never closed", span_of(_open(before)[-1]), "Close it, or remove it.")


def misplaced(got: Token, before: Sequence[Token]) -> Mistake:
    """Return what is wrong with a token that cannot follow the tokens before it."""
    here, previous = span_of(got), before[-1] if before else None
    if previous is not None and previous.type == "FIELD":
        return _behind_field(previous, got)
    if got.type == "RPAR" and not _open(before):
        return Mistake("this parenthesis closes nothing", here, "Remove it, or open one before it.")
    if previous is not None and previous.type in _OPERATORS:
        return _operand_missing(previous, here)
    if previous is not None and got.type == "RPAR":
        return Mistake("there is nothing between the parentheses", span_of(previous, got))
    if previous is not None and got.type == previous.type == "BOOST":
        return Mistake("this is already boosted", here, "Multiply the two factors.")
    if got.type == "BOOST":
        return Mistake("there is nothing before ^ to boost", here, "As in word^2 or (some words)^2")
    message = f"{got.upper()} needs something to search for before it"
    return Mistake(message, here, _operator_as_text(got))


def _behind_field(field: Token, got: Token) -> Mistake:
    if got.type == "LPAR":
        return unsupported(FIELD_GROUPS, span_of(field, got))
    if got.type == "EVERYTHING":
        return unsupported(ANY_VALUE, span_of(field, got))
    return _value_missing(field, span_of(got))


def _value_missing(field: Token, here: Span) -> Mistake:
    hint = f'As in {shorten(field)}word or {shorten(field)}"some words".'
    return Mistake(f"a word or a quoted phrase must follow {shorten(field)}", here, hint)


def _operand_missing(operator: Token, here: Span) -> Mistake:
    message = f"{operator.upper()} needs something to search for after it"
    return Mistake(message, here, _operator_as_text(operator))


def _operator_as_text(operator: Token) -> str:
    return f'To search for the word itself, quote it: "{operator}"' if operator.isalpha() else _AS_TEXT


def _open(tokens: Sequence[Token]) -> list[Token]:
    """Return the opening parentheses that wait for a closing one, the innermost last."""
    waiting: list[Token] = []
    for token in tokens:
        if token.type == "LPAR":
            waiting.append(token)
        elif token.type == "RPAR":
            waiting.pop()
    return waiting
