"""One server for all processes of a test run: the first that needs it starts it, and it ends with the last."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import requests

from whorl.engine.opensearch.local.launcher import start_opensearch
from whorl.engine.solr.local.launcher import start_cloud, start_standalone
from whorl.errors import EngineUnavailableError
from whorl.settings.settings import Settings

_DEADLINE_SECONDS = 240.0

#: How each kind is started, in a folder of its own.
KINDS: dict[str, Callable[[Path], Any]] = {
    "solr": lambda folder: start_standalone(folder, {}, cache=Settings.load().solr_cache),
    "cloud": lambda folder: start_cloud(folder, cache=Settings.load().solr_cache),
    "opensearch": lambda folder: start_opensearch(folder, nodes=2, cache=Settings.load().opensearch_cache),
}


def home(folder: Path) -> Path:
    """Return where the server that is shared in a folder keeps its own."""
    return folder / "server"


@contextlib.contextmanager
def shared(kind: str, folder: Path) -> Iterator[str]:
    """Give the URL of a server: a process of its own has it, until nobody holds the writing end of its pipe any more.

    Args:
        kind: Of `KINDS`.
        folder: What those who share it name alike; made where it is missing.

    Raises:
        EngineUnavailableError: It does not start.
    """
    folder.mkdir(parents=True, exist_ok=True)
    address, pipe = folder / "address", folder / "pipe"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_there = address.exists() and _answers(address.read_text())
        if not is_there:
            address.unlink(missing_ok=True)
            pipe.unlink(missing_ok=True)
            os.mkfifo(pipe)
        # Opened for both, it waits for nobody to read.
        held = os.open(pipe, os.O_RDWR)
        if not is_there:
            _start(kind, folder, address)
    try:
        yield address.read_text()
    finally:
        os.close(held)


def _start(kind: str, folder: Path, address: Path) -> None:
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.shared_server", kind, str(folder)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            cwd=Path(__file__).parents[1], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while not address.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            # A failure is a defect of ours, not something that this machine lacks.
            raise EngineUnavailableError(f"the tests' {kind} did not start: {(folder / 'log').read_text()[-3000:]}")
        time.sleep(0.1)
    # It outlives this process.
    process.returncode = 0


def _answers(url: str) -> bool:
    try:
        requests.get(url, timeout=5)
    except requests.RequestException:
        return False
    return True


def _hold(kind: str, folder: Path) -> None:
    """Have a server until nobody needs it."""
    with KINDS[kind](home(folder)) as server:
        unfinished = folder / "address.part"
        unfinished.write_text(server.url)
        unfinished.rename(folder / "address")
        # Whoever has started this holds the other end by now.
        with (folder / "pipe").open("rb") as pipe:
            pipe.read()


if __name__ == "__main__":
    _hold(sys.argv[1], Path(sys.argv[2]))
