"""Bodies: of which kind, how long and how slow they may be; read whole before a request takes a place from others.

Documents that are stored come in any number, so their bodies are not read here, only watched.
"""

from __future__ import annotations

import asyncio
import math

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whorl.service.paths import is_of_the_store, is_upload, speaks_as_alfresco
from whorl.settings.settings import Settings

#: A client that is slower than this, all in all, is let go after the time in which it may be silent.
LEAST_BYTES_A_SECOND = 1_000
_JSON = "application/json"
_JSON_LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines")


class BodyMemory:
    """Counts the bytes of all bodies that are kept at the moment.

    Args:
        most: Of them, at most.
    """

    def __init__(self, most: int) -> None:
        self._most, self._kept = most, 0

    def take(self, count: int) -> None:
        """Keep some more.

        Raises:
            HTTPException: 503, others are kept already.
        """
        if self._kept + count > self._most:
            raise HTTPException(503, "the bodies of other requests leave no room for this one; try again")
        self._kept += count

    def give(self, count: int) -> None:
        """Keep some no longer."""
        self._kept -= count


class Bodies:
    """Reads the bodies of requests of the store.

    Args:
        app: What answers them.
        settings: How large a body may be, and how slow.
        memory: Where the bytes of bodies are counted.
    """

    def __init__(self, app: ASGIApp, settings: Settings, memory: BodyMemory) -> None:
        self._app, self._settings, self._memory = app, settings, memory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not is_of_the_store(scope["path"]):
            await self._app(scope, receive, send)
            return
        _require_media_type(scope)
        silence = self._settings.body_timeout_seconds
        if is_upload(scope):
            await self._app(scope, Paced(receive, silence, math.inf), send)
            return
        paced = Paced(receive, silence, self._settings.request_timeout_seconds)
        body = bytearray()
        try:
            await self._read(paced, body, self._limit(scope))
            await self._app(scope, _replayed(bytes(body), receive), send)
        finally:
            self._memory.give(len(body))

    async def _read(self, receive: Receive, body: bytearray, limit: int) -> None:
        """Read a whole body.

        Raises:
            HTTPException: 413, it is too long, whatever its headers say.
            ClientDisconnect: Its client has gone.
        """
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            part = message.get("body", b"")
            if len(body) + len(part) > limit:
                raise HTTPException(413, _too_large(limit))
            self._memory.take(len(part))
            body += part
            if not message.get("more_body", False):
                return

    def _limit(self, scope: Scope) -> int:
        limit = self._settings.max_text_bytes
        if speaks_as_alfresco(scope["path"]):
            limit = self._settings.max_search_bytes
        length = Headers(scope=scope).get("Content-Length", "")
        if length.isdecimal() and int(length[:20]) > limit:
            raise HTTPException(413, _too_large(limit))
        return limit


class Paced:
    """Receives a body from a client that is not too slow; only waiting for the client counts.

    Args:
        receive: Where it comes from.
        silence: Seconds in which nothing need come.
        whole: Seconds in which all of it has to be there.
    """

    def __init__(self, receive: Receive, silence: float, whole: float) -> None:
        self._receive, self._silence, self._whole = receive, silence, whole
        self._waited, self._received = 0.0, 0

    async def __call__(self) -> Message:
        """Receive some more of it.

        Raises:
            HTTPException: 408, the client is too slow.
        """
        at_least = self._silence + self._received / LEAST_BYTES_A_SECOND - self._waited
        limits = (
            (self._silence, f"nothing more of the body came for {self._silence:g} s"),
            (at_least, f"the body came slower than {LEAST_BYTES_A_SECOND:,} bytes a second"),
            (self._whole - self._waited, f"the body was not there within {self._whole:g} s"),
        )
        seconds, reason = min(limits, key=lambda limit: limit[0])
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(seconds):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, f"{reason}; send it faster", {"Connection": "close"}) from None
        # What it took beyond that, this process was busy with something else.
        self._waited += min(loop.time() - began, seconds)
        self._received += len(message.get("body", b""))
        return message


def _require_media_type(scope: Scope) -> None:
    if scope["method"] != "POST":
        return
    media_type = Headers(scope=scope).get("Content-Type", "").partition(";")[0].strip().lower()
    wanted = _JSON_LINES if is_upload(scope) else (_JSON,)
    if media_type not in wanted:
        got = f", not {media_type:.80}" if media_type else ""
        raise HTTPException(415, f"send it with Content-Type: {wanted[0]}{got}")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return what receives a body that was read before, and then whatever comes behind it."""
    parts = [body]

    async def again() -> Message:
        if parts:
            return {"type": "http.request", "body": parts.pop(), "more_body": False}
        return await receive()

    return again


def _too_large(limit: int) -> str:
    return f"a body here has at most {limit:,} bytes"
