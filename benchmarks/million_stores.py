"""The stores of a million documents: their places, their sizes, and the processes that fill them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

from indexing import parts
from load_servers import cpu_seconds
from solr_cloud import create_collection, start_cloud
from whorl.engine.local.server_process import RunningServer
from whorl.engine.local.solr import configset_directory, start_standalone

#: embedded: a folder. solr: a core of whorl's configset. solr-sketch: a core without MINHASH. solr-backfill: a core
#: that another program fills, and that gets sketches later. cloud: two nodes and four shards in one JVM.
ENGINES = ("embedded", "solr", "solr-sketch", "solr-backfill", "cloud")
NAME = "million"
_MINHASH = re.compile(r'<field name="MINHASH".*?/>|<copyField [^>]*dest="MINHASH"/>', re.DOTALL)
_HEAP = "2g"


@dataclass(frozen=True, slots=True)
class Place:
    """A store's location.

    Args:
        url: URL for `open_store`.
        folder: Folder of its files.
        server: The server's process, None for an embedded store.
    """

    url: str
    folder: Path
    server: int | None = None

    def bytes(self) -> dict[str, int]:
        """Return the bytes on disk by content, of a folder that no process has open."""
        if self.server is None:
            return parts(self.folder)
        sizes: Counter[str] = Counter()
        for file in self.folder.rglob("index/*"):
            if file.is_file():
                # File names contain the codec: _3_Lucene90_0.tim.
                sizes[f"index: {file.suffix or 'segments'}"] += file.stat().st_size
        return dict(sizes)

    def server_seconds(self) -> float:
        """Return the server's processor time so far."""
        return 0.0 if self.server is None else cpu_seconds(self.server)

    def server_megabytes(self) -> float:
        """Return the server's anonymous memory."""
        return _anonymous(self.server) if self.server is not None else 0.0


@contextmanager
def place(engine: str, home: Path) -> Iterator[Place]:
    """Prepare an engine's store and keep its documents; a cloud always begins empty."""
    folder = home / engine
    if engine == "embedded":
        yield Place(str(folder), folder)
        return
    with started(engine, folder) as running:
        yield Place(f"{running.url}/{NAME}", folder, running.process.pid)


def started(engine: str, folder: Path) -> RunningServer:
    if engine == "cloud":
        shutil.rmtree(folder, ignore_errors=True)
        running = start_cloud(folder, nodes=2, heap=_HEAP)
        create_collection(running.url, NAME, configset_directory(), shards=4)
        return running
    configset = configset_directory()
    if engine == "solr-sketch":
        configset = without_minhash(folder.with_name(f"{engine}-configset"))
    return start_standalone(folder, {NAME: configset}, heap=_HEAP)


def without_minhash(folder: Path) -> Path:
    """Make a configset without the field MINHASH, as `whorl solr init --without-minhash` leaves a collection."""
    if not folder.exists():
        shutil.copytree(configset_directory(), folder)
        schema = folder / "conf" / "managed-schema.xml"
        schema.write_text(_MINHASH.sub("", schema.read_text(encoding="utf-8")), encoding="utf-8")
    return folder


@dataclass(frozen=True, slots=True)
class Ran:
    """Cost of a process.

    Args:
        wall: Wall seconds.
        cpu: Processor seconds of all threads.
        peak: Peak memory in MB, with mapped files.
        anonymous: Peak anonymous memory in MB.
    """

    wall: float
    cpu: float
    peak: float
    anonymous: float


def ran(command: Sequence[str], meanwhile: Callable[[], object] = lambda: time.sleep(0.05)) -> Ran:
    """Run a process to its end.

    Args:
        meanwhile: Called repeatedly until then.

    Raises:
        SystemExit: The process failed.
    """
    begun, anonymous = time.perf_counter(), 0.0
    with TemporaryFile() as output, subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as process:
        while True:
            ended, status, used = os.wait4(process.pid, os.WNOHANG)
            if ended:
                break
            anonymous = max(anonymous, _anonymous(process.pid))
            meanwhile()
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}: {output.read().decode()}")
    return Ran(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, anonymous)


def _anonymous(process: int) -> float:
    """Return a process's anonymous memory in MB; 0 if it has just ended."""
    memory = re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    return int(memory[1]) / 1024 if memory else 0.0
