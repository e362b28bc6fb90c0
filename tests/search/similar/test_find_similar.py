"""Calibrated search in small stores: verified candidates, pages and warnings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.search.similar.copies import Watched
from whorl import Document, Page, Similar, Store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.errors import ParameterError, UnknownDocumentError
from whorl.fingerprint.shingling import Scheme
from whorl.search.similar import find_similar


def test_a_candidate_that_moves_counts_once(store: Store, engine: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A candidate that appears on two pages because of concurrent writes is one hit.
    """
    monkeypatch.setattr(Watched, "has_lazy_candidates", lambda *_: False)
    monkeypatch.setattr(find_similar, "CANDIDATES_AT_ONCE", 7)
    quiet = store.similar("whole", threshold=20, rows=100)
    engine.shifted = True
    page = store.similar("whole", threshold=20, rows=100)
    ids = [hit.hit.id for hit in page.found]
    assert len(ids) == len(set(ids))
    assert set(ids) <= {hit.hit.id for hit in quiet.found}


def test_unknown_sources(store: Store) -> None:
    """
    An unknown source is an error in `similar`; in a query it matches nothing and causes a warning.
    """
    with pytest.raises(UnknownDocumentError):
        store.similar("gone")
    page = store.search("FINGERPRINT:gone_20 OR kind:shor", plan="calibrated")
    assert [hit.id for hit in page.hits] == ["short"]
    assert page.warnings == ("the store has no document 'gone'",)
    assert store.search("FINGERPRINT:gone_20").warnings == page.warnings
    with pytest.raises(ParameterError, match="metric must be"):
        store.prepare("FINGERPRINT:whole", metric="alike", plan="calibrated")


def test_pages_are_parts_of_one_order(store: Store) -> None:
    """
    The total is that of all hits on every page, and the pages together contain all hits in order.
    """
    whole = store.similar("whole", threshold=20, rows=100)
    pages = [store.similar("whole", threshold=20, start=start, rows=3) for start in range(0, whole.total + 3, 3)]
    assert {page.total for page in pages} == {whole.total} == {len(whole.found)}
    assert [hit for page in pages for hit in page.found] == list(whole.found)


def test_more_candidates_than_are_verified(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Only the best candidates are verified; the total is projected from them, with a warning.
    """
    everything = store.similar("whole", threshold=30, rows=100)
    monkeypatch.setattr(find_similar, "MOST_VERIFIED", 4)
    monkeypatch.setattr(find_similar, "CANDIDATES_AT_ONCE", 2)
    page = store.similar("whole", threshold=30, rows=100)
    assert page.candidates == everything.candidates > 4
    assert not page.is_total_exact
    assert page.total == round(len(page.found) * page.candidates / 4)
    assert "projected" in page.warnings[-1]
    assert {hit.hit.id for hit in page.found} < {hit.hit.id for hit in everything.found}


@pytest.mark.parametrize("with_sketches", [True, False])
def test_a_text_with_fewer_words_than_a_shingle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_sketches: bool
) -> None:
    """
    The warning has the store's shingle size, with sketches and with tokens.
    """
    if not with_sketches:
        monkeypatch.setattr(EmbeddedEngine, "sketch_scheme", None)
    with Store(EmbeddedEngine(tmp_path / "store", scheme=Scheme(shingle_size=3))) as store:
        store.index([Document("a", "one two three")])
        results: list[Similar | Page] = [
            store.similar(source="two words"),
            store.search("FINGERPRINT:source", source="two words", plan="calibrated"),
            store.search("FINGERPRINT:source", source="two words"),
        ]
    message = "the text 'source' has no fingerprint: it has fewer than 3 words"
    assert [(page.total, page.warnings) for page in results] == [(0, (message,))] * 3
