"""What holds for every tree and every text: the round trip, precedence, spans, and errors that stay in place."""

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
from whorl.query import ast, literals
from whorl.query.parser import Operator, parse, unparse

thorough = settings(max_examples=1500, deadline=None)
often = settings(max_examples=500, deadline=None)


@pytest.mark.slow
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
@settings(max_examples=300, deadline=None)
@given(nodes)
def test_a_span_covers_what_was_typed_for_its_node(node: ast.Node) -> None:
    text = unparse(node)
    for part in ast.walk(parse(text)):
        assert parse(text[part.span.start : part.span.end]) == part


@pytest.mark.slow
@thorough
@given(near_queries)
def test_any_text_is_read_or_refused_with_a_place_in_it(text: str) -> None:
    got = answer(text)
    assert isinstance(got, QueryError) or parse(unparse(got)) == got


@pytest.mark.slow
@thorough
@given(near_queries, st.booleans(), operators, operators)
def test_every_reading_gives_a_tree_that_can_be_written(
    text: str, strict: bool, operator: Operator, inside: Operator
) -> None:
    """
    Alfresco reads numbers that no tree of ours is written with (^-2): that is said, and nothing else goes wrong.
    """
    got = answer(text, strict=strict, operator=operator, inside=inside)
    if isinstance(got, QueryError):
        return
    try:
        written = unparse(got)
    except ParameterError:
        assert strict
    else:
        assert parse(written) == got


@often
@given(st.text(), st.booleans())
def test_arbitrary_unicode_is_read_or_refused(text: str, strict: bool) -> None:
    got = answer(text, strict=strict)
    assert isinstance(got, QueryError) or parse(unparse(got)) == got


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


@often
@given(words(), words(), operators)
def test_a_group_behind_a_field_gives_its_field_to_each_member(a: str, b: str, operator: Operator) -> None:
    x, y = unparse(ast.Term(a)), unparse(ast.Term(b))
    joined = ast.Or if operator is Operator.OR else ast.And
    assert parse(f"f:({x} {y})", field_operator=operator) == joined((ast.Term(a, "f"), ast.Term(b, "f")))
    assert parse(f"f:(={x} (NOT {y}^2))", field_operator=operator) == joined(
        (ast.Term(a, "f", ast.Form.EXACT), ast.Not(ast.Boost(ast.Term(b, "f"), Decimal(2))))
    )


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
    Lark's strict mode raises where it would otherwise choose.
    """
    grammar = resources.files("whorl.query").joinpath("afts.lark").read_text(encoding="utf-8")
    Lark(grammar, start="query", parser="lalr", lexer=_NoLexer, strict=True)


@pytest.mark.parametrize("name", literals.QUALIFIED)
def test_the_writer_knows_the_fields_whose_values_are_qualified_names(name: str) -> None:
    """
    The grammar has them, too.
    """
    assert parse(f"{name}:cm:x") == ast.Term("cm:x", name)
    assert parse(unparse(ast.Term("x", f"{name}:cm"))) == ast.Term("x", f"{name}:cm")


A = ast.Term("a")


def must_and_may(node: ast.Node) -> ast.Clauses:
    return ast.Clauses((ast.Clause(ast.Occur.MUST, A), ast.Clause(ast.Occur.SHOULD, node)))


@pytest.mark.parametrize(
    "tree",
    [
        ast.Term("//x", "http"),
        ast.Term("x", "FINGERPRINT:1"),
        ast.Term("AND", "type"),
        ast.Or((A, ast.Everything(), A)),
        ast.Boost(ast.Boost(A, Decimal(2)), Decimal(3)),
        ast.Or((ast.Or((A, A)), A)),
        ast.Term("a", "TYPE:cm"),
        ast.Term("cm:content", "TYPE"),
        ast.Term("a", "_x0041_"),
        ast.Term("TO", "[x"),
        ast.Range(ast.Bound("*"), ast.Bound("MAX", is_inclusive=False)),
        ast.Range(ast.Bound(""), None, "f"),
        ast.Wildcard((ast.Joker.ANY,), form=ast.Form.EXACT),
        ast.Wildcard(("a*", ast.Joker.ANY), is_phrase=True),
        ast.Proximity(("or", "*", "a..b"), 100, "f"),
        ast.Clauses(
            (ast.Clause(ast.Occur.MUST, A), ast.Clause(ast.Occur.SHOULD, ast.Term("2", form=ast.Form.TOKENISED)))
        ),
        ast.Clauses((ast.Clause(ast.Occur.MUST, A), ast.Clause(ast.Occur.SHOULD, ast.Wildcard((ast.Joker.ANY,), "f")))),
        ast.Fuzzy("a", Decimal(0)),
        ast.Phrase("", slop=0),
        ast.Term("a", "0A", ast.Form.TOKENISED),
        ast.Or((A, ast.Term("ANd!"))),
        ast.Wildcard(("or'", ast.Joker.ANY)),
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
        ast.Wildcard(("a",)),
        ast.Wildcard(("a", "b", ast.Joker.ANY)),
        ast.Wildcard(("", ast.Joker.ANY)),
        ast.Wildcard((ast.Joker.ANY,)),
        ast.Fuzzy("a", Decimal("-0.1")),
        ast.Fuzzy("a", Decimal(101)),
        ast.Phrase("a", slop=-1),
        ast.Proximity(("a",)),
        ast.Proximity(("a", "")),
        ast.Proximity(("a", "b"), -3),
        ast.Range(ast.Bound("\ud800"), None),
        ast.Boost(A, Decimal(-2)),
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
