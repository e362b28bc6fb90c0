"""From a query to a plan with numbers: golden pairs, to be checked by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from whorl import parse
from whorl.query import ast
from whorl.query.plan.nodes import Bool, FieldClause, FingerprintClause, MatchAll, Plan, references
from whorl.query.plan.planner import make_plan


def field_clause(text: str, field: str | None = None, weight: float = 1.0) -> FieldClause:
    return FieldClause(ast.Term(text, field), weight)


def filtered(*nodes: Plan, but: tuple[Plan, ...] = ()) -> Bool:
    return Bool(must=nodes, must_not=but)


PLANS: list[tuple[str, Plan]] = [
    ("FINGERPRINT:a", FingerprintClause("a")),
    ("FINGERPRINT:a_70", FingerprintClause("a", Fraction(7, 10))),
    ("FINGERPRINT:a_0.5_99", FingerprintClause("a", Fraction(1, 2), Fraction(99, 100))),
    ("FINGERPRINT:a_1^3", FingerprintClause("a", Fraction(1), None, 3.0)),
    ("word", field_clause("word", None, 1.0)),
    ("type:pdf^2", field_clause("pdf", "type", 2.0)),
    ("*:*", MatchAll(1.0)),
    ("a AND b", filtered(field_clause("a"), field_clause("b"))),
    ("a AND NOT b", filtered(field_clause("a"), but=(field_clause("b"),))),
    ("NOT a", filtered(MatchAll(), but=(field_clause("a"),))),
    ("a OR b", Bool(should=(field_clause("a"), field_clause("b")), min_should_match=1)),
    ("+a -b c", Bool((field_clause("a"),), (field_clause("c"),), (field_clause("b"),), 0)),
    ("-a b", Bool((), (field_clause("b"),), (field_clause("a"),), 1)),
    ("(a b)^2", Bool(should=(field_clause("a", None, 2.0), field_clause("b", None, 2.0)), min_should_match=1)),
    ("(a^2)^3", field_clause("a", None, 6.0)),
    # Next to a FINGERPRINT words select but do not score, unless they are boosted.
    ("FINGERPRINT:a AND b", filtered(FingerprintClause("a"), field_clause("b", None, 0.0))),
    ("FINGERPRINT:a AND b^2", filtered(FingerprintClause("a"), field_clause("b", None, 2.0))),
    ("FINGERPRINT:a OR *:*", Bool(should=(FingerprintClause("a"), MatchAll(0.0)), min_should_match=1)),
]


@pytest.mark.parametrize(("query", "plan"), PLANS)
def test_plans(query: str, plan: Plan) -> None:
    """
    The plan of a query whose sources are not yet known.
    """
    assert make_plan(parse(query)) == plan


def test_references_say_where_order_matters() -> None:
    """
    Bands need the tokens in order; a document that is named twice is listed once.
    """
    plan = make_plan(parse("FINGERPRINT:a_20 AND (FINGERPRINT:b OR FINGERPRINT:a_20_80)"))
    assert references(plan) == {"a": True, "b": False}
