"""Text index and token index of one store: written together, and consistent after a crash between two commits."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.engine.embedded.store_process import document
from tests.engine.embedded.stores import EVERYTHING, matching_ids, opened
from whorl import Document
from whorl.engine.embedded import text_index
from whorl.engine.embedded.store_files import INDEX
from whorl.engine.embedded.text_index import TextIndexWriter
from whorl.query.plan.nodes import Bool, BoundLeaf, BoundPlan, SharedTokens, Words


def same(engine, document_id: str) -> BoundPlan:
    """Return a query for the documents with all tokens of a document."""
    tokens = engine.signatures({document_id: True})[document_id].integers
    return BoundPlan(SharedTokens(document_id, tokens, len(tokens)))


def test_tokens_and_words_in_one_query(path: Path) -> None:
    """
    Tokens and words can be combined in one query: hits and scores are right for each combination.
    """
    with opened(path) as engine:
        engine.index([document(f"d{number}", "s") for number in range(5)])
        engine.refresh()
        tokens = engine.signatures({"d3": True})["d3"].integers
        shared = SharedTokens("d3", tokens, len(tokens))
        assert matching_ids(engine, BoundPlan(shared)) == ["d3"]
        assert matching_ids(engine, BoundPlan(Bool(must=(shared, Words("alpha", weight=0.0))))) == ["d3"]
        assert matching_ids(engine, BoundPlan(Bool(must=(shared, Words("d4"))))) == []
        others: Bool[BoundLeaf] = Bool(must=(Words("alpha"),), must_not=(shared,))
        assert matching_ids(engine, BoundPlan(others)) == ["d0", "d1", "d2", "d4"]
        both = engine.search(BoundPlan(Bool(should=(shared, Words("d4")), min_should_match=1)), start=0, rows=9)
        assert [(hit.id, hit.score) for hit in both.hits] == [("d3", len(tokens)), ("d4", 1.0)]


@pytest.mark.parametrize("is_published", [True, False])
@pytest.mark.parametrize("most_recent", [0, 3, 100])
def test_a_document_stored_again(
    path: Path, monkeypatch: pytest.MonkeyPatch, most_recent: int, is_published: bool
) -> None:
    """
    A document that was deleted and stored again is in the index once, with its last words. This holds for both parts of
    the index, and whether or not the deletion was committed before.
    """
    monkeypatch.setattr(text_index, "MOST_RECENT", most_recent)
    with opened(path) as engine:
        engine.index([Document("old", "one two"), *(Document(f"first {number}", "other") for number in range(4))])
        engine.refresh()
        folder = (path / INDEX).stat().st_ino
        engine.delete(["old"])
        engine.index([Document("new", "one three")])
        engine.index([Document("new", "one four")])
        engine.delete(["new"])
        if is_published:
            engine.refresh()
        others = [Document(f"other {number}", "other") for number in range(3)]
        engine.index([*others, Document("new", "one five"), Document("old", "one six")])
        engine.refresh()
        words = ("one", "two", "three", "four", "five", "six")
        found = {word: sorted(matching_ids(engine, BoundPlan(Words(word)))) for word in words}
        # A rebuild would replace the folder and hide a mistake.
        assert (path / INDEX).stat().st_ino == folder
    assert found == {
        "one": ["new", "old"],
        "two": [],
        "three": [],
        "four": [],
        "five": ["new"],
        "six": ["old"],
    }


def test_a_crash_between_tokens_and_words(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    After a crash, the tokens can be newer than the words; the next refresh brings both to the same state.
    """
    with opened(path) as engine:
        engine.index([document("a", "s1")])
        engine.refresh()

        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(TextIndexWriter, "commit", interrupted)
            engine.index([document("a", "s2"), document("b", "s2")])
            with pytest.raises(KeyboardInterrupt):
                engine.refresh()
        reached = engine._index.read_applied_numbers()
        assert reached is not None
        least, most = reached
        assert least < most
        engine.refresh()
        assert engine._index.read_applied_numbers() == (most, most)
        assert matching_ids(engine) == matching_ids(engine, BoundPlan(Words("s2"))) == ["a", "b"]
        assert matching_ids(engine, same(engine, "a")) == ["a"]


def test_an_id_that_is_back_has_a_new_number(path: Path) -> None:
    """
    If a document is deleted and stored again before the journal is applied, only the new one is found.
    """
    with opened(path) as engine:
        engine.index([document("a", "s1"), document("b", "s1")])
        engine.refresh()
        shutil.copytree(path / INDEX, path.with_name("old"))
        engine.delete(["a"])
        engine.index([document("a", "s2")])
    shutil.rmtree(path / INDEX)
    path.with_name("old").rename(path / INDEX)
    with opened(path) as engine:
        assert matching_ids(engine) == ["a", "b"]
        assert matching_ids(engine, BoundPlan(Words("s1"))) == ["b"]
        assert matching_ids(engine, same(engine, "a")) == ["a"]
        assert engine.search(EVERYTHING, start=0, rows=0).total == 2


@pytest.mark.parametrize("lost", ["tokens", "main", "recent"])
def test_a_lost_part_is_rebuilt(path: Path, lost: str) -> None:
    """
    After one of the two indexes is damaged, searches return the same hits.
    """
    with opened(path) as engine:
        engine.index([document(f"d{number}", "s") for number in range(3)])
    shutil.rmtree(path / INDEX / lost)
    with opened(path) as engine:
        assert matching_ids(engine, BoundPlan(Words("alpha"))) == ["d0", "d1", "d2"]
        assert matching_ids(engine, same(engine, "d1")) == ["d1"]


def test_many_documents_of_one_score(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The hits are the same whether tantivy gets the counted documents one by one or as a set.
    """
    with opened(path) as engine:
        engine.index([document(f"d{number}", "s") for number in range(9)])
        engine.refresh()
        shared = SharedTokens("d0", engine.signatures({"d0": True})["d0"].integers)
        plan = BoundPlan(Bool(must=(shared, Words("alpha"))))
        before = engine.search(plan, start=0, rows=20)
        assert before.total == 9
        monkeypatch.setattr("whorl.engine.embedded.tantivy_query._FEW_NUMBERS", 1)
        assert engine.search(plan, start=0, rows=20) == before
