"""Rows read in a worker process: it is ended at its limits, and a new process reads the next file."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import PurePath

import pytest

from tests.ingest.rows.test_warc import archive
from whorl.ingest import file_limits
from whorl.ingest.extraction import FileLimits
from whorl.ingest.rows import reader_client
from whorl.ingest.rows.reader_client import ConfinedFormat
from whorl.ingest.rows.row_format import RowColumns, UnreadRowsError

pytestmark = [pytest.mark.process, pytest.mark.skipif(sys.platform != "linux", reason="sends signals")]


@pytest.fixture(autouse=True)
def short_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Allow little time, and end the workers."""
    monkeypatch.setattr(file_limits._Current, "limits", FileLimits(seconds=3))
    yield
    reader_client._end(reader_client._workers(os.getpid()), os.getpid())


def signalling(number: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes, PurePath], str]:
    """Return a function that sends a signal to the newest worker instead of extracting a text."""
    workers: list[reader_client._RowWorker] = []
    start = reader_client._RowWorker.__init__

    def note(self: reader_client._RowWorker) -> None:
        start(self)
        workers.append(self)

    monkeypatch.setattr(reader_client._RowWorker, "__init__", note)

    def extract(raw: bytes, name: PurePath) -> str:
        workers[-1].process.send_signal(number)
        return ""

    return extract


@pytest.mark.parametrize(
    ("number", "problem"),
    [
        (signal.SIGKILL, "was ended by SIGKILL"),
        (signal.SIGSTOP, r"took longer than 3 seconds \(setting file_timeout\)"),
    ],
)
def test_a_worker_that_does_not_answer(number: signal.Signals, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    If a worker dies or hangs, only its file is lost, and a new worker reads the next file.
    """
    reader_client._end(reader_client._workers(os.getpid()), os.getpid())
    opened, name = io.BytesIO(archive(is_packed=False)), PurePath("a.warc")
    form = ConfinedFormat(opened, name, RowColumns(), signalling(number, monkeypatch))
    with pytest.raises(UnreadRowsError, match=problem):
        list(form.rows(opened, RowColumns()))
    opened.seek(0)
    rows = list(ConfinedFormat(opened, name, RowColumns(), lambda raw, name: "words").rows(opened, RowColumns()))
    assert rows
