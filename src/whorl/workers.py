"""Starts worker processes that ignore Ctrl-C and end with their parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import wait


def begin_as_worker() -> None:
    """Ignore Ctrl-C, which a terminal sends to all processes, and exit when the parent process ends.

    This covers a parent ended by SIGKILL or lack of memory: sibling processes keep open the pipe that should tell a
    worker to end.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A forked copy must not keep the parent's handler.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        wait([parent.sentinel])
        os._exit(1)
