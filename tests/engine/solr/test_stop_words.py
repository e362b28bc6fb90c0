"""Queries in fields with stop words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.running import own_collection
from whorl import Document, Store
from whorl.engine.configured_fields import FieldNames
from whorl.engine.solr.check_collection import check
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.engine import SolrEngine

pytestmark = pytest.mark.solr

WARNING = "'the' has only stop words of the field 'abstract', which are not looked for"
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
    assert WARNING in page.warnings


@pytest.mark.parametrize(
    ("query", "found", "warnings"),
    [
        ('"use of the software"', {"a"}, ()),
        ("the", set(), (WARNING,)),
        ("NOT the", {"a", "b"}, (WARNING,)),
        ("the OR tools", {"b"}, (WARNING,)),
        ("free AND NOT the", {"a", "b"}, (WARNING,)),
    ],
)
def test_other_clauses_are_searched_unchanged(
    store: Store, query: str, found: set[str], warnings: tuple[str, ...]
) -> None:
    """
    Single words, disjunctions, phrases and exclusions are kept, and a warning names clauses of stop words alone.
    """
    page = store.search(query)
    assert ({hit.id for hit in page.hits}, page.warnings) == (found, warnings)


def test_patterns_and_stems(solr_standalone_url: str) -> None:
    """
    Searches for patterns and similar words in a field of stems have a warning, and check says it; words have none.
    """
    filters = [{"name": "lowercase"}, {"name": "porterStem"}]
    stemmed = {**STOPPED, "name": "stemmed", "analyzer": {"tokenizer": {"name": "standard"}, "filters": filters}}
    with own_collection(solr_standalone_url) as url:
        client, fields = SolrClient(url), FieldNames(content="abstract")
        client.change("schema", {"add-field-type": stemmed})
        client.change("schema", {"add-field": {"name": "abstract", "type": "stemmed"}})
        with Store(SolrEngine(client, fields)) as store:
            store.index([Document("a", "Permissions of the software.")])
            for query in ("abstract:permission~1", "*ware", 'abstract:"the soft*"'):
                assert "the index of 'abstract' has stems of words" in store.search(query).warnings[0]
            assert store.search("permission AND name:a*").warnings == ()
        assert "stems" in {finding.code for finding in check(client, fields)}
