"""A `whorl serve` process on a free port, whose log is read while it is written."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

WHORL = Path(sys.executable).parent / "whorl"
DEADLINE_SECONDS = 240.0


class Served:
    """A running service.

    Args:
        log: Queue of the log's lines, with None at the end.
    """

    def __init__(self, process: subprocess.Popen[str], log: queue.Queue[dict[str, Any] | None]) -> None:
        self.process, self._log = process, log
        self.lines: list[dict[str, Any]] = []
        listening = self.logged(lambda line: "running on" in str(line["event"]))
        self.port = int(re.search(r":(\d+) ", listening["event"])[1])  # type: ignore[index]
        self.url = f"http://127.0.0.1:{self.port}"

    def logged(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait for a line of the log that meets a condition, and return it."""
        while True:
            line = self._log.get(timeout=DEADLINE_SECONDS)
            assert line is not None, f"the service has ended: {self.lines}"
            self.lines.append(line)
            if wanted(line):
                return line

    def events(self) -> list[str]:
        """End the service, and return the events of all log lines that were not waited for."""
        self.process.terminate()
        left = iter(partial(self._log.get, timeout=DEADLINE_SECONDS), None)
        return [str(line["event"]) for line in left if line is not None]

    def connection(self) -> socket.socket:
        """Return a raw connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE_SECONDS)

    def threads(self) -> int:
        """Return the number of threads of the process."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"Threads:\s+(\d+)", status)[1])  # type: ignore[index]


@contextlib.contextmanager
def serving(store: str | Path, **settings: object) -> Iterator[Served]:
    """Start a service; settings are named like their variables, without WHORL_."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WHORL_")}
    environment |= {f"WHORL_{name.upper()}": str(value) for name, value in settings.items()}
    process = subprocess.Popen(
        [str(WHORL), "serve", "--store", str(store), "--port", "0"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # The service inherits an ignored SIGHUP from tests that run under nohup.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    log: queue.Queue[dict[str, Any] | None] = queue.Queue()
    stderr = process.stderr
    assert stderr is not None

    def read() -> None:
        for line in stderr:
            log.put(json.loads(line))
        log.put(None)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield Served(process, log)
    finally:
        process.kill()
        process.wait()
        reader.join()
        stderr.close()


@contextlib.contextmanager
def listening(app: ASGIApp, http: str | type[asyncio.Protocol] = "h11") -> Iterator[str]:
    """Serve an application from this process on a real socket, with one of uvicorn's parsers; yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, http=http, log_config=None))  # type: ignore[arg-type]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


class Prefix:
    """A proxy that removes a prefix from the paths of requests to an application; `outside` has the other paths."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app, self._prefix = app, prefix
        self.outside: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http":
            path = scope["path"].removeprefix(self._prefix)
            if path == scope["path"]:
                self.outside.append(path)
                app = Response(status_code=404)
            raw_path = scope["raw_path"].removeprefix(self._prefix.encode())
            scope = {**scope, "path": path, "raw_path": raw_path}
        await app(scope, receive, send)


@contextlib.contextmanager
def sending(url: str, begun: bytes) -> Iterator[socket.socket]:
    """Open a raw connection to a service, and send the first part of a request."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), timeout=DEADLINE_SECONDS) as connection:
        connection.sendall(begun)
        yield connection


class Hung:
    """A listener that accepts connections and requests and never answers, like a Solr that hangs."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._held: list[socket.socket] = []
        self._thread = threading.Thread(target=self._take)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/solr/whorl"

    def __enter__(self) -> Hung:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Unlike closing, a shutdown wakes the accepting thread.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()
        for resource in self._held:
            resource.close()

    @property
    def connections(self) -> int:
        """Number of connections so far."""
        return len(self._held)

    def _take(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._held.append(self._listener.accept()[0])
