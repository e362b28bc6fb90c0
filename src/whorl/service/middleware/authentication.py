"""The gate before all routes: who may ask, in what form, and how much; pure ASGI, so that nothing is held in memory."""

from __future__ import annotations

import asyncio

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whorl.service.credentials import Access
from whorl.service.errors import ALFRESCO, failure
from whorl.service.middleware.hosts import Hosts
from whorl.settings.settings import Settings

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
        settings: How large a body may be, and how slow.
        hosts: By which names the service may be called; None for any.
    """

    def __init__(self, app: ASGIApp, access: Access, settings: Settings, hosts: Hosts | None = None) -> None:
        self._app, self._access, self._settings, self._hosts = app, access, settings, hosts

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
        await self._app(scope, _limited(receive, self._limit(path), self._settings.body_timeout_seconds), send)

    def _refused(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        path, method = scope["path"], scope["method"]
        host = headers.get("Host", "")
        if self._hosts is not None and not self._hosts.admit(host):
            return 403, f"this service is not called {host:.80}; WHORL_ALLOWED_HOSTS may name it"
        is_ours = is_of_the_store(path)
        query = scope["query_string"].decode("latin-1")
        if is_ours and not is_log_in(scope) and not self._access.admits(headers.get("Authorization", ""), query):
            return 401, "this needs Authorization: Bearer KEY, or Basic with the user and password, or a ticket"
        if not is_ours or method != "POST":
            return None
        media_type = headers.get("Content-Type", "").partition(";")[0].strip().lower()
        wanted = _JSON_LINES if path == DOCUMENTS else (_JSON,)
        if media_type not in wanted:
            return 415, f"send it with Content-Type: {wanted[0]}" + (f", not {media_type:.80}" if media_type else "")
        limit, length = self._limit(path), headers.get("Content-Length", "")
        if limit is not None and length.isdecimal() and int(length[:20]) > limit:
            return 413, _too_large(limit)
        return None

    def _limit(self, path: str) -> int | None:
        if path == DOCUMENTS:
            return None
        return self._settings.max_search_bytes if path.startswith(ALFRESCO) else self._settings.max_text_bytes


def is_of_the_store(path: str) -> bool:
    """Say whether a path is one of those that ask or change the store."""
    return path.startswith(("/api/", f"{ALFRESCO}/"))


def is_log_in(scope: Scope) -> bool:
    """Say whether a request asks for a ticket, which needs no key."""
    return (scope["method"], scope["path"]) == ("POST", TICKETS)


def _limited(receive: Receive, limit: int | None, silence_seconds: float) -> Receive:
    """Return what receives a body and stops when it is longer or slower than it may be, whatever its headers say."""
    received, is_whole = 0, False

    async def receive_some() -> Message:
        nonlocal received, is_whole
        try:
            # Behind the body comes the end of the connection, which has time.
            async with asyncio.timeout(None if is_whole else silence_seconds):
                message = await receive()
        except TimeoutError:
            raise HTTPException(
                408, f"nothing more of the body came for {silence_seconds:g} s; documents before that may be stored"
            ) from None
        is_whole = not message.get("more_body", False)
        received += len(message.get("body", b""))
        if limit is not None and received > limit:
            raise HTTPException(413, _too_large(limit))
        return message

    return receive_some


def _too_large(limit: int) -> str:
    return f"a body here has at most {limit:,} bytes"
