"""Tests of exact verification on whole texts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.duplicates.results import ids
from tests.families import family_documents, shingles, true_pairs
from whorl import Document, open_store
from whorl.duplicates.options import DuplicatesOptions, parse_pair_options
from whorl.duplicates.pairs import Pairs
from whorl.duplicates.run import duplicates_in
from whorl.duplicates.verify_by_texts import _groups_to_read
from whorl.fingerprint.fingerprint_texts import text_sketch
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import SketchScheme


@pytest.mark.slow
def test_a_store_gives_the_pairs_of_its_documents(tmp_path: Path) -> None:
    """
    With partial sketches of large documents, texts decide the open cases: no pair is wrong, and few pairs are missed.
    """
    documents = family_documents(40, seed=9, longest=6_000)
    large = {document.id for document in documents if len(shingles(document.text)) > 1024}
    assert len(large) > 15
    with open_store(tmp_path / "store") as store:
        store.index(documents)
        for metric, percent in (("jaccard", 80), ("jaccard", 90), ("containment", 80)):
            expected = set(true_pairs(documents, metric, percent))
            with duplicates_in(store.engine, parse_pair_options(metric, percent, 95)) as duplicates:
                there = set(ids(duplicates.pairs()))
                assert duplicates.documents == len(documents)
            assert there <= expected
            assert len(there) >= 0.95 * len(expected)


def test_equal_sketches_of_different_texts_are_no_copies(tmp_path: Path) -> None:
    """
    Large documents with equal sketches are distinguished by their texts, if the threshold requires it.
    """
    words = [f"w{at}" for at in range(5_000)]
    sketch = text_sketch(" ".join(words), Scheme(), SketchScheme())
    assert not sketch.is_complete
    # Each edit replaces one word; in the chosen text none of the ten changed shingles is in the sketch.
    edits = (" ".join([*words[:at], "other", *words[at + 1 :]]) for at in range(10, 4_000, 10))
    edited = next(text for text in edits if text_sketch(text, Scheme(), SketchScheme()) == sketch)
    with open_store(tmp_path / "store") as store:
        store.index([Document("a", " ".join(words)), Document("b", " ".join(words)), Document("edited", edited)])
        with duplicates_in(
            store.engine, DuplicatesOptions(parse_pair_options("jaccard", 100, 95), state=tmp_path / "state")
        ) as duplicates:
            assert ids(duplicates.pairs()) == [frozenset(("a", "b"))]
        with duplicates_in(
            store.engine, DuplicatesOptions(parse_pair_options("jaccard", 100, 95), state=tmp_path / "state")
        ) as duplicates:
            assert ids(duplicates.pairs()) == [frozenset(("a", "b"))]
        with duplicates_in(store.engine, parse_pair_options("jaccard", 80, 95)) as duplicates:
            (cluster,) = duplicates.clusters()
            assert [member.id for member in cluster.members] == ["a", "b", "edited"]
            assert [match.is_exact for match in cluster.matches] == [True, False, False]


def test_undecided_pairs_are_verified_by_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Just above the threshold all shingles are counted; if a text is missing, the estimate from the sketches stays.
    """
    words = [f"w{at}" for at in range(6_000)]
    near = Document("near", " ".join([*words[:5_450], "and", "no", "more"]))
    with open_store(tmp_path / "store") as store:
        store.index([Document("whole", " ".join(words)), near])
        with duplicates_in(store.engine, parse_pair_options("jaccard", 90, 95)) as duplicates:
            (pair,) = duplicates.pairs()
            # The first text has 5,446 of the 5,996 shingles of the second, and three more.
            assert (pair.is_exact, pair.shares.jaccard) == (True, 5_446 / 5_999)
        monkeypatch.setattr(store.engine, "texts", lambda ids: {})
        with duplicates_in(store.engine, parse_pair_options("jaccard", 90, 95)) as duplicates:
            (pair,) = duplicates.pairs()
            assert not pair.is_exact


def test_few_texts_are_read_at_once() -> None:
    """
    Pairs are read in order, in groups of at most 64 documents and about half a million shingles; a group of one pair
    may be larger.
    """
    sizes = np.full(200, 10)
    sizes[3] = 10**6
    a, b = np.arange(0, 199), np.arange(1, 200)
    pairs = Pairs(a, b, sizes[a], sizes[b], sizes[a], sizes[a], sizes[a])
    groups = [group.tolist() for group in _groups_to_read(np.arange(199), pairs)]
    assert [at for group in groups for at in group] == list(range(199))
    assert groups[:3] == [[0, 1], [2], [3]]
    for group in groups[3:]:
        assert len({*a[group].tolist(), *b[group].tolist()}) <= 64
    assert len(groups) < 8
