"""Starts the service and its engine, and can kill and restart each on its data."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import requests

from whorl import open_store
from whorl.engine.configured_fields import FieldNames
from whorl.engine.local.opensearch import start_cluster
from whorl.engine.local.server_process import RunningServer
from whorl.engine.local.solr import configset_directory, start_standalone
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.document_fields import index_body
from whorl.settings.settings import Settings

ENGINES = ("solr", "opensearch", "embedded")
#: API key of the service.
KEY = "load"
DEADLINE_SECONDS = 60.0


class Server(Protocol):
    """A server that can be killed and restarted."""

    def kill(self) -> None:
        """End the server as abruptly as a power failure."""

    def start(self) -> None:
        """Restart the server on its data; return when it answers."""


class Service:
    """`whorl serve` over a store.

    Args:
        store: A folder or URL.
        folder: Folder of the log.
        workers: Number of worker processes.
    """

    def __init__(self, store: str, folder: Path, workers: int = 1) -> None:
        self._log, self._workers = folder / f"service-{workers}.log", workers
        whorl = str(Path(sys.executable).parent / "whorl")
        self._command = [whorl, "serve", "--store", store, "--workers", str(workers), "--port"]
        self._port = free_port()
        self.address = f"http://127.0.0.1:{self._port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("wb") as log:
            environment = {**os.environ, "WHORL_API_KEY": KEY}
            self.process = subprocess.Popen([*self._command, str(self._port)], env=environment, stderr=log)
        until_it_answers(self._require_ready)

    def _require_ready(self) -> None:
        if self._log.read_text(encoding="utf-8").count("startup complete") < self._workers:
            raise RuntimeError("not all workers have started")
        requests.get(f"{self.address}/readyz", timeout=5).raise_for_status()

    @property
    def cpu_seconds(self) -> float:
        """The service's CPU time so far, with all of its processes."""
        assert self.process is not None
        return sum(map(cpu_seconds, [self.process.pid, *_children(self.process.pid)]))

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """End the service as an operator does, if it runs."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(DEADLINE_SECONDS)


class SearchServer:
    """A Solr, or an OpenSearch of one node, with an index; a context manager.

    Args:
        folder: The server's data folder.
    """

    def __init__(self, engine: str, folder: Path) -> None:
        self._engine, self._folder, self._port = engine, folder, 0
        self._running: RunningServer | None = None

    @property
    def store(self) -> str:
        assert self._running is not None
        prefix = "opensearch+" if self._engine == "opensearch" else ""
        return f"{prefix}{self._running.url}/whorl"

    def start(self) -> None:
        is_new = self._running is None
        if self._engine == "solr":
            cores = {"whorl": configset_directory()}
            cache = Settings.load().solr_cache
            self._running = start_standalone(self._folder, cores, port=self._port, heap="1g", cache=cache)
        else:
            self._running = start_cluster(self._folder, port=self._port, heap="1g")
        self._port = int(self._running.url.rpartition(":")[2].partition("/")[0])
        if is_new and self._engine == "opensearch":
            with contextlib.closing(IndexClient(self.store)) as client:
                settings = {"number_of_shards": 1, "number_of_replicas": 0}
                client.create({**index_body(FieldNames()), "settings": settings})
        until_it_answers(self._count)

    def kill(self) -> None:
        assert self._running is not None
        watcher = self._running.process
        # The started program watches the server and would stop it gently, so kill the server itself.
        for process in [*_children(watcher.pid), watcher.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        watcher.wait()

    def _count(self) -> None:
        with open_store(self.store) as store:
            store.count()

    def __enter__(self) -> SearchServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._running is not None:
            self._running.stop()


@contextlib.contextmanager
def served(engine: str, folder: Path) -> Iterator[tuple[str, Service, Server]]:
    """Yield the name of an empty store, a service over it that is not started, and the server to kill.

    An embedded store is part of the service, so the service is the server to kill.
    """
    with contextlib.ExitStack() as stack:
        if engine == "embedded":
            service = Service(str(folder / "store"), folder)
            stack.callback(service.stop)
            yield str(folder / "store"), service, service
            return
        server = stack.enter_context(SearchServer(engine, folder / engine))
        service = Service(server.store, folder)
        stack.callback(service.stop)
        yield server.store, service, server


def cpu_seconds(process: int) -> float:
    """Return the CPU time of a process so far, without its child processes."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _children(process: int) -> list[int]:
    children = (path.read_text(encoding="ascii") for path in Path(f"/proc/{process}/task").glob("*/children"))
    return [int(child) for listed in children for child in listed.split()]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until_it_answers(ask: Callable[[], object]) -> None:
    """Repeat a request until it succeeds.

    Raises:
        Exception: The last failure, after a minute.
    """
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        try:
            ask()
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return
