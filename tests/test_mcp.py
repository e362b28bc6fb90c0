"""What assistants can ask, asked by the SDK's own client."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from whorl import Store, open_store
from whorl.ingest.files import documents_in
from whorl.mcp import server_of

ROOT = Path(__file__).parents[1]
LEASE, RENEWAL, MINUTES = "lease-2023.txt", "lease_2024.txt", "minutes.txt"
LETTER = (ROOT / "examples" / "letter.txt").read_text("utf-8")
READS = {"similar", "sources", "compare", "search", "clusters", "document"}
WRITES = {"store_document", "delete_documents"}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT / "examples" / "contracts")
    with open_store(tmp_path / "store") as opened:
        opened.index(
            each
            for path in sorted(Path().iterdir())
            for each in documents_in(path, lambda problem: pytest.fail(str(problem)))
        )
        yield opened


def asked(server: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool; return its answer, or what it says is wrong under "error"."""

    async def call() -> Any:
        async with Client(server) as client:
            return await client.call_tool(tool, arguments)

    result = asyncio.run(call())
    if result.is_error:
        return {"error": result.content[0].text}
    # Clients that know nothing of structured answers read the same as text.
    assert json.loads(result.content[0].text) == result.structured_content
    answer: dict[str, Any] = result.structured_content
    return answer


def test_similar_documents(store: Store) -> None:
    """
    Of a document and of a text, by the shares of verified hits.
    """
    server = server_of(store)
    found = asked(server, "similar", id=MINUTES, metric="a_in_b", threshold=10)
    assert [(hit["id"], hit["a_in_b"]) for hit in found["hits"]] == [(LEASE, 0.278481), (RENEWAL, 0.278481)]
    found = asked(server, "similar", text=LETTER, metric="a_in_b", threshold=0.1, filter="name:recipe.txt")
    assert [hit["id"] for hit in found["hits"]] == ["recipe.txt"]


def test_sources_and_passages(store: Store) -> None:
    """
    What whorl sources and whorl compare say of the examples.
    """
    server = server_of(store)
    found = asked(server, "sources", text=LETTER)
    assert [each["id"] for each in found["sources"]] == [LEASE, "recipe.txt", RENEWAL]
    assert found["covered_words"] == 90
    compared = asked(server, "compare", a_id=MINUTES, b_id=LEASE)
    assert compared["shared_shingles"] == 22
    (passage,) = compared["passages"]
    assert passage["a"]["text"].startswith("The landlord keeps")
    assert asked(server, "compare", a_text=LETTER, b_text=LETTER)["jaccard"] == 1


def test_words_clusters_and_documents(store: Store) -> None:
    """
    A query, groups of the whole store, and one document with as much of its text as was asked for.
    """
    server = server_of(store)
    found = asked(server, "search", query=f'FINGERPRINT:"{LEASE}" AND NOT rent')
    assert [(hit["id"], hit["shared_tokens"]) for hit in found["hits"]] == [(MINUTES, 58)]
    found = asked(server, "clusters", threshold=70)
    assert (found["documents"], found["total"]) == (4, 1)
    assert [each["id"] for each in found["clusters"][0]["members"]] == [LEASE, RENEWAL]
    assert "text" not in asked(server, "document", id=LEASE)
    assert asked(server, "document", id=LEASE, characters=5)["text"] == "LEASE"


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("similar", {}, "name one of the two: an id or a text"),
        ("similar", {"id": "a", "text": "b"}, "name one of the two"),
        ("similar", {"id": "nobody"}, "nobody"),
        ("similar", {"id": MINUTES, "metric": "cosine"}, "a_in_b"),
        ("similar", {"id": MINUTES, "threshold": 140}, "less than or equal to 100"),
        ("search", {"query": "FINGERPRINT:a_140"}, "the overlap must be above 0"),
        ("document", {"id": "nobody"}, "nobody"),
        ("compare", {"a_id": "nobody", "b_text": "x"}, "nobody"),
    ],
)
def test_what_is_wrong_is_told(store: Store, tool: str, arguments: dict[str, Any], message: str) -> None:
    """
    In words with which an assistant can ask again.
    """
    assert message in asked(server_of(store), tool, **arguments)["error"]


def test_nothing_is_changed_unless_that_is_allowed(store: Store) -> None:
    """
    The tools that write are not there, or are there and say of themselves what they do.
    """

    async def tools(server: Any) -> dict[str, Any]:
        async with Client(server) as client:
            listed = (await client.list_tools()).tools
        assert all(each.description for each in listed)
        return {each.name: each.annotations and each.annotations.read_only_hint for each in listed}

    assert asyncio.run(tools(server_of(store))) == dict.fromkeys(READS, True)
    writing = server_of(store, writes=True)
    assert asyncio.run(tools(writing)) == {**dict.fromkeys(READS, True), **dict.fromkeys(WRITES, False)}
    text = "five words and one more"
    assert asked(writing, "store_document", id="note", text=text, properties={"type": "txt"})["stored"] == 1
    assert asked(writing, "search", query="type:txt")["total"] == 1
    assert asked(writing, "delete_documents", ids=["note"]) == {"deleted": 1}
    assert "Unknown tool" in asked(server_of(store), "delete_documents", ids=[LEASE])["error"]
    assert store.count() == 4
