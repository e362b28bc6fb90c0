"""Hits read whole: as many as a page takes, within the means of one search, with exact numbers."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from tests.similar.copies import TEXTS, Watched, jaccard
from whorl import Store
from whorl.similar import whole_text


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_settling_is_bounded_in_texts(store: Store, engine: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Hits that their sketches leave open are read, the smallest first, while there are means; none is lost for want of
    them, and those that were read have exact numbers.
    """
    settled = store.similar("whole", threshold=92, rows=100)
    read = [each for each in engine.asked if each.startswith("text of copy")]
    assert len(read) > 1
    assert {each.hit.id for each in settled.found if each.estimate.is_exact} <= {each[8:] for each in read}
    engine.asked.clear()
    monkeypatch.setattr(whole_text, "MOST_SETTLED", 1)
    bounded = store.similar("whole", threshold=92, rows=100)
    assert sum(each.startswith("text of copy") for each in engine.asked) == 1
    assert {each.hit.id for each in bounded.found} >= {each.hit.id for each in settled.found}


def test_the_text_of_the_source_comes_with_others(
    store: Store, engine: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A search that reads texts to settle hits makes one request for them; one with a text of its own asks for no other.
    """
    requests = list[list[str]]()
    texts = engine.texts

    def noted(ids: Collection[str]) -> dict[str, str]:
        requests.append(list(ids))
        return texts(ids)

    monkeypatch.setattr(engine, "texts", noted)
    store.similar("whole", threshold=92, rows=100)
    assert len(requests) == 1
    assert requests[0][0] == "whole"
    settled = requests.pop()[1:]
    store.similar(source=TEXTS["whole"], threshold=92, rows=100)
    # Here the document itself is a hit, and an exact one.
    assert requests == [settled]


@pytest.mark.slow
def test_exact_values_are_counted(store: Store) -> None:
    """
    With `exact` every value is that of the shingles themselves, without an interval, and what fails is left out.
    """
    page = store.similar("whole", threshold=60, exact=True, rows=100)
    expected = {name: jaccard("whole", name) for name in TEXTS if name != "whole"}
    assert {found.hit.id for found in page.found} == {name for name, value in expected.items() if value >= 0.6}
    for found in page.found:
        estimate = found.estimate
        assert estimate.is_exact
        assert estimate.low == estimate.shares == estimate.high
        assert estimate.shares.jaccard == pytest.approx(expected[found.hit.id])
    assert [found.hit.id for found in page.found] == sorted(
        (found.hit.id for found in page.found), key=lambda name: -expected[name]
    )
