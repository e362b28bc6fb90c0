"""The HTTP service: a store behind whorl's own routes and Alfresco's; tests drive `create_app` without a socket."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from whorl.service.access import Access, Credentials
from whorl.service.alfresco import alfresco_routes
from whorl.service.failures import Json, answer_failures
from whorl.service.gate import Gate
from whorl.service.native import native_routes
from whorl.store import Store


def create_app(store: Store, credentials: Credentials = Credentials()) -> FastAPI:  # noqa: B008 - frozen
    """Return the service over a store.

    Args:
        store: Open for as long as the service runs.
        credentials: What is asked for on every route under /api and /alfresco.
    """
    access = Access(credentials)
    app = FastAPI(
        title="whorl",
        summary="Find the documents that share content with a document.",
        default_response_class=Json,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.add_middleware(Gate, access=access)
    answer_failures(app)
    app.include_router(native_routes(store))
    app.include_router(alfresco_routes(store, access))

    @app.get("/healthz", tags=["state"])
    def health() -> dict[str, str]:
        """The process runs."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["state"])
    def ready() -> dict[str, Any]:
        """The store answers."""
        return {"status": "ok", "documents": store.count()}

    app.openapi = lambda: _described(app)  # type: ignore[method-assign]  # FastAPI's way to change it
    return app


def _described(app: FastAPI) -> dict[str, Any]:
    """Return the description of the routes; what cannot be read gets 400 here, not FastAPI's 422."""
    if app.openapi_schema is None:
        told = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
        for methods in told["paths"].values():
            for about in methods.values():
                if about["responses"].pop("422", None):
                    about["responses"]["400"] = {"description": "A part of the request is wrong; the answer names it"}
        for unused in ("HTTPValidationError", "ValidationError"):
            told.get("components", {}).get("schemas", {}).pop(unused, None)
        app.openapi_schema = told
    return app.openapi_schema
