"""Routes for monitoring: liveness, readiness and metrics."""

from __future__ import annotations

import logging
from typing import NotRequired

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, HTTPException, Response
from prometheus_client import CONTENT_TYPE_LATEST
from typing_extensions import TypedDict

from whorl.context import deadline, trace
from whorl.engine.lag import lag_message
from whorl.errors import WhorlError
from whorl.service.errors import status_of
from whorl.service.logs import LOGGER
from whorl.service.metrics import Metrics
from whorl.store import Store

#: Maximum time for the store to answer, in seconds.
_READY_SECONDS = 5.0
_log = logging.getLogger(LOGGER)
#: Threads reserved for readiness checks, so that they are answered while all other threads wait for the store. Their
#: number also limits the load of many checks.
_AT_ONCE = 2


class Health(TypedDict):
    """Status of the service, and the number of documents in the store."""

    status: str
    documents: NotRequired[int]


def health_routes(store: Store, metrics: Metrics) -> APIRouter:
    """Return the monitoring routes; monitoring systems have no key, so they need none.

    Args:
        store: The store to check.
        metrics: The metrics to export.
    """
    router = APIRouter(tags=["state"])
    limiter: list[CapacityLimiter] = []

    @router.get("/healthz")
    async def health() -> Health:
        """The process runs."""
        return {"status": "ok"}

    @router.get("/readyz")
    async def ready() -> Health:
        """The store answers within five seconds, and searches know of all of its documents."""
        # A limiter can only be created while an event loop runs.
        own = limiter[0] if limiter else CapacityLimiter(_AT_ONCE)
        limiter[:] = [own]
        try:
            with deadline(_READY_SECONDS):
                state = await to_thread.run_sync(lambda: (store.count(), store.engine.index_lag()), limiter=own)
        except WhorlError as error:
            # Clients of this route have no key, so the store's address goes only into the log.
            trace().error = type(error).__name__
            _log.warning("not ready", extra={"fields": {"reason": str(error)}})
            raise HTTPException(status_of(error), "the store does not answer; the service's log says why") from None
        documents, lag = state
        if lag:
            trace().error = "StoreError"
            _log.warning("not ready", extra={"fields": {"reason": lag_message(lag)}})
            raise HTTPException(503, lag_message(lag))
        return {"status": "ok", "documents": documents}

    @router.get("/metrics", include_in_schema=False)
    async def measured() -> Response:
        """What the service counted and timed, in Prometheus' text format."""
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    return router
