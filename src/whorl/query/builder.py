"""The meaning of each rule of the grammar: pieces of the syntax tree, from the leaves up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lark import Tree

from whorl.errors import Span, UnsupportedQueryError
from whorl.query import ast
from whorl.query.fingerprint import PREFIX
from whorl.query.leaves import read_leaf
from whorl.query.lexeme import SIGNS, Lexeme
from whorl.query.limits import QueryLimits
from whorl.query.mistakes import Mistake, shorten
from whorl.query.templates import Slot, filled


@dataclass(frozen=True, slots=True)
class Reading:
    """How a query is to be read: the arguments of `parse`, templates as trees; `is_template` lets %field stand."""

    operator: ast.Operator = ast.Operator.OR
    field_operator: ast.Operator = ast.Operator.OR
    is_strict: bool = False
    templates: Mapping[str, ast.Node] = field(default_factory=dict)
    is_template: bool = False
    limits: QueryLimits = field(default_factory=QueryLimits)


@dataclass(frozen=True, slots=True)
class Piece:
    """A node under construction: where it was typed, parentheses and sign included, the levels below it, its sign."""

    node: ast.Node
    span: Span
    depth: int = 0
    sign: str = ""


def too_deep(span: Span, most: int) -> Mistake:
    """Return the mistake of nesting too much."""
    message = f"a query can be at most {most} levels deep"
    return Mistake(message, span, "Remove parentheses that change nothing.", UnsupportedQueryError)


def too_many(span: Span, most: int) -> Mistake:
    """Return the mistake of asking for too much at once."""
    message = f"a query can have at most {most:,} words, phrases and fingerprints"
    return Mistake(message, span, "", UnsupportedQueryError)


def _over(node: ast.Node, span: Span, *below: Piece) -> Piece:
    depth = 1 + max(piece.depth for piece in below)
    if depth > ast.MAX_DEPTH:
        raise too_deep(span, ast.MAX_DEPTH)
    return Piece(node, span, depth)


def _plain(piece: Piece) -> Piece:
    """Return an operand that stands where + and - are no clauses: -a is NOT a, and +a is a."""
    if piece.sign == "MINUS":
        return _over(ast.Not(piece.node, piece.span), piece.span, piece)
    return Piece(piece.node, piece.span, piece.depth)


def _all(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Return the one piece that asks for all of them; one with | need not match."""
    if len(pieces) == 1:
        return pieces
    span = Span(pieces[0].span.start, pieces[-1].span.end)
    if all(piece.sign == "BAR" for piece in pieces):
        return [_over(ast.Or(tuple(piece.node for piece in pieces), span), span, *pieces)]
    if any(piece.sign == "BAR" for piece in pieces):
        return [_over(ast.Clauses(tuple(_member(piece) for piece in pieces), span), span, *pieces)]
    members = [_plain(piece) for piece in pieces]
    return [_over(ast.And(tuple(piece.node for piece in members), span), span, *members)]


def _member(piece: Piece) -> ast.Clause:
    match piece:
        case Piece(sign="BAR"):
            return ast.Clause(ast.Occur.SHOULD, piece.node)
        case Piece(sign="MINUS"):
            return ast.Clause(ast.Occur.MUST_NOT, piece.node)
        case Piece(sign="", node=ast.Not(child=child)):
            return ast.Clause(ast.Occur.MUST_NOT, child)
        case _:
            return ast.Clause(ast.Occur.MUST, piece.node)


_OCCURS = {"PLUS": ast.Occur.MUST, "MINUS": ast.Occur.MUST_NOT, "BAR": ast.Occur.SHOULD, "": ast.Occur.SHOULD}


class Builder:
    """Builds the tree of one query; each method has the name of its rule."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        # The field of each group that is open, None where it has none.
        self._fields: list[str | None] = []
        self._leaves = 0

    def build(self, tree: Tree[Any]) -> ast.Node:
        """Return the syntax tree of a parse tree; nothing recurses."""
        waiting: list[Any] = [tree]
        order: list[Any] = []
        while waiting:
            part = waiting.pop()
            order.append(part)
            if isinstance(part, Tree):
                waiting += part.children
        built: list[Any] = []
        for part in reversed(order):
            if isinstance(part, Tree):
                at = len(built) - len(part.children)
                rule: Callable[..., object] = getattr(self, part.data)
                built[at:] = [rule(*built[at:])]
            else:
                built.append(part)
        node: ast.Node = built[0].node
        return node

    def query(self, whole: Piece) -> Piece:
        """`query: disjunction`."""
        return whole

    def disjunction(self, *sequences: Sequence[Piece]) -> Piece:
        """`disjunction: sequence (OR sequence)*`."""
        members = [piece for sequence in sequences for piece in sequence]
        if len(members) == 1:
            return members[0]
        span = Span(members[0].span.start, members[-1].span.end)
        return _over(ast.Or(tuple(piece.node for piece in members), span), span, *members)

    def sequence(self, *conjunctions: Sequence[Piece]) -> Sequence[Piece]:
        """`sequence: conjunction+`; the alternatives of an OR, or one group with + and -."""
        pieces = [piece for conjunction in conjunctions for piece in conjunction]
        if self._operator() is ast.Operator.AND:
            return [_plain(piece) for piece in _all(pieces)]
        if len(pieces) == 1 or self._reading.is_strict:
            return [_plain(piece) for piece in pieces]
        if all(_OCCURS[piece.sign] is ast.Occur.SHOULD for piece in pieces):
            return pieces
        span = Span(pieces[0].span.start, pieces[-1].span.end)
        clauses = tuple(ast.Clause(_OCCURS[piece.sign], piece.node) for piece in pieces)
        return [_over(ast.Clauses(clauses, span), span, *pieces)]

    def conjunction(self, *operands: Piece) -> Sequence[Piece]:
        """`conjunction: operand (AND operand)*`; where AND is understood, the whole sequence is one."""
        return operands if self._operator() is ast.Operator.AND else _all(operands)

    def _operator(self) -> ast.Operator:
        in_field = bool(self._fields) and self._fields[-1] is not None
        return self._reading.field_operator if in_field else self._reading.operator

    def signed(self, sign: Lexeme, piece: Piece) -> Piece:
        """`operand: ("+" | "-" | "|") negation`."""
        assert sign.type in SIGNS
        return Piece(piece.node, Span(sign.span.start, piece.span.end), piece.depth, sign.type)

    def negated(self, operator: Lexeme, piece: Piece) -> Piece:
        """`negation: NOT negation`."""
        span = Span(operator.span.start, piece.span.end)
        return _over(ast.Not(piece.node, span), span, piece)

    def boost(self, piece: Piece, factor: Lexeme) -> Piece:
        """`boosted: primary BOOST`."""
        span = Span(piece.span.start, factor.span.end)
        return _over(ast.Boost(piece.node, factor.number, span), span, piece)

    def open(self, *parts: Lexeme) -> Lexeme:
        """`open: FIELD? "("`; the field of a group is that of all its members."""
        name = _field(parts)
        if name is not None:
            self._check_not_nested(parts[0])
        elif self._fields:
            name = self._fields[-1]
        self._fields.append(name)
        return parts[0]

    def group(self, opening: Lexeme, piece: Piece, closing: Lexeme) -> Piece:
        """`primary: open disjunction ")"`; the node's own span leaves the parentheses out."""
        self._fields.pop()
        return Piece(piece.node, Span(opening.span.start, closing.span.end), piece.depth)

    def leaf(self, *parts: Lexeme) -> Piece:
        """`primary: FORM? FIELD? (WORD | PHRASE) FUZZY?` and the other leaves."""
        span = Span(parts[0].span.start, parts[-1].span.end)
        name = _field(parts)
        in_group = self._fields[-1] if self._fields else None
        for part in parts:
            if part.type in ("FIELD", "FINGERPRINT", "TEMPLATE"):
                self._check_not_nested(part)
        if parts[0].type == "TEMPLATE":
            return self._slot(parts[0])
        node = read_leaf(parts, name or in_group, span)
        return self._expanded(node, span)

    def _check_not_nested(self, part: Lexeme) -> None:
        if self._fields and self._fields[-1] is not None:
            message = f"{shorten(part.text)} stands in the group of another field"
            raise Mistake(message, part.span, "Close the group before it.")

    def _slot(self, template: Lexeme) -> Piece:
        if not self._reading.is_template:
            hint = r"A template's text is given beside the query; the character itself is \%."
            raise Mistake(f"{shorten(template.text)} has a meaning in templates only", template.span, hint)
        return Piece(Slot("%", fields=template.names, span=template.span), template.span)

    def _expanded(self, node: ast.Leaf, span: Span) -> Piece:
        self._leaves += 1
        template = None
        if not isinstance(node, ast.Everything | ast.Fingerprint) and node.field is not None:
            template = self._reading.templates.get(node.field.lower())
        if template is None:
            return Piece(node, span)
        whole = filled(template, node)
        self._leaves += sum(not ast.children(part) for part in ast.walk(whole)) - 1
        most = self._reading.limits.clauses
        if self._leaves > most:
            raise too_many(span, most)
        return Piece(whole, span, ast.depth(whole))


def _field(parts: Sequence[Lexeme]) -> str | None:
    """Return the name of the field before a leaf or a group."""
    for part in parts:
        if part.type == "FIELD":
            if part.name.lower() == PREFIX[:-1].lower() and part.name != PREFIX[:-1]:
                value = parts[-1].text
                typed = part.text.rstrip(": \t\n")
                place = Span(part.span.start, part.span.start + len(typed))
                hint = f"FINGERPRINT is written in capitals: {PREFIX}{shorten(value)}"
                raise Mistake(f"{typed} is not a field", place, hint)
            return part.name
    return None
