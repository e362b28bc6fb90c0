"""The process that serves: it listens, writes its log, and ends what it has begun when it is told to stop."""

from __future__ import annotations

import ctypes
import math
from contextlib import suppress

import uvicorn
from starlette.types import ASGIApp

from whorl.query.parser import build_grammars
from whorl.service.logs import configuration
from whorl.settings.settings import Settings

#: How long an unused connection stays open: longer than the usual proxies keep theirs, so that they close it first.
_KEEP_ALIVE_SECONDS = 75
#: glibc's number for how many arenas threads take memory from, at most; and how many are enough where Python lets one
#: thread run at a time.
_M_ARENA_MAX, _ARENAS = -8, 2


def run(app: ASGIApp, settings: Settings, host: str, port: int) -> None:
    """Serve until a signal comes, then finish what was accepted.

    Args:
        app: What answers.
        settings: For how long it may go on then.
        host: To listen on.
        port: To listen on, 0 for a free one, which the log tells.
    """
    # Nobody waits for that later.
    build_grammars()
    uvicorn.run(
        app,
        host=host,
        port=port,
        log_config=configuration(),
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=math.ceil(settings.shutdown_timeout_seconds),
    )


def limit_arenas() -> None:
    """Have all threads take memory from two arenas of glibc's; called before a store is open, which starts threads.

    By itself it makes up to eight for each processor, and each keeps what its threads have freed. Once there are more
    than eight it does not ask for the limit again.
    """
    # Other C libraries have no such thing.
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)
