"""Binding of plans to their sources: golden pairs, to be checked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import bind_unresolved
from whorl import parse
from whorl.fingerprint.minhash.signature_and_tokens import Signature
from whorl.fingerprint.shingling import Scheme
from whorl.query.plan.nodes import Bool, BoundNode, FieldClause, Nothing, SharedBands, SharedTokens
from whorl.query.plan.planner import make_plan

TEN = Signature(Scheme(), np.arange(10, dtype=np.uint64))


BOUND: list[tuple[str, BoundNode]] = [
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
def test_binding(query: str, plan: BoundNode) -> None:
    """
    With ten tokens the numbers can be checked by hand.
    """
    bound = bind_unresolved(make_plan(parse(query)), {"a": TEN})
    assert bound.root == plan
    assert bound.warnings == ()


def test_binding_an_unknown_source() -> None:
    """
    A FINGERPRINT with an unknown source matches nothing, the other clauses stay, and one warning names the source.
    """
    bound = bind_unresolved(make_plan(parse("FINGERPRINT:x_20 OR FINGERPRINT:x OR a^2")), {})
    assert isinstance(bound.root, Bool)
    assert [type(node) for node in bound.root.should] == [Nothing, Nothing, FieldClause]
    assert len(bound.warnings) == 1
    assert "'x'" in bound.warnings[0]


def test_binding_a_text_that_is_too_short() -> None:
    """
    A text without tokens matches nothing, and the warning names the reason.
    """
    bound = bind_unresolved(make_plan(parse("FINGERPRINT:x")), {"x": Signature(Scheme(), np.empty(0, np.uint64))})
    assert isinstance(bound.root, Nothing)
    assert "fewer than 5 words" in bound.warnings[0]


@pytest.mark.parametrize(
    ("query", "words"), [("x", "may be a few off"), ("x_20", "may be a few off"), ("x_20_80", "bands differ")]
)
def test_an_inexact_signature_is_reported(query: str, words: str) -> None:
    """
    A warning says how an inexact signature affects the hits.
    """
    inexact = Signature(Scheme(), TEN.hashes, is_exact=False)
    bound = bind_unresolved(make_plan(parse(f"FINGERPRINT:{query}")), {"x": inexact})
    assert words in bound.warnings[0]
