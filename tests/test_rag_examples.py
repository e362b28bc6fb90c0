"""The recipes for RAG chunks, with the libraries that they are for; `make test-frames` installs these."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
LEASE = (EXAMPLES / "contracts" / "lease-2023.txt").read_text("utf-8")
#: A text, a near-copy of it, and two other texts.
CHUNKS = [
    LEASE,
    LEASE.replace("1,450", "1,520"),
    (EXAMPLES / "contracts" / "minutes.txt").read_text("utf-8"),
    (EXAMPLES / "contracts" / "recipe.txt").read_text("utf-8"),
]
STAYING = [CHUNKS[0], *CHUNKS[2:]]


def example(name: str) -> Any:
    return runpy.run_path(str(EXAMPLES / name))["DropNearCopies"]


def test_the_share_of_chunks_with_near_copies(capsys: pytest.CaptureFixture[str]) -> None:
    """
    The block of docs/recipes.md counts the chunks with five or more near-copies: six of eight.
    """
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "recipes.md").read_text("utf-8"), re.DOTALL)
    exec(compile(block, "recipes.md", "exec"), {"chunks": [LEASE] * 6 + CHUNKS[2:]})
    first, summary = capsys.readouterr().out.splitlines()
    assert first == "75.0% of the chunks have five or more near-copies"
    assert summary.startswith("8 texts; 5 of them (62.5%) repeat others, in 1 cluster")


@pytest.mark.process
def test_langchain() -> None:
    """
    The transformer drops the near-copy, and keeps the metadata of the other chunks.
    """
    documents = pytest.importorskip("langchain_core.documents")
    chunks = [documents.Document(text, metadata={"number": number}) for number, text in enumerate(CHUNKS)]
    remaining = example("rag_langchain.py")().transform_documents(chunks)
    assert [chunk.page_content for chunk in remaining] == STAYING
    assert [chunk.metadata["number"] for chunk in remaining] == [0, 2, 3]


@pytest.mark.process
def test_llama_index() -> None:
    """
    The transformation drops the near-copy in an ingestion pipeline, although the metadata differ.
    """
    schema = pytest.importorskip("llama_index.core.schema")
    from llama_index.core.ingestion import IngestionPipeline  # type: ignore[import-not-found]

    nodes = [schema.TextNode(text=text, metadata={"file": f"{number}.txt"}) for number, text in enumerate(CHUNKS)]
    pipeline = IngestionPipeline(transformations=[example("rag_llamaindex.py")(threshold=80)])
    assert [node.text for node in pipeline.run(nodes=nodes)] == STAYING


@pytest.mark.process
def test_haystack() -> None:
    """
    The component drops the near-copy in a pipeline that ends in a document store.
    """
    haystack = pytest.importorskip("haystack")
    from haystack.components.writers import DocumentWriter  # type: ignore[import-not-found]
    from haystack.document_stores.in_memory import InMemoryDocumentStore  # type: ignore[import-not-found]

    store = InMemoryDocumentStore()
    pipeline = haystack.Pipeline()
    pipeline.add_component("near_copies", example("rag_haystack.py")())
    pipeline.add_component("writer", DocumentWriter(store))
    pipeline.connect("near_copies.documents", "writer.documents")
    result = pipeline.run({"near_copies": {"documents": [haystack.Document(content=text) for text in CHUNKS]}})
    assert {document.content for document in store.filter_documents()} == set(STAYING)
    assert result["near_copies"]["removed"] == 1
