"""Descriptions of plans in words."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import bind_unresolved
from whorl import parse
from whorl.fingerprint.minhash.signature_and_tokens import Signature
from whorl.fingerprint.shingling import Scheme
from whorl.query import ast
from whorl.query.plan.describe import describe
from whorl.query.plan.nodes import Between, Bool, Equal, Exists, FuzzyWord, InOrder, Kind, Test, WildcardValue, Words
from whorl.query.plan.planner import make_plan

TEN = Signature(Scheme(), np.arange(10, dtype=np.uint64))


def test_description() -> None:
    """
    The description of a plan contains its numbers.
    """
    plan = bind_unresolved(make_plan(parse("FINGERPRINT:a_70")), {"a": TEN}).root
    assert describe(Bool(must=(plan, Words("pdf", "type", 0.0)), must_not=(Words("draft", None, 2.0),))) == [
        "all of:",
        "  FINGERPRINT of 'a': at least 7 of its 10 tokens (10 distinct), one point each",
        "  'pdf' in field 'type'",
        "none of:",
        "  'draft' in the text fields, 2 points",
    ]


TOLD: list[tuple[Test, str]] = [
    (Words("big dog", "name", 0.0, 2), "'big dog' give or take 2 moves in field 'name'"),
    (InOrder((("big",), ("do", ast.WildcardCharacter.ANY)), 0, None, 0.0), "'big do*' in the text fields"),
    (InOrder((("big",), ("dog",)), 3, "n", 0.0), "'big dog' with at most 3 words among them in field 'n'"),
    (FuzzyWord("roam", 1, None, 0.0), "words 1 edit from 'roam' in the text fields"),
    (FuzzyWord("roam", 2, "n", 0.0), "words 2 edits from 'roam' in field 'n'"),
    (Equal("n", Kind.KEYWORD, "x", 0.0), "the value 'x' in field 'n'"),
    (WildcardValue("n", (ast.WildcardCharacter.ONE, "x"), 0.0), "values like '?x' in field 'n'"),
    (Between("n", Kind.INTEGER, 1, 5, False, True, 0.0), "values above 1 to 5 in field 'n'"),
    (Between("n", Kind.DATE, 0, None, weight=0.0), "values from 1970-01-01T00:00:00.000Z in field 'n'"),
    (Between("n", Kind.FLOAT, None, 0.5, True, False, 0.0), "values below 0.5 in field 'n'"),
    (Exists("n", Kind.FLOAT, 0.0), "any value in field 'n'"),
]


@pytest.mark.parametrize(("test", "words"), TOLD)
def test_descriptions_of_clauses(test: Test, words: str) -> None:
    """
    Every clause has a description in words.
    """
    assert describe(test) == [words]
