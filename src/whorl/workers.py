"""Processes that work for another one: what they do about signals, and about its end."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import wait


def begin_as_worker() -> None:
    """Leave Ctrl-C, which reaches all processes of a terminal, to the one that started this one, and end with it.

    However that one ends, by SIGKILL or for lack of memory too: others that it has started hold the pipe open by which
    a process of a pool is told to end.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What that one does about it is none of a copy's business.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        wait([parent.sentinel])
        os._exit(1)
