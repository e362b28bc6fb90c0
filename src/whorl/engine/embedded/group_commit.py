"""Register of waiting and active writer threads, so that one commit serves all of them (group commit)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class WriterRegister:
    """Writer threads that wait for their turn or have it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._registered: set[object] = set()

    @contextmanager
    def registered(self) -> Iterator[None]:
        """Register the current thread as a writer until the block ends, also by an error."""
        ticket = object()
        # Ctrl-C may come at once; a ticket that stayed would make `wait_for_current` wait for ever.
        try:
            with self._changed:
                self._registered.add(ticket)
            yield
        finally:
            with self._changed:
                self._registered.discard(ticket)
                self._changed.notify_all()

    def wait_for_current(self) -> None:
        """Wait until all writers registered now have left; later ones do not count.

        The caller must not block them: it must not hold a lock that they need, nor be registered itself.
        """
        with self._changed:
            first = frozenset(self._registered)
            self._changed.wait_for(lambda: self._registered.isdisjoint(first))
