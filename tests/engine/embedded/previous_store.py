"""Writes a store in the previous format."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from whorl import open_store
from whorl.model import Document


def write_previous_store(
    folder: Path, documents: Sequence[Document], *, passages: int | bool = False, without_minhash: bool = False
) -> None:
    """Write a store of format 9. It has the tables of this format, and other names of hashes."""
    with open_store(folder, passages=passages, without_minhash=without_minhash) as store:
        store.engine.index(documents)
    with closing(sqlite3.connect(folder / "records.db")) as connection:
        connection.execute("UPDATE meta SET value = '9' WHERE key = 'format'")
        connection.execute("UPDATE meta SET value = replace(value, 'sketch3-', 'sketch2-') WHERE key = 'sketches'")
        connection.execute("UPDATE meta SET value = replace(value, 'passages2-', 'passages1-') WHERE key = 'passages'")
        connection.commit()
