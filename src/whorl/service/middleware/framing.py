"""Refuses requests whose end is ambiguous: a proxy could see another request after them (RFC 9112, section 6)."""

from __future__ import annotations

import logging

from starlette.types import ASGIApp, Receive, Scope, Send

from whorl.service.errors import failure
from whorl.service.logs import LOGGER

_log = logging.getLogger(LOGGER)


class Framing:
    """Answers 400 and closes the connection, so that bytes after such a request are not read as another one.

    Args:
        app: The application for all other requests.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (reason := _ambiguity(scope)):
            _log.warning("refused", extra={"fields": {"reason": reason}})
            await failure(scope["path"], 400, reason, headers={"Connection": "close"})(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _ambiguity(scope: Scope) -> str:
    """Return the reason why the end of a request is ambiguous, or ""."""
    names = {name.lower() for name, _ in scope["headers"]}
    if b"transfer-encoding" not in names:
        return ""
    if b"content-length" in names:
        return "a request has Transfer-Encoding or Content-Length, not both"
    if scope.get("http_version", "1.1") in ("0.9", "1.0"):
        return "Transfer-Encoding needs HTTP/1.1"
    return ""
