"""Patterns whose automata have too many states: how they are counted, and how a server's refusal is told."""

from __future__ import annotations

import pytest

from whorl.engine.patterns import doublings, refusals_explained
from whorl.errors import EngineResponseError, UnsupportedQueryError
from whorl.query.ast import Joker, Pattern
from whorl.query.plan.build import Bool, BoundPlan, MatchAll
from whorl.query.plan.clauses import InOrder, Like

ANY, ONE = Joker.ANY, Joker.ONE
REFUSED = EngineResponseError("Solr answers 500", status=500, detail="Determinizing automaton would require more")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ((), 0),
        (("a", ONE, ONE), 0),
        ((ANY, ONE, ONE, "a"), 0),
        ((ANY, "a", ONE, "b", ONE), 2),
        ((ANY, "a", ONE, ANY, ONE, "b", ONE), 2),
        (("a", ONE, ANY, "b"), 0),
    ],
)
def test_states_are_doubled(pattern: Pattern, expected: int) -> None:
    """
    By each joker for one character behind a letter that may stand anywhere.
    """
    assert doublings(pattern) == expected


def test_a_refusal_names_the_pattern() -> None:
    """
    That of the most states, whatever else the plan holds.
    """
    row = InOrder(((ANY, "a", ONE), (ANY, "b", ONE, ONE)), 0)
    plan = BoundPlan(Bool(must=(MatchAll(), Like("kind", (ANY, "c")), row)))
    with pytest.raises(UnsupportedQueryError, match=r"\*b\?\?: this pattern"), refusals_explained(plan):
        raise REFUSED


def test_other_refusals_stay_what_they_are() -> None:
    """
    Nobody's pattern is to blame for them.
    """
    other = EngineResponseError("Solr answers 500", status=500, detail="out of memory")
    for plan, error in ((BoundPlan(MatchAll()), REFUSED), (BoundPlan(Like("kind", (ANY, "c"))), other)):
        with pytest.raises(EngineResponseError) as raised, refusals_explained(plan):
            raise error
        assert raised.value is error
