"""Documents over HTTP: lines stored as they arrive, one by one looked at and deleted."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterable, Iterator
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from whorl import Document, Store, open_store
from whorl.engine.protocol import Engine
from whorl.errors import DocumentError, EngineUnavailableError
from whorl.service import uploads
from whorl.service.app import create_app
from whorl.service.middleware.admission import Load, Room
from whorl.service.middleware.bodies import BodyMemory
from whorl.service.uploads import Line, Lines, Report, Uploads
from whorl.settings.settings import Settings

LINES = {"Content-Type": "application/x-ndjson"}
TEXT = "seven silver spoons shine softly since sunday said sarah smith"


@pytest.fixture(params=["embedded", pytest.param("solr", marks=pytest.mark.solr)])
def empty(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store for one test to fill, on both engines."""
    if request.param == "solr":
        store: Store = request.getfixturevalue("solr_contracts")
        there = {hit.id for hit in store.search("*", rows=1000).hits}
        yield store
        store.delete([hit.id for hit in store.search("*", rows=10_000).hits if hit.id not in there])
        return
    with open_store(tmp_path_factory.mktemp("documents") / "store") as opened:
        yield opened


@pytest.fixture
def service(empty: Store) -> Iterator[TestClient]:
    with TestClient(create_app(empty), raise_server_exceptions=False) as made:
        yield made


def sent(documents: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in documents)


def test_lines_are_stored(service: TestClient) -> None:
    """
    What is counted as stored is there, with its properties; sent again, it is left alone.
    """
    some = [{"id": f"n{number}", "text": f"{TEXT} {number}", "name": "N", "pages": number} for number in range(600)]
    answer = service.post("/api/documents", content=sent(some), headers=LINES)
    assert answer.status_code == 200
    assert answer.json() == {"lines": 600, "stored": 600, "unchanged": 0, "refused": 0, "errors": []}
    found = service.get("/api/search", params={"q": "FINGERPRINT:n7 AND pages:[0 TO 999]", "rows": 0}).json()
    assert found["total"] == 600
    assert service.get("/api/documents/n7").json() == {"id": "n7", "name": "N", "properties": {"pages": [7]}}
    again = service.post("/api/documents", content=sent([*some[:5], {"id": "new", "text": "x"}]), headers=LINES)
    assert (again.json()["stored"], again.json()["unchanged"]) == (1, 5)


def test_lines_that_are_wrong_are_told(service: TestClient) -> None:
    """
    By their number, while the others are stored.
    """
    body = b"\n".join(
        [
            b'{"id": "m1", "text": "a"}',
            b"",
            b"{",
            b'{"id": "m2"}',
            b'{"id": "m3", "text": "b", "bad": {"a": 1}}',
            b'{"id": "", "text": "b"}',
            b"\xff",
            b'{"id": "m4", "text": "d"}',
        ]
    )
    answer = service.post("/api/documents", content=body, headers=LINES)
    told = answer.json()
    assert (answer.status_code, told["lines"], told["stored"], told["refused"]) == (200, 8, 2, 5)
    assert [each["line"] for each in told["errors"]] == [3, 4, 5, 6, 7]
    assert "not JSON" in told["errors"][0]["message"]
    assert service.get("/api/documents/m4").status_code == 200


def test_a_request_without_any_document(service: TestClient) -> None:
    """
    400 where every line is wrong, and 200 where there is none.
    """
    answer = service.post("/api/documents", content=b"no\nno\n", headers=LINES)
    assert (answer.status_code, answer.json()["refused"]) == (400, 2)
    answer = service.post("/api/documents", content=b"\n \n", headers=LINES)
    assert (answer.status_code, answer.json()["stored"]) == (200, 0)
    assert service.post("/api/documents", json={"id": "a", "text": "b"}).status_code == 415


def test_documents_of_any_name(service: TestClient) -> None:
    """
    Ids with slashes, spaces and other scripts are looked at, read and deleted by their address.
    """
    for number, name in enumerate(["a/b c/d.txt", "日本 ü", "a?b#c", "{!x}", "..", "4711"]):
        text = f"{TEXT} {number}"
        stored = service.post("/api/documents", content=sent([{"id": name, "text": text}]), headers=LINES)
        assert stored.status_code == 200
        address = "/api/documents/" + "".join(f"%{byte:02X}" for byte in name.encode())
        assert service.get(address).json() == {"id": name, "name": "", "properties": {}}
        assert service.get(address, params={"text": "true"}).json()["text"] == text
        assert service.delete(address).json() == {"deleted": 1}
        for method in ("GET", "DELETE"):
            gone = service.request(method, address)
            assert gone.status_code == gone.json()["error"]["statusCode"] == 404


def test_explain(service: TestClient) -> None:
    """
    The plan in words, and the request; a mistake is one here as well.
    """
    service.post("/api/documents", content=sent([{"id": "src", "text": TEXT}]), headers=LINES)
    told = service.get("/api/explain", params={"q": "FINGERPRINT:src_50"}).json()
    assert list(told) == ["query", "plan", "fingerprints", "warnings", "request"]
    assert told["plan"] == ["FINGERPRINT of 'src': at least 256 of its 512 tokens (6 distinct), one point each"]
    assert told["request"]
    assert service.get("/api/explain", params={"q": "("}).status_code == 400


class WatchedEngine:
    """An engine whose batches are seen, and which may fail, or refuse a document."""

    def __init__(self, engine: Engine, fails_at: int | None = None, refuses: str | None = None) -> None:
        self.engine, self.fails_at, self.refuses = engine, fails_at, refuses
        self.batches: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def index(self, documents: Iterable[Document]) -> None:
        some = list(documents)
        if len(self.batches) == self.fails_at:
            raise EngineUnavailableError("no Solr answers")
        if any(document.id == self.refuses for document in some):
            raise DocumentError("Solr refuses it")
        self.engine.index(some)
        self.batches.append(len(some))


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("watched") / "store") as opened:
        yield opened


def test_no_more_is_read_than_is_stored(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    When a part is stored, no more than it and what came with its end have been taken from the client.
    """
    taken = [0]
    behind: list[int] = []

    class Counting(WatchedEngine):
        def index(self, documents: Iterable[Document]) -> None:
            super().index(documents)
            behind.append(taken[0] - sum(self.batches))

    def body() -> Iterator[bytes]:
        for number in range(2000):
            taken[0] += 1
            yield sent([{"id": f"b{number}", "text": "x"}])

    import asyncio

    from anyio import run

    async def chunks() -> Any:
        for chunk in body():
            yield chunk
            await asyncio.sleep(0)

    memory = BodyMemory(10_000)

    async def take() -> Report:
        made = Uploads(Store(cast(Engine, Counting(store.engine))), Settings(), Room(1, Load(), 0), memory)
        return await made.take(chunks())

    monkeypatch.setattr(uploads, "PART_LINES", 256)
    report = run(take)
    # All that was taken was given back.
    memory.take(10_000)
    assert report.stored == store.count() == 2000
    assert len(behind) == 8
    assert max(behind) <= 1


def test_a_store_that_fails_on_the_way(store: Store) -> None:
    """
    503, with what was stored until then, which is there.
    """
    service = TestClient(
        create_app(Store(cast(Engine, WatchedEngine(store.engine, fails_at=2)))), raise_server_exceptions=False
    )
    some = sent({"id": f"d{number}", "text": "x"} for number in range(1000))
    answer = service.post("/api/documents", content=some, headers=LINES)
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "5"
    error = answer.json()["error"]
    assert error["message"] == "no Solr answers"
    assert error["so_far"]["stored"] == store.count() == 512
    whole = TestClient(create_app(store)).post("/api/documents", content=some, headers=LINES).json()
    assert (whole["stored"], whole["unchanged"], store.count()) == (488, 512, 1000)


def test_what_the_engine_refuses_is_told_by_its_line(store: Store) -> None:
    """
    As a line that cannot be read is.
    """
    service = TestClient(create_app(Store(cast(Engine, WatchedEngine(store.engine, refuses="d3")))))
    told = service.post(
        "/api/documents", content=sent({"id": f"d{number}", "text": "x"} for number in range(5)), headers=LINES
    ).json()
    assert (told["stored"], told["refused"]) == (4, 1)
    assert told["errors"] == [{"line": 4, "message": "Solr refuses it"}]


def test_mistakes_are_bounded(store: Store) -> None:
    """
    All are counted, the first thousand are told.
    """
    told = TestClient(create_app(store)).post("/api/documents", content=b"x\n" * 3000, headers=LINES).json()
    assert told["refused"] == 3000
    assert [each["line"] for each in told["errors"]] == list(range(1, 1001))


def test_two_clients_at_once(store: Store) -> None:
    """
    Both are stored whole.
    """
    service = TestClient(create_app(store))
    answers: list[dict[str, Any]] = []

    def send(name: str) -> None:
        some = sent({"id": f"{name}{number}", "text": "x"} for number in range(700))
        answers.append(service.post("/api/documents", content=some, headers=LINES).json())

    threads = [threading.Thread(target=send, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each["stored"] for each in answers] == [700, 700]
    assert store.count() == 1400


def lines(parts: Iterable[bytes], most: int) -> list[Line]:
    """The lines of a body that comes in parts."""
    cut = Lines(most)
    return [*(line for part in parts for line in cut.of(part)), *cut.rest()]


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=6))
def test_lines_do_not_depend_on_the_parts(body: bytes, cuts: list[int]) -> None:
    """
    However a body is cut, its lines are the same, numbered from one.
    """
    places = sorted({0, *(cut for cut in cuts if cut <= len(body)), len(body)})
    parts = [body[start:end] for start, end in itertools.pairwise(places)]
    wanted = body.split(b"\n")
    if not wanted[-1]:
        wanted.pop()
    assert [line for _, line in lines(parts, most=100)] == wanted
    assert [number for number, _ in lines(parts, most=100)] == list(range(1, len(wanted) + 1))


def test_a_line_that_is_too_long_is_left_out() -> None:
    """
    The next one is read, and the long one is not kept while it arrives.
    """
    parts = [b"ab\n", b"x" * 50, b"x" * 50, b"x\ncd\n", b"y" * 99]
    assert lines(parts, most=10) == [(1, b"ab"), (2, None), (3, b"cd"), (4, None)]
    assert lines([b"x" * 10, b"\n"], most=10) == [(1, b"x" * 10)]
