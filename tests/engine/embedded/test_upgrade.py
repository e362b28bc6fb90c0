"""Reading stores of the previous format, and refusing other folders."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.engine.embedded.previous_store import write_previous_store
from whorl.engine.embedded.database import previous_count, previous_documents
from whorl.errors import StoreError
from whorl.model import Document

DOCUMENTS = [
    Document("a", "one two", "A", {"n": [1, 2.5, True, "x"]}),
    Document("b", "", ""),
    Document("ü", "Straße 東京"),
]


def test_documents_are_returned_unchanged(tmp_path: Path) -> None:
    """
    Documents are read in order with their names, properties and types.
    """
    write_previous_store(tmp_path / "store", DOCUMENTS)
    assert previous_count(tmp_path / "store") == 3
    documents = list(previous_documents(tmp_path / "store"))
    assert documents == DOCUMENTS
    assert [document.digest for document in documents] == [document.digest for document in DOCUMENTS]


@pytest.mark.parametrize("column", ["head", "content"])
def test_damage_is_reported(tmp_path: Path, column: str) -> None:
    """
    Damaged or exchanged data raises an error instead of entering the new store.
    """
    write_previous_store(tmp_path / "store", DOCUMENTS)
    connection = sqlite3.connect(tmp_path / "store" / "records.db")
    connection.execute(f"UPDATE document SET {column} = (SELECT {column} FROM document WHERE id = 'a') WHERE id = 'b'")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match=f"damaged .{column} of document 2, b is not what was stored"):
        list(previous_documents(tmp_path / "store"))


def test_other_things_are_no_previous_stores(tmp_path: Path) -> None:
    """
    Stores of another format are skipped; a folder without a store is an error.
    """
    write_previous_store(tmp_path / "store", [])
    connection = sqlite3.connect(tmp_path / "store" / "records.db")
    connection.execute("UPDATE meta SET value = '4' WHERE key = 'format'")
    connection.commit()
    connection.close()
    assert previous_count(tmp_path / "store") is None
    with pytest.raises(StoreError, match="there is no store at"):
        previous_count(tmp_path)
    (tmp_path / "records.db").write_bytes(b"no database" * 100)
    with pytest.raises(StoreError, match="is damaged"):
        previous_count(tmp_path)
