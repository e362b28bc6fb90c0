"""The gate before all routes: who may ask, in what form, and how much; pure ASGI, so that nothing is held in memory."""

from __future__ import annotations

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whorl.service.access import Access
from whorl.service.failures import ALFRESCO, failure

#: Bytes of a body, at most: an Alfresco search, and a text that others are to be found for.
MOST_OF_A_SEARCH, MOST_OF_A_TEXT = 1_000_000, 64_000_000
#: Where documents are sent, in any number and so without a limit to the whole.
DOCUMENTS = "/api/documents"
TICKETS = f"{ALFRESCO}/api/-default-/public/authentication/versions/1/tickets"
_JSON = "application/json"
_JSON_LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines")


class Gate:
    """Lets requests through that may be answered.

    Args:
        app: What answers them.
        access: Who may ask.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # The path is the one that chooses the route, which no Host header can change.
        path, headers = scope["path"], Headers(scope=scope)
        refused = self._refused(scope, headers)
        if refused:
            status, message = refused
            challenge = {"WWW-Authenticate": 'Basic realm="whorl", charset="UTF-8"'} if status == 401 else {}
            await failure(path, status, message, headers=challenge)(scope, receive, send)
            return
        limit = _limit(path)
        await self._app(scope, receive if limit is None else _limited(receive, limit), send)

    def _refused(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        path, method = scope["path"], scope["method"]
        is_ours = path.startswith(("/api/", f"{ALFRESCO}/"))
        query = scope["query_string"].decode("latin-1")
        is_log_in = (method, path) == ("POST", TICKETS)
        if is_ours and not is_log_in and not self._access.admits(headers.get("Authorization", ""), query):
            return 401, "this needs Authorization: Bearer KEY, or Basic with the user and password, or a ticket"
        if not is_ours or method != "POST":
            return None
        media_type = headers.get("Content-Type", "").partition(";")[0].strip().lower()
        wanted = _JSON_LINES if path == DOCUMENTS else (_JSON,)
        if media_type not in wanted:
            return 415, f"send it with Content-Type: {wanted[0]}" + (f", not {media_type:.80}" if media_type else "")
        limit, length = _limit(path), headers.get("Content-Length", "")
        if limit is not None and length.isdecimal() and int(length[:20]) > limit:
            return 413, _too_large(limit)
        return None


def _limit(path: str) -> int | None:
    if path == DOCUMENTS:
        return None
    return MOST_OF_A_SEARCH if path.startswith(ALFRESCO) else MOST_OF_A_TEXT


def _limited(receive: Receive, limit: int) -> Receive:
    """Return what receives a body and stops when it is longer than it may be, whatever its headers say."""
    received = 0

    async def receive_some() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            raise HTTPException(413, _too_large(limit))
        return message

    return receive_some


def _too_large(limit: int) -> str:
    return f"a body here has at most {limit:,} bytes"
