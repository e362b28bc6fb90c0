"""Event loop with a virtual clock, so that tests of timeouts do not wait."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class VirtualTime(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next scheduled event."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0

    def time(self) -> float:
        return self._now

    def stall(self, seconds: float) -> None:
        """Advance the clock while nothing can run."""
        self._now += seconds

    def _run_once(self) -> None:
        # Cancelled events stay scheduled for a while, and must not move the clock.
        awaited = [handle._when for handle in self._scheduled if not handle._cancelled]  # type: ignore[attr-defined]
        if not self._ready and awaited:  # type: ignore[attr-defined]
            self._now = max(self._now, min(awaited))
        super()._run_once()  # type: ignore[misc]


def in_virtual_time(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in a virtual-time loop."""
    loop = VirtualTime()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.close()
