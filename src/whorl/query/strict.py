"""The text as Alfresco reads it, to the letter: its tokens, put together in the order in which its grammar tries.

The order is that of the rules of FTS.g in alfresco-community-repo (data-model, org.alfresco.repo.search.impl.parsers):
a proximity search, a range, a group behind a field, a term or phrase, each with `=` or `~`, a group. What comes out are
the lexemes of scanner.py, so that one grammar reads both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from whorl.errors import Span
from whorl.query import ast
from whorl.query.escapes import read_name, read_pattern
from whorl.query.lexeme import Lexeme, Pattern, Value, literal
from whorl.query.mistakes import Mistake, shorten
from whorl.query.numbers import MAX_NUMBER_LENGTH
from whorl.query.strict_tokens import Token, tokens

# Over the kinds of tokens, one letter each.
_NAME = r"(?:i\.i|[itoan])"
# Of f:a.b the grammar takes f for a prefix and a.b for the name, and misses a colon behind it.
_FIELD = rf"(?P<FIELD>@?(?:(?:u|{_NAME}:){_NAME}:|{_NAME}:(?!i\.i(?!:))))"
_PART = rf"(?:[iwpvntdg*?D]|u{_NAME})"
# Five pieces at most. Without a separator in front the fourth must be a dot, for the rule's alternatives are
# "four pieces and a dot" or "a comma and a piece", where "four pieces, a separator and a piece" was meant.
_WORD = (
    rf"(?P<WORD>[.,]{_PART}(?:[.,]{_PART}){{4}}|{_PART}(?:[.,]{_PART}){{3}}\.{_PART}"
    rf"|[.,]?{_PART}(?:[.,]{_PART}){{0,3}}[.,]?)(?P<FUZZY>~[dg])?"
)
_PHRASE = r"(?P<PHRASE>q)(?P<SLOP>~d)?"
_NEAR = rf"(?:[iwpvntdgD*]|u{_NAME})"
_PROXIMITY = rf"(?P<PROXIMITY>{_NEAR}(?>(?:\*(?:\(d?\))?{_NEAR})+))"
_END = rf"(?:[iwpvqdgD*]|u{_NAME})"
_RANGE = rf"(?P<RANGE>{_END}r{_END}|[\[<]{_END}t{_END}[\]>])"
_REFERENCE = rf"@?(?:u|{_NAME}:)?{_NAME}"
_TEMPLATE = rf"(?P<TEMPLATE>%(?:{_REFERENCE}|\((?:{_REFERENCE},?)+\)))"


def _tests(*alternatives: str) -> list[re.Pattern[str]]:
    return [re.compile(alternative) for alternative in alternatives]


_OUTSIDE = _tests(
    _PROXIMITY,
    rf"{_FIELD}?{_RANGE}",
    rf"{_FIELD}(?P<LPAR>\()",
    rf"{_FIELD}?{_PHRASE}",
    rf"{_FIELD}?{_WORD}",
    rf"(?P<FORM>=){_FIELD}?{_PHRASE}",
    rf"(?P<FORM>=){_FIELD}?{_WORD}",
    rf"~{_FIELD}?{_PHRASE}",
    rf"~{_FIELD}?{_WORD}",
    r"(?P<LPAR>\()",
    _TEMPLATE,
)
_IN_FIELD = _tests(_PROXIMITY, _RANGE, _PHRASE, _WORD, rf"(?P<FORM>=){_WORD}", rf"(?P<FORM>~){_WORD}", r"(?P<LPAR>\()")
_OPERATOR = re.compile(r"(?P<_OR>o(?!:)|\|\|)|(?P<_AND>a(?!:)|&&)")
_SIGN = re.compile(r"(?P<NOT>[n!])|(?P<PLUS>\+)|(?P<MINUS>-)|(?P<BAR>\|)")
_BOOST = re.compile(r"(?P<BOOST>\^[dg])")


def scan(query: str) -> Iterator[Lexeme]:
    """Yield the lexemes of a query as Alfresco's grammar puts them together, or raise Mistake where it stops."""
    return _Assembly(query).lexemes()


class _Assembly:
    def __init__(self, query: str) -> None:
        self._query = query
        self._tokens = tokens(query)
        self._kinds = "".join(token.kind for token in self._tokens)
        self._open: list[bool] = []

    def lexemes(self) -> Iterator[Lexeme]:
        """Yield the lexemes; each turn takes an operator, a closing parenthesis, or an operand with its sign."""
        at = 0
        while at < len(self._kinds):
            if match := _OPERATOR.match(self._kinds, at):
                yield from self._made(match)
                at = match.end()
                continue
            if self._kinds[at] == ")":
                yield self._lexeme("RPAR", at, at + 1)
                self._open = self._open[:-1]
                at += 1
            else:
                if match := _SIGN.match(self._kinds, at):
                    yield from self._made(match)
                    at = match.end()
                match = self._test(at)
                yield from self._made(match)
                at = match.end()
                if match.lastgroup == "LPAR":
                    self._open.append(match[0] != "(" or (bool(self._open) and self._open[-1]))
                    continue
            if match := _BOOST.match(self._kinds, at):
                yield from self._made(match)
                at = match.end()

    def _test(self, at: int) -> re.Match[str]:
        for test in _IN_FIELD if self._open and self._open[-1] else _OUTSIDE:
            if match := test.match(self._kinds, at):
                return match
        if at == len(self._kinds):
            end = len(self._query)
            raise Mistake("something to search for is missing at the end", Span(end, end))
        token = self._tokens[at]
        message = f"Alfresco's grammar cannot go on with {shorten(token.text)}"
        raise Mistake(message, Span(token.start, token.end), "Quote what is text, or leave out strict.")

    def _made(self, match: re.Match[str]) -> Iterator[Lexeme]:
        names = sorted((match.start(name), name) for name, found in match.groupdict().items() if found is not None)
        for start, name in names:
            yield self._lexeme(name, start, match.end(name))

    def _lexeme(self, kind: str, start: int, end: int) -> Lexeme:
        parts = self._tokens[start:end]
        span = Span(parts[0].start, parts[-1].end)
        text = self._query[span.start : span.end]
        return Lexeme("FUZZY" if kind == "SLOP" else kind, text, span, _value(kind, parts))


def _value(kind: str, parts: Sequence[Token]) -> Value:
    match kind:
        case "FIELD":
            return _name(parts[:-1])
        case "WORD" | "PHRASE":
            return _pattern(parts)
        case "FUZZY" | "SLOP" | "BOOST":
            return _number(parts[1])
        case "FORM":
            return ast.Form(parts[0].text)
        case "RANGE":
            return _range(parts)
        case "PROXIMITY":
            return _proximity(parts)
        case "TEMPLATE":
            return tuple(_references(parts))
        case _:
            return None


def _name(parts: Sequence[Token]) -> str:
    return "".join(part.text if part.kind in "u:.@" else read_name(part.text, part.start) for part in parts).lstrip("@")


def _pattern(parts: Sequence[Token]) -> Pattern:
    pieces: list[str | ast.Joker] = []
    for part in parts:
        for piece in _pieces(part):
            if pieces and isinstance(piece, str) and isinstance(pieces[-1], str):
                pieces[-1] += piece
            else:
                pieces.append(piece)
    return tuple(pieces)


def _pieces(part: Token) -> Pattern:
    if part.kind == "q":
        return read_pattern(part.text[1:-1], part.start + 1)
    if part.kind == "i":
        return (read_name(part.text, part.start),)
    return read_pattern(part.text, part.start) if part.kind in "wpv*?" else (part.text,)


def _number(token: Token) -> Decimal:
    if len(token.text) > MAX_NUMBER_LENGTH:
        raise Mistake(f"a number has more than {MAX_NUMBER_LENGTH} characters", Span(token.start, token.end))
    return Decimal(token.text)


def _range(parts: Sequence[Token]) -> ast.Range:
    at = next(place for place, part in enumerate(parts) if part.kind in "rt")
    opened, low, high, closed = parts[0].kind, parts[:at], parts[at + 1 :], parts[-1].kind
    if opened in "[<":
        low, high = low[1:], high[:-1]
    return ast.Range(_bound(low, is_inclusive=opened != "<"), _bound(high, is_inclusive=closed != ">"))


def _bound(parts: Sequence[Token], *, is_inclusive: bool) -> ast.Bound | None:
    text = literal(_pattern(parts))
    return None if text in ("*", "MIN", "MAX") else ast.Bound(text, is_inclusive)


def _proximity(parts: Sequence[Token]) -> ast.Proximity:
    """Return the first two words with their distance; the others of a chain are read and forgotten."""
    words: list[str] = []
    slop = ast.Proximity(("a", "b")).slop
    at = 0
    for _ in range(2):
        end = at + (2 if parts[at].kind == "u" else 1)
        words.append(literal(_pattern(parts[at:end])))
        at = end + 1
        if len(words) == 1 and at < len(parts) and parts[at].kind == "(":
            if parts[at + 1].kind == "d":
                slop = int(_number(parts[at + 1]))
                at += 1
            at += 2
    return ast.Proximity(tuple(words), slop)


def _references(parts: Sequence[Token]) -> Iterator[str]:
    kinds = "".join(part.kind for part in parts)
    for match in re.finditer(_REFERENCE, kinds):
        yield _name(parts[match.start() : match.end()])
