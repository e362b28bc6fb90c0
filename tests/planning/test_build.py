"""From query text to numbers: golden pairs that a reader can check by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from whorl import parse
from whorl.fingerprint.minhash.signature import Signature
from whorl.fingerprint.scheme import Scheme
from whorl.planning.build import (
    Bool,
    FieldClause,
    FingerprintClause,
    MatchAll,
    Nothing,
    PlanNode,
    SharedBands,
    SharedTokens,
    bind,
    describe,
    make_plan,
    references,
)
from whorl.planning.clauses import Between, Equal, InOrder, Kind, Like, Near, Present, Test, Words
from whorl.query import ast

TEN = Signature(Scheme(), np.arange(10, dtype=np.uint64))


def asked(text: str, field: str | None = None, weight: float = 1.0) -> FieldClause:
    return FieldClause(ast.Term(text, field), weight)


def filtered(*nodes: PlanNode, but: tuple[PlanNode, ...] = ()) -> Bool:
    return Bool(must=nodes, must_not=but)


PLANS: list[tuple[str, PlanNode]] = [
    ("FINGERPRINT:a", FingerprintClause("a")),
    ("FINGERPRINT:a_70", FingerprintClause("a", Fraction(7, 10))),
    ("FINGERPRINT:a_0.5_99", FingerprintClause("a", Fraction(1, 2), Fraction(99, 100))),
    ("FINGERPRINT:a_1^3", FingerprintClause("a", Fraction(1), None, 3.0)),
    ("word", asked("word", None, 1.0)),
    ("type:pdf^2", asked("pdf", "type", 2.0)),
    ("*:*", MatchAll(1.0)),
    ("a AND b", filtered(asked("a"), asked("b"))),
    ("a AND NOT b", filtered(asked("a"), but=(asked("b"),))),
    ("NOT a", filtered(MatchAll(), but=(asked("a"),))),
    ("a OR b", Bool(should=(asked("a"), asked("b")), min_should_match=1)),
    ("+a -b c", Bool((asked("a"),), (asked("c"),), (asked("b"),), 0)),
    ("-a b", Bool((), (asked("b"),), (asked("a"),), 1)),
    ("(a b)^2", Bool(should=(asked("a", None, 2.0), asked("b", None, 2.0)), min_should_match=1)),
    ("(a^2)^3", asked("a", None, 6.0)),
    # Beside a FINGERPRINT words choose and do not count, unless they are boosted.
    ("FINGERPRINT:a AND b", filtered(FingerprintClause("a"), asked("b", None, 0.0))),
    ("FINGERPRINT:a AND b^2", filtered(FingerprintClause("a"), asked("b", None, 2.0))),
    ("FINGERPRINT:a OR *:*", Bool(should=(FingerprintClause("a"), MatchAll(0.0)), min_should_match=1)),
]


@pytest.mark.parametrize(("query", "plan"), PLANS)
def test_plans(query: str, plan: PlanNode) -> None:
    """
    The plan of a query, its sources not yet known.
    """
    assert make_plan(parse(query)) == plan


BOUND: list[tuple[str, PlanNode]] = [
    ("FINGERPRINT:a", SharedTokens("a", TEN.integers, 1)),
    ("FINGERPRINT:a_21", SharedTokens("a", TEN.integers, 3)),
    ("FINGERPRINT:a_100", SharedTokens("a", TEN.integers, 10)),
    # One band of ten: .9^10 = .35. Two of five: 1-(1-.59)^2 = .83, above .6.
    ("FINGERPRINT:a_90_60", SharedBands("a", ((0, 1, 2, 3, 4), (5, 6, 7, 8, 9)))),
    # Two of five: .55. Three: .88, above .69, so rows of three: four bands, the last filled up with the first tokens.
    ("FINGERPRINT:a_80_69", SharedBands("a", ((0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 0, 1)))),
    ("FINGERPRINT:a_50_100", SharedBands("a", tuple((token,) for token in range(10)))),
]


@pytest.mark.parametrize(("query", "plan"), BOUND)
def test_binding(query: str, plan: PlanNode) -> None:
    """
    With ten tokens the numbers can be checked by hand.
    """
    bound = bind(make_plan(parse(query)), {"a": TEN})
    assert bound.root == plan
    assert bound.warnings == ()


def test_references_say_where_order_matters() -> None:
    """
    Bands need the tokens in order; once is enough for a document that is named twice.
    """
    plan = make_plan(parse("FINGERPRINT:a_20 AND (FINGERPRINT:b OR FINGERPRINT:a_20_80)"))
    assert references(plan) == {"a": True, "b": False}


def test_binding_an_unknown_source() -> None:
    """
    It matches nothing, inside the rest of the query, and the warning names it once.
    """
    bound = bind(make_plan(parse("FINGERPRINT:x_20 OR FINGERPRINT:x OR a^2")), {})
    assert isinstance(bound.root, Bool)
    assert [type(node) for node in bound.root.should] == [Nothing, Nothing, FieldClause]
    assert len(bound.warnings) == 1
    assert "'x'" in bound.warnings[0]


def test_binding_a_text_that_is_too_short() -> None:
    """
    No tokens: nothing matches, and the reason is said.
    """
    bound = bind(make_plan(parse("FINGERPRINT:x")), {"x": Signature(Scheme(), np.empty(0, np.uint64))})
    assert isinstance(bound.root, Nothing)
    assert "fewer than 5 words" in bound.warnings[0]


@pytest.mark.parametrize(
    ("query", "words"), [("x", "may be a few off"), ("x_20", "may be a few off"), ("x_20_80", "bands differ")]
)
def test_an_inexact_signature_is_told(query: str, words: str) -> None:
    """
    What the index could not tell is said beside the hits.
    """
    bound = bind(make_plan(parse(f"FINGERPRINT:{query}")), {"x": Signature(Scheme(), TEN.hashes, is_exact=False)})
    assert words in bound.warnings[0]


def test_description() -> None:
    """
    A plan in words holds its numbers.
    """
    plan = bind(make_plan(parse("FINGERPRINT:a_70")), {"a": TEN}).root
    assert describe(Bool(must=(plan, Words("pdf", "type", 0.0)), must_not=(Words("draft", None, 2.0),))) == [
        "all of:",
        "  FINGERPRINT of 'a': at least 7 of its 10 tokens (10 distinct), one point each",
        "  'pdf' in field 'type'",
        "none of:",
        "  'draft' in the text fields, 2 points",
    ]


TOLD: list[tuple[Test, str]] = [
    (Words("big dog", "name", 0.0, 2), "'big dog' give or take 2 moves in field 'name'"),
    (InOrder((("big",), ("do", ast.Joker.ANY)), 0, None, 0.0), "'big do*' in the text fields"),
    (InOrder((("big",), ("dog",)), 3, "n", 0.0), "'big dog' with at most 3 words among them in field 'n'"),
    (Near("roam", 1, None, 0.0), "words 1 edit from 'roam' in the text fields"),
    (Near("roam", 2, "n", 0.0), "words 2 edits from 'roam' in field 'n'"),
    (Equal("n", Kind.KEYWORD, "x", 0.0), "the value 'x' in field 'n'"),
    (Like("n", (ast.Joker.ONE, "x"), 0.0), "values like '?x' in field 'n'"),
    (Between("n", Kind.INTEGER, 1, 5, False, True, 0.0), "values above 1 to 5 in field 'n'"),
    (Between("n", Kind.DATE, 0, None, weight=0.0), "values from 1970-01-01T00:00:00.000Z in field 'n'"),
    (Between("n", Kind.FLOAT, None, 0.5, True, False, 0.0), "values below 0.5 in field 'n'"),
    (Present("n", Kind.FLOAT, 0.0), "any value in field 'n'"),
]


@pytest.mark.parametrize(("test", "words"), TOLD)
def test_descriptions_of_clauses(test: Test, words: str) -> None:
    """
    Every clause is told in words.
    """
    assert describe(test) == [words]
