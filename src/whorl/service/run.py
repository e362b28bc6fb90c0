"""Runs the server process: start, logging, memory, and graceful shutdown."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import math
import socket
import sys
import threading
import time
from contextlib import suppress

import uvicorn
from starlette.types import ASGIApp

from whorl.query.parser import build_grammars
from whorl.service.logs import configuration
from whorl.settings.settings import Settings

#: glibc's parameter for the maximum number of arenas, and the number that suffices while Python runs one thread at a
#: time.
_M_ARENA_MAX, _ARENAS = -8, 2
#: Interval between two calls of `malloc_trim`. One call takes some 50 ms and blocks allocations of other threads.
_SECONDS = 30.0


def limit_arenas() -> None:
    """Limit all threads to two arenas of glibc; call it before opening a store, which starts threads.

    By default glibc creates up to eight arenas per processor, and each keeps the memory its threads have freed. Once
    there are more than eight, glibc does not read the limit again.
    """
    # Other C libraries have no `mallopt`.
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)


def give_back() -> None:
    """Return free pages to the system.

    By default glibc only returns memory at the end of an arena. Freed memory inside an arena gets fragmented into
    pieces too small for later requests.
    """
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def keep_giving_back() -> None:
    def run() -> None:
        while True:
            time.sleep(_SECONDS)
            give_back()

    threading.Thread(target=run, name="gives memory back", daemon=True).start()


#: Seconds for which an unused connection stays open. Usual proxies close an unused connection earlier.
_KEEP_ALIVE_SECONDS = 75
#: Exit code of uvicorn if the service cannot start, because its port is in use, for instance.
_STARTUP_FAILURE = 3


def run(app: ASGIApp, settings: Settings, host: str, port: int) -> None:
    """Serve until a signal arrives, then finish the accepted requests.

    Port 0 chooses a free port, which the log shows.
    """
    # Build the query parsers now, so that the first request need not wait.
    build_grammars()
    keep_giving_back()
    is_terminal = sys.stderr.isatty()
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        # h11 limits the size of a request's head; httptools, which uvicorn prefers if installed, does not.
        http="h11",
        log_config=configuration(is_terminal=is_terminal),
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=math.ceil(settings.shutdown_timeout_seconds),
    )
    server = _AnnouncedServer(config) if is_terminal else uvicorn.Server(config)
    with suppress(KeyboardInterrupt):
        server.run()
    if not server.started:
        sys.exit(_STARTUP_FAILURE)


class _AnnouncedServer(uvicorn.Server):
    """A server that prints the address to open once it listens."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            address = _page_address(self.config.host, self.servers[0])
            print(f"whorl is ready: open {address} in a browser; Ctrl+C ends it", file=sys.stderr, flush=True)
            # From now on, uvicorn logs only the shutdown.
            logging.getLogger("uvicorn.error").setLevel(logging.INFO)


def _page_address(host: str, server: asyncio.Server) -> str:
    if host in ("0.0.0.0", "::", ""):
        host = "localhost"
    port = server.sockets[0].getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
