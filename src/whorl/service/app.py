"""Builds the HTTP application: whorl's own routes and Alfresco-compatible routes, on one store.

FastAPI describes parameters and responses in OpenAPI. `describe` adds the credentials and the failures.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from warnings import catch_warnings, simplefilter

from anyio import to_thread
from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from whorl.ingest.extraction.reader_pool import ReaderPool
from whorl.service.alfresco.routes import alfresco_routes
from whorl.service.bulk_upload import Upload
from whorl.service.credentials import Authenticator, Credentials, Tickets
from whorl.service.middleware.limits import (
    AdmissionControl,
    BodyMemory,
    BodyReader,
    ClientLimit,
    RequestSemaphore,
    Turns,
)
from whorl.service.middleware.logs_and_metrics import REQUEST_ID, Metrics, RequestLog
from whorl.service.middleware.request_checks import (
    ANY,
    AllowedHosts,
    AllowedMethods,
    MountPrefix,
    RequestChecks,
    RequestSmugglingGuard,
    check_credentials,
    check_host,
)
from whorl.service.requests_and_responses import (
    TICKETS,
    AlfrescoFailure,
    Failure,
    Json,
    accesses_store,
    answer_failures,
    has_alfresco_format,
)
from whorl.service.routes.documents import FILE_READERS, documents_routes
from whorl.service.routes.duplicates import DuplicateSearches, duplicates_routes
from whorl.service.routes.page import page_routes
from whorl.service.routes.query_and_text import search_routes, similar_routes
from whorl.service.routes.status import health_routes, store_routes
from whorl.settings.settings import Settings
from whorl.store import Store

_Json: TypeAlias = dict[str, Any]
_MEANINGS = {
    400: "A part of the request is not valid; the message names it",
    401: "The request has no valid key, password or ticket",
    403: "Not allowed: the service is read-only, the host name is not listed, or the page's origin is not listed",
    404: "The document, job or ticket does not exist",
    408: "The body did not arrive in time",
    409: "The store lacks data that the request needs, or a job has not finished",
    413: "The body is too large",
    415: "The body's content type is not supported",
    429: "This client sends too many requests at once",
    502: "The search engine of the store answered with an error",
    503: "The service is busy, or the time limit was reached; Retry-After has the seconds until the next attempt",
}
_OF_THE_STORE, _OF_A_BODY = (401, 403, 404, 409, 429, 502, 503), (408, 413, 415)
_SECURITY: _Json = {
    "key": {"type": "http", "scheme": "bearer", "description": "A key of WHORL_API_KEY"},
    "password": {"type": "http", "scheme": "basic", "description": "WHORL_USER and WHORL_PASSWORD, or a ticket"},
}
#: Number of threads for the page's files and for log-ins, in addition to the threads that the settings allow.
_ADDITIONAL_THREADS = 8


class SharedState(NamedTuple):
    """State that all requests share, even if several worker processes handle them."""

    tickets: Tickets
    searches: DuplicateSearches
    #: Folder for the metrics of all worker processes.
    metrics: Path | None = None


def create_app(
    store: Store,
    credentials: Credentials = Credentials(),  # noqa: B008 - frozen
    settings: Settings | None = None,
    hosts: AllowedHosts | None = None,
    state: SharedState | None = None,
) -> FastAPI:
    """Return the HTTP application of a store, which must stay open as long as the application runs.

    Routes under /api and /alfresco require the credentials. By default, any host name is allowed.
    """
    settings = settings or Settings()
    shared = state or SharedState(Tickets(), DuplicateSearches(store))
    is_read_only = settings.is_read_only or store.engine.is_read_only
    authenticator, metrics = Authenticator(credentials, shared.tickets), Metrics(shared.metrics)
    requests, writes = (
        RequestSemaphore(most, metrics, settings.max_waiting)
        for most in (settings.max_concurrent, settings.max_uploads)
    )
    files = ReaderPool(settings.file_limits, max(1, FILE_READERS // settings.workers))
    memory = BodyMemory(settings.max_concurrent * max(settings.max_text_bytes, settings.max_line_bytes))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = (
            settings.max_concurrent + settings.max_uploads + _ADDITIONAL_THREADS
        )
        yield
        if state is None:
            await to_thread.run_sync(shared.searches.close)
        await to_thread.run_sync(files.close)

    app = FastAPI(
        title="whorl",
        version=version("whorl"),
        summary="Find the documents that share content with a document.",
        default_response_class=Json,
        generate_unique_id_function=operation_id,
        # Leave out FastAPI's documentation pages, which load scripts from other sites with the rights of the page at /.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    # The router tries routes in this order, so the most frequent routes come first.
    routers = [
        health_routes(store, metrics),
        search_routes(store),
        similar_routes(store),
        store_routes(store, is_read_only=is_read_only),
        documents_routes(store, partial(Upload, store, settings, writes, memory), files, is_read_only=is_read_only),
        duplicates_routes(shared.searches, is_read_only=is_read_only),
        page_routes(),
        alfresco_routes(store, authenticator, is_read_only=is_read_only),
    ]
    routes = [*app.routes, *(route for router in routers for route in router.routes)]
    for route in routes:
        # Let routes for GET also answer HEAD: the server drops the body.
        if isinstance(route, APIRoute) and "GET" in (route.methods or ()):
            route.methods = {*(route.methods or ()), "HEAD"}
    # The middleware that is added last runs first. An embedded store searches in this process, so its requests take
    # turns. With a server, a request mostly waits for the server, so it needs no turn.
    turn = Turns().turn if store.engine.runs_in_process else nullcontext
    app.add_middleware(AdmissionControl, semaphore=requests, seconds=settings.request_timeout_seconds, turn=turn)
    app.add_middleware(BodyReader, settings=settings, memory=memory)
    app.add_middleware(ClientLimit, most=settings.max_per_client, is_open=credentials.is_open)
    hosts = hosts or AllowedHosts("localhost", [ANY], settings.allowed_origins)
    authentication = [] if credentials.is_open else [partial(check_credentials, authenticator)]
    app.add_middleware(RequestChecks, checks=[partial(check_host, hosts), *authentication, AllowedMethods(routes)])
    app.add_middleware(RequestLog, metrics=metrics, routes=routes)
    if settings.allowed_origins:
        # Added after the checks, this runs before them, so pages of the allowed origins can read error responses, too.
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.allowed_origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["*"],
            # Alfresco's clients send credentials; only pages of the listed origins may do so.
            allow_credentials=True,
            expose_headers=[REQUEST_ID, "Retry-After"],
        )
    app.add_middleware(RequestSmugglingGuard)
    app.add_middleware(MountPrefix)
    answer_failures(app)
    for router in routers:
        app.include_router(router)
    app.openapi = cache(lambda: describe(app, credentials))  # type: ignore[method-assign]  # FastAPI's own way to change the schema
    return app


def create_configured_app(store: Store, settings: Settings, state: SharedState | None = None) -> FastAPI:
    credentials, hosts = access_of(settings)
    return create_app(store, credentials, settings, hosts, state)


def access_of(settings: Settings) -> tuple[Credentials, AllowedHosts]:
    """Return the required credentials and allowed hosts; raise ParameterError if a setting for them is invalid."""
    credentials = Credentials(settings.api_keys, settings.login)
    names = settings.allowed_hosts if credentials.is_open else (ANY, *settings.allowed_hosts)
    return credentials, AllowedHosts(settings.listen[0], names, settings.allowed_origins)


def operation_id(route: APIRoute) -> str:
    return f"alfresco_{route.name}" if has_alfresco_format(route.path) else route.name


def describe(app: FastAPI, credentials: Credentials) -> _Json:
    with catch_warnings():
        # Ignore FastAPI's warning that HEAD has the operation ID of GET: the description leaves out HEAD.
        simplefilter("ignore")
        # A proxy may put a prefix before all paths, so the address of the server is relative.
        description = get_openapi(
            title=app.title, version=app.version, summary=app.summary, routes=app.routes, servers=[{"url": "."}]
        )
    for path, methods in description["paths"].items():
        methods.pop("head", None)
        for method, about in methods.items():
            _describe_failures(path, about)
            if not credentials.is_open and accesses_store(path) and (method, path) != ("post", TICKETS):
                about["security"] = [{name: []} for name in _SECURITY]
    components = description.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    either: TypeAdapter[Any] = TypeAdapter(Failure | AlfrescoFailure)
    failures: _Json = either.json_schema(ref_template="#/components/schemas/{model}")["$defs"]
    failures["Failure"]["examples"] = [{"error": {"statusCode": 400, "message": "the store has no field 'titel'"}}]
    schemas |= failures
    if not credentials.is_open:
        components["securitySchemes"] = _SECURITY
    return description


def _describe_failures(path: str, about: _Json) -> None:
    """Describe the failures of a route in OpenAPI. Invalid requests get status 400, not FastAPI's 422."""
    statuses = {400} if about["responses"].pop("422", None) else set()
    if accesses_store(path):
        statuses |= {*_OF_THE_STORE}
    if "requestBody" in about:
        statuses |= {400, *_OF_A_BODY}
    if path == "/readyz":
        statuses |= {409, 502, 503}
    if path == f"{TICKETS}/-me-":
        # These routes show or delete the ticket of the request, so a request with a key or a password gets status 400.
        statuses |= {400}
    name = "AlfrescoFailure" if has_alfresco_format(path) else "Failure"
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}
    for status in sorted({403, *statuses}):
        about["responses"].setdefault(str(status), {"description": _MEANINGS[status], "content": content})
