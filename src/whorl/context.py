"""What belongs to the request being answered: its deadline, and a trace of what is done for it.

Both travel in context variables, which threads started for a request inherit.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

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


@dataclass(slots=True)
class Trace:
    """What was done for a request so far: counts, times and kinds only, never a text, a query or a password.

    Args:
        request_id: What the request is called.
        plan: What kind of plan the request's first search had, "" where there was none.
        query_length: Characters of that search's query.
        hits: Documents that it found in all.
        verified: Candidates whose sketches or tokens were compared.
        stored: Documents stored.
        solr_requests: Requests that Solr was sent, repeated ones included.
        solr_retries: How many of them were repetitions.
        solr_seconds: Time spent waiting for Solr.
        error: The class of the error that the request ended with, "" for none.
    """

    request_id: str = ""
    plan: str = ""
    query_length: int = 0
    hits: int | None = None
    verified: int = 0
    stored: int = 0
    solr_requests: int = 0
    solr_retries: int = 0
    solr_seconds: float = 0.0
    error: str = ""

    def answered(self, plan: str, query_length: int, hits: int) -> None:
        """Note a search; of several in one request the first is the one that was asked for."""
        if not self.plan:
            self.plan, self.query_length, self.hits = plan, query_length, hits


_current: ContextVar[Trace | None] = ContextVar("trace", default=None)


@contextmanager
def traced(request_id: str = "") -> Iterator[Trace]:
    """Note what runs inside; threads that are started for it note it, too."""
    made = Trace(request_id)
    token = _current.set(made)
    try:
        yield made
    finally:
        _current.reset(token)


def trace() -> Trace:
    """Return where to note something; where nobody looks, it is forgotten."""
    return _current.get() or Trace()
