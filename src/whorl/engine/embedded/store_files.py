"""Checks and locks an embedded store's folder, opens its SQLite database, and explains disk errors."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from whorl.errors import StoreError
from whorl.file_lock import lock_file

RECORDS, INDEX, LOCK = "records.db", "index", "writer.lock"
#: Name of the file with the path of the base folder. Ids of indexed files are paths relative to the base folder.
BASE = "base"
#: Names of the files that whorl and SQLite may create in a store's folder before the database has tables.
_UNFINISHED = {f"{database}{ending}" for database in (LOCK, RECORDS) for ending in ("", "-journal", "-shm", "-wal")}
#: Size of tantivy's write buffer in bytes.
HEAP_BYTES = 100_000_000


class IndexBrokenError(Exception):
    """The index cannot be read or written. A rebuild repairs it, except on a full disk (`is_full`)."""

    def __init__(self, message: str, *, is_full: bool = False) -> None:
        super().__init__(message)
        self.is_full = is_full


class OtherIndexError(IndexBrokenError):
    """The index is intact, but belongs to another store or another version of whorl."""

    def __init__(self) -> None:
        super().__init__("it is not the index of this store")


def prepare_folder(path: Path, *, create: bool) -> bool:
    """Create the folder if it is missing and `create` is true; return whether it already has a store."""
    try:
        names = sorted(entry.name for entry in path.iterdir()) if path.is_dir() else []
        if path.exists() and not path.is_dir():
            raise StoreError(f"{path} is a file; a store is a folder: name another path")
        if RECORDS in names and (path / RECORDS).stat().st_size > 0:
            return True
        if INDEX in names and set(names) <= {INDEX, BASE, *_UNFINISHED}:
            raise StoreError(
                f"{path} is a damaged store: {RECORDS}, which holds the documents, is missing or empty; restore the "
                "folder from a backup, or delete it and index again"
            )
        # Allow `_UNFINISHED`, because another process may be creating the store, or was stopped while doing so.
        if others := [name for name in names if name not in _UNFINISHED]:
            advice = (
                "name an empty or a new folder" if create else f"make one by indexing: whorl index --store NEW {path}"
            )
            raise StoreError(f"{path} holds other things and no store ({others[0]}, …); {advice}")
        if not create:
            raise StoreError(f"there is no store at {path}; make one by indexing: whorl index --store {path} FILES")
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be used as a store: {error}; name another folder") from error
    return False


def is_read_only(path: Path) -> bool:
    """Check whether a store is readable but not writable, because of its permissions or its mount."""
    return os.access(path / RECORDS, os.R_OK) and not (os.access(path, os.W_OK) and os.access(path / RECORDS, os.W_OK))


def file_base(path: Path, choose: Callable[[], Path] | None) -> Path | None:
    """Return the base folder, or None. Ids of indexed files are paths relative to this folder.

    If the store has no base folder yet, save the folder that `choose` returns. If the store is inside this folder, save
    a relative path, so that both folders can be moved together; otherwise, save an absolute path.
    """
    file, home = path / BASE, os.path.realpath(path)
    try:
        if not file.exists():
            if choose is None:
                return None
            base = os.path.realpath(choose())
            is_inside = home.startswith(os.path.join(base, ""))
            file.write_text(os.path.relpath(base, home) if is_inside else base, encoding="utf-8")
        return Path(os.path.normpath(os.path.join(home, file.read_text(encoding="utf-8"))))
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be used as a store: {error}") from error


def folder_size(path: Path) -> int:
    total = 0
    for file in path.rglob("*"):
        # Ignore missing files, because a merge of index segments may delete files at any time.
        with suppress(OSError):
            total += file.stat().st_size if file.is_file() else 0
    return total


def link_index_files(path: Path, copy: Path) -> None:
    """Create a folder with links to the index files of a read-only store, because tantivy must write to its folder."""
    try:
        for part in (path / INDEX).glob("*/"):
            (copy / INDEX / part.name).mkdir(parents=True)
            for file in part.iterdir():
                if file.suffix != ".lock":
                    (copy / INDEX / part.name / file.name).symlink_to(file.absolute())
    except OSError as error:
        raise StoreError(f"{path} cannot be read without writing to it: {error}") from error


def delete_path(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def index_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        # A panic in tantivy's Rust code is not an Exception, and its class cannot be imported, so compare its name.
        if not isinstance(error, OSError | ValueError | RuntimeError) and type(error).__name__ != "PanicException":
            raise
        raise IndexBrokenError(str(error), is_full=_is_full(error, folder)) from error


def _is_full(error: BaseException, folder: Path) -> bool:
    codes = re.findall(r"(?:os error |\bcode: )(\d+)", str(error))
    number = error.errno if isinstance(error, OSError) else int(codes[0]) if codes else None
    if number is not None:
        # EFBIG: the process may not write files of this size.
        return number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    with suppress(OSError):
        # tantivy's threads do not report their errors, so check the free space.
        return shutil.disk_usage(folder.parent).free < HEAP_BYTES
    return False


def busy_message(path: Path, wait_seconds: float) -> str:
    return (
        f"another process is writing to the store {path}; try again when it has finished "
        f"(waited {wait_seconds:g} seconds)"
    )


def index_failure_message(path: Path, error: IndexBrokenError) -> str:
    if error.is_full:
        return (
            f"no room left on the disk for {path / INDEX} ({error}); free some: what was stored is safe, and "
            f"becomes searchable when the store is opened or written to"
        )
    return (
        f"the index {path / INDEX} cannot be written or made again ({error}); see whether the disk is full "
        f"and who owns the folder: what was stored is safe, and becomes searchable when the store is opened"
    )


class WriteLock:
    """Exclusive write lock of a store, for processes and threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: sqlite3.Connection | None = None

    def acquire(self, wait_seconds: float) -> bool:
        """Take the lock, or keep a lock already held; return False if another holder does not release it in time."""
        if self._held is None:
            with sqlite_errors(self._path):
                self._held = lock_file(self._path, wait_seconds)
        return self._held is not None

    def release(self) -> None:
        if self._held is not None:
            with sqlite_errors(self._path):
                self._held.close()
            self._held = None


class WriterRegister:
    """Lists the threads that write or wait to write, so that one commit serves all of them (group commit)."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._registered: set[object] = set()

    @contextmanager
    def register_thread(self) -> Iterator[None]:
        """List the current thread as a writer during the `with` block."""
        ticket = object()
        # Remove the ticket even after Ctrl-C: if it stayed in the list, `wait_for_current` would never return.
        try:
            with self._changed:
                self._registered.add(ticket)
            yield
        finally:
            with self._changed:
                self._registered.discard(ticket)
                self._changed.notify_all()

    def are_registered(self) -> bool:
        return bool(self._registered)

    def wait_for_current(self) -> None:
        """Wait for the writers registered so far; the caller must not be registered, or hold a lock that they need."""
        with self._changed:
            first = frozenset(self._registered)
            self._changed.wait_for(lambda: self._registered.isdisjoint(first))


def connect(path: Path, wait_seconds: float) -> sqlite3.Connection:
    """Open a database. Each statement waits up to `wait_seconds` for the locks of other processes."""
    connection = sqlite3.connect(path, timeout=wait_seconds, isolation_level=None, check_same_thread=False)
    try:
        # With FULL, a finished commit survives a power cut.
        connection.execute("PRAGMA synchronous=FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_read_only(path: Path, wait_seconds: float) -> sqlite3.Connection:
    """Open a database without writing to it or creating files next to it."""
    # If the database has no log, `immutable` prevents SQLite from creating one. SQLite must read an existing log.
    has_no_log = not _log(path).exists()
    uri = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' * has_no_log}"
    return sqlite3.connect(uri, timeout=wait_seconds, isolation_level=None, check_same_thread=False, uri=True)


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def file_state(path: Path) -> list[tuple[int, int, int]]:
    """Return the inode, mtime (ns) and size (bytes) of a file and its log; each commit changes at least one of them."""
    values = []
    for file in (path, _log(path)):
        with suppress(OSError):
            stat = file.stat()
            # Ignore an empty log, because a reader may have created it.
            if stat.st_size > 0:
                values.append((stat.st_ino, stat.st_mtime_ns, stat.st_size))
    return values


def file_identity(path: Path) -> tuple[int, int] | None:
    try:
        stat = os.stat(path)  # faster than `path.stat()`
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(_error_message(path, error)) from error
    except UnicodeDecodeError as error:
        # sqlite3 raises UnicodeDecodeError if SQLite's message quotes a damaged name with bytes that are not UTF-8.
        raise StoreError(damaged_message(path, str(error))) from error


def _error_message(path: Path, error: sqlite3.Error) -> str:
    # Ignore the upper bits of SQLite's extended error code, which only give details.
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
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
            return damaged_message(path, str(error))
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            if is_read_only(path.parent) and _log(path).exists():
                return (
                    f"{path} has a log that must be applied first, and its folder may not be written to ({error}); "
                    f"open it once as its owner"
                )
            return f"{path} cannot be opened for writing ({error}); see who owns the folder and its files"
    if "decode" in str(error):
        return damaged_message(path, str(error))
    return f"{path}: {error}"


def damaged_message(path: Path, detail: str) -> str:
    return f"{path} is damaged ({detail}); restore it from a copy, or delete the folder {path.parent} and index again"
