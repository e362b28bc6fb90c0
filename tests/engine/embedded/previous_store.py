"""Writes a store as the version before this one did."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Sequence
from pathlib import Path

from whorl.model import Document


def sealed(label: str, blob: bytes) -> bytes:
    return blob + zlib.crc32(blob, zlib.crc32(label.encode())).to_bytes(4, "big")


def write_previous_store(folder: Path, documents: Sequence[Document]) -> None:
    """Write a store as the version before this one did."""
    folder.mkdir()
    connection = sqlite3.connect(folder / "records.db")
    connection.executescript(
        """
        PRAGMA journal_mode = WAL;
        CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE document (
            number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, size INTEGER NOT NULL,
            head BLOB NOT NULL, minima BLOB NOT NULL, sketch BLOB NOT NULL, content BLOB NOT NULL);
        INSERT INTO meta VALUES ('format', '5'), ('scheme', 'minhash1-icu74-w5-b512'), ('store', 'x');
        """
    )
    for each in documents:
        head = json.dumps([each.name, each.properties, each.digest], ensure_ascii=False).encode()
        blobs = sealed(f"head of {each.id}", head), sealed(f"content of {each.id}", zlib.compress(each.text.encode()))
        connection.execute(
            "INSERT INTO document (id, size, head, minima, sketch, content) VALUES (?, 0, ?, x'', x'', ?)",
            (each.id, *blobs),
        )
    connection.commit()
    connection.close()
