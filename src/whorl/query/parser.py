"""The query language: `parse` from text to tree, `unparse` back.

The grammar is afts.lark, built once. Around it stand the limits, which keep every query cheap, and a watch over the
tokens for what a grammar cannot say well. Nothing here recurses, however deep the query is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedInput

from whorl.errors import Span, UnsupportedQueryError
from whorl.query import ast
from whorl.query.escapes import KEYWORDS, read
from whorl.query.fingerprint import PREFIX, read_boost, read_fingerprint
from whorl.query.mistakes import (
    PROXIMITY,
    WILDCARDS,
    Mistake,
    explain,
    misplaced,
    shorten,
    span_of,
    unsupported,
)
from whorl.query.unparse import unparse

__all__ = ["MAX_CLAUSES", "MAX_LENGTH", "parse", "unparse"]

MAX_LENGTH = 65_536
MAX_CLAUSES = 1_000

_OUTSIDE_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_WILDCARD_IN_PHRASE = re.compile(r"(?:\\.|[^\\*?])*([*?])", re.DOTALL)


def parse(query: str) -> ast.Node:
    """Return the tree of a query.

    Raises:
        QuerySyntaxError: The text is not in the language.
        UnsupportedQueryError: It asks for what cannot be run, or is larger than `MAX_LENGTH` characters,
            `MAX_CLAUSES` clauses or `ast.MAX_DEPTH` levels.

    >>> parse("big type:pdf")
    Or(children=(Term(text='big', field=None), Term(text='pdf', field='type')))
    """
    watch = _Watch()
    try:
        _check_text(query)
        reading = _grammar().parse_interactive(query)
        for token in reading.iter_parse():
            watch.see(token)
        tree = reading.feed_token(Token("$END", ""))
    except Mistake as mistake:
        raise mistake.error(query) from None
    except UnexpectedInput as error:
        raise explain(error, query, watch.tokens).error(query) from None
    assert isinstance(tree, _Piece)
    return tree.node


@cache
def _grammar() -> Lark:
    return Lark.open(
        "afts.lark", rel_to=__file__, parser="lalr", lexer="contextual", start="query", transformer=_Builder()
    )


def _check_text(query: str) -> None:
    if len(query) > MAX_LENGTH:
        message = f"a query can have at most {MAX_LENGTH:,} characters, got {len(query):,}"
        raise Mistake(message, Span(MAX_LENGTH, len(query)), "", UnsupportedQueryError)
    if bad := _OUTSIDE_TEXT.search(query):
        half = bad[0] >= "\ud800"
        message = f"U+{ord(bad[0]):04X} is {'half of a surrogate pair' if half else 'a control character'}"
        hint = "Remove it." if half else f"Remove it, or write \\u{ord(bad[0]):04x}"
        raise Mistake(message, Span(*bad.span()), hint)
    if not query.strip():
        hint = 'Write a word, a "quoted phrase", FINGERPRINT:<id>, or * for all documents.'
        raise Mistake("the query is empty", Span(0, len(query)), hint)


_WORDS = frozenset({"WORD", "URL", "PHRASE"})
_LEAVES = _WORDS | {"EVERYTHING", "FINGERPRINT"}
_ENDS = _LEAVES | {"BOOST"}
_STARTS = _LEAVES | {"FIELD", "NOT", "PLUS", "MINUS"}


class _Watch:
    """The tokens read so far, and what the grammar cannot say of them: limits, neighbours, spaces."""

    def __init__(self) -> None:
        self.tokens: list[Token] = []
        self._clauses = 0
        self._open = 0

    def see(self, token: Token) -> None:
        """Take the next token, or raise Mistake."""
        if token.type == "WORD" and token.lower() in KEYWORDS:
            self._check_keyword(token)
        if self.tokens:
            self._check_spaces(self.tokens[-1], token)
            self._check_star(token)
        self._check_limits(token)
        self.tokens.append(token)

    def _check_spaces(self, previous: Token, token: Token) -> None:
        if previous.end_pos != token.start_pos or previous.type not in _ENDS or previous == PREFIX:
            return
        if token.type == "EVERYTHING":
            raise unsupported(WILDCARDS, span_of(token))
        if token.type in _STARTS or (previous.type, token.type) == ("FINGERPRINT", "LPAR"):
            raise _space_missing(previous, token)

    def _check_keyword(self, word: Token) -> None:
        """Refuse an operator where none can stand; type:or is a word, and an error further on may explain more."""
        match self.tokens[-1:]:
            case [Token(type="FIELD", end_pos=end)] if end == word.start_pos:
                return
            case [previous] if previous.type in _ENDS | {"RPAR"}:
                return
        raise misplaced(word, self.tokens)

    def _check_star(self, token: Token) -> None:
        """Refuse a * b, which AFTS reads as proximity: to read three alternatives would surprise."""
        match self.tokens[-2:]:
            case [before, star] if before.type in _WORDS and star == "*" and token.type in _WORDS:
                raise unsupported(PROXIMITY, span_of(star))

    def _check_limits(self, token: Token) -> None:
        self._clauses += token.type in _LEAVES
        self._open += (token.type == "LPAR") - (token.type == "RPAR")
        if self._clauses > MAX_CLAUSES:
            message = f"a query can have at most {MAX_CLAUSES:,} words, phrases and fingerprints"
            raise Mistake(message, span_of(token), "", UnsupportedQueryError)
        if self._open > ast.MAX_DEPTH:
            raise _too_deep(span_of(token))


def _space_missing(previous: Token, token: Token) -> Mistake:
    hint = r"A quote that belongs to the text is written \" or \'"
    if previous.type == "FINGERPRINT":
        hint = f'An id with blanks, parentheses, quotes or ^ is quoted, as in {PREFIX}"report (1).pdf"'
    return Mistake(f"a space is missing before {shorten(token)}", span_of(token), hint)


def _too_deep(span: Span) -> Mistake:
    message = f"a query can be at most {ast.MAX_DEPTH} levels deep"
    return Mistake(message, span, "Remove parentheses that change nothing.", UnsupportedQueryError)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A node under construction: where it was typed, parentheses and sign included, and the levels below it."""

    node: ast.Node
    span: Span
    depth: int = 0
    occur: ast.Occur = ast.Occur.SHOULD


def _over(node: ast.Node, span: Span, *below: _Piece) -> _Piece:
    depth = 1 + max(piece.depth for piece in below)
    if depth > ast.MAX_DEPTH:
        raise _too_deep(span)
    return _Piece(node, span, depth)


def _signed(piece: _Piece) -> _Piece:
    """Return an operand that stands where + and - are no clauses: -a is NOT a, and +a is a."""
    if piece.occur is ast.Occur.MUST_NOT:
        return _over(ast.Not(piece.node, piece.span), piece.span, piece)
    return _Piece(piece.node, piece.span, piece.depth)


class _Builder(Transformer[Token, _Piece]):
    """The meaning of each rule of the grammar, called by the parser as it reduces."""

    def query(self, children: Sequence[_Piece]) -> _Piece:
        """`query: disjunction`."""
        return children[0]

    def disjunction(self, children: Sequence[Sequence[_Piece]]) -> _Piece:
        """`disjunction: sequence (OR sequence)*`."""
        members = [piece for sequence in children for piece in sequence]
        if len(members) == 1:
            return members[0]
        span = Span(members[0].span.start, members[-1].span.end)
        return _over(ast.Or(tuple(piece.node for piece in members), span), span, *members)

    def sequence(self, children: Sequence[_Piece]) -> Sequence[_Piece]:
        """`sequence: conjunction+`; the alternatives of an OR, or one group with + and -."""
        if len(children) == 1:
            return [_signed(children[0])]
        if all(piece.occur is ast.Occur.SHOULD for piece in children):
            return children
        span = Span(children[0].span.start, children[-1].span.end)
        clauses = tuple(ast.Clause(piece.occur, piece.node) for piece in children)
        return [_over(ast.Clauses(clauses, span), span, *children)]

    def conjunction(self, children: Sequence[_Piece]) -> _Piece:
        """`conjunction: operand (AND operand)*`."""
        if len(children) == 1:
            return children[0]
        members = [_signed(piece) for piece in children]
        span = Span(members[0].span.start, members[-1].span.end)
        return _over(ast.And(tuple(piece.node for piece in members), span), span, *members)

    def required(self, children: tuple[Token, _Piece]) -> _Piece:
        """`operand: "+" negation`."""
        return self._marked(children, ast.Occur.MUST)

    def excluded(self, children: tuple[Token, _Piece]) -> _Piece:
        """`operand: "-" negation`."""
        return self._marked(children, ast.Occur.MUST_NOT)

    def _marked(self, children: tuple[Token, _Piece], occur: ast.Occur) -> _Piece:
        sign, piece = children
        span = Span(span_of(sign).start, piece.span.end)
        return _Piece(piece.node, span, piece.depth, occur)

    def negated(self, children: tuple[Token, _Piece]) -> _Piece:
        """`negation: NOT negation`."""
        operator, piece = children
        span = Span(span_of(operator).start, piece.span.end)
        return _over(ast.Not(piece.node, span), span, piece)

    def boost(self, children: tuple[_Piece, Token]) -> _Piece:
        """`boosted: primary BOOST`."""
        piece, factor = children
        place = span_of(factor)
        span = Span(piece.span.start, place.end)
        return _over(ast.Boost(piece.node, read_boost(factor, place.start), span), span, piece)

    def group(self, children: tuple[Token, _Piece, Token]) -> _Piece:
        """`primary: "(" disjunction ")"`; the node's own span leaves the parentheses out."""
        opening, piece, closing = children
        return _Piece(piece.node, span_of(opening, closing), piece.depth)

    def term(self, children: Sequence[Token]) -> _Piece:
        """`primary: FIELD? (WORD | URL)`."""
        span, word = span_of(children[0], children[-1]), children[-1]
        return _Piece(ast.Term(read(word, span_of(word).start), _field(children), span), span)

    def phrase(self, children: Sequence[Token]) -> _Piece:
        """`primary: FIELD? PHRASE`."""
        span, quoted = span_of(children[0], children[-1]), children[-1]
        start, inside = span_of(quoted).start + 1, quoted[1:-1]
        if wildcard := _WILDCARD_IN_PHRASE.match(inside):
            raise unsupported(WILDCARDS, Span(start + wildcard.start(1), start + wildcard.end(1)))
        return _Piece(ast.Phrase(read(inside, start), _field(children), span), span)

    def everything(self, children: Sequence[Token]) -> _Piece:
        """`primary: EVERYTHING`."""
        span = span_of(children[0])
        return _Piece(ast.Everything(span), span)

    def fingerprint(self, children: Sequence[Token]) -> _Piece:
        """`primary: FINGERPRINT`."""
        span = span_of(children[0])
        return _Piece(read_fingerprint(children[0], span.start), span)


def _field(children: Sequence[Token]) -> str | None:
    """Return the name in front of a term or phrase, without its @ and its colon."""
    if len(children) == 1:
        return None
    token, span = children[0], span_of(children[0])
    typed = token[:-1].removeprefix("@")
    name = read(typed, span.end - 1 - len(typed))
    if name.lower() == PREFIX[:-1].lower():
        hint = f"FINGERPRINT is written in capitals: {PREFIX}{shorten(children[1])}"
        raise Mistake(f"{typed} is not a field", Span(span.start, span.end - 1), hint)
    return name
