"""Helpers for tests of an embedded store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.engine.embedded.store_process import SCHEME, State, document, step
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.query.plan.nodes import Bool, BoundPlan, MatchAll, Words

EVERYTHING = BoundPlan(MatchAll())


def opened(path: Path, **options: Any) -> EmbeddedEngine:
    return EmbeddedEngine(path, scheme=SCHEME, **options)


def matching_ids(engine: EmbeddedEngine, plan: BoundPlan = EVERYTHING) -> list[str]:
    return [hit.id for hit in engine.search(plan, start=0, rows=10_000).hits]


def fill(path: Path, steps: int = 8) -> None:
    with opened(path) as engine:
        for number in range(steps):
            stored, deleted = step(number)
            engine.index(stored)
            engine.delete(deleted)


def assert_state(engine: EmbeddedEngine, *allowed: State) -> None:
    """Assert that records and index both have the same state, one of the allowed ones."""
    digests = engine.digests([f"d{number}" for number in range(60)])
    by_digest = [{name: document(name, stamp).digest for name, stamp in state.items()} for state in allowed]
    assert digests in by_digest
    state = allowed[by_digest.index(dict(digests))]
    assert engine.count() == len(state)
    assert {*engine.fields().known} - {"id", "name", "content"} == {f"of_{stamp}" for stamp in state.values()}
    assert matching_ids(engine) == sorted(state)
    for name, stamp in state.items():
        one = Bool(must=(Words(name, "id"), Words(stamp)))
        assert matching_ids(engine, BoundPlan(one)) == [name]
