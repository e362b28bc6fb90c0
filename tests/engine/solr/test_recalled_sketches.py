"""Searches that begin with the recalled sketch of their source: their requests, and their answers after changes."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator

import pytest

from tests import solr_runtime
from tests.sampling import FULL
from whorl import Document, Store, open_store
from whorl.engine.solr.engine import _CACHED_SKETCHES
from whorl.errors import UnknownDocumentError
from whorl.request_context import new_request
from whorl.search.similar.find_similar import MOST_OF_FIRST_QUERY

WORDS = [f"word{number}" for number in range(40)]


def text_of(seed: int, size: int = 300) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=size))


@pytest.fixture(
    params=[pytest.param("standalone", marks=pytest.mark.solr), pytest.param("cloud", marks=pytest.mark.cloud)],
    scope="module",
)
def collection(request: pytest.FixtureRequest) -> Iterator[str]:
    base_url = request.getfixturevalue(f"solr_{request.param}_url").rpartition("/")[0]
    made = solr_runtime.make_collection(base_url, name := f"whorl_recalled_{uuid.uuid4().hex[:8]}")
    yield made
    solr_runtime.drop(base_url, name)


@pytest.fixture
def url(collection: str) -> Iterator[str]:
    """A collection without documents."""
    yield collection
    with open_store(collection) as opened:
        opened.delete_matching("*", everything=True)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """A store that recalls sketches; other stores at `url` change its documents."""
    with open_store(url) as opened:
        yield opened


def answer(
    store: Store, reference: str, *, threshold: int = 50, only: str | None = None, recalls: bool = True
) -> dict[str, float]:
    """Return the hits with their shares; a mark for an unknown source. A prepared search recalls nothing."""
    try:
        if recalls:
            page = store.similar(reference, threshold=threshold, rows=500, filter=only)
        else:
            page = store.prepare_similar(reference, threshold=threshold, filter=only).search(rows=500)
    except UnknownDocumentError:
        return {"unknown": 0.0}
    return {hit.hit.id: hit.hit.score for hit in page.found}


def requests_of(store: Store, reference: str, *, threshold: int = 50, only: str | None = None) -> int:
    with new_request() as request:
        answer(store, reference, threshold=threshold, only=only)
        return request.trace.engine_requests


def test_a_source_is_read_once(store: Store) -> None:
    """
    The second search for a source sends one request, also with another threshold or filter; a filter that leaves out
    the source sends another to confirm it.
    """
    texts = [text_of(1), text_of(1) + " more", text_of(2)]
    store.index([Document(f"d{number}", text, f"name {number}") for number, text in enumerate(texts)])
    first = answer(store, "d0")
    assert list(first) == ["d1"]
    assert answer(store, "d0") == first
    assert requests_of(store, "d0") == requests_of(store, "d0", threshold=80) == 1
    assert answer(store, "d0", only="name:1") == first
    assert requests_of(store, "d0", only="name:1") == 2


@pytest.mark.parametrize("size", [30, 300, 3_000])
def test_every_change_counts_at_once(url: str, store: Store, size: int) -> None:
    """
    After every change by another client (a new text, a property, a deletion, another document), the answer is the one
    of a search that recalls nothing. Short texts have no stored sketch.
    """
    chance = random.Random(size)
    store.index([Document(f"d{number}", text_of(0, size)) for number in range(4)])
    recalled = 0
    with open_store(url) as other:
        for step in range(25 if FULL else 8):
            name, seed = f"d{chance.randrange(4)}", chance.randrange(3)
            match chance.randrange(4):
                case 0:
                    other.delete([name])
                case 1:
                    other.index([Document(name, text_of(seed, size), properties={"DBID": step})])
                case _:
                    other.index([Document(name, text_of(seed, size + chance.randrange(20)), f"name {step}")])
            for reference in ("d0", "d1"):
                expected = answer(store, reference, recalls=False)
                assert answer(store, reference) == answer(store, reference) == expected, (step, reference)
                recalled += store.engine.find_cached_sketch(reference) is not None
    assert recalled


def test_a_number_may_become_another_documents(url: str, store: Store) -> None:
    """
    A number is the DBID of a document before it is an id, so another document can take it over.
    """
    store.index([Document("7", text_of(1)), Document("a", text_of(1)), Document("b", text_of(2))])
    assert list(answer(store, "7")) == ["a"]
    with open_store(url) as other:
        other.index([Document("c", text_of(2), properties={"DBID": 7})])
    assert list(answer(store, "7")) == ["b"]


def test_many_copies_hide_the_source(url: str, store: Store) -> None:
    """
    The source is confirmed even if it is not on the page of the first candidates, and a new text of it counts.
    """
    store.index([Document(f"d{number:03}", text_of(1)) for number in range(MOST_OF_FIRST_QUERY + 20)])
    reference = f"d{MOST_OF_FIRST_QUERY + 19}"
    expected = answer(store, reference, recalls=False)
    assert len(expected) == MOST_OF_FIRST_QUERY + 19
    assert answer(store, reference) == answer(store, reference) == expected
    with open_store(url) as other:
        other.index([Document(reference, text_of(2)), Document("new", text_of(2))])
    assert list(answer(store, reference)) == ["new"]


def test_a_text_that_becomes_too_short(url: str, store: Store) -> None:
    """
    A source that loses its shingles has no hits, and a warning; it has hits again when it gets its text back.
    """
    store.index([Document("a", text_of(1)), Document("b", text_of(1))])
    assert store.similar("a", threshold=50).plan.source_size == 296
    for text, hits, size in (("too short", [], 0), (text_of(1), ["b"], 296), ("", [], 0)):
        with open_store(url) as other:
            other.index([Document("a", text)])
        page = store.similar("a", threshold=50)
        assert ([hit.hit.id for hit in page.found], page.plan.source_size) == (hits, size)
        assert bool(page.warnings) == (not hits)


def test_an_explanation_has_the_current_sketch(url: str, store: Store) -> None:
    """
    A prepared search, which may only be explained, reads the sketch of its source.
    """
    store.index([Document("a", text_of(1))])
    answer(store, "a")
    with open_store(url) as other:
        other.index([Document("a", text_of(2, 150))])
    assert store.prepare_similar("a").plan.source_size == 146


def test_few_sketches_are_recalled(store: Store) -> None:
    """
    The sketches of the last sources are recalled, and no more.
    """
    store.index([Document(f"d{number}", text_of(number)) for number in range(_CACHED_SKETCHES + 1)])
    for number in range(_CACHED_SKETCHES + 1):
        answer(store, f"d{number}")
    assert requests_of(store, "d1") == 1
    assert requests_of(store, "d0") == 2
