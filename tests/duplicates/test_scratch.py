"""Tests of the temporary sketch store."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.families import family_documents
from whorl.duplicates.archive import Entry
from whorl.duplicates.options import ask_pairs
from whorl.duplicates.pairs import find_pairs
from whorl.duplicates.scratch import Scratch
from whorl.duplicates.verify import Pairs
from whorl.fingerprint.batch import text_sketch
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import SketchScheme

SCHEME = SketchScheme(k=1 << 20, floor_level=0, cap=1 << 20, bits=40)


def entry(document_id: str, text: str, worth: float | None = None) -> Entry:
    name = f"the {document_id}\n"
    return Entry(document_id, b"", text_sketch(text, Scheme(shingle_size=1), SCHEME), name, worth)


def test_the_last_document_of_an_id_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The last document of an id counts, and repeated ids are reported once each, also if hashes of ids collide.
    """
    monkeypatch.setattr("whorl.duplicates.scratch.hash", len, raising=False)
    with Scratch(tmp_path, SCHEME) as scratch:
        assert scratch.put([entry("aa", "one", 1.0), entry("ab", "two"), entry("aa", "three four")]) == []
        assert scratch.repeated() == ["aa"]
        scratch.take_as_compared()
        scratch.put([entry("é", "five"), entry("ab", "six", 2.0)])
        assert scratch.repeated() == ["ab"]
        assert scratch.repeated() == []
        archived = scratch.archived()
        assert list(scratch.known(archived.numbers.tolist()).values()) == [
            ("aa", "the aa\n", None, None), ("é", "the é\n", None, None), ("ab", "the ab\n", 2.0, None)
        ]  # fmt: skip
        assert archived.is_new.tolist() == [False, True, True]
        found = [archived.sketches.sketch(place) for place in range(3)]
        assert found == [entry("", text).sketch for text in ("three four", "five", "six")]


def test_nothing_is_there(tmp_path: Path) -> None:
    """
    An empty store has no documents and no hashes.
    """
    with Scratch(tmp_path, SCHEME) as scratch:
        assert len(scratch.archived().sketches) == 0
        assert scratch.repeated() == []


def test_a_large_file_is_let_go_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A large file gives the same hashes and pairs, whether it stays mapped, is released after each batch, or is read.
    """
    documents = family_documents(40)
    question = ask_pairs("jaccard", 50, 95)
    found = []
    # Mapped and kept, mapped and released, and read.
    for much, with_a_page in ((1 << 26, 1 << 16), (0, 1 << 16), (0, 8)):
        monkeypatch.setattr("whorl.duplicates.sketches.MUCH", much)
        monkeypatch.setattr("whorl.duplicates.sketches._LONG", 0)
        monkeypatch.setattr("whorl.duplicates.sketches._RANGE", 8)
        monkeypatch.setattr("whorl.duplicates.sketches._WITH_A_PAGE", with_a_page)
        monkeypatch.setattr("whorl.duplicates.sketches._LEAST_TOGETHER", 300)
        monkeypatch.setattr("whorl.duplicates.sketches._MOST_TOGETHER", 300)
        with Scratch(tmp_path, SCHEME) as scratch:
            scratch.put([entry(document.id, document.text) for document in documents])
            sketches = scratch.archived().sketches
            a, b = np.array([7, 3, 3, 39, 0]), np.array([0, 7, 3, 2, 1])
            there = 0
            for some, hashes, *starts in sketches.portions(a, b):
                assert some.start == there < some.stop
                there = some.stop
                for places, begins in zip((a[some], b[some]), starts, strict=True):
                    for place, begin in zip(places.tolist(), begins.tolist(), strict=True):
                        own = sketches.sketch(place).hashes
                        assert hashes[begin : begin + own.size].tolist() == own.tolist()
                assert much or hashes.base is not sketches.hashes
            assert there == a.size
            firsts, is_known = np.arange(len(sketches)), np.zeros(len(sketches), np.bool_)
            pairs = find_pairs(sketches, firsts, question, known=Pairs.together([]), is_known=is_known)
            found.append(list(zip(pairs.a.tolist(), pairs.b.tolist(), pairs.shared.tolist(), strict=True)))
    assert found[0] == found[1] == found[2] != []
