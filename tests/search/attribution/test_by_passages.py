"""Candidates by indexed passages: no passage is missed, and the work is bounded if all documents share one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from tests.search.attribution.made import words
from whorl import Document, Store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.fingerprint.compare import words_of
from whorl.fingerprint.winnowing import PassageScheme
from whorl.query.plan.nodes import BoundNode, Chosen
from whorl.search.attribution import by_passages as module
from whorl.search.attribution.by_passages import PassageCandidates, by_passages
from whorl.search.attribution.search import find_sources

SCHEME = PassageScheme()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(EmbeddedEngine(tmp_path / "store", passages=SCHEME)) as opened:
        yield opened


def asked(store: Store, text: str, left_out: BoundNode | None = None) -> PassageCandidates:
    return by_passages(store.engine, SCHEME, words_of(text), left_out=left_out, progress=lambda *_: None)


def ids(found: PassageCandidates) -> set[str]:
    return {each.id for each in found.holders}


@pytest.mark.slow
def test_no_passage_is_missed(store: Store) -> None:
    """
    All of 200 documents with a passage of 20 to 60 words of a text are found, with up to 5,000 other words around it.
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
    found = asked(store, " ".join(text))
    assert ids(found) == {each.id for each in made}
    assert (found.crowded, found.warnings) == (0, ())


def test_what_numbers_prove(store: Store) -> None:
    """
    The proven words are in the document; the possible words include all that a document with a shared run of 20 words
    has.
    """
    chance = random.Random(37)
    text = words(chance, 200)
    texts = {}
    for number in range(40):
        start, length = chance.randrange(170), chance.randrange(9, 30)
        texts[f"{number}"] = [*words(chance, 30), *text[start : start + length], *words(chance, 30)]
    store.index(Document(each, " ".join(own)) for each, own in texts.items())
    found = {each.id: each for each in asked(store, " ".join(text)).holders}
    long = 0
    for name, own in texts.items():
        shared = {at for at, word in enumerate(text) if word in own}
        if len(shared) < 20 and name not in found:
            continue
        proven, possible = ({at for start, end in ranges.tolist() for at in range(start, end)}
                            for ranges in (found[name].proven, found[name].possible))  # fmt: skip
        assert proven <= shared <= possible
        assert len(possible - shared) <= 24
        long += len(shared) >= 20
    assert long > 10


def test_texts_under_twenty_words(store: Store) -> None:
    """
    Texts of fewer than 20 words have no indexed passages; a search falls back on sketches for them.
    """
    short = " ".join(words(random.Random(32), 19))
    store.index([Document("copy", short)])
    assert asked(store, short).holders == ()
    found = find_sources(store.engine, short, Fraction(95, 100))
    assert [each.id for each in found.sources] == ["copy"]
    assert found.promise.certain_words == 20


def test_a_passage_that_all_have(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Only a few of the documents with the same form become candidates, with a warning; a document with another passage is
    among them.
    """
    monkeypatch.setattr(module, "MANY", 40)
    monkeypatch.setattr(module, "TAKEN", 5)
    chance = random.Random(33)
    form, own = words(chance, 300), words(chance, 100)
    store.index(Document(f"form {number:03}", " ".join([*form, *words(chance, 50)])) for number in range(60))
    store.index([Document("source", " ".join([*words(chance, 50), *own[40:60], *form[:30]]))])
    found = asked(store, " ".join([*form, *own]))
    assert "source" in ids(found)
    assert len(ids(found)) < 60
    assert found.crowded > 0
    assert "up to 61: of these documents, those with most of a part" in found.warnings[0]
    # With all forms excluded, no passage is crowded, and the source is found.
    others = Chosen("", ((1.0, tuple(f"form {number:03}" for number in range(60))),))
    assert ids(asked(store, " ".join([*form, *own]), others)) == {"source"}


def test_the_work_is_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The number of requests and the documents of each are bounded, even if all documents share most passages of the text.
    """
    monkeypatch.setattr(module, "MANY", 2)
    monkeypatch.setattr(module, "TAKEN", 3)
    monkeypatch.setattr(module, "_QUESTIONS", 5)
    form = " ".join(words(random.Random(34), 2_000))
    store.index(Document(f"{number:02}", form) for number in range(30))
    questions: list[tuple[str, int, int]] = []
    found = by_passages(
        store.engine, SCHEME, words_of(form), left_out=None, progress=lambda *each: questions.append(each)
    )
    assert len(questions) <= 5
    # Among equal documents the first are taken, for every part of the text.
    assert ids(found) == {"00", "01", "02"}
    assert found.crowded > 200


def test_what_is_said_of_it(store: Store) -> None:
    """
    The search states the number of words from which on a passage is found with certainty.
    """
    text = " ".join(words(random.Random(35), 100))
    store.index([Document("copy", text)])
    assert store.sources(source=text).promise.certain_words == 20


def test_without_passages(tmp_path: Path) -> None:
    """
    Without indexed passages, no length is certain.
    """
    with Store(EmbeddedEngine(tmp_path / "plain")) as plain:
        plain.index([Document("copy", " ".join(words(random.Random(36), 100)))])
        assert plain.sources("copy").promise.certain_words is None
