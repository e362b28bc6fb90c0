"""Text fields of an existing collection, with whole values only in the documents that whorl has indexed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.running import own_collection
from whorl import Document, ParameterError, Store
from whorl.engine.configured_fields import FieldNames
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.engine import SolrEngine
from whorl.errors import FieldError
from whorl.query.plan.nodes import Kind

pytestmark = pytest.mark.solr

NAMES = FieldNames(name="title")
PLAIN = {"name": "plain", "class": "solr.TextField", "analyzer": {"tokenizer": {"name": "standard"}}}
FOREIGN = [
    {"id": "1", "title": "part 1", "note_t": "Notiz", "content": "one two three four five six"},
    {"id": "2", "title": "part 2", "note_t": "Notiz b", "content": "seven eight nine ten eleven twelve"},
    {"id": "3", "title": "part 3", "content": "a document without a note of any kind"},
]


@pytest.fixture
def client(solr_standalone_url: str) -> Iterator[SolrClient]:
    """A core with text fields of another program, and its documents."""
    with own_collection(solr_standalone_url) as url:
        client = SolrClient(url)
        client.change("schema", {"add-field-type": PLAIN})
        client.change("schema", {"add-field": {"name": "title", "type": "plain"}})
        client.change("schema", {"add-dynamic-field": {"name": "*_t", "type": "plain"}})
        client.add(FOREIGN)
        client.commit()
        yield client


def ids(store: Store, query: str) -> set[str]:
    return {hit.id for hit in store.search(query).hits}


def test_one_document_of_whorl_changes_no_meaning(client: SolrClient) -> None:
    """
    `=`, EXISTS, ISNULL, ranges and sort treat a collection's own text field as words while some documents have no
    whole values in it.
    """
    with Store(SolrEngine(client, NAMES)) as store:
        store.index([Document("own", "a text of ten words with some properties", "part 4", {"note_t": "Notiz c"})])
        assert ids(store, "=note_t:Notiz") == {"1", "2", "own"}
        assert ids(store, "EXISTS:note_t") == {"1", "2", "own"}
        assert ids(store, "ISNULL:note_t") == {"3"}
        assert ids(store, '=title:"part 2"') == {"2"}
        with pytest.raises(FieldError, match="holds words"):
            store.search("note_t:[A TO Z]")
        with pytest.raises(ParameterError, match="holds words"):
            store.search("*", sort="title")


def test_whole_values_count_once_all_documents_have_them(client: SolrClient) -> None:
    """
    After all documents with a field have been indexed by whorl, its whole values are searched and sorted.
    """
    with Store(SolrEngine(client, NAMES)) as store:
        store.index(
            Document(str(row["id"]), row["content"], row["title"], {"note_t": row["note_t"]} if "note_t" in row else {})
            for row in FOREIGN
        )
        assert store.engine.fields().known["note_t"] == {Kind.TEXT: "note_t", Kind.KEYWORD: "whorl_keyword_note_t"}
        assert ids(store, "=note_t:Notiz") == {"1"}
        assert [hit.id for hit in store.search("*", sort="title desc").hits] == ["3", "2", "1"]


def test_a_copy_in_a_string_field_has_the_whole_values(client: SolrClient) -> None:
    """
    `=`, ranges and sorts of a text field use the string field into which the schema copies it, once all documents have
    it.
    """
    client.change("schema", {"add-field": {"name": "title_exact", "type": "string"}})
    client.change("schema", {"add-copy-field": {"source": "title", "dest": "title_exact"}})
    with Store(SolrEngine(client, NAMES)) as store, pytest.raises(ParameterError, match="holds words"):
        store.search("*", sort="title")
    client.add(FOREIGN)
    client.commit()
    with Store(SolrEngine(client, NAMES)) as store:
        store.index([Document("own", "a text of ten words with some properties", "part 0")])
        assert [hit.id for hit in store.search("*", sort="title").hits] == ["own", "1", "2", "3"]
        assert ids(store, "=title:part") == set()
        assert ids(store, '=title:"part 2"') == {"2"}
        assert ids(store, '=title:"part 0"') == {"own"}
        assert ids(store, 'title:["part 1" TO "part 2"]') == {"1", "2"}
        assert ids(store, "title:part") == {"1", "2", "3", "own"}
    # With another source, the values are not those of one field.
    client.change("schema", {"add-copy-field": {"source": "note_t", "dest": "title_exact"}})
    with Store(SolrEngine(client, NAMES)) as store:
        assert ids(store, '=title:"part 2"') == {"2"}
        assert store.engine.fields().known["title"] == {Kind.TEXT: "title"}
