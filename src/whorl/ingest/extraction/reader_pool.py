"""Extracts text in worker processes; kills and replaces a worker that takes too much time or memory."""

from __future__ import annotations

import contextlib
import json
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from importlib.util import find_spec

from whorl.errors import DocumentError, StoppedError
from whorl.ingest.extraction import FileLimits, PartialTextError
from whorl.ingest.extraction.confined_process import ConfinedProcess, time_limit
from whorl.ingest.extraction.file_formats import FileFormat
from whorl.request_context import cancellation, require_time, seconds_left

#: Time in seconds after which a file is slow. While other files wait, slow files must not occupy all processes.
SLOW_SECONDS = 5.0
_POLL_SECONDS = 0.2
#: Maximum length of the JSON in a worker's response, in bytes.
_MOST_RESPONSE_BYTES = 10_000
_MOST_CHARACTER_BYTES = 4
_WORKER = "whorl.ingest.extraction.worker"


class BusyError(DocumentError):
    """All readers are busy; the caller may retry later."""


class ReaderPool:
    """Extracts text in worker processes, which start when needed, and end when this object is closed or deleted.

    At most `workers` processes read files at the same time. Slow files (`SLOW_SECONDS`) may occupy all of them except
    one. If one more file becomes slow while others wait, its worker is ended, and `text` raises BusyError.
    """

    def __init__(self, limits: FileLimits | None = None, workers: int = 1) -> None:
        self.limits = FileLimits() if limits is None else limits
        self._idle: deque[_ReaderProcess] = deque()
        #: Limit the number of files read at the same time, and the number of slow files among them.
        self._slots, self.slow = threading.BoundedSemaphore(workers), threading.BoundedSemaphore(max(workers - 1, 1))
        #: Number of files that wait for a process, with its lock.
        self.waiting, self._lock = 0, threading.Lock()
        self.close = weakref.finalize(self, _end, self._idle)

    def text(self, raw: bytes, form: FileFormat) -> str:
        """Return the text of a file.

        Raises:
            DocumentError: The file has no readable text; a PartialTextError has the text of the readable parts.
            BusyError: All readers are busy.
            StoppedError: The client has disconnected.
        """
        self.require_size(len(raw))
        if form.library and find_spec(form.library) is None:
            raise DocumentError(f"reading {form.name} needs more: pip install 'whorl[files]'")
        self._wait_for_slot()
        try:
            return self._text(raw, form)
        finally:
            self._slots.release()

    def _wait_for_slot(self) -> None:
        with self._lock:
            self.waiting += 1
        try:
            while not self._slots.acquire(timeout=_POLL_SECONDS):
                if (left := seconds_left()) is not None and left <= 0:
                    raise BusyError(
                        "other files were being read for so long that no time is left for this one; try again"
                    )
                require_time()
        finally:
            with self._lock:
                self.waiting -= 1

    def require_size(self, size: int) -> None:
        if size > self.limits.file_bytes:
            raise DocumentError(
                f"this file has {size:,} bytes, and those of up to {self.limits.file_bytes:,} are read "
                "(setting max_file_bytes)"
            )

    def _text(self, raw: bytes, form: FileFormat) -> str:
        with contextlib.suppress(IndexError, _BrokenWorkerError):
            return self._read_in(self._idle.pop(), raw, form)
        # An earlier file may have broken the worker; retry in a new one.
        try:
            return self._read_in(_ReaderProcess(self.limits), raw, form)
        except _BrokenWorkerError as error:
            raise DocumentError(str(error)) from None

    def _read_in(self, worker: _ReaderProcess, raw: bytes, form: FileFormat) -> str:
        try:
            text, problem = worker.ask(raw, form, _Watchdog(self, *time_limit(self.limits)))
        except BaseException:
            # The worker has not finished: the file took too long, or the caller was interrupted.
            worker.end()
            raise
        self._idle.append(worker)
        if problem:
            raise PartialTextError(problem, text) if text else DocumentError(problem)
        return text


class _Watchdog:
    """Ends a worker process from a thread if its file takes too long, even if the pipe to the process blocks."""

    def __init__(self, pool: ReaderPool, seconds: float, setting: str) -> None:
        self._pool, self._seconds, self._setting = pool, seconds, setting
        self._is_over, self._cancellation = threading.Event(), cancellation()
        self.ended: DocumentError | StoppedError | None = None

    @contextlib.contextmanager
    def guard(self, end: Callable[[], None]) -> Iterator[None]:
        """Watch the `with` block; call `end` if it takes too long, or if the client has disconnected."""
        thread = threading.Thread(target=self._watch, args=(end,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            thread.join()

    def _watch(self, end: Callable[[], None]) -> None:
        began, is_counted = time.monotonic(), False
        try:
            while (left := began + self._seconds - time.monotonic()) > 0:
                if self._cancellation.is_set():
                    self.ended = StoppedError("the client that sent this file has disconnected")
                    break
                is_slow = time.monotonic() - began >= SLOW_SECONDS
                is_counted = is_counted or (is_slow and self._pool.slow.acquire(blocking=False))
                if is_slow and not is_counted and self._pool.waiting:
                    problem = f"reading it took longer than {SLOW_SECONDS:g} seconds, and others wait; try again"
                    self.ended = BusyError(problem)
                    break
                if self._is_over.wait(min(left, _POLL_SECONDS)):
                    return
            else:
                problem = f"reading it took longer than {self._seconds:.3g} seconds (setting {self._setting})"
                self.ended = DocumentError(problem)
            end()
        finally:
            if is_counted:
                self._pool.slow.release()


class _BrokenWorkerError(Exception):
    """A worker process has not returned a text, and cannot be used for another file."""


class _ReaderProcess(ConfinedProcess):
    """A worker process that reads one file at a time; `worker` describes its requests and responses."""

    def __init__(self, limits: FileLimits) -> None:
        self._most_bytes = limits.text_characters * _MOST_CHARACTER_BYTES
        self._memory_bytes = limits.memory_bytes
        super().__init__(_WORKER, limits.seconds, limits.memory_bytes, limits.text_characters)

    def ask(self, raw: bytes, form: FileFormat, watchdog: _Watchdog) -> tuple[str, str]:
        """Return the text of a file, and the reason if the file or a part of it has no readable text.

        Raises DocumentError if the file took too long, and StoppedError if the client disconnected.
        """
        try:
            with watchdog.guard(self.process.kill):
                return self._exchange(raw, form)
        except (OSError, EOFError, ValueError, LookupError, TypeError):
            if watchdog.ended is not None:
                raise watchdog.ended from None
            self.process.kill()
            raise _BrokenWorkerError(self.death(self._memory_bytes)) from None

    def _exchange(self, raw: bytes, form: FileFormat) -> tuple[str, str]:
        """Send a file and return the response; raise EOFError or OSError if the process has ended.

        Other errors mean an invalid response.
        """
        self.connection.send_bytes(form.name.encode())
        self.connection.send_bytes(raw)
        response = json.loads(self.connection.recv_bytes(_MOST_RESPONSE_BYTES))
        text = self.connection.recv_bytes(self._most_bytes).decode()
        if response["is_out_of_memory"]:
            raise _BrokenWorkerError(response["problem"])
        return text, response["problem"]


def _end(workers: deque[_ReaderProcess]) -> None:
    while workers:
        workers.pop().end()
