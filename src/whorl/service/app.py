"""The HTTP service: a store behind whorl's own routes and Alfresco's; tests drive `create_app` without a socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from anyio import to_thread
from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from fastapi.openapi.utils import get_openapi

from whorl.service.alfresco.neighbours import neighbour_routes
from whorl.service.alfresco.routes import alfresco_routes
from whorl.service.credentials import Access, Credentials
from whorl.service.errors import Json, answer_failures
from whorl.service.jobs import Jobs
from whorl.service.metrics import Metrics
from whorl.service.middleware.admission import Admission, ClientLimit, Load, Room
from whorl.service.middleware.authentication import Authentication
from whorl.service.middleware.bodies import Bodies, BodyMemory
from whorl.service.middleware.hosts import ANY, HostCheck, Hosts
from whorl.service.middleware.request_log import REQUEST_ID, RequestLog
from whorl.service.routes.compare import compare_routes
from whorl.service.routes.documents import documents_routes
from whorl.service.routes.duplicates import Found, duplicates_routes
from whorl.service.routes.health import health_routes
from whorl.service.routes.page import page_routes
from whorl.service.routes.passages import passages_routes
from whorl.service.routes.search import search_routes
from whorl.service.routes.similar import similar_routes
from whorl.service.routes.snippets import snippets_routes
from whorl.service.routes.sources import sources_routes
from whorl.service.routes.store import store_routes
from whorl.service.routes.text import text_routes
from whorl.service.uploads import Uploads
from whorl.settings.settings import Settings
from whorl.store import Store

#: Threads beside those that the settings allow: for the page's files, and for log-ins.
_FURTHER_THREADS = 8


def create_app(
    store: Store,
    credentials: Credentials = Credentials(),  # noqa: B008 - frozen
    settings: Settings | None = None,
    hosts: Hosts | None = None,
) -> FastAPI:
    """Return the service over a store.

    Args:
        store: Open for as long as the service runs.
        credentials: What is asked for on every route under /api and /alfresco.
        settings: The limits; as they are where nothing is configured, if None.
        hosts: By which names the service may be called; None for any.
    """
    settings = Settings() if settings is None else settings
    access, load = Access(credentials), Load()
    metrics = Metrics(load)
    searches, writes = (
        Room(most, load, settings.max_waiting) for most in (settings.max_concurrent, settings.max_uploads)
    )
    jobs = Jobs[Found]()
    memory = BodyMemory(settings.max_concurrent * max(settings.max_text_bytes, settings.max_line_bytes))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = (
            settings.max_concurrent + settings.max_uploads + _FURTHER_THREADS
        )
        yield
        await to_thread.run_sync(jobs.close)

    app = FastAPI(
        title="whorl",
        summary="Find the documents that share content with a document.",
        default_response_class=Json,
        # Their pages would load scripts from elsewhere, which could then do whatever the page at / may.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    # The last is the outermost.
    app.add_middleware(Admission, room=searches, seconds=settings.request_timeout_seconds)
    app.add_middleware(Bodies, settings=settings, memory=memory)
    app.add_middleware(ClientLimit, most=settings.max_per_client, is_open=credentials.is_open)
    app.add_middleware(Authentication, access=access)
    app.add_middleware(HostCheck, hosts=Hosts("localhost", [ANY], settings.allowed_origins) if hosts is None else hosts)
    app.add_middleware(RequestLog, metrics=metrics)
    if settings.allowed_origins:
        # Outside the log, so that failures can be read by these pages, too.
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.allowed_origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["*"],
            # By name only, never for any: clients of Alfresco ask for it.
            allow_credentials=True,
            expose_headers=[REQUEST_ID, "Retry-After"],
        )
    answer_failures(app)
    app.include_router(search_routes(store))
    app.include_router(similar_routes(store))
    app.include_router(sources_routes(store))
    app.include_router(store_routes(store, is_read_only=settings.is_read_only))
    app.include_router(
        documents_routes(store, Uploads(store, settings, writes, memory), is_read_only=settings.is_read_only)
    )
    app.include_router(text_routes(settings.file_limits))
    app.include_router(compare_routes(store))
    app.include_router(passages_routes(store))
    app.include_router(snippets_routes(store))
    app.include_router(duplicates_routes(store, jobs, is_read_only=settings.is_read_only))
    app.include_router(page_routes())
    app.include_router(alfresco_routes(store, access))
    app.include_router(neighbour_routes(store, access, is_read_only=settings.is_read_only))
    app.include_router(health_routes(store, metrics))

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
