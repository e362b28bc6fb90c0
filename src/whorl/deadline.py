"""By when the request that is being answered has to be: whoever waits for something asks how long it may."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: A moment of `time.monotonic`; threads that are started for a request inherit it.
_end: ContextVar[float | None] = ContextVar("deadline", default=None)


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Give what runs inside so many seconds; one that is nearer already stays."""
    end, before = time.monotonic() + seconds, _end.get()
    token = _end.set(end if before is None else min(end, before))
    try:
        yield
    finally:
        _end.reset(token)


def seconds_left() -> float | None:
    """Return how long there is still, 0 or less when the time is up; None where nothing was said."""
    end = _end.get()
    return None if end is None else end - time.monotonic()
