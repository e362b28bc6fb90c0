"""Server process: start, logging and graceful shutdown of the HTTP service."""

from __future__ import annotations

import math

import uvicorn
from starlette.types import ASGIApp

from whorl.query.parser import build_grammars
from whorl.service.logs import configuration
from whorl.service.memory import keep_giving_back
from whorl.settings.settings import Settings

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
