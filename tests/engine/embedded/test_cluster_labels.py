"""Cluster labels in an embedded store, beyond what tests/conformance checks on every engine."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from whorl import Document
from whorl.engine.embedded.database import RecordDatabase
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.engine.protocol import ClusterLabel
from whorl.query.plan.nodes import BoundPlan, MatchAll

LABEL = ClusterLabel("a", is_principal=True)


def test_documents_changed_during_the_run_get_no_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A document replaced or deleted between reading and labelling gets no label.
    """
    with EmbeddedEngine(tmp_path) as engine:
        engine.index([Document(document_id, f"the text of {document_id} is a few words long") for document_id in "abc"])
        engine.refresh()
        read = RecordDatabase.documents

        def reading(records: RecordDatabase, key: Literal["number", "id"], ids: list[str]) -> object:
            documents = list(read(records, key, ids))
            if key == "id":
                engine.index([Document("b", "another text")])
                engine.delete(["c"])
            return iter(documents)

        monkeypatch.setattr(RecordDatabase, "documents", reading)
        engine.labels.write(dict.fromkeys("abc", LABEL))
        monkeypatch.undo()
        engine.refresh()
        assert list(engine.labels.read_all()) == [{"a": LABEL}]
        assert engine.texts("abc") == {"a": "the text of a is a few words long", "b": "another text"}
    with EmbeddedEngine(tmp_path) as engine:
        assert engine.labels.labels_of("abc") == {"a": LABEL}
        engine.labels.write({"a": None, "gone": LABEL})
        engine.refresh()
        assert list(engine.labels.read_all()) == []


def test_a_cluster_of_any_name(tmp_path: Path) -> None:
    """
    A cluster named by a document whose id looks like a date is found and counted like any other.
    """
    label = ClusterLabel("2021-05-03", is_principal=False)
    with EmbeddedEngine(tmp_path) as engine:
        engine.index([Document(name, "a text of a few words") for name in ("2021-05-03", "b")])
        engine.labels.write({"b": label})
        engine.refresh()
        assert list(engine.labels.read_all()) == [{"b": label}]
        assert engine.labels.counts(BoundPlan(MatchAll())) == {"2021-05-03": 1}
