"""Pages of candidates with their sketches."""

from __future__ import annotations

from whorl.engine.protocol import CandidatePage, Engine
from whorl.query.plan.nodes import BoundPlan


def candidate_page(
    engine: Engine, plan: BoundPlan, *, start: int = 0, rows: int, in_order: bool = True
) -> CandidatePage:
    """Return a page of the candidates of an engine that reads their sketches at once."""
    page = engine.candidates(plan, start=start, rows=rows, in_order=in_order)
    assert isinstance(page, CandidatePage)
    return page
