"""Parallel update requests: two at once, in order, with the next one prepared during the transfer."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from whorl import Document, Store
from whorl.context import new_request, trace
from whorl.engine.solr.sending import CONNECTIONS, PORTION, side_by_side
from whorl.errors import EngineUnavailableError

#: Timeout for a thread that never arrives, in seconds.
PATIENCE_SECONDS = 240.0


def test_two_are_on_their_way_at_once() -> None:
    """
    Two requests are sent at once: the barrier would block forever with one at a time.
    """
    together = threading.Barrier(CONNECTIONS)

    def send(number: int) -> int:
        together.wait(PATIENCE_SECONDS)
        return -number

    assert side_by_side(range(6), send) == [0, -1, -2, -3, -4, -5]


def test_no_more_are_made_ready_than_are_on_their_way_and_one() -> None:
    """
    Only a few requests are in memory at once.
    """
    made, sent = list[int](), list[int]()

    def ready() -> Iterator[int]:
        for number in range(20):
            made.append(number)
            assert len(made) - len(sent) <= CONNECTIONS + 2
            yield number

    side_by_side(ready(), sent.append)
    assert sorted(sent) == made


def test_one_is_sent_by_who_sends_it() -> None:
    """
    A single request, such as an uploaded document, is sent without a thread.
    """
    assert side_by_side([1], lambda _: threading.current_thread()) == [threading.current_thread()]
    assert side_by_side([], lambda _: threading.current_thread()) == []


def test_the_first_error_ends_it() -> None:
    """
    The first error stops the sending of further requests, except for the one already waiting; requests under way have
    ended.
    """
    taken, ended = list[int](), set[int]()

    def ready() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    def send(number: int) -> None:
        ended.add(number)
        if number in (3, 4):
            raise EngineUnavailableError(f"gone at {number}")

    with pytest.raises(EngineUnavailableError, match="gone at 3"):
        side_by_side(ready(), send)
    last = 3 + CONNECTIONS
    assert (ended, taken[-1]) == (set(range(last + 1)), last + 1)


def test_threads_know_the_request() -> None:
    """
    Sending threads share the caller's trace and deadline.
    """
    with new_request("mine"):
        assert side_by_side(range(3), lambda _: trace().request_id) == ["mine"] * 3


def test_documents_of_several_requests(store: Store) -> None:
    """
    All documents of several requests are stored; the last document with an id wins, even if the first is in another
    request.
    """
    documents = [Document(f"portion-{number}", f"one two three four five {number}") for number in range(2 * PORTION)]
    twice = Document("portion-0", "six seven eight nine ten")
    try:
        # Read the collection's description beforehand.
        assert store.engine.scheme
        with new_request() as request:
            store.engine.index([*documents, twice])
        assert request.trace.engine_requests == 2
        store.engine.refresh()
        assert store.texts([each.id for each in documents]) == {each.id: each.text for each in [twice, *documents[1:]]}
    finally:
        store.delete([each.id for each in documents])
