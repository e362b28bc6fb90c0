"""Gives each request an id, logs and counts it, and turns an unexpected exception into a 500 response.

Log lines are JSON, or readable text on a terminal. They contain only types, counts, times, statuses, and stack traces
without messages, because queries, ids and messages may quote a document. A client can choose only the request id.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import time
import traceback
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whorl.errors import WhorlError
from whorl.output.formatting import printable
from whorl.request_context import Trace, new_request
from whorl.service.requests_and_responses import DEFECT, failure, failure_of, header

#: Logger of the service. The `fields` of a record become members of its log line.
LOGGER = "whorl.service"


#: Encodes a log line in ASCII, because standard error may not support other characters.
_to_json = json.JSONEncoder(separators=(",", ":")).encode


class JsonLinesFormatter(logging.Formatter):
    """Formats a log line as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        return _to_json({"time": time, "level": record.levelname.lower(), **_members(record)})


class TerminalFormatter(logging.Formatter):
    """Formats a log line for a terminal: local time, event, and the most useful members."""

    def format(self, record: logging.LogRecord) -> str:
        members = _members(record)
        event, calls = members.pop("event"), members.pop("at", [])
        if event == "request":
            event = f"{members.pop('method')} {members.pop('route')} {members.pop('status')}"
            event += f" {1000 * members.pop('seconds'):.0f} ms"
            # The id connects the logs of several services. A terminal shows only one service, so leave out the id.
            members.pop("id", None)
        shown = [event, *(f"{name}={value}" for name, value in members.items())]
        if record.levelno >= logging.WARNING:
            shown.insert(0, f"{record.levelname.lower()}:")
        line = f"{datetime.fromtimestamp(record.created):%H:%M:%S} {' '.join(shown)}"
        return "\n  ".join(map(printable, [line, *calls]))


class RepeatFilter(logging.Filter):
    """Drops a record with the same message as the previous record, within a second.

    Without free file descriptors, asyncio logs an error for each waiting connection.
    """

    _last, _end = "", 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        message, now = record.getMessage(), time.monotonic()
        if message == self._last and now < self._end:
            return False
        self._last, self._end = message, now + 1
        return True


def _members(record: logging.LogRecord) -> dict[str, Any]:
    members: dict[str, Any] = {"event": record.getMessage(), **getattr(record, "fields", {})}
    if record.exc_info and record.exc_info[1] is not None:
        members |= describe_error(record.exc_info[1])
    return members


def describe_error(error: BaseException) -> dict[str, Any]:
    """Return the class and the stack of an error, innermost call last, without the message."""
    frames = traceback.extract_tb(error.__traceback__)
    return {"error": type(error).__name__, "at": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]}


def configuration(*, is_terminal: bool = False) -> dict[str, Any]:
    """Return the argument for `logging.config.dictConfig`: log to standard error, as JSON or for a terminal."""
    formatter = TerminalFormatter if is_terminal else JsonLinesFormatter
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": formatter}},
        "filters": {"repeats": {"()": RepeatFilter}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "stream": "ext://sys.stderr"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            LOGGER: {"level": "INFO"},
            "asyncio": {"filters": ["repeats"]},
            # This logger reports a server's unreadable responses as INFO. They may be defects of whorl, so log them.
            "whorl.engine": {"level": "INFO"},
            # On a terminal, `run` prints the address, so log only the shutdown.
            "uvicorn.error": {"level": "WARNING" if is_terminal else "INFO"},
            # pysolr logs requests and Solr's messages. They may contain texts, so do not log them.
            "pysolr": {"level": "CRITICAL"},
        },
    }


_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """Metrics of one service, which worker processes share in a folder; `working` and `waiting` count its requests."""

    def __init__(self, folder: Path | None = None) -> None:
        self.working = self.waiting = 0
        self._registry, self._folder = CollectorRegistry(), folder
        if folder is not None:
            _forget_ended_processes(folder)
        else:
            for collector in (ProcessCollector, PlatformCollector, GCCollector):
                collector(registry=self._registry)
        kinds = ("method", "route")
        counter = partial(Counter, registry=self._registry)
        histogram = partial(Histogram, buckets=_BUCKETS, registry=self._registry)
        gauge = partial(Gauge, multiprocess_mode="livesum", registry=self._registry)
        self._requests = counter("whorl_requests", "Requests that were answered.", (*kinds, "status"))
        self._seconds = histogram("whorl_request_seconds", "From a request to the end of its answer.", kinds)
        waited = "Time that one request waited for Solr or a cluster, of those that asked."
        self._engine_seconds = histogram("whorl_engine_seconds", waited, ("route",))
        #: Counters by the attribute of a request's trace that they sum.
        self._totals = {
            attribute: counter(f"whorl_{name}", meaning)
            for attribute, name, meaning in (
                ("engine_requests", "engine_requests", "Requests to Solr or a cluster, repeated ones included."),
                ("engine_retries", "engine_retries", "Requests to Solr or a cluster that repeated one that failed."),
                ("verified", "candidates_verified", "Candidates compared by sketch or tokens."),
                ("stored", "documents_stored", "Documents stored."),
            )
        }
        self._errors = counter("whorl_errors", "Requests that ended with an error, by its class.", ("error",))
        self._working = gauge("whorl_requests_working", "Requests that are being worked on.")
        self._waiting = gauge("whorl_requests_waiting", "Requests that wait for a slot.")

    def count_load(self, *, working: int = 0, waiting: int = 0) -> None:
        self.working, self.waiting = self.working + working, self.waiting + waiting
        self._working.set(self.working)
        self._waiting.set(self.waiting)

    def note(self, method: str, route: str, status: int, seconds: float, trace: Trace) -> None:
        """Count a request by the pattern of its route, because paths would make a time series for each document."""
        self._requests.labels(method, route, status).inc()
        self._seconds.labels(method, route).observe(seconds)
        if trace.engine_requests:
            self._engine_seconds.labels(route).observe(trace.engine_seconds)
        for attribute, total in self._totals.items():
            if number := getattr(trace, attribute):
                total.inc(number)
        if trace.error:
            self._errors.labels(trace.error).inc()

    def text(self) -> bytes:
        registry = self._registry if self._folder is None else CollectorRegistry()
        if self._folder is not None:
            MultiProcessCollector(registry, str(self._folder))  # type: ignore[no-untyped-call]
        return generate_latest(registry)


def _forget_ended_processes(folder: Path) -> None:
    if os.name != "posix":
        # On Windows, `os.kill(process, 0)` would end the process instead of checking it.
        return
    for path in folder.glob("gauge_live*.db"):
        process = int(path.stem.rpartition("_")[2])
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            mark_process_dead(process, str(folder))  # type: ignore[no-untyped-call]


#: Header with a client's request id, which identifies the request in the logs of all services that handle it.
REQUEST_ID = "X-Request-Id"
_REQUEST_ID = REQUEST_ID.lower().encode()
#: Headers of every response, unless a route sets them; they prevent content sniffing, embedding and caching.
_SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
_SANE = re.compile(r"[A-Za-z0-9._:+=-]{1,128}")
#: Status to log if the client has disconnected before the response, as in nginx.
_CLIENT_HAS_GONE = 499
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_log = logging.getLogger(LOGGER)


class RequestLog:
    """Assigns request ids, writes the log, and counts requests, including refused requests."""

    def __init__(self, app: ASGIApp, metrics: Metrics, routes: Iterable[BaseRoute]) -> None:
        self._app, self._metrics = app, metrics
        self._routes = [route for route in routes if isinstance(route, Route)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = header(scope, _REQUEST_ID)
        request_id = given if _SANE.fullmatch(given) else str(uuid.uuid4())
        status, began = 0, time.perf_counter()

        async def send_named(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = message["headers"]
                names = {name for name, _ in headers}
                cautious = [pair for pair in _SECURITY_HEADERS if pair[0] not in names]
                message["headers"] = [*headers, (_REQUEST_ID, request_id.encode()), *cautious]
            await send(message)

        with new_request(request_id) as request:
            trace = request.trace
            try:
                await self._app(scope, receive, send_named)
            except (HTTPException, WhorlError) as refused:
                if isinstance(refused, WhorlError):
                    trace.error = type(refused).__name__
                if not status:
                    await failure_of(scope["path"], refused)(scope, receive, send_named)
            except ClientDisconnect:
                trace.error = ClientDisconnect.__name__
            except asyncio.CancelledError:
                # At shutdown, requests are cancelled after a grace period; answer 503 if the response has not begun.
                if status:
                    raise
                trace.error = "CancelledError"
                stopping = "the service is being stopped; try again in a moment"
                await failure(scope["path"], 503, stopping)(scope, receive, send_named)
            except Exception as error:
                trace.error = type(error).__name__
                _log.error("defect", exc_info=error, extra={"fields": {"id": request_id}})
                if not status:
                    await failure(scope["path"], 500, DEFECT)(scope, receive, send_named)
            finally:
                self._note(scope, status or _CLIENT_HAS_GONE, time.perf_counter() - began, trace)

    def _note(self, scope: Scope, status: int, seconds: float, trace: Trace) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        found = scope.get("route") or next((one for one in self._routes if one.matches(scope)[0] != Match.NONE), None)
        route = getattr(found, "path", "none")
        self._metrics.note(method, route, status, seconds, trace)
        figures = {**vars(trace)}
        fields = {"id": figures.pop("request_id"), "method": method, "route": route, "status": status}
        fields |= {"seconds": round(seconds, 4), **figures, "engine_seconds": round(trace.engine_seconds, 4)}
        shown = {name: value for name, value in fields.items() if value not in ("", None)}
        _log.info("request", extra={"fields": shown})
