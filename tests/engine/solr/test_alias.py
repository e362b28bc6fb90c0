"""Aliases of one and of several collections in a SolrCloud."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest

from solr_cloud import create_collection, delete_collection
from tests.solr_runtime import CONFIGSET
from whorl import Document, SchemaError, open_store
from whorl.engine.configured_fields import FieldNames
from whorl.engine.local.solr import admin
from whorl.engine.solr.add_missing_fields import initialise
from whorl.engine.solr.backfill_and_labels import backfill
from whorl.engine.solr.check_collection import check
from whorl.engine.solr.client import SolrClient

pytestmark = pytest.mark.cloud

TEXTS = ("one two three four five six seven", "eight nine ten eleven twelve thirteen fourteen")


@pytest.fixture(scope="module")
def collections(solr_cloud_url: str) -> Iterator[list[str]]:
    """URLs of two collections with a document each, and of their aliases: one for the first, one for both."""
    base, mark = solr_cloud_url.rpartition("/")[0], uuid.uuid4().hex[:8]
    names = [f"whorl_alias_{mark}_{number}" for number in range(2)]
    for number, name in enumerate(names):
        create_collection(base, name, CONFIGSET)
        with open_store(f"{base}/{name}") as store:
            store.index([Document(f"document{number}", TEXTS[number])])
    for alias, aliased in ((f"whorl_one_{mark}", names[:1]), (f"whorl_both_{mark}", names)):
        admin(base, "collections", action="CREATEALIAS", name=alias, collections=",".join(aliased))
    yield [f"{base}/{name}" for name in (*names, f"whorl_one_{mark}", f"whorl_both_{mark}")]
    for alias in (f"whorl_one_{mark}", f"whorl_both_{mark}"):
        admin(base, "collections", action="DELETEALIAS", name=alias)
    for name in names:
        delete_collection(base, name)


def test_an_alias_of_several_collections_can_only_be_read(collections: list[str]) -> None:
    """
    Searches find documents of both collections; commands that change documents or the schema are refused.
    """
    client = SolrClient(collections[-1])
    with open_store(client.url) as store:
        assert {hit.id for hit in store.search("*").hits} == {"document0", "document1"}
        changes: list[Callable[[], object]] = [
            lambda: store.index([Document("document1", "another text of a few words more")]),
            lambda: store.delete(["document1"]),
            lambda: backfill(client, FieldNames()),
            lambda: initialise(client, FieldNames()),
        ]
        for change in changes:
            with pytest.raises(SchemaError, match=r"is an alias of 2 collections, .* can only be read"):
                change()
        assert store.count() == 2
    assert any(finding.code == "alias" for finding in check(client, FieldNames()))


def test_an_alias_of_one_collection_works_like_it(collections: list[str]) -> None:
    """
    An alias of a single collection takes documents, and check reports no alias.
    """
    client = SolrClient(collections[2])
    with open_store(client.url) as store:
        store.index([Document("new", "a text of some more words")])
        assert store.delete(["new"]) == 1
    backfill(client, FieldNames())
    assert all(finding.code != "alias" for finding in check(client, FieldNames()))
