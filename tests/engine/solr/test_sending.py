"""Requests side by side: two at once, in order, each made ready while others are on their way."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from whorl import Document, Store
from whorl.context import new_request, trace
from whorl.engine.solr.sending import CONNECTIONS, PORTION, side_by_side
from whorl.errors import EngineUnavailableError

#: How long a thread waits for one that never comes.
PATIENCE_SECONDS = 240.0


def test_two_are_on_their_way_at_once() -> None:
    """
    Each request waits for another one beside it: with one at a time the first would wait for ever.
    """
    together = threading.Barrier(CONNECTIONS)

    def send(number: int) -> int:
        together.wait(PATIENCE_SECONDS)
        return -number

    assert side_by_side(range(6), send) == [0, -1, -2, -3, -4, -5]


def test_no_more_are_made_ready_than_are_on_their_way_and_one() -> None:
    """
    However many there are, few of them are held in memory.
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
    A document that somebody uploads needs no thread; nor does nothing at all.
    """
    assert side_by_side([1], lambda _: threading.current_thread()) == [threading.current_thread()]
    assert side_by_side([], lambda _: threading.current_thread()) == []


def test_the_first_error_ends_it() -> None:
    """
    Those behind it are not taken any more, but for the one that waits; those on their way have ended.
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
    What they do stands in its trace, and its deadline is theirs.
    """
    with new_request("mine"):
        assert side_by_side(range(3), lambda _: trace().request_id) == ["mine"] * 3


def test_documents_of_several_requests(store: Store) -> None:
    """
    All of them are there; of one id twice the last stands, though the first is in another request.
    """
    documents = [Document(f"portion-{number}", f"one two three four five {number}") for number in range(2 * PORTION)]
    twice = Document("portion-0", "six seven eight nine ten")
    try:
        # What the collection offers is asked before.
        assert store.engine.scheme
        with new_request() as request:
            store.engine.index([*documents, twice])
        assert request.trace.engine_requests == 2
        store.engine.refresh()
        assert store.texts([each.id for each in documents]) == {each.id: each.text for each in [twice, *documents[1:]]}
    finally:
        store.delete([each.id for each in documents])
