"""Middleware that gives each request an id, a line in the log and metrics, and turns defects into responses."""

from __future__ import annotations

import asyncio
import logging
import re
import time
import uuid

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whorl.context import Trace, new_request
from whorl.service.errors import DEFECT, failure, failure_of
from whorl.service.logs import LOGGER
from whorl.service.metrics import Metrics

#: Header for a request id given by the client, which appears in the logs of all services that handle the request.
REQUEST_ID = "X-Request-Id"
#: Default headers of every response: no content sniffing, no embedding, no caching.
_CAUTIOUS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_SANE = re.compile(r"[A-Za-z0-9._:+=-]{1,128}")
#: Status logged if the client disconnected before the response, as in nginx.
_CLIENT_HAS_GONE = 499
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_log = logging.getLogger(LOGGER)


class RequestLog:
    """Assigns request ids, writes the log and counts requests.

    Args:
        app: The next ASGI application.
        metrics: The metrics to update.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = given if _SANE.fullmatch(given) else str(uuid.uuid4())
        status, began = 0, time.perf_counter()

        async def send_named(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers[REQUEST_ID] = request_id
                for name, value in _CAUTIOUS.items():
                    headers.setdefault(name, value)
            await send(message)

        with new_request(request_id) as request:
            trace = request.trace
            try:
                await self._app(scope, receive, send_named)
            except HTTPException as refused:
                if not status:
                    await failure_of(scope["path"], refused)(scope, receive, send_named)
            except ClientDisconnect:
                trace.error = ClientDisconnect.__name__
            except asyncio.CancelledError:
                # The service is shutting down, and the grace period is over.
                if status:
                    raise
                trace.error = "CancelledError"
                answer = failure(scope["path"], 503, "the service is being stopped; try again in a moment")
                await answer(scope, receive, send_named)
            except Exception as error:
                trace.error = type(error).__name__
                _log.error("defect", exc_info=error, extra={"fields": {"id": request_id}})
                if not status:
                    answer = failure(scope["path"], 500, DEFECT)
                    await answer(scope, receive, send_named)
            finally:
                self._note(scope, status or _CLIENT_HAS_GONE, time.perf_counter() - began, trace)

    def _note(self, scope: Scope, status: int, seconds: float, trace: Trace) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = getattr(scope.get("route"), "path", "none")
        self._metrics.note(method, route, status, seconds, trace)
        fields = {
            "id": trace.request_id,
            "method": method,
            "route": route,
            "status": status,
            "seconds": round(seconds, 4),
            "plan": trace.plan,
            "query_length": trace.query_length,
            "hits": trace.hits,
            "verified": trace.verified,
            "stored": trace.stored,
            "engine_requests": trace.engine_requests,
            "engine_retries": trace.engine_retries,
            "engine_seconds": round(trace.engine_seconds, 4),
            "error": trace.error,
        }
        _log.info(
            "request", extra={"fields": {name: value for name, value in fields.items() if value not in ("", None)}}
        )
