"""Ends a command cleanly on SIGTERM, the signal that `timeout`, Kubernetes and batch systems send."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from click.exceptions import Exit

#: Exit code that shells report for a command ended by SIGTERM.
_EXIT_CODE = 128 + signal.SIGTERM


class _TerminatedError(KeyboardInterrupt):
    """SIGTERM was received; code that handles Ctrl-C handles this, too."""


@contextmanager
def terminable() -> Iterator[None]:
    """Handle SIGTERM as Ctrl-C: temporary and unfinished files are deleted. Exit code 143.

    Child processes must reset SIGTERM to its default.
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
    # A second signal would interrupt the cleanup.
    signal.signal(number, signal.SIG_IGN)
    raise _TerminatedError
