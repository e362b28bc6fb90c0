"""Prepared similarity searches: pages, exact shares, and the range of a page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.search.test_prepared_search import COPIES, copies
from whorl import Store, open_store
from whorl.errors import ParameterError


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "store") as opened:
        opened.index(copies())
        yield opened


@pytest.mark.parametrize("exact", [False, True])
def test_pages_of_a_prepared_search(store: Store, exact: bool) -> None:
    """
    Pages continue each other, best first. The k-th copy shares 56 - k of 56 + k shingles with the source.
    """
    prepared = store.prepare_similar("whole", metric="jaccard", threshold=50)
    pages = [prepared.search(start=start, rows=5, exact=exact) for start in (0, 5, 10, 15)]
    assert [page.total for page in pages] == [COPIES] * 4
    shares = {hit.hit.id: hit.estimate.shares.jaccard for page in pages for hit in page.found}
    wanted = {f"copy {k:02}": (56 - k) / (56 + k) for k in range(1, COPIES + 1)}
    assert list(shares) == list(wanted)
    assert shares == pytest.approx(wanted)


def test_a_page_out_of_range(store: Store) -> None:
    """
    A page before the first hit is an error that names the allowed range.
    """
    with pytest.raises(ParameterError, match="start must be 0 to 1,000,000, got -1"):
        store.prepare_similar("whole").search(start=-1)
