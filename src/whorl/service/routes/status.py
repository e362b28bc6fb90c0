"""Routes about the service and its store: health, metrics, fields and features."""

from __future__ import annotations

import logging
from functools import cache
from typing import NotRequired

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, HTTPException, Response
from prometheus_client import CONTENT_TYPE_LATEST
from typing_extensions import TypedDict

from whorl.engine.protocol import MinHashPart
from whorl.errors import WhorlError
from whorl.request_context import deadline, trace
from whorl.service.middleware.logs_and_metrics import LOGGER, Metrics
from whorl.service.requests_and_responses import Json, status_of
from whorl.service.routes.api_router import api_router
from whorl.store import Store

#: Maximum time in seconds that the store may take to answer.
_READY_SECONDS = 5.0
_log = logging.getLogger(LOGGER)
#: Number of threads for readiness checks, which are answered even if all other threads wait for the store.
_AT_ONCE = 2


class Health(TypedDict):
    """Status of the service, and the number of documents in the store."""

    status: str
    documents: NotRequired[int]


def health_routes(store: Store, metrics: Metrics) -> APIRouter:
    router = APIRouter(tags=["state"])
    # Created on first use, because an event loop must run.
    limiter = cache(lambda: CapacityLimiter(_AT_ONCE))

    @router.get("/healthz", response_model=Health)
    async def health() -> Json:
        """Report that the process runs."""
        return Json({"status": "ok"})

    @router.get("/readyz")
    async def ready() -> Health:
        """Report whether the store answers within five seconds and its index is complete."""
        try:
            with deadline(_READY_SECONDS):
                state = await to_thread.run_sync(lambda: (store.count(), store.engine.index_lag()), limiter=limiter())
        except WhorlError as error:
            # Clients of this route need no key, so only the log may contain the store's address.
            trace().error = type(error).__name__
            _log.warning("not ready", extra={"fields": {"reason": str(error)}})
            raise HTTPException(status_of(error), "the store does not answer; the service's log says why") from None
        documents, lag = state
        if lag and not lag.is_pending:
            trace().error = "StoreError"
            _log.warning("not ready", extra={"fields": {"reason": str(lag)}})
            raise HTTPException(503, str(lag))
        return {"status": "ok", "documents": documents}

    @router.get("/metrics", include_in_schema=False)
    async def read_metrics() -> Response:
        """Counts and times of the service, in Prometheus' text format."""
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    return router


class FieldValues(TypedDict):
    """A field for queries, and the types of its values: words, text, whole numbers, numbers, dates, true or false."""

    name: str
    types: list[str]


class StoreValues(TypedDict):
    """Properties of a store."""

    documents: int
    index_lag: int
    is_read_only: bool
    keeps_passages: bool
    has_sketches: bool
    minhash: MinHashPart
    shingle_words: int
    fields: list[FieldValues]


def store_routes(store: Store, *, is_read_only: bool) -> APIRouter:
    router = api_router()

    @router.get("/store", summary="What the store is")
    def describe_store() -> StoreValues:
        """The number of documents, the fields that queries can name, and the features of the store.

        `index_lag` counts stored or deleted documents that searches miss, because a writer is adding them or the disk
        was full. `keeps_passages` says whether common text can be detected, `has_sketches` whether near-duplicates can
        be found, and `minhash` whether FINGERPRINT can look up whole tokens, only short ones, or none.
        """
        engine = store.engine
        fields, lag = engine.fields().known, engine.index_lag()
        return {
            "documents": store.count(),
            "index_lag": lag.changes if lag else 0,
            "is_read_only": is_read_only,
            "keeps_passages": engine.passage_scheme is not None,
            "has_sketches": engine.sketch_scheme is not None,
            "minhash": engine.minhash,
            "shingle_words": engine.scheme.shingle_size,
            "fields": [{"name": name, "types": sorted(kind.value for kind in fields[name])} for name in sorted(fields)],
        }

    return router
