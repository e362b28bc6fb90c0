"""Properties of every tree and text: round trip, precedence, spans, and errors with a span within the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from importlib import resources

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Lark, Token
from lark.common import LexerConf
from lark.lexer import Lexer, LexerState

from tests.query.strategies import (
    answer,
    factors,
    fields,
    fractions,
    leaves,
    near_queries,
    nodes,
    operators,
    texts,
    words,
)
from whorl.errors import ParameterError, QueryError
from whorl.query import ast
from whorl.query.ast import Operator
from whorl.query.parser import parse
from whorl.query.unparse import unparse

thorough = settings(max_examples=400, deadline=None)
often = settings(max_examples=200, deadline=None)


@pytest.mark.slow
@thorough
@given(nodes)
def test_written_trees_parse_to_equal_trees(node: ast.Node) -> None:
    text = unparse(node)
    again = parse(text)
    assert again == node
    assert unparse(again) == text
    # A span covers the text of its node.
    for part in ast.walk(again):
        assert parse(text[part.span.start : part.span.end]) == part


@pytest.mark.slow
@often
@given(words(), texts(), words())
def test_any_text_can_be_searched_for(word: str, phrase: str, reference: str) -> None:
    tree = ast.Or((ast.Term(word), ast.Phrase(phrase), ast.Fingerprint(reference)))
    assert parse(unparse(tree)) == tree


@pytest.mark.slow
@often
@given(fractions(), factors)
def test_numbers_are_exact_and_plain(overlap: Decimal, factor: Decimal) -> None:
    tree = ast.Boost(ast.Fingerprint("x", overlap), factor)
    text = unparse(tree)
    assert "E" not in text.removeprefix("FINGERPRINT:x")
    assert parse(text) == tree


@pytest.mark.slow
@often
@given(leaves, leaves, leaves)
def test_not_binds_tighter_than_and_tighter_than_or(a: ast.Node, b: ast.Node, c: ast.Node) -> None:
    x, y, z = map(unparse, (a, b, c))
    assert parse(f"{x} OR {y} AND {z}") == ast.Or((a, ast.And((b, c))))
    assert parse(f"{x} AND {y} OR {z}") == ast.Or((ast.And((a, b)), c))
    assert parse(f"NOT {x} AND {y} OR {z}") == ast.Or((ast.And((ast.Not(a), b)), c))
    assert parse(f"{x} OR NOT {y} AND {z}") == ast.Or((a, ast.And((ast.Not(b), c))))
    assert parse(f"({x} OR {y}) AND {z}") == ast.And((ast.Or((a, b)), c))
    assert parse(f"NOT ({x} AND {y}) OR {z}") == ast.Or((ast.Not(ast.And((a, b))), c))


@pytest.mark.slow
@often
@given(leaves, leaves, leaves)
def test_a_sequence_binds_between_and_and_or(a: ast.Node, b: ast.Node, c: ast.Node) -> None:
    x, y, z = map(unparse, (a, b, c))
    without_b = ast.Clauses((ast.Clause(ast.Occur.SHOULD, a), ast.Clause(ast.Occur.MUST_NOT, b)))
    assert parse(f"{x} {y} AND {z}") == ast.Or((a, ast.And((b, c))))
    assert parse(f"{x} -{y} OR {z}") == ast.Or((without_b, c))
    assert parse(f"{x} AND -{y} OR {z}") == ast.Or((ast.And((a, ast.Not(b))), c))


@pytest.mark.slow
@thorough
@given(near_queries)
def test_any_text_is_read_or_refused_with_a_place_in_it(text: str) -> None:
    got = answer(text)
    assert isinstance(got, QueryError) or parse(unparse(got)) == got


def require_written(got: ast.Node | QueryError, *, strict: bool) -> None:
    """Raise unless a tree is read back unchanged from its text, or cannot be written in strict mode.

    Alfresco reads numbers (^-2) and template fields (%a) that whorl's queries cannot contain.
    """
    if isinstance(got, QueryError):
        return
    try:
        written = unparse(got)
    except ParameterError:
        assert strict
    else:
        assert parse(written) == got


@pytest.mark.slow
@thorough
@given(near_queries, st.booleans(), operators, operators)
def test_every_reading_gives_a_tree_that_can_be_written(
    text: str, strict: bool, operator: Operator, inside: Operator
) -> None:
    require_written(answer(text, strict=strict, operator=operator, inside=inside), strict=strict)


@often
@given(st.text(), st.booleans())
def test_arbitrary_unicode_is_read_or_refused(text: str, strict: bool) -> None:
    require_written(answer(text, strict=strict), strict=strict)


@pytest.mark.slow
@often
@given(words(), fields(), operators)
def test_the_operators_join_words_that_stand_side_by_side(word: str, field: str | None, operator: Operator) -> None:
    one, other = ast.Term(word, field), ast.Term("b")
    joined = ast.Or if operator is Operator.OR else ast.And
    text = f"{unparse(one)} {unparse(other)}"
    assert parse(text, default_operator=operator) == joined((one, other))
    assert parse(f"{text} OR c", default_operator=operator) == (
        ast.Or((one, other, ast.Term("c")))
        if operator is Operator.OR
        else ast.Or((ast.And((one, other)), ast.Term("c")))
    )


@pytest.mark.slow
@often
@given(words(), words(), operators)
def test_a_group_behind_a_field_gives_its_field_to_each_member(a: str, b: str, operator: Operator) -> None:
    x, y = unparse(ast.Term(a)), unparse(ast.Term(b))
    joined = ast.Or if operator is Operator.OR else ast.And
    assert parse(f"f:({x} {y})", field_operator=operator) == joined((ast.Term(a, "f"), ast.Term(b, "f")))
    assert parse(f"f:(={x} (NOT {y}^2))", field_operator=operator) == joined(
        (ast.Term(a, "f", ast.Form.EXACT), ast.Not(ast.Boost(ast.Term(b, "f"), Decimal(2))))
    )


@pytest.mark.slow
@often
@given(leaves)
def test_a_template_is_its_alternatives(leaf: ast.Node) -> None:
    if not isinstance(leaf, ast.Term | ast.Phrase | ast.Wildcard | ast.Fuzzy | ast.Range | ast.Proximity):
        return
    named = replace(leaf, field="keywords")
    fields = [replace(leaf, field=name) for name in ("cm:name", "cm:title")]
    assert parse(unparse(named), templates={"Keywords": "%(cm:name, cm:title)"}) == ast.Or(tuple(fields))


class _NoLexer(Lexer):
    def __init__(self, conf: LexerConf) -> None:
        pass

    def lex(self, lexer_state: LexerState, parser_state: object) -> Iterator[Token]:
        raise NotImplementedError


def test_the_grammar_has_no_conflicts() -> None:
    """
    Lark's strict mode would raise an error on a conflict instead of resolving it.
    """
    grammar = resources.files("whorl.query").joinpath("afts.lark").read_text(encoding="utf-8")
    Lark(grammar, start="query", parser="lalr", lexer=_NoLexer, strict=True)
