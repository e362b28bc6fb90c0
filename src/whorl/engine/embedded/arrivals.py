"""Who has come to write, so that one commit serves all who wait for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Arrivals:
    """Threads that have something to write and wait for their turn, or have it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._here: set[object] = set()

    @contextmanager
    def one(self) -> Iterator[None]:
        """Be here until the block ends, however it ends."""
        ticket = object()
        # Ctrl-C may come at once; a ticket that stayed would be waited for without end.
        try:
            with self._changed:
                self._here.add(ticket)
            yield
        finally:
            with self._changed:
                self._here.discard(ticket)
                self._changed.notify_all()

    def let_go(self) -> None:
        """Wait until all who are here now have gone; those who come later are not waited for.

        Whoever calls this must not keep them from going: by a lock that they need, or by being one of them.
        """
        with self._changed:
            first = frozenset(self._here)
            self._changed.wait_for(lambda: self._here.isdisjoint(first))
