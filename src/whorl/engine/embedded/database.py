"""Reads and writes the SQLite database of an embedded store: the documents, and a journal of changes.

The database is the source of truth. One transaction writes documents and their journal entries. The journal lists the
changes that the index may lack. Every blob ends with a checksum of its content and its label. The label says where the
blob belongs, for example its column and the document's number and id. So a flipped bit, or a blob in a wrong row,
raises an error.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import uuid
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import closing, contextmanager
from copy import copy
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias

import orjson
import zstandard

from whorl.arrays_and_batches import batches, sort_distinct
from whorl.engine.embedded.passage_records import pack_passages, unpack_hashes, unpack_passages
from whorl.engine.embedded.store_files import (
    RECORDS,
    connect,
    connect_read_only,
    damaged_message,
    file_identity,
    file_state,
    sqlite_errors,
)
from whorl.engine.protocol import MinHashPart
from whorl.errors import SchemeMismatchError, StoreError
from whorl.fingerprint.fingerprint_texts import text_sketches
from whorl.fingerprint.shingling import Scheme, well_formed
from whorl.fingerprint.sketch.frac_minhash import Sketch, SketchScheme, decode_all, encode
from whorl.fingerprint.winnowing import Numbers, PassagePlaces, PassageScheme
from whorl.model import Document, PropertyValue
from whorl.query.plan.fields_and_values import infer_kind
from whorl.query.plan.nodes import Kind
from whorl.request_context import timely

#: Version of the tables below and of the hashes in them. Increase it with every change.
FORMAT = "12"
#: Older formats that whorl still reads; the first write to such a store changes its format to FORMAT. Format 10 stores
#: a text once per document, even if texts are equal. Format 11 stores passage hashes without their places.
OLDER_FORMATS = ("10", "11")
#: Format that `previous_store` reads for upgrades: the tables are the same, but apostrophes in texts were not folded.
PREVIOUS_FORMAT = "9"
SKETCH_SCHEME = SketchScheme()
#: Properties that identify a document, in addition to its id.
REFERENCE_PROPERTIES = ("DBID", "LID")

_Key: TypeAlias = Literal["number", "id"]

# Each blob ends with a checksum. Columns of a document:
#
# - id, and the handles (values of DBID and LID): not in a blob, so that they can be looked up;
# - head: name, properties and digest; for a short document, the text instead of the digest; in a store without texts,
#   also the number of words, except if the row was written in format 11;
# - sketch: null for a short document, and in a store without texts;
# - content: the text; null for a short document, and passage hashes in a store without texts.
#
# Equal long texts are stored once. The first document with the text is the owner. In the row of another document, the
# sketch is the owner's number (an integer, not a blob), and the content is the same number as a blob.
_TABLES = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS document (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, head BLOB NOT NULL, sketch BLOB, content BLOB);
CREATE TABLE IF NOT EXISTS handle (
    name TEXT NOT NULL, value TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (name, value, id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS handle_id ON handle (id);
CREATE TABLE IF NOT EXISTS field (entry BLOB PRIMARY KEY, documents BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS journal (number INTEGER PRIMARY KEY AUTOINCREMENT, entry BLOB NOT NULL);
"""
#: Two indexes. The first finds the owner of a text by the first bytes of the content: these are zstd's header with
#: sizes and code lengths, so they are nearly as distinct as a hash. The second finds the copies of a text by the number
#: of their owner.
_SHARING = """
CREATE INDEX IF NOT EXISTS owner ON document (substr(content, 1, 16)) WHERE typeof(sketch) = 'blob';
CREATE INDEX IF NOT EXISTS copy ON document (sketch) WHERE typeof(sketch) = 'integer'
"""
#: Subquery that replaces the sketch and the content of each copy by those of its owner. A single statement reads both
#: rows, so a writer cannot change one of them in between.
_RESOLVED = """(
    SELECT document.number, document.id, document.head,
        coalesce(owner.sketch, document.sketch) AS sketch, coalesce(owner.content, document.content) AS content,
        owner.number AS owner, owner.id AS owner_id,
        CASE WHEN owner.number IS NOT NULL THEN document.content END AS reference
    FROM document LEFT JOIN document AS owner
        ON owner.number = CASE typeof(document.sketch) WHEN 'integer' THEN document.sketch END)"""
#: First column of a query for the sketch or the content: it shows whether another document owns the text.
_TYPE = "typeof(sketch)"
_PARTS = ("head", "sketch", "content")
#: Maximum number of possible owners to compare with a text.
_MOST_OWNERS = 4
#: Number of ids in one SQL statement; older SQLite libraries allow 999.
_CHUNK = 500
_SEAL_BYTES = 4
_MOST_CACHED = 100_000  # maximum number of ids and names in the cache; about 20 MB
# Size of a page in bytes: larger pages waste more space on long rows, and smaller pages waste more space on short rows.
_PAGE_BYTES = 2048
# Size of SQLite's cache in KB. The default of 2 MB is too small: the inner pages of a million documents take 10 MB.
_CACHE_KB = 16_384
#: Files up to this size, in bytes, are checked when they are opened. The check of a gigabyte takes less than a second.
_MOST_CHECKED = 256 << 20
_META = frozenset(("format", "scheme", "sketches", "store", "dictionary", "passages", "minhash", "texts"))


class StoreOptions(NamedTuple):
    """Options that a store keeps in its database; `passages` is the scheme of its passage hashes, or None."""

    passages: PassageScheme | None = None
    minhash: MinHashPart = "whole"
    keeps_texts: bool = True


class Record(NamedTuple):
    """Stored data of a document.

    `content` is the sketch of a long text, or None for a short text, whose sketch is computed on demand. In a store
    without texts, `content` is the passage hashes with their places instead.
    """

    document: Document
    content: Sketch | PassagePlaces | None


class Head(NamedTuple):
    """A stored document without its sketch and `content`.

    A short document has a `short_text` instead of a `stored_digest`. A document whose passage hashes have places has a
    number of `words`.
    """

    number: int
    id: str
    name: str
    properties: dict[str, list[PropertyValue]]
    stored_digest: str
    short_text: str | None
    words: int | None = None

    @property
    def digest(self) -> str:
        return self.stored_digest or self.document(self.short_text or "").digest

    def document(self, text: str = "") -> Document:
        return Document(self.id, text, self.name, self.properties)


class _IdCache(NamedTuple):
    """Cache of ids (keyed by document number) and names (keyed by id); valid until the store changes."""

    change: int
    ids: dict[int, str]
    names: dict[str, str]


class SketchedDocument(NamedTuple):
    number: int
    id: str
    name: str
    sketch: Sketch


class NumberedDocument(NamedTuple):
    """A stored document with its number, which is never reused. In a store without texts, it has passage hashes."""

    number: int
    document: Document
    passages: Numbers | None = None


class RecordDatabase:
    """Reads and writes the documents and the journal in one SQLite file.

    All threads read through one connection, under a lock. One thread at a time writes, through another connection.

    Args:
        path: The file; created if it is missing or empty.
        wait_seconds: Maximum time to wait for the locks of other processes.
        is_read_only: Whether to open the file for reading only. If true, nothing in its folder is written.
        file_format: Format of an existing file; the schemes of a store in the previous format are not checked.
    """

    def __init__(
        self, path: Path, scheme: Scheme, *, wait_seconds: float, is_read_only: bool = False, file_format: str = FORMAT
    ) -> None:
        self._path, self._reading = path, threading.Lock()
        self._scheme, self._format = scheme, file_format
        self._state_at_open = file_state(path) if is_read_only else None
        # Resolve the path now, because the program may change its working directory.
        self._absolute_path = path.absolute()
        self._identity: tuple[int, int] | None = None
        self._texts = TextCodec(self._dictionary)
        # Result of `fields`, and the number of the last journal entry at that time.
        self._fields: tuple[int, list[tuple[str, Kind]]] | None = None
        self._cache = _IdCache(-1, {}, {})
        # For each field, the change in the number of documents that have it, in the current transaction.
        self._field_changes: Counter[str] = Counter()
        self._connect = partial(connect_read_only if is_read_only else connect, self._absolute_path, wait_seconds)
        with sqlite_errors(path):
            self._writer = self._connect()
            try:
                try:
                    self.store = self._identify(scheme)
                finally:
                    self.require_unchanged()
                self._reader = self._connect()
                for connection in (self._writer, self._reader):
                    connection.execute(f"PRAGMA cache_size=-{_CACHE_KB}")
                self._identity = None if is_read_only else file_identity(self._absolute_path)
            except BaseException:
                self._writer.close()
                raise

    def _identify(self, scheme: Scheme) -> str:
        """Create the tables of a new file or check an existing file; return the store's unique name."""
        tables = {name for (name,) in self._writer.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables:
            self._writer.execute(f"PRAGMA page_size={_PAGE_BYTES}")
            self._writer.execute("PRAGMA journal_mode=WAL")
            with self._transaction():
                for statement in (_TABLES + _SHARING).split(";"):
                    self._writer.execute(statement)
                schemes = {"scheme": scheme.name, "sketches": SKETCH_SCHEME.name}
                meta = {"format": FORMAT, **schemes, "store": uuid.uuid4().hex}
                # Keep the entries of another process that has just created the store.
                self._writer.executemany("INSERT OR IGNORE INTO meta VALUES (?, ?)", meta.items())
        elif "meta" not in tables:
            raise StoreError(
                f"{self._path} is an SQLite file of something else, not a whorl store; name another folder"
            )
        if self._path.stat().st_size <= _MOST_CHECKED:
            self._require_sound_pages(self._writer)
        if unknown := {key for (key,) in self._writer.execute("SELECT key FROM meta")} - _META:
            self.raise_damaged(f"it has an unknown entry {min(unknown, key=str)!r}")
        meta = dict(self._writer.execute("SELECT key, value FROM meta WHERE key != 'dictionary'"))
        stored_format = meta.get("format")
        self._is_older = stored_format in OLDER_FORMATS
        if stored_format != self._format and (not self._is_older or self._format != FORMAT):
            way = "use the version that made it, or index into a new folder"
            if stored_format == PREVIOUS_FORMAT:
                way = f"bring it up to date: whorl upgrade {self._path.parent}"
            raise StoreError(
                f"{self._path} is a store of format {stored_format}, and this version reads format {FORMAT}; {way}"
            )
        for key, name in (("scheme", scheme.name), ("sketches", SKETCH_SCHEME.name)):
            if meta.get(key) != name and self._format != PREVIOUS_FORMAT:
                raise SchemeMismatchError(
                    f"the store {self._path.parent} has the scheme {meta.get(key)}, not {name}; "
                    "open it with its own scheme, or index into a new folder"
                )
        return str(meta.get("store"))

    def _require_sound_pages(self, connection: sqlite3.Connection) -> None:
        """Run SQLite's integrity check on pages and indexes, which the blobs' checksums do not cover."""
        problems = [problem for (problem,) in connection.execute("PRAGMA integrity_check(3)")]
        if problems != ["ok"]:
            self.raise_damaged("; ".join(problems))

    def verify(self) -> None:
        """Read all data and raise StoreError if it is damaged."""
        with sqlite_errors(self._path), closing(self._connect()) as connection:
            # Rows that are read before and after a write may disagree, so read everything in one transaction.
            connection.execute("BEGIN")
            snapshot = copy(self)
            snapshot._reader, snapshot._reading = connection, threading.Lock()
            snapshot._fields, snapshot._cache = None, _IdCache(-1, {}, {})
            snapshot._verify()

    def _verify(self) -> None:
        self._require_sound_pages(self._reader)
        self.fields()
        self.find_changed_since(self.last_change() - len(self._read("SELECT number FROM journal")))
        documents, fields = 0, Counter[str]()
        for number, document, passages in self.all_documents():
            documents += 1
            fields.update(_field_entries(document.name, document.properties))
            if passages is None:
                self.sketched_documents("number", [number])
            values = document.values()
            handles = {(name, value) for name in REFERENCE_PROPERTIES for value in values.get(name, ())}
            if handles != set(self._read("SELECT name, value FROM handle WHERE id = ?", (document.id,))):
                self.raise_damaged(f"the handles of {document.id} are not what was stored")
        for entry, sealed in self._read("SELECT entry, documents FROM field"):
            name = self._unseal("field", entry).decode()
            if int(self._unseal(f"documents with {name}", sealed)) != fields.pop(name, 0):
                self.raise_damaged(f"the number of documents with {name} is not what was stored")
        if fields:
            self.raise_damaged(f"the field {min(fields)} is missing")
        if documents != self.count():
            self.raise_damaged(f"{documents:,} of {self.count():,} documents can be read")

    def options(self) -> StoreOptions:
        saved = dict(self._read("SELECT key, value FROM meta WHERE key IN ('passages', 'minhash', 'texts')"))
        passages = PassageScheme.parse(saved["passages"]) if "passages" in saved else None
        return StoreOptions(passages, saved.get("minhash", "whole"), "texts" not in saved)

    def set_options(self, options: StoreOptions) -> None:
        """Save the options that differ from the defaults; call this in the `with` block of `writing`."""
        values = {
            "passages": options.passages.name if options.passages else None,
            "minhash": None if options.minhash == "whole" else options.minhash,
            "texts": None if options.keeps_texts else "none",
        }
        self._writer.execute("DELETE FROM meta WHERE key IN ('passages', 'minhash', 'texts')")
        rows = [(key, value) for key, value in values.items() if value is not None]
        self._writer.executemany("INSERT INTO meta VALUES (?, ?)", rows)

    def require_unchanged(self) -> None:
        if self._state_at_open is not None and self._state_at_open != file_state(self._absolute_path):
            raise StoreError(
                f"{self._path} was written to since it was opened; open it again (a folder that may not be written to "
                f"is searched as it was when it was opened)"
            )

    def require_same_file(self) -> None:
        """Raise StoreError if the path no longer names the opened file, because writes to that file would be lost."""
        if self._identity is not None and self._identity != file_identity(self._absolute_path):
            raise StoreError(
                f"{self._path} is no longer the file that was opened: its folder was replaced, moved or removed; open "
                "the store again (restart a service), and then store again what was refused"
            )

    def close(self) -> None:
        with self._reading, sqlite_errors(self._path):
            self._reader.close()
            self._writer.close()

    def _dictionary(self) -> bytes | None:
        rows = self._read("SELECT value FROM meta WHERE key = 'dictionary'")
        return self._unseal("dictionary", rows[0][0]) if rows else None

    @contextmanager
    def writing(self, texts: Iterable[str] = ()) -> Iterator[None]:
        """Run the `with` block in a transaction. If the store lacks a compression dictionary, train one on `texts`."""
        try:
            with self._transaction():
                self._field_changes.clear()
                if self._is_older:
                    for statement in _SHARING.split(";"):
                        self._writer.execute(statement)
                    self._writer.execute("UPDATE meta SET value = ? WHERE key = 'format'", (FORMAT,))
                if made := self._texts.begin(texts):
                    self._writer.execute("INSERT INTO meta VALUES ('dictionary', ?)", (_seal("dictionary", made),))
                yield
                self._write_field_counts()
            self._is_older = False
        except BaseException:
            self._texts.forget()
            raise

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with sqlite_errors(self._path):
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._writer.execute("COMMIT")
                # Check after the commit, so that documents are acknowledged only if they are in the file that the path
                # names.
                self.require_same_file()
            except BaseException:
                # On a full disk, SQLite has already rolled back, so check before rolling back.
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    def _write_field_counts(self) -> None:
        """Save the changed number of documents for each field; remove fields that no document has."""
        for name, change in self._field_changes.items():
            if not change:
                continue
            entry, label = _seal("field", name.encode()), f"documents with {name}"
            row = self._writer.execute("SELECT documents FROM field WHERE entry = ?", (entry,)).fetchone()
            documents = change + (int(self._unseal(label, row[0])) if row else 0)
            if documents > 0:
                sealed = _seal(label, str(documents).encode())
                self._writer.execute("INSERT OR REPLACE INTO field VALUES (?, ?)", (entry, sealed))
            else:
                self._writer.execute("DELETE FROM field WHERE entry = ?", (entry,))

    # Call the following methods only in the `with` block of `writing`.

    def put(self, records: Sequence[Record]) -> list[int]:
        """Store or replace documents with distinct ids, add journal entries, and return the documents' numbers."""
        ids = [record.document.id for record in records]
        known, first = self._predecessors(ids), self._next_number()
        numbers = [known.get(document_id, first + at) for at, document_id in enumerate(ids)]
        replaced, owners = frozenset(known.values()), dict[bytes, int]()
        self._move_shared_texts(replaced)
        rows, handles = [], list[tuple[str, str, str]]()
        for number, record in zip(numbers, records, strict=True):
            document = record.document
            blobs = _, sketch, content = self._blobs(record)
            row: list[object]
            row = [_seal_part(part, number, document.id, blob) for part, blob in zip(_PARTS, blobs, strict=True)]
            if sketch is not None and content is not None:
                if content not in owners:
                    owners[content] = self._find_owner(content, replaced) or number
                if (owner := owners[content]) != number:
                    row[1:] = _reference(number, document.id, owner)
            rows.append((number, document.id, *row))
            self._field_changes.update(_field_entries(document.name, document.properties))
            if document.properties:
                values = document.values()
                handles += [
                    (name, value, document.id) for name in REFERENCE_PROPERTIES for value in values.get(name, ())
                ]
        self._writer.executemany("DELETE FROM handle WHERE id = ?", [(document_id,) for document_id in known])
        self._writer.executemany("INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?, ?)", rows)
        self._writer.executemany("INSERT OR IGNORE INTO handle VALUES (?, ?, ?)", handles)
        self._add_journal_entries(dict(zip(numbers, ids, strict=True)))
        return numbers

    def _blobs(self, record: Record) -> tuple[bytes, bytes | None, bytes | None]:
        """Return a document's blobs: head (name, properties, digest), sketch, and content (text or passage hashes).

        A short document has only a head, which includes the text instead of the digest.
        """
        document, content = record.document, record.content
        if content is None:
            data = _json([document.name, document.properties]) if document.name or document.properties else ""
            return self._texts.compress(f"{data}\n{document.text}"), None, None
        kept = [document.name, document.properties, document.digest]
        if isinstance(content, Sketch):
            return self._texts.compress(_json(kept)), encode(content), self._texts.compress(document.text)
        return self._texts.compress(_json([*kept, content.words])), None, pack_passages(content)

    def remove(self, ids: Iterable[str]) -> dict[int, str]:
        """Delete documents by id, and add journal entries; return the ids of the deleted documents, keyed by number."""
        wanted = list(ids)
        known = self._predecessors(wanted)
        removed = {known[document_id]: document_id for document_id in wanted if document_id in known}
        self._move_shared_texts(removed.keys())
        self._writer.executemany("DELETE FROM document WHERE number = ?", [(number,) for number in removed])
        self._writer.executemany("DELETE FROM handle WHERE id = ?", [(document_id,) for document_id in known])
        self._add_journal_entries(removed)
        return removed

    def _find_owner(self, content: bytes, excluded: Set[int]) -> int | None:
        """Return the number of a document that owns exactly this compressed text, or None."""
        rows = self._writer.execute(
            "SELECT number, id, content FROM document "
            "WHERE substr(content, 1, 16) = ? AND typeof(sketch) = 'blob' LIMIT ?",
            (content[:16], _MOST_OWNERS),
        )
        for number, document_id, sealed in rows.fetchall():
            if number not in excluded and sealed == _seal_part("content", number, document_id, content):
                return int(number)
        return None

    def _move_shared_texts(self, leaving: Set[int]) -> None:
        """Move the texts of documents that will be replaced or deleted to other documents with equal texts."""
        for number in leaving:
            copies = self._writer.execute(
                "SELECT number, id FROM document WHERE sketch = ? AND typeof(sketch) = 'integer'", (number,)
            )
            remaining = sorted(row for row in copies.fetchall() if row[0] not in leaving)
            if not remaining:
                continue
            # Copies are often deleted in the order of their numbers. The copy with the highest number usually stays
            # longest, so move the text there.
            heir, heir_id = remaining.pop()
            [(document_id, *sealed)] = self._writer.execute(
                "SELECT id, sketch, content FROM document WHERE number = ?", (number,)
            )
            blobs = (
                _seal_part(part, heir, heir_id, self._unseal(_label(part, number, document_id), blob))
                for part, blob in zip(_PARTS[1:], sealed, strict=True)
            )
            moved = [(*blobs, heir), *((*_reference(other, other_id, heir), other) for other, other_id in remaining)]
            self._writer.executemany("UPDATE document SET sketch = ?, content = ? WHERE number = ?", moved)

    def _predecessors(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of stored documents, keyed by id; subtract these documents from the field counts."""
        numbers = {}
        for chunk in batches(ids, _CHUNK):
            marks = ", ".join("?" * len(chunk))
            rows = self._writer.execute(f"SELECT number, id, head FROM document WHERE id IN ({marks})", chunk)
            for head in (self._decode_head(*row) for row in rows.fetchall()):
                self._field_changes.subtract(_field_entries(head.name, head.properties))
                numbers[head.id] = head.number
        return numbers

    def _next_number(self) -> int:
        """Return an unused number for a new document: the number of the next journal entry."""
        last = self._writer.execute("SELECT seq FROM sqlite_sequence WHERE name = 'journal'").fetchone()
        number = int(last[0]) + 1 if last else 1
        highest = self._writer.execute("SELECT max(number) FROM document").fetchone()[0]
        if highest is not None and highest >= number:
            self.raise_damaged(f"the journal ends at {number - 1:,}, before document {highest:,}")
        return number

    def _add_journal_entries(self, ids: Mapping[int, str]) -> None:
        entries = [(_seal("journal", f"{number} {document_id}".encode()),) for number, document_id in ids.items()]
        self._writer.executemany("INSERT INTO journal (entry) VALUES (?)", entries)

    def forget_changes(self, through: int) -> None:
        self._writer.execute("DELETE FROM journal WHERE number <= ?", (through,))

    # Any thread may call the following methods at any time.

    def last_change(self) -> int:
        """Return the number of the latest journal entry, even if this entry was deleted."""
        rows = self._read("SELECT seq FROM sqlite_sequence WHERE name = 'journal'")
        return int(rows[0][0]) if rows else 0

    def find_changed_since(self, number: int) -> dict[int, str] | None:
        """Return the documents changed after the journal entry `number`: their ids, keyed by document number.

        Return None if the journal lacks any of the later entries.
        """
        rows = self._read("SELECT entry FROM journal WHERE number > ? ORDER BY number", (number,))
        entries = (self._unseal("journal", entry).decode().partition(" ") for (entry,) in rows)
        changed = {int(document_number): document_id for document_number, _, document_id in entries}
        # Journal numbers have no gaps. If entries are missing, the index is older or newer than the journal, so the
        # changes are unknown.
        return changed if number + len(rows) == self.last_change() else None

    def documents(self, key: _Key, values: Iterable[int] | Iterable[str]) -> Iterator[NumberedDocument]:
        return filter(None, (self._read_document(f"{key} = ?", value) for value in values))

    def all_documents(self) -> Iterator[NumberedDocument]:
        number = -1
        while document := self._read_document("number > ? ORDER BY number LIMIT 1", number):
            number = document.number
            yield document

    def _read_document(self, which: str, value: str | int) -> NumberedDocument | None:
        # Read one document at a time, so that other threads can search in between.
        rows = self._read_rows(f"{_TYPE}, head, content", which, (value,))
        for number, document_id, kind, head, content, *owner in rows:
            known = self._decode_head(number, document_id, head)
            if kind != "null" or known.short_text is not None:
                return NumberedDocument(number, known.document(self._read_text(known, content, *owner)))
            packed = self._unseal(_label("content", number, document_id), content)
            if known.words is None:
                return NumberedDocument(number, known.document(), unpack_hashes(packed))
            hashes = unpack_passages(packed, known.words).hashes
            return NumberedDocument(number, known.document(), sort_distinct([hashes]))
        return None

    def _decode_head(self, number: int, document_id: str, head: object) -> Head:
        raw = self._decompress(_label("head", number, document_id), head)
        # The JSON contains no line break, so the text of a short document begins after the first line break.
        data, is_short, text = raw.partition("\n")
        name, properties, *more = orjson.loads(data) if data else ("", {})
        digest, words = (*more, None, None)[:2]
        return Head(number, document_id, name, properties, digest or "", text if is_short else None, words)

    def _read_sketches(self, raws: Sequence[str | bytes]) -> list[Sketch]:
        """Return the sketch of each document: the stored sketch, or a sketch computed from a short document's text."""
        # Copies of a text have equal sketches, so sketch each text only once.
        distinct = dict.fromkeys(raws)
        texts = [raw for raw in distinct if isinstance(raw, str)]
        encoded = [raw for raw in distinct if isinstance(raw, bytes)]
        made: dict[str | bytes, Sketch] = dict(zip(encoded, decode_all(encoded, SKETCH_SCHEME), strict=True))
        if texts:
            made.update(zip(texts, text_sketches(texts, self._scheme, SKETCH_SCHEME), strict=True))
        return [made[raw] for raw in raws]

    def _read_text(self, head: Head, content: object, *owner: Any) -> str:
        if content is None and head.short_text is not None:
            return head.short_text
        return self._decompress(self._owner_label("content", head.number, head.id, *owner), content)

    def _owner_label(self, part: str, number: int, document_id: str, *owner: Any) -> str:
        """Return the label of a document's blob. If another document owns the text, check the reference to it."""
        if not owner or owner[0] is None:
            return _label(part, number, document_id)
        owner_number, owner_id, reference = owner
        if self._unseal(_label("reference", number, document_id), reference) != str(owner_number).encode():
            self.raise_damaged(f"the reference of {document_id} is not what was stored")
        return _label(part, owner_number, owner_id)

    def _decompress(self, label: str, sealed: object) -> str:
        compressed = self._unseal(label, sealed)
        try:
            return self._texts.decompress(compressed)
        except zstandard.ZstdError as error:
            self.raise_damaged(f"{label}: {error}")

    def count(self) -> int:
        return int(self._read("SELECT count(*) FROM document")[0][0])

    def fields(self) -> list[tuple[str, Kind]]:
        """Return the names of all fields with whole (not tokenized) values, and the types of these values."""
        # Read the number of the last change first, then the fields. If the store changes in between, the next call
        # reads the fields again.
        change, cached = self.last_change(), self._fields
        if cached is None or cached[0] != change:
            entries = [json.loads(self._unseal("field", entry)) for (entry,) in self._read("SELECT entry FROM field")]
            cached = self._fields = change, [(name, Kind[kind]) for name, kind in sorted(entries)]
        return cached[1]

    def ids(self, numbers: Sequence[int]) -> dict[int, str]:
        known = self._valid_cache(numbers).ids
        missing = [number for number in numbers if number not in known]
        known.update((number, document_id) for number, document_id, _ in self._select("NULL", "number", missing))
        return {number: known[number] for number in numbers if number in known}

    def _valid_cache(self, wanted: Sequence[object]) -> _IdCache:
        """Return the cache of ids and names; a new cache if the store has changed, or if `wanted` does not fit in."""
        # Read the number of the last change now; the caller reads the documents later. If the store changes in between,
        # the next call returns a new cache.
        change, cache = self.last_change(), self._cache
        if cache.change == change and len(wanted) + len(cache.ids) + len(cache.names) <= _MOST_CACHED:
            return cache
        cache = _IdCache(change, {}, {})
        if len(wanted) <= _MOST_CACHED:
            self._cache = cache
        return cache

    def numbers(self, ids: Iterable[str]) -> dict[str, int]:
        return {document_id: number for number, document_id, _ in self._select("NULL", "id", ids)}

    def heads(self, key: _Key, values: Iterable[int] | Iterable[str]) -> Iterator[Head]:
        return (self._decode_head(*row) for row in self._select("head", key, values))

    def names(self, ids: Iterable[str]) -> dict[str, str]:
        wanted = list(ids)
        known = self._valid_cache(wanted).names
        known.update((head.id, head.name) for head in self.heads("id", [key for key in wanted if key not in known]))
        return {key: known[key] for key in wanted if key in known}

    def texts(self, ids: Iterable[str]) -> dict[str, str]:
        texts = {}
        for number, document_id, _, raw_head, *stored in self._select(f"{_TYPE}, head, content", "id", ids):
            texts[document_id] = self._read_text(self._decode_head(number, document_id, raw_head), *stored)
        return texts

    def passage_places(self, ids: Iterable[str]) -> dict[str, PassagePlaces]:
        """Return the passage hashes of documents in a store without texts; omit documents without places."""
        passages = {}
        for number, document_id, raw_head, content in self._select("head, content", "id", ids):
            words = self._decode_head(number, document_id, raw_head).words
            if words is not None:
                packed = self._unseal(_label("content", number, document_id), content)
                passages[document_id] = unpack_passages(packed, words)
        return passages

    def sketches(self, ids: Iterable[str]) -> dict[str, Sketch]:
        return {document.id: document.sketch for document in self.sketched_documents("id", ids)}

    def sketched_documents(self, key: _Key, values: Iterable[int] | Iterable[str]) -> list[SketchedDocument]:
        wanted: list[Any] = list(values)
        # Get the cache before reading names: it must not keep names from before the last change.
        names = self._valid_cache(wanted).names
        return self._with_sketches(self._select(f"{_TYPE}, head, sketch", key, wanted), names)

    def scan(self, after: str, rows: int) -> list[SketchedDocument]:
        """Return the next `rows` documents after an id, sorted by id (code points)."""
        names = self._valid_cache(range(rows)).names
        page = self._read_rows(f"{_TYPE}, head, sketch", "id > ? ORDER BY id LIMIT ?", (after, rows))
        return self._with_sketches(page, names)

    def _with_sketches(self, rows: Iterable[tuple[Any, ...]], names: dict[str, str]) -> list[SketchedDocument]:
        """Decode rows of `_read_rows` with head and sketch; add missing names, keyed by id, to the cache `names`."""
        keys, sources, owned = list[tuple[int, str]](), list[str | bytes](), dict[str, bytes]()
        for number, document_id, _, raw_head, sketch, *owner in rows:
            keys.append((number, document_id))
            short_text = None
            if sketch is None or document_id not in names:
                head = self._decode_head(number, document_id, raw_head)
                names[document_id] = head.name
                short_text = head.short_text
            if sketch is None and short_text is not None:
                sources.append(short_text)
            else:
                label = self._owner_label("sketch", number, document_id, *owner)
                # Verify the sketch of an owner only once for all of its copies.
                source = owned[label] if label in owned else self._unseal(label, sketch)
                if owner:
                    owned[label] = source
                sources.append(source)
        sketches = zip(keys, self._read_sketches(sources), strict=True)
        return [SketchedDocument(number, key, names[key], sketch) for (number, key), sketch in sketches]

    def find_by_handle(self, name: str, value: str) -> str | None:
        """Return the smallest id of the documents whose property `name` has this value, or None."""
        [(document_id,)] = self._read("SELECT min(id) FROM handle WHERE name = ? AND value = ?", (name, value))
        for head in self.heads("id", [document_id] if document_id else []):
            if value not in head.document().values().get(name, ()):
                self.raise_damaged(f"{name} of {document_id} is not what was stored")
        return None if document_id is None else str(document_id)

    def _select(self, columns: str, key: _Key, values: Iterable[str] | Iterable[int]) -> Iterator[tuple[Any, ...]]:
        """Yield number, id and `columns` of the documents whose `key` is one of `values`, in any order."""
        known = [value for value in values if isinstance(value, int) or value == well_formed(value)]
        for chunk in timely(batches(known, _CHUNK), 1):
            marks = ", ".join("?" * len(chunk))
            yield from self._read_rows(columns, f"{key} IN ({marks})", chunk)

    def _read_rows(self, columns: str, which: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Read rows of number, id and `columns`.

        If the first column is `_TYPE`, copies of a text get the sketch and the content of the owner. If any row is a
        copy, all rows have three more columns: the owner's number, the owner's id, and the reference to the owner.
        """
        rows = self._read(f"SELECT number, id, {columns} FROM document WHERE {which}", values)
        # Joining copies with their owners is slow, so do it only if one of the rows is a copy.
        if columns.startswith(_TYPE) and "integer" in [row[2] for row in rows]:
            columns += ", owner, owner_id, reference"
            rows = self._read(f"SELECT number, id, {columns} FROM {_RESOLVED} WHERE {which}", values)
        return rows

    def _read(self, statement: str, values: Sequence[str | int] = ()) -> list[tuple[Any, ...]]:
        try:
            with self._reading, sqlite_errors(self._path):
                return self._reader.execute(statement, values).fetchall()
        finally:
            # Check even after an error: if another process has written to the store, an error does not mean damage.
            self.require_unchanged()

    def _unseal(self, label: str, sealed: object) -> bytes:
        """Return the content of a blob that `_seal` returned; raise StoreError if its checksum is wrong."""
        if not isinstance(sealed, bytes) or _checksum(label, sealed[:-_SEAL_BYTES]) != sealed[-_SEAL_BYTES:]:
            self.raise_damaged(f"{label} is not what was stored")
        return sealed[:-_SEAL_BYTES]

    def raise_damaged(self, detail: str) -> NoReturn:
        self.require_unchanged()
        raise StoreError(damaged_message(self._path, detail))


def _field_entries(name: str, properties: Mapping[str, Any]) -> set[str]:
    """Return a document's entries for the table of fields: the name of a field and a type of its values, as JSON."""
    entries = {_field_entry(field, infer_kind(value)[0]) for field, values in properties.items() for value in values}
    return entries | {_field_entry("name", Kind.KEYWORD)} if name else entries


@lru_cache
def _field_entry(name: str, kind: Kind) -> str:
    return json.dumps((name, kind.name))


def _json(values: object) -> str:
    return orjson.dumps(values).decode()


def _label(part: str, number: int, document_id: str) -> str:
    return f"{part} of document {number}, {document_id}"


def _seal_part(part: str, number: int, document_id: str, blob: bytes | None) -> bytes | None:
    return None if blob is None else _seal(_label(part, number, document_id), blob)


def _reference(number: int, document_id: str, owner: int) -> tuple[int, bytes]:
    """Return the values that a copy has in the columns sketch and content, instead of its owner's sketch and text."""
    return owner, _seal(_label("reference", number, document_id), str(owner).encode())


def _seal(label: str, blob: bytes) -> bytes:
    """Append a checksum of the blob and its label, so that `_unseal` detects damage and a blob in a wrong row."""
    return blob + _checksum(label, blob)


def _checksum(label: str, blob: bytes) -> bytes:
    return zlib.crc32(blob, zlib.crc32(label.encode())).to_bytes(_SEAL_BYTES, "big")


@contextmanager
def previous_store(folder: Path, *, or_current: bool = False) -> Iterator[RecordDatabase | None]:
    """Open a store of the previous format (with `or_current`, also the current format) for reading, or yield None."""
    path = folder / RECORDS
    if not path.is_file():
        raise StoreError(f"there is no store at {folder}")
    with sqlite_errors(path), closing(connect_read_only(path, 0.0)) as connection:
        (stored_format,) = connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone() or (None,)
    if stored_format != PREVIOUS_FORMAT and not (or_current and stored_format in (FORMAT, *OLDER_FORMATS)):
        yield None
        return
    records = RecordDatabase(path, Scheme(), wait_seconds=0.0, is_read_only=True, file_format=stored_format)
    with closing(records):
        yield records


#: Compression level at which zstd takes a fifth of zlib's time for nearly the same size.
_LEVEL = 3
#: zstd's magic number and dictionary id would take 8 bytes of each frame. Instead, one byte precedes the frame:
#: `_PLAIN` or `_WITH_DICTIONARY`.
_FRAMES = zstandard.FORMAT_ZSTD1_MAGICLESS
_PLAIN, _WITH_DICTIONARY = b"\0", b"\1"
_PARAMETERS = zstandard.ZstdCompressionParameters.from_level(
    _LEVEL, format=_FRAMES, write_content_size=True, write_dict_id=False
)
#: Total size in bytes of the texts on which the dictionary is trained.
TRAINING_BYTES = 2 << 20
#: Maximum number of characters of each text to train the dictionary on.
_TRAINING_CHARACTERS_PER_TEXT = 1 << 14
#: Size of the dictionary in bytes.
_DICTIONARY = 112_640
#: Segment size k and d-mer size d for zstd's trainer. With these values, training takes 0.1 s.
_TRAINING = {"k": 200, "d": 8}


class TextCodec:
    """Compresses and decompresses texts. Many threads may decompress at once, but only one may compress.

    `read_dictionary` returns the store's dictionary, which never changes, or None before the store has one.
    """

    def __init__(self, read_dictionary: Callable[[], bytes | None]) -> None:
        self._read_dictionary = read_dictionary
        self._samples: list[bytes] = []
        self._sampled = 0
        self._dictionary: zstandard.ZstdCompressionDict | None = None
        self._compressor = self._without_dictionary = zstandard.ZstdCompressor(compression_params=_PARAMETERS)
        #: Idle decompressors, with and without the dictionary. A thread takes one, and puts it back afterwards.
        self._idle: list[zstandard.ZstdDecompressor] = []
        self._idle_plain: list[zstandard.ZstdDecompressor] = []

    def begin(self, texts: Iterable[str]) -> bytes | None:
        """Load the store's dictionary. If it has none, train a dictionary on the texts so far, and return it.

        Return None if the store has a dictionary, if the sample is too small for training, or if the training fails.
        """
        if self._compressor is not self._without_dictionary:
            return None
        made = None
        if not (dictionary := self._load_dictionary()):
            made = self._train(texts)
            self._dictionary = dictionary = made
        if dictionary:
            dictionary.precompute_compress(compression_params=_PARAMETERS)
            self._compressor = zstandard.ZstdCompressor(compression_params=_PARAMETERS, dict_data=dictionary)
            self._samples.clear()
        return made.as_bytes() if made else None

    def forget(self) -> None:
        """Forget the dictionary, because a rollback may have removed it from the store."""
        self._dictionary, self._compressor = None, self._without_dictionary
        self._samples.clear()
        self._idle.clear()
        self._sampled = 0

    def compress(self, text: str) -> bytes:
        kind = _PLAIN if self._compressor is self._without_dictionary else _WITH_DICTIONARY
        return kind + self._compressor.compress(text.encode())

    def _train(self, texts: Iterable[str]) -> zstandard.ZstdCompressionDict | None:
        """Add texts to the sample. If it is large enough, return a dictionary trained on it, otherwise None."""
        for text in texts:
            if self._sampled >= TRAINING_BYTES:
                break
            self._samples.append(text[:_TRAINING_CHARACTERS_PER_TEXT].encode())
            self._sampled += len(self._samples[-1])
        if self._sampled < TRAINING_BYTES or not self._samples:
            return None
        samples: list[bytes | bytearray | memoryview[int]] = [*self._samples]
        self._samples.clear()
        try:
            return zstandard.train_dictionary(_DICTIONARY, samples, **_TRAINING)
        except zstandard.ZstdError:
            # Training fails if the texts have nothing in common, so a dictionary would not help.
            return None

    def decompress(self, compressed: bytes) -> str:
        """Decompress a text; raise ZstdError for damaged bytes or a lost dictionary."""
        is_plain = compressed[:1] == _PLAIN
        idle = self._idle_plain if is_plain else self._idle
        try:
            decompressor = idle.pop()
        except IndexError:
            dictionary = None if is_plain else self._load_dictionary()
            if not is_plain and not dictionary:
                raise zstandard.ZstdError("the dictionary is lost") from None
            decompressor = zstandard.ZstdDecompressor(dict_data=dictionary, format=_FRAMES)
        raw = decompressor.decompress(compressed[1:])
        idle.append(decompressor)
        return raw.decode()

    def _load_dictionary(self) -> zstandard.ZstdCompressionDict | None:
        dictionary = self._dictionary
        if dictionary is None and (raw := self._read_dictionary()):
            dictionary = self._dictionary = zstandard.ZstdCompressionDict(raw)
        return dictionary
