"""Documents in batches: no more is read than is stored, what is unchanged is left alone, what is reported is safe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from whorl import Document, Store, open_store
from whorl.context import new_request
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.engine.protocol import Engine
from whorl.errors import DocumentError, EngineResponseError, EngineUnavailableError, ParameterError
from whorl.ingest import indexing
from whorl.ingest.indexing import index_documents
from whorl.model import Indexed


class Watched:
    """An engine whose batches are seen, and which may refuse documents or fail."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.batches = list[list[str]]()
        self.refreshed = 0
        self.refuses = set[str]()
        self.fails_at = -1

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def index(self, documents: Iterable[Document]) -> None:
        some = list(documents)
        if len(self.batches) == self.fails_at:
            raise EngineUnavailableError("gone")
        self.batches.append([document.id for document in some])
        if self.refuses.intersection(self.batches[-1]):
            raise DocumentError(f"no {self.batches[-1]}")
        self.engine.index(some)

    def refresh(self) -> None:
        self.refreshed += 1
        self.engine.refresh()


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    with open_store(tmp_path / "store") as store:
        yield Watched(store.engine)


def indexed(watched: Watched, documents: Iterable[Document], **more: Any) -> Indexed:
    return index_documents(cast(Engine, watched), documents, **more)


def some(count: int) -> list[Document]:
    return [Document(f"d{number}", f"text {number}") for number in range(count)]


def test_batches(watched: Watched) -> None:
    """
    As many at once as was asked for, the last what is left; each is reported when it is safe, and all are searchable.
    """
    reports = list[Indexed]()
    assert indexed(watched, some(5), batch=2, progress=reports.append) == Indexed(5, 0)
    assert watched.batches == [["d0", "d1"], ["d2", "d3"], ["d4"]]
    assert reports == [Indexed(2, 0), Indexed(4, 0), Indexed(5, 0)]
    assert (watched.engine.count(), watched.refreshed) == (5, 1)


def test_long_documents_make_small_batches(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A batch ends with the document that makes it long enough.
    """
    monkeypatch.setattr(indexing, "BATCH_CHARACTERS", 10)
    documents = [Document(str(at), "x" * length) for at, length in enumerate((9, 1, 100, 3, 3))]
    indexed(watched, documents)
    assert watched.batches == [["0", "1"], ["2"], ["3", "4"]]


def test_nothing_is_read_beyond_a_batch(watched: Watched) -> None:
    """
    Whoever sends documents one by one may wait for these to be safe before the next.
    """
    read = list[str]()

    def documents() -> Iterator[Document]:
        for document in some(6):
            # All that a whole batch held before this one is stored.
            assert [each for batch in watched.batches for each in batch] == read[: len(read) // 3 * 3]
            read.append(document.id)
            yield document

    assert indexed(watched, documents(), batch=3).stored == 6


def test_what_is_there_unchanged_is_left_alone(watched: Watched) -> None:
    """
    A changed text, name or property is stored again, all of it where that is asked for.
    """
    first = [Document("a", "one"), Document("b", "two"), Document("c", "three"), Document("d", "four")]
    indexed(watched, first)
    watched.batches.clear()
    second = [
        Document("a", "one"),
        Document("b", "2"),
        Document("c", "three", "C"),
        Document("d", "four", "", {"x": 1}),
    ]
    assert indexed(watched, second) == Indexed(3, 1)
    assert watched.batches == [["b", "c", "d"]]
    assert indexed(watched, second, again=True) == Indexed(4, 0)
    assert indexed(watched, second) == Indexed(0, 4)
    # Nothing was stored, so nothing need be made searchable.
    assert watched.refreshed == 3


@pytest.mark.parametrize("batch", [1, 2, 10])
def test_of_one_id_the_last_counts(watched: Watched, batch: int) -> None:
    """
    However the documents fall into batches.
    """
    documents = [Document("a", "old"), Document("b", "b"), Document("a", "new")]
    indexed(watched, documents, batch=batch)
    assert watched.engine.texts(["a", "b"]) == {"a": "new", "b": "b"}


def test_a_refused_document_costs_no_other(watched: Watched) -> None:
    """
    The others of its batch are stored one by one; each refusal is told with its reason, and none is counted or traced.
    """
    watched.refuses = {"d1", "d3"}
    refused = list[tuple[str, str]]()
    with new_request() as request:
        done = indexed(watched, some(5), on_refused=lambda document, error: refused.append((document.id, str(error))))
    assert done == Indexed(3, 0)
    assert refused == [("d1", "no ['d1']"), ("d3", "no ['d3']")]
    assert watched.engine.texts([f"d{number}" for number in range(5)]).keys() == {"d0", "d2", "d4"}
    assert request.trace.stored == 3


def test_without_somebody_to_tell_a_refusal_ends_the_run(watched: Watched) -> None:
    """
    What was stored before it can be found.
    """
    watched.refuses = {"d3"}
    with pytest.raises(DocumentError, match="no"):
        indexed(watched, some(6), batch=2)
    assert (watched.engine.count(), watched.refreshed) == (2, 1)


@pytest.mark.parametrize("who", ["engine", "reader"])
def test_what_was_reported_is_safe_whoever_fails(watched: Watched, who: str) -> None:
    """
    The engine between two batches, or what the documents are read from: all that was reported can be found.
    """
    reports = list[Indexed]()

    def documents() -> Iterator[Document]:
        yield from some(5 if who == "reader" else 6)
        raise OSError("unplugged")

    if who == "engine":
        watched.fails_at = 2
    with pytest.raises(EngineUnavailableError if who == "engine" else OSError):
        indexed(watched, documents(), batch=2, progress=reports.append)
    assert reports[-1] == Indexed(4, 0)
    assert (watched.engine.count(), watched.refreshed) == (4, 1)


def test_a_batch_of_nothing(watched: Watched) -> None:
    """
    It would never end; the number is named, and nothing is read. No documents at all are no work.
    """
    with pytest.raises(ParameterError, match="batch must be at least 1, got 0"):
        indexed(watched, iter(some(1)), batch=0)
    assert indexed(watched, []) == Indexed(0, 0)
    assert (watched.batches, watched.refreshed) == ([], 0)


TEXT = "one two three four five six"
DOCUMENTS = [Document(f"half-{number}", f"{TEXT} {number}") for number in range(4)]


class Failing(EmbeddedEngine):
    """Stores documents one after another, until one comes that it cannot take."""

    #: What is raised instead of storing a document, by id.
    errors: dict[str, Exception]

    def index(self, documents: Iterable[Document]) -> None:
        for document in documents:
            if document.id in self.errors:
                raise self.errors[document.id]
            super().index([document])


@pytest.fixture
def engine(tmp_path: Path) -> Failing:
    engine = Failing(tmp_path / "store")
    engine.errors = {"half-2": EngineResponseError("no space left", status=500)}
    return engine


def found(engine: Failing) -> list[str]:
    with Store(engine) as store:
        return sorted(hit.id for hit in store.search("FINGERPRINT:half-0").hits)


def test_half_a_batch_is_counted(engine: Failing) -> None:
    """
    What is reported, noted for the metrics and searchable is the same, beside the error.
    """
    told: list[Indexed] = []
    with new_request() as request, pytest.raises(EngineResponseError, match="no space"):
        index_documents(engine, DOCUMENTS, progress=told.append)
    assert told == [Indexed(2, 0)]
    assert request.trace.stored == 2
    assert found(engine) == ["half-0", "half-1"]


def test_documents_stored_one_by_one_are_counted(engine: Failing) -> None:
    """
    One is refused, so the others come alone, and then the engine fails.
    """
    engine.errors["half-1"] = DocumentError("too long")
    told: list[Indexed] = []
    refused: list[str] = []
    with new_request() as request, pytest.raises(EngineResponseError):
        index_documents(
            engine, DOCUMENTS, progress=told.append, on_refused=lambda document, _: refused.append(document.id)
        )
    assert (told, refused, request.trace.stored) == ([Indexed(1, 0)], ["half-1"], 1)
    assert found(engine) == ["half-0"]


def test_what_was_there_is_not_counted_when_it_is_sent_again(engine: Failing) -> None:
    """
    Nobody can tell whether it was replaced before the engine failed.
    """
    told: list[Indexed] = []
    index_documents(engine, DOCUMENTS[:2])
    with pytest.raises(EngineResponseError):
        index_documents(engine, DOCUMENTS, again=True, progress=told.append)
    assert told == []
    assert found(engine) == ["half-0", "half-1"]


def test_half_a_batch_in_solr(solr_standalone_url: str) -> None:
    """
    Solr keeps what comes before a document that it refuses, and it is found at once.
    """
    refused = Document("half-bad", TEXT, properties={"DBID": "x" * 40_000})
    told: list[Indexed] = []
    with open_store(solr_standalone_url) as store:
        try:
            with pytest.raises(DocumentError, match="refuses"):
                store.index([*DOCUMENTS[:2], refused, *DOCUMENTS[2:]], progress=told.append)
            assert told == [Indexed(2, 0)]
            assert {hit.id for hit in store.search("FINGERPRINT:half-0").hits} >= {"half-0", "half-1"}
        finally:
            store.delete([document.id for document in DOCUMENTS])
