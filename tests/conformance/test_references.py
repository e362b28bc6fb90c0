"""Tests of references on every engine: paths and names of documents, sizes of stores, and deleting by reference."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from whorl import Document, Store
from whorl.cli.inputs import file_text

TEXT = " ".join(f"heron{number}" for number in range(30))


@pytest.fixture
def filled(store: Store) -> Iterator[Store]:
    documents = [
        Document("marsh/heron.txt", TEXT, name="heron.txt"),
        Document("marsh/reed.txt", f"{TEXT} and reed", name="reed.txt"),
        Document("pond/reed.txt", "reeds of another pond stand here", name="reed.txt"),
    ]
    store.index(documents)
    yield store
    store.delete([document.id for document in documents])


def test_paths_and_names(filled: Store, tmp_path: Path) -> None:
    """
    A path with dots, the end of an absolute path and a unique name are the document; a name of several is none.
    """
    references = ["./marsh/heron.txt", "heron.txt", "reed.txt", "HERON.txt", "nosuch"]
    assert filled.references.ids(references) == dict.fromkeys(references[:2], "marsh/heron.txt")
    filled.read_files(tmp_path / "marsh", file_text)
    try:
        meant = filled.references.ids(["heron.txt", str(tmp_path / "marsh/reed.txt"), "../pond/reed.txt"])
        assert list(meant.values()) == ["marsh/heron.txt", "marsh/reed.txt", "pond/reed.txt"]
        assert filled.references.document_with(f" {TEXT}\n") == "marsh/heron.txt"
        assert filled.references.document_with(f"{TEXT} or more") is None
    finally:
        filled.references = Store(filled.engine, filled.names).references


def test_searches_take_names(filled: Store) -> None:
    """
    A name gives the same hits, shares, tokens and text as the id.
    """
    query = 'FINGERPRINT:"{}" AND NOT id:pond*'
    by_name, by_id = (filled.search(query.format(name)).hits for name in ("heron.txt", "marsh/heron.txt"))
    assert by_name == by_id
    assert [hit.id for hit in by_id] == ["marsh/heron.txt", "marsh/reed.txt"]
    hits = [found.hit.id for found in filled.similar("heron.txt").found]
    assert hits == [found.hit.id for found in filled.similar("marsh/heron.txt").found] == ["marsh/reed.txt"]
    assert filled.text("heron.txt") == TEXT
    assert filled.compare("heron.txt", "marsh/heron.txt").shares.jaccard == 1


def test_deleting_by_name(filled: Store) -> None:
    """
    A unique name deletes its document, a shared one nothing.
    """
    assert filled.delete(["reed.txt", "nosuch"]) == 0
    assert filled.delete(["heron.txt"]) == 1
    assert filled.documents(["marsh/heron.txt", "marsh/reed.txt"]).keys() == {"marsh/reed.txt"}


def test_a_store_has_a_size(store: Store) -> None:
    """
    Each engine knows how many bytes its documents take.
    """
    assert (store.engine.size() or 0) > 10_000
