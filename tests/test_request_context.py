"""State of a request: the nearest deadline counts, a cancelled request stops, and the next request starts afresh."""

from __future__ import annotations

import threading
from contextvars import copy_context

import pytest

from whorl.errors import StoppedError
from whorl.request_context import (
    Request,
    cancellation,
    deadline,
    new_request,
    report_progress,
    reporting,
    require_time,
    seconds_left,
    timely,
    trace,
    uninterrupted,
)


def test_the_nearest_end_counts() -> None:
    """
    The nearest of nested deadlines counts.
    """
    assert seconds_left() is None
    with deadline(5), deadline(100):
        left = seconds_left()
        assert left is not None
        assert 0 < left <= 5
    assert seconds_left() is None


def test_a_new_request_has_its_own_time() -> None:
    """
    A new request inherits neither deadline nor cancellation of the surrounding one; afterwards both apply again.
    """
    with deadline(0) as outer:
        outer.cancel()
        with new_request("second") as inner:
            assert seconds_left() is None
            require_time()
            assert trace() is inner.trace
        with pytest.raises(StoppedError):
            require_time()


def test_work_ends_with_its_time() -> None:
    """
    After its deadline, work stops with an error that names the remedy; without a request there is no deadline.
    """
    require_time()
    with deadline(0), pytest.raises(StoppedError, match="request less, or allow more time"):
        require_time()
    with deadline(60):
        require_time()


def test_cancelled_work_ends_in_its_threads() -> None:
    """
    Cancelling a request stops its work in other threads, also within inner deadlines.
    """
    ended: list[StoppedError] = []

    def work(request: Request, started: threading.Event) -> None:
        with deadline(60):
            started.set()
            assert request.cancelled.wait(240)
            try:
                require_time()
            except StoppedError as error:
                ended.append(error)

    with new_request() as request:
        started = threading.Event()
        thread = threading.Thread(target=copy_context().run, args=(work, request, started))
        thread.start()
        started.wait(240)
        request.cancel()
        thread.join()
    assert "its client has disconnected" in str(ended[0])


def test_a_trace_belongs_to_one_request() -> None:
    """
    A trace belongs to one request, also within inner deadlines; outside any request it is thrown away.
    """
    trace().stored += 1
    with new_request("one") as request, deadline(1):
        trace().stored += 2
        assert trace().request_id == "one"
    assert request.trace.stored == 2
    assert trace().stored == 0


def test_portions_are_checked() -> None:
    """
    `timely` passes items on unchanged; a cancelled request gets the rest of the current portion, and no more.
    """
    with new_request() as request:
        items = timely(range(10), 4)
        assert [next(items) for _ in range(2)] == [0, 1]
        request.cancel()
        with pytest.raises(StoppedError):
            list(items)


def test_uninterrupted_work() -> None:
    """
    `uninterrupted` work sees neither deadline nor cancellation of the request, but keeps its trace.
    """
    with deadline(0) as request:
        request.cancel()
        with uninterrupted():
            require_time()
            assert trace() is request.trace
            assert not cancellation().is_set()
        assert cancellation() is request.cancelled
        with pytest.raises(StoppedError):
            require_time()
    assert not cancellation().is_set()


def test_progress_goes_to_the_innermost_function() -> None:
    """
    Progress goes to the innermost function, through deadlines, but not from a new request; without one it is dropped.
    """
    outer: list[tuple[str, int, int | None]] = []
    inner: list[tuple[str, int, int | None]] = []
    report_progress("reading", 0)
    with reporting(lambda *report: outer.append(report)):
        report_progress("reading", 1)
        with deadline(60), uninterrupted(), reporting(lambda *report: inner.append(report)):
            report_progress("comparing", 2, 3)
        with new_request():
            report_progress("reading", 4)
        with deadline(60):
            report_progress("reading", 5)
    assert (outer, inner) == ([("reading", 1, None), ("reading", 5, None)], [("comparing", 2, 3)])


def test_progress_is_reported_from_a_thread_with_the_context() -> None:
    """
    A thread reports progress only if it runs in a copy of the request's context.
    """
    steps: list[str] = []
    with reporting(lambda step, *_: steps.append(step)):
        inheriting = threading.Thread(target=copy_context().run, args=(report_progress, "inherited", 1))
        other = threading.Thread(target=report_progress, args=("none", 1))
        for thread in (inheriting, other):
            thread.start()
            thread.join()
    assert steps == ["inherited"]
