"""Writes a store in the format of the previous version."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import zstandard

from whorl.model import Document


def sealed(label: str, blob: bytes) -> bytes:
    return blob + zlib.crc32(blob, zlib.crc32(label.encode())).to_bytes(4, "big")


def write_previous_store(folder: Path, documents: Sequence[Document], *options: tuple[str, str]) -> None:
    """Write a store of format 8 with options; the text of every second document is compressed with a dictionary."""
    folder.mkdir()
    dictionary = zstandard.ZstdCompressionDict(
        zstandard.train_dictionary(
            1024, [f"a sample of text {number} and more".encode() for number in range(500)]
        ).as_bytes()
    )
    compressors = [zstandard.ZstdCompressor(), zstandard.ZstdCompressor(dict_data=dictionary)]
    with closing(sqlite3.connect(folder / "records.db")) as connection:
        connection.executescript(
            """
            PRAGMA journal_mode = WAL;
            CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
            CREATE TABLE document (
                number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, size INTEGER NOT NULL,
                head BLOB NOT NULL, sketch BLOB NOT NULL, content BLOB NOT NULL);
            INSERT INTO meta VALUES ('format', '8'), ('scheme', 'minhash1-icu74-w5-b512'), ('store', 'x');
            """
        )
        connection.executemany("INSERT INTO meta VALUES (?, ?)", options)
        connection.execute("INSERT INTO meta VALUES ('dictionary', ?)", (sealed("dictionary", dictionary.as_bytes()),))
        for number, document in enumerate(documents, 1):
            head = json.dumps([document.name, document.properties, document.digest], ensure_ascii=False).encode()
            content = compressors[number % 2].compress(document.text.encode())
            blobs = (
                sealed(f"{part} of document {number}, {document.id}", blob)
                for part, blob in (("head", head), ("content", content))
            )
            connection.execute(
                "INSERT INTO document (number, id, size, head, sketch, content) VALUES (?, ?, 0, ?, x'', ?)",
                (number, document.id, *blobs),
            )
        connection.commit()
