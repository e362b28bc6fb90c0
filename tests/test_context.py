"""What belongs to one request: the nearest end counts, a cancelled one ends, and nothing passes to the next."""

from __future__ import annotations

import threading
from contextvars import copy_context

import pytest

from whorl.context import Request, deadline, new_request, require_time, seconds_left, trace
from whorl.errors import StoppedError


def test_the_nearest_end_counts() -> None:
    """
    Nobody gives more time than they have.
    """
    assert seconds_left() is None
    with deadline(5), deadline(100):
        left = seconds_left()
        assert left is not None
        assert 0 < left <= 5
    assert seconds_left() is None


def test_a_new_request_has_its_own_time() -> None:
    """
    Neither the end nor the cancellation of what surrounds it is its own; afterwards they are there again.
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
    The error says what would help; without a request there is no end.
    """
    require_time()
    with deadline(0), pytest.raises(StoppedError, match="ask for less, or allow more"):
        require_time()
    with deadline(60):
        require_time()


def test_cancelled_work_ends_in_its_threads() -> None:
    """
    Whoever holds the request ends it wherever it is worked on, also below further deadlines.
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
    assert "nobody is waiting for it" in str(ended[0])


def test_what_is_noted_is_the_requests() -> None:
    """
    A trace counts for its request alone, below deadlines, too; outside of any it is forgotten.
    """
    trace().stored += 1
    with new_request("one") as request, deadline(1):
        trace().stored += 2
        assert trace().request_id == "one"
    assert request.trace.stored == 2
    assert trace().stored == 0
