"""Queries in fields with stop words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.running import own_collection
from whorl import Document, Store
from whorl.engine.configured_fields import FieldNames
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.engine import SolrEngine

pytestmark = pytest.mark.solr

STOPPED = {
    "name": "stopped",
    "class": "solr.TextField",
    "analyzer": {"tokenizer": {"name": "standard"}, "filters": [{"name": "lowercase"}, {"name": "stop"}]},
}


@pytest.fixture
def store(solr_standalone_url: str) -> Iterator[Store]:
    """A core with a text field that drops English stop words."""
    with own_collection(solr_standalone_url) as url:
        client = SolrClient(url)
        client.change("schema", {"add-field-type": STOPPED})
        client.change("schema", {"add-field": {"name": "abstract", "type": "stopped"}})
        with Store(SolrEngine(client, FieldNames(content="abstract"))) as store:
            store.index([Document("a", "The use of the software is free."), Document("b", "The free use of tools.")])
            yield store


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("abstract:the AND abstract:software", {"a"}),
        ("+use +of +the +free", {"a", "b"}),
        ("abstract:(the AND free) AND NOT tools", {"a"}),
        ("the AND (software OR tools)", {"a", "b"}),
        ("free AND NOT (the AND tools)", {"a"}),
        ("abstract:the AND abstract:absent", set()),
        ("abstract:the AND abstract:of", set()),
    ],
)
def test_stop_words_empty_no_conjunction(store: Store, query: str, found: set[str]) -> None:
    """
    Required stop words are left out, with a warning; a query of stop words alone finds nothing.
    """
    page = store.search(query)
    assert {hit.id for hit in page.hits} == found
    assert "'the' has only stop words of the field 'abstract', and so is left out" in page.warnings


def test_other_clauses_are_searched_unchanged(store: Store) -> None:
    """
    Disjunctions, phrases and exclusions with stop words find the same documents without a warning.
    """
    for query, found in (('"use of the software"', {"a"}), ("the OR tools", {"b"}), ("free AND NOT the", {"a", "b"})):
        page = store.search(query)
        assert ({hit.id for hit in page.hits}, page.warnings) == (found, ()), query
