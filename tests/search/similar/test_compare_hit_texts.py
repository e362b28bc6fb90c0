"""Exact verification of hits by their texts, within the limits of one search."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from tests.search.similar.copies import TEXTS, Watched, jaccard
from whorl import Store
from whorl.search.similar import compare_hit_texts


@pytest.mark.slow
def test_exact_reads_what_the_page_shows(store: Store, engine: Watched) -> None:
    """
    Even with thirty hits of overlapping intervals, only texts that may belong on the page are read.
    """
    page = store.similar("whole", metric="jaccard", threshold=20, exact=True, rows=1)
    everything = store.similar("whole", metric="jaccard", threshold=20, exact=True, rows=100)
    assert page.found == everything.found[:1]
    assert page.found[0].estimate.is_exact
    assert page.total == everything.total == 30
    engine.requests.clear()
    store.similar("whole", metric="jaccard", threshold=20, exact=True, rows=1)
    assert sum(request.startswith("text of copy") for request in engine.requests) < 20


@pytest.mark.slow
def test_exact_is_bounded_in_characters(store: Store, engine: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Beyond the limit of characters no texts are read, and a warning counts the hits with estimates.
    """
    monkeypatch.setattr(compare_hit_texts, "MOST_CHARACTERS", 3 * len(TEXTS["whole"]))
    page = store.similar("whole", metric="jaccard", threshold=20, exact=True, rows=30)
    read = [request for request in engine.requests if request.startswith("text of copy")]
    unread = [hit for hit in page.found if not hit.estimate.is_exact]
    assert len(read) + len(unread) == page.total == 30
    assert unread
    assert any(f"{len(unread)} of the hits were not read" in warning for warning in page.warnings)


@pytest.mark.slow
def test_exact_is_bounded_in_texts(store: Store, engine: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A hit whose text was not read because of the limit is counted as not read, not as a document without a stored text.
    """
    monkeypatch.setattr(compare_hit_texts, "MOST_READ_FOR_PAGE", 13)
    page = store.similar("whole", metric="jaccard", threshold=20, exact=True, rows=30)
    read = [request for request in engine.requests if request.startswith("text of copy")]
    unread = [hit for hit in page.found if not hit.estimate.is_exact]
    assert (len(read), len(unread)) == (13, 17)
    assert [warning for warning in page.warnings if "stored text" in warning] == []
    assert any("17 of the hits were not read" in warning for warning in page.warnings)


def test_settling_is_bounded_in_texts(store: Store, engine: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Hits that their sketches leave undecided are read, the smallest first, up to the limit; no hit is lost because of
    the limit, and read ones have exact numbers.
    """
    settled = store.similar("whole", metric="jaccard", threshold=92, rows=100)
    read = [request for request in engine.requests if request.startswith("text of copy")]
    assert len(read) > 1
    assert {similar.hit.id for similar in settled.found if similar.estimate.is_exact} <= {
        request[8:] for request in read
    }
    engine.requests.clear()
    monkeypatch.setattr(compare_hit_texts, "MOST_VERIFIED_EXACTLY", 1)
    bounded = store.similar("whole", metric="jaccard", threshold=92, rows=100)
    assert sum(request.startswith("text of copy") for request in engine.requests) == 1
    assert {similar.hit.id for similar in bounded.found} >= {similar.hit.id for similar in settled.found}


def test_the_text_of_the_source_comes_with_others(
    store: Store, engine: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A search that verifies hits fetches all texts in one request, including the source's text if it is not given.
    """
    requests = list[list[str]]()
    texts = engine.texts

    def noted(ids: Collection[str]) -> dict[str, str]:
        requests.append(list(ids))
        return texts(ids)

    monkeypatch.setattr(engine, "texts", noted)
    store.similar("whole", metric="jaccard", threshold=92, rows=100)
    assert len(requests) == 1
    assert requests[0][0] == "whole"
    settled = requests.pop()[1:]
    store.similar(source=TEXTS["whole"], metric="jaccard", threshold=92, rows=100)
    # Here the document itself is an exact hit.
    assert requests == [settled]


@pytest.mark.slow
def test_exact_values_are_counted(store: Store) -> None:
    """
    With `exact` every share is counted from the shingles, without an interval, and hits below the threshold are
    dropped.
    """
    page = store.similar("whole", metric="jaccard", threshold=60, exact=True, rows=100)
    expected = {name: jaccard("whole", name) for name in TEXTS if name != "whole"}
    assert {hit.hit.id for hit in page.found} == {name for name, value in expected.items() if value >= 0.6}
    for hit in page.found:
        estimate = hit.estimate
        assert estimate.is_exact
        assert estimate.low == estimate.shares == estimate.high
        assert estimate.shares.jaccard == pytest.approx(expected[hit.hit.id])
    assert [hit.hit.id for hit in page.found] == sorted(
        (hit.hit.id for hit in page.found), key=lambda name: -expected[name]
    )
