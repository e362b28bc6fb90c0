"""Runs the HTTP server in one or several processes, from start to graceful shutdown.

The module also configures logging and memory, and shares state between the processes.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import math
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from multiprocessing.managers import BaseManager
from pathlib import Path
from typing import Any, cast

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.supervisors import Multiprocess

from whorl.errors import ParameterError
from whorl.query.parser import build_grammars
from whorl.request_context import deadline, new_request, seconds_left, trace
from whorl.service.app import SharedState, create_configured_app
from whorl.service.credentials import Tickets
from whorl.service.middleware.logs_and_metrics import LOGGER, configuration
from whorl.service.routes.duplicates import DuplicateSearches
from whorl.settings.settings import Settings, shared_folder, use_in_workers
from whorl.store import Store, open_store

#: glibc's parameter for the maximum number of arenas, and its value. Two suffice: Python runs one thread at a time.
_M_ARENA_MAX, _ARENAS = -8, 2
#: Interval in seconds between two calls of `malloc_trim`. Each call blocks allocations for about 50 ms.
_TRIM_SECONDS = 30.0


def limit_arenas() -> None:
    """Limit all threads to two arenas (memory pools) of glibc; call this before opening a store, which starts threads.

    By default, glibc creates up to eight arenas per processor, and each keeps the memory that its threads have freed.
    Once it has more than eight arenas, it ignores a new limit.
    """
    # Other C libraries have no `mallopt`.
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)


def trim_memory() -> None:
    """Return free memory pages to the system; glibc returns only those at the end of an arena."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def trim_memory_regularly() -> None:
    def run() -> None:
        while True:
            time.sleep(_TRIM_SECONDS)
            trim_memory()

    threading.Thread(target=run, name="trims the memory", daemon=True).start()


#: Time in seconds that an unused connection stays open. Most proxies close unused connections earlier.
_KEEP_ALIVE_SECONDS = 75
#: Time in seconds after which Linux closes the connection of a client that leaves its answer unread. Otherwise
#: the answer would stay in memory.
_UNREAD_SECONDS = 60
#: uvicorn's exit code if the service cannot start, for example because its port is in use.
_STARTUP_FAILURE = 3
#: Time in seconds without a response after which the supervisor replaces a worker process.
_HUNG_SECONDS = 60
#: File in the shared folder with the address of the process that has the shared state.
_ADDRESS = "address"


#: Maximum size of a request's head: request line and headers.
HEAD_BYTES = 65_536


class Connection(HttpToolsProtocol):
    """Connection that limits the size of a request's line and headers, and sends each part of a response at once.

    uvicorn's own limit needs the parser h11, which is half as fast. Trailers (headers after a chunked body) are
    dropped, because uvicorn would add them to the headers, which have been checked before.
    """

    #: Number of bytes received since the parser last finished headers, a piece of a body, or a request. A body comes in
    #: small pieces, so only headers and trailers can exceed the limit `HEAD_BYTES`.
    _pending_bytes = 0
    _is_in_head = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        # Otherwise a response waits 40 ms for the client's acknowledgement. asyncio sets this option for most sockets,
        # but not for the sockets that uvicorn binds for worker processes.
        connected = transport.get_extra_info("socket")
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if sys.platform == "linux":
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1_000 * _UNREAD_SECONDS)
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._pending_bytes += len(data)
        super().data_received(data)
        if self._pending_bytes > HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response(f"the head of a request has at most {HEAD_BYTES:,} bytes")

    def on_message_begin(self) -> None:
        self._is_in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._is_in_head, self._pending_bytes = False, 0
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > HEAD_BYTES:
            # This error stops the parser, and uvicorn then answers 400.
            raise ValueError("the head of a request is too large")
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._pending_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._pending_bytes = 0
        super().on_message_complete()


class WorkerLoop(asyncio.SelectorEventLoop):
    """Event loop of a worker process, which listens at the service's address with a socket of its own.

    Linux distributes connections over these sockets. With one shared socket, one process could get them all.
    """

    async def create_server(  # type: ignore[override]  # uvicorn gives a bound socket
        self, *args: Any, sock: socket.socket, **options: Any
    ) -> asyncio.Server:
        own = socket.socket(sock.family, sock.type)
        # Bind the address even while connections of an earlier service are closing.
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # uvicorn binds its socket without SO_REUSEPORT, to notice another server. Set the option now for all workers.
        for listener in (sock, own):
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        address = sock.getsockname()
        try:
            own.bind(address)
        except OSError as error:
            _log_bind_error(address, error)
            # With this exit code, the supervisor ends the service; otherwise, it would start workers endlessly.
            sys.exit(_STARTUP_FAILURE)
        return await super().create_server(*args, sock=own, **options)


def serve(store: Store, settings: Settings) -> None:
    """Serve until a signal arrives, then finish the accepted requests; for port 0, the system chooses one."""
    try:
        socket.getaddrinfo(settings.listen[0] or None, settings.listen[1])
    except (OSError, UnicodeError) as error:
        raise ParameterError(f"the host {settings.listen[0]!r} has no address: {error}") from error
    if settings.workers > 1:
        _run_workers(store, settings)
        return
    _prepare_process()
    is_terminal = sys.stderr.isatty()
    config = uvicorn.Config(
        create_configured_app(store, settings), **_server_options(settings, is_terminal=is_terminal)
    )
    server = _AnnouncedServer(config) if is_terminal else uvicorn.Server(config)
    _warn_if_empty(store, settings)
    # After a stop, uvicorn raises the received signal again. Turn SIGTERM into a KeyboardInterrupt, which is suppressed
    # below, so that the exit code of a stopped service is 0.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # The system sends SIGHUP when the terminal is closed, so stop then, too, unless nohup has made this process
    # ignore SIGHUP.
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
    with suppress(KeyboardInterrupt):
        server.run()
    if not server.started:
        sys.exit(_STARTUP_FAILURE)


def _warn_if_empty(store: Store, settings: Settings) -> None:
    """Log a warning if a store on disk has no documents: a mistyped path gives a new, empty store."""
    if store.engine.runs_in_process and not store.engine.count():
        logging.getLogger(LOGGER).warning("the store %s has no documents", Path(settings.store).absolute())


def _prepare_process() -> None:
    # Build the query parsers before the first request.
    build_grammars()
    trim_memory_regularly()


def _server_options(settings: Settings, *, is_terminal: bool) -> dict[str, Any]:
    host, port = settings.listen
    return {
        "host": host,
        "port": port,
        "http": Connection,
        "log_config": configuration(is_terminal=is_terminal),
        "access_log": False,
        "server_header": False,
        "timeout_keep_alive": _KEEP_ALIVE_SECONDS,
        "timeout_graceful_shutdown": math.ceil(settings.shutdown_timeout_seconds),
    }


@contextmanager
def _claim(host: str, port: int) -> Iterator[None]:
    """Reserve an address, so that no other service with workers uses it; raise ParameterError if the address is in use.

    The workers' sockets do not suffice: while no worker listens, another service could bind to the address.
    """
    if sys.platform != "linux" or port == 0:
        yield
        return
    with socket.socket(socket.AF_UNIX) as claim:
        try:
            # Bind an abstract socket name, which Linux frees when the process ends.
            claim.bind(f"\0whorl {host} {port}")
        except OSError:
            raise ParameterError(
                f"{host}:{port} is taken by another whorl serve; stop it, or choose another port with --port"
            ) from None
        yield


def _require_free(host: str, port: int) -> None:
    """End the process with a message if the address is not free; uvicorn's message for workers lacks the address."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            _log_bind_error((host, port), error)
            sys.exit(_STARTUP_FAILURE)


def _log_bind_error(address: tuple[Any, ...], error: OSError) -> None:
    reason = (error.strerror or str(error)).lower()
    logging.getLogger("uvicorn.error").error(
        "[Errno %s] error while attempting to bind on address %r: %s", error.errno, address, reason
    )


def _run_workers(store: Store, settings: Settings) -> None:
    """Serve with several processes, supervised by uvicorn; this process holds their shared state."""
    state = SharedState(Tickets(), DuplicateSearches(store))
    _StateManager.register("calls", lambda: _StateCalls(state), exposed=["call"])
    try:
        server = _StateManager().get_server()
    except OSError as error:
        # The server's address is a socket in the temporary folder. Systems permit only about 100 characters in the path
        # of a socket, so a long name of the folder is the likeliest reason.
        raise ParameterError(f"no socket in {tempfile.gettempdir()}: {error}; set TMPDIR to another folder") from error
    threading.Thread(target=server.serve_forever, name="shared state", daemon=True).start()
    with _claim(*settings.listen), tempfile.TemporaryDirectory(prefix="whorl-", ignore_cleanup_errors=True) as folder:
        (Path(folder) / _ADDRESS).write_text(str(server.address), encoding="utf-8")
        is_terminal = sys.stderr.isatty()
        use_in_workers(settings, Path(folder))
        config = uvicorn.Config(
            f"{worker_app.__module__}:{worker_app.__name__}",
            factory=True,
            workers=settings.workers,
            timeout_worker_healthcheck=_HUNG_SECONDS,
            # Each worker listens at a socket of its own only on Linux. Other systems would not distribute connections
            # over these sockets: one worker would get all connections.
            loop=f"{WorkerLoop.__module__}:{WorkerLoop.__name__}" if sys.platform == "linux" else "auto",
            **_server_options(settings, is_terminal=is_terminal),
        )
        _require_free(*settings.listen)
        bound = config.bind_socket()
        if is_terminal:
            announce = partial(_announce_when_reachable, settings.listen[0], bound.getsockname()[1])
            threading.Thread(target=announce, name="announces the address", daemon=True).start()
        supervisor = _Supervisor(config, [bound])
        with suppress(KeyboardInterrupt):
            supervisor.run()
    state.searches.close()
    if any(process.exitcode == _STARTUP_FAILURE for process in supervisor.processes):
        sys.exit(_STARTUP_FAILURE)


class _Supervisor(Multiprocess):
    """Replaces workers that have died or do not respond."""

    def keep_subprocess_alive(self) -> None:
        # Close this copy of the worker's end of the pipe, so that the pipe closes when the worker dies; otherwise,
        # uvicorn would wait `_HUNG_SECONDS` for an answer.
        for process in self.processes:
            process.child_conn.close()
        super().keep_subprocess_alive()


def worker_app() -> FastAPI:
    """Return the service of a worker process, with settings from the environment."""
    limit_arenas()
    threading.Thread(target=_end_with_parent, name="watches the supervisor", daemon=True).start()
    _prepare_process()
    settings = Settings.load()
    store = open_store(settings=settings, create=False)
    folder = shared_folder()
    manager = _StateManager((folder / _ADDRESS).read_text(encoding="utf-8"))
    manager.connect()
    calls = manager.calls()  # type: ignore[attr-defined]  # made by `register`
    tickets, searches = (
        cast(Tickets, _RemoteState(calls, "tickets")),
        cast(DuplicateSearches, _RemoteState(calls, "searches")),
    )
    app = create_configured_app(store, _divide_limits(settings), SharedState(tickets, searches, folder))
    lifespan = app.router.lifespan_context

    @asynccontextmanager
    async def with_store(app: FastAPI) -> AsyncIterator[None]:
        with store:
            _warn_if_empty(store, settings)
            async with lifespan(app):
                yield

    app.router.lifespan_context = with_store
    return app


def _announce_when_reachable(host: str, port: int) -> None:
    while True:
        with suppress(OSError), socket.create_connection((_reachable(host), port), timeout=1):
            break
        time.sleep(0.05)
    _announce(host, port)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _divide_limits(settings: Settings) -> Settings:
    """Return the settings of a worker process: limits of the whole service are divided by the number of workers."""
    limits = ("max_concurrent", "max_uploads", "max_waiting", "max_per_client")
    return replace(settings, **{name: -(-getattr(settings, name) // settings.workers) for name in limits})


class _StateManager(BaseManager):
    """Gives worker processes access to the shared state in the supervisor's process."""


_StateManager.register("calls", exposed=["call"])


class _StateCalls:
    """Calls methods on parts of the shared state for other processes."""

    def __init__(self, state: SharedState) -> None:
        self._state = state

    def call(self, request: tuple[str, float], part: str, method: str, *args: object) -> object:
        request_id, seconds = request
        with new_request(request_id), deadline(seconds):
            return getattr(getattr(self._state, part), method)(*args)


class _RemoteState:
    """Proxy for a part of the shared state in another process: sends each method call to that process."""

    def __init__(self, calls: _StateCalls, part: str) -> None:
        self._calls, self._part = calls, part

    def __getattr__(self, method: str) -> Callable[..., object]:
        def call(*args: object) -> object:
            seconds = seconds_left()
            request = trace().request_id, math.inf if seconds is None else seconds
            return self._calls.call(request, self._part, method, *args)

        return call


class _AnnouncedServer(uvicorn.Server):
    """A server that prints its address as soon as it listens."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            _announce(self.config.host, self.servers[0].sockets[0].getsockname()[1])
            logging.getLogger("uvicorn.error").setLevel(logging.INFO)


def _announce(host: str, port: int) -> None:
    host = _reachable(host)
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    print(f"whorl is ready: open {address} in a browser; Ctrl+C ends it", file=sys.stderr, flush=True)


def _reachable(host: str) -> str:
    return "localhost" if host in ("0.0.0.0", "::", "") else host
