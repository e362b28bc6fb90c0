"""Reading stores of the previous format, and refusing other folders."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.engine.embedded.previous_store import write_previous_store
from whorl.engine.embedded.database import previous_store
from whorl.errors import StoreError
from whorl.model import Document

DOCUMENTS = [
    Document("a", "one two", "A", {"n": [1, 2.5, True, "x"]}),
    Document("b", "", ""),
    Document("ü", "Straße 東京 " * 300),
]


def read(folder: Path) -> list[Document]:
    with previous_store(folder) as previous:
        assert previous is not None
        assert previous.count() == len(DOCUMENTS)
        return [numbered.document for numbered in previous.all_documents()]


def test_documents_are_returned_unchanged(tmp_path: Path) -> None:
    """
    Documents are read in order with their names, properties and types.
    """
    write_previous_store(tmp_path / "store", DOCUMENTS)
    documents = read(tmp_path / "store")
    assert documents == DOCUMENTS
    assert [document.digest for document in documents] == [document.digest for document in DOCUMENTS]


def test_damage_is_reported(tmp_path: Path) -> None:
    """
    Exchanged data raises an error instead of entering the new store.
    """
    write_previous_store(tmp_path / "store", DOCUMENTS)
    connection = sqlite3.connect(tmp_path / "store" / "records.db")
    connection.execute("UPDATE document SET head = (SELECT head FROM document WHERE id = 'a') WHERE id = 'b'")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match=r"damaged .head of document 2, b is not what was stored"):
        read(tmp_path / "store")


def test_other_things_are_no_previous_stores(tmp_path: Path) -> None:
    """
    Stores of another format are skipped; a folder without a store is an error.
    """
    write_previous_store(tmp_path / "store", [])
    connection = sqlite3.connect(tmp_path / "store" / "records.db")
    connection.execute("UPDATE meta SET value = '4' WHERE key = 'format'")
    connection.commit()
    connection.close()
    with previous_store(tmp_path / "store") as previous:
        assert previous is None
    with pytest.raises(StoreError, match="there is no store at"), previous_store(tmp_path):
        pass
    (tmp_path / "records.db").write_bytes(b"no database" * 100)
    with pytest.raises(StoreError, match="is damaged"), previous_store(tmp_path):
        pass
