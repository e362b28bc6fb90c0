"""Builds the HTTP application: whorl's own routes and Alfresco-compatible routes, on one store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from anyio import to_thread
from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware

from whorl.ingest.extraction.reader import Reader
from whorl.service.alfresco.routes import alfresco_routes
from whorl.service.credentials import Access, Credentials, Tickets
from whorl.service.description import describe, operation_id
from whorl.service.errors import Json, answer_failures
from whorl.service.middleware.limits import Admission, Bodies, BodyMemory, ClientLimit, RequestGauge, RequestSemaphore
from whorl.service.middleware.request_checks import (
    ANY,
    Authentication,
    Checks,
    Framing,
    HeadRequests,
    HostCheck,
    Hosts,
    Methods,
)
from whorl.service.middleware.request_log import REQUEST_ID, Metrics, RequestLog
from whorl.service.routes.documents import FILE_READERS, documents_routes
from whorl.service.routes.duplicates import DuplicateSearches, duplicates_routes
from whorl.service.routes.page import page_routes
from whorl.service.routes.search import search_routes
from whorl.service.routes.similar import similar_routes
from whorl.service.routes.status import health_routes, store_routes
from whorl.service.uploads import Uploads
from whorl.settings.settings import Settings
from whorl.store import Store

#: Number of threads for the page's files and for log-ins, in addition to the threads that the settings allow.
_FURTHER_THREADS = 8


@dataclass(frozen=True, slots=True)
class SharedState:
    """State that all requests share, even if several worker processes answer them."""

    tickets: Tickets
    searches: DuplicateSearches
    #: Folder where all worker processes keep their metrics.
    metrics: Path | None = None


def create_app(
    store: Store,
    credentials: Credentials = Credentials(),  # noqa: B008 - frozen
    settings: Settings | None = None,
    hosts: Hosts | None = None,
    state: SharedState | None = None,
) -> FastAPI:
    """Return the service over a store, which must stay open as long as the service runs.

    Every route under /api and /alfresco requires the credentials. Without `hosts`, clients may call the service by any
    host name. Without `state`, the service has its own state, which ends with the service.
    """
    settings = Settings() if settings is None else settings
    tickets, searches = Tickets(), DuplicateSearches(store)
    if state is not None:
        tickets, searches = state.tickets, state.searches
    access, gauge = Access(credentials, tickets), RequestGauge()
    metrics = Metrics(gauge, None if state is None else state.metrics)
    requests, writes = (
        RequestSemaphore(most, gauge, settings.max_waiting) for most in (settings.max_concurrent, settings.max_uploads)
    )
    files = Reader(settings.file_limits, max(1, FILE_READERS // settings.workers))
    memory = BodyMemory(settings.max_concurrent * max(settings.max_text_bytes, settings.max_line_bytes))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = (
            settings.max_concurrent + settings.max_uploads + _FURTHER_THREADS
        )
        yield
        if state is None:
            await to_thread.run_sync(searches.close)
        await to_thread.run_sync(files.close)

    app = FastAPI(
        title="whorl",
        version=version("whorl"),
        summary="Find the documents that share content with a document.",
        default_response_class=Json,
        generate_unique_id_function=operation_id,
        # FastAPI's documentation pages load scripts from other sites. These scripts would get the same rights as the
        # page at /.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    # The router tries routes in this order. So the most frequent routes come first.
    routers = [
        health_routes(store, metrics),
        search_routes(store),
        similar_routes(store),
        store_routes(store, is_read_only=settings.is_read_only),
        documents_routes(store, Uploads(store, settings, writes, memory), files, is_read_only=settings.is_read_only),
        duplicates_routes(searches, is_read_only=settings.is_read_only),
        page_routes(),
        alfresco_routes(store, access, is_read_only=settings.is_read_only),
    ]
    routes = [*app.routes, *(route for router in routers for route in router.routes)]
    # Starlette runs the middleware added last first.
    app.add_middleware(Admission, semaphore=requests, seconds=settings.request_timeout_seconds)
    app.add_middleware(Bodies, settings=settings, memory=memory)
    app.add_middleware(ClientLimit, most=settings.max_per_client, is_open=credentials.is_open)
    hosts = Hosts("localhost", [ANY], settings.allowed_origins) if hosts is None else hosts
    app.add_middleware(Checks, checks=[HostCheck(hosts), Authentication(access), Methods(routes)])
    app.add_middleware(HeadRequests)
    app.add_middleware(RequestLog, metrics=metrics)
    if settings.allowed_origins:
        # Add this last, so that failures have CORS headers, too. Pages of these origins can then read them.
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.allowed_origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["*"],
            # Alfresco's clients send credentials. Allow this only to the listed origins, never to any origin.
            allow_credentials=True,
            expose_headers=[REQUEST_ID, "Retry-After"],
        )
    app.add_middleware(Framing)
    answer_failures(app)
    for router in routers:
        app.include_router(router)
    described = cache(lambda: describe(app, credentials))
    app.openapi = described  # type: ignore[method-assign]  # FastAPI's own way to change the schema
    return app


def configured_app(store: Store, settings: Settings, state: SharedState | None = None) -> FastAPI:
    """Return the service with the credentials and the address of the settings."""
    credentials, hosts = access_of(settings)
    return create_app(store, credentials, settings, hosts, state)


def access_of(settings: Settings) -> tuple[Credentials, Hosts]:
    """Return the required credentials and the allowed hosts.

    Raises:
        ParameterError: A key, a password, a host or an origin in the settings is not valid.
    """
    credentials = Credentials(settings.api_keys, settings.login)
    names = settings.allowed_hosts if credentials.is_open else (ANY, *settings.allowed_hosts)
    return credentials, Hosts(settings.listen[0], names, settings.allowed_origins)
