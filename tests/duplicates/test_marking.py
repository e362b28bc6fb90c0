"""Tests of cluster labels with a store in memory; tests/conformance tests the engines."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from whorl.duplicates import marking
from whorl.duplicates.marking import Marked, write_ids
from whorl.duplicates.result import Cluster, Member, Pair
from whorl.engine.protocol import Mark
from whorl.output.duplicates import marked_line


class Remembering:
    """Cluster labels in memory."""

    def __init__(self) -> None:
        self.there: dict[str, Mark] = {}
        self.sent: list[list[str]] = []
        self.marks = self

    def prepare(self) -> None: ...

    def refresh(self) -> None: ...

    def index_lag(self) -> int:
        return 0

    def everything(self) -> Iterator[Mapping[str, Mark]]:
        yield dict(self.there)

    def of(self, ids: Collection[str]) -> Mapping[str, Mark]:
        return {each: self.there[each] for each in ids if each in self.there}

    def write(self, changes: Mapping[str, Mark | None]) -> None:
        self.sent.append(list(changes))
        self.there |= {each: mark for each, mark in changes.items() if mark}
        for each in [each for each, mark in changes.items() if mark is None]:
            del self.there[each]


def cluster(*ids: str, principal: str) -> Cluster:
    members = {each: Member(each, "", 10) for each in ids}
    return Cluster(tuple(Pair.of_counts(members[principal], members[each], 10, 10, 10) for each in ids))


def test_only_what_differs_is_written(monkeypatch: Any) -> None:
    """
    Only missing and changed labels are written, in batches by id; the next run completes an interrupted one.
    """
    monkeypatch.setattr(marking, "_AT_ONCE", 2)
    engine: Any = Remembering()
    engine.there = {"x": Mark("y", is_principal=False)}
    clusters = [cluster("a", "b", "c", principal="b"), cluster("d", "e", principal="d")]
    engine.write({"b": Mark("a", is_principal=True)})
    engine.sent.clear()
    progress: list[int] = []
    assert write_ids(engine, clusters, progress.append) == Marked(2, 5, 4, 1)
    assert (engine.sent, progress) == ([["a", "c"], ["d", "e"], ["x"]], [2, 4, 5])
    assert engine.there == {
        **{each: Mark("a", is_principal=each == "b") for each in "abc"},
        **{each: Mark("d", is_principal=each == "d") for each in "de"},
    }
    assert write_ids(engine, clusters) == Marked(2, 5, 0, 0)
    assert len(engine.sent) == 3


def test_what_is_changed_meanwhile_is_told() -> None:
    """
    A document deleted or replaced during the run does not count as written.
    """

    class Changing(Remembering):
        def write(self, changes: Mapping[str, Mark | None]) -> None:
            super().write(changes)
            self.there.pop("b", None)

    engine: Any = Changing()
    done = write_ids(engine, [cluster("a", "b", principal="a")])
    assert done == Marked(1, 2, 1, 0, left=1)
    told = "1 changed, 0 that are in none any more cleared; 1 changed meanwhile: run the same command again"
    assert marked_line(done).endswith(told)
