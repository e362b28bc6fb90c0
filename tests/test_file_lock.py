"""Locks on files that several holders want."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from whorl.file_lock import lock_file


def test_a_lock_has_a_single_holder(tmp_path: Path) -> None:
    """
    A second holder gets the lock after the first one closes it; until then, it gets None. There are no other files.
    """
    path = tmp_path / "lock"
    for _ in range(2):
        first = lock_file(path, 0)
        assert first is not None
        assert lock_file(path, 0.01) is None
        assert list(tmp_path.iterdir()) == [path]
        first.close()


def test_a_file_that_cannot_be_locked_is_an_error(tmp_path: Path) -> None:
    """
    A folder in place of the file, or a folder that does not exist, is an error, not a lock that another holder has.
    """
    for path in (tmp_path, tmp_path / "none" / "lock"):
        with pytest.raises(sqlite3.OperationalError):
            lock_file(path, 0)
