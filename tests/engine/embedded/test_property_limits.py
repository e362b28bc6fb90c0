"""Limits on properties, and property names that no document has any more."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.running import whorl
from whorl import Document, Store, open_store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.engine.embedded.store_files import RECORDS
from whorl.engine.protocol import ClusterLabel
from whorl.errors import DocumentError, StoreError
from whorl.model import PropertyLimits
from whorl.settings.settings import Settings

TEXT = "the words of a document that matter little"
FEW = PropertyLimits(per_document=3, names=5)


def with_names(document_id: str, *names: str) -> Document:
    return Document(document_id, TEXT, properties=dict.fromkeys(names, 1))


def names(engine: EmbeddedEngine) -> set[str]:
    return {*engine.fields().known} - {"id", "name", "content"}


def test_names_that_no_document_has_are_dropped(tmp_path: Path) -> None:
    """
    A name without documents is dropped after a delete or a replacement; a name of another document stays.
    """
    with EmbeddedEngine(tmp_path / "store") as engine:
        engine.index([with_names("a", "both", "own"), with_names("b", "both")])
        engine.index([Document("many", TEXT, properties={f"n{number}": number for number in range(1000)})])
        assert len(names(engine)) == 1002
        engine.delete(["many"])
        assert names(engine) == {"both", "own"}
        engine.index([with_names("a", "both")])
        assert names(engine) == {"both"}
        engine.delete(["b"])
        assert names(engine) == {"both"}
        assert engine.verify()
    with EmbeddedEngine(tmp_path / "store") as engine:
        engine.delete(["a"])
        assert names(engine) == set()


def test_types_that_no_document_has_are_dropped(tmp_path: Path) -> None:
    """
    A name keeps only the types of its remaining values.
    """
    with EmbeddedEngine(tmp_path / "store") as engine:
        engine.index([Document("a", TEXT, properties={"x": [1, 2.5]}), Document("b", TEXT, properties={"x": True})])
        assert len(engine.fields().known["x"]) == 3
        engine.delete(["a"])
        assert [kind.name for kind in engine.fields().known["x"]] == ["BOOLEAN"]


def test_a_write_that_failed_changes_no_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A failed write leaves the counts of names unchanged, also after the next write.
    """
    with EmbeddedEngine(tmp_path / "store") as engine:
        engine.index([with_names("a", "x")])
        put = engine._records.put
        monkeypatch.setattr(engine._records, "put", lambda records: put(records) and 1 / 0)
        with pytest.raises(ZeroDivisionError):
            engine.index([with_names("a", "y"), with_names("b", "z")])
        monkeypatch.setattr(engine._records, "put", put)
        assert names(engine) == {"x"}
        engine.index([with_names("c", "x")])
        engine.delete(["a"])
        assert names(engine) == {"x"}
        assert engine.verify()


def test_a_wrong_count_is_damage(tmp_path: Path) -> None:
    """
    `verify` finds a flipped bit in a count and a missing field; the next change of that field is refused.
    """
    with EmbeddedEngine(tmp_path / "store") as engine:
        engine.index([with_names("a", "x"), with_names("b", "x")])
    with closing(sqlite3.connect(tmp_path / "store" / RECORDS)) as connection:
        [(sealed,)] = connection.execute("SELECT documents FROM field").fetchall()
        connection.execute("UPDATE field SET documents = ?", (bytes([sealed[0] ^ 1]) + sealed[1:],))
        connection.commit()
    with EmbeddedEngine(tmp_path / "store") as engine:
        for use in (engine.verify, lambda: engine.delete(["a"])):
            with pytest.raises(StoreError, match=r"documents with .* is not what was stored"):
                use()
    with closing(sqlite3.connect(tmp_path / "store" / RECORDS)) as connection:
        connection.execute("DELETE FROM field")
        connection.commit()
    with EmbeddedEngine(tmp_path / "store") as engine, pytest.raises(StoreError, match=r"field .*x.* is missing"):
        engine.verify()


def test_too_many_properties_of_a_document(tmp_path: Path) -> None:
    """
    The error names the document, the limit and its setting, and nothing of the batch is stored.
    """
    with Store(EmbeddedEngine(tmp_path / "store", property_limits=FEW)) as store:
        message = "document 'd' has 4 properties, and a store on disk takes 3 of one document (setting max_properties)"
        with pytest.raises(DocumentError, match=re.escape(message)):
            store.index([with_names("a", "x"), with_names("d", "x", "y", "z", "w")])
        assert store.count() == 0


def test_too_many_names_in_a_store(tmp_path: Path) -> None:
    """
    A document with new names is refused, the others of its batch are stored. It fits once other names are unused.
    """
    refused = []
    with Store(EmbeddedEngine(tmp_path / "store", property_limits=FEW)) as store:
        batch = [with_names("a", "a1", "a2", "a3"), with_names("b", "b1", "b2"), with_names("c", "c1"), with_names("d")]
        batch.append(with_names("e", "a1", "b1"))
        done = store.index(batch, on_refused=lambda document, error: refused.append((document.id, str(error))))
        assert done.stored == 4
        [(document_id, message)] = refused
        assert document_id == "c"
        assert "document 'c' has new names of properties, such as 'c1'" in message
        assert "6 names; it takes 5 (setting max_property_names)" in message
        store.delete(["b"])
        assert store.index([with_names("c", "c1")]).stored == 1


def test_a_refused_document_keeps_no_writer_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A refused document releases the write lock, so another engine can write at once.
    """
    with (
        EmbeddedEngine(tmp_path / "store", property_limits=FEW) as one,
        EmbeddedEngine(tmp_path / "store", wait_seconds=0) as other,
    ):
        require = PropertyLimits.require
        calls = iter([True, False])
        # Simulate another process that adds names between the first check and the lock.
        monkeypatch.setattr(PropertyLimits, "require", lambda *parts: next(calls, True) or require(*parts))
        with pytest.raises(DocumentError):
            one.index([with_names("d", "x", "y", "z", "w")])
        other.index([with_names("a", "x")])
        other.refresh()
        assert one.count() == 1


def test_clusters_are_written_at_the_limit(tmp_path: Path) -> None:
    """
    The names of a cluster's properties are whorl's own and count neither for a document nor for the store.
    """
    with EmbeddedEngine(tmp_path / "store", property_limits=FEW) as engine:
        engine.index([with_names("a", "a1", "a2", "a3"), with_names("b", "b1", "b2")])
        engine.refresh()
        engine.labels.write({"a": ClusterLabel("a", True), "b": ClusterLabel("a", False)})
        engine.refresh()
        assert set(engine.labels.labels_of(["a", "b"])) == {"a", "b"}
        engine.index([with_names("c", "a1", "b1", "b2")])
        assert engine.count() == 3


def test_index_reports_documents_over_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    `whorl index` names the document and the limit, and stores the others.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHORL_MAX_PROPERTIES", "3")
    lines = [
        {"id": "few", "text": TEXT, "x": 1},
        {"id": "many", "text": TEXT, **{f"n{number}": 1 for number in range(4)}},
    ]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    result = whorl("index", "--store", "store", "rows.jsonl")
    assert "1 document stored" in result.output
    assert "document 'many' has 4 properties, and a store on disk takes 3" in result.output


def test_settings_of_the_limits(tmp_path: Path) -> None:
    """
    `open_store` takes them from the settings.
    """
    with open_store(tmp_path / "store", Settings(max_properties=2, max_property_names=3)) as store:
        for batch in ([with_names("a", "x", "y", "z")], [with_names("b", "x", "y"), with_names("c", "z", "w")]):
            with pytest.raises(DocumentError, match=r"takes [23] "):
                store.index(batch)
        assert store.count() == 0
