"""`init` creates an index or adds fields, and refuses indexes with other definitions."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from tests import opensearch_runtime
from tests.engine.opensearch.test_client import between
from whorl import Document, open_store
from whorl.engine.configured_fields import FieldNames
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.create_index import (
    create,
    definition_differences,
    field_definition,
    has_own_fields_in_source,
    initialise,
    searchable_text,
)
from whorl.engine.opensearch.document_fields import MAPPING, OWN
from whorl.errors import EngineResponseError, SchemaError

TEXT = "one two three four five six seven"


def lines(client: IndexClient, **options: Any) -> list[str]:
    return list(initialise(client, FieldNames(), **options))


def test_a_new_index(other_url: str) -> None:
    """
    Init creates an index once, with all fields; a dry run creates nothing.
    """
    client = IndexClient(other_url)
    (line,) = lines(client, dry_run=True)
    assert line.startswith(f"would make the index {client.index}")
    assert client.mapping() is None
    assert lines(client) == [line.removeprefix("would ")]
    there = client.mapping()
    assert there is not None
    assert (list(definition_differences(there)), has_own_fields_in_source(there)) == ([], False)
    assert set(MAPPING) <= set(there["properties"])
    assert lines(client) == ["nothing to add"]
    # Simulate another client that has created the index first.
    create(client, FieldNames())
    client.close()


def test_the_first_documents_make_the_index(other_url: str) -> None:
    """
    The first documents create the index like init; before, a search reports that it does not exist.
    """
    client = IndexClient(other_url)
    with open_store(other_url) as store:
        with pytest.raises(
            EngineResponseError, match=r"not an index of this cluster .* 'whorl opensearch init opensearch\+"
        ):
            store.search("*")
        assert store.index([Document("a", TEXT)]).stored == 1
        assert store.index([Document("a", TEXT)]).unchanged == 1
        assert store.search("FINGERPRINT:a").hits[0].id == "a"
        client.raw.indices.delete(index=client.index)
        # If the index is deleted, or its alias moves, while the store is open, no empty index takes its name.
        with pytest.raises(EngineResponseError, match="not an index of this cluster"):
            store.index([Document("b", TEXT)])
        assert not client.raw.indices.exists(index=client.index)
    with open_store(other_url) as store:
        # Without init, the cluster would create an index with default mappings.
        store.index([Document("b", TEXT)])
    assert lines(client) == ["nothing to add"]
    client.close()


def test_an_existing_index(other_url: str) -> None:
    """
    Init adds fields to an existing index, its own fields stay unchanged, and new documents join the existing ones.
    """
    client = IndexClient(other_url)
    properties = {"content": {"type": "text"}, "title": {"type": "keyword"}}
    client.create({"mappings": {"properties": properties}})
    client.raw.index(index=client.index, id="old", body={"content": TEXT, "title": "T"}, params={"refresh": "true"})
    with open_store(other_url) as store:
        with pytest.raises(SchemaError, match=r"lacks the fields whorl_digest, .*'whorl opensearch init opensearch\+"):
            store.index([Document("a", TEXT)])
        reported = lines(client)
        assert reported[0].startswith("add the fields name, properties, whorl_cluster, whorl_digest")
        assert OWN in reported[1]
        assert reported[2] == f"next, for the documents that are there: whorl opensearch backfill {other_url}"
        there = client.mapping() or {}
        assert {name: there["properties"][name] for name in properties} == properties
        assert lines(client)[0] == "nothing to add"
        store.index([Document("a", TEXT)])
        assert [hit.id for hit in store.search("FINGERPRINT:a").hits] == ["a"]
        assert store.count() == 1
    client.close()


def test_a_field_added_by_documents_during_the_run(other_url: str) -> None:
    """
    If documents add a field after init has read the mapping, init reads it again and keeps the field.
    """
    client = IndexClient(other_url)
    client.create({})
    before = client.raw.transport.perform_request("GET", f"/{client.index}")
    client.raw.index(index=client.index, id="old", body={"name": "T"}, params={"refresh": "true"})
    stale = iter([before])

    def outdated(path: str, _: str) -> tuple[int, Any] | None:
        is_index = path.strip("/").partition("?")[0] == client.index
        return next(((200, body) for body in stale), None) if is_index else None

    with between(other_url, outdated) as address, closing(IndexClient(address)) as late:
        assert lines(late)[0].startswith("add the fields content, properties, whorl_cluster")
    assert (client.mapping() or {})["properties"]["name"]["type"] == "text"
    client.close()


def test_automatically_mapped_fields_with_our_names(other_url: str) -> None:
    """
    Fields that the cluster has mapped automatically are refused: nothing is written, and the difference is named.
    """
    client = IndexClient(other_url)
    client.create({})
    client.raw.index(index=client.index, id="a", body={"whorl_id": "a", "whorl_size": 3})
    with open_store(other_url) as store:
        for ask in (lambda: store.index([Document("b", TEXT)]), lambda: lines(client)):
            with pytest.raises(SchemaError, match=r'whorl_id has type "text", ours "keyword".*move the documents'):
                ask()
    client.close()


def test_an_index_for_tests_has_two_shards(url: str) -> None:
    """
    An index for tests has two shards, so that tests cover results from several.
    """
    assert opensearch_runtime.IMAGE.startswith("opensearchproject/")
    assert IndexClient(url).settings()["index.number_of_shards"] == "2"


def test_fields_within_objects() -> None:
    """
    A name with a dot is looked up in the mapping of an object.
    """
    there = {"properties": {"body": {"properties": {"text": {"type": "text"}}}}}
    assert field_definition(there, "body.text") == {"type": "text"}
    assert field_definition(there, "body.title") == field_definition(there, "text") == {}


@pytest.mark.parametrize(
    ("field", "is_searchable"),
    [
        ({"type": "text"}, True),
        ({"type": "text", "index": False}, False),
        ({"type": "keyword"}, True),
        ({"type": "keyword", "ignore_above": 256}, False),
    ],
)
@pytest.mark.parametrize("kind", ["object", "nested"])
def test_texts_that_queries_cannot_find(field: dict[str, Any], is_searchable: bool, kind: str) -> None:
    """
    A field that is not indexed, leaves out long values or is nested cannot be used to find documents with a text.
    """
    mapping = {"properties": {"body": {"type": kind, "properties": {"text": field}}}}
    expected = "body.text" if is_searchable and kind == "object" else None
    assert searchable_text(mapping, FieldNames(content="body.text")) == expected
