"""Facets are counted in records that are read once; the counts themselves are in tests/conformance."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from whorl import Document, open_store
from whorl.engine.embedded.database import RecordDatabase
from whorl.engine.protocol import Facet, MatchCount, ValueFacet
from whorl.query.plan.nodes import BoundPlan, Equal, Kind, MatchAll


def test_records_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Facets of values read each hit's record once; the count of a plan reads none.
    """
    read = list[str]()
    heads = RecordDatabase.heads

    def reading(self: RecordDatabase, key: Any, values: Iterable[str]) -> Any:
        ids = list(values)
        read.extend(ids)
        return heads(self, key, ids)

    with open_store(tmp_path / "store") as store:
        store.index(Document(f"d{at}", "text", properties={"n": at % 3, "k": "a"}) for at in range(10))
        monkeypatch.setattr(RecordDatabase, "heads", reading)
        inner = ValueFacet(Kind.INTEGER, "n", 5)
        facets: list[Facet] = [inner, ValueFacet(Kind.KEYWORD, "k", 5, subfacets=(inner,)), MatchCount(MatchAll())]
        assert store.engine.facets(BoundPlan(MatchAll()), facets)[2] == 10
        assert sorted(read) == [f"d{at}" for at in range(10)]
        read.clear()
        assert store.engine.facets(BoundPlan(MatchAll()), [MatchCount(Equal("n", Kind.INTEGER, 0))]) == (4,)
        assert read == []
