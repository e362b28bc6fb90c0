"""Threads that write to an embedded store at once: writers that a commit waits for, and writers that it serves."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest

from whorl import Document
from whorl.engine.embedded import engine as embedded
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.engine.embedded.store_files import WriterRegister
from whorl.engine.embedded.store_index import StoreIndexWriter
from whorl.errors import StoreError
from whorl.store import Store

PATIENCE_SECONDS = 240


@pytest.fixture
def pool():
    with ThreadPoolExecutor(8) as threads:
        yield threads


class Watched(threading.Condition):
    """A condition that signals the start of each wait."""

    def __init__(self):
        super().__init__()
        self.is_waited_for = threading.Event()

    def wait(self, timeout=None):
        self.is_waited_for.set()
        return super().wait(timeout)


def test_registered_writers_are_waited_for_and_later_ones_are_not(pool):
    register = WriterRegister()
    changed = register._changed = Watched()
    with ExitStack() as later:
        with register.register_thread():
            waiting = pool.submit(register.wait_for_current)
            assert changed.is_waited_for.wait(PATIENCE_SECONDS)
            later.enter_context(register.register_thread())
            assert not waiting.done()
        waiting.result(PATIENCE_SECONDS)


def test_a_failed_writer_is_no_longer_registered():
    register = WriterRegister()
    with pytest.raises(ZeroDivisionError), register.register_thread():
        _ = 1 / 0
    register.wait_for_current()


@pytest.fixture
def arrived(monkeypatch):
    """
    A semaphore that counts registered writers, before they have the write lock.
    """
    semaphore = threading.Semaphore(0)

    class CountingRegister(WriterRegister):
        @contextmanager
        def register_thread(self):
            with super().register_thread():
                semaphore.release()
                yield

    monkeypatch.setattr(embedded, "WriterRegister", CountingRegister)
    return semaphore


@pytest.fixture
def commits(monkeypatch):
    """
    The journal numbers that commits of an index reached.
    """
    numbers, commit = [], StoreIndexWriter.commit

    def counted(self, number, documents):
        numbers.append(number)
        commit(self, number, documents)

    monkeypatch.setattr(StoreIndexWriter, "commit", counted)
    return numbers


def test_one_commit_serves_all_waiting_writers(path, arrived, commits, pool):
    """
    Eight threads arrive during a write; each one finds its document after its upload has returned.
    """
    with EmbeddedEngine(path) as engine:
        store = Store(engine)
        store.index([Document("first", "a text that is there")])
        commits.clear()

        def upload(number):
            store.index([Document(f"d{number}", f"own{number} is a word of its own")])
            return store.search(f"own{number}").total

        with engine._writing:
            uploads = [pool.submit(upload, number) for number in range(8)]
            for _ in range(9):
                assert arrived.acquire(timeout=PATIENCE_SECONDS)
        assert [document.result(PATIENCE_SECONDS) for document in uploads] == [1] * 8
    assert len(commits) == 1


def test_deletes_and_uploads_end_together(path, arrived, commits, pool):
    with EmbeddedEngine(path) as engine:
        store = Store(engine)
        store.index([Document(f"d{number}", f"own{number} is a word of its own") for number in range(6)])
        commits.clear()
        with engine._writing:
            gone = [pool.submit(store.delete, [f"d{number}"]) for number in range(3)]
            new = [pool.submit(store.index, [Document(f"d{number}", "changed")]) for number in range(3, 6)]
            for _ in range(7):
                assert arrived.acquire(timeout=PATIENCE_SECONDS)
        assert [future.result(PATIENCE_SECONDS) for future in gone] == [1] * 3
        assert [future.result(PATIENCE_SECONDS).stored for future in new] == [1] * 3
        assert store.count() == 3 == store.search("changed").total
    assert len(commits) == 1


def test_a_failed_write_does_not_block_others(path, arrived, monkeypatch, pool):
    with EmbeddedEngine(path) as engine:
        store = Store(engine)
        replace, faults = StoreIndexWriter.replace, [MemoryError]

        def fails_once(self, changes):
            if faults and any(change.id == "bad" for change in changes):
                raise faults.pop()
            replace(self, changes)

        monkeypatch.setattr(StoreIndexWriter, "replace", fails_once)
        with engine._writing:
            uploads = [pool.submit(store.index, [Document(name, "a text")]) for name in ("bad", "good", "fine")]
            for _ in range(3):
                assert arrived.acquire(timeout=PATIENCE_SECONDS)
        with pytest.raises(MemoryError):
            uploads[0].result(PATIENCE_SECONDS)
        assert [document.result(PATIENCE_SECONDS).stored for document in uploads[1:]] == [1, 1]
        # Its record was stored before, so the next writer has indexed it.
        assert store.search("text").total == 3


def test_a_writer_without_changes_blocks_no_other(path):
    """
    The writer skips labels of documents that changed after they were read, and releases the lock.
    """
    with EmbeddedEngine(path) as engine:
        store = Store(engine)
        store.index([Document("a", "as it was read")])
        (read,) = engine._records.documents("id", ["a"])
        store.index([Document("a", "changed meanwhile")])
        engine.index([read.document], only_unchanged=True)
        engine.refresh()
        # The engine may have segments to merge first, which takes an unknown time.
        with EmbeddedEngine(path, wait_seconds=PATIENCE_SECONDS) as other:
            assert Store(other).index([Document("b", "changed elsewhere")]).stored == 1
        assert store.search("changed").total == 2


def test_waiting_writers_fail_when_the_store_is_closed(path, arrived, pool):
    engine = EmbeddedEngine(path)
    with engine._writing:
        waiting = pool.submit(engine.index, [Document("a", "too late")])
        assert arrived.acquire(timeout=PATIENCE_SECONDS)
        # A thread gets the same error whether it waits for the lock or has it.
        engine.close()
    with pytest.raises(StoreError, match="is closed"):
        waiting.result(PATIENCE_SECONDS)
