"""A search server as a process of this machine: started, waited for, and stopped with the process that started it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from whorl.errors import EngineUnavailableError

_TAIL_LINES = 30
_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that this process started; it stops with this process, however that ends.

    Attributes:
        url: Base URL, of its first node where it has several.
        log: The file with what it said since this start.
        process: The server, or what watches it; it stops when its standard input ends.
    """

    url: str
    log: Path
    process: subprocess.Popen[bytes]

    def stop(self, timeout_seconds: float = 30.0) -> None:
        """Stop the server and wait until it is gone. A second call does nothing."""
        _stop(self.process, timeout_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start(
    name: str, command: Sequence[str], log: Path, ready: Callable[[str], str | None], deadline_seconds: float
) -> RunningServer:
    """Run a command in the folder of its log until the server answers.

    Args:
        name: What people call the server.
        command: It stops when its standard input ends.
        log: Where it is to write what it says.
        ready: Called with the log so far; returns the server's base URL once it answers there.
        deadline_seconds: How long that may take.

    Raises:
        EngineUnavailableError: The command ends, or the time is up: the message shows the end of the log.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=log.parent, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT,
            # Ctrl-C in a terminal is for whorl, which then stops the server in order.
            start_new_session=sys.platform != "win32",
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )  # fmt: skip
    try:
        deadline = time.monotonic() + deadline_seconds
        while time.monotonic() < deadline:
            status = process.poll()
            if status is not None:
                raise EngineUnavailableError(f"{name} did not start (exit status {status}). {tail(log)}")
            if url := ready(log.read_text(encoding="utf-8", errors="replace")):
                return RunningServer(url, log, process)
            time.sleep(_POLL_SECONDS)
        raise EngineUnavailableError(f"{name} did not start within {deadline_seconds:g} seconds. {tail(log)}")
    except BaseException:
        _stop(process, timeout_seconds=10.0)
        raise


def tail(log: Path) -> str:
    """Return the log's last lines, without the frames of stack traces, which would push the causes out."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    kept = [line for line in lines if not line.lstrip().startswith(("at ", "... "))]
    return f"The end of {log}:\n" + "\n".join(kept[-_TAIL_LINES:])


def _stop(process: subprocess.Popen[bytes], timeout_seconds: float) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(timeout_seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
