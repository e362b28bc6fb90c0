"""Tests of health, readiness, and the description of the store, which a page requests first."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.service.limited import LINES
from whorl import Document, open_store
from whorl.service.app import create_app
from whorl.settings.settings import Settings


def test_health_and_readiness(client: TestClient, away: TestClient) -> None:
    """
    A process without its engine is healthy, but not ready.
    """
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ok", "documents": 3}
    assert away.get("/healthz").status_code == 200
    assert away.get("/readyz").status_code == 503


def test_the_store_is_described(service: TestClient) -> None:
    """
    The description has the fields with names and types, and the operations of the store.
    """
    body = service.get("/api/v1/store").json()
    assert (body["is_read_only"], body["has_sketches"], body["keeps_passages"]) == (False, True, False)
    assert (body["documents"], body["shingle_words"], body["minhash"]) == (4, 5, "whole")
    (text,) = [field for field in body["fields"] if field["name"] == "content"]
    assert text["types"] == ["words"]


def test_names_of_deleted_documents_leave_the_answer(tmp_path: Path) -> None:
    """
    Documents with many property names leave no trace in the description once they are deleted.
    """
    with open_store(tmp_path / "store") as store:
        client = TestClient(create_app(store))
        before = client.get("/api/v1/store").content
        for count in (10, 100, 1000):
            document = {"id": f"d{count}", "text": "x", **{f"name {count} {number}": number for number in range(count)}}
            client.post("/api/v1/documents", content=json.dumps(document), headers=LINES).raise_for_status()
        assert len(client.get("/api/v1/store").json()["fields"]) == len(json.loads(before)["fields"]) + 1110
        client.post("/api/v1/delete", json={"ids": ["d10", "d100", "d1000"]}).raise_for_status()
        assert client.get("/api/v1/store").content == before


def test_documents_over_a_limit_of_properties(tmp_path: Path) -> None:
    """
    Their lines are refused with the document and the limit; the others of the upload are stored.
    """
    settings = Settings(max_properties=3, max_property_names=4)
    documents = [
        {"id": "few", "text": "x", "a": 1, "b": 1},
        {"id": "many", "text": "x", "a": 1, "b": 1, "c": 1, "d": 1},
        {"id": "new", "text": "x", "e": 1, "f": 1, "g": 1},
        {"id": "last", "text": "x", "c": 1, "d": 1},
    ]
    with open_store(tmp_path / "store", settings) as store:
        client = TestClient(create_app(store, settings=settings))
        body = "\n".join(map(json.dumps, documents))
        report = client.post("/api/v1/documents", content=body, headers=LINES).json()
        assert (report["stored"], report["refused"]) == (2, 2)
        (first, second) = report["errors"]
        assert (first["line"], second["line"]) == (2, 3)
        assert "'many' has 4 properties" in first["message"]
        assert "takes 3 of one document (setting max_properties)" in first["message"]
        assert "'new' has new names" in second["message"]
        assert "takes 4 (setting max_property_names)" in second["message"]


def test_a_store_whose_folder_is_replaced(tmp_path: Path) -> None:
    """
    The service is not ready and acknowledges no upload, new or unchanged, once another folder is in the store's place.
    """
    path = tmp_path / "store"
    document = json.dumps({"id": "a", "text": "one two three"})
    with open_store(path):
        shutil.copytree(path, tmp_path / "copy")
    with open_store(path) as store:
        client = TestClient(create_app(store))
        client.post("/api/v1/documents", content=document, headers=LINES).raise_for_status()
        path.rename(tmp_path / "former")
        (tmp_path / "copy").rename(path)
        for line in (document, document.replace("a", "b")):
            answer = client.post("/api/v1/documents", content=line, headers=LINES)
            assert answer.status_code == 503
            assert "no longer the file that was opened" in answer.json()["error"]["message"]
        assert client.delete("/api/v1/documents/a").status_code == 503
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200


def test_a_folder_that_may_not_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The store is described as read-only, so that the page offers no changes, and changes are refused.
    """
    with open_store(tmp_path / "store") as store:
        store.index([Document("a", "some words of a text")])
    monkeypatch.setattr("whorl.engine.embedded.engine.is_read_only", lambda _: True)
    with open_store(tmp_path / "store") as store, TestClient(create_app(store)) as client:
        assert client.get("/api/v1/store").json()["is_read_only"] is True
        assert client.delete("/api/v1/documents/a").status_code == 403
        assert client.get("/api/v1/documents/a").status_code == 200
