"""The two parts of the text index: searches see recent changes and the main part as one collection."""

import os
import random
import stat
import threading
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.candidate_pages import candidate_page
from tests.engine.embedded.store_process import SCHEME, document
from tests.engine.embedded.stores import matching_ids, opened
from tests.oracle import Oracle
from whorl.engine.embedded import store_index, text_index
from whorl.engine.embedded.store_files import INDEX, IndexBrokenError
from whorl.errors import StoreError
from whorl.model import Document
from whorl.query.plan.nodes import Bool, BoundNode, BoundPlan, MatchAll, Words

WORDS = ["red", "green", "blue"]
PLANS: list[BoundNode] = [
    MatchAll(1.0),
    Words("red"),
    Bool(should=tuple(Words(word, weight=2.0**at) for at, word in enumerate(WORDS)), min_should_match=1),
    Bool(must=(MatchAll(),), must_not=(Words("blue"),)),
]


@pytest.fixture
def small(monkeypatch):
    """
    The small part takes five documents.
    """
    monkeypatch.setattr(text_index, "MOST_RECENT", 5)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("index"), st.lists(st.tuples(st.integers(0, 20), st.lists(st.sampled_from(WORDS))))),
        st.tuples(st.just("delete"), st.lists(st.integers(0, 20), max_size=4)),
        st.tuples(st.sampled_from(["refresh", "reopen"]), st.none()),
    ),
    max_size=12,
)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(steps=STEPS, start=st.integers(0, 25), rows=st.integers(0, 25))
def test_pages_over_both_parts(small, tmp_path_factory, steps, start, rows):
    """
    After any sequence of writes, every page equals the oracle's, for the writer and for a reader.
    """
    path = tmp_path_factory.mktemp("parts") / "store"
    stored: dict[str, Document] = {}
    with ExitStack() as stack:
        engine = stack.enter_context(opened(path))
        reader = stack.enter_context(opened(path))
        for step, what in steps:
            if step == "index":
                documents = [Document(f"d{number}", " ".join(words)) for number, words in what]
                engine.index(documents)
                stored |= {document.id: document for document in documents}
            elif step == "delete":
                ids = {f"d{number}" for number in what}
                assert engine.delete(ids) == len(ids & stored.keys())
                stored = {name: stored[name] for name in stored.keys() - ids}
            elif step == "refresh":
                engine.refresh()
            else:
                engine.close()
                engine = stack.enter_context(opened(path))
        engine.refresh()
        oracle = Oracle(stored.values(), SCHEME)
        for root in PLANS:
            plan = BoundPlan(root)
            expected = oracle.hits(plan)
            for index in (engine, reader):
                page = index.search(plan, start=start, rows=rows)
                assert page.total == len(expected)
                assert [(hit.id, hit.score) for hit in page.hits] == expected[start : start + rows]


def main_files(path):
    return sorted(file.name for file in (path / INDEX / "main").iterdir())


@pytest.mark.slow
def test_small_changes_leave_the_main_part_alone(path):
    """
    Adding and deleting single documents writes nothing to the main part, so its segments are not merged.
    """
    with opened(path) as engine:
        engine.index(document(f"d{number}", "s") for number in range(300))
        engine.refresh()
        before = main_files(path)
        for number in range(25):
            engine.index([document(f"e{number}", "s")])
            engine.refresh()
            assert engine.delete([f"d{number}"]) == 1
        assert main_files(path) == before
        assert len(matching_ids(engine)) == engine.count() == 300


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o700])
def test_users_who_may_read_the_folder_may_read_its_files(small, path, mode):
    """
    After commits to both parts and a merge, all files of the index have the permissions of their folder.
    """
    before = os.umask(0o777 & ~mode)
    try:
        for number in range(14):
            with opened(path) as engine:
                engine.index([document(f"d{number}", "s")])
    finally:
        os.umask(before)
    files = [file for file in (path / INDEX).rglob("*") if file.is_file()]
    assert {"main", "recent", "tokens"} == {file.parent.name for file in files}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {mode & 0o666}


@pytest.mark.slow
def test_the_small_part_moves_into_the_main_one(small, path):
    """
    A full small part is moved into the main part and starts empty.
    """
    with opened(path) as engine:
        for number in range(13):
            engine.index([document(f"d{number}", "s")])
            engine.refresh()
            assert len(matching_ids(engine)) == number + 1
        snapshot = engine._index.text_index._snapshot()
        assert (snapshot.base, snapshot.applied, snapshot.changed) == (12, 13, frozenset({"d12"}))


def test_a_small_part_of_another_time(small, path, tmp_path):
    """
    A small part that is older than the main part is ignored.
    """
    with opened(path) as engine:
        engine.index([document(f"d{number}", "old") for number in range(4)])
    (path / INDEX / "recent").rename(tmp_path / "recent")
    with opened(path) as engine:
        engine.index([document(f"d{number}", "new") for number in range(9)])
        engine.delete(["d3"])
    with ExitStack() as stack:
        if (path / INDEX / "recent").exists():
            (path / INDEX / "recent").rename(tmp_path / "newer")
        (tmp_path / "recent").rename(path / INDEX / "recent")
        engine = stack.enter_context(opened(path))
        assert matching_ids(engine) == [f"d{number}" for number in range(9) if number != 3]
        assert matching_ids(engine, BoundPlan(Words("old"))) == []


@pytest.mark.parametrize("is_full", [False, True])
def test_a_writer_that_cannot_end(path, monkeypatch, is_full):
    """
    If merging fails at the end of a write, a full disk is a StoreError and other damage is repaired; then others can
    write.
    """
    with opened(path) as engine, opened(path, wait_seconds=0.0) as other:
        engine.index([document("a", "s")])
        with monkeypatch.context() as patch:

            def broken(_):
                patch.undo()
                raise IndexBrokenError("a merge died", is_full=is_full)

            patch.setattr(store_index.StoreIndexWriter, "close", broken)
            if is_full:
                with pytest.raises(StoreError, match="no room left on the disk"):
                    engine.refresh()
            else:
                engine.refresh()
        other.index([document("b", "s")])
        other.refresh()
        assert matching_ids(engine) == matching_ids(other) == ["a", "b"]


@pytest.mark.slow
def test_pages_keep_their_order_during_writes(path):
    """
    Equal scores are in the order of their ids, across both parts and all segments.
    """
    chosen = random.Random(1)
    with opened(path) as engine, opened(path) as writer:
        engine.index([document(f"d{number:03}", "s") for number in range(300)])
        engine.refresh()
        pages: list[list[str]] = []
        for start in range(0, 300, 30):
            page = candidate_page(engine, BoundPlan(MatchAll(1.0)), start=start, rows=30)
            pages.append([hit.id for hit, _ in page.hits])
            writer.index([document(f"d{chosen.randrange(300):03}", f"s{start}") for _ in range(3)])
            writer.refresh()
        assert [hit for page in pages for hit in page] == [f"d{number:03}" for number in range(300)]


def test_merges_run_during_uploads(small, path, monkeypatch):
    """
    While segments of the main part are merged, this engine writes and searches, and other engines have to wait for
    writing.
    """
    release, ends = threading.Event(), store_index.StoreIndexWriter.close

    def slow(writer):
        merged = ends(writer)
        return merged and (lambda: (release.wait(), merged()))

    with opened(path) as engine, opened(path, wait_seconds=0.0) as other, ExitStack() as stack:
        stack.callback(release.set)
        monkeypatch.setattr(store_index.StoreIndexWriter, "close", slow)
        engine.index([document(f"d{number}", "s") for number in range(9)])
        engine.refresh()
        for number in range(3):
            engine.index([document(f"e{number}", "s")])
            engine.refresh()
            assert len(matching_ids(engine)) == len(matching_ids(other)) == 10 + number
        with pytest.raises(StoreError, match="another process is writing"):
            other.index([document("f", "s")])
        release.set()
        # More documents than the small part holds, so this write waits for the merges.
        engine.index([document(f"g{number}", "s") for number in range(9)])
        engine.refresh()
        engine.close()
        other.index([document("f", "s")])
        other.refresh()
        assert len(matching_ids(other)) == 9 + 3 + 9 + 1


def test_no_thread_for_the_merges(small, path, monkeypatch):
    """
    Without a thread for merges the writer waits for them, the lock is released, and closing ends.
    """

    def start(thread):
        raise RuntimeError("can't start new thread")

    engine = opened(path)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        engine.index([document(f"d{number}", "s") for number in range(9)])
        engine.refresh()
    with opened(path, wait_seconds=0.0) as other:
        other.index([document("e", "s")])
    assert len(matching_ids(engine)) == 10
    engine.close()


def test_holders_of_phrases_and_names_after_changes(small, tmp_path):
    """
    Phrases and names are those of each document's last version, in both parts and for a reader.
    """
    texts = {str(number): f"one two three four {number}" for number in range(30)}
    with opened(tmp_path / "store") as engine, opened(tmp_path / "store") as reader:
        engine.index([Document(own, text, name=f"old {own}") for own, text in texts.items()])
        engine.refresh()
        reader.refresh()
        for index in (engine, reader):
            assert index.names(["3", "4"]) == {"3": "old 3", "4": "old 4"}
            assert index.find_documents_with_phrases([("two", "three")]) == set(texts)
        engine.index([Document("3", "one two", name="new 3"), Document("30", "two three", name="new 30")])
        engine.delete(["4"])
        engine.refresh()
        reader.refresh()
        for index in (engine, reader):
            assert index.names(["3", "4", "30"]) == {"3": "new 3", "30": "new 30"}
            assert index.find_documents_with_phrases([("two", "three")]) == {*texts, "30"} - {"3", "4"}
            assert index.find_documents_with_phrases([("one", "two"), ("three", "two")]) == set(texts) - {"4"}
            assert index.find_documents_with_phrases([("none",)]) == set()
        # A larger write changes the main part, so cached positions of its documents are invalid.
        engine.index([Document(str(number), "two three") for number in range(10, 20)])
        engine.refresh()
        reader.refresh()
        changed = {*map(str, range(10, 20))}
        for index in (engine, reader, engine, reader):
            assert index.find_documents_with_phrases([("one", "two")]) == set(texts) - {"4"} - changed
            assert index.find_documents_with_phrases([("two", "three")]) == {*texts, "30"} - {"3", "4"}
            assert set(index.find_known_phrases([("one", "two"), ("three", "two"), ("three", "29")]) or ()) == {
                ("one", "two")
            }
