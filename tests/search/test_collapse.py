"""Pages of collapsed hits take few requests, however deep; tests/conformance checks their contents."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pytest

from whorl.engine.protocol import ClusterLabel
from whorl.errors import ParameterError
from whorl.model import Hit, Page
from whorl.query.plan.nodes import BoundPlan, MatchAll
from whorl.search.prepared_search import search_collapsed


class Counting:
    """An engine with 5,000 hits in clusters of ten, which counts the searches."""

    def __init__(self, size: int = 10) -> None:
        self.size, self.requests, self.labels = size, 0, self

    def search(self, plan: BoundPlan, *, start: int, rows: int, order: object = ()) -> Page:
        self.requests += 1
        return Page(5_000, tuple(Hit(str(at), "", 1.0) for at in range(start, min(start + rows, 5_000))))

    def labels_of(self, ids: Collection[str]) -> Mapping[str, ClusterLabel]:
        return (
            {document_id: ClusterLabel(f"c{int(document_id) // self.size}", is_principal=False) for document_id in ids}
            if self.size
            else {}
        )

    def counts(self, plan: BoundPlan) -> Mapping[str, int]:
        return {f"c{at}": self.size for at in range(5_000 // self.size)} if self.size else {}

    def read_all(self) -> Iterator[Mapping[str, ClusterLabel]]:
        yield self.labels_of(["1"])


def test_a_deep_page_takes_few_requests() -> None:
    """
    Rows 490 to 500 of 500, for which all hits have to be passed, take at most six requests; a first page takes one.
    """
    engine: Any = Counting()
    page = search_collapsed(engine, BoundPlan(MatchAll()), start=490, rows=20)
    assert [(hit.id, hit.copies, hit.cluster) for hit in page.hits[:2]] == [("4900", 9, "c490"), ("4910", 9, "c491")]
    assert (len(page.hits), page.total, page.matches) == (10, 500, 5_000)
    assert engine.requests <= 6
    engine.requests = 0
    assert len(search_collapsed(engine, BoundPlan(MatchAll()), start=0, rows=5).hits) == 5
    assert engine.requests == 1


def test_without_clusters_there_is_nothing_to_collapse() -> None:
    """
    Without clusters, collapsing is an error that names the remedy, not a page of everything.
    """
    engine: Any = Counting(size=0)
    with pytest.raises(ParameterError, match="--write-ids"):
        search_collapsed(engine, BoundPlan(MatchAll()), start=0, rows=5)
