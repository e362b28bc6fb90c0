"""Tests of bodies that are too long, too slow or have too many values, and must not delay other requests."""

from __future__ import annotations

import asyncio
import json
import re
import select
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException
from starlette.types import Message

from tests.sampling import thorough
from tests.service.limited import LINES, PATIENCE_SECONDS, limited, refused
from tests.service.served import Served, listening, sending, serving
from tests.service.virtual_time import VirtualTime, in_virtual_time
from whorl import Document, Store, open_store
from whorl.errors import ParameterError
from whorl.service.app import create_app
from whorl.service.middleware.limits import LEAST_BYTES_A_SECOND, MOST_DEPTH, BodyMemory, BodySpeedLimit, JsonMeter
from whorl.service.requests_and_responses import DOCUMENTS, SEARCH, TICKETS
from whorl.settings.settings import Settings

_TEXTS = st.text(st.sampled_from('a"\\,:[]{}é€\n '), max_size=8)
_VALUES = st.recursive(
    _TEXTS | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=20,
)


def marks(value: Any) -> int:
    """Return the number of commas, colons and opening brackets of a value."""
    if isinstance(value, dict):
        return 1 + len(value) + max(len(value) - 1, 0) + sum(map(marks, value.values()))
    if isinstance(value, list):
        return 1 + max(len(value) - 1, 0) + sum(map(marks, value))
    return 0


def is_accepted(body: bytes, most: int, size: int) -> bool:
    """Check that a meter accepts a body in parts of this size."""
    meter = JsonMeter("it", most)
    try:
        for begin in range(0, len(body), size):
            meter.feed(body[begin : begin + size])
    except ParameterError:
        return False
    return True


@given(_VALUES, st.booleans(), st.integers(1, 40))
def test_values_are_counted(value: Any, is_ascii: bool, size: int) -> None:
    """
    Marks within strings do not count, wherever a body is cut, even within escapes or characters.
    """
    body = json.dumps(value, ensure_ascii=is_ascii).encode()
    assert is_accepted(body, marks(value), size)
    assert not marks(value) or not is_accepted(body, marks(value) - 1, size)


def test_depth_is_bounded() -> None:
    """
    The maximum depth is accepted, one level more is refused, and so are unmatched closing brackets.
    """
    for extra in (0, 1):
        depth = MOST_DEPTH + extra
        assert is_accepted(b"[" * depth + b"]" * depth, 1_000, 7) is not extra
    with pytest.raises(ParameterError, match="closes more brackets"):
        JsonMeter("it").feed(b"[]]")


def test_the_count_stops_at_the_limit() -> None:
    """
    The first part that exceeds the limit is refused, whatever follows.
    """
    meter = JsonMeter("a body here", 10)
    meter.feed(b"[1,2,3,4,5,6,7,8,9,10")
    with pytest.raises(ParameterError, match="a body here has at most 10 keys and values"):
        meter.feed(b",11")


def test_bodies_that_are_too_long(store: Store) -> None:
    """
    A body that is too long is a 413. A line that is too long is refused, and the other lines are stored.
    """
    with limited(store, max_search_bytes=40, max_text_bytes=50, max_line_bytes=60) as service:
        assert service.post(SEARCH, json={"query": {"query": "*"}}).status_code == 200
        assert service.post(SEARCH, json={"query": {"query": "seven spoons or more"}}).status_code == 413
        assert service.post("/api/v1/similar", json={"text": "seven silver spoons"}).status_code == 200
        assert "at most 50 bytes" in refused(service.post("/api/v1/similar", json={"text": "x" * 50}), 413)
        body = b'{"id": "long", "text": "%s"}\n{"id": "short", "text": "x"}\n' % (b"x" * 60)
        content = service.post("/api/v1/documents", content=body, headers=LINES).json()
        assert (content["stored"], content["refused"]) == (1, 1)
        assert content["errors"] == [{"line": 1, "message": "a line has at most 60 bytes"}]
    store.delete(["short"])


def received(parts: list[tuple[float, int]], silence: float, total: float) -> str:
    """Return the error, or the size, of a body that arrives in parts of (seconds before it, bytes)."""

    async def read() -> str:
        left = iter(parts)

        async def receive() -> Message:
            seconds, size = next(left)
            await asyncio.sleep(seconds)
            return {"type": "http.request", "body": b"x" * size, "more_body": True}

        paced, size = BodySpeedLimit(receive, silence, total), 0
        try:
            for _ in parts:
                size += len((await paced())["body"])
        except HTTPException as error:
            return f"{error.status_code} {error.detail}"
        return f"{size}"

    return in_virtual_time(read())


@pytest.mark.parametrize(
    ("parts", "response"),
    [
        ([(29.0, 1)], "1"),
        ([(31.0, 1)], "408 nothing more of the body came for 30 s"),
        ([(15.0, 1)] * 3, "408 the body came slower than 1,000 bytes a second"),
        ([(15.0, 16_000)] * 3, "48000"),
        ([(15.0, 16_000)] * 5, "408 the body was not there within 60 s"),
        ([(29.0, 100_000), (29.0, 1)], "100001"),
    ],
)
def test_slow_bodies_are_refused(parts: list[tuple[float, int]], response: str) -> None:
    """
    A body may pause up to a limit, needs a minimum pace, and has a maximum time.
    """
    assert LEAST_BYTES_A_SECOND == 1_000
    assert received(parts, silence=30.0, total=60.0).partition(";")[0] == response


def test_a_client_does_not_pay_for_a_busy_service() -> None:
    """
    A part that arrived in time is accepted even if the busy process reads it late. Silence after it still counts.
    """

    async def read() -> list[str]:
        loop, responses = asyncio.get_running_loop(), list[str]()
        assert isinstance(loop, VirtualTime)

        async def receive() -> Message:
            if len(responses) == 2:
                await asyncio.sleep(31)
            loop.stall(100)
            return {"type": "http.request", "body": b"x" * 30_000, "more_body": True}

        paced = BodySpeedLimit(receive, silence=30.0, total=100.0)
        for _ in range(3):
            try:
                responses.append(str(len((await paced())["body"])))
            except HTTPException as error:
                responses.append(error.detail.partition(";")[0])
        return responses

    assert in_virtual_time(read()) == ["30000", "30000", "nothing more of the body came for 30 s"]


BEGUN = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: 1000\r\n\r\n{"


@pytest.mark.process
def test_slow_bodies_do_not_block_others(store: Store) -> None:
    """
    Other clients search and store documents while many bodies arrive slowly.
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
    A document upload that stalls is a 408, with the counts so far.
    """
    # Send enough bytes at once that the pause ends the body before its pace does.
    begun = BEGUN % (b"/api/v1/documents", b"application/x-ndjson") + b" " * 900
    with listening(create_app(store, settings=Settings(body_timeout_seconds=0.2))) as url, sending(url, begun) as slow:
        answer = b""
        while part := slow.recv(65_536):
            answer += part
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"nothing more of the body came for 0.2 s; send it faster" in answer
        assert b'"so_far":{"lines":0,"stored":0' in answer
        # The connection carries no further request.
        assert b"connection: close" in answer.lower()


def test_bodies_share_the_memory(store: Store) -> None:
    """
    Bodies that exceed the shared memory are a 503; all memory is released, whatever the outcome.
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
    The counter grants exactly as much memory as configured.
    """
    memory = BodyMemory(10)
    memory.reserve(10)
    with pytest.raises(HTTPException):
        memory.reserve(1)
    memory.release(3)
    memory.reserve(3)


def begun(path: str, length: int, body: bytes, kind: str = "application/json") -> bytes:
    """Return a request with the first part of its body, the only part that is sent."""
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n".encode()
        + body
    )


def peak(served: Served) -> int:
    """Return the peak memory of the service so far, in MB."""
    status = Path(f"/proc/{served.process.pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) // 1_000  # type: ignore[index]


KEYS = b'{"id":"a"' + b"".join(b',"k%d":1' % number for number in range(20_000))
FLOODS = {
    "keys": (KEYS, "a body here has at most 20,000 keys and values"),
    "values": (b'{"boilerplate":[' + b"1," * 40_000, "a body here has at most 20,000 keys and values"),
    "texts": (b'{"boilerplate":[' + b'"",' * 40_000, "a body here has at most 20,000 keys and values"),
    "levels": (b'{"id":' + b"[" * 200, "a body here nests at most 100 levels deep"),
}


@pytest.mark.process
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory of a process in /proc")
def test_a_flood_is_refused_before_it_arrives(tmp_path: Path) -> None:
    """
    Every route answers 400 at the first of too many keys, values or levels without waiting for the rest; a health check
    is answered at the same time, and memory does not grow.
    """
    with open_store(tmp_path / "store") as store:
        described = create_app(store).openapi()["paths"]
    paths = {path for path in described if "post" in described[path]} - {DOCUMENTS, TICKETS}
    assert len(paths) >= 11
    with serving(tmp_path / "store") as served:
        before = peak(served)
        for path in sorted(paths):
            for body, message in FLOODS.values():
                with sending(served.url, begun(path, 3_900_000, body)) as connection:
                    answer = b""
                    while not answer.endswith(b"}") and (part := connection.recv(65_536)):
                        answer += part
                    assert requests.get(f"{served.url}/healthz", timeout=PATIENCE_SECONDS).ok
                assert answer.startswith(b"HTTP/1.1 400 "), path
                assert message.encode() in answer
        assert peak(served) - before < 60


@thorough
@pytest.mark.process
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory of a process in /proc")
def test_a_line_with_millions_of_keys(tmp_path: Path) -> None:
    """
    A line with too many keys is refused unparsed, and its neighbours are stored; a document takes memory by its bytes,
    not by its keys.
    """
    flood = b'{"id":"b","text":"b"' + b"".join(b',"k%d":1' % number for number in range(1_000_000)) + b"}\n"
    lines = b'{"id": "a", "text": "a"}\n' + flood + b'{"id": "c", "text": "c"}\n'
    with serving(tmp_path / "store") as served:
        before = peak(served)
        body = requests.post(f"{served.url}{DOCUMENTS}", data=lines, headers=LINES, timeout=PATIENCE_SECONDS).json()
        assert (body["stored"], body["refused"]) == (2, 1)
        message = "a document here has at most 100,000 keys and values"
        assert body["errors"] == [{"line": 2, "message": message}]
        assert peak(served) - before < 8 * len(lines) // 1_000_000


def test_each_route_limits_its_body(store: Store) -> None:
    """
    Routes that compare or read texts accept whole texts; a search, a log-in, and routes without a body have smaller
    limits.
    """
    with limited(store, max_search_bytes=5_000, max_text_bytes=6_000) as service:
        for method, path, most in (
            ("POST", "/api/v1/search", 5_000),
            ("POST", "/api/v1/delete", 5_000),
            ("POST", "/api/v1/duplicates", 5_000),
            ("POST", SEARCH, 5_000),
            *(("POST", f"/api/v1/{name}", 6_000) for name in ("similar", "sources", "compare", "passages", "text")),
            ("POST", TICKETS, 4_096),
            ("GET", "/api/v1/search", 4_096),
            ("DELETE", "/api/v1/documents/a", 4_096),
        ):
            statuses = [
                service.request(method, path, content=b"[" + b" " * size, headers={"Content-Type": "application/json"})
                for size in (most - 1, most)
            ]
            assert [answer.status_code == 413 for answer in statuses] == [False, True], path
            store.index([Document("a", "seven silver spoons shine softly")])


@pytest.mark.process
def test_log_ins_take_little_memory(store: Store) -> None:
    """
    Slow log-ins share a memory limit of their own (503), separate from requests with a key.
    """
    part = b'{"userId": "' + b"x" * 4_000
    head = begun(TICKETS, 4_096, part)
    with listening(create_app(store)) as url, ExitStack() as slow:
        held = [slow.enter_context(sending(url, head)) for _ in range(260)]
        ready, _, _ = select.select(held, [], [], PATIENCE_SECONDS)
        assert ready
        assert ready[0].recv(65_536).startswith(b"HTTP/1.1 503 ")
        assert requests.get(f"{url}/api/v1/search?q=*", timeout=PATIENCE_SECONDS).status_code == 200


def test_json_is_utf_8(store: Store) -> None:
    """
    JSON in another encoding than UTF-8 is refused, because it would hide marks from the count.
    """
    with limited(store) as service:
        for encoding, status in (
            ("utf-8", 200),
            ("utf-8-sig", 200),
            ("utf-16", 400),
            ("utf-16-le", 400),
            ("utf-32", 400),
        ):
            body = '{"query": "*"}'.encode(encoding)
            answer = service.post("/api/v1/search", content=body, headers={"Content-Type": "application/json"})
            assert answer.status_code == status, encoding
