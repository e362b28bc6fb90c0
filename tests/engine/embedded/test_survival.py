"""Survival of an embedded store: crashes at any moment, damaged and lost files, a full disk."""

import random
import re
import shutil
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.engine.embedded.store_process import copy_step, document, state_after, step, take_copy_step
from tests.engine.embedded.stores import assert_state, fill, matching_ids, opened
from tests.sampling import combine, sample
from whorl.engine.embedded.store_files import INDEX, LOCK, RECORDS
from whorl.errors import StoreError
from whorl.model import Document


def killed_after(child, first: int, steps: int) -> int:
    """Kill a process that prints the number of each finished step, after some steps; return how many it finished."""
    acknowledged = [child.stdout.readline() for _ in range(steps)]
    child.kill()
    acknowledged += child.stdout.readlines()
    assert child.stderr.read() == ""
    numbers = [int(line) for line in acknowledged if line.endswith("\n")]
    assert numbers == list(range(first, first + len(numbers)))
    return len(numbers)


@pytest.mark.parametrize("seed", sample(range(5), 3))
def test_kill_while_indexing(path, start, seed):
    """
    After SIGKILL at any moment, records and index hold every acknowledged step and only whole steps.
    """
    chosen, done = random.Random(seed), 0
    for _ in range(3):
        done += killed_after(start("write", path, done), done, chosen.randrange(0, 14))
        with opened(path) as engine:
            assert_state(engine, state_after(done), state_after(done + 1))
            # Complete the step that may have been interrupted, so that the state is known.
            stored, deleted = step(done)
            engine.index(stored)
            engine.delete(deleted)
            done += 1


@pytest.mark.parametrize("seed", sample(range(5), 1))
def test_kill_while_equal_texts_move(path, start, seed):
    """
    After SIGKILL while documents with equal texts are replaced and deleted, each acknowledged text can be read.
    """
    chosen, done, expected = random.Random(seed), 0, dict[str, str | None]()
    for _ in range(4):
        begun, done = done, done + killed_after(start("write_copies", path, done), done, chosen.randrange(1, 40))
        for number in range(begun, done):
            expected |= copy_step(number)
        with opened(path) as engine:
            engine._records.verify()
            texts = engine.texts(list(expected))
            # The next step may have been interrupted.
            interrupted = copy_step(done)
            for name, text in expected.items():
                assert texts.get(name) in (text, interrupted.get(name, text))
            take_copy_step(engine, done)
            expected |= interrupted
            done += 1


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("point", ["put", "replace", "commit", "close"])
def test_kill_at_each_step_of_a_write(path, start, point, when):
    """
    A step is stored as a whole or not at all; it is stored once the transaction has ended.
    """
    fill(path, 5)
    child = start("crash", path, point, when, 5)
    output, errors = child.communicate(timeout=240)
    assert (child.returncode, errors) == (-9, "")
    with opened(path) as engine:
        assert_state(engine, state_after(5) if point == "put" else state_after(6))
    assert (output == "acknowledged\n") == (point in ("commit", "close"))


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("point", ["build", "remove", "rename"])
@pytest.mark.parametrize("is_new", [True, False])
def test_kill_while_the_index_is_built(path, start, point, when, is_new):
    """
    If the creation of an index is interrupted, for a new store or a lost index, the next engine completes it.
    """
    if not is_new:
        fill(path, 5)
        shutil.rmtree(path / INDEX)
    child = start("crash", path, point, when, 5)
    assert child.wait(timeout=240) == -9
    with opened(path) as engine:
        assert_state(engine, {} if is_new else state_after(5))
    assert sorted(child.name for child in path.iterdir()) == [INDEX, RECORDS, LOCK]


def index_files(path):
    """
    Return the names of an index's files; of files named by a segment, only the suffixes.
    """
    files = (path / INDEX).glob("*/*")
    return sorted({file.suffix or file.name for file in files if file.suffix != ".lock"})


def replace(file, content):
    """
    Replace a file by a new one. Overwriting it would change the memory of processes that have mapped it.
    """
    new = file.with_name("new")
    new.write_bytes(content)
    new.replace(file)


def damage_garbage(file):
    replace(file, random.Random(1).randbytes(max(file.stat().st_size, 100)))


def damage_end(file):
    replace(file, file.read_bytes()[: file.stat().st_size // 2])


def damage_empty(file):
    replace(file, b"")


DAMAGES = [damage_garbage, damage_end, damage_empty, Path.unlink]


@pytest.mark.slow
@pytest.mark.parametrize(("damage", "is_open"), combine(DAMAGES, [False, True]))
def test_damaged_files_of_the_index(path, damage, is_open):
    """
    After damage to any index file the store returns the same hits, on opening and while open.
    """
    fill(path)
    for name in index_files(path):
        with ExitStack() as stack:
            engine = stack.enter_context(opened(path)) if is_open else None
            for file in list((path / INDEX).glob("*/*")):
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


@pytest.mark.slow
@pytest.mark.parametrize(("change", "is_open"), combine([lose, become_a_file, become_anothers], [False, True]))
def test_a_lost_index_is_rebuilt(path, change, is_open):
    """
    If the index is missing, is another kind of file, or belongs to another store, it is rebuilt from the records.
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


def test_an_index_rebuilt_while_readers_are_open(path):
    """
    Engines that have the store open find all documents in the rebuilt index, and can write to it.
    """
    fill(path)
    with opened(path) as one:
        assert_state(one, state_after(8))
        for stamp in ("again", "and again"):
            shutil.rmtree(path / INDEX)
            with opened(path) as other:
                other.index([document("d7", stamp)])
            assert_state(one, state_after(8) | {"d7": stamp})
        one.delete(["d7"])
        with opened(path) as other:
            assert matching_ids(other) == matching_ids(one) == sorted(state_after(8).keys() - {"d7"})


@pytest.mark.parametrize("part", [INDEX, RECORDS])
def test_a_part_restored_from_an_old_copy(path, part):
    """
    An older index catches up with the records; older records win over a newer index.
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


@contextmanager
def file_in_errors(file):
    """
    Assert that a StoreError names the file and its fault.
    """
    try:
        yield
    except StoreError as error:
        if not re.search(f"{re.escape(str(file))}.*(damaged|format|something else)", str(error)):
            pytest.fail(f"unhelpful: {error}")
        raise


@pytest.mark.slow
def test_damaged_records(path):
    """
    Damage anywhere in the records is a StoreError with the file and the remedy.
    """
    fill(path)
    sound = (path / RECORDS).read_bytes()
    for at in range(0, len(sound), 2048):
        (path / RECORDS).write_bytes(sound[:at] + b"\xaa" * 2048 + sound[at + 2048 :])
        with suppress(StoreError), file_in_errors(path / RECORDS), opened(path) as engine:
            engine.digests([f"d{number}" for number in range(60)])
            engine.signatures({f"d{number}": True for number in range(60)})
            engine.index([document("d7", "again")])
            engine.refresh()
            engine.delete([f"d{number}" for number in range(60)])
        shutil.rmtree(path)
        path.mkdir()
    (path / RECORDS).write_bytes(b"\xaa" * 10_000)
    with pytest.raises(StoreError, match=r"records.db is damaged \(.*restore it from a copy, or delete the folder"):
        opened(path)


@pytest.mark.parametrize("what", ["records", "index"])
def test_no_room(path, start, what):
    """
    The error names the remedy. Old documents can be searched, and later all acknowledged ones.
    """
    fill(path)
    child = start("fill", path, what)
    output, errors = child.communicate(timeout=240)
    assert (child.returncode, errors) == (0, "")
    lines = output.splitlines()
    assert any(line.startswith("StoreError ") and "what was stored" in line for line in lines)
    assert "disk" in output
    assert lines[-1] == f"found {len(state_after(8))}"
    with opened(path) as engine:
        assert engine.digests([f"d{number}" for number in range(60)]).keys() == state_after(8).keys()
        assert ("acknowledged" in lines) == (what == "index")
        assert ("big7" in matching_ids(engine)) == (what == "index")


def test_an_interrupted_write_is_caught_up(path, monkeypatch):
    """
    After an interruption between records and index, the next refresh makes them agree.
    """
    with opened(path) as engine:

        def interrupted(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("whorl.engine.embedded.store_index.StoreIndexWriter.replace", interrupted)
            with pytest.raises(KeyboardInterrupt):
                engine.index([document("a", "s1"), Document("b", "")])
        assert engine.count() == 2
        assert matching_ids(engine) == []
        engine.refresh()
        assert matching_ids(engine) == ["a", "b"]


def replace_folder(path):
    path.rename(path.with_name("former"))
    shutil.copytree(path.with_name("copy"), path)


def restore_records(path):
    # A backup tool writes the file under another name and renames it.
    shutil.copy(path.with_name("copy") / RECORDS, path.with_name("restored.db"))
    path.with_name("restored.db").replace(path / RECORDS)


@pytest.mark.parametrize(
    "change",
    [
        replace_folder,
        restore_records,
        lambda path: (path / RECORDS).unlink(),
        lambda path: path.rename(path.with_name("former")),
    ],
)
@pytest.mark.parametrize("is_pending", [False, True])
def test_a_folder_that_is_replaced_while_it_is_open(path, change, is_pending):
    """
    Nothing more is acknowledged or searched, and the new folder keeps its documents.
    """
    with opened(path) as engine:
        engine.index([Document("a", "one two three")])
    shutil.copytree(path, path.with_name("copy"))
    with suppress(StoreError), opened(path) as engine:
        if is_pending:
            engine.index([Document("b", "four five six")])
        change(path)
        for work in (
            lambda: engine.index([Document("c", "seven eight nine")]),
            lambda: engine.delete(["a"]),
            engine.refresh,
            engine.index_lag,
            lambda: matching_ids(engine),
        ):
            with pytest.raises(StoreError, match=r"no longer the file that was opened.*restart a service"):
                work()
    if change is replace_folder:
        with opened(path) as engine:
            assert matching_ids(engine) == ["a"]
            engine.verify()


def test_a_folder_that_is_replaced_during_a_write(path):
    """
    The write is not acknowledged.
    """
    with (
        opened(path) as engine,
        pytest.raises(StoreError, match="no longer the file that was opened"),
        engine._records.writing(),
    ):
        path.rename(path.with_name("former"))


def test_a_store_with_a_relative_path(path, monkeypatch):
    """
    The store can be read and written after a change of the working directory.
    """
    path.parent.mkdir()
    monkeypatch.chdir(path.parent)
    with opened(Path(path.name)) as engine:
        engine.index([Document("a", "one two three")])
        engine.refresh()
        monkeypatch.chdir("/")
        assert engine.count() == 1
        engine.index([Document("b", "four five six")])
        engine.refresh()
        assert (engine.file_base(path.parent.absolute), engine.count()) == (path.parent, 2)
        assert engine.size() > 0
    with opened(path) as engine:
        assert engine.count() == 2
