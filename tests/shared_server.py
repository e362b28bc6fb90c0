"""One server for all processes of a test run: the first that needs it starts it, and it ends with the last."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from whorl.engine.opensearch.local.launcher import start_opensearch
from whorl.engine.solr.local.launcher import start_cloud, start_standalone
from whorl.errors import EngineUnavailableError
from whorl.settings.settings import Settings

#: How long a server may take to start, on a machine that has others to start at the same time.
_DEADLINE_SECONDS = 500.0

#: How each kind is started, in a folder of its own.
KINDS: dict[str, Callable[[Path], Any]] = {
    "solr": lambda folder: start_standalone(
        folder, {}, cache=Settings.load().solr_cache, deadline_seconds=_DEADLINE_SECONDS
    ),
    "cloud": lambda folder: start_cloud(folder, cache=Settings.load().solr_cache, deadline_seconds=_DEADLINE_SECONDS),
    "opensearch": lambda folder: start_opensearch(
        folder, nodes=2, cache=Settings.load().opensearch_cache, deadline_seconds=_DEADLINE_SECONDS
    ),
}


def home(folder: Path) -> Path:
    """Return where the server that is shared in a folder keeps its own."""
    return folder / "server"


@contextlib.contextmanager
def shared(kind: str, folder: Path) -> Iterator[str]:
    """Give the URL of a server: a process of its own has it, until nobody needs it any more.

    Who needs it shares a lock, for which that process waits: it has it alone while the server ends, so that who comes
    then waits for that and starts another one. Nobody asks a server whether it is there: one that is slow to answer is.

    Args:
        kind: Of `KINDS`.
        folder: What those who share it name alike; made where it is missing.

    Raises:
        EngineUnavailableError: It does not start.
    """
    folder.mkdir(parents=True, exist_ok=True)
    address = folder / "address"
    with (folder / "needed").open("w") as needed:
        with (folder / "starting").open("w") as starting:
            fcntl.flock(starting, fcntl.LOCK_EX)
            fcntl.flock(needed, fcntl.LOCK_SH)
            if not address.exists():
                _start(kind, folder, address)
        yield address.read_text()


def _start(kind: str, folder: Path, address: Path) -> None:
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.shared_server", kind, str(folder)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            cwd=Path(__file__).parents[1], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
    # It ends with an error where its server does not start in time.
    while not address.exists():
        if process.poll() is not None:
            # A failure is a defect of ours, not something that this machine lacks.
            raise EngineUnavailableError(f"the tests' {kind} did not start: {(folder / 'log').read_text()[-3000:]}")
        time.sleep(0.1)
    # It outlives this process.
    process.returncode = 0


def _hold(kind: str, folder: Path) -> None:
    """Have a server until nobody needs it."""
    address = folder / "address"
    with (folder / "needed").open("r") as needed:
        with KINDS[kind](home(folder)) as server:
            unfinished = address.with_suffix(".part")
            unfinished.write_text(server.url)
            unfinished.rename(address)
            # Whoever has started this shares the lock.
            fcntl.flock(needed, fcntl.LOCK_EX)
            # The run may be over by now, and its folder on its way.
            address.unlink(missing_ok=True)
        # A cloud starts in an empty folder alone.
        shutil.rmtree(home(folder), ignore_errors=True)


if __name__ == "__main__":
    _hold(sys.argv[1], Path(sys.argv[2]))
