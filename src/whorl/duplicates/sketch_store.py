"""Stores the sketches of many documents, in a permanent folder or in temporary files.

In a folder, `documents.sqlite` holds the documents and their pairs, so that the next run compares only new documents.
`hashes-N.u64` has the hashes of all sketches, little-endian.

A document's hashes are written before the row with their offset, so a crash may leave hashes without a row at the end
of the file; the next run cuts them off. The hashes of replaced documents stay in the file until it is mostly garbage;
then the hashes in use are copied to a file with the next number.
"""

from __future__ import annotations

import mmap
import os
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import batches, find_sorted
from whorl.duplicates.pairs import Pairs
from whorl.duplicates.retention import none_for_nan
from whorl.duplicates.sketch_arrays import HASH, Bools, Hashes, Numbers, Sketches, map_hashes
from whorl.duplicates.sketching import SketchBatch, sketch_key
from whorl.errors import ParameterError, StoreError
from whorl.fingerprint.sketch.frac_minhash import Sketch, SketchScheme

FOREIGN_FOLDER = "{} holds something else than what was found before; name a new folder"
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
_CHUNK, _ROWS_AT_ONCE = 500, 50_000
#: Values of the column `is_paired`:
#:
#: - `_NEW`: never compared;
#: - `_PAIRED`: compared with all other documents that are `_PAIRED` or `_PAIRED_AND_NEW`;
#: - `_TO_PAIR_AGAIN`: a deletion or other options have made the document's pairs incomplete;
#: - `_PAIRED_AND_NEW`: compared, but still new, because the run has not written its results yet.
_NEW, _PAIRED, _TO_PAIR_AGAIN, _PAIRED_AND_NEW = 0, 1, 2, 3
#: Earlier pieces of the documents in scan `?1`. The ids of a document's pieces differ only in the digits at the end.
#: CROSS JOIN makes SQLite look up the beginnings in the index of ids, instead of reading all earlier ids.
_OLD_PIECES = """
    SELECT old.id FROM (
        SELECT DISTINCT rtrim(id, '0123456789') AS beginning FROM document
        WHERE scan = ?1 AND EXISTS (SELECT 1 FROM document WHERE scan <> ?1)
    ) CROSS JOIN document AS old
    ON old.id > beginning AND old.id < beginning || ':' AND rtrim(old.id, '0123456789') = beginning
    WHERE old.scan <> ?1
    UNION SELECT id FROM document WHERE id GLOB '*#0'
"""
#: SQL expression: the new value of `is_paired` for a document whose pairs become incomplete.
_INCOMPLETE = (
    f"CASE is_paired WHEN {_PAIRED} THEN {_TO_PAIR_AGAIN} WHEN {_PAIRED_AND_NEW} THEN {_NEW} ELSE is_paired END"
)
_PAIR_CLUSTERS_AGAIN = f"""
    WITH RECURSIVE cluster (number) AS (
        SELECT number FROM document WHERE id IN ({{}})
        UNION
        SELECT CASE a WHEN number THEN b ELSE a END FROM cluster JOIN pair ON a = number OR b = number
    )
    UPDATE document SET is_paired = {_INCOMPLETE} WHERE number IN (SELECT number FROM cluster)
"""
#: Prefix of the recorded options if the folder has only enough pairs to connect each cluster (spanning pairs).
_SPANNING = "links of "
#: The hashes in use are copied to a new file when they are less than 1 / `_GARBAGE` of the file.
_GARBAGE = 2

#: Id, name, rank and date of a document.
DocumentInfo: TypeAlias = tuple[str, str, float | None, float | None]


@dataclass(frozen=True, slots=True, eq=False)
class StoredSketches:
    """All documents of a sketch store, in the order of the input.

    Args:
        numbers: Number of each document in the store, ascending.
        keys: Hash of each sketch; equal sketches have equal keys.
        is_paired: Mask of the documents that are not compared with each other again: the store has their pairs, or they
            are reference documents.
        is_new: Mask of documents that no run has compared and reported.
    """

    numbers: Numbers
    sketches: Sketches
    keys: Numbers
    is_paired: Bools
    is_new: Bools


def _require_open(is_closed: bool) -> None:
    if is_closed:
        raise StoreError("the search for duplicates is closed; read its results inside its 'with'")


def require_same_search(folder: Path | str, stored: Mapping[str, object], expected: Mapping[str, object]) -> None:
    """Raise StoreError if a folder has another format, and ParameterError if it has results of another search."""
    if stored["format"] != expected["format"]:
        raise StoreError(
            f"{folder} is of format {stored['format']}, and this version reads format {expected['format']}; delete "
            "the folder, and the next run compares all documents again"
        )
    for key in ("origin", "sketches"):
        if stored[key] != expected[key]:
            raise ParameterError(
                f"{folder} holds what was found in {stored[key]}, and this is {expected[key]}; name another folder"
            )


class PersistentSketchStore:
    """Sketch store in a folder, for documents of one origin and scheme. Only one process may open it.

    `origin` describes the source of the documents and the options that affect the sketches.

    Raises:
        StoreError: The folder holds other files, is not usable, or is in use by another process.
        ParameterError: The folder belongs to another origin or scheme.
    """

    _is_closed = False
    #: Number of documents of earlier scans that `put` has replaced.
    replaced = 0

    def __init__(self, path: Path, origin: str, scheme: SketchScheme) -> None:
        self._path, self.scheme = path, scheme
        with self._convert_errors():
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()) and not (path / _DATABASE).exists():
                raise StoreError(FOREIGN_FOLDER.format(path))
            self._database = sqlite3.connect(path / _DATABASE, timeout=0, isolation_level=None)
        try:
            with self._convert_errors():
                self._open(origin)
                self._file = self._open_hashes()
        except BaseException:
            self._database.close()
            raise

    def _open(self, origin: str) -> None:
        expected = {"format": _FORMAT, "origin": origin, "sketches": self.scheme.name}
        # Check before the first write: the database may belong to another program.
        tables = {row[0] for row in self._database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and not {"meta", "document", "pair"} <= tables:
            raise StoreError(FOREIGN_FOLDER.format(self._path))
        # Allow one process at a time, because two would overwrite each other's hashes.
        self._database.execute("PRAGMA locking_mode=EXCLUSIVE")
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=FULL")
        self._database.execute("BEGIN IMMEDIATE")
        if not self._database.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
            for statement in _TABLES.split(";"):
                self._database.execute(statement)
            values = {**expected, "file": "0", "scan": "0"}
            self._database.executemany("INSERT INTO meta VALUES (?, ?)", values.items())
        self._database.execute("COMMIT")
        require_same_search(self._path, {key: self._meta(key) for key in expected}, expected)

    def _open_hashes(self) -> int:
        """Open the file of hashes and return its descriptor; first remove unused hashes and the remains of a crash."""
        number = int(self._meta("file") or 0)
        ((end, live),) = self._rows("SELECT coalesce(max(start + count), 0), coalesce(sum(count), 0) FROM document")
        if live * _GARBAGE < end:
            number, end = self._compact(number), live
        for other in self._path.glob("hashes-*.u64"):
            if other != self._hashes_path(number):
                other.unlink()
        descriptor = os.open(self._hashes_path(number), os.O_RDWR | os.O_CREAT, 0o666)
        size = os.fstat(descriptor).st_size
        if size < end * HASH.itemsize:
            os.close(descriptor)
            raise StoreError(
                f"{self._hashes_path(number)} was cut short; delete the folder, and the next run compares all "
                "documents again"
            )
        os.ftruncate(descriptor, end * HASH.itemsize)
        os.lseek(descriptor, 0, os.SEEK_END)
        self._end = end
        return descriptor

    def _compact(self, number: int) -> int:
        """Copy the hashes that belong to documents from file `number` to a new file; return the new file's number."""
        rows = self._rows("SELECT number, start, count FROM document ORDER BY number")
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
        self._is_closed = True
        os.close(self._file)
        self._database.close()

    def mark_unchanged(
        self, documents: Sequence[tuple[str, bytes, str, float | None, float | None]]
    ) -> dict[str, bool]:
        """Mark unchanged documents (with the stored digest) as seen; update their names, ranks and dates.

        A document is (id, digest, name, rank, date). The result maps the ids of the unchanged documents to whether this
        scan has already seen the id.
        """
        digests, scan = {document_id: digest for document_id, digest, *_ in documents}, self._scan()
        known = self._select_in_batches("SELECT id, digest, scan FROM document WHERE id IN ({})", list(digests))
        unchanged = {
            document_id: last_scan == scan for document_id, digest, last_scan in known if digest == digests[document_id]
        }
        rows = [(scan, *values, document_id) for document_id, _, *values in documents if document_id in unchanged]
        with self._writing():
            self._database.executemany("UPDATE document SET scan = ?, name = ?, worth = ?, date = ? WHERE id = ?", rows)
        return unchanged

    def put(self, batch: SketchBatch, digests: Sequence[bytes], mark: str | None = None) -> list[str]:
        """Store or replace documents in one durable transaction; return the ids repeated in the batch or in this scan.

        If documents of the batch share an id, only the last document is stored.

        Args:
            digests: Digest of each document's text or sketch. A document with an equal digest is unchanged.
            mark: Position of the scan in its source, from which an interrupted scan can continue.
        """
        with self._convert_errors():
            write_all(self._file, batch.hashes)
            os.fsync(self._file)
        scan, rows = self._scan(), {}
        # NaN, which means an unknown rank or date, becomes NULL in SQLite.
        numbers = (column.tolist() for column in (batch.sizes, batch.starts, batch.counts, batch.ranks, batch.dates))
        for document_id, name, digest, size, start, count, *rank_and_date in zip(
            batch.ids, batch.names, digests, *numbers, strict=True
        ):
            key = sketch_key(Sketch(self.scheme, size, batch.hashes[start : start + count]))
            own = (digest, size, self._end + start, count, key, scan)
            rows[document_id] = (document_id, name, *rank_and_date, *own)
        known = self._select_in_batches("SELECT id, scan FROM document WHERE id IN ({})", list(rows))
        stored_scans = dict(known)
        repeated = [document_id for document_id, last_scan in stored_scans.items() if last_scan == scan]
        with self._writing():
            self._delete_documents(list(rows))
            self._database.executemany(
                "INSERT INTO document (id, name, worth, date, digest, size, start, count, key, scan) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                rows.values(),
            )
            if mark is not None:
                self._set("mark", mark)
        self._end += batch.hashes.size
        self.replaced += len(stored_scans) - len(repeated)
        return [*(Counter(batch.ids) - Counter(list(rows))).elements(), *repeated]

    def _delete_documents(self, ids: Sequence[str]) -> None:
        if (self._meta("question") or "").startswith(_SPANNING):
            # The deletion may split clusters, so compare all documents of these clusters again.
            for batch in batches(ids, _CHUNK):
                self._database.execute(_PAIR_CLUSTERS_AGAIN.format(", ".join("?" * len(batch))), batch)
        for number, key in list(self._select_in_batches("SELECT number, key FROM document WHERE id IN ({})", ids)):
            self._database.execute("DELETE FROM pair WHERE a = :number OR b = :number", {"number": number})
            self._database.execute("DELETE FROM document WHERE number = ?", (number,))
            # Only one of several equal texts was compared. This may be the deleted document, so compare its copies
            # again.
            self._database.execute(f"UPDATE document SET is_paired = {_INCOMPLETE} WHERE key = ?", (key,))

    def delete_old_pieces(self) -> None:
        """Delete pieces (paragraphs or lines) that are no longer in their document.

        If this scan has stored a piece of a document, delete the document's pieces from earlier scans. All ids must
        have the form of `piece_id`. A piece with the number 0 stands for a blank text, so it is deleted, too.
        """
        old = [row[0] for row in self._rows(_OLD_PIECES, self._scan())]
        with self._writing():
            self._delete_documents(old)

    def begin_partial_scan(self) -> None:
        """Begin a scan of only some documents. All other documents stay, so `end_scan` must not be called."""
        with self._writing():
            self._set("scan", str(self._scan() + 1))

    def begin_scan(self) -> str:
        """Begin a scan of all documents, or resume an interrupted scan; return its last `mark` (see `put`), or ""."""
        mark = self._meta("mark")
        if mark is None:
            self.begin_partial_scan()
            with self._writing():
                self._set("mark", "")
        return mark or ""

    def end_scan(self) -> None:
        """Delete the documents not seen since the scan began."""
        deleted = [row[0] for row in self._rows("SELECT id FROM document WHERE scan <> ?", self._scan())]
        with self._writing():
            self._delete_documents(deleted)
            self._database.execute("DELETE FROM meta WHERE key = 'mark'")

    def read_sketches(self) -> StoredSketches:
        numbers, sizes, starts, counts, keys, is_paired = self._columns(
            "SELECT number, size, start, count, key, is_paired FROM document ORDER BY number", 6
        )
        hashes = map_hashes(self._hashes_path(int(self._meta("file") or 0)), self._end)
        sketches = Sketches(self.scheme, sizes, starts, counts, hashes)
        is_new = np.isin(is_paired, (_NEW, _PAIRED_AND_NEW))
        return StoredSketches(numbers, sketches, keys, np.isin(is_paired, (_PAIRED, _PAIRED_AND_NEW)), is_new)

    def replace_keys(self, keys: Sequence[tuple[int, int]]) -> None:
        """Set new keys (hashes of sketches) of documents, given as pairs (key, document number)."""
        with self._writing():
            self._database.executemany("UPDATE document SET key = ? WHERE number = ?", keys)

    def count(self) -> int:
        return int(self._rows("SELECT count(*) FROM document")[0][0])

    def describe(self, numbers: Collection[int]) -> dict[int, DocumentInfo]:
        _require_open(self._is_closed)
        statement = "SELECT number, id, name, worth, date FROM document WHERE number IN ({})"
        rows = self._select_in_batches(statement, list(numbers))
        return {number: (document_id, name, rank, date) for number, document_id, name, rank, date in rows}

    def set_options(self, description: str, *, spanning_only: bool = False) -> None:
        """Record the options of the search, and delete pairs that were found with other options."""
        description = f"{_SPANNING if spanning_only else 'pairs of '}{description}"
        if self._meta("question") != description:
            with self._writing():
                self._database.execute("DELETE FROM pair")
                # The documents are compared again, but they are not new.
                self._database.execute(f"UPDATE document SET is_paired = {_INCOMPLETE}")
                self._set("question", description)

    def replace_pairs(self, pairs: Pairs, numbers: Numbers) -> None:
        """Replace the stored pairs, and mark all documents as compared; new documents remain new until `end_run`."""
        columns = (numbers[pairs.a], numbers[pairs.b], pairs.shared, pairs.low, pairs.high)
        with self._writing():
            # Delete all stored pairs, because exact verification may have rejected some of them.
            self._database.execute("DELETE FROM pair")
            rows = zip(*(column.tolist() for column in columns), strict=True)
            self._database.executemany("INSERT INTO pair VALUES (?, ?, ?, ?, ?)", rows)
            self._database.execute(
                f"UPDATE document SET is_paired = CASE WHEN is_paired IN ({_NEW}, {_PAIRED_AND_NEW}) "
                f"THEN {_PAIRED_AND_NEW} ELSE {_PAIRED} END"
            )

    def count_unfinished(self) -> int:
        """Return the number of documents that only interrupted runs have read."""
        statement = f"SELECT count(*) FROM document WHERE is_paired IN ({_NEW}, {_PAIRED_AND_NEW}) AND scan <> ?"
        return int(self._rows(statement, self._scan())[0][0])

    def end_run(self) -> None:
        """Mark the documents of this run as no longer new; called after the results have been written."""
        with self._writing():
            self._database.execute(
                f"UPDATE document SET is_paired = {_PAIRED} WHERE is_paired = {_PAIRED_AND_NEW} AND scan = ?",
                (self._scan(),),
            )

    def pairs(self, stored: StoredSketches) -> Pairs:
        firsts, seconds, shared, low, high = self._columns("SELECT a, b, shared, low, high FROM pair", 5)
        a, b = np.searchsorted(stored.numbers, firsts), np.searchsorted(stored.numbers, seconds)
        sizes = stored.sketches.sizes
        return Pairs.concatenate([Pairs(a, b, sizes[a], sizes[b], shared, low, high)])

    def _select_in_batches(self, statement: str, values: Iterable[str | int]) -> Iterator[tuple]:  # type: ignore[type-arg]
        for batch in batches(values, _CHUNK):
            yield from self._rows(statement.format(", ".join("?" * len(batch))), *batch)

    def _rows(self, statement: str, *values: str | int) -> list[tuple]:  # type: ignore[type-arg]
        with self._convert_errors():
            return self._database.execute(statement, values).fetchall()

    def _columns(self, statement: str, count: int) -> list[Numbers]:
        parts = [np.empty((0, count), np.int64)]
        with self._convert_errors():
            cursor = self._database.execute(statement)
            while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                parts.append(np.array(rows, np.int64))
        return [np.ascontiguousarray(column) for column in np.concatenate(parts).T]

    def _meta(self, key: str) -> str | None:
        rows = self._rows("SELECT value FROM meta WHERE key = ?", key)
        return rows[0][0] if rows else None

    def _scan(self) -> int:
        return int(self._meta("scan") or 0)

    def _set(self, key: str, value: str) -> None:
        self._database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._convert_errors():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    @contextmanager
    def _convert_errors(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                raise StoreError(
                    f"another process uses the folder {self._path}; wait for it, or name another"
                ) from error
            raise StoreError(f"the folder {self._path} cannot be used: {error}") from error


def write_all(descriptor: int, numbers: Hashes, at: int | None = None) -> None:
    """Write 64-bit numbers to a file, at the current position or after the first `at` numbers."""
    left, done = numbers.astype(HASH, copy=False).view(np.uint8).data, 0
    while left:
        written = os.write(descriptor, left) if at is None else os.pwrite(descriptor, left, at * HASH.itemsize + done)
        left, done = left[written:], done + written


class TemporarySketchStore:
    """Sketch store in temporary files for one run, with the interface of `PersistentSketchStore`."""

    _is_closed = False

    def __init__(self, path: Path, scheme: SketchScheme) -> None:
        self.scheme = scheme
        self.hashes_path = path / "hashes.u64"
        with _write_failures(path):
            self._file = os.open(self.hashes_path, os.O_RDWR | os.O_CREAT, 0o600)
        self._ids, self._names = IdFile(path / "ids"), _StringFile(path / "names")
        self._compared = 0
        self.end = 0
        self._numbers: list[Numbers] = []
        self._values: list[npt.NDArray[np.float64]] = []

    def close(self) -> None:
        self._is_closed = True
        os.close(self._file)
        self._ids.close()
        self._names.close()

    def put(self, batch: SketchBatch, digests: Sequence[bytes] = (), mark: str | None = None) -> list[str]:
        """Store documents; return the repeated ids that this call finds (see `IdFile.add`)."""
        offset = batch.offset
        if offset is None:
            offset = self.end
            with _write_failures(self.hashes_path.parent):
                write_all(self._file, batch.hashes)
            self.end += batch.hashes.size
        self._numbers.append(np.stack([batch.sizes, batch.starts + offset, batch.counts, batch.keys]))
        values = np.stack([batch.ranks, batch.dates])
        # Usually, all ranks and dates are NaN, so store one NaN and broadcast it.
        self._values.append(np.broadcast_to(np.nan, values.shape) if np.isnan(values).all() else values)
        self._names.extend(batch.names)
        return self._ids.add(batch.ids)

    def repeated_ids(self) -> list[str]:
        return self._ids.repeated_ids()

    def count(self) -> int:
        return len(self._ids)

    def mark_as_reference(self) -> None:
        """Mark all documents stored so far as reference documents, which are not compared with each other."""
        self._compared = len(self._ids)

    def read_sketches(self) -> StoredSketches:
        is_last = self._ids.is_last()
        numbers = np.flatnonzero(is_last)
        columns = np.concatenate([np.empty((4, 0), np.int64), *self._numbers], axis=1)
        self._numbers = [columns]
        sizes, starts, counts, keys = columns if is_last.all() else columns[:, numbers]
        hashes = map_hashes(self.hashes_path, self.end)
        is_paired = numbers < self._compared
        return StoredSketches(
            numbers, Sketches(self.scheme, sizes, starts, counts, hashes), keys, is_paired, ~is_paired
        )

    def describe(self, numbers: Collection[int]) -> dict[int, DocumentInfo]:
        _require_open(self._is_closed)
        if len(self._values) != 1:
            is_any = any(values.strides[-1] for values in self._values)
            joined = np.concatenate(self._values, axis=1) if is_any else np.broadcast_to(np.nan, (2, len(self._ids)))
            self._values = [joined]
        ranks, dates = map(none_for_nan, self._values[0][:, list(numbers)])
        columns = self._ids.read_strings(numbers), self._names.read_strings(numbers), ranks, dates
        return dict(zip(numbers, zip(*columns, strict=True), strict=True))

    # Methods of `PersistentSketchStore` that a temporary store does not need.

    def set_options(self, description: str, *, spanning_only: bool = False) -> None: ...

    def begin_scan(self) -> str:
        return ""

    def end_scan(self) -> None: ...

    def mark_unchanged(
        self, documents: Sequence[tuple[str, bytes, str, float | None, float | None]]
    ) -> dict[str, bool]:
        return {}

    def replace_keys(self, keys: Sequence[tuple[int, int]]) -> None: ...

    def pairs(self, stored: StoredSketches) -> Pairs:
        return Pairs.concatenate([])

    def replace_pairs(self, pairs: Pairs, numbers: Numbers) -> None: ...

    def end_run(self) -> None: ...


SketchStore: TypeAlias = PersistentSketchStore | TemporarySketchStore


@contextmanager
def temporary_store(scheme: SketchScheme) -> Iterator[TemporarySketchStore]:
    # Ignore errors when deleting the folder: Windows cannot delete a mapped file before the process ends.
    with (
        tempfile.TemporaryDirectory(prefix="whorl-duplicates-", ignore_cleanup_errors=True) as folder,
        closing(TemporarySketchStore(Path(folder), scheme)) as store,
    ):
        yield store


@contextmanager
def _write_failures(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise temporary_folder_error(folder, error) from error


def temporary_folder_error(folder: Path, error: OSError) -> StoreError:
    return StoreError(
        f"the temporary folder {folder} cannot be written: {error.strerror or error}; TMPDIR=FOLDER before the command "
        "chooses another place"
    )


class _StringFile:
    """A file of strings; memory holds only the offset at which each string ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with _write_failures(path.parent):
            self._file = path.open("w+b")
        self._size = 0
        self._ends: list[npt.NDArray[np.int64]] = [np.zeros(1, np.int64)]

    def close(self) -> None:
        self._file.close()

    def extend(self, strings: Sequence[str]) -> None:
        encoded = [string.encode() for string in strings]
        self._ends.append(np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded))) + self._size)
        with _write_failures(self._path.parent):
            self._size += self._file.write(b"".join(encoded))

    def read_strings(self, indices: Iterable[int]) -> list[str]:
        if len(self._ends) > 1:
            self._ends = [np.concatenate(self._ends)]
        ends, wanted = self._ends[0], np.fromiter(indices, np.int64)
        ranges = zip(ends[wanted].tolist(), ends[wanted + 1].tolist(), strict=True)
        self._file.flush()
        # Do not map an empty file, which raises an error.
        with mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) if self._size else nullcontext(b"") as content:
            return [content[begin:end].decode() for begin, end in ranges]


#: Number of ids to add before the first search for repeated ids.
_FIRST_SEARCH = 1 << 14


class IdFile(_StringFile):
    """File of the ids of documents, in the order of the input; finds repeated ids with 16 bytes of memory per id."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._count = self._searched = 0
        self._next_search = _FIRST_SEARCH
        self._id_hashes = [np.empty(0, np.int64)]

    def __len__(self) -> int:
        return self._count

    def add(self, ids: Sequence[str]) -> list[str]:
        """Append ids; return the repeated ids found since the last call, one for each repetition.

        Most calls do not search, so call `repeated_ids` after the last `add`.
        """
        self.extend(ids)
        self._id_hashes.append(np.fromiter(map(hash, ids), np.int64, len(ids)))
        self._count += len(ids)
        if self._count < self._next_search:
            return []
        self._next_search = 2 * self._count
        return self.repeated_ids()

    def repeated_ids(self) -> list[str]:
        """Return the repeated ids that `add` has not yet returned."""
        later = sorted(
            (index, document_id)
            for document_id, indices in self._occurrences().items()
            for index in indices[1:]
            if index >= self._searched
        )
        self._searched = self._count
        return [document_id for _, document_id in later]

    def is_last(self) -> Bools:
        """Return a mask of the documents whose id no later document repeats."""
        is_last = np.ones(self._count, np.bool_)
        superseded = [index for indices in self._occurrences().values() for index in indices[:-1]]
        is_last[np.array(superseded, np.int64)] = False
        return is_last

    def _occurrences(self) -> dict[str, list[int]]:
        """Map repeated ids to their indices, ascending; include ids whose hash is equal to the hash of another id."""
        id_hashes = np.concatenate(self._id_hashes)
        ascending = np.sort(id_hashes)
        repeated = ascending[1:][ascending[1:] == ascending[:-1]]
        occurrences: dict[str, list[int]] = {}
        if repeated.size:
            indices = np.flatnonzero(find_sorted(repeated, id_hashes)[1]).tolist()
            # Two different ids may have one hash, so compare the ids themselves.
            for index, document_id in zip(indices, self.read_strings(indices), strict=True):
                occurrences.setdefault(document_id, []).append(index)
        return occurrences
