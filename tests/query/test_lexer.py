"""The lexer's checks: number of tokens, operands without a space between them, and a leading operator."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.query.strategies import answer, nodes
from whorl.errors import QueryError, QuerySyntaxError, UnsupportedQueryError
from whorl.query import ast
from whorl.query.limits import DEFAULT_CLAUSES, QueryLimits
from whorl.query.parser import Operator, parse, unparse


@pytest.mark.slow
@settings(max_examples=200)
@given(nodes)
def test_leaves_and_levels_are_counted_as_the_tree_has_them(tree: ast.Node) -> None:
    """
    A query at the limits is read; one leaf or level more is refused.
    """
    query = unparse(tree)
    leaves = sum(not ast.children(node) for node in ast.walk(tree))
    levels = ast.depth(tree)
    assert parse(query, limits=QueryLimits(clauses=leaves, depth=levels)) == tree
    with pytest.raises(UnsupportedQueryError, match=f"at most {leaves - 1} words"):
        parse(query, limits=QueryLimits(clauses=leaves - 1))
    if levels:
        with pytest.raises(UnsupportedQueryError, match=f"at most {levels - 1} levels"):
            parse(query, limits=QueryLimits(depth=levels - 1))


@pytest.mark.parametrize(
    ("query", "leaves"),
    [
        ("a b", 2),
        ("a * b * c", 1),
        ("1..2", 1),
        ("[1 TO 2] 3..4", 2),
        ('"a b c"~3 f:(d e)', 3),
        ("*:* AND * AND f:*", 3),
        ("FINGERPRINT:1_20_80 OR FINGERPRINT:(2 3)", 3),
        ("TYPE:cm:content^2", 1),
    ],
)
def test_leaves_by_hand(query: str, leaves: int) -> None:
    """
    An operator that joins two words to one leaf reduces the count by one.
    """
    parse(query, limits=QueryLimits(clauses=leaves))
    with pytest.raises(UnsupportedQueryError, match=f"at most {leaves - 1} words"):
        parse(query, limits=QueryLimits(clauses=leaves - 1))


def test_a_query_is_refused_where_it_becomes_too_large() -> None:
    """
    A query is refused at the first word too many, before any later mistake; a word of Alfresco has up to five pieces,
    so its limit is five times as high.
    """
    for strict, pieces in ((False, DEFAULT_CLAUSES), (True, 5 * DEFAULT_CLAUSES)):
        with pytest.raises(UnsupportedQueryError, match="at most 1,000 words") as caught:
            parse("a " * pieces + "b )))", strict=strict)
        assert caught.value.span.start == 2 * pieces
        with pytest.raises(UnsupportedQueryError, match="at most 100 levels deep") as caught:
            parse("(" * 101 + ")" * 10, strict=strict)
        assert caught.value.span.start == 100


@pytest.mark.parametrize("count", [3, 7, 999, 1000])
def test_words_of_five_pieces_are_counted_exactly(count: int) -> None:
    """
    A query of the maximum number of words is read, even if each has the maximum of five pieces in Alfresco's reading.
    """
    query = " ".join(["?,?,?,?.?"] * count)
    assert len(ast.children(parse(query, strict=True, limits=QueryLimits(clauses=count)))) == count


ENDS = [
    "a",
    '"a"',
    "f:a",
    "[1 TO 2]",
    "a^2",
    "*:*",
    "a~0.5",
    '"a"~2',
    "TYPE:cm:x",
    "FINGERPRINT:1_20",
    'FINGERPRINT:"1"',
]
STARTS = ['"b"', "[1 TO 2]", "+b", "-b", "!b", "=b", "~b", "f:b", "FINGERPRINT:2"]


@pytest.mark.parametrize("end", ENDS)
def test_operands_are_apart(end: str) -> None:
    """
    A token directly after an operand becomes part of it or is refused; after a space it is another operand.
    """
    for start in STARTS:
        apart = parse(f"{end} {start}")
        assert len(list(ast.walk(apart))) > len(list(ast.walk(parse(end))))
        glued = answer(end + start)
        assert isinstance(glued, QueryError) or not ast.children(glued), (end, start)


@pytest.mark.parametrize(
    ("query", "operator", "inside"),
    [
        ("OR a", Operator.OR, Operator.OR),
        ("AND a", Operator.AND, Operator.OR),
        ("(AND a)", Operator.AND, Operator.OR),
        ("f:(OR a)", Operator.AND, Operator.OR),
        ("f:(AND a)", Operator.OR, Operator.AND),
        ("f:((AND a))", Operator.OR, Operator.AND),
        ("x OR AND a", Operator.AND, Operator.OR),
    ],
)
def test_the_operator_that_is_understood_may_stand_first(query: str, operator: Operator, inside: Operator) -> None:
    """
    A leading default operator changes nothing; the other operator would, so it is refused.
    """
    with_it = parse(query, default_operator=operator, field_operator=inside)
    first = "OR a" if "OR a" in query else "AND a"
    assert with_it == parse(query.replace(first, "a"), default_operator=operator, field_operator=inside)
    other = query.replace(first, "AND a" if first == "OR a" else "OR a")
    with pytest.raises(QuerySyntaxError, match="needs something to search for"):
        parse(other, default_operator=operator, field_operator=inside)
