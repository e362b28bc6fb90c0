"""Checks request bodies: media type, size, speed and JSON.

A whole body is read before its request takes a slot. Uploads may have any length, so this module only checks their
speed, and the route reads them. Parsing a large body holds the interpreter's lock and blocks all other requests, so the
keys and values of JSON are counted, and limited, while the body arrives.
"""

from __future__ import annotations

import asyncio
import json
import math
import threading

from fastapi import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whorl.errors import ParameterError
from whorl.request_context import cancellation
from whorl.service.request_paths import brings_text, header, is_log_in, is_of_the_store, is_upload
from whorl.settings.settings import Settings

#: Maximum number of keys and values of a request. A list of ids to delete may have 10,000.
MOST_VALUES = 20_000
#: Maximum depth of nested arrays and objects.
MOST_DEPTH = 100
_OTHER_BYTES = bytes(set(range(256)) - set(b",:[]{}"))
_OPENING, _CLOSING = b"[{", b"]}"


class JsonMeter:
    """Counts the keys and values of a JSON text in UTF-8. Error messages call the text `what`."""

    def __init__(self, what: str, most_values: int = MOST_VALUES) -> None:
        self._what, self._most_values = what, most_values
        self._values = self._depth = 0
        self._is_in_string = False
        self._held = b""

    def feed(self, part: bytes) -> None:
        """Count the next part.

        Raises:
            ParameterError: The text has too many keys and values, or nests too deep.
        """
        part = self._held + part
        # An escape sequence may be split between two parts.
        self._held = b"\\" if (len(part) - len(part.rstrip(b"\\"))) % 2 else b""
        part = part.removesuffix(self._held).replace(b"\\\\", b"").replace(b'\\"', b"")
        pieces = part.split(b'"')
        marks = b"".join(pieces[self._is_in_string :: 2]).translate(None, _OTHER_BYTES)
        self._is_in_string ^= len(pieces) % 2 == 0
        self._values += len(marks) - sum(map(marks.count, (b"]", b"}")))
        if self._values > self._most_values:
            raise ParameterError(f"{self._what} has at most {self._most_values:,} keys and values")
        for mark in marks.translate(None, b",:"):
            self._depth += 1 if mark in _OPENING else -1
            if self._depth > MOST_DEPTH:
                raise ParameterError(f"{self._what} nests at most {MOST_DEPTH} levels deep")
            if self._depth < 0:
                raise ParameterError(f"{self._what} is no JSON: it closes more brackets than it opens")


#: A client must send at least this number of bytes a second on average, after the permitted seconds of silence.
LEAST_BYTES_A_SECOND = 1_000
#: Size limit for bodies that are not needed, or hold only a name and a password.
_FEW_BYTES = 4_096
#: Size limit for the bodies of all log-ins together. Log-ins need no key.
_LOG_IN_BYTES = 1_000_000
_JSON = "application/json"
_JSON_LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines")


class BodyMemory:
    """Counts the bytes of all bodies in memory, and limits them."""

    def __init__(self, most: int) -> None:
        self._most, self._kept = most, 0

    def take(self, count: int) -> None:
        """Reserve bytes.

        Raises:
            HTTPException: 503, the bodies of other requests leave no room.
        """
        if self._kept + count > self._most:
            raise HTTPException(503, "the bodies of other requests leave no room for this one; try again")
        self._kept += count

    def give(self, count: int) -> None:
        self._kept -= count


class Bodies:
    """Reads and checks the bodies of requests of the store."""

    def __init__(self, app: ASGIApp, settings: Settings, memory: BodyMemory) -> None:
        self._app, self._settings, self._memory = app, settings, memory
        # Count log-ins separately, so that clients without a key take no memory from clients with a key.
        self._log_in_memory = BodyMemory(_LOG_IN_BYTES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not is_of_the_store(scope["path"]) or _has_no_body(scope):
            await self._app(scope, receive, send)
            return
        _require_media_type(scope)
        silence = self._settings.body_timeout_seconds
        if is_upload(scope):
            ahead = ReadAhead(receive, cancellation())
            try:
                await self._app(scope, RateLimit(ahead, silence, math.inf), send)
            finally:
                ahead.close()
            return
        limited = RateLimit(receive, silence, self._settings.request_timeout_seconds)
        memory = self._log_in_memory if is_log_in(scope) else self._memory
        body = bytearray()
        try:
            await _read(limited, body, self._limit(scope), memory)
            await self._app(scope, _replayed(bytes(body), receive), send)
        finally:
            memory.give(len(body))

    def _limit(self, scope: Scope) -> int:
        """Return the size limit for the body of a request.

        Raises:
            HTTPException: 413, its Content-Length exceeds the limit.
        """
        limit = _FEW_BYTES
        if brings_text(scope):
            limit = self._settings.max_text_bytes
        elif scope["method"] == "POST" and not is_log_in(scope):
            limit = self._settings.max_search_bytes
        length = header(scope, b"content-length")
        if length.isdecimal() and int(length[:20]) > limit:
            raise HTTPException(413, _too_large(limit))
        return limit


async def _read(receive: Receive, body: bytearray, limit: int, memory: BodyMemory) -> None:
    """Read a whole JSON body into `body`, and stop if it exceeds a limit.

    Raises:
        HTTPException: 413, the body has too many bytes, whatever its headers declare; 400, the body has too many
            values, or is not in UTF-8.
        ClientDisconnect: The client has disconnected.
    """
    meter, has_more = JsonMeter("a body here"), True
    while has_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part = message.get("body", b"")
        if len(body) + len(part) > limit:
            raise HTTPException(413, _too_large(limit))
        try:
            meter.feed(part)
        except ParameterError as error:
            raise HTTPException(400, str(error)) from None
        memory.take(len(part))
        body += part
        has_more = message.get("more_body", False)
    # The meter reads UTF-8 only.
    if not json.detect_encoding(bytes(body[:4])).startswith("utf-8"):
        raise HTTPException(400, "the body is not in UTF-8, as JSON is")


class ReadAhead:
    """Receives one message ahead, to notice a client that disconnects while its documents are stored."""

    def __init__(self, receive: Receive, disconnected: threading.Event) -> None:
        self._receive, self._disconnected = receive, disconnected
        self._next: asyncio.Task[Message] | None = None

    async def __call__(self) -> Message:
        self._next = self._next or asyncio.create_task(self._look())
        # If the caller's wait times out, the message stays for the next call.
        message = await asyncio.shield(self._next)
        self._next = None if message["type"] == "http.disconnect" else asyncio.create_task(self._look())
        return message

    async def _look(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._disconnected.set()
        return message

    def close(self) -> None:
        if self._next is not None:
            self._next.cancel()


class RateLimit:
    """Receives a body, and raises if the client is too slow. Only the time of waiting for the client counts.

    `silence` limits the seconds without data, `whole` the seconds for the whole body.
    """

    def __init__(self, receive: Receive, silence: float, whole: float) -> None:
        self._receive, self._silence, self._whole = receive, silence, whole
        self._waited, self._received = 0.0, 0

    async def __call__(self) -> Message:
        """Receive the next message.

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
        # Time beyond the timeout was spent by this process, not by the client.
        self._waited += min(loop.time() - began, seconds)
        self._received += len(message.get("body", b""))
        return message


def _has_no_body(scope: Scope) -> bool:
    if scope["method"] != "GET":
        return False
    return not any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])


def _require_media_type(scope: Scope) -> None:
    if scope["method"] != "POST":
        return
    media_type = header(scope, b"content-type").partition(";")[0].strip().lower()
    wanted = _JSON_LINES if is_upload(scope) else (_JSON,)
    if media_type not in wanted:
        got = f", not {media_type:.80}" if media_type else ""
        raise HTTPException(415, f"send it with Content-Type: {wanted[0]}{got}")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` function that returns the given body first, and then the original messages."""
    parts = [body]

    async def again() -> Message:
        if parts:
            return {"type": "http.request", "body": parts.pop(), "more_body": False}
        return await receive()

    return again


def _too_large(limit: int) -> str:
    return f"a body here has at most {limit:,} bytes"
