"""Facets are counted in records that are read once; the counts themselves are in tests/conformance."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from whorl import Document, open_store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.engine.embedded.records import Records
from whorl.engine.protocol import ClusterLabel, Facet, MatchCount, ValueFacet
from whorl.query.plan.nodes import BoundPlan, Equal, Kind, MatchAll


def test_records_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Facets of values read each hit's record once; the count of a plan reads none.
    """
    read = list[str]()
    heads = Records.heads

    def reading(self: Records, key: Any, values: Iterable[str]) -> Any:
        ids = list(values)
        read.extend(ids)
        return heads(self, key, ids)

    with open_store(tmp_path / "store") as store:
        store.index(Document(f"d{at}", "text", properties={"n": at % 3, "k": "a"}) for at in range(10))
        monkeypatch.setattr(Records, "heads", reading)
        inner = ValueFacet(Kind.INTEGER, "n", 5)
        asked: list[Facet] = [inner, ValueFacet(Kind.KEYWORD, "k", 5, within=(inner,)), MatchCount(MatchAll())]
        assert store.engine.facets(BoundPlan(MatchAll()), asked)[2] == 10
        assert sorted(read) == [f"d{at}" for at in range(10)]
        read.clear()
        assert store.engine.facets(BoundPlan(MatchAll()), [MatchCount(Equal("n", Kind.INTEGER, 0))]) == (4,)
        assert read == []


MARK = ClusterLabel("a", is_principal=True)


def test_what_is_changed_meanwhile_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Between reading a document and storing it with its mark, another one took its place, and another was deleted.
    """
    with EmbeddedEngine(tmp_path) as engine:
        engine.index([Document(each, f"the text of {each} is a few words long") for each in "abc"])
        engine.refresh()
        read = Records.documents

        def reading(records: Records, ids: list[str]) -> object:
            found = list(read(records, ids))
            engine.index([Document("b", "another text")])
            engine.delete(["c"])
            return iter(found)

        monkeypatch.setattr(Records, "documents", reading)
        engine.labels.write(dict.fromkeys("abc", MARK))
        monkeypatch.undo()
        engine.refresh()
        assert list(engine.labels.everything()) == [{"a": MARK}]
        assert engine.texts("abc") == {"a": "the text of a is a few words long", "b": "another text"}
    with EmbeddedEngine(tmp_path) as engine:
        assert engine.labels.labels_of("abc") == {"a": MARK}
        engine.labels.write({"a": None, "gone": MARK})
        engine.refresh()
        assert list(engine.labels.everything()) == []


def test_a_cluster_of_any_name(tmp_path: Path) -> None:
    """
    A document that is called like a date gives a cluster its name, and is found and counted by it as others are.
    """
    mark = ClusterLabel("2021-05-03", is_principal=False)
    with EmbeddedEngine(tmp_path) as engine:
        engine.index([Document(each, "a text of a few words") for each in ("2021-05-03", "b")])
        engine.labels.write({"b": mark})
        engine.refresh()
        assert list(engine.labels.everything()) == [{"b": mark}]
        assert engine.labels.counts(BoundPlan(MatchAll())) == {"2021-05-03": 1}
