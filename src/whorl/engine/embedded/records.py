"""The SQLite file of an embedded store: the documents, and a journal of what changed.

This file is the truth. One transaction writes documents and their journal entries; whatever is derived from the
documents asks the journal what it has missed.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import uuid
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whorl.errors import SchemeMismatchError, StoreError
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.codec import decode, encode
from whorl.fingerprint.sketch.sketch import Sketch, SketchScheme
from whorl.model import Document
from whorl.planning.clauses import Kind

#: Of the tables below; a change to them is a new number.
FORMAT = "4"
#: Properties that a document can be named by, beside its id.
HANDLES = ("DBID", "LID")

_TABLES = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS document (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, properties TEXT NOT NULL,
    digest TEXT NOT NULL, size INTEGER NOT NULL, minima BLOB NOT NULL, sketch BLOB NOT NULL, content BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS document_size ON document (size);
CREATE TABLE IF NOT EXISTS handle (
    name TEXT NOT NULL, value TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (name, value, id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS handle_id ON handle (id);
CREATE TABLE IF NOT EXISTS field (name TEXT NOT NULL, kind TEXT NOT NULL, PRIMARY KEY (name, kind)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS journal (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL);
"""
_CHUNK = 500  # ids in one statement; older SQLite libraries take 999


@dataclass(frozen=True, slots=True)
class Record:
    """A document as stored: with its digest, its buckets' minima (none for a short text) and its sketch."""

    document: Document
    digest: str
    minima: npt.NDArray[np.uint64]
    sketch: Sketch


class Records:
    """The documents and the journal in one SQLite file.

    Any thread may read, through one connection behind a lock; one thread at a time may write, through another.

    Args:
        path: The file; made when it is missing or empty.
        scheme: What the signatures in it are made under.
        sketch_scheme: What the sketches in it are made under.
        wait_seconds: How long to wait for another process.

    Raises:
        StoreError: The file is of another kind or format, or cannot be used.
        SchemeMismatchError: Its signatures are made under another scheme.
    """

    def __init__(self, path: Path, scheme: Scheme, sketch_scheme: SketchScheme, *, wait_seconds: float) -> None:
        self._path, self._reading, self._sketch_scheme = path, threading.Lock(), sketch_scheme
        with _failures(path):
            self._writer = _connect(path, wait_seconds)
            try:
                self.store = self._identify(scheme)
                self._reader = _connect(path, wait_seconds)
            except BaseException:
                self._writer.close()
                raise

    def _identify(self, scheme: Scheme) -> str:
        """Make the tables of a new file or check those of an old one; return the store's own name."""
        tables = {name for (name,) in self._writer.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables:
            self._writer.execute("PRAGMA journal_mode=WAL")
            with self.writing():
                for statement in _TABLES.split(";"):
                    self._writer.execute(statement)
                parts = {
                    "format": FORMAT,
                    "scheme": scheme.name,
                    "sketches": self._sketch_scheme.name,
                    "store": uuid.uuid4().hex,
                }
                # Another process may have made the same store a moment ago: then its entries stand.
                self._writer.executemany("INSERT OR IGNORE INTO meta VALUES (?, ?)", parts.items())
        elif "meta" not in tables:
            raise StoreError(
                f"{self._path} is an SQLite file of something else, not a whorl store; name another folder"
            )
        meta = dict(self._writer.execute("SELECT key, value FROM meta"))
        if meta.get("format") != FORMAT:
            raise StoreError(
                f"{self._path} is a store of format {meta.get('format')}, and this version reads format {FORMAT}; "
                f"use the version that made it, or index into a new folder"
            )
        for key, name in (("scheme", scheme.name), ("sketches", self._sketch_scheme.name)):
            if meta.get(key) != name:
                raise SchemeMismatchError(
                    f"the store {self._path.parent} is made under the scheme {meta.get(key)}, and asked for is "
                    f"{name}; open it with its own scheme, or index into a new folder"
                )
        return str(meta.get("store"))

    def close(self) -> None:
        """Close both connections."""
        with self._reading, _failures(self._path):
            self._reader.close()
            self._writer.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the file for writing; at the end commit, so that it survives a power cut, or take all back."""
        with _failures(self._path):
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._writer.execute("COMMIT")
            except BaseException:
                # A full disk has already taken the transaction back.
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    # Within `writing` only.

    def put(self, record: Record) -> None:
        """Store a document in the place of its predecessor, and note it in the journal."""
        document = record.document
        self.remove(document.id, note=False)
        self._writer.execute(
            "INSERT INTO document (id, name, properties, digest, size, minima, sketch, content) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                document.id,
                document.name,
                json.dumps(document.properties, ensure_ascii=False),
                record.digest,
                record.sketch.size,
                record.minima.astype(">u8").tobytes(),
                encode(record.sketch),
                zlib.compress(document.text.encode()),
            ),
        )
        values = document.values()
        kinds = {(name, kind.name) for name, kind, _ in document.wholes()}
        self._writer.executemany("INSERT OR IGNORE INTO field VALUES (?, ?)", sorted(kinds))
        handles = [(name, value, document.id) for name in HANDLES for value in values.get(name, ())]
        self._writer.executemany("INSERT OR IGNORE INTO handle VALUES (?, ?, ?)", handles)
        self._note(document.id)

    def remove(self, document_id: str, *, note: bool = True) -> bool:
        """Forget a document; return whether there was one."""
        gone = self._writer.execute("DELETE FROM document WHERE id = ?", (document_id,)).rowcount > 0
        if gone:
            self._writer.execute("DELETE FROM handle WHERE id = ?", (document_id,))
        if gone and note:
            self._note(document_id)
        return gone

    def _note(self, document_id: str) -> None:
        self._writer.execute("INSERT INTO journal (id) VALUES (?)", (document_id,))

    def forget_changes(self, through: int) -> None:
        """Drop the journal's entries up to a number: nobody asks for them again."""
        self._writer.execute("DELETE FROM journal WHERE number <= ?", (through,))

    # At any time, from any thread.

    def last_change(self) -> int:
        """Return the number of the journal's newest entry, ever."""
        rows = self._read("SELECT seq FROM sqlite_sequence WHERE name = 'journal'")
        return int(rows[0][0]) if rows else 0

    def changed_since(self, number: int) -> list[str] | None:
        """Return the ids that changed after a journal number; None when the journal cannot tell."""
        rows = self._read("SELECT number, id FROM journal WHERE number > ? ORDER BY number", (number,))
        # Numbers have no gaps, so a short list means that the asker is older than the journal, or newer than all.
        return list(dict.fromkeys(row[1] for row in rows)) if number + len(rows) == self.last_change() else None

    def records(self, ids: Sequence[str] | None = None) -> Iterator[Record]:
        """Yield the documents of these ids that exist, or all documents."""
        wanted = [number for (number,) in self._read("SELECT number FROM document ORDER BY number")]
        if ids is not None:
            wanted = sorted(row[1] for row in self._by_id("number", ids))
        columns = "id, name, properties, digest, minima, sketch, content"
        for number in wanted:
            # One at a time, so that a search in another thread waits for one, not for all.
            for row in self._read(f"SELECT {columns} FROM document WHERE number = ?", (number,)):
                yield self._record(*row)

    def _record(
        self, document_id: str, name: str, properties: str, digest: str, minima: bytes, sketch: bytes, content: bytes
    ) -> Record:
        try:
            text = zlib.decompress(content).decode()
            document = Document(document_id, text, name, json.loads(properties))
        except (zlib.error, ValueError) as error:
            raise StoreError(_damaged(self._path, f"document {document_id!r}: {error}")) from error
        return Record(document, digest, _numbers(minima), decode(sketch, self._sketch_scheme))

    def count(self) -> int:
        """Return how many documents there are."""
        return int(self._read("SELECT count(*) FROM document")[0][0])

    def largest_size(self) -> int | None:
        """Return the distinct shingles of the largest document, None where there is none."""
        size: int | None = self._read("SELECT max(size) FROM document")[0][0]
        return size

    def fields(self) -> list[tuple[str, Kind]]:
        """Return the names of all fields that any document ever had whole values in, with the types of these."""
        return [(name, Kind[kind]) for name, kind in self._read("SELECT name, kind FROM field ORDER BY name, kind")]

    def digests(self, ids: Collection[str]) -> dict[str, str]:
        """Return digests by id, of those documents that exist."""
        return {row[0]: row[1] for row in self._by_id("digest", ids)}

    def names(self, ids: Collection[str]) -> dict[str, str]:
        """Return names by id, of those documents that exist."""
        return {row[0]: row[1] for row in self._by_id("name", ids)}

    def untexted(self, ids: Collection[str]) -> dict[str, Document]:
        """Return documents by id, of those that exist, without their texts."""
        rows = self._by_id("name, properties", ids)
        return {row[0]: Document(row[0], "", row[1], json.loads(row[2])) for row in rows}

    def texts(self, ids: Collection[str]) -> dict[str, str]:
        """Return texts by id, of those documents that exist."""
        found = {}
        for document_id, content in self._by_id("content", ids):
            try:
                found[document_id] = zlib.decompress(content).decode()
            except (zlib.error, ValueError) as error:
                raise StoreError(_damaged(self._path, f"document {document_id!r}: {error}")) from error
        return found

    def minima(self, document_id: str) -> npt.NDArray[np.uint64] | None:
        """Return a document's minima in bucket order, None where there is no such document."""
        rows = self._by_id("minima", [document_id])
        return _numbers(rows[0][1]) if rows else None

    def sketches(self, ids: Collection[str]) -> dict[str, Sketch]:
        """Return sketches by id, of those documents that exist."""
        return {row[0]: decode(row[1], self._sketch_scheme) for row in self._by_id("sketch", ids)}

    def scan(self, after: str, rows: int) -> list[tuple[str, str, Sketch]]:
        """Return ids, names and sketches of the documents whose ids come next, by code point."""
        found = self._read("SELECT id, name, sketch FROM document WHERE id > ? ORDER BY id LIMIT ?", (after, rows))
        return [(row[0], row[1], decode(row[2], self._sketch_scheme)) for row in found]

    def by_handle(self, name: str, value: str) -> str | None:
        """Return the id of the document whose property is exactly this value; of several, the first id."""
        found: str | None = self._read("SELECT min(id) FROM handle WHERE name = ? AND value = ?", (name, value))[0][0]
        return found

    def _by_id(self, columns: str, ids: Collection[str]) -> list[tuple[Any, ...]]:
        listed = list(ids)
        rows: list[tuple[Any, ...]] = []
        for at in range(0, len(listed), _CHUNK):
            chunk = listed[at : at + _CHUNK]
            marks = ", ".join("?" * len(chunk))
            rows += self._read(f"SELECT id, {columns} FROM document WHERE id IN ({marks})", chunk)
        return rows

    def _read(self, statement: str, values: Sequence[str | int] = ()) -> list[tuple[Any, ...]]:
        with self._reading, _failures(self._path):
            return self._reader.execute(statement, values).fetchall()


class WriteLock:
    """Who may write to a store: one holder among all processes and threads, until it lets go or dies.

    An SQLite file of its own, since SQLite's locks work on every system, end with their process and can wait.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with _failures(path):
            self._connection = _connect(path, 0.0)

    def acquire(self, wait_seconds: float) -> bool:
        """Take the lock; return False when somebody else holds it for longer than we wait."""
        with _failures(self._path):
            self._connection.execute(f"PRAGMA busy_timeout={int(wait_seconds * 1000)}")
            try:
                self._connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if _primary_code(error) != sqlite3.SQLITE_BUSY:
                    raise
                return False
            return True

    def release(self) -> None:
        """Let go."""
        with _failures(self._path):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Let go for good."""
        with _failures(self._path):
            self._connection.close()


def _connect(path: Path, wait_seconds: float) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=wait_seconds, isolation_level=None, check_same_thread=False)
    try:
        # FULL: a commit that has returned survives a power cut.
        connection.execute("PRAGMA synchronous=FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def _numbers(blob: bytes) -> npt.NDArray[np.uint64]:
    return np.frombuffer(blob, dtype=">u8").astype(np.uint64)


@contextmanager
def _failures(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(_explained(path, error)) from error


def _primary_code(error: sqlite3.Error) -> int:
    # The rest of the number only says where.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _explained(path: Path, error: sqlite3.Error) -> str:
    match _primary_code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return f"another process holds {path}; try again when it has finished"
        case sqlite3.SQLITE_FULL:
            return f"no room left on the disk for {path}; free some and try again: what was stored before is safe"
        case sqlite3.SQLITE_IOERR:
            name = getattr(error, "sqlite_errorname", "")
            return (
                f"{path} cannot be read or written ({error}, {name}); see whether the disk is full or failing, "
                f"then try again: what was stored before is safe"
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return _damaged(path, str(error))
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return f"{path} cannot be opened for writing ({error}); see who owns the folder and its files"
    return f"{path}: {error}"


def _damaged(path: Path, detail: str) -> str:
    return f"{path} is damaged ({detail}); restore it from a copy, or delete the folder {path.parent} and index again"
