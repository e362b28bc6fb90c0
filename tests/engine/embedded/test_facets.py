"""Facets are counted in records that are read once; the counts themselves are in tests/conformance."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from whorl import Document, open_store
from whorl.engine.embedded.records import Records
from whorl.engine.facets import Facet, Matching, Values
from whorl.query.plan.build import BoundPlan, MatchAll
from whorl.query.plan.clauses import Equal, Kind


def test_records_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Whatever is asked of values, each hit's record is read once; a count of a plan alone reads none.
    """
    read = list[str]()
    heads = Records.heads

    def reading(self: Records, ids: Iterable[str]) -> Any:
        some = list(ids)
        read.extend(some)
        return heads(self, some)

    with open_store(tmp_path / "store") as store:
        store.index(Document(f"d{at}", "text", properties={"n": at % 3, "k": "a"}) for at in range(10))
        monkeypatch.setattr(Records, "heads", reading)
        inner = Values(Kind.INTEGER, "n", 5)
        asked: list[Facet] = [inner, Values(Kind.KEYWORD, "k", 5, within=(inner,)), Matching(MatchAll())]
        assert store.engine.facets(BoundPlan(MatchAll()), asked)[2] == 10
        assert sorted(read) == [f"d{at}" for at in range(10)]
        read.clear()
        assert store.engine.facets(BoundPlan(MatchAll()), [Matching(Equal("n", Kind.INTEGER, 0))]) == (4,)
        assert read == []
