"""SIGTERM, by which `timeout`, Kubernetes and batch systems end a command."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from click.exceptions import Exit

#: As shells tell the end by this signal.
_EXIT_CODE = 128 + signal.SIGTERM


class _TerminatedError(KeyboardInterrupt):
    """SIGTERM came; who expects Ctrl-C expects this."""


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM end what is under way as Ctrl-C does: temporary and unfinished files are deleted. Exit code 143.

    Processes that are started within are to take SIGTERM as ever.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _end)
    try:
        yield
    except _TerminatedError:
        raise Exit(_EXIT_CODE) from None
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end(number: int, frame: FrameType | None) -> None:
    # Another one would stop the clearing up.
    signal.signal(number, signal.SIG_IGN)
    raise _TerminatedError
