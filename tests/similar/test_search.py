"""Calibrated searches in small stores: what is verified, read and told."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from whorl import Document, Store, open_store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.engine.protocol import Candidates
from whorl.errors import ParameterError, UnknownDocumentError
from whorl.planning.build import BoundPlan
from whorl.similar import by_sketch, whole_text

WORDS = 6_000


def texts() -> dict[str, str]:
    """Return a text too long for a complete sketch, and copies of it with ever more words replaced."""
    chance = random.Random(7)
    words = [f"w{chance.randrange(50_000)}" for _ in range(WORDS)]
    made = {"whole": words}
    for number in range(30):
        every = round(10 * 1.13**number)
        made[f"copy {number:02}"] = [f"x{at}" if at % every == 3 else word for at, word in enumerate(words)]
    made["short"] = words[:40]
    return {name: " ".join(each) for name, each in made.items()}


TEXTS = texts()


class Watched(EmbeddedEngine):
    """An engine that notes what it is asked for, and can move a candidate from one page to the next."""

    asked: list[str]
    shifted = False

    def texts(self, ids: Collection[str]) -> dict[str, str]:
        self.asked += [f"text of {each}" for each in ids]
        return dict(super().texts(ids))

    def candidates(self, plan: BoundPlan, *, start: int, rows: int) -> Candidates:
        self.asked.append("candidates")
        # As if a document had been stored meanwhile that stands before all others.
        found = super().candidates(plan, start=max(0, start - self.shifted), rows=rows)
        return Candidates(found.total, found.found, ("somebody writes",))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("search") / "store"
    with open_store(made) as store:
        store.index(Document(name, text, "", {"kind": name[:4]}) for name, text in TEXTS.items())
    return made


@pytest.fixture
def engine(folder: Path) -> Iterator[Watched]:
    with Watched(folder) as opened:
        opened.asked = []
        yield opened


@pytest.fixture
def store(engine: Watched) -> Store:
    return Store(engine)


def test_exact_reads_what_the_page_shows(store: Store, engine: Watched) -> None:
    """
    Of thirty hits whose intervals reach into each other, no more are read than may stand on the page.
    """
    page = store.similar("whole", threshold=20, exact=True, rows=1)
    everything = store.similar("whole", threshold=20, exact=True, rows=100)
    assert page.found == everything.found[:1]
    assert page.found[0].estimate.is_exact
    assert page.total == everything.total == 30
    engine.asked.clear()
    store.similar("whole", threshold=20, exact=True, rows=1)
    assert sum(each.startswith("text of copy") for each in engine.asked) < 20


def test_exact_is_bounded_in_characters(store: Store, engine: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Once the texts have so many characters no more are read, and the page says which numbers are estimates.
    """
    monkeypatch.setattr(whole_text, "MOST_CHARACTERS", 3 * len(TEXTS["whole"]))
    page = store.similar("whole", threshold=20, exact=True, rows=30)
    read = [each for each in engine.asked if each.startswith("text of copy")]
    unread = [found for found in page.found if not found.estimate.is_exact]
    assert len(read) + len(unread) == page.total == 30
    assert unread
    assert any(f"{len(unread)} of the hits were not read" in warning for warning in page.warnings)


def test_exact_is_bounded_in_texts(store: Store, engine: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A hit whose text was not fetched for want of means was not read; it is not said to have none.
    """
    monkeypatch.setattr(whole_text, "MOST_READ", 13)
    page = store.similar("whole", threshold=20, exact=True, rows=30)
    read = [each for each in engine.asked if each.startswith("text of copy")]
    unread = [found for found in page.found if not found.estimate.is_exact]
    assert (len(read), len(unread)) == (13, 17)
    assert [warning for warning in page.warnings if "stored text" in warning] == []
    assert any("17 of the hits were not read" in warning for warning in page.warnings)


def test_a_candidate_that_moves_counts_once(store: Store, engine: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    While somebody writes, a candidate can come on two pages; it is one hit.
    """
    monkeypatch.setattr(by_sketch, "AT_ONCE", 7)
    quiet = store.similar("whole", threshold=20, rows=100)
    engine.shifted = True
    page = store.similar("whole", threshold=20, rows=100)
    ids = [found.hit.id for found in page.found]
    assert len(ids) == len(set(ids))
    assert set(ids) <= {found.hit.id for found in quiet.found}


def test_a_store_without_sketches(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Where tokens can answer they do, by `similar` and by a calibrated FINGERPRINT, with the same warning.
    """
    monkeypatch.setattr(EmbeddedEngine, "sketch_scheme", None)
    alone = store.similar("whole", threshold=20, rows=100)
    page = store.search("FINGERPRINT:whole_20", calibrated=True, rows=100)
    assert {hit.id for hit in page.hits} == {found.hit.id for found in alone.found} | {"whole"}
    assert len(alone.found) == 30
    assert alone.warnings[0] == page.warnings[0]
    assert "no sketches" in page.warnings[0]
    assert store.explain("FINGERPRINT:whole_20", calibrated=True).warnings[0] == page.warnings[0]


def test_what_a_source_can_be(store: Store) -> None:
    """
    An unknown one is an error of its own; in a query it matches nothing, and is told.
    """
    with pytest.raises(UnknownDocumentError):
        store.similar("gone")
    page = store.search("FINGERPRINT:gone_20 OR kind:shor", calibrated=True)
    assert [hit.id for hit in page.hits] == ["short"]
    assert page.warnings == ("the store has no document 'gone'",)
    assert store.search("FINGERPRINT:gone_20").warnings == page.warnings
    with pytest.raises(ParameterError, match="metric must be"):
        store.prepare("FINGERPRINT:whole", metric="alike", calibrated=True)
