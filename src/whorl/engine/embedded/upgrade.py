"""Reader of the previous store format, for upgrades: yields its documents for a new store."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from whorl.engine.embedded.folder import RECORDS
from whorl.errors import StoreError
from whorl.model import Document

PREVIOUS_FORMAT = "5"


def previous_count(path: Path) -> int | None:
    """Return the number of documents of a store of the previous format, None for a store of another format.

    Raises:
        StoreError: The folder has no store, or it cannot be read.
    """
    with closing(_connect(path)) as connection:
        try:
            meta = dict(connection.execute("SELECT key, value FROM meta"))
            if meta.get("format") != PREVIOUS_FORMAT:
                return None
            return int(connection.execute("SELECT count(*) FROM document").fetchone()[0])
        except sqlite3.Error as error:
            raise StoreError(f"{path / RECORDS} cannot be read: {error}") from error


def previous_documents(path: Path) -> Iterator[Document]:
    """Yield the documents of a store of the previous format in the order of their insertion.

    Raises:
        StoreError: The store is damaged.
    """
    with closing(_connect(path)) as connection:
        try:
            for document_id, head, content in connection.execute("SELECT id, head, content FROM document"):
                name, properties, _ = json.loads(_unseal(path, f"head of {document_id}", head))
                text = zlib.decompress(_unseal(path, f"content of {document_id}", content)).decode()
                yield Document(document_id, text, name, properties)
        except sqlite3.Error as error:
            raise StoreError(f"{path / RECORDS} cannot be read: {error}") from error


def _connect(path: Path) -> sqlite3.Connection:
    if not (path / RECORDS).is_file():
        raise StoreError(f"there is no store at {path}")
    # This module only reads. No log means no other writer, so `immutable` keeps SQLite from creating one.
    has_no_log = not (path / f"{RECORDS}-wal").exists()
    uri = f"{(path / RECORDS).absolute().as_uri()}?mode=ro{'&immutable=1' * has_no_log}"
    return sqlite3.connect(uri, uri=True)


def _unseal(path: Path, label: str, sealed: bytes) -> bytes:
    blob = sealed[:-4]
    if zlib.crc32(blob, zlib.crc32(label.encode())).to_bytes(4, "big") != sealed[-4:]:
        raise StoreError(f"{path / RECORDS} is damaged ({label} is not what was stored); restore it from a copy")
    return blob
