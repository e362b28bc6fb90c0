"""Unparsing: each tree has one canonical text, which is read as the same tree, or is refused."""

from __future__ import annotations

from decimal import Decimal

import pytest

from whorl.errors import ParameterError
from whorl.query import ast
from whorl.query.parser import parse
from whorl.query.unparse import unparse

CANONICAL = [
    ("a b", "a OR b"),
    ("a || b && ! c", "a OR b AND NOT c"),
    ("((a))", "a"),
    ("(a or b) and c", "(a OR b) AND c"),
    ("+a -(b c) d", "+a -(b OR c) d"),
    ("a -b OR c", "a -b OR c"),
    ("'it is'", '"it is"'),
    ("@cm:name: run", "cm:name:run"),
    ("*", "*:*"),
    ("a^2.50", "a^2.5"),
    ("a^1000.0", "a^1000"),
    (r"\or", r"\or"),
    (r"\u0000", r"\u0000"),
    ("FINGERPRINT:1_0.2_0.8", "FINGERPRINT:1_20_80"),
    ("FINGERPRINT:1_1", "FINGERPRINT:1_100"),
    ("FINGERPRINT:1_0.005", "FINGERPRINT:1_0.005"),
    ('FINGERPRINT:"1_20"', 'FINGERPRINT:"1_20"'),
    ('FINGERPRINT:"1"_20', "FINGERPRINT:1_20"),
    (r"FINGERPRINT:my\_doc", r'FINGERPRINT:"my\_doc"'),
    (r"FINGERPRINT:my\_doc_20", 'FINGERPRINT:"my_doc"_20'),
]


@pytest.mark.parametrize(("query", "canonical"), CANONICAL)
def test_canonical_text(query: str, canonical: str) -> None:
    assert unparse(parse(query)) == canonical


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
        ast.Term("a", "TYPE:cm"),
        ast.Term("cm:content", "TYPE"),
        ast.Term("a", "_x0041_"),
        ast.Term("TO", "[x"),
        ast.Range(ast.Bound("*"), ast.Bound("MAX", is_inclusive=False)),
        ast.Range(ast.Bound(""), None, "f"),
        ast.Wildcard((ast.WildcardCharacter.ANY,), form=ast.Form.EXACT),
        ast.Wildcard(("a*", ast.WildcardCharacter.ANY), is_phrase=True),
        ast.Proximity(("or", "*", "a..b"), 100, "f"),
        ast.Clauses(
            (ast.Clause(ast.Occur.MUST, A), ast.Clause(ast.Occur.SHOULD, ast.Term("2", form=ast.Form.TOKENISED)))
        ),
        ast.Clauses(
            (
                ast.Clause(ast.Occur.MUST, A),
                ast.Clause(ast.Occur.SHOULD, ast.Wildcard((ast.WildcardCharacter.ANY,), "f")),
            )
        ),
        ast.Fuzzy("a", Decimal(0)),
        ast.Phrase("", slop=0),
        ast.Term("a", "0A", ast.Form.TOKENISED),
        ast.Or((A, ast.Term("ANd!"))),
        ast.Wildcard(("or'", ast.WildcardCharacter.ANY)),
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
        ast.Wildcard(("a", "b", ast.WildcardCharacter.ANY)),
        ast.Wildcard(("", ast.WildcardCharacter.ANY)),
        ast.Wildcard((ast.WildcardCharacter.ANY,)),
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
