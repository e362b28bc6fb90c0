"""Passages found with certainty: put into texts of any size and looked for, and bounded where all have them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from tests.sources.made import words
from whorl import Document, Store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.fingerprint.passages import words_of
from whorl.fingerprint.winnow import PassageScheme
from whorl.planning.build import BoundNode, Chosen
from whorl.sources import by_passages as module
from whorl.sources.by_passages import PassageCandidates, by_passages
from whorl.sources.search import find_sources

SCHEME = PassageScheme()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(EmbeddedEngine(tmp_path / "store", passages=SCHEME)) as opened:
        yield opened


def asked(store: Store, text: str, left_out: BoundNode | None = None) -> PassageCandidates:
    return by_passages(store.engine, SCHEME, words_of(text), left_out=left_out, progress=lambda *_: None)


def ids(found: PassageCandidates) -> set[str]:
    return {hit.id for hits in found.places for hit in hits}


@pytest.mark.slow
def test_no_passage_is_missed(store: Store) -> None:
    """
    200 passages of 20 to 60 words of one text, each within a document of up to 5,000 words of its own.
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


def test_texts_under_twenty_words(store: Store) -> None:
    """
    Nothing is kept of them; a whole search falls back on sketches.
    """
    short = " ".join(words(random.Random(32), 19))
    store.index([Document("copy", short)])
    assert asked(store, short).places == ()
    found = find_sources(store.engine, short, Fraction(95, 100))
    assert [each.id for each in found.sources] == ["copy"]
    assert found.promise.certain_words == 20


def test_a_passage_that_all_have(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Of the documents with a form's text a few are candidates, which is told; who has a passage beside it is among them.
    """
    monkeypatch.setattr(module, "MANY", 40)
    chance = random.Random(33)
    form, own = words(chance, 300), words(chance, 100)
    store.index(Document(f"form {number:03}", " ".join([*form, *words(chance, 50)])) for number in range(60))
    store.index([Document("source", " ".join([*words(chance, 50), *own[40:60], *form[:30]]))])
    found = asked(store, " ".join([*form, *own]))
    assert "source" in ids(found)
    assert len(ids(found)) < 60
    assert 0 < found.crowded < 60
    assert found.warnings[0].endswith("for each place are candidates")
    assert "up to 61: of these documents, 20" in found.warnings[0]
    # With the whole form left out, nothing is crowded, or in the way.
    others = Chosen("", ((1.0, tuple(f"form {number:03}" for number in range(60))),))
    assert ids(asked(store, " ".join([*form, *own]), others)) == {"source"}


def test_the_work_is_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    However many of a text's numbers all documents have, a few questions are asked; each lists a few documents.
    """
    monkeypatch.setattr(module, "MANY", 2)
    monkeypatch.setattr(module, "_QUESTIONS", 5)
    form = " ".join(words(random.Random(34), 2_000))
    store.index(Document(f"{number}", form) for number in range(30))
    found = asked(store, form)
    assert len(found.places) <= 5
    assert {len(hits) for hits in found.places} == {20}
    assert found.crowded > 200


def test_what_is_said_of_it(store: Store) -> None:
    """
    The whole search says from how many words on it is certain, and does not where the store keeps nothing for it.
    """
    text = " ".join(words(random.Random(35), 100))
    store.index([Document("copy", text)])
    assert store.sources(source=text).promise.certain_words == 20


def test_without_passages(tmp_path: Path) -> None:
    """
    Nothing is certain.
    """
    with Store(EmbeddedEngine(tmp_path / "plain")) as plain:
        plain.index([Document("copy", " ".join(words(random.Random(36), 100)))])
        assert plain.sources("copy").promise.certain_words is None
