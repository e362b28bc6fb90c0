"""Fields with stored texts, counted on a real collection."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests import solr_runtime
from whorl import Document, open_store
from whorl.engine.configured_fields import FieldNames, TextField
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.inspect_collection import find_text_fields, read_schema


@pytest.fixture(scope="module")
def url(solr_standalone_url: str) -> Iterator[str]:
    base_url = solr_standalone_url.rpartition("/")[0]
    name = f"whorl_texts_{uuid.uuid4().hex[:8]}"
    yield solr_runtime.make_collection(base_url, name)
    solr_runtime.drop(base_url, name)


def test_texts_are_counted_by_field(url: str) -> None:
    """
    Text fields in use are listed, dynamic ones included, those with most text first; names and tokens are left out.
    """
    documents = [
        Document(
            f"{number}", "some text" if number < 3 else "", f"name {number}", {"summary: 1": "words", "year": 2020}
        )
        for number in range(5)
    ]
    with open_store(url) as store:
        store.index(documents)
        client = SolrClient(url)
        fields = find_text_fields(client, read_schema(client), FieldNames())
        assert fields == [TextField("content", 3), TextField("summary: 1", 5), TextField("year", 5)]
        named = find_text_fields(client, read_schema(client), FieldNames(name="title", content="content"))
        assert TextField("name", 5) in named
        client.close()
