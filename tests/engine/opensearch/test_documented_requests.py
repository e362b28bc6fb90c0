"""Requests use only paths, parameters and queries that all servers document, including servers that no test runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args
from urllib.parse import unquote

import pytest

from whorl import Document, Store
from whorl.engine.configured_fields import FieldNames
from whorl.engine.opensearch.backfill_and_labels import backfill
from whorl.engine.opensearch.check_index import check
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.create_index import create, initialise
from whorl.engine.opensearch.document_fields import MAPPING, PASSAGE_FIELDS, index_body
from whorl.engine.opensearch.engine import OpenSearchEngine
from whorl.engine.opensearch.foreign_minhash import read_index_tokens
from whorl.engine.server_engine import ServerAccess
from whorl.fingerprint.sketch.frac_minhash import SketchScheme
from whorl.fingerprint.winnowing import PassageScheme
from whorl.model import Order
from whorl.query.ast import WildcardCharacter
from whorl.query.plan.nodes import (
    Between,
    Bool,
    BoundLeaf,
    BoundPlan,
    DocumentsByScore,
    Equal,
    Exists,
    FuzzyWord,
    InOrder,
    Kind,
    MatchAll,
    Nothing,
    PassageHashes,
    SharedBands,
    SharedTokens,
    SketchTokens,
    WildcardValue,
    Words,
)

DOCUMENTED = json.loads((Path(__file__).parent / "documented.json").read_text(encoding="utf-8"))
TEXT = "one two three four five six seven"
TOKENS = tuple(range(1100))
#: All nodes that a plan may have.
NODES: tuple[BoundLeaf, ...] = (
    Nothing("no"), MatchAll(1.0), Words("a"), Words("a b", "f"), FuzzyWord("word", 1, "f"),
    InOrder((("a", WildcardCharacter.ANY), ("b",)), 1, "f"), Equal("f", Kind.INTEGER, 1),
    WildcardValue("f", ("a", WildcardCharacter.ONE)),
    Between("f", Kind.INTEGER, 1, 2), Exists("f", Kind.TEXT), SharedTokens("a", TOKENS[:5], 2),
    SharedTokens("a", TOKENS, 2), SharedBands("a", ((1, 2), (3, 4))),
    SketchTokens("a", SketchScheme(), (1, 2), 1, 1, 9), PassageHashes("a", PassageScheme(), (1, 2)),
    DocumentsByScore("a", ((1.0, ("x",)),)),
)  # fmt: skip
#: The response to any request.
ANSWER: dict[str, Any] = {
    "hits": {"hits": [{"_id": "a", "_score": 1.0, "_seq_no": 1, "_primary_term": 1, "_source": {"content": TEXT},
                       "sort": [1, "a"]}],
             "total": {"value": 1}},
    "_shards": {"failed": 0}, "_scroll_id": "s", "docs": [], "status": "green", "unassigned_shards": 0,
    "version": {"number": "9.1.0"}, "aggregations": {
        "fields": {"buckets": []}, "counts": {"buckets": {"q0": {"doc_count": 1}, "q1": {"doc_count": 0}}},
    },
}  # fmt: skip


class Server:
    """Server that responds to everything and records the requests."""

    def __init__(self, mapping: dict[str, Any], settings: dict[str, Any]) -> None:
        self.mapping, self.settings = mapping, settings
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []

    def perform_request(self, method: str, path: str, params: Any, body: Any, headers: Any) -> dict[str, Any]:
        self.requests.append(
            (method, unquote(path), {key: params[key] for key in params.keys() - {"request_timeout"}}, body)
        )
        if path == "/docs/_bulk":
            return {"items": [{"index": {"_id": "a", "status": 200}} for _ in body.splitlines()[::2]]}
        if path == "/docs/_settings":
            return {"docs": {"settings": self.settings}}
        if path == "/_search/scroll":
            return {**ANSWER, "hits": {"hits": []}}
        return {"docs": {"mappings": self.mapping}} if (method, path) == ("GET", "/docs") else ANSWER


def asking(mapping: dict[str, Any], settings: dict[str, Any]) -> tuple[Server, IndexClient]:
    client = IndexClient("elasticsearch+http://127.0.0.1:1/docs", ServerAccess(retries=0))
    server = Server(mapping, settings)
    client.raw.transport = server  # type: ignore[assignment]
    return server, client


@pytest.fixture(scope="module")
def sent_requests() -> list[tuple[str, str, dict[str, str], Any]]:
    """All kinds of requests that whorl sends."""
    names = FieldNames()
    server, client = asking(index_body(names, passages=PassageScheme())["mappings"], {})
    store = Store(OpenSearchEngine(client))
    create(client, names)
    store.index([Document("a", TEXT, properties={"n": 1})])
    store.delete(["a"])
    for ask in (
        store.count, lambda: store.engine.resolve(["a"]), lambda: store.engine.signatures({"a": True}),
        lambda: store.engine.sketches(["a"]), lambda: store.engine.resolve_sketches(["a"]),
        lambda: store.engine.texts(["a"]),
        lambda: store.engine.sizes(["a"]), lambda: next(iter(store.engine.scan("b"))), store.engine.fields,
        store.engine.largest_size, lambda: store.engine.documents(["a"]), lambda: list(check(client, names)),
        lambda: backfill(client, names),
        lambda: store.engine.passage_scheme, lambda: store.engine.passage_counts([1, 2]),
        lambda: client.page({"query": {"match_all": {}}, "sort": [{"whorl_id": "asc"}]}, 10_000, 10),
    ):  # fmt: skip
        ask()
    by_number = Order("n", False, ((Kind.INTEGER, "n"),))
    for node in NODES:
        store.engine.search(BoundPlan(node), start=0, rows=10, order=[by_number])
        store.engine.candidates(BoundPlan(node), start=0, rows=10)
    several: Bool[BoundLeaf] = Bool(
        should=(SharedTokens("a", TOKENS, 2), SharedBands("a", ((1,),))), must_not=(NODES[1],)
    )
    store.engine.search(BoundPlan(several), start=0, rows=10)
    foreign, other = asking({"properties": {"content": {"type": "text"}}}, {})
    list(initialise(other, names))
    read_index_tokens(other, names)
    other.term_vectors(["a"], "content")
    other.terms_of(TEXT, "content", "content")
    return [*server.requests, *foreign.requests]


def test_paths_and_parameters(sent_requests: list[tuple[str, str, dict[str, str], Any]]) -> None:
    """
    All paths and parameters are documented, and all listed ones are used.
    """
    requests = dict[str, set[str]]()
    for method, path, parameters, _ in sent_requests:
        requests.setdefault(f"{method} {path.replace('/docs', '/{index}')}", set()).update(parameters)
    assert {key: sorted(parameters) for key, parameters in requests.items()} == DOCUMENTED["requests"]


def test_bodies(sent_requests: list[tuple[str, str, dict[str, str], Any]]) -> None:
    """
    All members of request bodies are documented.
    """
    for _, path, _, body in sent_requests:
        known = DOCUMENTED["bodies"].get(path.rpartition("/")[2])
        if known and isinstance(body, dict):
            assert set(body) <= set(known), path


def kinds(query: Any) -> Iterator[str]:
    """Yield the kinds of a query and of the queries inside it."""
    ((kind, body),) = query.items()
    yield kind
    inner: list[Any] = []
    for key in ("must", "should", "must_not", "filter", "query", "clauses", "match"):
        inner_queries = (
            body.get(key, []) if kind not in ("match_phrase", "term", "terms", "range", "wildcard", "fuzzy") else []
        )
        inner += inner_queries if isinstance(inner_queries, list) else [inner_queries]
    inner += [function["filter"] for function in body.get("functions", []) if "filter" in function]
    for nested in inner:
        yield from kinds(nested)


def test_kinds_of_queries(sent_requests: list[tuple[str, str, dict[str, str], Any]]) -> None:
    """
    All servers have all kinds of queries used here, and all listed kinds are used.
    """
    counts = Counter(
        kind
        for *_, body in sent_requests
        if isinstance(body, dict) and "query" in body
        for kind in kinds(body["query"])
    )
    assert sorted(counts) == DOCUMENTED["queries"]


def test_aggregations(sent_requests: list[tuple[str, str, dict[str, str], Any]]) -> None:
    """
    The aggregations used are exactly the listed ones.
    """
    bodies = [body for *_, body in sent_requests if isinstance(body, dict)]
    aggregations = {kind for body in bodies for aggregation in body.get("aggs", {}).values() for kind in aggregation}
    assert sorted(aggregations) == DOCUMENTED["aggregations"]


def test_every_node_is_used() -> None:
    """
    NODES contains all nodes that a plan may have.
    """
    assert {type(node) for node in NODES} == set(get_args(BoundLeaf))


def test_types_of_fields() -> None:
    """
    Neither mapping nor analysis needs a plug-in.
    """
    for field in (
        *MAPPING.values(),
        *PASSAGE_FIELDS.values(),
        *index_body(FieldNames(), passages=PassageScheme())["mappings"]["properties"].values(),
    ):
        assert set(field) - {"type"} <= set(DOCUMENTED["fields"][field["type"]])
        assert field.get("analyzer", "whitespace") == "whitespace"
