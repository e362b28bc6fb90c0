"""Reduces search results to the best hit of each cluster of near-duplicates.

Cluster labels are written by `whorl duplicates --write-ids`. Hits are read in order, and hits of a cluster seen before
are skipped. The total follows from the number of hits per cluster, counted by the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from whorl.engine.protocol import Engine
from whorl.errors import ParameterError
from whorl.model import Hit, Order, Page
from whorl.query.plan.nodes import BoundPlan
from whorl.request_context import require_time

#: Minimum and maximum number of hits fetched in one request.
_FEWEST, _MOST = 50, 1000


def collapsed_page(engine: Engine, plan: BoundPlan, *, start: int, rows: int, order: Sequence[Order] = ()) -> Page:
    """Return one page of a plan's hits, one for each cluster.

    Args:
        engine: The engine.
        plan: The plan of the query.
        start: Rows to skip.
        rows: Rows on the page.
        order: Sort keys; empty to sort by score.

    Raises:
        ParameterError: No document of the store has a cluster label.
    """
    counts = engine.labels.counts(plan)
    if not counts and not any(engine.labels.everything()):
        raise ParameterError(
            "no document of the store says which cluster it is in, so nothing can be collapsed; "
            "'whorl duplicates --store STORE --write-ids' writes it"
        )
    wanted, seen, passed = start + rows, set[str](), 0
    batch_size = min(max(2 * wanted, _FEWEST), _MOST) if rows else 0
    retained: list[Hit] = []
    at = 0
    while True:
        require_time()
        page = engine.search(plan, start=at, rows=batch_size, order=order)
        marks = engine.labels.labels_of([hit.id for hit in page.hits])
        for hit in page.hits:
            mark = marks.get(hit.id)
            if mark is not None and mark.cluster in seen:
                continue
            if mark is not None:
                seen.add(mark.cluster)
                hit = replace(hit, cluster=mark.cluster, copies=max(1, counts.get(mark.cluster, 1)) - 1)
            passed += 1
            if start < passed <= wanted:
                retained.append(hit if mark is not None else replace(hit, copies=0))
        at += len(page.hits)
        if passed >= wanted or not page.hits or len(page.hits) < batch_size:
            break
    return replace(
        page, total=page.total - sum(counts.values()) + len(counts), hits=tuple(retained), matches=page.total
    )
