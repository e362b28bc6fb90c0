"""How many requests at once, and how long each: what is too much is told so at once, and nothing piles up.

Each request of a store is a thread that cannot be stopped, so their number is what is bounded. A request whose time is
up is answered without its thread; the thread keeps its place until it ends, which the deadline in it sees to.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whorl.context import deadline
from whorl.service.errors import failure
from whorl.service.middleware.authentication import DOCUMENTS, is_log_in, is_of_the_store
from whorl.settings.settings import Settings

#: What knows why a request is late says so within this time after its end; then it is said without a reason.
_GRACE_SECONDS = 0.5


@dataclass(slots=True)
class Load:
    """What the service is doing at the moment."""

    working: int = 0
    waiting: int = 0
    of_client: Counter[str] = field(default_factory=Counter)


class Admission:
    """Lets requests through as far as there is room for them.

    Args:
        app: What answers them.
        settings: How many, and how long.
        load: Where it is noted how many there are.
        is_open: Whether nobody is asked who they are; clients are then told apart by their addresses.
    """

    def __init__(self, app: ASGIApp, settings: Settings, load: Load, is_open: bool) -> None:
        self._app, self._settings, self._load, self._is_open = app, settings, load, is_open
        self._searches = asyncio.Semaphore(settings.max_concurrent)
        self._uploads = asyncio.Semaphore(settings.max_uploads)
        # Requests that were answered without their threads; the loop itself would forget them.
        self._late: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Anybody may try to log in, slowly too, so that takes no place of those who may ask; it asks no store.
        if scope["type"] != "http" or not is_of_the_store(scope["path"]) or is_log_in(scope):
            await self._app(scope, receive, send)
            return
        is_upload = (scope["method"], scope["path"]) == ("POST", DOCUMENTS)
        seconds = self._settings.request_timeout_seconds
        began = asyncio.get_running_loop().time()
        try:
            with self._counted(self._client(scope)):
                room = self._uploads if is_upload else self._searches
                if not await self._has_room(room, seconds):
                    raise HTTPException(503, f"there was no room for this request within {seconds:g} s; try again")
                if is_upload:
                    # In any number, so for as long as it takes; each part of it has its time.
                    async with self._place(room):
                        await self._app(scope, receive, send)
                else:
                    left = seconds - (asyncio.get_running_loop().time() - began)
                    await self._in_time(scope, receive, send, room, max(left, 0.001))
        except HTTPException as refused:
            await failure(scope["path"], refused.status_code, str(refused.detail))(scope, receive, send)

    def _client(self, scope: Scope) -> str:
        """Return what tells one client from others: the credentials, which were found to be good, or the address."""
        authorization = Headers(scope=scope).get("Authorization", "")
        if authorization and not self._is_open:
            # As `Access` reads it, or blanks would make many clients of one.
            kind, _, given = authorization.partition(" ")
            return f"{kind.lower()} {given.strip()}"
        return scope["client"][0] if scope.get("client") else ""

    @contextmanager
    def _counted(self, client: str) -> Iterator[None]:
        counts, most = self._load.of_client, self._settings.max_per_client
        if counts[client] >= most:
            raise HTTPException(429, f"you have {most:,} requests here already; wait for an answer before you ask more")
        counts[client] += 1
        try:
            yield
        finally:
            counts[client] -= 1
            if not counts[client]:
                del counts[client]

    async def _has_room(self, room: asyncio.Semaphore, seconds: float) -> bool:
        """Wait for a place and take it; say whether there was one in time."""
        if not room.locked():
            return await room.acquire()
        load = self._load
        if load.waiting >= self._settings.max_waiting:
            raise HTTPException(503, f"{load.waiting:,} requests are waiting already; try again")
        load.waiting += 1
        try:
            async with asyncio.timeout(seconds):
                return await room.acquire()
        except TimeoutError:
            return False
        finally:
            load.waiting -= 1

    @asynccontextmanager
    async def _place(self, room: asyncio.Semaphore) -> AsyncIterator[None]:
        """Give the place back in the end that was taken before."""
        self._load.working += 1
        try:
            yield
        finally:
            self._load.working -= 1
            room.release()

    async def _in_time(
        self, scope: Scope, receive: Receive, send: Send, room: asyncio.Semaphore, seconds: float
    ) -> None:
        answer = _Answer(send)

        async def work() -> None:
            async with self._place(room):
                with deadline(seconds):
                    await self._app(scope, receive, answer.send)

        task = asyncio.create_task(work())
        self._late.add(task)
        task.add_done_callback(self._late.discard)
        done, _ = await asyncio.wait({task}, timeout=seconds + _GRACE_SECONDS)
        if done:
            task.result()
            return
        answer.is_closed = True
        # What it ends with, nobody waits for any more.
        task.add_done_callback(_forget)
        if not answer.has_begun:
            limit = self._settings.request_timeout_seconds
            raise HTTPException(503, f"this took longer than {limit:g} s; try again, ask for less, or allow more")


class _Answer:
    """Passes an answer on, unless it comes too late."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = self.is_closed = False

    async def send(self, message: Message) -> None:
        if not self.is_closed:
            self.has_begun = True
            await self._send(message)


def _forget(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        task.exception()
