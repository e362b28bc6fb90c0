"""The HTTP service: a store behind a few routes. `create_app` is driven by tests without a socket."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, model_validator

from whorl.errors import (
    EngineError,
    EngineUnavailableError,
    ParameterError,
    QueryError,
    StoreError,
    WhorlError,
)
from whorl.similar import values
from whorl.store import SOURCE, Store

#: The HTTP status of each branch of the error tree; the first that fits.
_STATUSES: tuple[tuple[type[WhorlError], int], ...] = (
    (QueryError, 400),
    (ParameterError, 400),
    (EngineUnavailableError, 503),
    (EngineError, 502),
    (StoreError, 503),
    (WhorlError, 500),
)


def create_app(store: Store, *, api_key: str | None = None) -> FastAPI:
    """Return the service over a store.

    Args:
        store: Open for as long as the service runs.
        api_key: Asked for on every route under /api as `Authorization: Bearer KEY`, or None for an open service.
    """
    app = FastAPI(title="whorl", summary="Find the documents that share content with a document.")

    @app.middleware("http")
    async def authorised(request: Request, proceed: Callable[[Request], Awaitable[Response]]) -> Response:
        # Headers come as Latin-1; the path is the one that chooses the route, which no Host header can change.
        given = request.headers.get("Authorization", "").removeprefix("Bearer ").encode("latin-1")
        if (
            api_key
            and request.scope["path"].startswith("/api/")
            and not secrets.compare_digest(given, api_key.encode())
        ):
            return _error(401, "this service wants Authorization: Bearer KEY")
        return await proceed(request)

    @app.exception_handler(WhorlError)
    async def failed(_: Request, error: WhorlError) -> JSONResponse:
        status = next(status for kind, status in _STATUSES if isinstance(error, kind))
        details: dict[str, Any] = {}
        if isinstance(error, QueryError):
            details = {"span": asdict(error.span), "hint": error.hint}
        message = error.message if isinstance(error, QueryError) else str(error)
        return _error(status, message, details, {"Retry-After": "5"} if status == 503 else {})

    @app.exception_handler(RequestValidationError)
    async def misused(_: Request, error: RequestValidationError) -> JSONResponse:
        told = [f"{each['loc'][-1]}: {each['msg']}" for each in error.errors()]
        return _error(400, "; ".join(told))

    @app.get("/healthz")
    def health() -> dict[str, str]:
        """The process runs."""
        return {"status": "ok"}

    @app.get("/readyz")
    def ready() -> dict[str, Any]:
        """The store answers."""
        return {"status": "ok", "documents": store.count()}

    @app.get("/api/search")
    def search(
        q: str,
        start: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
        rows: Annotated[int, Query(ge=0, le=10_000)] = 10,
        plan: Literal["stock", "calibrated"] = "stock",
    ) -> dict[str, Any]:
        """One page of the documents that a query matches."""
        page = store.search(q, start=start, rows=rows, with_shared=True, calibrated=plan == "calibrated")
        return {
            "query": q,
            "total": page.total,
            "warnings": list(page.warnings),
            "hits": [asdict(hit) for hit in page.hits],
        }

    @app.post("/api/similar")
    def similar(asked: Similar) -> dict[str, Any]:
        """One page of the documents that share content with a document or a text, each with its percentages."""
        page = store.similar(
            SOURCE if asked.id is None else asked.id,
            source=asked.text,
            metric=asked.metric,
            threshold=asked.threshold,
            recall=asked.recall,
            only=asked.filter,
            exact=asked.exact,
            start=asked.start,
            rows=asked.rows,
        )
        return values(page)

    return app


class Similar(BaseModel):
    """What `POST /api/similar` is sent: a document's id or a text, and what is to be found."""

    model_config = ConfigDict(extra="forbid")

    id: str | None = None
    text: str | None = None
    metric: Literal["similarity", "contains", "within"] = "similarity"
    threshold: float = Field(20, gt=0, le=100)
    recall: float = Field(95, gt=0, le=100)
    filter: str | None = None
    exact: bool = False
    start: int = Field(0, ge=0, le=1_000_000)
    rows: int = Field(10, ge=0, le=10_000)

    @model_validator(mode="after")
    def _has_one_source(self) -> Similar:
        if (self.id is None) == (self.text is None):
            raise ValueError("name one source: id or text")
        return self


def _error(
    status: int, message: str, details: dict[str, Any] | None = None, headers: dict[str, str] | None = None
) -> JSONResponse:
    body = {"error": {"statusCode": status, "message": message, **(details or {})}}
    return JSONResponse(body, status_code=status, headers=headers)
