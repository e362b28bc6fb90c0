"""Tests of writing cluster labels: only changed labels are written."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from whorl.duplicates.results import Cluster, Member, Pair
from whorl.duplicates.write_cluster_labels import LabelCounts, write_ids
from whorl.engine.protocol import ClusterLabel
from whorl.output.duplicates import format_label_counts
from whorl.request_context import reporting


class Remembering:
    """Cluster labels in memory."""

    def __init__(self) -> None:
        self.there: dict[str, ClusterLabel] = {}
        self.sent: list[list[str]] = []
        self.labels = self

    def prepare(self) -> None: ...

    def refresh(self) -> None: ...

    def index_lag(self) -> None: ...

    def read_all(self) -> Iterator[Mapping[str, ClusterLabel]]:
        yield dict(self.there)

    def labels_of(self, ids: Collection[str]) -> Mapping[str, ClusterLabel]:
        return {document_id: self.there[document_id] for document_id in ids if document_id in self.there}

    def write(self, changes: Mapping[str, ClusterLabel | None]) -> None:
        self.sent.append(list(changes))
        self.there |= {name: mark for name, mark in changes.items() if mark}
        for name in [name for name, mark in changes.items() if mark is None]:
            del self.there[name]


def cluster(*ids: str, principal: str) -> Cluster:
    members = {document_id: Member(document_id, "", 10) for document_id in ids}
    return Cluster(tuple(Pair.of_counts(members[principal], members[document_id], 10, 10, 10) for document_id in ids))


def test_only_changed_labels_are_written(monkeypatch: Any) -> None:
    """
    Only missing and changed labels are written, in batches by id; the next run completes an interrupted one.
    """
    monkeypatch.setattr("whorl.duplicates.write_cluster_labels._AT_ONCE", 2)
    engine: Any = Remembering()
    engine.there = {"x": ClusterLabel("y", is_principal=False)}
    clusters = [cluster("a", "b", "c", principal="b"), cluster("d", "e", principal="d")]
    engine.write({"b": ClusterLabel("a", is_principal=True)})
    engine.sent.clear()
    progress: list[tuple[str, int, int | None]] = []
    with reporting(lambda *report: progress.append(report)):
        assert write_ids(engine, clusters) == LabelCounts(2, 5, 4, 1)
    assert engine.sent == [["a", "c"], ["d", "e"], ["x"]]
    assert progress == [("writing", 2, 5), ("writing", 4, 5), ("writing", 5, 5)]
    assert engine.there == {
        **{name: ClusterLabel("a", is_principal=name == "b") for name in "abc"},
        **{name: ClusterLabel("d", is_principal=name == "d") for name in "de"},
    }
    assert write_ids(engine, clusters) == LabelCounts(2, 5, 0, 0)
    assert len(engine.sent) == 3


def test_documents_changed_during_the_run_are_counted() -> None:
    """
    A document deleted or replaced during the run does not count as written.
    """

    class Changing(Remembering):
        def write(self, changes: Mapping[str, ClusterLabel | None]) -> None:
            super().write(changes)
            self.there.pop("b", None)

    engine: Any = Changing()
    done = write_ids(engine, [cluster("a", "b", principal="a")])
    assert done == LabelCounts(1, 2, 1, 0, left=1)
    decisions = "1 changed, 0 that are in none any more cleared; 1 changed meanwhile: run the same command again"
    assert format_label_counts(done).endswith(decisions)
