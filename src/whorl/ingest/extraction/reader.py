"""Files to text through workers: processes that are limited, ended when they take too long, and replaced."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from whorl.context import seconds_left
from whorl.errors import DocumentError
from whorl.ingest.extraction.formats import Format

#: A file that takes longer is slow: it keeps its place as long as a place for others is left, or nobody wants it.
SLOW_SECONDS = 5.0
#: How often it is looked whether somebody does.
_LOOK_SECONDS = 0.2
#: Bytes of a worker's line, at most; what is longer is no answer.
_MOST_LINE_BYTES = 10_000
#: Bytes of one character in UTF-8, at most.
_MOST_CHARACTER_BYTES = 4


@dataclass(frozen=True, slots=True)
class Limits:
    """What reading one file may take.

    Args:
        file_bytes: Size of the file.
        seconds: Time.
        memory_bytes: Memory of the process that reads it, and size of an archive when it is unpacked.
        text_characters: Length of its text.
    """

    file_bytes: int = 100_000_000
    seconds: float = 60.0
    memory_bytes: int = 1_000_000_000
    text_characters: int = 50_000_000


class BusyError(DocumentError):
    """Others want to have files read: nothing may be wrong with this one, which can be tried again."""


class Reader:
    """Reads files in processes of their own, which start when the first file comes and end with this.

    Slow files leave one place to others: of two places only one can be held for longer than `SLOW_SECONDS` while
    somebody waits.

    Args:
        limits: What one file may take.
        workers: Processes at the same time, at most; threads that want more wait.
    """

    def __init__(self, limits: Limits | None = None, workers: int = 1) -> None:
        self.limits = Limits() if limits is None else limits
        self._idle: deque[_Worker] = deque()
        self._places = threading.BoundedSemaphore(workers)
        self._queue = _Queue(max(workers - 1, 1))
        self.close = weakref.finalize(self, _end, self._idle)

    def text(self, raw: bytes, form: Format) -> str:
        """Return the text of a file.

        Args:
            raw: All of the file.
            form: What it is.

        Raises:
            DocumentError: There is none, with the reason; a BusyError, where that is other files.
        """
        self.require_size(len(raw))
        if not form.is_readable:
            raise DocumentError(f"reading {form.name} needs more: pip install 'whorl[files]'")
        left = seconds_left()
        with self._queue.waiting():
            has_place = self._places.acquire(timeout=None if left is None else max(left, 0.0))
        if not has_place:
            raise BusyError("other files were being read for so long that no time is left for this one; try again")
        try:
            return self._text(raw, form)
        finally:
            self._places.release()

    def require_size(self, size: int) -> None:
        """Raise where a file has more bytes than it may.

        Raises:
            DocumentError: It has.
        """
        if size > self.limits.file_bytes:
            raise DocumentError(
                f"this file has {size:,} bytes, and those of up to {self.limits.file_bytes:,} are read "
                "(setting max_file_bytes)"
            )

    def _text(self, raw: bytes, form: Format) -> str:
        answer = None
        with contextlib.suppress(IndexError):
            answer = self._ask(self._idle.pop(), raw, form)
        if answer is None or answer.is_worker_spent:
            # A file does not pay for what another left behind: it is asked about again where nothing was before.
            answer = self._ask(_Worker(self.limits), raw, form)
        if answer.problem:
            raise DocumentError(answer.problem)
        return answer.text

    def _ask(self, worker: _Worker, raw: bytes, form: Format) -> _Answer:
        seconds, setting, left = self.limits.seconds, "file_timeout", seconds_left()
        if left is not None and left < seconds:
            seconds, setting = max(left, 0.0), "request_timeout"
        try:
            answer = worker.ask(raw, form, _Clock(self._queue, seconds, setting))
        except BaseException:
            # Too slow, or whoever waits was interrupted.
            worker.end()
            raise
        if answer.is_worker_spent:
            worker.end()
        else:
            self._idle.append(worker)
        return answer


class _Queue:
    """Who waits for a place, and how many slow files may hold one meanwhile."""

    def __init__(self, slow: int) -> None:
        self._lock, self._waiting = threading.Lock(), 0
        self.slow = threading.BoundedSemaphore(slow)

    @property
    def is_empty(self) -> bool:
        """Whether nobody waits."""
        return not self._waiting

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Count whoever waits in this block."""
        with self._lock:
            self._waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1


class _Clock:
    """Ends a process that reads a file for too long, from a thread of its own, wherever the exchange with it is stuck.

    Args:
        queue: Who else wants a file read.
        seconds: How long it may take.
        setting: What that is set by.
    """

    def __init__(self, queue: _Queue, seconds: float, setting: str) -> None:
        self._queue, self._seconds, self._setting = queue, seconds, setting
        self._is_over = threading.Event()
        self.ended: DocumentError | None = None

    @contextlib.contextmanager
    def watching(self, end: Callable[[], None]) -> Iterator[None]:
        """Watch the block, and end what it waits for."""
        thread = threading.Thread(target=self._watch, args=(end,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            thread.join()

    def _watch(self, end: Callable[[], None]) -> None:
        until, is_counted = time.monotonic() + self._seconds, False
        if self._is_over.wait(min(self._seconds, SLOW_SECONDS)):
            return
        try:
            while (left := until - time.monotonic()) > 0:
                is_counted = is_counted or self._queue.slow.acquire(blocking=False)
                if not is_counted and not self._queue.is_empty:
                    told = f"reading it took longer than {SLOW_SECONDS:g} seconds, and others wait; try again"
                    self._end(BusyError(told), end)
                    return
                if self._is_over.wait(min(left, _LOOK_SECONDS)):
                    return
            told = f"reading it took longer than {self._seconds:.3g} seconds (setting {self._setting})"
            self._end(DocumentError(told), end)
        finally:
            if is_counted:
                self._queue.slow.release()

    def _end(self, reason: DocumentError, end: Callable[[], None]) -> None:
        self.ended = reason
        end()


@dataclass(frozen=True, slots=True)
class _Answer:
    text: str
    problem: str = ""
    is_worker_spent: bool = False


class _Worker:
    """One process, asked about one file after the other."""

    def __init__(self, limits: Limits) -> None:
        self._most_bytes = limits.text_characters * _MOST_CHARACTER_BYTES
        self._memory_bytes = limits.memory_bytes
        numbers = (f"{limits.seconds}", f"{limits.memory_bytes}", f"{limits.text_characters}")
        # -P, because a folder of files to be read is no place to import modules from. A session of its own, because
        # Ctrl-C is this process's to deal with.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "whorl.ingest.extraction.worker", *numbers],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def ask(self, raw: bytes, form: Format, clock: _Clock) -> _Answer:
        """Return what the process says of a file.

        Raises:
            DocumentError: It took too long, and was ended.
        """
        try:
            with clock.watching(self._process.kill):
                return self._exchange(raw, form)
        except (OSError, ValueError, LookupError, TypeError):
            if clock.ended is not None:
                raise clock.ended from None
            return _Answer("", self._death(), is_worker_spent=True)

    def _exchange(self, raw: bytes, form: Format) -> _Answer:
        """Ask and return the answer; OSError means that nobody is there, the others that it is no answer."""
        asked, answers = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answers is not None
        asked.write(json.dumps({"format": form.name, "size": len(raw)}).encode() + b"\n")
        asked.write(raw)
        asked.flush()
        told = json.loads(answers.readline(_MOST_LINE_BYTES))
        size, problem, is_out_of_memory = told["size"], told["problem"], told["is_out_of_memory"]
        if size > self._most_bytes:
            raise ValueError
        encoded = answers.read(size)
        if len(encoded) < size:
            raise ValueError
        return _Answer(encoded.decode("utf-8"), problem, is_out_of_memory)

    def _death(self) -> str:
        self._process.kill()
        status = self._process.wait()
        how = f"by {signal.Signals(-status).name}" if status < 0 else f"by itself, with status {status}"
        return (
            f"the process that reads it was ended {how}: the file takes more than {self._memory_bytes:,} bytes of "
            "memory (setting file_memory_bytes), or is broken in a way that its library does not survive"
        )

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            # What was not sent yet cannot be.
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()


def _end(workers: deque[_Worker]) -> None:
    while workers:
        workers.pop().end()
