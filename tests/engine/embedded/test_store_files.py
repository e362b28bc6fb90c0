"""The embedded engine's folder: which folders it refuses, and concurrent access."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.engine.embedded.store_process import SCHEME, document
from tests.engine.embedded.stores import EVERYTHING, fill, matching_ids, opened
from whorl.engine.embedded import engine as embedded
from whorl.engine.embedded.store_files import (
    LOCK,
    RECORDS,
    WriteLock,
    connect,
    connect_read_only,
    file_state,
    prepare_folder,
    sqlite_errors,
)
from whorl.errors import StoreError
from whorl.fingerprint.sketch.frac_minhash import SketchScheme

# Refused folders.


def test_a_missing_store_is_created_or_not(path):
    """
    Without `create`, nothing is created, and the message gives the command that creates a store.
    """
    with pytest.raises(StoreError, match=r"no store at .*store; make one by .* whorl index --store .*store FILES"):
        opened(path, create=False)
    assert not path.parent.exists()
    opened(path).close()
    opened(path, create=False).close()


def test_an_empty_folder_may_become_a_store(path):
    """
    So may a folder where the creation of a store was interrupted.
    """
    path.mkdir(parents=True)
    (path / RECORDS).touch()
    (path / LOCK).touch()
    (path / f"{RECORDS}-wal").touch()
    with pytest.raises(StoreError, match="no store at"):
        opened(path, create=False)
    with opened(path) as engine:
        assert engine.count() == 0


def test_other_things_are_left_alone(path, tmp_path):
    """
    A folder of other files, a file, a path below a file and an impossible name are refused and untouched.
    """
    path.mkdir(parents=True)
    (path / "letter.txt").write_text("dear")
    with pytest.raises(StoreError, match=r"holds other things and no store \(letter.txt"):
        opened(path)
    with pytest.raises(StoreError, match="make one by indexing: whorl index --store NEW"):
        prepare_folder(path, create=False)
    assert [child.name for child in path.iterdir()] == ["letter.txt"]
    with pytest.raises(StoreError, match="is a file"):
        opened(path / "letter.txt")
    with pytest.raises(StoreError, match="cannot be used as a store"):
        opened(path / "letter.txt" / "store")
    with pytest.raises(StoreError, match="cannot be used as a store"):
        opened(tmp_path / "a\0b")
    with pytest.raises(StoreError, match="cannot be used as a store"):
        opened(tmp_path / ("n" * 300))


def test_a_copy_of_the_database_is_a_backup(path, tmp_path):
    """
    SQLite's copy of the database of an open store is a store; its index is rebuilt.
    """
    fill(path, 3)
    (tmp_path / "backup").mkdir()
    with (
        opened(path) as engine,
        closing(sqlite3.connect(path / RECORDS)) as database,
        closing(sqlite3.connect(tmp_path / "backup" / RECORDS)) as copy,
    ):
        database.backup(copy)
        before = engine.count()
    with opened(tmp_path / "backup", create=False) as engine:
        assert engine.count() == before > 0


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("is_empty", [True, False])
def test_a_store_that_has_lost_its_documents(path, create, is_empty):
    """
    A store whose database is missing or empty is reported as damaged, and is unchanged.
    """
    fill(path, 1)
    (path / RECORDS).unlink()
    if is_empty:
        (path / RECORDS).touch()
    names = sorted(path.rglob("*"))
    with pytest.raises(StoreError, match=r"is a damaged store: records\.db, .* is missing or empty; restore"):
        opened(path, create=create)
    assert sorted(path.rglob("*")) == names


@pytest.mark.parametrize("name", [f"{RECORDS}.backup", f"{RECORDS}-old", f"{LOCK}ed"])
def test_names_that_begin_like_those_of_a_store(path, name):
    """
    The folder is refused and stays unchanged.
    """
    path.mkdir(parents=True)
    (path / name).touch()
    with pytest.raises(StoreError, match=f"holds other things and no store .{name}"):
        opened(path)
    assert [child.name for child in path.iterdir()] == [name]


def test_other_databases_are_refused(path):
    """
    An SQLite file of another program is not written to.
    """
    path.mkdir(parents=True)
    with sqlite3.connect(path / RECORDS) as connection:
        connection.execute("CREATE TABLE addresses (street TEXT)")
    connection.close()
    before = (path / RECORDS).read_bytes()
    with pytest.raises(StoreError, match="SQLite file of something else"):
        opened(path)
    assert (path / RECORDS).read_bytes() == before


def test_other_formats_are_refused(path):
    """
    The error names both formats and the remedy.
    """
    fill(path, 1)
    with sqlite3.connect(path / RECORDS) as connection:
        connection.execute("UPDATE meta SET value = '13' WHERE key = 'format'")
    connection.close()
    with pytest.raises(StoreError, match="format 13, and this version reads format 12; use the version that made it"):
        opened(path)


def test_meta_names_the_scheme(path):
    """
    Format and scheme are in the file from the beginning.
    """
    opened(path).close()
    with sqlite3.connect(path / RECORDS) as connection:
        meta = dict(connection.execute("SELECT key, value FROM meta"))
    connection.close()
    sketches = SketchScheme().name
    assert meta | {"store": ""} == {"format": "12", "scheme": SCHEME.name, "sketches": sketches, "store": ""}


def test_no_rights(path, start):
    """
    A folder that may not be read or written is a StoreError that names it.
    """
    fill(path, 1)
    path.chmod(0o500)
    (path / RECORDS).chmod(0o400)
    (path / LOCK).chmod(0o400)
    try:
        output = start("deny", path).communicate(timeout=240)
    finally:
        path.chmod(0o700)
    assert output[0].startswith("StoreError ")
    assert str(path) in output[0]
    assert output[1] == ""


def test_closed_stores_say_so(path):
    """
    Closing twice has no effect; using a closed store is an error.
    """
    engine = opened(path)
    engine.close()
    engine.close()
    for use in (
        engine.count,
        engine.refresh,
        lambda: engine.index([document("a", "s1")]),
        lambda: matching_ids(engine),
    ):
        with pytest.raises(StoreError, match="is closed"):
            use()


def test_a_fork_may_not_use_its_parents_store(path, start):
    """
    The child gets an error, and the parent's store stays usable.
    """
    output, errors = start("fork", path).communicate(timeout=240)
    assert errors == ""
    assert "opened in another process" in output.splitlines()[0]
    assert output.splitlines()[1] == "1"


# Concurrent access.


def test_a_second_writer_is_refused_until_the_first_one_is_done(path, start):
    """
    A second writer is refused while the first one has unsearchable documents, and succeeds afterwards.
    """
    with opened(path) as engine:
        engine.index([document("a", "s1")])
        output, _ = start("index", path, 0.05, "b").communicate(timeout=240)
        assert output.startswith("open\nStoreError another process is writing to the store")
        assert "waited 0.05 seconds" in output
        waiting = start("index", path, 600, "b")
        assert waiting.stdout.readline() == "open\n"
        engine.index([document("c", "s1")])
        engine.refresh()
        assert waiting.communicate(timeout=240)[0] == "stored\n"
        assert matching_ids(engine) == ["a", "b", "c"]


def test_two_engines_in_one_process(path):
    """
    Two engines in one process exclude each other like two processes.
    """
    with opened(path) as one, opened(path, wait_seconds=0.05) as other:
        one.index([document("a", "s1")])
        with pytest.raises(StoreError, match="is writing to the store"):
            other.index([document("b", "s1")])
        with pytest.raises(StoreError, match="is writing to the store"):
            other.delete(["a"])
        assert other.count() == 1
        one.refresh()
        other.index([document("b", "s1")])
        other.refresh()
        assert matching_ids(one) == matching_ids(other) == ["a", "b"]


def test_readers_see_commits_of_another_process(path, start):
    """
    Readers opened before and during a write see each commit.
    """
    with opened(path) as engine:
        engine.index([document("a", "s1")])
        engine.refresh()
        readers = [start("count", path)]
        engine.index([document("b", "s1")])
        readers.append(start("count", path))
        for expected in ("1\n", "2\n"):
            for reader in readers:
                if reader.poll() is None and expected == "1\n":
                    assert reader.stdout.readline() == "open\n"
                reader.stdin.write("\n")
                reader.stdin.flush()
                assert reader.stdout.readline() == expected
            engine.refresh()


def test_readers_during_a_write(path, start):
    """
    Processes that search during a write see only whole commits, while documents are added, changed and merged.
    """
    with opened(path) as engine:
        watchers = [start("watch", path) for _ in range(2)]
        assert [watcher.stdout.readline() for watcher in watchers] == ["open\n"] * 2
        for number in range(25):
            engine.index([document(f"x{number * 4 + k}", f"s{number}") for k in range(4)] + [document("x0", "s")])
            engine.refresh()
        for watcher in watchers:
            assert watcher.communicate(timeout=120) == ("seen\n", "")


def test_many_make_one_store(path, start):
    """
    Several processes create one store; the later ones open it.
    """
    makers = [start("make", path) for _ in range(4)]
    for number in range(20):
        for maker in makers:
            maker.stdin.write(f"{number}\n")
            maker.stdin.flush()
        assert [maker.stdout.readline() for maker in makers] == ["made\n"] * 4
        with opened(path / str(number), create=False) as engine:
            assert (engine.count(), matching_ids(engine)) == (0, [])
    assert [maker.communicate(timeout=120) for maker in makers] == [("", "")] * 4


@pytest.mark.slow
def test_threads_share_an_engine(path):
    """
    Several threads search correctly while two threads write.
    """
    failures = []

    def attempt(work):
        try:
            work()
        except BaseException as error:
            failures.append(error)

    with opened(path) as engine:
        is_done = threading.Event()

        def search():
            while not is_done.is_set():
                page = engine.search(EVERYTHING, start=0, rows=500)
                assert page.total == len(page.hits)
                wanted = {hit.id: True for hit in page.hits[:3]}
                assert engine.signatures(wanted).keys() <= wanted.keys()

        def write(prefix):
            for number in range(8):
                engine.index([document(f"{prefix}{number}-{k}", f"s{number}") for k in range(5)])
                engine.refresh()
                assert engine.delete([f"{prefix}{number}-0"]) == 1

        searchers = [threading.Thread(target=attempt, args=(search,)) for _ in range(3)]
        writers = [threading.Thread(target=attempt, args=(lambda prefix=prefix: write(prefix),)) for prefix in "pq"]
        for thread in searchers + writers:
            thread.start()
        for thread in writers:
            thread.join()
        is_done.set()
        for thread in searchers:
            thread.join()
        assert failures == []
        assert len(matching_ids(engine)) == engine.count() == 2 * 8 * 4


def test_long_runs_are_searchable_in_between(path, monkeypatch):
    """
    A long write commits regularly, so little is lost by a crash in the middle.
    """
    monkeypatch.setattr(embedded, "COMMIT_EVERY", 10)
    with opened(path) as engine, opened(path) as reader:
        for number in range(3):
            engine.index([document(f"x{number}-{k}", "s") for k in range(6)])
        assert len(matching_ids(reader)) == 12
        engine.refresh()
        assert len(matching_ids(reader)) == 18


def test_closing_makes_all_searchable(path):
    """
    `close` makes all documents searchable.
    """
    with opened(path) as engine, opened(path) as reader:
        engine.index([document("a", "s1")])
        engine.close()
        assert matching_ids(reader) == ["a"]


def test_a_failing_source_stores_nothing(path):
    """
    If reading the documents fails, nothing of the batch is stored, and others may write.
    """

    def source():
        yield document("a", "s1")
        raise KeyError("gone")

    with opened(path) as engine, opened(path, wait_seconds=0.0) as other:
        with pytest.raises(KeyError):
            engine.index(source())
        other.index([document("b", "s1")])
        other.refresh()
        assert matching_ids(engine) == ["b"]


def test_a_lock_has_a_single_holder(tmp_path: Path) -> None:
    """
    A second lock succeeds after the first one is released; acquiring a held lock again succeeds.
    """
    first, second = WriteLock(tmp_path / "lock"), WriteLock(tmp_path / "lock")
    assert first.acquire(0)
    assert first.acquire(0)
    assert not second.acquire(0.01)
    first.release()
    assert second.acquire(0)
    second.release()
    assert first.acquire(0)
    first.release()
    first.release()


def test_every_commit_changes_the_state(tmp_path: Path) -> None:
    """
    Commits change the state of the file or of its log; readers change nothing.
    """
    path = tmp_path / "file"
    with closing(connect(path, 0)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        states = [file_state(path)]
        for statement in ("CREATE TABLE t (a)", "INSERT INTO t VALUES (1)"):
            writer.execute(statement)
            states.append(file_state(path))
        with closing(connect_read_only(path, 0)) as reader:
            assert reader.execute("SELECT a FROM t").fetchall() == [(1,)]
            with sqlite_errors(path), pytest.raises(sqlite3.OperationalError, match="readonly"):
                reader.execute("INSERT INTO t VALUES (2)")
        assert file_state(path) == states[-1]
    assert len({tuple(state) for state in states}) == len(states)


def test_errors_say_what_to_do(tmp_path: Path) -> None:
    """
    Errors for a file of another program and for a locked file.
    """
    other = tmp_path / "other"
    other.write_bytes(b"something else" * 100)
    with closing(connect(tmp_path / "held", 0)) as first, closing(connect(tmp_path / "held", 0)) as second:
        first.execute("BEGIN EXCLUSIVE")
        with (
            pytest.raises(StoreError, match=r"another process holds .*held; try again"),
            sqlite_errors(tmp_path / "held"),
        ):
            second.execute("CREATE TABLE t (a)")
    with pytest.raises(StoreError, match=r"other is damaged .*restore it from a copy"), sqlite_errors(other):
        connect(other, 0).execute("SELECT * FROM sqlite_master")
