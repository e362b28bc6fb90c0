"""Exclusive locks on files, for processes and threads."""

import sqlite3
from pathlib import Path


def lock_file(path: Path, wait_seconds: float) -> sqlite3.Connection | None:
    """Lock a file, which must be empty or missing; return None if another holder does not release it in time.

    The lock ends when the returned connection is closed, or with the process. The file is an SQLite database without
    content, because SQLite locks files on every system, with a timeout. Raise sqlite3.Error if the file cannot be
    locked, as on file systems without locks.
    """
    connection = sqlite3.connect(path, timeout=wait_seconds, isolation_level=None, check_same_thread=False)
    try:
        # Without this, SQLite creates a journal file, which remains if the process is killed.
        connection.execute("PRAGMA journal_mode=MEMORY")
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.Error as error:
        connection.close()
        # The upper bits of SQLite's extended codes only give details.
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            return None
        raise
    return connection
