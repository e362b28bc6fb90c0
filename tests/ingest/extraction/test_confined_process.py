"""Child processes with limits: descriptions of their end, and the time limit for a file."""

from __future__ import annotations

import signal
import sys

import pytest

from whorl.ingest.extraction import FileLimits, worker
from whorl.ingest.extraction.confined_process import ConfinedProcess, time_limit
from whorl.request_context import deadline

pytestmark = pytest.mark.process


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
def test_the_end_of_a_process_is_described() -> None:
    """
    The description names the signal or the status; a process ends by itself when its connection is closed.
    """
    killed, finished = (ConfinedProcess(worker.__name__, 60, 1_000_000_000, 100) for _ in range(2))
    killed.process.send_signal(signal.SIGKILL)
    assert killed.death(5_000).startswith(
        "the process that reads it was ended by SIGKILL: the file takes more than 5,000"
    )
    finished.connection.close()
    assert "was ended by itself, with status 0" in finished.death(1)
    killed.end()


def test_the_shorter_time_limit_applies() -> None:
    """
    The time for a file is the limit for files, or the rest of the request's time if that is shorter.
    """
    assert time_limit(FileLimits(seconds=7)) == (7, "file_timeout")
    with deadline(3):
        seconds, setting = time_limit(FileLimits(seconds=7))
    assert 0 < seconds <= 3
    assert setting == "request_timeout"
