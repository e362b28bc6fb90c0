"""Novelty check of new documents, before and after they are stored, compared with plain sets of shingles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.families import family_documents, true_pairs
from whorl import Document, open_store
from whorl.errors import DocumentError, ParameterError
from whorl.search.repeats_of_new_documents import MOST_REPEATED, RepeatSearch

DOCUMENTS = family_documents(12, seed=8, longest=300)


def test_before_and_after_storing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Before storing, each document repeats stored documents other than itself; after storing, earlier documents of the
    store or of the run.
    """
    monkeypatch.setattr("whorl.search.repeats_of_new_documents.MOST_REPEATED", 100)
    expected = true_pairs(DOCUMENTS, "jaccard", 80)
    half = len(DOCUMENTS) // 2
    there, new = DOCUMENTS[:half], DOCUMENTS[half:]
    with open_store(tmp_path / "store") as store:
        store.index(there)
        repeats = RepeatSearch(store, 80)
        repeats_by_id = {document.id: repeats.find_for_new(document) for document in DOCUMENTS}
        for document in DOCUMENTS:
            theirs = {pair.id for pair in there if frozenset((pair.id, document.id)) in expected}
            repeats_of_document = repeats_by_id[document.id]
            assert theirs == (
                set() if repeats_of_document is None else {similar.hit.id for similar in repeats_of_document.found}
            )
        assert store.count() == len(there)
        stored: list[str] = []
        store.index(DOCUMENTS, batch=5, on_stored=lambda document: stored.append(document.id))
        assert stored == [document.id for document in new]
        before = {document.id: at for at, document in enumerate(DOCUMENTS)}
        later = {
            (pair, document_id)
            for pair in expected
            for document_id in pair
            if before[document_id] >= half and all(before[other] <= before[document_id] for other in pair)
        }
        as_stored = {
            repeats_of_document.id: {similar.hit.id for similar in repeats_of_document.found}
            for repeats_of_document in repeats.find_for_stored(stored)
        }
        assert later
        assert as_stored == {
            document_id: {other for pair, one in later if one == document_id for other in pair if other != document_id}
            for _, document_id in later
        }


def test_the_most_similar_copies_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The most similar copies are reported even if many later copies fill several pages of hits; ids may have any
    characters.
    """
    monkeypatch.setattr("whorl.search.repeats_of_new_documents._AT_ONCE", 5)
    text = " ".join(f"w{at}" for at in range(40))
    with open_store(tmp_path / "store") as store:
        store.index([Document("source", text)])
        copies = [Document(f"a{at:03}", text) for at in range(23)]
        store.index(copies)
        repeats = list(RepeatSearch(store, "0.9").find_for_stored(copy.id for copy in copies))
        assert [repeat.id for repeat in repeats] == [copy.id for copy in copies]
        assert [similar.hit.id for similar in repeats[0].found] == ["source"]
        assert [len(repeat.found) for repeat in repeats[-2:]] == [MOST_REPEATED] * 2
        again = RepeatSearch(store, 90).find_for_new(Document("b", text))
        assert again is not None
        assert len(again.found) == MOST_REPEATED


def test_documents_that_repeat_nothing(tmp_path: Path) -> None:
    """
    Documents too short to compare, or deleted in the meantime, repeat nothing; another metric reports contained parts.
    """
    text = " ".join(f"w{at}" for at in range(40))
    with open_store(tmp_path / "store") as store:
        more = " ".join(f"x{at}" for at in range(40))
        store.index([Document("a", f"{text} {more}"), Document("source", "few words")])
        assert RepeatSearch(store, 80).find_for_new(Document("n", "few words")) is None
        assert RepeatSearch(store, 80).find_for_new(Document("n", text)) is None
        part = RepeatSearch(store, 80, "a_in_b").find_for_new(Document("n", text))
        assert part is not None
        assert [similar.hit.id for similar in part.found] == ["a"]
        assert list(RepeatSearch(store, 80).find_for_stored(["gone", "source"])) == []
        for threshold, metric in ((0, "jaccard"), (80, "likeness")):
            with pytest.raises(ParameterError):
                RepeatSearch(store, threshold, metric)


def test_items_that_are_no_documents(tmp_path: Path) -> None:
    """
    An item of another type is whorl's own error.
    """
    item: Any = None
    with open_store(tmp_path / "store") as store, pytest.raises(DocumentError, match="got None instead of a Document"):
        RepeatSearch(store, 50).find_for_new(item)
