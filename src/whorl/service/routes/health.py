"""Whether the service runs, whether it can answer, and what it did so far."""

from __future__ import annotations

import logging
from typing import NotRequired

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, HTTPException, Response
from prometheus_client import CONTENT_TYPE_LATEST
from typing_extensions import TypedDict

from whorl.context import deadline, trace
from whorl.errors import WhorlError
from whorl.service.errors import status_of
from whorl.service.logs import LOGGER
from whorl.service.metrics import Metrics
from whorl.store import Store

#: How long the store may take to say that it is there.
_READY_SECONDS = 5.0
_log = logging.getLogger(LOGGER)
#: Threads of their own: whoever asks is answered also when all others wait for the store, and many ask no more of it.
_AT_ONCE = 2


class Health(TypedDict):
    """That it is well, and how many documents the store has."""

    status: str
    documents: NotRequired[int]


def health_routes(store: Store, metrics: Metrics) -> APIRouter:
    """Return the routes that need no key, because whoever watches the service has none.

    Args:
        store: What is asked whether it is there.
        metrics: What is told.
    """
    router = APIRouter(tags=["state"])
    limiter: list[CapacityLimiter] = []

    @router.get("/healthz")
    async def health() -> Health:
        """The process runs."""
        return {"status": "ok"}

    @router.get("/readyz")
    async def ready() -> Health:
        """The store answers, within five seconds."""
        # Not before there is a loop.
        own = limiter[0] if limiter else CapacityLimiter(_AT_ONCE)
        limiter[:] = [own]
        try:
            with deadline(_READY_SECONDS):
                documents = await to_thread.run_sync(store.count, limiter=own)
        except WhorlError as error:
            # Whoever asks here has no key, so that the store's address is for the log alone.
            trace().error = type(error).__name__
            _log.warning("not ready", extra={"fields": {"reason": str(error)}})
            raise HTTPException(status_of(error), "the store does not answer; the service's log says why") from None
        return {"status": "ok", "documents": documents}

    @router.get("/metrics", include_in_schema=False)
    async def measured() -> Response:
        """What the service counted and timed, in Prometheus' text format."""
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    return router
