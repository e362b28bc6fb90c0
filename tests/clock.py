"""A fake clock: tests set the time, independent of their own run time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Clock:
    """Replacement for the module `time`: it advances on `sleep`, or when a test changes `now` (seconds)."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        """Advance the clock at once, without waiting."""
        self.now += seconds
