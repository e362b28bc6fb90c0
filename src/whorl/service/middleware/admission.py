"""Limits the number of running and waiting requests, and their time; refuses further requests.

Each request of a store occupies a thread that cannot be stopped, so the number of threads is limited. A request that
times out is answered before its thread ends, and a request whose client has disconnected is not answered. In both cases
the thread keeps its slot until its next call of `require_time()`, which raises an error.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from fastapi import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whorl.request_context import deadline
from whorl.service.request_paths import header, is_log_in, is_of_the_store, is_upload

#: Seconds that the thread has after the deadline to report a reason; then the answer is sent without one.
_GRACE_SECONDS = 0.5
#: Seconds until the connection of a request's client is watched; most requests are answered earlier.
_UNWATCHED_SECONDS = 0.05


@dataclass(slots=True)
class RequestGauge:
    """Numbers of running and waiting requests; `changed` is called after each change."""

    working: int = 0
    waiting: int = 0
    changed: Callable[[], None] = lambda: None

    def count(self, *, working: int = 0, waiting: int = 0) -> None:
        self.working += working
        self.waiting += waiting
        self.changed()


class ClientLimit:
    """Limits the simultaneous requests of each client. An open service identifies clients by their addresses."""

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
                429, f"you have {self._most:,} requests here already; wait for an answer before you ask more"
            )
        self._counts[client] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._counts[client] -= 1
            if not self._counts[client]:
                del self._counts[client]

    def _client(self, scope: Scope) -> str:
        """Return a key for the client: its credentials, which have been checked, or its address."""
        authorization = header(scope, b"authorization")
        if authorization and not self._is_open:
            # Normalise the header as `Access` does. Otherwise a client could pass for several by adding blanks.
            kind, _, given = authorization.partition(" ")
            return f"{kind.lower()} {given.strip()}"
        return scope["client"][0] if scope.get("client") else ""


@dataclass(slots=True)
class RequestSemaphore:
    """Semaphore for running requests, with a bounded queue.

    The gauge counts the running and the waiting requests of all semaphores together. `most_waiting` limits the waiting
    requests.
    """

    slots: int
    gauge: RequestGauge
    most_waiting: int
    _free: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._free = asyncio.Semaphore(self.slots)

    @asynccontextmanager
    async def slot(self, seconds: float) -> AsyncIterator[None]:
        """Wait at most `seconds` for a slot, hold it during the block, and release it.

        Raises:
            HTTPException: 503, no slot became free in time, or too many requests wait.
        """
        await self._take(seconds)
        self.gauge.count(working=1)
        try:
            yield
        finally:
            self.gauge.count(working=-1)
            self._free.release()

    async def _take(self, seconds: float) -> None:
        if not self._free.locked():
            await self._free.acquire()
            return
        if self.gauge.waiting >= self.most_waiting:
            raise HTTPException(503, f"{self.gauge.waiting:,} requests are waiting already; try again")
        self.gauge.count(waiting=1)
        try:
            async with asyncio.timeout(seconds):
                await self._free.acquire()
        except TimeoutError:
            raise HTTPException(503, f"there was no room for this request within {seconds:g} s; try again") from None
        finally:
            self.gauge.count(waiting=-1)


class Admission:
    """Runs requests as slots become free, and ends them at their deadline or when the client disconnects.

    Uploads bypass this: they take a slot of a separate semaphore for each part. `seconds` limits the wait for a slot,
    and also the total of waiting and running.
    """

    def __init__(self, app: ASGIApp, semaphore: RequestSemaphore, seconds: float) -> None:
        self._app, self._semaphore, self._seconds = app, semaphore, seconds
        # Running tasks, some of them already answered; the event loop holds only weak references to tasks.
        self._late: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _needs_no_slot(scope) or is_upload(scope):
            await self._app(scope, receive, send)
            return
        # The message holds the whole body, since `Bodies` has read it; the next message is the disconnect.
        body, client = await receive(), _Client(receive)
        if body["type"] == "http.disconnect":
            raise ClientDisconnect
        answer, has_slot = _ResponseGuard(send), False

        async def work() -> None:
            nonlocal has_slot
            async with self._semaphore.slot(self._seconds):
                has_slot = True
                await self._app(scope, client.replaying(body), answer.send)

        with deadline(self._seconds) as request:
            task = asyncio.create_task(work())
        self._late.add(task)
        task.add_done_callback(self._late.discard)
        try:
            await asyncio.wait({task}, timeout=_UNWATCHED_SECONDS)
            if not task.done():
                await asyncio.wait(
                    {task, client.gone()}, timeout=self._seconds + _GRACE_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
            if task.done():
                task.result()
            elif client.gone().done():
                raise ClientDisconnect
            elif not answer.has_begun:
                limit = f"{self._seconds:g} s"
                raise HTTPException(503, f"this took longer than {limit}; try again, ask for less, or allow more")
        finally:
            client.close()
            if not task.done():
                answer.is_closed = True
                # Retrieve the exception of the task, because no caller awaits it any more.
                task.add_done_callback(_forget)
                request.cancel()
                if not has_slot:
                    task.cancel()


class _ResponseGuard:
    """Forwards the messages of a response until `is_closed` is set, and then drops them."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = self.is_closed = False

    async def send(self, message: Message) -> None:
        if not self.is_closed:
            self.has_begun = True
            await self._send(message)


def _needs_no_slot(scope: Scope) -> bool:
    # Log-ins need no credentials and no store, and may be slow, so they must not take slots from other requests.
    return scope["type"] != "http" or not is_of_the_store(scope["path"]) or is_log_in(scope)


class _Client:
    """Notices that the client disconnects, from the first call of `gone()` on. Pass a `receive` whose body was read."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._gone: asyncio.Task[None] | None = None

    def gone(self) -> asyncio.Task[None]:
        """Return the task that ends when the client disconnects."""
        if self._gone is None:
            self._gone = asyncio.create_task(self._until_gone())
        return self._gone

    async def _until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def close(self) -> None:
        if self._gone is not None:
            self._gone.cancel()

    def replaying(self, body: Message) -> Receive:
        """Return a `receive` function that returns the whole body, and then waits until the client disconnects."""
        left = [body]

        async def receive() -> Message:
            if not left:
                await asyncio.wait({self.gone()})
            return left.pop() if left else {"type": "http.disconnect"}

        return receive


def _forget(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        task.exception()
