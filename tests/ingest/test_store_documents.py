"""Indexing in batches: lazy reading, skipping of unchanged documents, refusals, and safe progress reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from whorl import Document, Store, open_store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.engine.protocol import Engine
from whorl.errors import DocumentError, EngineResponseError, EngineUnavailableError, ParameterError
from whorl.ingest import store_documents
from whorl.ingest.store_documents import SeenIds, index_documents
from whorl.model import CLUSTER, IS_PRINCIPAL, Indexed
from whorl.request_context import new_request

#: Three million characters that folding turns into 54 million.
HEAVY = "\ufdfa" * 3_000_000


class Watched:
    """An engine that records its batches, and can refuse documents or fail."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.batches = list[list[str]]()
        self.refreshed = 0
        self.refuses = set[str]()
        self.fails_at = -1

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def index(self, documents: Iterable[Document], *, replace: bool = True) -> None:
        batch = list(documents)
        if len(self.batches) == self.fails_at:
            raise EngineUnavailableError("gone")
        self.batches.append([document.id for document in batch])
        if self.refuses.intersection(self.batches[-1]):
            raise DocumentError(f"no {self.batches[-1]}")
        self.engine.index(batch, replace=replace)

    def refresh(self) -> None:
        self.refreshed += 1
        self.engine.refresh()


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    with open_store(tmp_path / "store") as store:
        yield Watched(store.engine)


def indexed(watched: Watched, documents: Iterable[Document], **more: Any) -> Indexed:
    return index_documents(cast(Engine, watched), documents, **more)


def documents_of(count: int) -> list[Document]:
    return [Document(f"d{number}", f"text {number}") for number in range(count)]


def test_batches(watched: Watched) -> None:
    """
    Batches have the requested size, and the last one has the remaining documents. A batch is reported after it is
    stored, and finally all documents are searchable.
    """
    reports = list[Indexed]()
    assert indexed(watched, documents_of(5), batch=2, progress=reports.append) == Indexed(5, 0)
    assert watched.batches == [["d0", "d1"], ["d2", "d3"], ["d4"]]
    assert reports == [Indexed(2, 0), Indexed(4, 0), Indexed(5, 0)]
    assert (watched.engine.count(), watched.refreshed) == (5, 1)


def test_long_documents_make_small_batches(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A batch ends with the document that reaches the limit of characters.
    """
    monkeypatch.setattr(store_documents, "BATCH_CHARACTERS", 10)
    documents = [Document(str(at), "x" * length) for at, length in enumerate((9, 1, 100, 3, 3))]
    indexed(watched, documents)
    assert watched.batches == [["0", "1"], ["2"], ["3", "4"]]


def test_nothing_is_read_beyond_a_batch(watched: Watched) -> None:
    """
    No document is read before the previous batch is stored: a sender may wait for confirmation.
    """
    read = list[str]()

    def documents() -> Iterator[Document]:
        for document in documents_of(6):
            # All complete batches before this document are stored.
            assert [document for batch in watched.batches for document in batch] == read[: len(read) // 3 * 3]
            read.append(document.id)
            yield document

    assert indexed(watched, documents(), batch=3).stored == 6


def test_unchanged_documents_are_skipped(watched: Watched) -> None:
    """
    Only documents with a changed text, name or property are stored again, unless all are requested.
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
    # An interrupted run may have stored these documents without a refresh.
    assert watched.refreshed == 4


@pytest.mark.parametrize("name", ["whorl_keyword_x", CLUSTER, IS_PRINCIPAL])
def test_names_of_whorl_s_own_fields_are_refused(watched: Watched, name: str) -> None:
    """
    A document with such a property is refused, also if it is otherwise unchanged, and the others are stored.
    """
    documents, refused = documents_of(3), list[str]()
    indexed(watched, documents[:1])
    documents[0] = Document("d0", documents[0].text, "", {name: "x"})
    with pytest.raises(
        DocumentError, match=rf"cannot be called '{name}' \(document 'd0'\); names that begin with whorl_"
    ):
        indexed(watched, documents)
    assert indexed(watched, documents, on_refused=lambda document, _: refused.append(document.id)).stored == 2
    assert refused == ["d0"]
    assert indexed(watched, documents, takes_reserved=True, again=True).stored == 3


@pytest.mark.parametrize("batch", [1, 2, 10])
def test_the_last_document_of_an_id_counts(watched: Watched, batch: int) -> None:
    """
    If several documents have the same id, the last one counts, in one batch or in several.
    """
    documents = [Document("a", "old"), Document("b", "b"), Document("a", "new")]
    assert indexed(watched, documents, batch=batch) == Indexed(2, 0, 1)
    assert watched.engine.texts(["a", "b"]) == {"a": "new", "b": "b"}
    # Sent again, "b" is unchanged; "a" gets its old text, and then its new one.
    assert indexed(watched, documents, batch=1) == Indexed(1, 1, 1)
    assert watched.engine.texts(["a", "b"]) == {"a": "new", "b": "b"}


def test_ids_of_a_run_are_noticed_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Only a limited number of ids is stored; repetitions of the stored ids are still detected.
    """
    monkeypatch.setattr(store_documents, "MOST_IDS", 2)
    seen = SeenIds()
    assert [seen.add(document_id) for document_id in ("a", "b", "c", "c", "b", "a")] == [*[False] * 4, True, True]
    assert seen.first_repeated == "b"


def test_a_refused_document_costs_no_other(watched: Watched) -> None:
    """
    The other documents of the batch are stored one by one; each refusal is reported with its reason, and is neither
    counted nor traced.
    """
    watched.refuses = {"d1", "d3"}
    refused = list[tuple[str, str]]()
    with new_request() as request:
        done = indexed(
            watched, documents_of(5), on_refused=lambda document, error: refused.append((document.id, str(error)))
        )
    assert done == Indexed(3, 0)
    assert refused == [("d1", "no ['d1']"), ("d3", "no ['d3']")]
    assert watched.engine.texts([f"d{number}" for number in range(5)]).keys() == {"d0", "d2", "d4"}
    assert request.trace.stored == 3


@pytest.mark.parametrize(
    "texts",
    [
        {"text": HEAVY},
        {"text": "", "name": HEAVY},
        {"text": "", "properties": {"p": ["x", HEAVY]}},
    ],
    ids=["text", "name", "property"],
)
def test_a_document_that_folding_makes_huge_is_refused(watched: Watched, texts: dict[str, Any]) -> None:
    """
    The engine never sees it, because computing its words could exhaust the memory; other documents are stored.
    """
    refused: list[str] = []
    done = indexed(
        watched,
        [Document("heavy", **texts), *documents_of(2)],
        on_refused=lambda document, error: refused.append(f"{document.id}: {error}"),
    )
    assert done == Indexed(2, 0)
    (problem,) = refused
    assert problem.startswith("heavy: ")
    assert "adds 51,000,000 characters" in problem
    assert "(setting max_file_text)" in problem
    assert watched.batches == [["d0"], ["d1"]]


def test_a_refusal_without_a_callback_ends_the_run(watched: Watched) -> None:
    """
    Without a callback for refusals, the error ends the run; documents stored before it can be found.
    """
    watched.refuses = {"d3"}
    with pytest.raises(DocumentError, match="no"):
        indexed(watched, documents_of(6), batch=2)
    assert (watched.engine.count(), watched.refreshed) == (2, 1)


@pytest.mark.parametrize("who", ["engine", "reader"])
def test_reported_documents_survive_failures(watched: Watched, who: str) -> None:
    """
    If the engine fails between two batches, or the reader of the documents fails, all reported documents can be found.
    """
    reports = list[Indexed]()

    def documents() -> Iterator[Document]:
        yield from documents_of(5 if who == "reader" else 6)
        raise OSError("unplugged")

    if who == "engine":
        watched.fails_at = 2
    with pytest.raises(EngineUnavailableError if who == "engine" else OSError):
        indexed(watched, documents(), batch=2, progress=reports.append)
    assert reports[-1] == Indexed(4, 0)
    assert (watched.engine.count(), watched.refreshed) == (4, 1)


def test_a_batch_of_nothing(watched: Watched) -> None:
    """
    A batch size of 0 is an error before anything is read; an empty list of documents does nothing.
    """
    with pytest.raises(ParameterError, match="batch must be at least 1, got 0"):
        indexed(watched, iter(documents_of(1)), batch=0)
    assert indexed(watched, []) == Indexed(0, 0)
    assert (watched.batches, watched.refreshed) == ([], 0)


TEXT = "one two three four five six"
DOCUMENTS = [Document(f"half-{number}", f"{TEXT} {number}") for number in range(4)]


class Failing(EmbeddedEngine):
    """An engine that stores documents one by one, and fails at the first one with an error."""

    #: Errors raised instead of storing a document, by id.
    errors: dict[str, Exception]

    def index(self, documents: Iterable[Document], *, replace: bool = True, only_unchanged: bool = False) -> None:
        for document in documents:
            if document.id in self.errors:
                raise self.errors[document.id]
            super().index([document], replace=replace, only_unchanged=only_unchanged)


@pytest.fixture
def engine(tmp_path: Path) -> Failing:
    engine = Failing(tmp_path / "store")
    engine.errors = {"half-2": EngineResponseError("no space left", status=500)}
    return engine


def search_ids(engine: Failing) -> list[str]:
    with Store(engine) as store:
        return sorted(hit.id for hit in store.search("FINGERPRINT:half-0").hits)


def test_half_a_batch_is_counted(engine: Failing) -> None:
    """
    The documents stored before the error are reported, counted in the trace and searchable.
    """
    reported: list[Indexed] = []
    with new_request() as request, pytest.raises(EngineResponseError, match="no space"):
        index_documents(engine, DOCUMENTS, progress=reported.append)
    assert reported == [Indexed(2, 0)]
    assert request.trace.stored == 2
    assert search_ids(engine) == ["half-0", "half-1"]


def test_documents_stored_one_by_one_are_counted(engine: Failing) -> None:
    """
    After a refusal the documents are stored one by one; those stored before the engine fails are counted.
    """
    engine.errors["half-1"] = DocumentError("too long")
    reported: list[Indexed] = []
    refused: list[str] = []
    with new_request() as request, pytest.raises(EngineResponseError):
        index_documents(
            engine,
            DOCUMENTS,
            progress=reported.append,
            on_refused=lambda document, _: refused.append(document.id),
        )
    assert (reported, refused, request.trace.stored) == ([Indexed(1, 0)], ["half-1"], 1)
    assert search_ids(engine) == ["half-0"]


def test_documents_stored_again_are_not_counted(engine: Failing) -> None:
    """
    Documents that are stored again are not counted, because it is unknown whether the failing engine replaced them.
    """
    reported: list[Indexed] = []
    index_documents(engine, DOCUMENTS[:2])
    with pytest.raises(EngineResponseError):
        index_documents(engine, DOCUMENTS, again=True, progress=reported.append)
    assert reported == []
    assert search_ids(engine) == ["half-0", "half-1"]


def test_half_a_batch_in_solr(solr_standalone_url: str) -> None:
    """
    Solr keeps the documents before a refused one, and they are found at once.
    """
    refused = Document("half-bad", TEXT, properties={"DBID": "x" * 40_000})
    reported: list[Indexed] = []
    with open_store(solr_standalone_url) as store:
        try:
            with pytest.raises(DocumentError, match="refuses"):
                store.index([*DOCUMENTS[:2], refused, *DOCUMENTS[2:]], progress=reported.append)
            assert reported == [Indexed(2, 0)]
            assert {hit.id for hit in store.search("FINGERPRINT:half-0").hits} >= {"half-0", "half-1"}
        finally:
            store.delete([document.id for document in DOCUMENTS])
