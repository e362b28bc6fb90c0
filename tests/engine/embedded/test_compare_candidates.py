"""Many candidates: overlaps from the index are those of the texts, also of documents that have just changed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.families import shingles
from whorl.engine.embedded import search as stored_candidates
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.engine.embedded.search import FEW_CANDIDATES, StoredCandidates
from whorl.engine.embedded.store_files import IndexBrokenError
from whorl.engine.embedded.store_index import StoreIndex
from whorl.errors import StoreError
from whorl.fingerprint.sketch.frac_minhash import Sketch, lookup_numbers
from whorl.model import Document
from whorl.query.plan.nodes import BoundPlan, SketchTokens


def near_copies(count: int) -> list[Document]:
    """Return copies of a text with runs of words replaced, and more words; some have more than 128 shingles."""
    chance = random.Random(6)
    words = [f"w{at}" for at in range(120)]
    made = []
    for number in range(count):
        at, length = chance.randrange(110), chance.choice((0, 3, 9, 40))
        copy = [*words[:at], *(f"x{chance.randrange(9)}" for _ in range(length)), *words[at + length :]]
        more = (f"y{number}y{at}" for at in range(chance.choice((0, 5, 30))))
        made.append(Document(f"copy {number:03}", " ".join([*copy, *more]), f"name {number}"))
    return made


DOCUMENTS = {document.id: document for document in near_copies(150)}
SOURCE = "copy 000"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EmbeddedEngine]:
    with EmbeddedEngine(tmp_path / "store") as opened:
        opened.index([*DOCUMENTS.values()][:100])
        opened.refresh()
        opened.index([*DOCUMENTS.values()][100:])
        opened.refresh()
        yield opened


def candidates_of(engine: EmbeddedEngine, rows: int = 1_000, start: int = 0) -> tuple[StoredCandidates, Sketch]:
    sketch = engine.sketches([SOURCE])[SOURCE]
    plan = SketchTokens(SOURCE, sketch.scheme, tuple(lookup_numbers(sketch).tolist()), 1, 1, None)
    page = engine.candidates(BoundPlan(plan), start=start, rows=rows)
    assert isinstance(page, StoredCandidates)
    return page, sketch


def overlaps(page: StoredCandidates, source: Sketch, *left_out: str) -> dict[str, tuple[int, int]]:
    """Return the size and the number of shared shingles of each candidate by id."""
    positions, result = page.compare(source, left_out)
    return dict(zip(page.ids(positions), zip(result.sizes.tolist(), result.shared.tolist(), strict=True), strict=True))


def expected(documents: dict[str, Document]) -> dict[str, tuple[int, int]]:
    own = shingles(DOCUMENTS[SOURCE].text)
    others = {name: shingles(document.text) for name, document in documents.items()}
    return {name: (len(other), len(own & other)) for name, other in others.items() if own & other}


def test_overlaps_are_those_of_the_texts(engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Sizes and shared shingles are those of the words, for documents in several segments, short or not; records of short
    ones are read only for their names. A damaged index is not trusted.
    """
    page, source = candidates_of(engine)
    assert len({size > 128 for size, _ in expected(DOCUMENTS).values()}) == 2
    assert (page.total, len(page)) == (150, 150)
    assert overlaps(page, source) == expected(DOCUMENTS)
    assert overlaps(page, source, SOURCE, "copy 149", "gone").keys() == DOCUMENTS.keys() - {SOURCE, "copy 149"}
    names = {hit.id: hit.name for hit in page.fetch_hits(range(150)).values()}
    assert names == {name: document.name for name, document in DOCUMENTS.items()}

    def broken(*_: object) -> None:
        raise IndexBrokenError("damaged")

    monkeypatch.setattr(stored_candidates, "shared_counts", broken)
    assert overlaps(page, source) == expected(DOCUMENTS)


def test_pages_are_the_best_in_order(engine: EmbeddedEngine) -> None:
    """
    A page has the candidates that share most hashes in the index; equal ones are in the order of their ids.
    """
    hashes = {name: {*lookup_numbers(sketch).tolist()} for name, sketch in engine.sketches(list(DOCUMENTS)).items()}
    shared = {name: -len(hashes[SOURCE] & own) for name, own in hashes.items()}
    in_order = sorted(shared, key=lambda name: (shared[name], name))
    for start in (0, 50):
        page, _ = candidates_of(engine, 50, start)
        assert (page.total, set(page.ids(range(50)))) == (150, set(in_order[start : start + 50]))


def test_documents_newer_than_the_index(engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A document deleted after the index was read is not a candidate; a replaced one is compared by its new text.
    """
    changed = {"copy 003": Document("copy 003", DOCUMENTS[SOURCE].text)}
    before = engine._index.tokens()
    monkeypatch.setattr(StoreIndex, "tokens", lambda self: before)
    engine._records._writer.execute("BEGIN IMMEDIATE")
    engine._records.remove(["copy 001"])
    engine._records._writer.execute("COMMIT")
    engine.index(changed.values())
    page, source = candidates_of(engine)
    left = {name: document for name, document in DOCUMENTS.items() if name != "copy 001"}
    assert (page.total, len(page)) == (149, 149)
    assert overlaps(page, source) == expected(left | changed)


def test_a_lost_document_is_an_error(engine: EmbeddedEngine) -> None:
    """
    A hit that is missing in the records, without having been deleted, is damage.
    """
    engine._records._writer.execute("DELETE FROM document WHERE id = 'copy 007'")
    page, _ = candidates_of(engine)
    with pytest.raises(StoreError, match="damaged"):
        page.fetch_hits(range(150))


def test_few_candidates_are_read_at_once(engine: EmbeddedEngine) -> None:
    sketch = engine.sketches([SOURCE])[SOURCE]
    plan = SketchTokens(SOURCE, sketch.scheme, tuple(lookup_numbers(sketch).tolist()), 1, 1, None)
    assert not isinstance(engine.candidates(BoundPlan(plan), start=0, rows=FEW_CANDIDATES), StoredCandidates)
