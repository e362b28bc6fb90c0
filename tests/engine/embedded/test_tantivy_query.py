"""Translation of bound plans: their descriptions, and whether their scores can differ."""

import json

import pytest
from hypothesis import given

from tests.engine.embedded.corpus import documents, plans
from tests.engine.embedded.store_process import SCHEME
from tests.oracle import Oracle
from whorl.engine.embedded.tantivy_query import TantivyQuery, translate
from whorl.fingerprint.fingerprint_texts import sign
from whorl.fingerprint.minhash.signature_and_tokens import cut_bands
from whorl.query.plan.nodes import (
    Bool,
    BoundLeaf,
    BoundNode,
    BoundPlan,
    FingerprintClause,
    MatchAll,
    Nothing,
    SharedBands,
    SharedTokens,
    Words,
)


def translated(root: BoundNode) -> TantivyQuery:
    return translate(BoundPlan(root), SCHEME.profile, None)


def test_the_description_is_json_without_tokens() -> None:
    """
    It shows numbers of tokens, is what JSON can hold, and needs no store.
    """
    signature = next(signed for signed in (sign(document.text, SCHEME) for document in documents(1, 9)) if len(signed))
    bands = SharedBands("a", cut_bands(signature.integers, 5))
    root: Bool[BoundLeaf] = Bool(
        must=(SharedTokens("a", signature.integers, 4), Words("red blue"), Words("x", "id")),
        should=(bands, MatchAll(), Nothing("why")),
        must_not=(Words("red", "kind"), Words("...")),
    )
    described = translated(root).description
    assert json.loads(json.dumps(described)) == described
    assert described["bool"] == {
        "must": [
            {
                "shared_tokens": {
                    "source": "a",
                    "tokens": 16,
                    "distinct": len(set(signature.tokens)),
                    "min_should_match": 4,
                    "weight": 1.0,
                }
            },
            {"words": ["red", "blue"], "fields": ["name", "content"], "weight": 1.0},
            {"id": "x", "weight": 1.0},
        ],
        "should": [
            {"shared_bands": {"source": "a", "bands": 4, "rows": 5, "weight": 1.0}},
            {"everything": {"weight": 0.0}},
            {"nothing": "why"},
        ],
        "must_not": [
            {"words": ["red"], "fields": ["kind"], "weight": 1.0},
            {"words": [], "fields": ["name", "content"], "weight": 1.0},
        ],
        "min_should_match": 0,
    }


def test_a_plan_is_bound_before_it_is_run() -> None:
    """
    An engine runs bound plans only; it does not fetch the source of a FINGERPRINT by itself.
    """
    with pytest.raises(TypeError, match="bound"):
        translated(FingerprintClause("a"))  # type: ignore[arg-type]  # what a caller's mistake would be


ORACLE = Oracle(documents(1, 12), SCHEME)


@given(plans())
def test_only_what_may_differ_is_ranked(plan: BoundNode) -> None:
    """
    If a query needs no ranking, all its matches have the same score.
    """
    scores = {score for _, score in ORACLE.hits(BoundPlan(plan))}
    assert translated(plan).score is None or len(scores) <= 1


@pytest.mark.parametrize(
    ("plan", "is_ranked"),
    [
        (MatchAll(2.0), False),
        (Words("red", weight=2.0), False),
        (Bool(must=(Words("red"), Words("blue"))), False),
        (Bool(should=(Words("red"), Words("blue")), min_should_match=2), False),
        (Bool(should=(Words("red"), Words("blue")), min_should_match=1), True),
        (Bool(must=(Words("red"),), should=(Words("blue"),)), True),
        (Bool(must=(Words("red"),), should=(Words("blue", weight=0.0),)), False),
        (Bool(must=(MatchAll(),), must_not=(Words("red"),)), False),
        (SharedTokens("s", (1, 2), 1), True),
        (SharedTokens("s", (1, 2), 1, 0.0), False),
    ],
)
def test_ranking(plan: BoundNode, is_ranked: bool) -> None:
    """
    Matches are not ranked for a filter, or if all matches have the same score.
    """
    assert (translated(plan).score is None) == is_ranked
