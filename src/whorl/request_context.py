"""Holds the deadline, cancellation, progress and trace (counts for the log) of the current request.

A context variable holds the request, and threads started for the request inherit it. Long loops regularly call
`require_time`, because a thread cannot be stopped from outside, and `report_progress`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import TypeVar

from whorl.errors import StoppedError

Item = TypeVar("Item")
#: Function that receives the progress: name of the step, number of items done, and number of all items or None.
Reporter = Callable[[str, int, int | None], None]


@dataclass
class Trace:
    """Work done so far for a request, for the log; it never includes a text, a query or a password.

    Args:
        plan: Kind of plan of the request's first search, or "".
        query_length: Length of that search's query in characters.
        hits: Total hits of that search; None if the request has no search.
        verified: Number of candidates whose sketches or tokens were compared.
        stored: Number of documents stored.
        engine_requests: Number of requests sent to Solr or a cluster, including retries.
        engine_seconds: Time in seconds spent waiting for their responses.
        error: Class of the error that ended the request, or "".
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

    def record_search(self, plan: str, query_length: int, hits: int) -> None:
        """Record the plan, query length and hits of the first search: the user requested only this search."""
        if not self.plan:
            self.plan, self.query_length, self.hits = plan, query_length, hits


@dataclass(frozen=True, slots=True)
class Request:
    """State of one request.

    Args:
        end: Deadline on the clock of `time.monotonic`; None if there is no deadline.
        cancelled: Event that cancels the request when it is set.
        reporter: Function to call with the progress; None if progress is not reported.
    """

    trace: Trace = field(default_factory=Trace)
    end: float | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)
    reporter: Reporter | None = None

    def cancel(self) -> None:
        self.cancelled.set()


_current: ContextVar[Request | None] = ContextVar("request", default=None)


def new_request(request_id: str = "", cancelled: threading.Event | None = None) -> AbstractContextManager[Request]:
    """Begin a request; its `with` block ignores the deadline and the cancellation of an outer request.

    A server reads the next request of a connection in the context of the previous request. So each request must begin a
    new context.
    """
    return _use(Request(Trace(request_id), cancelled=cancelled or threading.Event()))


def deadline(seconds: float) -> AbstractContextManager[Request]:
    """Set a deadline, in seconds from now, for the `with` block; an earlier deadline stays."""
    request, end = _current.get() or Request(), time.monotonic() + seconds
    return _use(replace(request, end=end if request.end is None else min(end, request.end)))


def uninterrupted() -> AbstractContextManager[Request]:
    """Run the `with` block without deadline and cancellation, for example to complete a write."""
    return _use(replace(_current.get() or Request(), end=None, cancelled=threading.Event()))


def reporting(reporter: Reporter) -> AbstractContextManager[Request]:
    """Call a function with the progress of the `with` block: its step, the number done, and the total if known.

    The function runs in the thread that does the work, about once per batch. If it raises an exception, the work ends.
    Worker processes and helper threads do not call the function. A new request has no reporter.

    >>> with reporting(lambda step, done, total: print(step, done, total)):
    ...     report_progress("reading", 512)
    reading 512 None
    """
    return _use(replace(_current.get() or Request(), reporter=reporter))


def report_progress(step: str, done: int, total: int | None = None) -> None:
    """Report the progress of a step, once per batch, to the function set by `reporting`; `total` is None if unknown."""
    request = _current.get()
    if request is not None and request.reporter is not None:
        request.reporter(step, done, total)


@contextmanager
def _use(request: Request) -> Iterator[Request]:
    token = _current.set(request)
    try:
        yield request
    finally:
        _current.reset(token)


def seconds_left() -> float | None:
    """Return the remaining time in seconds, 0 or less after the deadline; None if there is no deadline."""
    request = _current.get()
    return None if request is None or request.end is None else request.end - time.monotonic()


def require_time() -> None:
    """Raise StoppedError if the request has timed out or was cancelled; takes less than a microsecond."""
    request = _current.get()
    if request is None:
        return
    if request.cancelled.is_set():
        raise StoppedError("the request was cancelled, or its client has disconnected")
    if request.end is not None and time.monotonic() >= request.end:
        raise StoppedError("the time limit is reached; request less, or allow more time (timeout, request_timeout)")


def cancellation() -> threading.Event:
    """Return the event that is set when the request's client disconnects; a new event if there is no request.

    Pass the event to threads that do not inherit the request.
    """
    request = _current.get()
    return threading.Event() if request is None else request.cancelled


def timely(items: Iterable[Item], every: int = 1_024) -> Iterator[Item]:
    """Return an iterator over the items that calls `require_time` once per `every` items.

    >>> list(timely("abc", 2))
    ['a', 'b', 'c']
    """
    iterator = iter(items)

    def portion() -> tuple[Item, ...]:
        require_time()
        return tuple(islice(iterator, every))

    return chain.from_iterable(iter(portion, ()))


def trace() -> Trace:
    """Return the current request's trace, or a temporary one if there is no request."""
    request = _current.get()
    return Trace() if request is None else request.trace
