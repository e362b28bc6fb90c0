"""Server process: start, logging, memory and graceful shutdown of the HTTP service."""

from __future__ import annotations

import ctypes
import math
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
    """Return free pages to the system at intervals, as long as the process runs."""

    def run() -> None:
        while True:
            time.sleep(_SECONDS)
            give_back()

    threading.Thread(target=run, name="gives memory back", daemon=True).start()


#: Seconds for which an unused connection stays open: longer than the usual proxies keep it, so that they close it
#: first.
_KEEP_ALIVE_SECONDS = 75


def run(app: ASGIApp, settings: Settings, host: str, port: int) -> None:
    """Serve until a signal arrives, then finish the accepted requests.

    Args:
        app: The service.
        settings: Settings with the time allowed for shutdown.
        host: Host to listen on.
        port: Port to listen on; 0 for a free one, shown in the log.
    """
    # Build them now, so that the first request need not wait.
    build_grammars()
    keep_giving_back()
    uvicorn.run(
        app,
        host=host,
        port=port,
        # h11 limits the size of a request's head; httptools, which uvicorn prefers if installed, does not.
        http="h11",
        log_config=configuration(),
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=math.ceil(settings.shutdown_timeout_seconds),
    )
