"""Builds the syntax tree from Lark's parse result, and expands query templates.

A template is a query with a name, and the name can be used like a field. For example, `{"name": "%(cm:name cm:title)"}`
makes `name:word` search two fields. The tree of a template has `Template` nodes as placeholders for the searched words.
Templates inside a template are expanded in advance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from graphlib import CycleError, TopologicalSorter
from itertools import chain, pairwise
from typing import Any, NamedTuple

from lark import Token, Tree

from whorl.errors import ParameterError, Span, UnsupportedQueryError
from whorl.query import ast
from whorl.query.ast import ParseOptions, Pattern, as_typed
from whorl.query.literals import (
    DEFAULT_SLOP,
    PREFIX,
    Typed,
    read_fingerprint,
    read_quoted_fingerprint,
    split_at_underscores,
)
from whorl.query.messages import (
    FIELDS,
    Mistake,
    form_error,
    missing_space_error,
    missing_value_error,
    proximity_error,
    shorten,
    span_of,
    too_many_clauses_error,
)

FINGERPRINT = PREFIX[:-1]
EVERYTHING = (ast.WildcardCharacter.ANY,)


class Language(NamedTuple):
    """A grammar, functions that read the values of its tokens, and functions that return the errors to raise.

    `field`, `boost`, `similarity` and `slop` get the text of a token and its position in the query.
    """

    grammar: str
    word: Callable[[Token], Pattern]
    bound: Callable[[Token], str | None]
    field: Callable[[str, int], str]
    boost: Callable[[str, int], Decimal]
    similarity: Callable[[str, int], Decimal]
    slop: Callable[[str, int], int]
    bad_character_error: Callable[[str, int, Sequence[Token]], Mistake]
    misplaced_token_error: Callable[[str, Token, Sequence[Token]], Mistake]
    unfinished_query_error: Callable[[str, Sequence[Token]], Mistake]


class Piece(NamedTuple):
    """A node of the unfinished tree.

    `span` includes parentheses and the sign; `sign` is the type of the sign's token (PLUS, MINUS or BAR), or "".
    """

    node: ast.Node
    span: Span
    sign: str = ""


def _remove_sign(piece: Piece) -> Piece:
    """Replace the sign of a piece by an operator: -a becomes NOT a; +a and |a become a."""
    if piece.sign == "MINUS":
        return Piece(ast.Not(piece.node, piece.span), piece.span)
    return Piece(piece.node, piece.span)


def _join_operands(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Join operands with AND. Each operand is required unless a | makes it optional."""
    if len(pieces) == 1:
        return pieces
    span = Span(pieces[0].span.start, pieces[-1].span.end)
    if all(piece.sign == "BAR" for piece in pieces):
        return [Piece(ast.Or(tuple(piece.node for piece in pieces), span), span)]
    if any(piece.sign == "BAR" for piece in pieces):
        return [Piece(_make_clauses([_make_clause(piece) for piece in pieces], span), span)]
    members = [_remove_sign(piece) for piece in pieces]
    return [Piece(ast.And(tuple(piece.node for piece in members), span), span)]


def _make_clause(piece: Piece) -> ast.Clause:
    if not piece.sign and isinstance(piece.node, ast.Not):
        return ast.Clause(ast.Occur.MUST_NOT, piece.node.child)
    return ast.Clause(_OCCURS[piece.sign or "PLUS"], piece.node)


def _make_clauses(clauses: Sequence[ast.Clause], span: Span) -> ast.Clauses:
    """Return one node for several clauses. If none is required, add a clause that matches all documents.

    So a clause with | stays optional. Source: Alfresco's LuceneConjunction.addComponent.
    """
    is_required = any(clause.occur is ast.Occur.MUST for clause in clauses)
    everything = () if is_required else (ast.Clause(ast.Occur.MUST, ast.Everything(span)),)
    return ast.Clauses((*everything, *clauses), span)


_OCCURS = {"PLUS": ast.Occur.MUST, "MINUS": ast.Occur.MUST_NOT, "BAR": ast.Occur.SHOULD, "": ast.Occur.SHOULD}


class Builder:
    """Builds the tree of one query; each public method except `build` builds the node of the grammar rule of its name.

    The docstrings quote the rules of `afts.lark`, slightly simplified.
    """

    def __init__(self, query: str, options: ParseOptions, language: Language) -> None:
        self._query, self._options, self._language = query, options, language
        # Field of each open parenthesis, as in `cm:name:(a b)`, the innermost last; None if it has no field.
        self._fields: list[str | None] = []
        self._leaves = 0

    def build(self, tree: Tree[Any]) -> ast.Node:
        """Return the syntax tree of a parse tree, without recursion."""
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

    def disjunction(self, *sequences: Sequence[Piece]) -> Piece:
        """Join alternatives with OR: `disjunction: OR? sequence (OR sequence)*`."""
        members = [piece for sequence in sequences for piece in sequence]
        if len(members) == 1:
            return members[0]
        span = Span(members[0].span.start, members[-1].span.end)
        return Piece(ast.Or(tuple(piece.node for piece in members), span), span)

    def sequence(self, *conjunctions: Sequence[Piece]) -> Sequence[Piece]:
        """Return the operands of an OR, or one group of clauses with signs: `sequence: AND? conjunction+`."""
        pieces = [piece for conjunction in conjunctions for piece in conjunction]
        if self._operator() is ast.Operator.AND:
            return [_remove_sign(piece) for piece in _join_operands(pieces)]
        if len(pieces) == 1 or self._options.strict:
            return [_remove_sign(piece) for piece in pieces]
        if all(_OCCURS[piece.sign] is ast.Occur.SHOULD for piece in pieces):
            return pieces
        span = Span(pieces[0].span.start, pieces[-1].span.end)
        clauses = tuple(ast.Clause(_OCCURS[piece.sign], piece.node) for piece in pieces)
        is_optional = any(piece.sign == "BAR" for piece in pieces) and all(piece.sign for piece in pieces)
        return [Piece(_make_clauses(clauses, span) if is_optional else ast.Clauses(clauses, span), span)]

    def conjunction(self, *operands: Piece) -> Sequence[Piece]:
        """Join the operands of `operand (AND operand)*` with AND. If AND is the default, `sequence` joins them."""
        return operands if self._operator() is ast.Operator.AND else _join_operands(operands)

    def _operator(self) -> ast.Operator:
        in_field = bool(self._fields) and self._fields[-1] is not None
        return self._options.field_operator if in_field else self._options.default_operator

    def signed(self, sign: Token, piece: Piece) -> Piece:
        """Give an operand its sign: `operand: ("+" | "-" | "|") negation`."""
        return Piece(piece.node, Span(span_of(sign).start, piece.span.end), sign.type)

    def negated(self, operator: Token, piece: Piece) -> Piece:
        """Build a negation: `negation: NOT negation`."""
        span = Span(span_of(operator).start, piece.span.end)
        return Piece(ast.Not(piece.node, span), span)

    def boost(self, piece: Piece, factor: Token) -> Piece:
        """Build a boosted clause: `boosted: primary BOOST`."""
        place = span_of(factor)
        span = Span(piece.span.start, place.end)
        return Piece(ast.Boost(piece.node, self._language.boost(factor, place.start), span), span)

    def open(self, *tokens: Token) -> Token:
        """Begin a group: `open: field? "("`. The field of a group applies to all members of the group."""
        self._fields.append(self._lead(tokens)[1])
        return tokens[0]

    def group(self, opening: Token, piece: Piece, closing: Token) -> Piece:
        """Build a group: `primary: open disjunction ")"`.

        The span of the piece, not of its node, includes the parentheses.
        """
        self._fields.pop()
        return Piece(piece.node, span_of(opening, closing))

    def term(self, *tokens: Token) -> Piece:
        """Build a word (one or more tokens), a pattern or a fuzzy word: `primary: FORM? field? word SIMILARITY?`."""
        form, field, words = self._lead(tokens)
        behind = words[-1] if words[-1].type == "SIMILARITY" else None
        words = words if behind is None else words[:-1]
        if field == FINGERPRINT:
            return self._fingerprint(tokens, words, [] if behind is None else [behind])
        span = span_of(tokens[0], tokens[-1])
        pattern = ast.join_pieces(chain.from_iterable(map(self._language.word, words)))
        similarity = None if behind is None else self._language.similarity(behind[1:], span_of(behind).start + 1)
        if any(isinstance(piece, ast.WildcardCharacter) for piece in pattern):
            if pattern == EVERYTHING and similarity is None and field is None and form is ast.Form.DEFAULT:
                return self._leaf(ast.Everything(span))
            return self._wildcard(ast.Wildcard(pattern, field, form, fuzziness=similarity, span=span), behind)
        text = as_typed(pattern)
        if similarity is not None:
            return self._leaf(ast.Fuzzy(text, similarity, field, span))
        return self._leaf(ast.Term(text, field, form, span))

    def phrase(self, *tokens: Token) -> Piece:
        """Build a quoted phrase: `primary: FORM? field? PHRASE (SLOP | OVERLAP PROBABILITY?)?`."""
        form, field, (words, *more) = self._lead(tokens)
        behind = more[0] if more else None
        if field == FINGERPRINT:
            return self._fingerprint(tokens, [words], more)
        if behind is not None and behind.type == "OVERLAP":
            place = span_of(behind, more[-1])
            raise missing_space_error(self._text(place), place)
        span = span_of(tokens[0], tokens[-1])
        pattern = self._language.word(words)
        slop = None if behind is None else self._language.slop(behind[1:], span_of(behind).start + 1)
        if any(isinstance(piece, ast.WildcardCharacter) for piece in pattern):
            fuzziness = None if slop is None else Decimal(slop)
            return self._wildcard(ast.Wildcard(pattern, field, form, True, fuzziness, span), behind)
        return self._leaf(ast.Phrase(as_typed(pattern), field, form, slop, span))

    def _wildcard(self, node: ast.Wildcard, behind: Token | None) -> Piece:
        if behind is not None and not self._options.strict:
            message = f"{shorten(behind)} after a word with wildcards is not supported"
            raise Mistake(message, span_of(behind), "Leave out one of the two.", UnsupportedQueryError)
        return self._leaf(node)

    def range(self, *tokens: Token) -> Piece:
        """Build a range: `primary: FORM? field? ("[" BOUND TO BOUND "]" | end ".." end)`."""
        _, field, parts = self._lead(tokens, is_bare=True)
        first, _, last = parts if len(parts) == 3 else parts[1:-1]
        low, high = self._bound(first, parts[0] not in ("<", "{")), self._bound(last, parts[-1] not in (">", "}"))
        return self._leaf(ast.Range(low, high, field, span_of(tokens[0], tokens[-1])))

    def _bound(self, token: Token, is_inclusive: bool) -> ast.Bound | None:
        text = self._language.bound(token)
        return None if text is None else ast.Bound(text, is_inclusive)

    def proximity(self, *tokens: Token) -> Piece:
        """Build a proximity search: `primary: FORM? field? end (NEAR field? end)+`."""
        _, field, parts = self._lead(tokens, is_bare=True)
        for first, second in pairwise(parts):
            if {first.type, second.type} & {"PHRASE", *FIELDS}:
                raise proximity_error(first if first.type == "NEAR" else second)
        words, stars = parts[::2], parts[1::2]
        patterns = [self._language.word(word) for word in words]
        slops = [self._distance(star) for star in stars]
        if self._options.strict:
            # In a chain such as `a * b * c`, Alfresco ignores all words after the second.
            patterns, slops = patterns[:2], slops[:1]
        else:
            _check_proximity(words, patterns, stars, slops)
        span = span_of(tokens[0], tokens[-1])
        return self._leaf(ast.Proximity(tuple(map(as_typed, patterns)), slops[0], field, span))

    def _distance(self, star: Token) -> int:
        digits = re.search(r"\d+", star)
        return self._language.slop(digits[0], span_of(star).start + digits.start()) if digits else DEFAULT_SLOP

    def everything(self, token: Token) -> Piece:
        """Build the clause for all documents: `primary: "*:*"`."""
        return self._leaf(ast.Everything(span_of(token)))

    def fingerprint(self, *tokens: Token) -> Piece:
        """Build a fingerprint search: `primary: FORM? FINGERPRINT (ID | PHRASE) (OVERLAP PROBABILITY?)?`."""
        at = [token.type for token in tokens].index("FINGERPRINT")
        reference, *numbers = tokens[at + 1 :]
        self._check_not_nested(tokens[at], tokens[-1])
        return self._fingerprint(tokens, [reference], numbers)

    def _fingerprint(self, tokens: Sequence[Token], words: Sequence[Token], following: Sequence[Token]) -> Piece:
        """Build a FINGERPRINT clause, also from an ordinary term: `@FINGERPRINT:id`, or an id in a group.

        `words` are the tokens of the id, and `following` the tokens of overlap and probability, or empty. Raise an
        error for a similarity or a slop.
        """
        if following and following[0].type != "OVERLAP":
            raise self._no_id(following)
        # An overlap token begins with an underscore, so its first part is empty.
        numbers = [part for token in following for part in split_at_underscores(Typed(token, span_of(token).start))[1:]]
        place, typed = span_of(words[0], words[-1]), self._text(span_of(words[0], tokens[-1]))
        if words[0].type != "PHRASE":
            reference = split_at_underscores(Typed(self._text(place), place.start))
            node = read_fingerprint([*reference, *numbers], typed)
        else:
            quoted = Typed(words[0][1:-1], place.start + 1)
            node = read_fingerprint([quoted, *numbers], "") if numbers else read_quoted_fingerprint(quoted, typed)
        return self._leaf(replace(node, span=span_of(tokens[0], tokens[-1])))

    def _no_id(self, tokens: Sequence[Token]) -> Mistake:
        span = span_of(tokens[0], tokens[-1])
        message = f"FINGERPRINT takes the id of a document, got {shorten(self._text(span))}"
        return Mistake(message, span, f"As in {PREFIX}1234_20_80")

    def template(self, *tokens: Token) -> Piece:
        """Build a placeholder of a template: `primary: "%" REFERENCE | "%(" (REFERENCE ","?)* ")"`."""
        span = span_of(tokens[0], tokens[-1])
        names = tuple(
            self._language.field(token, span_of(token).start) for token in tokens if token.type == "REFERENCE"
        )
        self._check_not_nested(tokens[0], tokens[-1])
        if not names:
            raise Mistake("a template needs a field", span, "As in %(cm:name cm:title)")
        if not (self._options.is_template or self._options.strict):
            hint = r"A template's text is given beside the query; the character itself is \%."
            raise Mistake(f"{shorten(self._text(span))} has a meaning in templates only", span, hint)
        return Piece(ast.Template(names, span), span)

    def _lead(self, tokens: Sequence[Token], *, is_bare: bool = False) -> tuple[ast.Form, str | None, Sequence[Token]]:
        """Split a leaf such as `=cm:name:word` into its form, its field and the other tokens.

        If `is_bare`, raise an error for a form and for the field FINGERPRINT.
        """
        field = self._fields[-1] if self._fields else None
        at = int(tokens[0].type in ("FORM", "TILDE"))
        # Alfresco ignores a ~ before a word, unless the word is in the group of a field.
        is_meant = at and (tokens[0].type == "FORM" or field is not None)
        form = ast.Form(tokens[0]) if is_meant else ast.Form.DEFAULT
        if tokens[at].type in FIELDS:
            field = self._field(tokens[at], tokens[-1])
            at += 1
        if is_bare and form is not ast.Form.DEFAULT:
            span = span_of(tokens[at], tokens[-1])
            raise form_error(tokens[0], span) if at == 1 else missing_value_error(tokens[1], span)
        if is_bare and field == FINGERPRINT:
            raise self._no_id(tokens[at:])
        return form, field, tokens[at:]

    def _field(self, token: Token, last: Token) -> str:
        self._check_not_nested(token)
        span = span_of(token)
        name = self._language.field(token, span.start)
        if name != FINGERPRINT and name.lower() == FINGERPRINT.lower():
            typed = token.rstrip(": \t\n")
            place = Span(span.start, span.start + len(typed))
            hint = f"FINGERPRINT is written in capitals: {PREFIX}{shorten(last)}"
            raise Mistake(f"{typed} is not a field", place, hint)
        return name

    def _check_not_nested(self, first: Token, last: Token | None = None) -> None:
        if self._fields and self._fields[-1] is not None:
            span = span_of(first, last)
            message = f"{shorten(self._text(span))} is in the group of another field"
            raise Mistake(message, span, "Close the group before it.")

    def _text(self, span: Span) -> str:
        return self._query[span.start : span.end]

    def _leaf(self, node: ast.Leaf) -> Piece:
        """Build a leaf. If its field is the name of a template, insert the leaf into the template."""
        options, template = self._options, None
        if not isinstance(node, ast.Everything | ast.Fingerprint | ast.Template):
            template = options.default_template if node.field is None else options.templates.get(node.field.lower())
        whole = node if template is None else fill_template(template, node)
        self._leaves += _count_leaves(whole)
        if self._leaves > options.limits.clauses:
            raise too_many_clauses_error(node.span, options.limits.clauses)
        return Piece(whole, node.span)


def _count_leaves(tree: ast.Node) -> int:
    return sum(not ast.children(node) for node in ast.walk(tree))


def _check_proximity(
    words: Sequence[Token], patterns: Sequence[Pattern], stars: Sequence[Token], slops: Sequence[int]
) -> None:
    for word, pattern in zip(words, patterns, strict=True):
        if any(isinstance(piece, ast.WildcardCharacter) for piece in pattern):
            message = "wildcards in a proximity search are not supported"
            raise Mistake(message, span_of(word), "Write the whole words.", UnsupportedQueryError)
    for star, slop in zip(stars, slops, strict=True):
        if slop != slops[0]:
            message = "different distances in one proximity search are not supported"
            raise Mistake(message, span_of(star), f"Write *({slops[0]}) each time.", UnsupportedQueryError)


def expand_templates(trees: Mapping[str, ast.Node], largest: int) -> dict[str, ast.Node]:
    """Replace references between templates by the templates' trees; `trees` is keyed by names in lower case.

    Raise ParameterError if a template refers to itself, or has more than `largest` leaves or too many levels.
    """
    used: dict[str, list[str]] = {}
    for name, tree in trees.items():
        fields = [part.lower() for node in ast.walk(tree) if isinstance(node, ast.Template) for part in node.fields]
        used[name] = [part for part in fields if part in trees]
    try:
        order = list(TopologicalSorter(used).static_order())
    except CycleError as error:
        circle = " -> ".join(error.args[1][::-1])
        raise ParameterError(f"templates refer to each other in a circle: {circle}") from None
    done: dict[str, ast.Node] = {}
    for name in order:
        done[name] = _insert_templates(name, trees[name], done, largest)
    return done


def _insert_templates(name: str, tree: ast.Node, done: Mapping[str, ast.Node], largest: int) -> ast.Node:
    def fill(slot: ast.Template) -> ast.Node:
        return _join_alternatives([done.get(used.lower(), replace(slot, fields=(used,))) for used in slot.fields], slot)

    # The inserted templates are already expanded and within the limits, so the result cannot become huge.
    whole = _map_leaves(tree, lambda leaf: fill(leaf) if isinstance(leaf, ast.Template) else leaf)
    leaves = _count_leaves(whole)
    if leaves > largest or ast.depth(whole) > ast.MAX_DEPTH:
        raise ParameterError(f"template {name!r:.80} has {leaves:,} parts, more than a query can have")
    return whole


def fill_template(template: ast.Node, leaf: ast.Leaf) -> ast.Node:
    """Replace the placeholders of a template by a clause. All nodes of the result get the position of the clause."""
    assert not isinstance(leaf, ast.Everything | ast.Fingerprint | ast.Template)

    def fill(part: ast.Node) -> ast.Node:
        if isinstance(part, ast.Template):
            return _join_alternatives([replace(leaf, field=name) for name in part.fields], leaf)
        return replace(part, span=leaf.span)

    return _map_leaves(template, fill, leaf)


def _join_alternatives(members: list[ast.Node], at: ast.Node) -> ast.Node:
    return members[0] if len(members) == 1 else ast.Or(tuple(members), at.span)


def _map_leaves(node: ast.Node, change: Callable[[ast.Node], ast.Node], at: ast.Node | None = None) -> ast.Node:
    """Apply a function to the leaves of a tree. If `at` is given, all nodes get its position."""
    span = node.span if at is None else at.span
    match node:
        case ast.And(children=members) | ast.Or(children=members):
            return replace(node, children=tuple(_map_leaves(member, change, at) for member in members), span=span)
        case ast.Clauses(clauses=clauses):
            mapped = tuple(ast.Clause(clause.occur, _map_leaves(clause.child, change, at)) for clause in clauses)
            return replace(node, clauses=mapped, span=span)
        case ast.Not(child=child) | ast.Boost(child=child):
            return replace(node, child=_map_leaves(child, change, at), span=span)
        case _:
            return change(node)
