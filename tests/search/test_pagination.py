"""Listing documents in the order of their ids: unusual ids; `tests/conformance` checks the order on every engine."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from whorl import Document, Store, open_store
from whorl.errors import ParameterError
from whorl.store import query_for_ids_after

IDS = sorted(
    [
        "*",
        "?",
        "MIN",
        "NOW",
        "TO",
        'a b:c"(',
        "a\\b",
        "lease",
        "node://x/1",
        "Z",
        "\u65e5\u672c",
        "\ufb00",
        "\U0001d504",
    ]
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "store") as opened:
        opened.index([Document(name, f"words of {at}") for at, name in enumerate(IDS)])
        yield opened


def test_behind_any_id(store: Store) -> None:
    """
    Characters of an id are not query syntax, and the order is that of code points.
    """
    for at, name in enumerate(IDS):
        hits = store.search("*", filter=[query_for_ids_after(name)], rows=100).hits
        assert [hit.id for hit in hits] == IDS[at + 1 :]


def test_matching_documents_are_deleted(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    delete_matching deletes all matches, in any number of portions, and nothing else; a query that matches everything
    needs `everything`.
    """
    monkeypatch.setattr("whorl.store._DELETED_AT_ONCE", 2)
    store.index([Document(f"old-{at}", "old words", properties={"stage": "old"}) for at in range(7)])
    # A store forgets a field that no document has.
    store.index([Document(IDS[0], "words of 0", properties={"stage": "new"})])
    assert (store.count(), store.count("stage:old")) == (len(IDS) + 7, 7)
    assert store.delete_matching("stage:old") == 7
    assert store.delete_matching("stage:old") == 0
    for everything in ("*", "words", "NOT stage:old"):
        with pytest.raises(ParameterError, match=f"matches all {len(IDS)} documents"):
            store.delete_matching(everything)
    assert store.delete_matching("*", everything=True) == len(IDS)
    assert store.delete_matching("*") == store.count() == 0


@pytest.mark.parametrize("length", [101, 1000])
def test_documents_with_long_ids_are_deleted(store: Store, monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    """
    delete_matching deletes documents whose ids have any length.
    """
    monkeypatch.setattr("whorl.store._DELETED_AT_ONCE", 2)
    store.index([Document(f"{at}".rjust(length, "\u65e5"), "old words") for at in range(7)])
    assert store.delete_matching("old") == 7
    assert store.count() == len(IDS)


@pytest.mark.parametrize("length", [1, 40, 140, 300])
def test_any_number_of_documents_is_after_an_id(store: Store, monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    """
    Documents after an id of at most 300 ASCII characters need not be compared with it one by one.
    """
    monkeypatch.setattr("whorl.engine.embedded.tantivy_query._FEW_TERMS", 2)
    monkeypatch.setattr("whorl.engine.embedded.tantivy_query.MOST_TERMS", 2)
    ids = [letter.rjust(length, "x") for letter in "abcdefg"] + ["d".rjust(length, "x") + more for more in "xyz"]
    store.index([Document(document_id, "old words") for document_id in ids])
    ids.sort()
    for at, document_id in enumerate(ids):
        hits = store.search("old", filter=[query_for_ids_after(document_id)], rows=100).hits
        assert [hit.id for hit in hits] == ids[at + 1 :]


def test_documents_added_during_the_run_do_not_extend_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Each id is visited once: documents stored again during the deletion are left for the next call.
    """
    monkeypatch.setattr("whorl.store._DELETED_AT_ONCE", 2)
    delete, numbers = store.engine.delete, itertools.count()

    def delete_and_store(ids: list[str], **options: Any) -> int:
        gone = delete(ids, **options)
        assert next(numbers) < 100
        store.index([Document(document_id, "words again") for document_id in ids])
        return gone

    monkeypatch.setattr(store.engine, "delete", delete_and_store)
    assert store.delete_matching("*", everything=True) == len(IDS)
    assert store.count() == len(IDS)
