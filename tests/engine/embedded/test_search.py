"""Reads of records by searches, hits deleted during a search, and sorting of hits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cmp_to_key
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl import Store
from whorl.engine.embedded.database import Head, RecordDatabase
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.engine.embedded.search import sort_hits
from whorl.engine.embedded.shared_tokens import ScoredDocuments
from whorl.engine.embedded.tantivy_query import IndexReader
from whorl.model import Document, Order
from whorl.query.plan.nodes import BoundNode, Kind

COUNT = 30
TEXT = " ".join(f"word{number}" for number in range(60))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedEngine]:
    folder: Path = tmp_path_factory.mktemp("search") / "store"
    with EmbeddedEngine(folder) as opened:
        opened.index(
            Document(f"copy {number:02}", TEXT[: len(TEXT) - 100 * (number % 2)], f"name {number}")
            for number in reversed(range(COUNT))
        )
        opened.index([Document("7", "quite other words than all of these", "", {"DBID": 9})])
        opened.refresh()
        yield opened


@pytest.fixture
def read(engine: EmbeddedEngine) -> Iterator[list[str]]:
    """
    The SQL statements that read records.
    """
    statements: list[str] = []
    engine._records._reader.set_trace_callback(statements.append)
    yield statements
    engine._records._reader.set_trace_callback(None)


def test_a_similar_search_reads_the_source_and_its_candidates(engine: EmbeddedEngine, read: list[str]) -> None:
    """
    A similar search reads its source, the ids of its candidates, and the candidates, in one statement each.
    """
    hits = Store(engine).similar("copy 00", metric="jaccard", threshold=50, rows=COUNT).found
    assert [(hit.hit.id, hit.hit.name) for hit in hits[:3]] == [
        ("copy 02", "name 2"),
        ("copy 04", "name 4"),
        ("copy 06", "name 6"),
    ]
    assert len(hits) == COUNT - 1
    own = [statement for statement in read if "sqlite_sequence" not in statement]
    assert len(own) == 3


def test_fingerprints_with_words_are_counted_together(engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Parts with tokens only are counted together, also next to words, instead of one document query for each part.
    """
    counted: list[BoundNode] = []
    real = IndexReader.match_tokens

    def noted(self: IndexReader, plan: BoundNode) -> ScoredDocuments:
        counted.append(plan)
        return real(self, plan)

    monkeypatch.setattr(IndexReader, "match_tokens", noted)
    store = Store(engine)
    fingerprints = " OR ".join(f'FINGERPRINT:"copy {number:02}"_80' for number in range(10))
    scores = {hit.id: hit.score for hit in store.search(fingerprints, rows=COUNT).hits}
    assert not counted
    page = store.search(f"{fingerprints} OR quite", rows=COUNT + 1)
    assert len(counted) == 1
    assert {hit.id: hit.score for hit in page.hits} == {**scores, "7": 0.0}
    assert store.search(f"(copy OR quite) AND NOT ({fingerprints})").total == 1
    assert len(counted) == 2
    all_of = fingerprints.replace(" OR ", " AND ")
    assert store.search(f"word1 AND {all_of}").total == store.search(all_of).total
    assert len(counted) == 3
    assert store.search(f"(copy OR quite) AND NOT {fingerprints.replace(' OR ', ' AND NOT ')}").total == 1
    assert len(counted) == 4


@pytest.mark.parametrize(("start", "rows"), [(0, COUNT), (0, 4), (13, 4), (14, 3), (28, 9), (0, 0)])
def test_a_page_of_equals_is_in_the_order_of_ids(
    engine: EmbeddedEngine, read: list[str], start: int, rows: int
) -> None:
    """
    If more documents have equal scores than fit the page, their ids decide; names are read for the page only.
    """
    page = Store(engine).search('FINGERPRINT:"copy 00"', start=start, rows=rows)
    halves = [*range(0, COUNT, 2), *range(1, COUNT, 2)]
    assert page.total == COUNT
    assert [hit.id for hit in page.hits] == [f"copy {number:02}" for number in halves[start : start + rows]]
    assert [hit.name for hit in page.hits] == [f"name {number}" for number in halves[start : start + rows]]
    assert sum("id, head FROM" in statement for statement in read) <= 1


def test_an_order_of_ids_reads_no_values(engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    An order of ids reads only the documents on the page, an order of values all matching documents.
    """
    read, heads = list[int | str](), RecordDatabase.heads

    def counted(
        records: RecordDatabase, key: Literal["number", "id"], values: Iterable[int] | Iterable[str]
    ) -> Iterator[Head]:
        wanted: list[Any] = list(values)
        read.extend(wanted)
        return heads(records, key, wanted)

    monkeypatch.setattr(RecordDatabase, "heads", counted)
    page = Store(engine).search("*", rows=2, sort=[Order("id")])
    assert [(hit.id, hit.name) for hit in page.hits] == [("copy 29", "name 29"), ("copy 28", "name 28")]
    assert (page.total, read) == (COUNT + 1, ["copy 29", "copy 28"])
    read.clear()
    Store(engine).search("*", rows=2, sort=[Order("name")])
    assert len(read) == COUNT + 1 + 2


def test_a_reference_and_its_sketch(engine: EmbeddedEngine) -> None:
    """
    A number is first looked up as a DBID, then as an id; unknown references are left out.
    """
    sketched = engine.resolve_sketches(["9", "7", "8", "copy 00", "lone \ud800"])
    assert {reference: document_id for reference, (document_id, _) in sketched.items()} == {
        "9": "7",
        "7": "7",
        "copy 00": "copy 00",
    }
    assert sketched["9"][1] == engine.sketches(["7"])["7"]
    assert engine.resolve_signatures({"9": True})["9"] == ("7", engine.sign("quite other words than all of these"))


IDS = list("abcdef")
KEYS = [
    Order(None),
    Order(None, True),
    Order("id", True, ((Kind.KEYWORD, "id"),)),
    Order("n", True, ((Kind.INTEGER, "n"),)),
    Order("n", False, ((Kind.INTEGER, "n"),)),
    Order("either", True, ((Kind.KEYWORD, "k"), (Kind.INTEGER, "n"))),
]


def document(document_id: str, **properties: str | list[int]) -> Document:
    return Document(document_id, "", properties=properties)


def plain_key(hit: tuple[str, float], stored: dict[str, Document], key: Order) -> object:
    """
    Return the value of a sort key, None for a hit without one.
    """
    if key.field is None:
        return hit[1]
    if key.field == "id":
        return hit[0]
    for _, field in key.engine_fields:
        values = stored[hit[0]].contents().get(field, ()) if hit[0] in stored else ()
        if values:
            return min(values) if key.is_ascending else max(values)
    return None


@given(
    st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from([0.0, 1.0, 2.0])), unique_by=lambda hit: hit[0]),
    st.dictionaries(st.sampled_from(IDS), st.tuples(st.lists(st.integers(0, 3)), st.sampled_from(["n", "k"]))),
    st.lists(st.sampled_from(KEYS[:5]), max_size=3),
)
def test_orders(hits: list[tuple[str, float]], values: dict[str, tuple[list[int], str]], order: list[Order]) -> None:
    """
    Sort keys apply in order. Hits without a value come last in either direction, and ids decide between equal hits.
    """
    stored = {name: document(name, **{field: numbers}) for name, (numbers, field) in values.items()}

    def compare(one: tuple[str, float], other: tuple[str, float]) -> int:
        for key in order:
            ours, theirs = plain_key(one, stored, key), plain_key(other, stored, key)
            if ours == theirs:
                continue
            if ours is None or theirs is None:
                return 1 if ours is None else -1
            is_less = ours < theirs  # type: ignore[operator]  # of one type
            return -1 if is_less == key.is_ascending else 1
        return -1 if one[0] < other[0] else 1

    assert sort_hits(hits, stored, order) == sorted(hits, key=cmp_to_key(compare))


@pytest.mark.parametrize(("is_ascending", "expected"), [(True, "bac"), (False, "abc")])
def test_several_values(is_ascending: bool, expected: str) -> None:
    """
    The smallest of several values counts in ascending order, the largest in descending order.
    """
    stored = {
        stored_document.id: stored_document
        for stored_document in (document("a", n=[2, 9]), document("b", n=[1, 8]), document("c"))
    }
    hits = sort_hits(
        [(document_id, 0.0) for document_id in "cab"], stored, [Order("n", is_ascending, ((Kind.INTEGER, "n"),))]
    )
    assert "".join(document_id for document_id, _ in hits) == expected


def test_the_first_place_that_has_values_counts() -> None:
    """
    If a field has two places for values, a document's value is in the first place that it uses.
    """
    places = (Kind.KEYWORD, "t"), (Kind.KEYWORD, "u")
    stored = {
        stored_document.id: stored_document
        for stored_document in (document("a", t="m", u="a"), document("b", u="c"), document("c", t="z"))
    }
    hits = sort_hits([(document_id, 0.0) for document_id in "abc"], stored, [Order("t", True, places)])
    assert [document_id for document_id, _ in hits] == ["b", "a", "c"]
