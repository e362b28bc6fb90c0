"""The embedded engine's folder: what it refuses, what survives, and who may do what at the same time."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest
import store_process
from store_process import SCHEME, document, state_after, step

from whorl.engine import embedded
from whorl.engine.base import Document
from whorl.engine.embedded import INDEX, RECORDS, EmbeddedEngine
from whorl.errors import StoreError
from whorl.plan import Bool, BoundPlan, MatchAll, Words

EVERYTHING = BoundPlan(MatchAll())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "store"


@pytest.fixture
def start():
    """
    Start a task of store_process.py; what still runs at the end is killed.
    """
    with ExitStack() as stack:

        def begin(*arguments):
            command = [sys.executable, store_process.__file__, *map(str, arguments)]
            child = stack.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            )
            stack.callback(child.kill)
            return child

        yield begin


def opened(path, **options):
    return EmbeddedEngine(path, scheme=SCHEME, **options)


def found(engine, plan=EVERYTHING):
    return [hit.id for hit in engine.search(plan, start=0, rows=10_000).hits]


def fill(path, steps=8):
    with opened(path) as engine:
        for number in range(steps):
            stored, deleted = step(number)
            engine.index(stored)
            engine.delete(deleted)


def assert_state(engine, *allowed):
    """
    Records and index both hold exactly one of the allowed states.
    """
    digests = engine.digests([f"d{number}" for number in range(60)])
    by_digest = [{each: document(each, stamp).digest for each, stamp in state.items()} for state in allowed]
    assert digests in by_digest
    state = allowed[by_digest.index(digests)]
    assert engine.count() == len(state)
    assert found(engine) == sorted(state)
    for each, stamp in state.items():
        one = Bool(must=(Words(each, "id"), Words(stamp)))
        assert found(engine, BoundPlan(one)) == [each]


# What is refused.


def test_a_missing_store_is_made_or_not(path):
    """
    Without `create` nothing is made, and the message says how.
    """
    with pytest.raises(StoreError, match=r"no store at .*store; make one by indexing: whorl index --store .*store FILES"):
        opened(path, create=False)
    assert not path.parent.exists()
    opened(path).close()
    opened(path, create=False).close()


def test_an_empty_folder_may_become_a_store(path):
    """
    Also one where a store was begun and never finished.
    """
    path.mkdir(parents=True)
    (path / RECORDS).touch()
    (path / embedded.LOCK).touch()
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
    assert [child.name for child in path.iterdir()] == ["letter.txt"]
    with pytest.raises(StoreError, match="is a file"):
        opened(path / "letter.txt")
    with pytest.raises(StoreError, match="cannot be used as a store"):
        opened(path / "letter.txt" / "store")
    with pytest.raises(StoreError, match="cannot be used as a store"):
        opened(tmp_path / "a\0b")
    with pytest.raises(StoreError, match="cannot be used as a store"):
        opened(tmp_path / ("n" * 300))


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
    Both formats are named, and what to do.
    """
    fill(path, 1)
    with sqlite3.connect(path / RECORDS) as connection:
        connection.execute("UPDATE meta SET value = '9' WHERE key = 'format'")
    connection.close()
    with pytest.raises(StoreError, match="format 9, and this version reads format 1; use the version that made it"):
        opened(path)


def test_meta_names_the_scheme(path):
    """
    Format and scheme are in the file from the beginning.
    """
    opened(path).close()
    with sqlite3.connect(path / RECORDS) as connection:
        meta = dict(connection.execute("SELECT key, value FROM meta"))
    connection.close()
    assert meta | {"store": ""} == {"format": "1", "scheme": SCHEME.name, "profile": SCHEME.profile, "store": ""}


def test_no_rights(path, start):
    """
    A folder that may not be read or written is a StoreError that names it.
    """
    fill(path, 1)
    path.chmod(0o500)
    (path / RECORDS).chmod(0o400)
    (path / embedded.LOCK).chmod(0o400)
    try:
        told = start("deny", path).communicate(timeout=60)
    finally:
        path.chmod(0o700)
    assert told[0].startswith("StoreError ")
    assert str(path) in told[0]
    assert told[1] == ""


def test_closed_stores_say_so(path):
    """
    Closing twice is nothing; using a closed store is an error.
    """
    engine = opened(path)
    engine.close()
    engine.close()
    for use in (engine.count, engine.refresh, lambda: engine.index([document("a", "s1")]), lambda: found(engine)):
        with pytest.raises(StoreError, match="is closed"):
            use()


def test_a_fork_may_not_use_its_parents_store(path, start):
    """
    The child is told, and the parent's store stays whole.
    """
    output, errors = start("fork", path).communicate(timeout=60)
    assert errors == ""
    assert "opened in another process" in output.splitlines()[0]
    assert output.splitlines()[1] == "1"


# What survives.


@pytest.mark.parametrize("seed", range(8))
def test_kill_while_indexing(path, start, seed):
    """
    After SIGKILL at any moment everything acknowledged is there, whole steps only, in records and index alike.
    """
    chosen, done = random.Random(seed), 0
    for _ in range(3):
        child = start("write", path, done)
        acknowledged = [child.stdout.readline() for _ in range(chosen.randrange(0, 14))]
        child.kill()
        output, errors = child.communicate()
        assert errors == ""
        numbers = [int(line) for line in [*acknowledged, *output.splitlines(keepends=True)] if line.endswith("\n")]
        assert numbers == list(range(done, done + len(numbers)))
        done += len(numbers)
        with opened(path) as engine:
            assert_state(engine, state_after(done), state_after(done + 1))
            # What came after the last word from the child is brought to an end, to go on from there.
            for stored, deleted in [step(done)]:
                engine.index(stored)
                engine.delete(deleted)
            done += 1


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("point", ["put", "replace", "commit", "close"])
def test_kill_at_each_step_of_a_write(path, start, point, when):
    """
    Stored or not, as a whole; and once the transaction is through, stored.
    """
    fill(path, 5)
    child = start("crash", path, point, when, 5)
    output, errors = child.communicate(timeout=60)
    assert (child.returncode, errors) == (-9, "")
    with opened(path) as engine:
        assert_state(engine, state_after(5) if point == "put" else state_after(6))
    assert (output == "acknowledged\n") == (point in ("commit", "close"))


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("point", ["build", "remove", "rename"])
@pytest.mark.parametrize("is_new", [True, False])
def test_kill_while_the_index_is_made(path, start, point, when, is_new):
    """
    A new store, or one whose index is gone: the next to open it finishes the work.
    """
    if not is_new:
        fill(path, 5)
        shutil.rmtree(path / INDEX)
    child = start("crash", path, point, when, 5)
    assert child.wait(timeout=60) == -9
    with opened(path) as engine:
        assert_state(engine, {} if is_new else state_after(5))
    assert sorted(child.name for child in path.iterdir()) == [INDEX, RECORDS, embedded.LOCK]


def index_files(path):
    """
    Names of an index's files; of those that carry a segment's name, the endings.
    """
    return sorted({child.suffix or child.name for child in (path / INDEX).iterdir() if not child.name.endswith(".lock")})


def damage_garbage(file):
    file.write_bytes(random.Random(1).randbytes(max(file.stat().st_size, 100)))


def damage_end(file):
    os.truncate(file, file.stat().st_size // 2)


def damage_empty(file):
    os.truncate(file, 0)


DAMAGES = [damage_garbage, damage_end, damage_empty, Path.unlink]


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damaged_files_of_the_index(path, damage, is_open):
    """
    Whichever of its files is broken, the store answers as before, when opened and while open.
    """
    fill(path)
    for name in index_files(path):
        with ExitStack() as stack:
            engine = stack.enter_context(opened(path)) if is_open else None
            for file in list((path / INDEX).iterdir()):
                if name in (file.suffix, file.name):
                    damage(file)
            engine = engine or stack.enter_context(opened(path))
            engine.index([document("d7", "again")])
            engine.refresh()
            assert_state(engine, state_after(8) | {"d7": "again"})


def lose(path):
    shutil.rmtree(path / INDEX)


def become_a_file(path):
    lose(path)
    (path / INDEX).write_text("no folder")


def become_anothers(path):
    lose(path)
    with opened(path.with_name("other")) as engine:
        engine.index([document(f"e{number}", "s1") for number in range(9)])
    shutil.copytree(path.with_name("other") / INDEX, path / INDEX)


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("change", [lose, become_a_file, become_anothers])
def test_a_lost_index_is_made_again(path, change, is_open):
    """
    No index, something else, or that of another store: the records have it all.
    """
    fill(path)
    if is_open:
        with opened(path) as engine:
            change(path)
            engine.refresh()
            assert_state(engine, state_after(8))
    else:
        change(path)
        with opened(path) as engine:
            assert_state(engine, state_after(8))


@pytest.mark.parametrize("part", [INDEX, RECORDS])
def test_a_part_restored_from_an_old_copy(path, part):
    """
    An older index catches up, an older record file wins over a newer index.
    """
    fill(path, 3)
    old = path.with_name("old")
    shutil.copytree(path, old)
    with opened(path) as engine:
        for number in range(3, 8):
            engine.index(step(number)[0])
            engine.delete(step(number)[1])
    whole = path / part
    shutil.rmtree(whole) if whole.is_dir() else whole.unlink()
    shutil.copytree(old / part, whole) if (old / part).is_dir() else shutil.copy(old / part, whole)
    with opened(path) as engine:
        assert_state(engine, state_after(8 if part == INDEX else 3))


def test_damaged_records(path):
    """
    Nothing but a StoreError that names the file and says what to do, wherever the damage is.
    """
    fill(path)
    sound = (path / RECORDS).read_bytes()
    for at in range(0, len(sound), 2048):
        (path / RECORDS).write_bytes(sound[:at] + b"\xaa" * 2048 + sound[at + 2048 :])
        try:
            with opened(path) as engine:
                engine.digests([f"d{number}" for number in range(60)])
                engine.signatures({f"d{number}": True for number in range(60)})
                engine.index([document("d7", "again")])
                engine.refresh()
                engine.delete([f"d{number}" for number in range(60)])
        except StoreError as error:
            assert str(path / RECORDS) in str(error)
            told = "damaged", "format", "something else"
            assert any(word in str(error) for word in told), error
        shutil.rmtree(path)
        path.mkdir()
    (path / RECORDS).write_bytes(b"\xaa" * 10_000)
    with pytest.raises(StoreError, match=r"records.db is damaged \(.*restore it from a copy, or delete the folder"):
        opened(path)


@pytest.mark.parametrize("what", ["records", "index"])
def test_no_room(path, start, what):
    """
    What was acknowledged before the disk was full is there afterwards, and the error says what to do.
    """
    fill(path)
    child = start("fill", path, what)
    output, errors = child.communicate(timeout=60)
    assert (child.returncode, errors) == (0, "")
    lines = output.splitlines()
    assert any(line.startswith("StoreError ") and "what was stored" in line for line in lines)
    assert "disk" in output
    with opened(path) as engine:
        assert engine.digests([f"d{number}" for number in range(60)]).keys() == state_after(8).keys()
        assert ("acknowledged" in lines) == (what == "index")
        assert ("big7" in found(engine)) == (what == "index")


# Who may do what at the same time.


def test_one_writer_at_a_time(path, start):
    """
    While one has documents that are not yet searchable, another is told to wait, and gets its turn afterwards.
    """
    with opened(path) as engine:
        engine.index([document("a", "s1")])
        output, _ = start("index", path, 0.05, "b").communicate(timeout=60)
        assert output.startswith("open\nStoreError another process is writing to the store")
        assert "waited 0.05 seconds" in output
        waiting = start("index", path, 600, "b")
        assert waiting.stdout.readline() == "open\n"
        engine.index([document("c", "s1")])
        engine.refresh()
        assert waiting.communicate(timeout=60)[0] == "stored\n"
        assert found(engine) == ["a", "b", "c"]


def test_two_engines_in_one_process(path):
    """
    They exclude each other as two processes do.
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
        assert found(one) == found(other) == ["a", "b"]


def test_readers_see_commits_of_another_process(path, start):
    """
    A reader opened before the writing started, and one opened in the middle of it.
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


def test_readers_beside_a_writer(path, start):
    """
    Processes that search all the time see whole commits, while documents come, change and merge.
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
    Whoever comes second finds the store of the first.
    """
    makers = [start("make", path) for _ in range(4)]
    for maker in makers:
        maker.stdin.write("\n")
        maker.stdin.flush()
    assert [maker.communicate(timeout=120) for maker in makers] == [("made\n", "")] * 4
    with opened(path, create=False) as engine:
        assert (engine.count(), found(engine)) == (0, [])


def test_threads_share_an_engine(path):
    """
    Searches in several threads beside two that write; nobody sees a mistake.
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
                assert page.total >= len(page.hits)
                assert engine.signatures({hit.id: True for hit in page.hits[:3]}).keys() <= {hit.id for hit in page.hits}

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
        assert len(found(engine)) == engine.count() == 2 * 8 * 4


def test_long_runs_are_searchable_in_between(path, monkeypatch):
    """
    A crash in the middle of a long run leaves little to catch up with.
    """
    monkeypatch.setattr(embedded, "COMMIT_EVERY", 10)
    with opened(path) as engine, opened(path) as reader:
        for number in range(3):
            engine.index([document(f"x{number}-{k}", "s") for k in range(6)])
        assert len(found(reader)) == 12
        engine.refresh()
        assert len(found(reader)) == 18


def test_closing_makes_all_searchable(path):
    """
    Nobody has to refresh before closing.
    """
    with opened(path) as engine, opened(path) as reader:
        engine.index([document("a", "s1")])
        engine.close()
        assert found(reader) == ["a"]


def test_a_failing_source_stores_nothing(path):
    """
    When reading the documents fails, the batch is not begun, and others may write.
    """

    def source():
        yield document("a", "s1")
        raise KeyError("gone")

    with opened(path) as engine, opened(path, wait_seconds=0.0) as other:
        with pytest.raises(KeyError):
            engine.index(source())
        other.index([document("b", "s1")])
        other.refresh()
        assert found(engine) == ["b"]


def test_an_interrupted_write_is_caught_up(path, monkeypatch):
    """
    Interrupted between the records and the index, the next refresh brings both together.
    """
    with opened(path) as engine:

        def interrupted(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("whorl.engine.inverted.IndexWriter.replace", interrupted)
            with pytest.raises(KeyboardInterrupt):
                engine.index([document("a", "s1"), Document("b", "")])
        assert engine.count() == 2
        assert found(engine) == []
        engine.refresh()
        assert found(engine) == ["a", "b"]
