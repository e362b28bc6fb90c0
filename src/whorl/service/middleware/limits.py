"""Limits how many requests run at once, and the time, body size and speed of each; checks their media types.

Each request to the store occupies a thread, which cannot be stopped. So each request takes one of a limited number of
slots. If a request times out or its client disconnects, the thread keeps its slot until the thread next calls
`require_time()`, which raises an error.

A request takes a slot only after its whole body was read. Parsing a large body would block all other requests, so the
keys and values of a JSON body are counted and limited while the body arrives. Uploads may have any length: the route
reads their bodies, and only their speed is checked.
"""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, nullcontext
from typing import TypeAlias

from fastapi import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whorl.errors import ParameterError
from whorl.request_context import cancellation, deadline
from whorl.service.middleware.logs_and_metrics import Metrics
from whorl.service.requests_and_responses import accesses_store, header, is_log_in, is_upload, may_contain_text
from whorl.settings.settings import Settings

#: Time in seconds that a thread has after its deadline to report its own error.
_GRACE_SECONDS = 0.5
#: Time in seconds after which the next request begins while the current one still runs; most searches take less.
_TURN_SECONDS = 0.05


class ClientLimit:
    """Limits the simultaneous requests of each client, which in an open service is an IP address."""

    def __init__(self, app: ASGIApp, most: int, is_open: bool) -> None:
        self._app, self._most, self._is_open = app, most, is_open
        self._counts: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _needs_no_slot(scope):
            await self._app(scope, receive, send)
            return
        client = self._client(scope)
        if self._counts[client] >= self._most:
            raise HTTPException(
                429, f"you already have {self._most:,} requests running here; wait for a response before you send more"
            )
        self._counts[client] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._counts[client] -= 1
            if not self._counts[client]:
                del self._counts[client]

    def _client(self, scope: Scope) -> str:
        """Return a key for the client: its credentials, which were already checked, or its address."""
        authorization = header(scope, b"authorization")
        if authorization and not self._is_open:
            # Normalise the header as `Authenticator` does, so that extra blanks do not make a client look like another.
            kind, _, given = authorization.partition(" ")
            return f"{kind.lower()} {given.strip()}"
        return scope["client"][0] if scope.get("client") else ""


class RequestSemaphore:
    """Limits the number of requests that run at once (its slots), and the number that wait for a slot."""

    def __init__(self, slots: int, metrics: Metrics, most_waiting: int) -> None:
        self._metrics, self._most_waiting, self._free = metrics, most_waiting, asyncio.Semaphore(slots)

    @asynccontextmanager
    async def slot(self, seconds: float) -> AsyncIterator[None]:
        """Hold a slot during the `with` block; raise HTTPException 503 if no slot becomes free in time."""
        await self._take_slot(seconds)
        self._metrics.count_load(working=1)
        try:
            yield
        finally:
            self._metrics.count_load(working=-1)
            self._free.release()

    async def _take_slot(self, seconds: float) -> None:
        if not self._free.locked():
            await self._free.acquire()
            return
        if self._metrics.waiting >= self._most_waiting:
            raise HTTPException(503, f"{self._metrics.waiting:,} requests are waiting already; try again")
        self._metrics.count_load(waiting=1)
        try:
            async with asyncio.timeout(seconds):
                await self._free.acquire()
        except TimeoutError:
            raise HTTPException(503, f"no slot became free for this request within {seconds:g} s; try again") from None
        finally:
            self._metrics.count_load(waiting=-1)


class Turns:
    """Runs short requests one by one, because simultaneous threads would compete for the interpreter's lock."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(1)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until earlier requests have ended, or have run for `_TURN_SECONDS`."""
        await self._free.acquire()
        with ExitStack() as end:
            end.callback(self._free.release)
            # If the timer has already called `close`, the semaphore is not released again.
            timer = asyncio.get_running_loop().call_later(_TURN_SECONDS, end.close)
            try:
                yield
            finally:
                timer.cancel()


#: Function whose context manager waits for the request's turn.
Turn: TypeAlias = Callable[[], AbstractAsyncContextManager[None]]


class AdmissionControl:
    """Runs each request in a slot, until its deadline or until the client disconnects.

    `seconds` limits waiting and running together. Uploads are exempt: each of their parts takes a slot.
    """

    def __init__(self, app: ASGIApp, semaphore: RequestSemaphore, seconds: float, turn: Turn = nullcontext) -> None:
        self._app, self._semaphore, self._seconds, self._turn = app, semaphore, seconds, turn
        # Tasks may still run after the client has an answer. The event loop keeps only weak references to tasks, so
        # keep a reference to each.
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _needs_no_slot(scope) or is_upload(scope):
            await self._app(scope, receive, send)
            return
        # `BodyReader` has read the body into one message, so the next message is the disconnect.
        body = await receive()
        if body["type"] == "http.disconnect":
            raise ClientDisconnect
        has_slot = has_begun = is_closed = False
        disconnect = asyncio.create_task(_until_disconnect(receive))

        async def receive_disconnect() -> Message:
            await asyncio.wait({disconnect})
            return {"type": "http.disconnect"}

        async def send_if_open(message: Message) -> None:
            nonlocal has_begun
            if not is_closed:
                has_begun = True
                await send(message)

        async def work() -> None:
            nonlocal has_slot
            async with self._semaphore.slot(self._seconds), self._turn():
                has_slot = True
                await self._app(scope, replay_body(body.get("body", b""), receive_disconnect), send_if_open)

        with deadline(self._seconds) as request:
            task = asyncio.create_task(work())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            limit = self._seconds + _GRACE_SECONDS
            await asyncio.wait({task, disconnect}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                task.result()
            elif disconnect.done():
                raise ClientDisconnect
            elif not has_begun:
                raise HTTPException(
                    503, f"this took longer than {self._seconds:g} s; try again, request less, or allow more time"
                )
        finally:
            disconnect.cancel()
            if not task.done():
                is_closed = True
                # No caller awaits the task any more, so take its error here.
                task.add_done_callback(_forget)
                request.cancel()
                if not has_slot:
                    task.cancel()


def _needs_no_slot(scope: Scope) -> bool:
    # Log-ins need no credentials, so they must not take slots from other requests.
    return scope["type"] != "http" or not accesses_store(scope["path"]) or is_log_in(scope)


async def _until_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _forget(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        task.exception()


#: Maximum number of keys and values of a request; a list of ids to delete may have 10,000 ids.
MOST_VALUES = 20_000
MOST_DEPTH = 100
_OTHER_BYTES = bytes(set(range(256)) - set(b",:[]{}"))
_OPENING = b"[{"


class JsonMeter:
    """Counts and limits the keys and values of a JSON text in UTF-8. `what` names the text in error messages."""

    def __init__(self, what: str, most_values: int = MOST_VALUES) -> None:
        self._what, self._most_values = what, most_values
        self._values = self._depth = 0
        self._is_in_string = False
        self._held = b""

    def feed(self, part: bytes) -> None:
        """Count the keys and values in the next piece of the text; raise ParameterError if a limit is exceeded."""
        part = self._held + part
        # The piece may end in the middle of an escape sequence; keep the backslash for the next piece.
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
                raise ParameterError(f"{self._what} is not JSON: it closes more brackets than it opens")


#: Minimum average speed of a client in bytes per second, apart from the permitted time without data.
LEAST_BYTES_A_SECOND = 1_000
#: Maximum size in bytes of a log-in's body, and of a body that the route ignores.
_FEW_BYTES = 4_096
#: Maximum size in bytes of all log-in bodies in memory together.
_LOG_IN_BYTES = 1_000_000
_JSON = "application/json"
_JSON_LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines")


class BodyMemory:
    """Counts and limits the bytes of all bodies in memory."""

    def __init__(self, most: int) -> None:
        self._most, self._kept = most, 0

    def reserve(self, count: int) -> None:
        """Reserve memory for a number of bytes; raise HTTPException 503 if other bodies use too much memory."""
        if self._kept + count > self._most:
            raise HTTPException(503, "the bodies of other requests leave no room for this one; try again")
        self._kept += count

    def release(self, count: int) -> None:
        self._kept -= count


class BodyReader:
    """Reads and checks the bodies of requests to the store."""

    def __init__(self, app: ASGIApp, settings: Settings, memory: BodyMemory) -> None:
        self._app, self._settings, self._memory = app, settings, memory
        # Log-ins have a memory limit of their own, so that clients without a key cannot use up the memory of others.
        self._log_in_memory = BodyMemory(_LOG_IN_BYTES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not accesses_store(scope["path"]) or _has_no_body(scope):
            await self._app(scope, receive, send)
            return
        _require_media_type(scope)
        silence = self._settings.body_timeout_seconds
        if is_upload(scope):
            ahead = ReadAhead(receive, cancellation())
            try:
                await self._app(scope, BodySpeedLimit(ahead, silence, math.inf), send)
            finally:
                ahead.close()
            return
        limited = BodySpeedLimit(receive, silence, self._settings.request_timeout_seconds)
        memory = self._log_in_memory if is_log_in(scope) else self._memory
        body = bytearray()
        try:
            await _read(limited, body, self._limit(scope), memory)
            await self._app(scope, replay_body(bytes(body), receive), send)
        finally:
            memory.release(len(body))

    def _limit(self, scope: Scope) -> int:
        """Return the size limit of a request's body in bytes; raise HTTPException 413 if Content-Length exceeds it."""
        limit = _FEW_BYTES
        if may_contain_text(scope):
            limit = self._settings.max_text_bytes
        elif scope["method"] == "POST" and not is_log_in(scope):
            limit = self._settings.max_search_bytes
        length = header(scope, b"content-length")
        if length.isdecimal() and int(length[:20]) > limit:
            raise HTTPException(413, _too_large(limit))
        return limit


async def _read(receive: Receive, body: bytearray, limit: int, memory: BodyMemory) -> None:
    """Read a JSON body into `body`; raise HTTPException if it is too long, has too many values or is not UTF-8."""
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
        memory.reserve(len(part))
        body += part
        has_more = message.get("more_body", False)
    # The meter reads only UTF-8, so refuse other encodings.
    if not json.detect_encoding(bytes(body[:4])).startswith("utf-8"):
        raise HTTPException(400, "the body is not in UTF-8, as JSON is; encode it as UTF-8")


class ReadAhead:
    """Receives each message of a body before it is needed, to notice a disconnect while documents are stored."""

    def __init__(self, receive: Receive, disconnected: threading.Event) -> None:
        self._receive, self._disconnected = receive, disconnected
        self._next: asyncio.Task[Message] | None = None

    async def __call__(self) -> Message:
        self._next = self._next or asyncio.create_task(self._look())
        # If the caller times out, the task continues for the next call.
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


class BodySpeedLimit:
    """Receives a body, and raises an error if the client is too slow.

    `silence` is the maximum time without data in seconds, `total` the maximum time for the whole body. The total time
    of waiting is at most `silence`, plus the time that the received bytes need at `LEAST_BYTES_A_SECOND`.
    """

    def __init__(self, receive: Receive, silence: float, total: float) -> None:
        self._receive, self._silence, self._total = receive, silence, total
        self._waited, self._received = 0.0, 0

    async def __call__(self) -> Message:
        """Receive the next message; raise HTTPException 408 if the client is too slow."""
        at_least = self._silence + self._received / LEAST_BYTES_A_SECOND - self._waited
        limits = (
            (self._silence, f"nothing more of the body came for {self._silence:g} s"),
            (at_least, f"the body came slower than {LEAST_BYTES_A_SECOND:,} bytes a second"),
            (self._total - self._waited, f"the body was not there within {self._total:g} s"),
        )
        seconds, reason = min(limits, key=lambda limit: limit[0])
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(seconds):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, f"{reason}; send it faster", {"Connection": "close"}) from None
        # A busy event loop reports a timeout late; do not count this delay as the client's.
        self._waited += min(loop.time() - began, seconds)
        self._received += len(message.get("body", b""))
        return message


def _has_no_body(scope: Scope) -> bool:
    names = {name for name, _ in scope["headers"]}
    return scope["method"] in ("GET", "HEAD") and names.isdisjoint((b"content-length", b"transfer-encoding"))


def _require_media_type(scope: Scope) -> None:
    if scope["method"] != "POST":
        return
    media_type = header(scope, b"content-type").partition(";")[0].strip().lower()
    wanted = _JSON_LINES if is_upload(scope) else (_JSON,)
    if media_type not in wanted:
        actual = f", not {media_type:.80}" if media_type else ""
        raise HTTPException(415, f"send it with Content-Type: {wanted[0]}{actual}")
    if (encoding := header(scope, b"content-encoding").strip().lower()) not in ("", "identity"):
        raise HTTPException(415, f"bodies are not unpacked: send it without Content-Encoding, not {encoding:.80}")


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` function that returns the body first, and then the original messages."""
    parts = [body]

    async def receive_body_first() -> Message:
        if parts:
            return {"type": "http.request", "body": parts.pop(), "more_body": False}
        return await receive()

    return receive_body_first


def _too_large(limit: int) -> str:
    return f"a body here has at most {limit:,} bytes"
