"""Cancellation event that counts how often long work checks it."""

from __future__ import annotations

import threading


class Checks(threading.Event):
    """A cancellation event that counts its checks, and is set after the `last` one."""

    def __init__(self, last: int | None = None) -> None:
        super().__init__()
        self.last, self.count = last, 0

    def is_set(self) -> bool:
        self.count += 1
        return self.last is not None and self.count > self.last
