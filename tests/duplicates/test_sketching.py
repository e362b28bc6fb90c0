"""Tests of sketches made in batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from whorl.arrays_and_batches import batches
from whorl.duplicates.options import DuplicatesOptions
from whorl.duplicates.retention import Keep
from whorl.duplicates.run import FILES_SCHEME
from whorl.duplicates.sketch_arrays import Sketches
from whorl.duplicates.sketching import Sketching, group_of
from whorl.fingerprint.fingerprint_texts import text_sketch
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import SketchScheme
from whorl.model import Document

TEXTS = [
    "",
    "one",
    "one two three four",
    "four three two one zero",
    "one two three four",
    "x" * 300,
    "é è e",
    "one two",
]


@pytest.mark.parametrize("scheme", [FILES_SCHEME, SketchScheme(k=2, floor_level=0, cap=2, lookup_k=1)])
def test_sketches_of_a_batch_equal_those_of_single_texts(scheme: SketchScheme) -> None:
    """
    Sketches from batches equal sketches of single texts, also of repeated texts and of texts larger than a sketch.
    """
    sketching = Sketching(DuplicatesOptions(scheme=Scheme(shingle_size=2)), scheme)
    documents = [Document(str(at), text) for at, text in enumerate(TEXTS)]
    for batch, made in sketching.sketch(batches(documents, 5)):
        held = Sketches(scheme, made.sizes, made.starts, made.counts, made.hashes)
        expected = [text_sketch(document.text, sketching.options.scheme, scheme) for document in batch]
        assert [held.sketch(at) for at in range(len(batch))] == expected
        for a in range(len(batch)):
            for b in range(len(batch)):
                assert (made.keys[a] == made.keys[b]) == (expected[a] == expected[b])
        assert np.isnan(made.ranks).all()


def test_parts_of_a_collection_have_different_hashes() -> None:
    """
    Equal texts have equal hashes within a part of the collection, and no common hash in different parts.
    """
    options = DuplicatesOptions(scheme=Scheme(shingle_size=1), keep=Keep("largest", "q"), within="lang")
    sketching = Sketching(options, FILES_SCHEME)
    langs = ["de", "en", "de", None]
    documents = [
        Document(str(at), "one two three", properties={"lang": lang, "q": at} if lang else {})
        for at, lang in enumerate(langs)
    ]
    ((_, made),) = sketching.sketch([documents])
    sets = [set(made.hashes[start : start + 3].tolist()) for start in made.starts.tolist()]
    assert sets[0] == sets[2]
    assert not sets[0] & sets[1]
    assert not sets[0] & sets[3]
    assert made.ranks[:3].tolist() == [0, 1, 2]
    assert np.isnan(made.ranks[3])
    assert made.keys[0] == made.keys[2] != made.keys[1]


def test_equal_numbers_are_one_part() -> None:
    """
    A whole number and an equal float name the same part of a collection; other values keep their own parts.
    """
    values: list[Any] = [7, 7.0, "7", 7.5, "7.0", True, -0.0, 0, (1, 2.0), (1.0, 2), 1e300]
    documents = [Document(str(at), "text", properties={"site": value}) for at, value in enumerate(values)]
    parts = [group_of(document, "site") for document in documents]
    assert parts == ["7", "7", "7", "7.5", "7.0", "True", "0", "0", "1\0002", "1\0002", str(int(1e300))]
    assert (group_of(Document("a", "text"), "site"), group_of(documents[0], None)) == ("", "")
