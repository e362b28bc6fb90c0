"""One server for all processes of a test run: the first process that needs it starts it; it stops with the last one."""

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

from solr_cloud import start_cloud
from tests import opensearch_versions
from whorl.engine.local.jars import Server, find_server
from whorl.engine.local.solr import SOLR, start_standalone
from whorl.errors import EngineUnavailableError
from whorl.settings.settings import Settings

#: Deadline for the start of a server, generous because other servers may start at the same time.
_DEADLINE_SECONDS = 500.0

#: Environment variable of the Solr version that all tests of Solr use, by default the newest: 8.11.4, or its first
#: numbers.
SOLR_VERSION = "WHORL_TEST_SOLR_VERSION"

#: How to start each kind of server, in its own folder.
KINDS: dict[str, Callable[[Path], Any]] = {
    "solr": lambda folder: start_standalone(
        folder,
        {},
        version=solr_server().version,
        cache=Settings.load().solr_cache,
        deadline_seconds=_DEADLINE_SECONDS,
    ),
    "cloud": lambda folder: start_cloud(
        folder,
        version=solr_server().version,
        cache=Settings.load().solr_cache,
        deadline_seconds=_DEADLINE_SECONDS,
    ),
    "opensearch": lambda folder: opensearch_versions.start(
        opensearch_versions.chosen(), folder, nodes=2, deadline_seconds=_DEADLINE_SECONDS
    ),
}


def solr_server() -> Server:
    """Return the Solr version that the tests use."""
    return find_server(SOLR, os.environ.get(SOLR_VERSION) or SOLR[0].version)


def home(folder: Path) -> Path:
    """Return the data folder of the server that is shared in a folder."""
    return folder / "server"


@contextlib.contextmanager
def shared(kind: str, folder: Path) -> Iterator[str]:
    """Yield the URL of a server that runs in a separate process until no process needs it any more.

    Each user holds a shared lock. The server process waits for the exclusive lock and keeps it while the server stops,
    so that a later user waits for the end and then starts another server. No user probes whether the server answers,
    because a slow server is still there.

    Args:
        kind: A key of `KINDS`.
        folder: Identifies the shared server; created if missing.

    Raises:
        EngineUnavailableError: The server does not start.
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
    # The process ends with an error if its server does not start in time.
    while not address.exists():
        if process.poll() is not None:
            # A failure is a defect of whorl or of its tests, not something that this machine lacks.
            raise EngineUnavailableError(f"the tests' {kind} did not start: {(folder / 'log').read_text()[-3000:]}")
        time.sleep(0.1)
    # The server process outlives this one; a return code prevents the warning of `Popen`.
    process.returncode = 0


def _hold(kind: str, folder: Path) -> None:
    """Run a server until no process needs it any more."""
    address = folder / "address"
    with (folder / "needed").open("r") as needed:
        with KINDS[kind](home(folder)) as server:
            unfinished = address.with_suffix(".part")
            unfinished.write_text(server.url)
            unfinished.rename(address)
            # The process that started this one holds the shared lock.
            fcntl.flock(needed, fcntl.LOCK_EX)
            # The run may be over by now and its folder about to be deleted.
            address.unlink(missing_ok=True)
        # A cloud starts only in an empty folder.
        shutil.rmtree(home(folder), ignore_errors=True)


if __name__ == "__main__":
    _hold(sys.argv[1], Path(sys.argv[2]))
