"""Limits on the characters, clauses and levels of a query, and queries of one repeated piece."""

from __future__ import annotations

from itertools import product

import pytest

from tests.query.strategies import answer
from tests.sampling import sample
from whorl.errors import QueryError, UnsupportedQueryError
from whorl.query import ast
from whorl.query.ast import DEFAULT_CLAUSES, DEFAULT_LENGTH
from whorl.query.parser import parse
from whorl.query.unparse import unparse


@pytest.mark.parametrize("query", ["a" * 60_000, '"' + "a " * 30_000 + '"', "FINGERPRINT:" + "7" * 60_000])
def test_a_long_query_is_read(query: str) -> None:
    assert parse(unparse(parse(query))) == parse(query)


def test_length_is_limited() -> None:
    parse("a" * DEFAULT_LENGTH)
    with pytest.raises(UnsupportedQueryError, match="at most 65,536 characters, got 65,537") as caught:
        parse("a" * (DEFAULT_LENGTH + 1))
    assert (caught.value.span.start, caught.value.span.end) == (DEFAULT_LENGTH, DEFAULT_LENGTH + 1)


@pytest.mark.slow
def test_number_of_clauses_is_limited() -> None:
    query = " ".join(["a"] * DEFAULT_CLAUSES)
    assert len(ast.children(parse(query))) == DEFAULT_CLAUSES
    with pytest.raises(UnsupportedQueryError, match="at most 1,000 words") as caught:
        parse(query + " b")
    assert caught.value.span.start == len(query) + 1


DEEP = [
    ("(", "a", ")"),
    ("NOT ", "a", ""),
    ("(a ", "b", ")"),
    ("-(a ", "b", ")"),
    ("(a -", "b", ")"),
    ("(a AND ", "b", ")"),
]


@pytest.mark.parametrize(("opening", "inside", "closing"), DEEP)
def test_depth_is_limited(opening: str, inside: str, closing: str) -> None:
    """
    Half the depth limit is always possible; the whole limit is possible with only parentheses or only NOTs.
    """
    half = ast.MAX_DEPTH // 2
    tree = parse(opening * half + inside + closing * half)
    assert parse(unparse(tree)) == tree
    over = ast.MAX_DEPTH + 1
    with pytest.raises(UnsupportedQueryError, match="at most 100 levels deep"):
        parse(opening * over + inside + closing * over)


def test_a_hundred_levels_are_read() -> None:
    assert parse("(" * 100 + "a" + ")" * 100) == ast.Term("a")
    tree = parse("(a " * 99 + "(a b)" + ")" * 99)
    assert len(list(ast.walk(tree))) == 201
    assert parse(unparse(tree)) == tree


#: Each piece fills the whole length, or an eighth of it after a prefix, so that quadratic time or recursion would show.
FLOODS = [
    *"()!-+\"'\\:*?^.&|_1~[% \n",
    '"a"',
    "(a)",
    r"\u",
    "a:",
    r"a\:",
    "||",
    "http://",
    "FINGERPRINT:",
    "FINGERPRINT:_",
]


FLOODS += ["NOT ", "or ", "a ", "* ", "a^2 ", "&& ", "'a ", "a * ", "a.", "a,", "1.2.", "{x}", "[a TO b] ", "f:("]


FLOODS += ["~2 ", "@", "%(", "_x0041_"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lead", "piece", "strict"),
    sample(product(["", "FINGERPRINT:a", "f:", '"', "a AND (", "a^"], FLOODS, [False, True]), 5),
)
def test_a_flood_is_answered(lead: str, piece: str, strict: bool) -> None:
    query = (lead + piece * DEFAULT_LENGTH)[: DEFAULT_LENGTH // 8 if lead else DEFAULT_LENGTH]
    got = answer(query, strict=strict)
    assert not isinstance(got, QueryError) or len(str(got)) < 1000
