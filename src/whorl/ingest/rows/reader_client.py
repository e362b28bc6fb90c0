"""Starts worker processes that read files of rows under limits on time and memory (`reader_process.py`)."""

from __future__ import annotations

import atexit
import os
import pickle
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import PurePath
from typing import IO, Any, NamedTuple

from whorl.errors import DocumentError
from whorl.ingest.extraction import FileLimits
from whorl.ingest.extraction.confined_process import ConfinedProcess, time_limit
from whorl.ingest.file_limits import file_limits
from whorl.ingest.rows.row_format import Added, Decide, Extract, FileSpan, Row, RowColumns, RowFormat, UnreadRowsError
from whorl.request_context import require_time

_POLL_SECONDS = 0.2


class ReadRequest(NamedTuple):
    """Message to the worker process: call a method of the `RowFormat` of a file.

    `method` may also be "detect", to get the format's `takes_columns`. Without `path`, the parent sends the content.
    """

    method: str
    arguments: tuple[Any, ...]
    file: PurePath
    path: str
    columns: RowColumns
    limits: FileLimits


class ConfinedFormat(RowFormat):
    """Format that a worker process detects and reads. Methods raise UnreadRowsError if the worker fails."""

    def __init__(self, opened: IO[bytes], file: PurePath, columns: RowColumns, extract: Extract) -> None:
        self._file, self._columns, self._extract = file, columns, extract
        (self.takes_columns,) = self._results(opened, "detect")

    def spans(self, opened: IO[bytes], columns: RowColumns) -> Iterator[FileSpan | None]:
        yield from self._results(opened, "spans", columns)

    def rows(self, opened: IO[bytes], columns: RowColumns, span: FileSpan | None = None) -> Iterator[Row]:
        for kind, rows in self._results(opened, "rows", columns, span):
            if kind == "columns":
                from whorl.ingest.rows.arrow import rows_of

                yield from rows_of(rows)
            else:
                yield from map(Row._make, rows)

    def rewrite(self, opened: IO[bytes], out: IO[bytes], columns: RowColumns, decide: Decide, added: Added) -> None:
        functions: dict[str, Callable[..., Any]] = {
            "write": out.write,
            "decide": lambda rows: decide(list(map(Row._make, rows))),
        }
        for _ in self._results(opened, "rewrite", columns, added, functions=functions):
            pass

    def _results(
        self, opened: IO[bytes], method: str, *arguments: object, functions: Mapping[str, Callable[..., Any]] = {}
    ) -> Iterator[Any]:
        """Call a method of the format in a worker, and yield its results.

        Before each result, move `opened` to the worker's position in the file, so that a caller can report progress.
        """
        called: dict[str, Callable[..., Any]] = {
            "read": opened.read,
            "seek": opened.seek,
            "extract": self._extract,
            **functions,
        }
        limits = file_limits()
        worker, is_idle = _idle_worker(), False
        try:
            worker.send(ReadRequest(method, arguments, self._file, _path(opened), self._columns, limits))
            while not is_idle:
                kind, value = worker.receive(limits)
                if kind == "call":
                    worker.send(_call(called, *value))
                elif kind == "result":
                    result, position = value
                    opened.seek(position)
                    yield result
                else:
                    is_idle = True
                    if value is not None:
                        raise value
        finally:
            if is_idle:
                _workers(os.getpid()).append(worker)
            else:
                # The worker has failed, or has not finished this request, so it cannot serve another request.
                worker.end()


def _call(functions: Mapping[str, Callable[..., Any]], name: str, arguments: tuple[Any, ...]) -> Any:
    try:
        return functions[name](*arguments)
    except UnreadRowsError:
        raise
    except DocumentError as error:
        # The error affects only the record of one page, so send it to the worker.
        return error


def _path(opened: IO[bytes]) -> str:
    """Return a path that opens this file even after it was renamed or deleted; "" if the system has no such path."""
    if sys.platform == "linux":
        with suppress(OSError):
            return f"/proc/{os.getpid()}/fd/{opened.fileno()}"
    return ""


class _RowWorker(ConfinedProcess):
    """A worker process that reads files of rows; see `reader_process`."""

    def __init__(self) -> None:
        super().__init__("whorl.ingest.rows.reader_process")

    def send(self, message: object) -> None:
        # If the worker has died, `receive` raises an error with the reason.
        with suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send_bytes(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    def receive(self, limits: FileLimits) -> tuple[str, Any]:
        """Return the next message; raise UnreadRowsError if the worker takes too long or has died."""
        seconds, setting = time_limit(limits)
        end = time.monotonic() + seconds
        try:
            while not self.connection.poll(max(0.0, min(_POLL_SECONDS, end - time.monotonic()))):
                require_time()
                if time.monotonic() >= end:
                    raise UnreadRowsError(
                        f"this cannot be read, or not completely: its next rows took longer than {seconds:.3g} seconds "
                        f"(setting {setting})"
                    )
            return pickle.loads(self.connection.recv_bytes())  # type: ignore[no-any-return]
        except (EOFError, ConnectionResetError):
            problem = f"this cannot be read, or not completely: {self.death(limits.memory_bytes)}"
            raise UnreadRowsError(problem) from None


def _idle_worker() -> _RowWorker:
    idle = _workers(os.getpid())
    with suppress(IndexError):
        while True:
            worker = idle.pop()
            if worker.process.poll() is None:
                return worker
            worker.end()
    return _RowWorker()


@cache
def _workers(process: int) -> deque[_RowWorker]:
    """Return the idle workers of the process with this id; forked processes must not share connections."""
    workers = deque[_RowWorker]()
    atexit.register(_end, workers, process)
    return workers


def _end(workers: deque[_RowWorker], process: int) -> None:
    while workers and process == os.getpid():
        workers.pop().end()
