"""What holds for every tree and every text: the round trip, precedence, spans, and errors that stay in place."""

from __future__ import annotations

import re
from decimal import Decimal
from importlib import resources

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Lark

from strategies import answer, factors, fractions, leaves, near_queries, nodes, texts, words
from whorl.errors import ParameterError, QueryError
from whorl.query import ast
from whorl.query.parser import parse, unparse

thorough = settings(max_examples=3000, deadline=None)
often = settings(max_examples=1000, deadline=None)


@thorough
@given(nodes)
def test_what_is_written_is_read_as_the_same_tree(node: ast.Node) -> None:
    text = unparse(node)
    again = parse(text)
    assert again == node
    assert unparse(again) == text


@often
@given(words(), texts(), words())
def test_any_text_can_be_searched_for(word: str, phrase: str, reference: str) -> None:
    tree = ast.Or((ast.Term(word), ast.Phrase(phrase), ast.Fingerprint(reference)))
    assert parse(unparse(tree)) == tree


@often
@given(fractions(), factors)
def test_numbers_are_exact_and_plain(overlap: Decimal, factor: Decimal) -> None:
    tree = ast.Boost(ast.Fingerprint("x", overlap), factor)
    text = unparse(tree)
    assert "E" not in text.removeprefix("FINGERPRINT:x")
    assert parse(text) == tree


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


@often
@given(leaves, leaves, leaves)
def test_a_sequence_binds_between_and_and_or(a: ast.Node, b: ast.Node, c: ast.Node) -> None:
    x, y, z = map(unparse, (a, b, c))
    without_b = ast.Clauses((ast.Clause(ast.Occur.SHOULD, a), ast.Clause(ast.Occur.MUST_NOT, b)))
    assert parse(f"{x} {y} AND {z}") == ast.Or((a, ast.And((b, c))))
    assert parse(f"{x} -{y} OR {z}") == ast.Or((without_b, c))
    assert parse(f"{x} AND -{y} OR {z}") == ast.Or((ast.And((a, ast.Not(b))), c))


@settings(max_examples=300, deadline=None)
@given(nodes)
def test_a_span_covers_what_was_typed_for_its_node(node: ast.Node) -> None:
    text = unparse(node)
    for part in ast.walk(parse(text)):
        assert parse(text[part.span.start : part.span.end]) == part


@thorough
@given(near_queries)
def test_any_text_is_read_or_refused_with_a_place_in_it(text: str) -> None:
    got = answer(text)
    assert isinstance(got, QueryError) or parse(unparse(got)) == got


@often
@given(st.text())
def test_arbitrary_unicode_is_read_or_refused(text: str) -> None:
    got = answer(text)
    assert isinstance(got, QueryError) or parse(unparse(got)) == got


def _grammar() -> Lark:
    grammar = resources.files("whorl.query").joinpath("afts.lark").read_text(encoding="utf-8")
    return Lark(grammar, start="query", parser="lalr", lexer="contextual", strict=True)


def test_the_grammar_has_no_conflicts() -> None:
    """
    Neither two rules nor two terminals of the same priority claim the same text, as far as interegular can see.
    """
    _grammar()


TERMINALS = [(terminal.priority, re.compile(terminal.pattern.to_regexp())) for terminal in _grammar().terminals]


@often
@given(near_queries)
def test_no_two_terminals_of_one_priority_match_at_one_place(text: str) -> None:
    """
    Interegular leaves out what looks ahead, WORD among it.
    """
    for at in range(len(text)):
        matching = [priority for priority, pattern in TERMINALS if pattern.match(text, at)]
        assert len(matching) == len(set(matching))


A = ast.Term("a")


@pytest.mark.parametrize(
    "tree",
    [
        ast.Term("//x", "http"),
        ast.Term("x", "FINGERPRINT:1"),
        ast.Term("AND", "type"),
        ast.Or((A, ast.Everything(), A)),
        ast.Boost(ast.Boost(A, Decimal(2)), Decimal(3)),
        ast.Or((ast.Or((A, A)), A)),
    ],
)
def test_a_tree_that_could_be_misread_is_not(tree: ast.Node) -> None:
    assert parse(unparse(tree)) == tree


@pytest.mark.parametrize(
    "tree",
    [
        ast.Term(""),
        ast.Term("\ud800"),
        ast.Phrase("\udfff"),
        ast.Term("a", ""),
        ast.Term("a", "FINGERPRINT"),
        ast.Phrase("a", "fingerprint"),
        ast.Fingerprint(""),
        ast.Fingerprint("a", None, Decimal("0.5")),
        ast.Fingerprint("a", Decimal(0)),
        ast.Fingerprint("a", Decimal("1.01")),
        ast.Fingerprint("a", Decimal("NaN")),
        ast.Fingerprint("a", Decimal(1) / 3),
        ast.Boost(A, Decimal(0)),
        ast.Boost(A, Decimal("1000.1")),
        ast.Boost(A, Decimal("1E-30")),
        ast.And((A,)),
        ast.Or(()),
        ast.Clauses((ast.Clause(ast.Occur.MUST, A),)),
        ast.Clauses((ast.Clause(ast.Occur.SHOULD, A), ast.Clause(ast.Occur.SHOULD, A))),
    ],
)
def test_a_tree_that_no_query_gives_is_refused(tree: ast.Node) -> None:
    with pytest.raises(ParameterError):
        unparse(tree)


def test_a_tree_too_deep_to_be_read_is_refused() -> None:
    tree: ast.Node = A
    for _ in range(ast.MAX_DEPTH):
        tree = ast.Not(tree)
    assert parse(unparse(tree)) == tree
    with pytest.raises(ParameterError, match="at most 100 levels"):
        unparse(ast.Not(tree))
