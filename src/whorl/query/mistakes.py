"""What can be wrong with a query, in words: the parser's and the scanners' errors explained.

A `Mistake` is raised inside this package by whoever sees it and becomes a `QueryError` in `parse`, which knows the
whole text. The user reads what was typed and what is missing, never the name of a terminal of the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from whorl.errors import QueryError, QuerySyntaxError, Span
from whorl.query.lexeme import OPERATORS, Lexeme

_AS_TEXT = r"To search for the character itself, put a \ before it."
_RANGE = "A range is [1 TO 9] with its ends, <1 TO 9> without; MIN and MAX leave an end open."


class Mistake(Exception):  # noqa: N818 - it never leaves the package, and becomes one that ends in Error
    """One fault and its place, before the query's text is known."""

    def __init__(self, message: str, span: Span, hint: str = "", kind: type[QueryError] = QuerySyntaxError) -> None:
        super().__init__(message)
        self.message, self.span, self.hint, self.kind = message, span, hint, kind

    def error(self, query: str) -> QueryError:
        """Return the error for the user."""
        return self.kind(self.message, query=query, span=self.span, hint=self.hint)


def shorten(text: str, longest: int = 60) -> str:
    """Return text as a message can show it."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def character(query: str, at: int, previous: Lexeme | None) -> Mistake:
    """Return what is wrong where no lexeme begins."""
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
    if char in "[]<>{}":
        return Mistake(f"this {char} is not part of a range", here, f"{_RANGE} {_AS_TEXT}")
    if char == "%":
        return Mistake("a template is %field or %(field field)", here, _AS_TEXT)
    return Mistake(f"{char} has no place here", here, _AS_TEXT)


def _colon(query: str, at: int, previous: Lexeme | None) -> Mistake:
    here = Span(at, at + 1)
    if previous is None or previous.type not in ("WORD", "STAR") or previous.span.end != at:
        return Mistake("the name of a field is missing before the colon", here, r"The character itself is \:.")
    value = re.compile(r"""[^\s()"']*""").match(query, at)
    text = shorten(previous.text + (value[0] if value else ""))
    message = f"{shorten(previous.text)} cannot be the name of a field"
    return Mistake(message, previous.span, f'To search for the text, quote it: "{text}"')


def unfinished(query: str, before: Sequence[Lexeme]) -> Mistake:
    """Return what is missing at the end of a query."""
    here, previous = Span(len(query), len(query)), before[-1]
    if previous.type == "FIELD":
        return _value_missing(previous, here)
    if previous.type == "FORM":
        return _form(previous, here)
    if previous.type in OPERATORS:
        return _operand_missing(previous, here)
    return Mistake("this parenthesis is never closed", _open(before)[-1].span, "Close it, or remove it.")


def misplaced(got: Lexeme, before: Sequence[Lexeme]) -> Mistake:
    """Return what is wrong with a lexeme that cannot follow the lexemes before it."""
    previous = before[-1] if before else None
    if got.type == "DOTDOT":
        return Mistake("a range has a word or a phrase on each side of ..", got.span, "As in 1..9, or [1 TO MAX]")
    if previous is not None and previous.type == "FIELD":
        if got.type == "FORM":
            hint = f"As in {got.text}{shorten(previous.text)}word"
            return Mistake(f"{got.text} stands before the field", got.span, hint)
        return _value_missing(previous, got.span)
    if previous is not None and previous.type == "FORM":
        return _form(previous, got.span)
    if got.type == "RPAR" and not _open(before):
        return Mistake("this parenthesis closes nothing", got.span, "Remove it, or open one before it.")
    if previous is not None and previous.type in OPERATORS:
        return _operand_missing(previous, got.span)
    if previous is not None and got.type == "RPAR":
        return Mistake("there is nothing between the parentheses", Span(previous.span.start, got.span.end))
    if previous is not None and got.type == previous.type == "BOOST":
        return Mistake("this is already boosted", got.span, "Multiply the two factors.")
    if got.type == "BOOST":
        return Mistake("there is nothing before ^ to boost", got.span, "As in word^2 or (some words)^2")
    if got.type == "FUZZY":
        return Mistake(f"a second {shorten(got.text)} has no meaning", got.span, "As in word~0.8")
    message = f"{got.text.upper()} needs something to search for before it"
    return Mistake(message, got.span, _operator_as_text(got))


def _form(form: Lexeme, here: Span) -> Mistake:
    hint = f"As in {form.text}word, {form.text}field:word or field:({form.text}word {form.text}other). {_AS_TEXT}"
    return Mistake(f"a word or a phrase must follow {form.text}", here, hint)


def _value_missing(field: Lexeme, here: Span) -> Mistake:
    hint = f'As in {shorten(field.text)}word or {shorten(field.text)}"some words".'
    return Mistake(f"a word or a quoted phrase must follow {shorten(field.text)}", here, hint)


def _operand_missing(operator: Lexeme, here: Span) -> Mistake:
    message = f"{operator.text.upper()} needs something to search for after it"
    return Mistake(message, here, _operator_as_text(operator))


def _operator_as_text(operator: Lexeme) -> str:
    text = operator.text
    return f'To search for the word itself, quote it: "{text}"' if text.isalpha() else _AS_TEXT


def _open(lexemes: Sequence[Lexeme]) -> list[Lexeme]:
    """Return the opening parentheses that wait for a closing one, the innermost last."""
    waiting: list[Lexeme] = []
    for lexeme in lexemes:
        if lexeme.type == "LPAR":
            waiting.append(lexeme)
        elif lexeme.type == "RPAR":
            waiting.pop()
    return waiting
