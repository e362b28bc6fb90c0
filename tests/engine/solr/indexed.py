"""Test documents with texts of all lengths, and helpers to read them back from Solr."""

from __future__ import annotations

import random
from typing import Any

from whorl import Document, Store
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.field_definitions import SAMPLE, SKETCH_FIELDS
from whorl.fingerprint.sketch.frac_minhash import Sketch, SketchScheme, lookup_tokens

SCHEME_NOW = SketchScheme()
#: Ids with characters that have a meaning in lists, queries or macros.
STRANGE = ["a,b", " lead", "trail ", "ünï", "x:y", "$x", "${y}", 'q"uo\\te', "[* TO *]", "-minus", "(", "a\u2028b"]
OWN = [*SKETCH_FIELDS, "_version_"]


def documents() -> list[Document]:
    """Return a long text, passages of it among other words, short texts and empty ones, with ids of all kinds."""
    chance = random.Random(11)
    words = [f"word{number}" for number in range(20_000)]
    long = chance.choices(words, k=30_000)
    made = [Document("big", " ".join(long), name="the big one", properties={"kind": "long"})]
    for number in range(60):
        length = (0, 3, 5, 40, 400, 4000)[number % 6]
        start = chance.randrange(len(long) - length)
        text = " ".join(long[start : start + length] + chance.choices(words, k=length // 5))
        name = STRANGE[number] if number < len(STRANGE) else f"d{number}"
        made.append(Document(name, text, name=f"name {number}", properties={"kind": ["b", "a", "b"], "number": number}))
    return made


DOCUMENTS = documents()
WITH_TEXT = sum(bool(document.text) for document in DOCUMENTS)


def stored(client: SolrClient) -> list[dict[str, Any]]:
    """Return all documents with the fields that Solr returns, without their versions."""
    body = {"query": "*:*", "limit": 1000, "sort": "id asc", "fields": ["*", *SKETCH_FIELDS]}
    docs = client.post("select", body)["response"]["docs"]
    return [{name: value for name, value in document.items() if name != "_version_"} for document in docs]


def only_of_texts(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the documents, but without sketches if they have no text."""
    return [
        document
        if "content" in document
        else {name: value for name, value in document.items() if name not in SKETCH_FIELDS}
        for document in documents
    ]


def indexed_tokens(client: SolrClient, document_id: str) -> set[str]:
    body = {
        "query": {"term": {"f": "id", "query": document_id}},
        "limit": 0,
        "facet": {"tokens": {"type": "terms", "field": SAMPLE, "limit": -1}},
    }
    return {bucket["val"] for bucket in client.post("select", body)["facets"].get("tokens", {"buckets": []})["buckets"]}


def tokens_of(sketch: Sketch) -> set[str]:
    """Return the tokens that the index must have of a document: look-ups, and the mark of a non-empty sketch."""
    return {"sampled.", *lookup_tokens(sketch)} if sketch.size else set()


def versions(client: SolrClient) -> dict[str, int]:
    docs = client.post("select", {"query": "*:*", "limit": 1000, "fields": ["id", "_version_"]})["response"]["docs"]
    return {entry["id"]: entry["_version_"] for entry in docs}


def without_sketches(client: SolrClient) -> None:
    """Remove the sketches, as in documents indexed before whorl had sketches."""
    bare = [{name: value for name, value in document.items() if name not in OWN} for document in stored(client)]
    client.post("update", bare, commit="true")


def answers(store: Store) -> list[object]:
    """Return the results of searches by other fields: words, properties, names and tokens."""
    queries = ["word7", "kind:a", 'name:"name 7"', "number:7", "FINGERPRINT:big_20", "FINGERPRINT:d40_10_50", "*:*"]
    return [store.search(query, rows=100) for query in queries]
