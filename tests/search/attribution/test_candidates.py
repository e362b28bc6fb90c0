"""Candidates for sources by windows of the text: windows, minimum overlap, and recall of passages."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.search.attribution.made import words
from whorl import Document, Store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.fingerprint.compare import words_of
from whorl.query.plan.nodes import Chosen
from whorl.search.attribution.candidates import MOST_WINDOWS, WINDOW, Candidates, find_candidates, least_shared, windows

RECALL = Fraction(95, 100)


def found(store: Store, text: str, recall: Fraction = RECALL) -> Candidates:
    return find_candidates(
        store.engine, text, words_of(text), recall, min_words=8, left_out=None, own_id=None, progress=lambda *_: None
    )


@given(st.integers(0, 300_000))
def test_windows_hold_the_text(shingles: int) -> None:
    """
    Windows have one size and cover the text from start to end; each overlaps the previous one by a quarter, and their
    number is bounded.
    """
    made = windows(shingles)
    if not shingles:
        assert made == []
        return
    size = made[0][1]
    assert made[0][0] == 0
    assert made[-1][1] == shingles
    assert {end - start for start, end in made} == {size}
    assert size == shingles or size >= WINDOW
    assert all(after - before <= size - size // 4 for (before, _), (after, _) in pairwise(made))
    assert len(made) <= MOST_WINDOWS + 2


@given(st.integers(1, 300_000), st.integers(1, 200), st.data())
def test_a_passage_lies_in_a_window(shingles: int, min_words: int, data: st.DataObject) -> None:
    """
    Every run of the minimum number of shingles lies entirely in at least one window.
    """
    made = windows(shingles)
    shared = least_shared(made[0][1], min_words, 5)
    assert 1 <= shared <= made[0][1]
    start = data.draw(st.integers(0, shingles - shared))
    assert any(min(end, start + shared) - max(begin, start) >= shared for begin, end in made)


@pytest.mark.slow
def test_promised_passages_are_found(tmp_path: Path) -> None:
    """
    Of 200 documents with a passage of the promised length, at least the promised share are candidates.

    The margin is four standard deviations: chance alone fails once in 30,000 runs, and the words are always the same.
    """
    chance = random.Random(5)
    text = words(chance, 1_500)
    with Store(EmbeddedEngine(tmp_path / "store")) as store:
        store.index([Document("long", " ".join(words(chance, 6_000)))])
        length = found(store, " ".join(text)).promise.words
        assert length is not None
        assert 24 <= length <= 60
        holders = []
        for number in range(200):
            at, own = chance.randrange(len(text) - length), words(chance, chance.choice([50, 900, 5_900]))
            own[20:20] = text[at : at + length]
            holders.append(Document(f"passage {number}", " ".join(own)))
        store.index(holders)
        met = {each.id for each in found(store, " ".join(text)).found}
    assert "long" not in met
    assert len(met) >= 200 * 0.95 - 4 * (200 * 0.95 * 0.05) ** 0.5


def test_the_best_of_each_part_come_first(tmp_path: Path) -> None:
    """
    Twenty copies of the first half do not displace the only document with a passage of the second half.
    """
    chance = random.Random(6)
    text = words(chance, 1_000)
    with Store(EmbeddedEngine(tmp_path / "store")) as store:
        store.index(Document(f"copy {number:02}", " ".join([*text[:500], f"own{number}"])) for number in range(20))
        store.index([Document("rest", " ".join([*words(chance, 90), *text[900:940]]))])
        found_ones = found(store, " ".join(text)).found
    assert len(found_ones) == 21
    assert "rest" in [each.id for each in found_ones[:6]]


def test_who_is_left_out(tmp_path: Path) -> None:
    """
    Documents of the filter and the text's own document are left out.
    """
    text = " ".join(words(random.Random(7), 60))
    with Store(EmbeddedEngine(tmp_path / "store")) as store:
        store.index([Document(name, text) for name in "abc"])
        left = find_candidates(
            store.engine, text, words_of(text), RECALL, min_words=8, left_out=Chosen("", ((1.0, ("a",)),)), own_id="b",
            progress=lambda *_: None,
        )  # fmt: skip
    assert [each.id for each in left.found] == ["c"]


def test_more_candidates_than_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A warning counts the parts of the text with more candidates than are read.
    """
    monkeypatch.setattr("whorl.search.similar.searchers.AT_ONCE", 3)
    monkeypatch.setattr("whorl.search.similar.searchers.FEW", 3)
    text = " ".join(words(random.Random(8), 60))
    with Store(EmbeddedEngine(tmp_path / "store")) as store:
        store.index([Document(name, text) for name in "abcde"])
        seen = found(store, text)
    assert len(seen.found) == 3
    assert seen.warnings[0].startswith("1 of 1 parts of the text have more candidates than are looked at")


def test_a_short_text(tmp_path: Path) -> None:
    """
    A text without shingles finds nothing, with a warning and without a promise; an empty store makes no promise either.
    """
    with Store(EmbeddedEngine(tmp_path / "store")) as store:
        seen = found(store, "one two three four")
        assert (seen.found, seen.promise.words) == ((), None)
        assert seen.warnings == ("the text has no fingerprint: it has fewer than 5 words",)
        assert found(store, "one two three four five").found == ()


def test_without_sketches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Documents without sketches are found by MinHash tokens, with a warning that the result is rough.
    """
    monkeypatch.setattr(EmbeddedEngine, "sketch_scheme", None)
    text = " ".join(words(random.Random(9), 300))
    with Store(EmbeddedEngine(tmp_path / "store")) as store:
        store.index([Document("copy", text)])
        seen = found(store, text)
    assert [each.id for each in seen.found] == ["copy"]
    assert any("no sketches" in warning for warning in seen.warnings)
