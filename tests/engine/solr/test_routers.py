"""Collections of a SolrCloud whose router does not use ids alone."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests

from solr_cloud import create_collection, delete_collection
from tests.solr_runtime import CONFIGSET
from whorl import Document, SchemaError, open_store
from whorl.duplicates import duplicates_in, parse_pair_options
from whorl.duplicates.write_cluster_labels import write_ids
from whorl.engine.configured_fields import FieldNames
from whorl.engine.local.solr import admin
from whorl.engine.solr.add_missing_fields import initialise
from whorl.engine.solr.backfill_and_labels import backfill
from whorl.engine.solr.check_collection import check
from whorl.engine.solr.client import SolrClient

pytestmark = pytest.mark.cloud

TEXT = " ".join(f"w{number}" for number in range(300))
#: Enough documents that each of two shards has some, and their ids alone name other shards.
IDS = [f"d{number}" for number in range(12)]


@pytest.fixture
def make(solr_cloud_url: str) -> Iterator[Callable[..., SolrClient]]:
    """Factory for collections with whorl's configset and a router of the given parameters."""
    base, names = solr_cloud_url.rpartition("/")[0], [f"whorl_router_{uuid.uuid4().hex[:8]}"]
    create_collection(base, names[0], CONFIGSET)

    def made(**router: str) -> SolrClient:
        names.append(f"{names[0]}_{len(names)}")
        params = {"collection.configName": names[0], "replicationFactor": "1", **router}
        admin(base, "collections", action="CREATE", name=names[-1], **params)
        return SolrClient(f"{base}/{names[-1]}")

    yield made
    for name in reversed(names):
        delete_collection(base, name)


def add(client: SolrClient, documents: list[dict[str, str]], **params: str) -> None:
    url, params = f"{client.url}/update", {"commit": "true", **params}
    requests.post(url, json=documents, params=params, timeout=240).raise_for_status()


def test_a_router_with_a_field(make: Callable[..., SolrClient]) -> None:
    """
    Updates contain the router's field, so all documents get sketches and cluster labels, and are deleted.
    """
    client = make(**{"router.field": "DBID", "numShards": "2"})
    add(client, [{"id": name, "content": TEXT, "DBID": str(number)} for number, name in enumerate(IDS)])
    done = backfill(client, FieldNames())
    assert (done.sent, done.changed, done.refused) == (len(IDS), 0, ())
    with open_store(client.url) as store:
        assert store.similar(IDS[0], metric="containment", threshold=90).total == len(IDS) - 1
        with duplicates_in(store.engine, parse_pair_options("jaccard", 80, 95)) as duplicates:
            write_ids(store.engine, duplicates.clusters(complete=True))
        assert store.search("*", collapse=True).total == 1
        assert store.delete(IDS[:7]) == 7
        assert [hit.id for hit in store.search("*").hits] == sorted(IDS[7:])


def test_routers_are_read_once(make: Callable[..., SolrClient], monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The checks before a change of documents and the router's field take one request.
    """
    client, actions = make(**{"router.field": "DBID", "numShards": "2"}), list[str]()
    administer = client._administer

    def counted(action: str, parameter: str) -> dict[str, Any]:
        actions.append(action)
        return administer(action, parameter)

    monkeypatch.setattr(client, "_administer", counted)
    client.require_updatable()
    assert client.route_field() == "DBID"
    assert actions == ["CLUSTERSTATUS"]


def test_an_implicit_router(make: Callable[..., SolrClient]) -> None:
    """
    A collection whose clients choose the shards can be searched only, because a deletion by id would miss documents.
    """
    client = make(**{"router.name": "implicit", "shards": "a,b"})
    for shard, names in (("a", IDS[:6]), ("b", IDS[6:])):
        add(client, [{"id": name, "content": TEXT} for name in names], _route_=shard)
    list(initialise(client, FieldNames()))
    with open_store(client.url) as store:
        assert store.search(f"FINGERPRINT:{IDS[0]}_80").total == len(IDS)
        changes: list[Callable[[], object]] = [
            lambda: store.index([Document(IDS[0], "another text of a few words more")]),
            lambda: store.delete([IDS[0]]),
            lambda: store.delete_matching("id:d3"),
            lambda: backfill(client, FieldNames()),
        ]
        for change in changes:
            with pytest.raises(SchemaError, match="has the router 'implicit'"):
                change()
        assert store.count() == len(IDS)
    assert any(finding.code == "router" for finding in check(client, FieldNames()))
