"""How many requests at once, and how long each: what is too much is told so at once, and nothing piles up.

Each request of a store is a thread that cannot be stopped, so their number is what is bounded. A request whose time is
up is answered without its thread, and one whose client has gone is not answered at all; the thread keeps its place
until it ends, which its next `require_time` sees to.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whorl.context import deadline
from whorl.service.paths import is_log_in, is_of_the_store, is_upload

#: What knows why a request is late says so within this time after its end; then it is said without a reason.
_GRACE_SECONDS = 0.5


@dataclass(slots=True)
class Load:
    """What the service is doing at the moment."""

    working: int = 0
    waiting: int = 0


class ClientLimit:
    """Keeps one client from taking all the room.

    Args:
        app: What answers requests.
        most: Requests of one client at the same time.
        is_open: Whether nobody is asked who they are; clients are then told apart by their addresses.
    """

    def __init__(self, app: ASGIApp, most: int, is_open: bool) -> None:
        self._app, self._most, self._is_open = app, most, is_open
        self._counts: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _takes_no_room(scope):
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
        """Return what tells one client from others: the credentials, which were found to be good, or the address."""
        authorization = Headers(scope=scope).get("Authorization", "")
        if authorization and not self._is_open:
            # As `Access` reads it, or blanks would make many clients of one.
            kind, _, given = authorization.partition(" ")
            return f"{kind.lower()} {given.strip()}"
        return scope["client"][0] if scope.get("client") else ""


@dataclass(slots=True)
class Room:
    """Places for work that goes on at the same time; who finds none waits.

    Args:
        places: How many there are.
        load: Where it is noted how many work and wait, in this room and in others.
        most_waiting: How many may wait, in all rooms together.
    """

    places: int
    load: Load
    most_waiting: int
    _free: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._free = asyncio.Semaphore(self.places)

    @asynccontextmanager
    async def place(self, seconds: float) -> AsyncIterator[None]:
        """Wait for a place, hold it, and give it back.

        Args:
            seconds: To wait, at most.

        Raises:
            HTTPException: 503, there was none in time, or too many wait.
        """
        await self._take(seconds)
        self.load.working += 1
        try:
            yield
        finally:
            self.load.working -= 1
            self._free.release()

    async def _take(self, seconds: float) -> None:
        if not self._free.locked():
            await self._free.acquire()
            return
        if self.load.waiting >= self.most_waiting:
            raise HTTPException(503, f"{self.load.waiting:,} requests are waiting already; try again")
        self.load.waiting += 1
        try:
            async with asyncio.timeout(seconds):
                await self._free.acquire()
        except TimeoutError:
            raise HTTPException(503, f"there was no room for this request within {seconds:g} s; try again") from None
        finally:
            self.load.waiting -= 1


class Admission:
    """Lets requests through as far as there is room for them, and ends them with their time or their client.

    Args:
        app: What answers them.
        room: Where they work. What brings documents takes its place elsewhere, for one part after the other.
        seconds: How long a request may wait and take.
    """

    def __init__(self, app: ASGIApp, room: Room, seconds: float) -> None:
        self._app, self._room, self._seconds = app, room, seconds
        # Requests that were answered without their threads; the loop itself would forget them.
        self._late: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _takes_no_room(scope) or is_upload(scope):
            await self._app(scope, receive, send)
            return
        # Whole, since `Bodies` has read it; what comes behind it is that the client has gone.
        body = await receive()
        gone = asyncio.create_task(_until_gone(receive))
        answer, has_place = _Answer(send), False

        async def work() -> None:
            nonlocal has_place
            async with self._room.place(self._seconds):
                has_place = True
                await self._app(scope, _receiving(body, gone), answer.send)

        with deadline(self._seconds) as request:
            task = asyncio.create_task(work())
        self._late.add(task)
        task.add_done_callback(self._late.discard)
        try:
            await asyncio.wait(
                {task, gone}, timeout=self._seconds + _GRACE_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            if task.done():
                task.result()
            elif gone.done():
                raise ClientDisconnect
            elif not answer.has_begun:
                limit = f"{self._seconds:g} s"
                raise HTTPException(503, f"this took longer than {limit}; try again, ask for less, or allow more")
        finally:
            gone.cancel()
            if not task.done():
                answer.is_closed = True
                # What it ends with, nobody waits for any more.
                task.add_done_callback(_forget)
                request.cancel()
                if not has_place:
                    task.cancel()


class _Answer:
    """Passes an answer on, unless it comes too late."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = self.is_closed = False

    async def send(self, message: Message) -> None:
        if not self.is_closed:
            self.has_begun = True
            await self._send(message)


def _takes_no_room(scope: Scope) -> bool:
    # Anybody may try to log in, slowly too, so that takes no place of those who may ask; it asks no store.
    return scope["type"] != "http" or not is_of_the_store(scope["path"]) or is_log_in(scope)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _receiving(body: Message, gone: asyncio.Task[None]) -> Receive:
    """Return what receives a whole body, and then nothing until the client has gone."""
    left = [body]

    async def receive() -> Message:
        if not left:
            await asyncio.wait({gone})
        return left.pop() if left else {"type": "http.disconnect"}

    return receive


def _forget(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        task.exception()
