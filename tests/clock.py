"""A clock for tests that say themselves how much time has passed, however long they take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Clock:
    """Stands for the module `time`; it goes on where somebody sleeps, or where a test says so.

    Args:
        now: In seconds.
    """

    now: float = 0.0

    def monotonic(self) -> float:
        """Return what it shows."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let so much time pass at once."""
        self.now += seconds
