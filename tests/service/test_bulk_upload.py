"""Tests of bodies of documents: cut into lines, stored in parts, and reported by line."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Iterable, Iterator
from typing import Any, cast

import pytest
from anyio import run
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from tests.service.limited import LINES, sent
from whorl import Document, Store, open_store
from whorl.engine.protocol import Engine
from whorl.errors import DocumentError, EngineUnavailableError
from whorl.service import bulk_upload
from whorl.service.app import create_app
from whorl.service.bulk_upload import Line, LineSplitter, Report, Upload
from whorl.service.middleware.limits import BodyMemory, RequestSemaphore
from whorl.service.middleware.logs_and_metrics import Metrics
from whorl.settings.settings import Settings


class WatchedEngine:
    """An engine that records its batches, and can fail or refuse a document."""

    def __init__(self, engine: Engine, fails_at: int | None = None, refuses: str | None = None) -> None:
        self.engine, self.fails_at, self.refuses = engine, fails_at, refuses
        self.batches: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def index(self, documents: Iterable[Document], *, replace: bool = True) -> None:
        batch = list(documents)
        if len(self.batches) == self.fails_at:
            raise EngineUnavailableError("no Solr answers")
        if any(document.id == self.refuses for document in batch):
            raise DocumentError("Solr refuses it")
        self.engine.index(batch, replace=replace)
        self.batches.append(len(batch))


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("watched") / "store") as opened:
        yield opened


@pytest.mark.slow
def test_no_more_is_read_than_is_stored(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    When a part is stored, the service has read this part and at most one further chunk from the client.
    """
    taken = [0]
    behind: list[int] = []

    class Counting(WatchedEngine):
        def index(self, documents: Iterable[Document], *, replace: bool = True) -> None:
            super().index(documents, replace=replace)
            behind.append(taken[0] - sum(self.batches))

    def body() -> Iterator[bytes]:
        for number in range(2000):
            taken[0] += 1
            yield sent([{"id": f"b{number}", "text": "x"}])

    async def chunks() -> Any:
        for chunk in body():
            yield chunk
            await asyncio.sleep(0)

    memory = BodyMemory(10_000)

    async def take() -> Report:
        semaphore = RequestSemaphore(1, Metrics(), 0)
        made = Upload(Store(cast(Engine, Counting(store.engine))), Settings(), semaphore, memory)
        await made.process(chunks())
        return made.report

    monkeypatch.setattr(bulk_upload, "PART_LINES", 256)
    report = run(take)
    # All memory has been released.
    memory.reserve(10_000)
    assert report.stored == store.count() == 2000
    assert len(behind) == 8
    assert max(behind) <= 1


def test_a_store_that_fails_on_the_way(store: Store) -> None:
    """
    A failure during an upload is a 503 with the number of documents stored before, and these are in the store.
    """
    service = TestClient(
        create_app(Store(cast(Engine, WatchedEngine(store.engine, fails_at=2)))), raise_server_exceptions=False
    )
    content = sent({"id": f"d{number}", "text": "x"} for number in range(1000))
    answer = service.post("/api/v1/documents", content=content, headers=LINES)
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "5"
    error = answer.json()["error"]
    assert error["message"] == "no Solr answers"
    assert error["so_far"]["stored"] == store.count() == 512
    whole = TestClient(create_app(store)).post("/api/v1/documents", content=content, headers=LINES).json()
    assert (whole["stored"], whole["unchanged"], store.count()) == (488, 512, 1000)


def test_refused_documents_are_reported_by_line(store: Store) -> None:
    """
    A document refused by the engine is reported by its line, like an unreadable line.
    """
    service = TestClient(create_app(Store(cast(Engine, WatchedEngine(store.engine, refuses="d3")))))
    body = service.post(
        "/api/v1/documents", content=sent({"id": f"d{number}", "text": "x"} for number in range(5)), headers=LINES
    ).json()
    assert (body["stored"], body["refused"]) == (4, 1)
    assert body["errors"] == [{"line": 4, "message": "Solr refuses it"}]


def test_a_document_of_another_upload_is_not_replaced(store: Store) -> None:
    """
    With replace=false, an upload does not replace a text that another upload stores at the same time.
    """
    other = [Document("a", "the text of the other upload")]

    class Racing(WatchedEngine):
        def index(self, documents: Iterable[Document], *, replace: bool = True) -> None:
            if other:
                self.engine.index([other.pop()])
            super().index(documents, replace=replace)

    with TestClient(create_app(Store(Racing(store.engine)))) as client:
        content = sent([{"id": "a", "text": "my text"}, {"id": "b", "text": "my text"}])
        body = client.post("/api/v1/documents?replace=false", content=content, headers=LINES).json()
    assert (body["stored"], body["refused"], [error["line"] for error in body["errors"]]) == (1, 1, [1])
    assert store.texts(["a", "b"]) == {"a": "the text of the other upload", "b": "my text"}


def test_mistakes_are_bounded(store: Store) -> None:
    """
    All errors are counted, and the first thousand are listed.
    """
    body = TestClient(create_app(store)).post("/api/v1/documents", content=b"x\n" * 3000, headers=LINES).json()
    assert body["refused"] == 3000
    assert [error["line"] for error in body["errors"]] == list(range(1, 1001))


@pytest.mark.slow
def test_two_clients_at_once(store: Store) -> None:
    """
    Two simultaneous uploads are both stored completely.
    """
    service = TestClient(create_app(store))
    answers: list[dict[str, Any]] = []

    def send(name: str) -> None:
        content = sent({"id": f"{name}{number}", "text": "x"} for number in range(700))
        answers.append(service.post("/api/v1/documents", content=content, headers=LINES).json())

    threads = [threading.Thread(target=send, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer["stored"] for answer in answers] == [700, 700]
    assert store.count() == 1400


def lines(parts: Iterable[bytes], most: int) -> list[Line]:
    """Return the lines of a body that arrives in parts."""
    cut = LineSplitter(most)
    return [*(line for part in parts for line in cut.split(part)), *cut.finish_line()]


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=6))
def test_lines_do_not_depend_on_the_parts(body: bytes, cuts: list[int]) -> None:
    """
    The lines, numbered from one, do not depend on the division of the body into parts.
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
    A line that is too long is skipped without keeping it in memory, and the next one is read.
    """
    parts = [b"ab\n", b"x" * 50, b"x" * 50, b"x\ncd\n", b"y" * 99]
    assert lines(parts, most=10) == [(1, b"ab"), (2, None), (3, b"cd"), (4, None)]
    assert lines([b"x" * 10, b"\n"], most=10) == [(1, b"x" * 10)]
