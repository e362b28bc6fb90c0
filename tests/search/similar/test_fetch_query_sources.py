"""Sources of queries: the meaning of each name, and one engine call per source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import pytest

from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.errors import ParameterError, UnknownDocumentError
from whorl.fingerprint.fingerprint_texts import sign, text_sketch
from whorl.fingerprint.minhash.signature_and_tokens import Signature
from whorl.fingerprint.sketch.frac_minhash import Sketch
from whorl.model import Document
from whorl.search.similar.fetch_query_sources import QuerySource, QuerySources

ONE, OTHER = "one two three four five six seven", "two three four five six seven eight"


class Watched(EmbeddedEngine):
    """An engine that counts its calls."""

    requests: Counter[str]

    def resolve(self, references: Collection[str]) -> Mapping[str, str]:
        self.requests.update(f"resolve {reference}" for reference in references)
        return super().resolve(references)

    def signatures(self, needs_order: Mapping[str, bool]) -> Mapping[str, Signature]:
        self.requests.update(
            f"{'ordered ' if needs_order[document_id] else ''}signature of {document_id}" for document_id in needs_order
        )
        return super().signatures(needs_order)

    def sketches(self, ids: Collection[str]) -> Mapping[str, Sketch]:
        self.requests.update(f"sketch of {document_id}" for document_id in ids)
        return super().sketches(ids)

    def resolve_signatures(self, needs_order: Mapping[str, bool]) -> Mapping[str, tuple[str, Signature | None]]:
        documents = super().resolve_signatures(needs_order)
        in_order = {document_id: needs_order[reference] for reference, (document_id, _) in documents.items()}
        self.requests.update(f"resolve {reference}" for reference in needs_order)
        self.requests.update(
            f"{'ordered ' if in_order[document_id] else ''}signature of {document_id}" for document_id in in_order
        )
        return documents

    def resolve_sketches(self, references: Collection[str]) -> Mapping[str, tuple[str, Sketch | None]]:
        documents = super().resolve_sketches(references)
        self.requests.update(
            [
                *(f"resolve {reference}" for reference in references),
                *(f"sketch of {document_id}" for document_id, _ in documents.values()),
            ]
        )
        return documents

    def sign(self, text: str) -> Signature:
        self.requests.update([f"sign {text}"])
        return super().sign(text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("sources") / "store"
    with EmbeddedEngine(made) as engine:
        engine.index([Document("a", ONE, "", {"DBID": 7}), Document("b", OTHER), Document("short", "one two")])
        engine.refresh()
    return made


@pytest.fixture
def engine(folder: Path) -> Iterator[Watched]:
    with Watched(folder) as opened:
        opened.requests = Counter()
        yield opened


def test_a_given_text_hides_a_document(engine: Watched) -> None:
    """
    A given text hides a document of the same name; an unknown name is an error.
    """
    sources = QuerySources(engine, {"b": ONE})
    assert sources.source("a") == QuerySource("a", "a")
    assert sources.source("7") == QuerySource("7", "a")
    assert sources.source("b") == QuerySource("b", text=ONE)
    for _ in range(2):
        with pytest.raises(UnknownDocumentError, match="the store has no document 'gone'"):
            sources.source("gone")
    assert set(engine.requests) == {"resolve a", "resolve 7", "resolve gone"}
    assert set(engine.requests.values()) == {1}


def test_signatures_are_asked_for_once(engine: Watched) -> None:
    """
    Two names of one document cause one call; unknown names are not looked up again.
    """
    sources = QuerySources(engine, {"given": OTHER})
    for _ in range(2):
        signatures = sources.signatures({"a": False, "7": False, "given": False, "gone": False})
        assert signatures == {"a": sign(ONE, engine.scheme), "7": sign(ONE, engine.scheme), "given": engine.sign(OTHER)}
        engine.requests[f"sign {OTHER}"] -= 1
    assert set(+engine.requests) == {"resolve a", "resolve 7", "resolve gone", "signature of a", f"sign {OTHER}"}
    assert set((+engine.requests).values()) == {1}


def test_the_order_of_tokens_may_matter_later(engine: Watched) -> None:
    """
    A signature fetched without order is fetched again if the order is needed, once; never the other way round.
    """
    sources = QuerySources(engine, {})
    for in_order in (False, True, True, False):
        assert sources.signatures({"a": in_order})["a"] == sign(ONE, engine.scheme)
    assert engine.requests == {"resolve a": 1, "signature of a": 1, "ordered signature of a": 1}
    sources.signatures({"7": False, "b": True})
    assert engine.requests["signature of a"] == 2


def test_sketches_of_documents_and_texts(engine: Watched) -> None:
    """
    The sketch of a text equals that of a document with the same text.
    """
    scheme = engine.sketch_scheme
    assert scheme is not None
    sources = QuerySources(engine, {"given": ONE})
    for _ in range(2):
        assert sources.sketch(sources.source("given"), scheme) == sources.sketch(sources.source("a"), scheme)
    assert sources.sketch(sources.source("a"), scheme) == text_sketch(ONE, engine.scheme, scheme)
    assert engine.requests["sketch of a"] == 1
    assert sources.sketch(QuerySource("vanished", "vanished"), scheme) is None


def test_a_document_without_a_fingerprint(engine: Watched) -> None:
    """
    A document deleted in the meantime has no signature; a too short document has an empty one.
    """
    sources = QuerySources(engine, {})
    assert len(sources.signature(sources.source("short"))) == 0
    with pytest.raises(ParameterError, match="document 'vanished' has no fingerprint"):
        sources.signature(QuerySource("vanished", "vanished"))
