"""Hits collapsed: of each cluster of near-duplicates that was written into the store, the best hit alone.

The clusters are those of `whorl duplicates --write-ids`. Hits are taken in their order; one whose cluster has been seen
is passed over. How many rows there are in all follows from how many hits each cluster has, which the engine counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from whorl.context import require_time
from whorl.engine.protocol import Engine
from whorl.errors import ParameterError
from whorl.model import Hit, Order, Page
from whorl.planning.build import BoundPlan

#: Hits looked at in one request, at least and at most.
_FEWEST, _MOST = 50, 1000


def collapsed_page(engine: Engine, plan: BoundPlan, *, start: int, rows: int, order: Sequence[Order] = ()) -> Page:
    """Return one page of a plan's hits, one for each cluster.

    Args:
        engine: What runs it.
        plan: What is searched.
        start: Rows to leave out before the page.
        rows: Rows on it.
        order: What hits are sorted by, instead of their scores.

    Raises:
        ParameterError: No document of the store says which cluster it is in.
    """
    counts = engine.marks.counts(plan)
    if not counts and not any(engine.marks.everything()):
        raise ParameterError(
            "no document of the store says which cluster it is in, so nothing can be collapsed; "
            "'whorl duplicates --store STORE --write-ids' writes it"
        )
    wanted, seen, passed = start + rows, set[str](), 0
    some = min(max(2 * wanted, _FEWEST), _MOST) if rows else 0
    kept: list[Hit] = []
    at = 0
    while True:
        require_time()
        page = engine.search(plan, start=at, rows=some, order=order)
        marks = engine.marks.of([hit.id for hit in page.hits])
        for hit in page.hits:
            mark = marks.get(hit.id)
            if mark is not None and mark.cluster in seen:
                continue
            if mark is not None:
                seen.add(mark.cluster)
                hit = replace(hit, cluster=mark.cluster, copies=max(1, counts.get(mark.cluster, 1)) - 1)
            passed += 1
            if start < passed <= wanted:
                kept.append(hit if mark is not None else replace(hit, copies=0))
        at += len(page.hits)
        if passed >= wanted or not page.hits or len(page.hits) < some:
            break
    return replace(page, total=page.total - sum(counts.values()) + len(counts), hits=tuple(kept), matches=page.total)
