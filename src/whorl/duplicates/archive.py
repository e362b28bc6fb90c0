"""Sketches on disk, of as many documents as there is room for, and the pairs that were found among them.

A folder holds `documents.sqlite`, which is the truth, and `hashes-N.u64`, the documents' hashes one after the other,
little-endian. Hashes are written first, then the rows that say where they begin: what a crash leaves at the end of
the file belongs to no document and is cut off. A document that is replaced leaves its hashes behind; when those are
most of the file, it is written anew under the next number.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.arrays import chunks
from whorl.duplicates.sketches import Numbers, Sketches
from whorl.duplicates.verify import Pairs
from whorl.errors import ParameterError, StoreError
from whorl.fingerprint.sketch.sketch import Sketch, SketchScheme

_FORMAT = "2"
_DATABASE = "documents.sqlite"
_TABLES = """
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE document (
        number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, worth REAL, date REAL,
        digest BLOB NOT NULL, size INTEGER NOT NULL, start INTEGER NOT NULL, count INTEGER NOT NULL,
        key INTEGER NOT NULL, scan INTEGER NOT NULL, is_paired INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX document_by_key ON document (key);
    CREATE TABLE pair (
        a INTEGER NOT NULL, b INTEGER NOT NULL, shared INTEGER NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL,
        PRIMARY KEY (a, b)
    ) WITHOUT ROWID;
    CREATE INDEX pair_by_b ON pair (b)
"""
HASH = np.dtype("<u8")
_CHUNK, _ROWS_AT_ONCE, _BYTES_AT_ONCE = 500, 50_000, 1 << 22
#: What `is_paired` of a document says: it was compared with nothing yet; all its pairs with others of these are known;
#: they were, until a document was forgotten that took some of them along.
_NEW, _PAIRED, _TO_PAIR_AGAIN = 0, 1, 2
_PAIR_CLUSTERS_AGAIN = f"""
    WITH RECURSIVE cluster (number) AS (
        SELECT number FROM document WHERE id IN ({{}})
        UNION
        SELECT CASE a WHEN number THEN b ELSE a END FROM cluster JOIN pair ON a = number OR b = number
    )
    UPDATE document SET is_paired = {_TO_PAIR_AGAIN}
    WHERE is_paired = {_PAIRED} AND number IN (SELECT number FROM cluster)
"""
#: What the question begins with if of the pairs only so many are kept as hold clusters together.
_LINKS = "links of "
#: The file of hashes is written anew when fewer of them than one in so many belong to a document.
_GARBAGE = 2


#: Id, name, worth and date of a document.
Known: TypeAlias = tuple[str, str, float | None, float | None]


@dataclass(frozen=True, slots=True)
class Entry:
    """A document to keep.

    Args:
        id: What it is known by.
        digest: Of what it was made from: while that is the same, nothing has to be done.
        sketch: Its sketch.
        name: What people know it by, or "".
        worth: What the column that decides which is kept says of it, the larger the better; or None.
        date: Seconds since 1970 when it was made or changed, or None.
    """

    id: str
    digest: bytes
    sketch: Sketch
    name: str = ""
    worth: float | None = None
    date: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Archived:
    """All documents of an archive, in the order in which they came.

    Args:
        numbers: What the archive knows them by; int64 array of shape (documents,).
        sketches: Their sketches, mapped from the disk.
        keys: Equal for documents of equal sketches; int64 array of shape (documents,).
        is_paired: Whether all pairs among these are known; bool array of shape (documents,).
        is_new: Which ones were compared with nothing yet; bool array of shape (documents,).
    """

    numbers: Numbers
    sketches: Sketches
    keys: Numbers
    is_paired: npt.NDArray[np.bool_]
    is_new: npt.NDArray[np.bool_]


class Archive:
    """A folder of sketches; one process at a time has it open.

    Args:
        path: The folder; made where there is none.
        origin: What the documents come from and how they were sampled; an archive keeps to one.
        scheme: What the sketches depend on.

    Raises:
        StoreError: The folder holds something else, cannot be used, or is used by another process.
        ParameterError: The archive is of another origin.
    """

    def __init__(self, path: Path, origin: str, scheme: SketchScheme) -> None:
        self._path, self._scheme = path, scheme
        try:
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()) and not (path / _DATABASE).exists():
                raise StoreError(f"{path} holds something else than what was found before; name a new folder")
            self._database = sqlite3.connect(path / _DATABASE, timeout=0, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"the folder {path} cannot be used: {error}") from error
        try:
            with self._failures():
                self._open(origin)
                self._file = self._open_hashes()
        except BaseException:
            self._database.close()
            raise

    def _open(self, origin: str) -> None:
        # Before anything is written: the database of another program stays as it is.
        tables = {row[0] for row in self._database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and not {"meta", "document", "pair"} <= tables:
            raise StoreError(f"{self._path} holds something else than what was found before; name a new folder")
        # One process at a time: what two of them append to the file would run together.
        self._database.execute("PRAGMA locking_mode=EXCLUSIVE")
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=FULL")
        self._database.execute("BEGIN IMMEDIATE")
        if not self._database.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
            for statement in _TABLES.split(";"):
                self._database.execute(statement)
            kept = {"format": _FORMAT, "origin": origin, "sketches": self._scheme.name, "file": "0", "scan": "0"}
            self._database.executemany("INSERT INTO meta VALUES (?, ?)", kept.items())
        self._database.execute("COMMIT")
        if self._meta("format") != _FORMAT:
            raise StoreError(
                f"{self._path} is of format {self._meta('format')}, and this version reads format {_FORMAT}; delete "
                "the folder, and all is compared anew"
            )
        for key, wanted in (("origin", origin), ("sketches", self._scheme.name)):
            if self._meta(key) != wanted:
                raise ParameterError(
                    f"{self._path} holds what was found in {self._meta(key)}, and this is {wanted}; name another folder"
                )

    def _open_hashes(self) -> int:
        """Open the file of hashes, without what no document has, and return its number."""
        number = int(self._meta("file") or 0)
        end, live = self._one("SELECT coalesce(max(start + count), 0), coalesce(sum(count), 0) FROM document")
        if live * _GARBAGE < end:
            number, end = self._written_anew(number), live
        for other in self._path.glob("hashes-*.u64"):
            if other != self._hashes_path(number):
                other.unlink()
        descriptor = os.open(self._hashes_path(number), os.O_RDWR | os.O_CREAT, 0o666)
        size = os.fstat(descriptor).st_size
        if size < end * HASH.itemsize:
            os.close(descriptor)
            raise StoreError(f"{self._hashes_path(number)} was cut short; delete the folder, and all is compared anew")
        os.ftruncate(descriptor, end * HASH.itemsize)
        os.lseek(descriptor, 0, os.SEEK_END)
        self._end = end
        return descriptor

    def _written_anew(self, number: int) -> int:
        """Write the hashes that documents have to the next file."""
        rows = self._database.execute("SELECT number, start, count FROM document ORDER BY number").fetchall()
        old = np.fromfile(self._hashes_path(number), HASH) if rows else np.empty(0, HASH)
        moved, start = [], 0
        with self._hashes_path(number + 1).open("wb") as file:
            for document, at, count in rows:
                old[at : at + count].tofile(file)
                moved.append((start, document))
                start += count
            file.flush()
            os.fsync(file.fileno())
        with self._writing():
            self._database.executemany("UPDATE document SET start = ? WHERE number = ?", moved)
            self._set("file", str(number + 1))
        return number + 1

    def _hashes_path(self, number: int) -> Path:
        return self._path / f"hashes-{number}.u64"

    def close(self) -> None:
        """Let go of the folder."""
        os.close(self._file)
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def scheme(self) -> SketchScheme:
        """What the sketches depend on."""
        return self._scheme

    # Documents.

    def unchanged(self, documents: Sequence[tuple[str, bytes, str, float | None, float | None]]) -> dict[str, bool]:
        """Return the ids of documents that are kept under the same digests, and note that they were seen.

        Args:
            documents: Ids and digests; names, worths and dates, which may be others now.

        Returns:
            For each id whether it was seen in this reading already.
        """
        digests = {document_id: digest for document_id, digest, *_ in documents}
        scan = self._scan()
        found = {
            row[0]: row[2] == scan
            for row in self._by_id("SELECT id, digest, scan FROM document WHERE id IN ({})", list(digests))
            if row[1] == digests[row[0]]
        }
        with self._writing():
            self._database.executemany(
                "UPDATE document SET scan = ?, name = ?, worth = ?, date = ? WHERE id = ?",
                [
                    (scan, name, worth, date, document_id)
                    for document_id, _, name, worth, date in documents
                    if document_id in found
                ],
            )
        return found

    def put(self, entries: Sequence[Entry], mark: str | None = None) -> list[str]:
        """Keep documents in the place of those of the same ids, all or none; they are safe when this returns.

        Args:
            entries: Of different ids.
            mark: Where a reading that is interrupted now is to go on.

        Returns:
            The ids of those that were seen in this reading already.
        """
        # One sketch that several have, as texts that come again do, is written once.
        sketches = {id(entry.sketch): entry.sketch for entry in entries}
        hashes = {each: sketch.hashes.astype(HASH, copy=False) for each, sketch in sketches.items()}
        with self._failures():
            for some in chunks(hashes.values(), lambda own: own.nbytes, _BYTES_AT_ONCE):
                write_all(self._file, np.concatenate(some))
            os.fsync(self._file)
        scan = self._scan()
        places, start = {}, self._end
        for each, own in hashes.items():
            places[each] = (sketches[each].size, start, own.size, sketch_key(sketches[each]))
            start += own.size
        rows = [
            (entry.id, entry.name, entry.worth, entry.date, entry.digest, *places[id(entry.sketch)], scan)
            for entry in entries
        ]
        ids = [entry.id for entry in entries]
        repeated = [
            row[0] for row in self._by_id("SELECT id, scan FROM document WHERE id IN ({})", ids) if row[1] == scan
        ]
        with self._writing():
            self._forget(ids)
            self._database.executemany(
                "INSERT INTO document (id, name, worth, date, digest, size, start, count, key, scan) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )
            if mark is not None:
                self._set("mark", mark)
        self._end = start
        return repeated

    def _forget(self, ids: Sequence[str]) -> None:
        if (self._meta("question") or "").startswith(_LINKS):
            # What they held together may be alike without them: pairs were left out since these were enough.
            for at in range(0, len(ids), _CHUNK):
                some = ids[at : at + _CHUNK]
                self._database.execute(_PAIR_CLUSTERS_AGAIN.format(", ".join("?" * len(some))), some)
        for number, key in list(self._by_id("SELECT number, key FROM document WHERE id IN ({})", ids)):
            self._database.execute("DELETE FROM pair WHERE a = :number OR b = :number", {"number": number})
            self._database.execute("DELETE FROM document WHERE number = ?", (number,))
            # Equal documents may have been known by this one.
            self._database.execute(
                f"UPDATE document SET is_paired = {_TO_PAIR_AGAIN} WHERE key = ? AND is_paired = {_PAIRED}", (key,)
            )

    def begin_reading(self) -> None:
        """Begin to read some documents; those that are kept already stay."""
        with self._writing():
            self._set("scan", str(self._scan() + 1))

    def begin_scan(self) -> str:
        """Begin to read everything there is, or go on; return the mark of the last `put`, "" at the beginning."""
        mark = self._meta("mark")
        if mark is None:
            self.begin_reading()
            with self._writing():
                self._set("mark", "")
        return mark or ""

    def end_scan(self) -> int:
        """Forget the documents that were not seen since the reading began; return how many."""
        scan = self._scan()
        gone = [row[0] for row in self._rows("SELECT id FROM document WHERE scan <> ?", scan)]
        with self._writing():
            self._forget(gone)
            self._database.execute("DELETE FROM meta WHERE key = 'mark'")
        return len(gone)

    def archived(self) -> Archived:
        """Return all documents."""
        numbers, sizes, starts, counts, keys, is_paired = self._columns(
            "SELECT number, size, start, count, key, is_paired FROM document ORDER BY number", 6
        )
        path = self._hashes_path(int(self._meta("file") or 0))
        # numpy maps no empty file.
        hashes = np.memmap(path, HASH, "r", shape=(self._end,)) if self._end else np.empty(0, np.uint64)
        sketches = Sketches(self._scheme, sizes, starts, counts, hashes)
        return Archived(numbers, sketches, keys, is_paired == _PAIRED, is_paired == _NEW)

    def tell_apart(self, keys: Sequence[tuple[int, int]]) -> None:
        """Give documents keys of their own, which say more than their sketches.

        Args:
            keys: New keys, each with the number of its document.
        """
        with self._writing():
            self._database.executemany("UPDATE document SET key = ? WHERE number = ?", keys)

    def count(self) -> int:
        """Return how many documents there are."""
        return int(self._one("SELECT count(*) FROM document")[0])

    def known(self, numbers: Collection[int]) -> dict[int, Known]:
        """Return id, name, worth and date of documents, by their numbers."""
        found = self._by_id("SELECT number, id, name, worth, date FROM document WHERE number IN ({})", list(numbers))
        return {row[0]: (row[1], row[2], row[3], row[4]) for row in found}

    # Pairs.

    def ask(self, question: str, *, links_suffice: bool = False) -> None:
        """Forget the pairs if they answer another question.

        Args:
            question: What the pairs answer.
            links_suffice: Whether only so many are kept as hold clusters together.
        """
        question = f"{_LINKS if links_suffice else 'pairs of '}{question}"
        if self._meta("question") != question:
            with self._writing():
                self._database.execute("DELETE FROM pair")
                # Their pairs are looked for again, and they stay what came before.
                self._database.execute(f"UPDATE document SET is_paired = {_TO_PAIR_AGAIN} WHERE is_paired = {_PAIRED}")
                self._set("question", question)

    def keep_pairs(self, pairs: Pairs, numbers: Numbers) -> None:
        """Keep pairs that were found, all that there are now.

        Args:
            pairs: Of places.
            numbers: The documents' numbers, by place.
        """
        columns = (numbers[pairs.a], numbers[pairs.b], pairs.shared, pairs.low, pairs.high)
        with self._writing():
            # Some that were known may have turned out to be none.
            self._database.execute("DELETE FROM pair")
            self._database.executemany(
                "INSERT INTO pair VALUES (?, ?, ?, ?, ?)",
                zip(*(column.tolist() for column in columns), strict=True),
            )
            self._database.execute(f"UPDATE document SET is_paired = {_PAIRED}")

    def pairs(self, archived: Archived) -> Pairs:
        """Return the pairs that are kept."""
        firsts, seconds, shared, low, high = self._columns("SELECT a, b, shared, low, high FROM pair", 5)
        # Numbers ascend with the places.
        a, b = np.searchsorted(archived.numbers, firsts), np.searchsorted(archived.numbers, seconds)
        sizes = archived.sketches.sizes
        return Pairs.together([Pairs(a, b, sizes[a], sizes[b], shared, low, high)])

    # The database.

    def _by_id(self, statement: str, values: Sequence[str] | Sequence[int]) -> Iterator[tuple]:  # type: ignore[type-arg]
        for at in range(0, len(values), _CHUNK):
            some = values[at : at + _CHUNK]
            yield from self._rows(statement.format(", ".join("?" * len(some))), *some)

    def _rows(self, statement: str, *values: str | int) -> list[tuple]:  # type: ignore[type-arg]
        with self._failures():
            return self._database.execute(statement, values).fetchall()

    def _columns(self, statement: str, count: int) -> list[Numbers]:
        """Return columns of whole numbers, without a Python object for each of them at once."""
        parts = [np.empty((0, count), np.int64)]
        with self._failures():
            cursor = self._database.execute(statement)
            while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                parts.append(np.array(rows, np.int64))
        return [np.ascontiguousarray(column) for column in np.concatenate(parts).T]

    def _one(self, statement: str, *values: str | int) -> tuple:  # type: ignore[type-arg]
        return self._rows(statement, *values)[0]

    def _meta(self, key: str) -> str | None:
        found = self._rows("SELECT value FROM meta WHERE key = ?", key)
        return found[0][0] if found else None

    def _scan(self) -> int:
        """Return the number of the reading that is going on, or was the last."""
        return int(self._meta("scan") or 0)

    def _set(self, key: str, value: str) -> None:
        self._database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._failures():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                raise StoreError(
                    f"another process uses the folder {self._path}; wait for it, or name another"
                ) from error
            raise StoreError(f"the folder {self._path} cannot be used: {error}") from error
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"the folder {self._path} cannot be used: {error}") from error


def sketch_digest(sketch: Sketch) -> bytes:
    """Return a digest of a sketch, equal for equal ones."""
    told = hashlib.blake2b(sketch.size.to_bytes(8, "little"), digest_size=16)
    told.update(sketch.hashes.astype(HASH, copy=False).tobytes())
    return told.digest()


def sketch_key(sketch: Sketch) -> int:
    """Return a number of 64 bits, signed, that is the same for equal sketches, and hardly ever for others."""
    return int.from_bytes(sketch_digest(sketch)[:8], "little", signed=True)


def write_all(descriptor: int, numbers: npt.NDArray[np.uint64], at: int | None = None) -> None:
    """Write numbers to a file, all of them.

    Args:
        descriptor: The file.
        numbers: Of 8 bytes each.
        at: Before which number of the file; None for where it stands.
    """
    view = numbers.astype(HASH, copy=False).view(np.uint8).data
    begin = None if at is None else at * HASH.itemsize
    while view:
        if begin is None:
            written = os.write(descriptor, view)
        else:
            written = os.pwrite(descriptor, view, begin)
            begin += written
        view = view[written:]
