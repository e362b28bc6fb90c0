"""SQLite's files: who may write, what changed, and what its errors say."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from whorl.engine.embedded.connection import WriteLock, connect, connect_read_only, failures, state
from whorl.errors import StoreError


def test_one_holds_the_lock(tmp_path: Path) -> None:
    """
    Another one gets it when the first has let go, or is gone; who holds it keeps it.
    """
    first, second = WriteLock(tmp_path / "lock"), WriteLock(tmp_path / "lock")
    assert first.acquire(0)
    assert first.acquire(0)
    assert not second.acquire(0.01)
    first.release()
    assert second.acquire(0)
    second.close()
    assert first.acquire(0)
    first.release()
    first.release()
    first.close()


def test_every_commit_changes_the_state(tmp_path: Path) -> None:
    """
    Whether it stands in the file or in its log; who only reads changes nothing.
    """
    path = tmp_path / "file"
    with closing(connect(path, 0)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        seen = [state(path)]
        for statement in ("CREATE TABLE t (a)", "INSERT INTO t VALUES (1)"):
            writer.execute(statement)
            seen.append(state(path))
        with closing(connect_read_only(path, 0)) as reader:
            assert reader.execute("SELECT a FROM t").fetchall() == [(1,)]
            with failures(path), pytest.raises(sqlite3.OperationalError, match="readonly"):
                reader.execute("INSERT INTO t VALUES (2)")
        assert state(path) == seen[-1]
    assert len({tuple(each) for each in seen}) == len(seen)


def test_errors_say_what_to_do(tmp_path: Path) -> None:
    """
    Of a file that is another program's, and of one that somebody else holds.
    """
    other = tmp_path / "other"
    other.write_bytes(b"something else" * 100)
    with closing(connect(tmp_path / "held", 0)) as first, closing(connect(tmp_path / "held", 0)) as second:
        first.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match=r"another process holds .*held; try again"), failures(tmp_path / "held"):
            second.execute("CREATE TABLE t (a)")
    with pytest.raises(StoreError, match=r"other is damaged .*restore it from a copy"), failures(other):
        connect(other, 0).execute("SELECT * FROM sqlite_master")
