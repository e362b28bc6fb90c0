"""Bodies that are too long or too slow, and that nobody else has to wait for one."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest
import requests
from starlette.exceptions import HTTPException
from starlette.types import Message

from tests.service.limited import LINES, PATIENCE_SECONDS, limited, refused
from tests.service.served import listening, sending
from tests.service.virtual_time import VirtualTime, in_virtual_time
from whorl import Store
from whorl.service.app import create_app
from whorl.service.middleware.bodies import LEAST_BYTES_A_SECOND, BodyMemory, Paced
from whorl.service.paths import SEARCH
from whorl.settings.settings import Settings


def test_bodies_that_are_too_long(store: Store) -> None:
    """
    413, and of a line among others that line alone.
    """
    with limited(store, max_search_bytes=40, max_text_bytes=50, max_line_bytes=60) as service:
        assert service.post(SEARCH, json={"query": {"query": "*"}}).status_code == 200
        assert service.post(SEARCH, json={"query": {"query": "seven spoons or more"}}).status_code == 413
        assert service.post("/api/v1/similar", json={"text": "seven silver spoons"}).status_code == 200
        assert "at most 50 bytes" in refused(service.post("/api/v1/similar", json={"text": "x" * 50}), 413)
        body = b'{"id": "long", "text": "%s"}\n{"id": "short", "text": "x"}\n' % (b"x" * 60)
        told = service.post("/api/v1/documents", content=body, headers=LINES).json()
        assert (told["stored"], told["refused"]) == (1, 1)
        assert told["errors"] == [{"line": 1, "message": "a line has at most 60 bytes"}]
    store.delete(["short"])


def received(parts: list[tuple[float, int]], silence: float, whole: float) -> str:
    """What comes of a body whose parts come after so many seconds, with so many bytes: how slow it was, or its size."""

    async def read() -> str:
        left = iter(parts)

        async def receive() -> Message:
            seconds, size = next(left)
            await asyncio.sleep(seconds)
            return {"type": "http.request", "body": b"x" * size, "more_body": True}

        paced, size = Paced(receive, silence, whole), 0
        try:
            for _ in parts:
                size += len((await paced())["body"])
        except HTTPException as error:
            return f"{error.status_code} {error.detail}"
        return f"{size}"

    return in_virtual_time(read())


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ([(29.0, 1)], "1"),
        ([(31.0, 1)], "408 nothing more of the body came for 30 s"),
        ([(15.0, 1)] * 3, "408 the body came slower than 1,000 bytes a second"),
        ([(15.0, 16_000)] * 3, "48000"),
        ([(15.0, 16_000)] * 5, "408 the body was not there within 60 s"),
        ([(29.0, 100_000), (29.0, 1)], "100001"),
    ],
)
def test_how_slow_a_body_may_be(parts: list[tuple[float, int]], told: str) -> None:
    """
    It may be silent, but not again and again, and it has to be there some time.
    """
    assert LEAST_BYTES_A_SECOND == 1_000
    assert received(parts, silence=30.0, whole=60.0).partition(";")[0] == told


def test_a_client_does_not_pay_for_a_busy_service() -> None:
    """
    What came in time is taken in time, however late this process looks at it; silence after that is silence.
    """

    async def read() -> list[str]:
        loop, told = asyncio.get_running_loop(), list[str]()
        assert isinstance(loop, VirtualTime)

        async def receive() -> Message:
            if len(told) == 2:
                await asyncio.sleep(31)
            loop.stall(100)
            return {"type": "http.request", "body": b"x" * 30_000, "more_body": True}

        paced = Paced(receive, silence=30.0, whole=100.0)
        for _ in range(3):
            try:
                told.append(str(len((await paced())["body"])))
            except HTTPException as error:
                told.append(error.detail.partition(";")[0])
        return told

    assert in_virtual_time(read()) == ["30000", "30000", "nothing more of the body came for 30 s"]


BEGUN = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: 1000\r\n\r\n{"


@pytest.mark.process
def test_slow_bodies_keep_nobody_waiting(store: Store) -> None:
    """
    However many send their texts or their documents little by little, others search and store.
    """
    settings = Settings(max_concurrent=1, max_uploads=1, max_waiting=0)
    with listening(create_app(store, settings=settings)) as url, ExitStack() as slow:
        for path, kind in (
            (b"/api/v1/similar", b"application/json"),
            (b"/api/v1/documents", b"application/x-ndjson"),
        ) * 3:
            slow.enter_context(sending(url, BEGUN % (path, kind)))
        for _ in range(2):
            assert requests.get(f"{url}/api/v1/search?q=*", timeout=PATIENCE_SECONDS).status_code == 200
            stored = requests.post(
                f"{url}/api/v1/documents", data=b'{"id": "b", "text": "b"}\n', headers=LINES, timeout=PATIENCE_SECONDS
            )
            assert stored.status_code == 200
    store.delete(["b"])


@pytest.mark.process
def test_documents_of_a_slow_client(store: Store) -> None:
    """
    408, with what was stored until then.
    """
    # So much comes at once, for longer than it may be silent, that its pace is no reason.
    begun = BEGUN % (b"/api/v1/documents", b"application/x-ndjson") + b" " * 900
    with listening(create_app(store, settings=Settings(body_timeout_seconds=0.2))) as url, sending(url, begun) as slow:
        answer = b""
        while part := slow.recv(65_536):
            answer += part
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"nothing more of the body came for 0.2 s; send it faster" in answer
        assert b'"so_far":{"lines":0,"stored":0' in answer
        # Nothing else comes on its connection.
        assert b"connection: close" in answer.lower()


def test_bodies_share_the_memory(store: Store) -> None:
    """
    503 for those that do not fit beside the others; what was taken is given back, whatever came of it.
    """
    with limited(store, max_concurrent=1, max_text_bytes=100, max_line_bytes=100) as service:
        for body in (b"{", b"x" * 101, b'{"text": "seven silver spoons"}') * 3:
            headers = {"Content-Type": "application/json"}
            assert service.post("/api/v1/similar", content=body, headers=headers).status_code in (200, 400, 413)
        assert service.post("/api/v1/documents", content=b"x" * 99 + b"\n", headers=LINES).status_code == 400
        message = refused(service.post("/api/v1/documents", content=b"x\n" * 101, headers=LINES), 503)
        assert "no room" in message
        assert service.post("/api/v1/similar", json={"text": "x" * 80}).status_code == 200


def test_memory_is_counted() -> None:
    """
    As much as there is, and no more.
    """
    memory = BodyMemory(10)
    memory.take(10)
    with pytest.raises(HTTPException):
        memory.take(1)
    memory.give(3)
    memory.take(3)
