"""The clusters of a store over HTTP: found for one who asks, and kept a little for those who ask the same."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from fastapi import APIRouter, HTTPException, Query, Response

from whorl.context import seconds_left
from whorl.duplicates import ask_pairs, duplicates_in
from whorl.duplicates.question import PairQuestion, PairWord
from whorl.duplicates.result import Cluster
from whorl.errors import ParameterError
from whorl.service.errors import Json
from whorl.store import Store
from whorl.wire.duplicates import cluster_values, left_out, pair_values, write_clusters

#: Documents that are compared while somebody waits; more of them are the command line's work.
MOST_DOCUMENTS = 200_000
#: Members up to which a cluster comes with its pairs.
PAIRS_UP_TO = 30
#: For how long what was found is told again.
_SECONDS_KEPT = 60.0
#: Requests that search or wait for those that do, at most: each is a thread that others could use.
_MOST_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class _Found:
    """What was found in a store at a moment."""

    asked: tuple[PairQuestion, bool]
    at: float
    documents: int
    pairs: int
    clusters: tuple[Cluster, ...]
    warnings: tuple[str, ...]


def duplicates_routes(store: Store) -> APIRouter:
    """Return the route.

    Args:
        store: Whose documents are compared with each other.
    """
    router = APIRouter(tags=["whorl"], default_response_class=Json)
    searching, places = threading.Lock(), threading.BoundedSemaphore(_MOST_AT_ONCE)
    kept: list[_Found] = []

    def found(question: PairQuestion, complete: bool) -> _Found:
        # One search at a time: two would take as long as one after the other, and twice the memory.
        with _turn(searching, places):
            if not kept or kept[0].asked != (question, complete) or time.monotonic() - kept[0].at > _SECONDS_KEPT:
                kept[:] = [_searched(store, question, complete)]
            return kept[0]

    @router.get("/api/duplicates", response_model=None)
    def duplicates(
        threshold: float = Query(80, gt=0, le=100),
        metric: PairWord = "jaccard",
        recall: float = Query(95, gt=0, le=100),
        complete: bool = False,
        start: int = Query(0, ge=0, le=1_000_000),
        rows: int = Query(100, ge=0, le=1_000),
        format: Literal["page", "json", "csv"] = "page",  # noqa: A002 - what the parameter is called
    ) -> dict[str, Any] | Response:
        """The clusters of near-duplicates, the largest first: a page of them, or all of them as a file.

        Small clusters come with their pairs. What was found a minute ago is told again. `json` is one cluster a line.
        """
        told = found(ask_pairs(metric, str(threshold), str(recall)), complete)
        if format != "page":
            return _file(told.clusters, format)
        return {
            "documents": told.documents,
            "metric": metric,
            "threshold": threshold,
            "recall": recall,
            "complete": complete,
            "total": len(told.clusters),
            "pairs": told.pairs,
            "warnings": list(told.warnings),
            "clusters": [
                {**cluster_values(each), "pairs": [pair_values(pair) for pair in each.pairs]}
                for each in told.clusters[start : start + rows]
            ],
        }

    return router


@contextmanager
def _turn(searching: threading.Lock, places: threading.BoundedSemaphore) -> Iterator[None]:
    """Let one thread after the other search, as long as there is time for it, and few of them wait.

    Raises:
        HTTPException: 503, too many wait, or the time is up.
    """
    busy = HTTPException(503, "others are looking for duplicates, which is done one after the other; try again")
    if not places.acquire(blocking=False):
        raise busy
    try:
        left = seconds_left()
        if not searching.acquire(timeout=-1 if left is None else max(left, 0.0)):
            raise busy
        try:
            yield
        finally:
            searching.release()
    finally:
        places.release()


def _searched(store: Store, question: PairQuestion, complete: bool) -> _Found:
    count = store.count()
    if count > MOST_DOCUMENTS:
        raise ParameterError(
            f"the store has {count:,} documents, more than the {MOST_DOCUMENTS:,} that are compared while somebody "
            "waits; 'whorl duplicates' does it on the command line"
        )
    with duplicates_in(store.engine, question, links_suffice=not complete) as there:
        clusters = tuple(there.clusters(complete=complete, with_pairs_up_to=PAIRS_UP_TO))
        pairs = there.count_pairs()
        return _Found((question, complete), time.monotonic(), there.documents, pairs, clusters, tuple(left_out(there)))


def _file(clusters: tuple[Cluster, ...], form: str) -> Response:
    out = io.StringIO()
    write_clusters(clusters, form, out)
    media_type = "text/csv; charset=utf-8" if form == "csv" else "application/x-ndjson"
    named = f'attachment; filename="duplicates.{"csv" if form == "csv" else "jsonl"}"'
    # Halves of surrogate pairs cannot be in a store, nor in a name.
    return Response(out.getvalue().encode(), media_type=media_type, headers={"Content-Disposition": named})
