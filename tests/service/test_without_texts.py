"""The service on a store without texts: `sources` answers, and all that reads texts is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from whorl import Document, open_store
from whorl.service.app import create_app

WORDS = [f"word{number}x" for number in range(200)]
TEXT = " ".join(WORDS[20:90])
REFUSED: dict[str, dict[str, Any]] = {
    "sources": {"id": "a"},
    "similar": {"id": "a"},
    "compare": {"a": {"id": "a"}, "b": {"id": "b"}},
    "passages": {"id": "a", "documents": ["b"]},
    "search": {"query": "word1x"},
    "verify": {"text": f'She said "{" ".join(WORDS[:10])}".'},
    "duplicates": {},
}


def test_sources_of_a_text(tmp_path: Path) -> None:
    """
    A text has its sources, without places in them; lists, names and the service's other answers have no texts.
    """
    with open_store(tmp_path / "store", passages=12, no_text=True) as store:
        store.index([Document("a", " ".join(WORDS[:100]), "First"), Document("b", " ".join(WORDS[50:150]), "Second")])
        with TestClient(create_app(store)) as client:
            answer = client.post("/api/v1/sources", json={"text": TEXT}).json()
            assert [source["id"] for source in answer["sources"]] == ["a"]
            assert (answer["also"], answer["certain_words"]) == ([{"id": "b", "name": "Second"}], 12)
            (passage,) = answer["sources"][0]["passages"]
            assert passage["b"] is None
            assert passage["a"]["text"] in TEXT
            assert 62 <= passage["words"] <= 70
            content = client.post("/api/v1/search", json={"query": "name:first"}).json()
            assert [hit["id"] for hit in content["hits"]] == ["a"]
            assert "word" not in client.get("/api/v1/documents/a").text
            for route, body in REFUSED.items():
                refused = client.post(f"/api/v1/{route}", json=body)
                assert (refused.status_code, "keeps no texts" in refused.text) == (409, True), route
            assert client.get("/api/v1/documents/a", params={"text": "true"}).status_code == 409
