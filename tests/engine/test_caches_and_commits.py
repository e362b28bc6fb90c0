"""Tests of caches and shared commits: each thread waits for its own documents, and threads share commits."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from whorl.engine.caches_and_commits import SharedCommit, TtlCache
from whorl.errors import EngineUnavailableError

_DEADLINE_SECONDS = 240.0


class Index:
    """What was sent, and what a commit has made searchable: only that which was there when it began."""

    def __init__(self) -> None:
        self.sent: set[int] = set()
        self.searchable: set[int] = set()
        self.commits = 0
        self.lock = threading.Lock()
        self.begun, self.held = threading.Semaphore(0), threading.Event()
        self.error: BaseException | None = None

    def commit(self) -> None:
        with self.lock:
            pending = set(self.sent)
            self.commits += 1
        self.begun.release()
        assert self.held.wait(_DEADLINE_SECONDS)
        error, self.error = self.error, self.error if isinstance(self.error, EngineUnavailableError) else None
        if error:
            raise error
        with self.lock:
            self.searchable |= pending


def test_documents_are_searchable_when_the_commit_returns() -> None:
    """
    With many threads, whatever one has sent is searchable when its call returns, in fewer commits than there are calls.
    """
    index = Index()
    index.held.set()
    shared = SharedCommit(index.commit)

    def put(first: int) -> None:
        for number in range(first, first + 100):
            with index.lock:
                index.sent.add(number)
            shared()
            assert number in index.searchable

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(put, 100 * thread) for thread in range(8)]:
            done.result(_DEADLINE_SECONDS)
    assert index.searchable == set(range(800))
    assert index.commits <= 800


def waiting(index: Index, shared: SharedCommit, pool: ThreadPoolExecutor) -> list[Future[None]]:
    """One call whose commit has begun, and five that came after that."""
    entered = threading.Barrier(6)

    def late() -> None:
        entered.wait(_DEADLINE_SECONDS)
        shared()

    first = pool.submit(shared)
    assert index.begun.acquire(timeout=_DEADLINE_SECONDS)
    others = [pool.submit(late) for _ in range(5)]
    entered.wait(_DEADLINE_SECONDS)
    return [first, *others]


def test_waiting_threads_share_one_commit() -> None:
    """
    A commit that was under way does not do for them, and the next does for all of them that were there when it began.
    """
    index = Index()
    shared = SharedCommit(index.commit)
    with ThreadPoolExecutor(8) as pool:
        calls = waiting(index, shared, pool)
        index.held.set()
        for call in calls:
            call.result(_DEADLINE_SECONDS)
    assert 2 <= index.commits <= 6


def test_a_failure_is_shared_and_does_not_stay() -> None:
    """
    All threads that shared a failed commit get its error; later ones commit again.
    """
    index = Index()
    shared = SharedCommit(index.commit)
    index.error = EngineUnavailableError("no Solr answers")
    with ThreadPoolExecutor(8) as pool:
        calls = waiting(index, shared, pool)
        index.held.set()
        for call in calls:
            with pytest.raises(EngineUnavailableError):
                call.result(_DEADLINE_SECONDS)
    index.error = None
    shared()


@pytest.mark.parametrize("error", [RuntimeError("a defect"), KeyboardInterrupt()])
def test_an_interrupt_concerns_one_thread_only(error: BaseException) -> None:
    """
    Threads that waited during an interrupted commit commit themselves.
    """
    index = Index()
    shared = SharedCommit(index.commit)
    index.error = error
    failed: list[BaseException] = []

    def first() -> None:
        try:
            shared()
        except BaseException as caught:
            failed.append(caught)

    thread = threading.Thread(target=first)
    thread.start()
    assert index.begun.acquire(timeout=_DEADLINE_SECONDS)
    index.sent.add(1)
    waiting: Future[None] = Future()

    def second() -> None:
        shared()
        waiting.set_result(None)

    other = threading.Thread(target=second)
    other.start()
    index.held.set()
    waiting.result(_DEADLINE_SECONDS)
    thread.join(_DEADLINE_SECONDS)
    other.join(_DEADLINE_SECONDS)
    assert failed == [error]
    assert 1 in index.searchable


def test_concurrent_requests_share_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Threads that want it together ask once; it is asked for again when it is old or forgotten, given the one before.
    """
    clock = [0.0]
    monkeypatch.setattr("whorl.engine.caches_and_commits.time.monotonic", lambda: clock[0])
    before: list[int | None] = []

    def ask(known: int | None) -> int:
        before.append(known)
        return len(before)

    answer = TtlCache(ask, 30.0)
    with ThreadPoolExecutor(8) as pool:
        assert {done.result(_DEADLINE_SECONDS) for done in [pool.submit(answer) for _ in range(50)]} == {1}
    clock[0] = 30.0
    assert answer() == 1
    clock[0] = 30.1
    assert answer() == 2
    answer.forget()
    assert answer() == 3
    assert before == [None, 1, 2]


def test_a_failed_answer_is_requested_again() -> None:
    """
    What was known before is not given in its place.
    """
    attempts: list[int | None] = []

    def ask(known: int | None) -> int:
        attempts.append(known)
        if len(attempts) == 1:
            raise EngineUnavailableError("gone")
        return 7

    answer = TtlCache(ask, 30.0)
    with pytest.raises(EngineUnavailableError):
        answer()
    assert answer() == 7
