"""Files to text through workers: processes that are limited, ended when they take too long, and replaced."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
import weakref
from collections import deque
from dataclasses import dataclass

from whorl.context import seconds_left
from whorl.errors import DocumentError
from whorl.ingest.extraction.formats import Format

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


class Reader:
    """Reads files in processes of their own, which start when the first file comes and end with this.

    Args:
        limits: What one file may take.
        workers: Processes at the same time, at most; threads that want more wait.
    """

    def __init__(self, limits: Limits | None = None, workers: int = 1) -> None:
        self.limits = Limits() if limits is None else limits
        self._idle: deque[_Worker] = deque()
        self._places = threading.BoundedSemaphore(workers)
        self.close = weakref.finalize(self, _end, self._idle)

    def text(self, raw: bytes, form: Format) -> str:
        """Return the text of a file.

        Args:
            raw: All of the file.
            form: What it is.

        Raises:
            DocumentError: There is none, with the reason.
        """
        self.require_size(len(raw))
        if not form.is_readable:
            raise DocumentError(f"reading {form.name} needs more: pip install 'whorl[files]'")
        left = seconds_left()
        if not self._places.acquire(timeout=None if left is None else max(left, 0.0)):
            raise DocumentError("other files were being read for so long that no time is left for this one; try again")
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
            answer = worker.ask(raw, form, seconds, setting)
        except BaseException:
            # Too slow, or whoever waits was interrupted.
            worker.end()
            raise
        if answer.is_worker_spent:
            worker.end()
        else:
            self._idle.append(worker)
        return answer


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

    def ask(self, raw: bytes, form: Format, seconds: float, setting: str) -> _Answer:
        """Return what the process says of a file within so many seconds, of which a setting is the reason.

        Raises:
            DocumentError: It took too long, and was ended.
        """
        is_late = threading.Event()

        def give_up() -> None:
            is_late.set()
            self._process.kill()

        # A clock that ends the process works on every system, wherever the exchange with it is stuck.
        clock = threading.Timer(seconds, give_up)
        clock.daemon = True
        clock.start()
        try:
            return self._exchange(raw, form)
        except (OSError, ValueError, LookupError, TypeError):
            if is_late.is_set():
                told = f"reading it took longer than {seconds:.3g} seconds (setting {setting})"
                raise DocumentError(told) from None
            return _Answer("", self._death(), is_worker_spent=True)
        finally:
            clock.cancel()

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
