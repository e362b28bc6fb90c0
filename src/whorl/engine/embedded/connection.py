"""Connections to the SQLite files of an embedded store, the write lock, and error messages for SQLite's errors."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from whorl.engine.embedded.folder import is_read_only
from whorl.errors import StoreError


class WriteLock:
    """Exclusive write lock of a store, across processes and threads; it ends with the process that holds it.

    It is a separate SQLite file, because SQLite's locks work on every system, end with their process and can wait.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with failures(path):
            self._connection = connect(path, 0.0)

    def acquire(self, wait_seconds: float) -> bool:
        """Take the lock, or keep it; return False if another holder keeps it for the whole wait."""
        if self._connection.in_transaction:
            return True
        with failures(self._path):
            self._connection.execute(f"PRAGMA busy_timeout={int(wait_seconds * 1000)}")
            try:
                self._connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if _primary_code(error) != sqlite3.SQLITE_BUSY:
                    raise
                return False
            return True

    def release(self) -> None:
        """Release the lock."""
        with failures(self._path):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Release the lock and close its file."""
        with failures(self._path):
            self._connection.close()


def connect(path: Path, wait_seconds: float) -> sqlite3.Connection:
    """Open a file; statements wait for other processes' locks for up to `wait_seconds`."""
    connection = sqlite3.connect(path, timeout=wait_seconds, isolation_level=None, check_same_thread=False)
    try:
        # FULL: a commit that has returned survives a power cut.
        connection.execute("PRAGMA synchronous=FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_read_only(path: Path, wait_seconds: float) -> sqlite3.Connection:
    """Open a file without writing to it or creating files next to it."""
    # No log means no writer, so `immutable` keeps SQLite from creating one; an existing log has to be read.
    is_quiet = not _log(path).exists()
    uri = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' * is_quiet}"
    return sqlite3.connect(uri, timeout=wait_seconds, isolation_level=None, check_same_thread=False, uri=True)


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def state(path: Path) -> list[tuple[int, int, int]]:
    """Return values that change with every commit: inode, mtime in ns and bytes of the file and of its log."""
    found = []
    for file in (path, _log(path)):
        with suppress(OSError):
            stat = file.stat()
            # Readers create an empty log.
            if stat.st_size > 0:
                found.append((stat.st_ino, stat.st_mtime_ns, stat.st_size))
    return found


@contextmanager
def failures(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into StoreErrors that tell the user the next step."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(_explained(path, error)) from error
    except UnicodeDecodeError as error:
        # SQLite's own message quotes a damaged name.
        raise StoreError(damaged(path, str(error))) from error


def _primary_code(error: sqlite3.Error) -> int:
    # The upper bits of the extended code only give the place of the error.
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
            return damaged(path, str(error))
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            if is_read_only(path.parent) and _log(path).exists():
                return (
                    f"{path} has a log that must be applied first, and its folder may not be written to ({error}); "
                    f"open it once as its owner"
                )
            return f"{path} cannot be opened for writing ({error}); see who owns the folder and its files"
    if "decode" in str(error):
        return damaged(path, str(error))
    return f"{path}: {error}"


def damaged(path: Path, detail: str) -> str:
    """Return the error message for a damaged file."""
    return f"{path} is damaged ({detail}); restore it from a copy, or delete the folder {path.parent} and index again"
