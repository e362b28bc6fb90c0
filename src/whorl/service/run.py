"""The process that serves: it listens, writes its log, and ends what it has begun when it is told to stop."""

from __future__ import annotations

import math

import uvicorn
from starlette.types import ASGIApp

from whorl.query.parser import build_grammars
from whorl.service.logs import configuration
from whorl.service.memory import keep_giving_back
from whorl.settings.settings import Settings

#: How long an unused connection stays open: longer than the usual proxies keep theirs, so that they close it first.
_KEEP_ALIVE_SECONDS = 75


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
    keep_giving_back()
    uvicorn.run(
        app,
        host=host,
        port=port,
        # It bounds the head of a request; httptools, which uvicorn would take where it is there, does not.
        http="h11",
        log_config=configuration(),
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=math.ceil(settings.shutdown_timeout_seconds),
    )
