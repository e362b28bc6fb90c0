"""Runs a search server as a child process: starts it, waits until it is ready, and stops it when whorl exits."""

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
_COMPILER = "org.eclipse.jdt.internal.compiler.batch.Main"


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A child process with a server. It stops when this process ends, even by a crash.

    Attributes:
        url: Base URL of the server, or of the first node.
        log: File with the server's output since this start.
        process: The server, or a watcher that stops the server. Both end when their standard input ends.
    """

    url: str
    log: Path
    process: subprocess.Popen[bytes]

    def stop(self, timeout_seconds: float = 30.0) -> None:
        """Stop the server and wait until it has ended; a second call does nothing."""
        _stop(self.process, timeout_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start(
    name: str, command: Sequence[str], log: Path, ready: Callable[[str], str | None], deadline_seconds: float
) -> RunningServer:
    """Start a command in the folder of its log, and wait until the server responds.

    Args:
        command: Program and arguments. The program must stop when its standard input ends.
        log: File for the output of the command.
        ready: Called with the log so far; returns the server's base URL, or None while the server does not respond.

    Raises:
        EngineUnavailableError: The command has ended, or did not respond in time; the message shows the end of the log.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=log.parent, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT,
            # Ctrl-C must reach only whorl, which then stops the server.
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


def compile_java(java: Path, class_path: str, source: Path, classes: Path) -> None:
    """Compile one file for Java 17. This uses the compiler ecj from the class path, so it needs no JDK."""
    command = [java, "-cp", class_path, _COMPILER, "-17", "-nowarn", "-proc:none", "-d", classes, source]
    answer = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL
    )
    if answer.returncode != 0:
        raise EngineUnavailableError(f"{source} cannot be compiled:\n{(answer.stdout + answer.stderr)[-4000:]}")


def tail(log: Path) -> str:
    """Return the last lines of a log, without stack frames, so that they include the causes of errors."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    causes = [line for line in lines if not line.lstrip().startswith(("at ", "... "))]
    return f"The end of {log}:\n" + "\n".join(causes[-_TAIL_LINES:])


def _stop(process: subprocess.Popen[bytes], timeout_seconds: float) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(timeout_seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
