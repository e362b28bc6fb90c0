"""Candidates for sources by windows of the text: windows, minimum overlap, and recall of passages."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.search.attribution.made import words
from whorl import Document, Store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.fingerprint.compare_texts import words_of
from whorl.fingerprint.winnowing import PassageScheme
from whorl.query.plan.nodes import BoundNode, BoundPlan, DocumentsByScore
from whorl.request_context import reporting
from whorl.search.attribution import candidates
from whorl.search.attribution.candidates import (
    MOST_WINDOWS,
    WINDOW,
    Candidates,
    PassageCandidates,
    cut_windows,
    find_candidates,
    find_passage_candidates,
    least_shared,
)
from whorl.search.attribution.find_sources import find_sources

RECALL = Fraction(95, 100)


def candidates_of(store: Store, text: str, recall: Fraction = RECALL) -> Candidates:
    of_text = words_of(text)
    whole = np.array([[0, len(of_text.words)]])
    return find_candidates(store.engine, text, of_text, whole, recall, min_words=8, left_out=None)


@given(st.integers(0, 300_000))
def test_windows_hold_the_text(shingles: int) -> None:
    """
    Windows have one size and cover the text from start to end; each overlaps the previous one by a quarter, and their
    number is bounded.
    """
    made = cut_windows(shingles)
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
    made = cut_windows(shingles)
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
        length = candidates_of(store, " ".join(text)).promise.words
        assert length is not None
        assert 24 <= length <= 60
        holders = []
        for number in range(200):
            at, own = chance.randrange(len(text) - length), words(chance, chance.choice([50, 900, 5_900]))
            own[20:20] = text[at : at + length]
            holders.append(Document(f"passage {number}", " ".join(own)))
        store.index(holders)
        candidate_ids = set(candidates_of(store, " ".join(text)).ids)
    assert "long" not in candidate_ids
    assert len(candidate_ids) >= 200 * 0.95 - 4 * (200 * 0.95 * 0.05) ** 0.5


def test_the_best_of_each_part_come_first(tmp_path: Path) -> None:
    """
    Twenty copies of the first half do not displace the only document with a passage of the second half.
    """
    chance = random.Random(6)
    text = words(chance, 1_000)
    with Store(EmbeddedEngine(tmp_path / "store")) as store:
        store.index(Document(f"copy {number:02}", " ".join([*text[:500], f"own{number}"])) for number in range(20))
        store.index([Document("rest", " ".join([*words(chance, 90), *text[900:940]]))])
        found_ones = candidates_of(store, " ".join(text)).ids
    assert len(found_ones) == 21
    assert "rest" in found_ones[:6]


def test_excluded_documents(tmp_path: Path) -> None:
    """
    Documents of the filter and the text's own document are left out.
    """
    text = " ".join(words(random.Random(7), 60))
    with Store(EmbeddedEngine(tmp_path / "store")) as store:
        store.index([Document(name, text) for name in "abc"])
        a_document = DocumentsByScore("", ((1.0, ("a",)),))
        candidates = find_candidates(
            store.engine, text, words_of(text), np.array([[0, 60]]), RECALL, min_words=8, left_out=a_document
        )
        attribution = find_sources(store.engine, text, own_id="b", excluded=BoundPlan(a_document))
    assert set(candidates.ids) == {"b", "c"}
    assert [source.id for source in attribution.sources] == ["c"]
    assert (attribution.candidates, attribution.also_count) == (1, 0)


def test_more_candidates_than_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A warning counts the parts of the text with more candidates than are read.
    """
    monkeypatch.setattr("whorl.search.similar.find_similar.CANDIDATES_AT_ONCE", 3)
    monkeypatch.setattr("whorl.search.similar.find_similar.MOST_OF_FIRST_QUERY", 3)
    text = " ".join(words(random.Random(8), 60))
    with Store(EmbeddedEngine(tmp_path / "store")) as store:
        store.index([Document(name, text) for name in "abcde"])
        result = candidates_of(store, text)
    assert len(result.ids) == 3
    assert result.warnings[0].startswith("1 of 1 parts of the text have more candidates than are compared")


def test_a_short_text(tmp_path: Path) -> None:
    """
    A text without shingles finds nothing, with a warning and without a promise; an empty store makes no promise either.
    """
    with Store(EmbeddedEngine(tmp_path / "store")) as store:
        result = candidates_of(store, "one two three four")
        assert (result.ids, result.promise.words) == ((), None)
        assert result.warnings == ("the text has no fingerprint: it has fewer than 5 words",)
        assert candidates_of(store, "one two three four five").ids == ()


def test_without_sketches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Documents without sketches are found by MinHash tokens, with a warning that the result is rough.
    """
    monkeypatch.setattr(EmbeddedEngine, "sketch_scheme", None)
    text = " ".join(words(random.Random(9), 300))
    with Store(EmbeddedEngine(tmp_path / "store")) as store:
        store.index([Document("copy", text)])
        result = candidates_of(store, text)
    assert result.ids == ("copy",)
    assert any("no sketches" in warning for warning in result.warnings)


SCHEME = PassageScheme()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(EmbeddedEngine(tmp_path / "store", passages=SCHEME)) as opened:
        yield opened


def passage_candidates(
    store: Store, text: str, left_out: BoundNode | None = None, min_words: int = 8
) -> PassageCandidates:
    return find_passage_candidates(store.engine, SCHEME, words_of(text), min_words, left_out=left_out)


def ids(matches: PassageCandidates) -> set[str]:
    return {own for group in matches.groups for own in group.ids}


@pytest.mark.slow
def test_no_passage_is_missed(store: Store) -> None:
    """
    All 200 documents that share a passage of 20 to 60 words with a text are found, within up to 5,000 other words.
    """
    chance = random.Random(31)
    text = words(chance, 4_000)
    made = []
    for number in range(200):
        own, length = words(chance, chance.choice([0, 5, 300, 5_000])), chance.choice([20, 20, 21, 33, 60])
        start, place = chance.randrange(len(text) - length), chance.randrange(len(own) + 1)
        own[place:place] = text[start : start + length]
        made.append(Document(f"{number}", "\n".join(own)))
    store.index([*made, *(Document(f"none {number}", " ".join(words(chance, 300))) for number in range(20))])
    matches = passage_candidates(store, " ".join(text))
    assert ids(matches) == {document.id for document in made}
    assert (matches.crowded_hashes, matches.warnings) == (0, ())


@pytest.mark.parametrize("min_words", [8, 20])
def test_proven_and_possible_words(store: Store, min_words: int) -> None:
    """
    The proven words are in the document; the possible words include all that a document with a shared run of 20 words
    has. If only such runs count, documents with shorter ones have no possible words.
    """
    chance = random.Random(37)
    text = words(chance, 200)
    texts = {}
    for number in range(40):
        start, length = chance.randrange(170), chance.randrange(9, 30)
        texts[f"{number}"] = [*words(chance, 30), *text[start : start + length], *words(chance, 30)]
    store.index(Document(name, " ".join(own)) for name, own in texts.items())
    matches = passage_candidates(store, " ".join(text), min_words=min_words)
    groups = {own: group for group in matches.groups for own in group.ids}
    long = short = 0
    for name, own in texts.items():
        shared = {at for at, word in enumerate(text) if word in own}
        if len(shared) < 20 and name not in groups:
            continue
        proven, possible = ({at for start, end in ranges.tolist() for at in range(start, end)}
                            for ranges in (groups[name].cover, groups[name].possible))  # fmt: skip
        assert proven <= shared
        if len(shared) < 20 and min_words == 20:
            short += not possible
            continue
        assert shared <= possible
        assert len(possible - shared) <= 24
        long += len(shared) >= 20
    assert long > 10
    assert (short > 0) == (min_words == 20)


def test_texts_under_twenty_words(store: Store) -> None:
    """
    Texts of fewer than 20 words have no indexed passages; a search falls back on sketches for them.
    """
    short = " ".join(words(random.Random(32), 19))
    store.index([Document("copy", short)])
    assert passage_candidates(store, short).groups == ()
    attribution = find_sources(store.engine, short)
    assert [source.id for source in attribution.sources] == ["copy"]
    assert attribution.promise.certain_words == 20


def test_a_passage_that_all_have(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Only a few of the documents with the same form become candidates, with a warning; a document with another passage is
    among them.
    """
    monkeypatch.setattr(candidates, "CROWDED_ABOVE", 40)
    monkeypatch.setattr(candidates, "CANDIDATES_PER_CROWDED_PART", 5)
    chance = random.Random(33)
    form, own = words(chance, 300), words(chance, 100)
    store.index(Document(f"form {number:03}", " ".join([*form, *words(chance, 50)])) for number in range(60))
    store.index([Document("source", " ".join([*words(chance, 50), *own[40:60], *form[:30]]))])
    matches = passage_candidates(store, " ".join([*form, *own]))
    assert "source" in ids(matches)
    assert len(ids(matches)) < 60
    assert matches.crowded_hashes > 0
    assert "up to 61: of these documents, those with most of a part" in matches.warnings[0]
    # Documents that are no candidates share runs of the form with the text, but no run of `own`.
    assert matches.crowded_ranges[0, 0] == 0
    assert 280 < matches.crowded_ranges[-1, 1] < 320
    # With all forms excluded, no passage is crowded, and the source is found.
    others = DocumentsByScore("", ((1.0, tuple(f"form {number:03}" for number in range(60))),))
    assert ids(passage_candidates(store, " ".join([*form, *own]), others)) == {"source"}


def test_the_work_is_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The number of requests and the documents of each are bounded, even if all documents share most passages of the text.
    """
    monkeypatch.setattr(candidates, "CROWDED_ABOVE", 2)
    monkeypatch.setattr(candidates, "CANDIDATES_PER_CROWDED_PART", 3)
    monkeypatch.setattr(candidates, "_MOST_LOOK_UPS", 5)
    form = " ".join(words(random.Random(34), 2_000))
    store.index(Document(f"{number:02}", form) for number in range(30))
    questions: list[tuple[str, int, int | None]] = []
    with reporting(lambda *report: questions.append(report)):
        matches = find_passage_candidates(store.engine, SCHEME, words_of(form), 8, left_out=None)
    assert len(questions) <= 5
    # Among equal documents the first are taken, for every part of the text.
    assert ids(matches) == {"00", "01", "02"}
    assert matches.crowded_hashes > 200


def test_the_stated_passage_length(store: Store) -> None:
    """
    The search states the length in words of the shortest passage that it certainly finds. It promises nothing shorter,
    even if it looks for shorter passages in words that no document has.
    """
    text = " ".join(words(random.Random(35), 130))
    store.index([Document("copy", " ".join(text.split()[:100]))])
    promise = store.sources(source=text).promise
    assert promise.certain_words == 20
    assert promise.words is not None
    assert promise.words >= 20


def test_without_passages(tmp_path: Path) -> None:
    """
    Without indexed passages, no length is certain.
    """
    with Store(EmbeddedEngine(tmp_path / "plain")) as plain:
        plain.index([Document("copy", " ".join(words(random.Random(36), 100)))])
        assert plain.sources("copy").promise.certain_words is None
