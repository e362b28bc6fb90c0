"""The request being answered: how long it may take, whether anybody still waits for it, and a trace of what was done.

It travels in one context variable, which threads started for the request inherit. Loops that may run for long call
`require_time` once in a while: a thread cannot be stopped from outside, so it has to ask.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

from whorl.errors import StoppedError


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
        engine_requests: Requests that Solr or a cluster was sent, repeated ones included.
        engine_retries: How many of them were repetitions.
        engine_seconds: Time spent waiting for its answers.
        error: The class of the error that the request ended with, "" for none.
    """

    request_id: str = ""
    plan: str = ""
    query_length: int = 0
    hits: int | None = None
    verified: int = 0
    stored: int = 0
    engine_requests: int = 0
    engine_retries: int = 0
    engine_seconds: float = 0.0
    error: str = ""

    def answered(self, plan: str, query_length: int, hits: int) -> None:
        """Note a search; of several in one request the first is the one that was asked for."""
        if not self.plan:
            self.plan, self.query_length, self.hits = plan, query_length, hits


@dataclass(frozen=True, slots=True)
class Request:
    """Work that somebody waits for.

    Args:
        trace: What was done for it.
        end: When its time is up, a moment of `time.monotonic`; None for never.
        cancelled: Set when nobody waits for it any more.
    """

    trace: Trace = field(default_factory=Trace)
    end: float | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)

    def cancel(self) -> None:
        """Make the work end at its next `require_time`."""
        self.cancelled.set()


_current: ContextVar[Request | None] = ContextVar("request", default=None)


@contextmanager
def new_request(request_id: str = "", cancelled: threading.Event | None = None) -> Iterator[Request]:
    """Begin a request: what runs inside has nothing to do with a deadline or a cancellation outside.

    A server reads the next request of a connection in the context of the one before, so every request begins anew.

    Args:
        request_id: What it is called.
        cancelled: Set when nobody waits for it any more; None for an event of its own.
    """
    yield from _within(Request(Trace(request_id), cancelled=cancelled or threading.Event()))


@contextmanager
def deadline(seconds: float) -> Iterator[Request]:
    """Give what runs inside so many seconds; one that is nearer already stays."""
    request, end = _current.get() or Request(), time.monotonic() + seconds
    yield from _within(replace(request, end=end if request.end is None else min(end, request.end)))


def _within(request: Request) -> Iterator[Request]:
    token = _current.set(request)
    try:
        yield request
    finally:
        _current.reset(token)


def seconds_left() -> float | None:
    """Return how long there is still, 0 or less when the time is up; None where there is no deadline."""
    request = _current.get()
    return None if request is None or request.end is None else request.end - time.monotonic()


def require_time() -> None:
    """Go on only if there is time left and somebody waits; costs under a microsecond.

    Raises:
        StoppedError: The time is up, or the request was cancelled.
    """
    request = _current.get()
    if request is None:
        return
    if request.cancelled.is_set():
        raise StoppedError("this was cancelled, or nobody is waiting for it any more")
    if request.end is not None and time.monotonic() >= request.end:
        raise StoppedError("the time for this is up; ask for less, or allow more (request_timeout)")


def trace() -> Trace:
    """Return where to note something; where nobody looks, it is forgotten."""
    request = _current.get()
    return Trace() if request is None else request.trace
