"""Cluster labels in a real cluster: its own `collapse` uses them, in whorl's own index and in a foreign one."""

from __future__ import annotations

from typing import Any

import pytest

from whorl import Document, Store, open_store
from whorl.duplicates import Keep, duplicates_in, parse_pair_options
from whorl.duplicates.write_cluster_labels import LabelCounts, write_ids
from whorl.engine.configured_fields import FieldNames
from whorl.engine.opensearch.backfill_and_labels import backfill
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.create_index import initialise
from whorl.engine.opensearch.document_fields import CLUSTER_FIELDS, index_body
from whorl.errors import SchemaError

PAGE, OTHER = (" ".join(f"{letter}{at}" for at in range(60)) for letter in "wx")
TEXTS = {"a": PAGE, "b": f"{PAGE} more", "c": PAGE, "d": f"w1 {OTHER}", "e": f"w1 {OTHER[::-1]}"}


def written(store: Store) -> LabelCounts:
    with duplicates_in(store.engine, parse_pair_options("jaccard", 80, 100)) as duplicates:
        return write_ids(store.engine, duplicates.clusters(complete=True, keep=Keep("longest")))


def collapsed(client: IndexClient) -> dict[str, list[str]]:
    """Return the hits of the query of docs/opensearch.md, each with the documents collapsed into it."""
    inner = {"name": "copies", "size": 10, "_source": False, "sort": ["whorl_id"]}
    response: Any = client.search(
        {
            "query": {"match_all": {}},
            "collapse": {"field": "whorl_cluster", "inner_hits": inner},
            "sort": [{"whorl_is_principal": {"order": "desc", "missing": "_last"}}, "whorl_id"],
            "_source": False,
        }
    )
    return {
        hit["_id"]: [hit["_id"] for hit in hit["inner_hits"]["copies"]["hits"]["hits"]]
        for hit in response["hits"]["hits"]
    }


@pytest.mark.opensearch
def test_the_cluster_collapses_by_them(url: str, client: IndexClient) -> None:
    """
    Documents in no cluster are separate hits, whether newly indexed or without their former label.
    """
    with open_store(url) as store:
        store.index(Document(name, text) for name, text in TEXTS.items())
        assert written(store) == LabelCounts(1, 3, 3, 0)
        assert collapsed(client) == {"b": ["a", "b", "c"], "d": ["d"], "e": ["e"]}
        store.delete(["b", "c"])
        assert written(store) == LabelCounts(0, 0, 0, 1)
        assert collapsed(client) == {"a": ["a"], "d": ["d"], "e": ["e"]}


@pytest.mark.opensearch
def test_an_index_of_before_gets_the_fields(opensearch_url: str, url: str, client: IndexClient) -> None:
    """
    `init` adds the fields to a foreign index whose sources contain whorl's fields, and the first run sets each
    document's own id.
    """
    made: Any = index_body(FieldNames())
    fields = {name: field for name, field in made["mappings"]["properties"].items() if name not in CLUSTER_FIELDS}
    client.send("DELETE", client._path())
    client.create({"mappings": {"properties": fields}})
    for name, text in TEXTS.items():
        client.send("PUT", client._path("_doc", name), {"content": text, "kept": {"as": "it is"}})
    backfill(client, FieldNames())
    with open_store(url) as store:
        with pytest.raises(SchemaError, match="has no fields for clusters; 'whorl opensearch init"):
            written(store)
        added, *_ = initialise(client, FieldNames())
        assert added == "add the fields whorl_cluster, whorl_is_principal"
        assert written(store) == LabelCounts(1, 3, 3, 0)
        assert collapsed(client) == {"b": ["a", "b", "c"], "d": ["d"], "e": ["e"]}
        assert written(store) == LabelCounts(1, 3, 0, 0)
        assert {hit.id for hit in store.search("whorl_is_principal:true").hits} == {"b"}
        store.delete(["b", "c"])
        assert written(store) == LabelCounts(0, 0, 0, 1)
        assert collapsed(client) == {"a": ["a"], "d": ["d"], "e": ["e"]}
        (stored,) = client.documents(["a"], True).values()
        assert stored["_source"]["kept"] == {"as": "it is"}
        assert list(store.engine.labels.read_all()) == []
