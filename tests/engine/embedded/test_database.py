"""The file of records: partial reads, damage, read-only folders, and compressed texts."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import chain, repeat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from zstandard import ZstdError

from tests.engine.embedded.store_process import document, state_after
from tests.engine.embedded.stores import assert_state, fill, matching_ids, opened
from whorl.engine.embedded import database
from whorl.engine.embedded import engine as embedded
from whorl.engine.embedded.database import TextCodec
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.engine.embedded.store_files import INDEX, RECORDS
from whorl.engine.embedded.text_index import TextIndex
from whorl.errors import SchemeMismatchError, StoreError
from whorl.fingerprint.fingerprint_texts import text_sketch
from whorl.fingerprint.sketch.frac_minhash import SketchScheme
from whorl.model import Document
from whorl.query.plan.nodes import BoundPlan, Words

#: Two short documents, and three long ones, whose sketches are stored; two of these have the same text.
DOCUMENTS = [
    Document(
        f"d{number}",
        f"one two three {min(number, 3)} four five {' '.join(map(str, range(min(number, 3) // 2 * 250)))}",
        f"name {number}",
        {"DBID": 100 + number, "kind": "x"},
    )
    for number in range(5)
]
IDS = [document.id for document in DOCUMENTS]


def answers(path):
    """
    Return everything that the records contain about the documents.
    """
    with opened(path) as engine:
        page = engine.search(BoundPlan(Words("three one", slop=9)), start=0, rows=9)
        return (
            [(hit.id, hit.name) for hit in page.hits],
            engine.digests(IDS),
            engine.signatures(dict.fromkeys(IDS, True)),
            {document_id: sketch.hashes.tolist() for document_id, sketch in engine.sketches(IDS).items()},
            engine.texts(IDS),
            engine.documents(IDS),
            engine.resolve([str(100 + number) for number in range(5)]),
            engine.largest_size(),
            engine.fields().known,
        )


class Sound(tuple):
    """A sound store: its folder, its answers and the bytes of its records, which are left out of error messages."""

    def __new__(cls, *parts):
        return super().__new__(cls, parts)

    def __repr__(self):
        return "a sound store"


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    path = tmp_path_factory.mktemp("sound") / "store"
    with opened(path) as engine:
        engine.index(DOCUMENTS)
    return Sound(path, answers(path), (path / RECORDS).read_bytes())


def blobs(path):
    """
    Return the position and length of each blob of the documents in the file.
    """
    connection = sqlite3.connect(path / RECORDS)
    rows = connection.execute("SELECT head, sketch, content FROM document").fetchall()
    rows += connection.execute("SELECT entry FROM field").fetchall()
    connection.close()
    raw = (path / RECORDS).read_bytes()
    return [(raw.index(blob), len(blob)) for row in rows for blob in row if isinstance(blob, bytes)]


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(which=st.integers(0, 1000), at=st.floats(0, 1, exclude_max=True), change=st.integers(1, 255))
def test_flipped_bits_in_a_blob(sound, tmp_path, which, at, change):
    """
    After a change of any byte in a document's blobs, the answer is right or an error names the damage.
    """
    path, expected, raw = sound
    places = blobs(path)
    begin, length = places[which % len(places)]
    place = begin + int(at * length)
    # Use a new folder each time: the process that watches a recently closed index may still hold the lock in the old
    # one.
    copy = tmp_path / f"copy{len(list(tmp_path.iterdir()))}"
    shutil.copytree(path, copy)
    (copy / RECORDS).write_bytes(raw[:place] + bytes([raw[place] ^ change]) + raw[place + 1 :])
    try:
        outcome = answers(copy)
    except StoreError as error:
        outcome = str(error)
    assert outcome == expected or re.search(r"is damaged \(.*restore it from a copy", outcome)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(at=st.floats(0, 1, exclude_max=True), change=st.integers(1, 255))
def test_flipped_bits(sound, tmp_path, at, change):
    """
    After a change of any byte in the file, nothing but a StoreError is raised, and no wrong text or name is returned.
    """
    path, _, raw = sound
    place = int(at * len(raw))
    # Use a new folder each time: the process that watches a recently closed index may still hold the lock in the old
    # one.
    copy = tmp_path / f"copy{len(list(tmp_path.iterdir()))}"
    shutil.copytree(path, copy)
    (copy / RECORDS).write_bytes(raw[:place] + bytes([raw[place] ^ change]) + raw[place + 1 :])
    try:
        _, digests, *_, documents, _, _, _ = answers(copy)
    except (StoreError, SchemeMismatchError):
        return
    assert all(digests[document.id] == document.digest for document in DOCUMENTS if document.id in digests)
    assert all(documents[document.id].name == document.name for document in DOCUMENTS if document.id in documents)


def test_a_sketch_after_its_document_changed(path):
    """
    A cached sketch is not used for the new text of a document, which keeps its number.
    """
    with opened(path) as engine:
        for text in ("one two three four five six", "one two three four five six seven"):
            engine.index([Document("a", text)])
            engine.refresh()
            for _ in range(2):
                assert engine.sketches(["a"]) == {"a": text_sketch(text, engine.scheme, SketchScheme())}


def test_a_document_that_got_lost(path):
    """
    If a document of the index is missing in the records without having been deleted, this is reported as damage.
    """
    fill(path)
    connection = sqlite3.connect(path / RECORDS)
    connection.execute("UPDATE document SET id = 'other' WHERE id = (SELECT max(id) FROM document)")
    connection.commit()
    connection.close()
    lost = max(state_after(8))
    with opened(path) as engine:
        for ask in (lambda: matching_ids(engine), lambda: engine.resolve([lost])):
            with pytest.raises(StoreError, match=f"is damaged .document '{lost}' is not where it was"):
                ask()
        assert engine.resolve(["never there", "\ud800"]) == {}


def steps(path, work):
    """
    Return the number of SQLite's steps for an operation on a store.
    """
    count = 0

    def step():
        nonlocal count
        count += 1

    with opened(path) as engine:
        engine._records._reader.set_progress_handler(step, 1)
        work(engine)
    return count


def test_a_few_records_do_not_cost_all(path, tmp_path):
    """
    The cost of reading a few records depends on their number, not on the size of the store.
    """
    few, many = path, tmp_path / "many"
    for place, count in ((few, 10), (many, 500)):
        with opened(place) as engine:
            engine.index([Document("wanted", "alpha beta gamma")])
            engine.index([document(f"d{number:04}", "other") for number in range(count)])

    def ask(engine):
        assert [record.document.id for record in engine._records.documents("id", ["wanted"])] == ["wanted"]

    assert steps(few, ask) == steps(many, ask)


def test_an_older_store_is_reported(path):
    """
    A store of the previous format is reported with its format and the remedy.
    """
    path.mkdir(parents=True)
    with sqlite3.connect(path / RECORDS) as connection:
        connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
        connection.execute("INSERT INTO meta VALUES ('format', '9')")
        connection.execute("CREATE TABLE document (id TEXT, name TEXT)")
    connection.close()
    with pytest.raises(StoreError, match=r"of format 9, and this version reads format 12.*whorl upgrade .*store"):
        opened(path)


def long_text(which):
    return f"text {which} " + " ".join(map(str, range(which, which + 300)))


def test_equal_long_texts_are_stored_once(path):
    """
    Of ten documents with one text, in one or in several calls, one row has the text; all ten return it.
    """
    with opened(path) as engine:
        engine.index(Document(f"a{number}", long_text(1), f"name {number}") for number in range(5))
        for number in range(5):
            engine.index([Document(f"b{number}", long_text(1)), Document(f"c{number}", long_text(2 + number))])
        assert set(engine.texts([f"{kind}{number}" for kind in "ab" for number in range(5)]).values()) == {long_text(1)}
        sketches = [sketch.hashes.tolist() for sketch in engine.sketches(["a0", "a4", "b4", "c0"]).values()]
        assert sketches[0] == sketches[1] == sketches[2] != sketches[3]
        assert engine.count() == 15
    assert owners(path) == 6


def owners(path):
    with closing(sqlite3.connect(path / RECORDS)) as connection:
        return connection.execute("SELECT count(*) FROM document WHERE length(content) > 40").fetchone()[0]


CHANGES = st.lists(st.tuples(st.integers(0, 9), st.one_of(st.none(), st.integers(0, 3))), min_size=1, max_size=6)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(calls=st.lists(CHANGES, max_size=12))
def test_changes_of_documents_with_equal_texts(tmp_path, calls):
    """
    After any replacements and deletions, each document has its own text, and each long text is stored once.
    """
    path, expected = tmp_path / f"store{len(list(tmp_path.iterdir()))}", dict[str, str]()
    with opened(path) as engine:
        for changes in calls:
            texts = {f"d{number}": which for number, which in changes}
            # Text 0 is short.
            new = {name: long_text(which) if which else "short" for name, which in texts.items() if which is not None}
            engine.index(Document(name, text) for name, text in new.items())
            engine.delete(deleted := [name for name, which in texts.items() if which is None])
            expected = {name: text for name, text in (expected | new).items() if name not in deleted}
            assert engine.texts([f"d{number}" for number in range(10)]) == expected
        engine._records.verify()
        stored = [record.document for record in engine._records.all_documents()]
        assert {document.id: document.text for document in stored} == expected
    assert owners(path) == len({*expected.values()} - {"short"})


def test_a_store_of_the_format_before_shared_texts(path):
    """
    A store of format 10 can be read unchanged; the first write changes the format, and shares older texts.
    """
    with opened(path) as engine:
        engine.index([Document("a", long_text(1)), Document("b", long_text(2))])
    with closing(sqlite3.connect(path / RECORDS)) as connection:
        connection.executescript("DROP INDEX owner; DROP INDEX copy; UPDATE meta SET value = '10' WHERE key = 'format'")
    with opened(path) as engine:
        assert engine.texts(["a", "b"]) == {"a": long_text(1), "b": long_text(2)}
    with closing(sqlite3.connect(path / RECORDS)) as connection:
        assert connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone() == ("10",)
    with opened(path) as engine:
        engine.index([Document("c", long_text(1))])
        engine.delete(["a"])
    assert owners(path) == 2
    with opened(path) as engine:
        assert engine.texts(["a", "b", "c"]) == {"b": long_text(2), "c": long_text(1)}
        engine._records.verify()
    with closing(sqlite3.connect(path / RECORDS)) as connection:
        assert connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone() == ("12",)


def test_a_changed_reference(path):
    """
    If a row refers to another long text than it was stored with, or to none, the error names the damage.
    """
    with opened(path) as engine:
        engine.index([Document("a", long_text(1)), Document("b", long_text(2)), Document("c", long_text(1))])
    for wrong in (2, 9):
        with closing(sqlite3.connect(path / RECORDS)) as connection:
            connection.execute("UPDATE document SET sketch = ? WHERE id = 'c'", (wrong,))
            connection.commit()
        with opened(path) as engine:
            for read in (engine.texts, engine.sketches):
                with pytest.raises(StoreError, match="is damaged"):
                    read(["c"])


# Folders without write permission.


@pytest.fixture
def locked(path, monkeypatch):
    """
    Function that removes all write permissions. Because root could still write, `os.access` denies it too.
    """

    def lock():
        real = os.access
        monkeypatch.setattr("os.access", lambda file, mode: mode != os.W_OK and real(file, mode))
        for entry in [path, *path.rglob("*")]:
            entry.chmod(0o500 if entry.is_dir() else 0o400)

    yield lock
    for entry in [path, *path.rglob("*")]:
        entry.chmod(0o700)


def listing(path):
    return sorted((str(file.relative_to(path)), file.stat().st_mtime_ns) for file in path.rglob("*"))


def test_a_read_only_store_is_searched(path, locked):
    """
    All documents are found, nothing is written, and writes raise an error with the reason.
    """
    fill(path)
    locked()
    before = listing(path)
    with opened(path, create=False) as engine:
        assert_state(engine, state_after(8))
        assert engine.is_read_only
        # Writing labels can follow hours of work, so `prepare` checks the permission first.
        writes = (lambda: engine.index([document("a", "s")]), lambda: engine.delete(["d1"]), engine.labels.prepare)
        for write in writes:
            with pytest.raises(StoreError, match=r"can be searched and not written to; see who owns"):
                write()
        engine.refresh()
        assert_state(engine, state_after(8))
    assert listing(path) == before


@pytest.mark.parametrize("lost", ["", "recent", "main"])
def test_a_read_only_store_that_is_behind(path, locked, lost):
    """
    If part of the index is missing, it is rebuilt in another folder, and the store is unchanged.
    """
    fill(path)
    shutil.rmtree(path / INDEX / lost)
    locked()
    before = listing(path)
    with opened(path) as engine:
        assert_state(engine, state_after(8))
    assert listing(path) == before


def test_a_read_only_store_whose_writer_died(path, locked, start):
    """
    A reader also reads the write-ahead log that a killed writer left.
    """
    fill(path, 5)
    start("crash", path, "commit", "before", 5).wait(timeout=240)
    assert (path / f"{RECORDS}-wal").stat().st_size
    locked()
    with opened(path) as engine:
        assert_state(engine, state_after(6))


def let_others_read(path):
    for entry in [path, *path.rglob("*")]:
        entry.chmod(0o555 if entry.is_dir() else 0o444)
    for parent in path.parents:
        if not parent.stat().st_mode & 0o005:
            parent.chmod(parent.stat().st_mode | 0o055)


def test_another_user_searches(path, start):
    """
    A process without any write permission can search.
    """
    fill(path)
    let_others_read(path)
    output, errors = start("visit", path).communicate(timeout=240)
    assert errors == ""
    assert output.splitlines() == [f"found {len(state_after(8))}", "StoreError"]


def test_a_log_that_another_user_cannot_apply(path, start):
    """
    The error names the owner as the one to open the store.
    """
    fill(path, 5)
    start("crash", path, "commit", "before", 5).wait(timeout=240)
    (path / f"{RECORDS}-shm").unlink()
    let_others_read(path)
    output, errors = start("deny", path).communicate(timeout=240)
    assert errors == ""
    assert re.search(
        r"^StoreError .*records.db has a log that must be applied first.*open it once as its owner", output
    )


@pytest.fixture
def reader(monkeypatch):
    """
    Open a store without write permission.
    """

    def read_only(path):
        with monkeypatch.context() as patch:
            patch.setattr(embedded, "is_read_only", lambda _: True)
            return opened(path, create=False)

    return read_only


def assert_tells_to_open_again(engine):
    """
    Assert that each operation raises an error: another process wrote to the store, so it must be opened again.
    """
    ids = [f"d{number}" for number in range(60)]
    uses = [engine.count, engine.refresh, engine.largest_size, engine.fields, lambda: list(engine.scan())]
    uses += [
        lambda: matching_ids(engine),
        lambda: engine.texts(ids),
        lambda: engine.digests(ids),
        lambda: engine.resolve(ids),
    ]
    for use in uses:
        with pytest.raises(StoreError, match=r"records.db was written to since it was opened; open it again"):
            use()


@pytest.mark.parametrize("task", [("index", 5, "new"), ("write", 8)], ids=["finished", "going on"])
def test_a_read_only_store_is_written_to(path, start, reader, task):
    """
    After the owner has written, the open reader raises an error for each operation; a new engine finds all documents.
    """
    fill(path)
    with reader(path) as engine:
        owner = start("count", path)
        assert owner.communicate("\n", timeout=240) == (f"open\n{len(state_after(8))}\n", "")
        assert_state(engine, state_after(8))
        owner = start(task[0], path, *task[1:])
        assert owner.stdout.readline() in ("open\n", "8\n")
        if task[0] == "index":
            owner.communicate(timeout=240)
        assert_tells_to_open_again(engine)
        owner.kill()
        owner.wait()
    with reader(path) as engine:
        assert len(matching_ids(engine)) == engine.count() > 0


def test_a_read_only_store_next_to_its_writer(path, reader):
    """
    A reader opened while the owner still has a log finds all documents; after the next write it must be opened again.
    """
    with opened(path) as owner:
        owner.index([document("d1", "s1")])
        owner.refresh()
        with reader(path) as engine:
            assert matching_ids(engine) == ["d1"]
            owner.index([document("d1", "s2"), document("d2", "s2")])
            assert_tells_to_open_again(engine)


#: Letters with most of their text in common.
LETTERS = [
    f"Dear customer {number * 7919 % 1000}, we have received your payment of {number} pounds and {number % 97} pence "
    f"on account {number * 104729 % 99991} and thank you for your prompt attention to this matter. Yours sincerely"
    for number in range(400)
]


@pytest.fixture
def _small_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "TRAINING_BYTES", 30_000)


def read_meta(folder: Path) -> dict[str, object]:
    with closing(sqlite3.connect(folder / "records.db")) as connection:
        return dict(connection.execute("SELECT key, value FROM meta"))


def documents(first: int, last: int) -> Iterator[Document]:
    return (Document(f"letter {number}", LETTERS[number]) for number in range(first, last))


@pytest.mark.usefixtures("_small_sample")
def test_texts_with_much_in_common_take_few_bytes() -> None:
    """
    A dictionary is used after enough texts; earlier texts stay readable.
    """
    dictionaries: list[bytes] = []
    codec = TextCodec(lambda: dictionaries[0] if dictionaries else None)
    assert codec.begin(LETTERS[:50]) is None
    alone = [codec.compress(text) for text in LETTERS]
    dictionaries += filter(None, [codec.begin(LETTERS[50:])])
    assert codec.begin(LETTERS) is None
    together = [codec.compress(text) for text in LETTERS]
    assert 2 * sum(map(len, together)) < sum(map(len, alone))
    for reader in (codec, TextCodec(lambda: dictionaries[0])):
        assert [reader.decompress(compressed) for compressed in (*alone, *together, *alone)] == LETTERS * 3
    with pytest.raises(ZstdError):
        TextCodec(lambda: None).decompress(together[0])


@pytest.mark.usefixtures("_small_sample")
def test_texts_with_nothing_in_common() -> None:
    """
    Texts too short or too different for a dictionary are compressed without one.
    """
    codec = TextCodec(lambda: None)
    for texts in ([""] * 40, ["\u4e00"] * 20_000, LETTERS):
        codec.begin(texts)
        assert [codec.decompress(codec.compress(text)) for text in ("", "some", "\x00")] == ["", "some", "\x00"]


@pytest.mark.slow
@pytest.mark.usefixtures("_small_sample")
def test_a_store_keeps_its_dictionary(tmp_path: Path) -> None:
    """
    The dictionary is stored with the first texts, loaded by later engines, and never replaced.
    """
    with EmbeddedEngine(tmp_path / "store") as engine:
        engine.index(documents(0, 50))
        engine.refresh()
        assert "dictionary" not in read_meta(tmp_path / "store")
        with EmbeddedEngine(tmp_path / "store") as reader:
            engine.index(documents(50, 300))
            engine.refresh()
            made = read_meta(tmp_path / "store")["dictionary"]
            assert reader.texts(["letter 7", "letter 299"]) == {"letter 7": LETTERS[7], "letter 299": LETTERS[299]}
        engine.index(documents(300, 400))
    with EmbeddedEngine(tmp_path / "store") as engine:
        engine.index(documents(0, 400))
        assert engine.texts([f"letter {number}" for number in range(400)]) == {
            f"letter {number}": text for number, text in enumerate(LETTERS)
        }
    assert read_meta(tmp_path / "store")["dictionary"] == made


@pytest.mark.usefixtures("_small_sample")
def test_a_failed_write_leaves_no_dictionary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A failed write rolls its dictionary back; later texts do not need it.
    """
    with EmbeddedEngine(tmp_path / "store") as engine:
        put = engine._records.put
        monkeypatch.setattr(engine._records, "put", lambda record: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            engine.index(documents(0, 300))
        monkeypatch.setattr(engine._records, "put", put)
        assert "dictionary" not in read_meta(tmp_path / "store")
        engine.index(documents(0, 10))
        engine.refresh()
        assert "dictionary" not in read_meta(tmp_path / "store")
        engine.index(documents(10, 300))
        assert "dictionary" in read_meta(tmp_path / "store")
    with EmbeddedEngine(tmp_path / "store") as engine:
        assert engine.texts(["letter 3"]) == {"letter 3": LETTERS[3]}


@pytest.mark.usefixtures("_small_sample")
def test_damage_to_the_dictionary_is_reported(tmp_path: Path) -> None:
    """
    A flipped bit in the dictionary raises an error instead of a wrong text.
    """
    with EmbeddedEngine(tmp_path / "store") as engine:
        engine.index(documents(0, 300))
    raw = read_meta(tmp_path / "store")["dictionary"]
    assert isinstance(raw, bytes)
    for worse in (raw[:100] + bytes([raw[100] ^ 4]) + raw[101:], None):
        with closing(sqlite3.connect(tmp_path / "store" / "records.db")) as connection:
            connection.execute("DELETE FROM meta WHERE key = 'dictionary'")
            if worse:
                connection.execute("INSERT INTO meta VALUES ('dictionary', ?)", (worse,))
            connection.commit()
        with EmbeddedEngine(tmp_path / "store") as engine, pytest.raises(StoreError, match=r"records\.db is damaged"):
            engine.texts(["letter 3"])


class Replaced:
    """An attribute that another thread replaces after some reads."""

    def __init__(self, value: object, other: object = None, reads: int = 1) -> None:
        self.values = chain([value] * reads, repeat(other))

    def __get__(self, owner: object, kind: object) -> object:
        return next(self.values)

    def __set__(self, owner: object, value: object) -> None:
        pass


def test_caches_are_replaced_by_another_thread(sound, monkeypatch):
    """
    Reads of fields and of the index's state are right even if another thread empties their caches at any time.
    """
    with opened(sound[0]) as engine:
        records, text_index = engine._records, engine._index.text_index
        fields, reached = records.fields(), text_index.read_applied_number()
        monkeypatch.setattr(database.RecordDatabase, "_fields", Replaced(records._fields), raising=False)
        assert [records.fields(), records.fields()] == [fields, fields]
        monkeypatch.setattr(TextIndex, "_cached", Replaced(text_index._cached), raising=False)
        assert [text_index.read_applied_number(), text_index.read_applied_number()] == [reached, reached]


def test_verification_during_writes(tmp_path, monkeypatch):
    """
    A write between any two steps of the verification is not taken for damage, and damage is still found.
    """
    read_documents = database.RecordDatabase.all_documents
    with opened(tmp_path / "store") as engine:
        engine.index(DOCUMENTS)

        def write_between(records):
            for step, numbered in enumerate(read_documents(records)):
                properties = {f"of_{step}": ["a"], "DBID": [f"9{step}"]}
                engine.index([Document(f"new {step}", "a text", "its name", properties)])
                engine.delete([IDS[step]])
                yield numbered

        monkeypatch.setattr(database.RecordDatabase, "all_documents", write_between)
        assert engine.verify()
        monkeypatch.undo()
        with closing(sqlite3.connect(tmp_path / "store" / RECORDS)) as connection, connection:
            connection.execute("DELETE FROM handle WHERE value = '93'")
        with pytest.raises(StoreError, match="the handles of new 3 are not what was stored"):
            engine.verify()
