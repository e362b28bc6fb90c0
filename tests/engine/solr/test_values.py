"""Types on a real Solr: those of somebody else's schema, those beside words, and a collection that has none yet."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence

import pytest

from tests import solr_runtime
from whorl import Document, open_store
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.schema import FieldNames
from whorl.engine.solr.setup import initialise
from whorl.errors import FieldError
from whorl.model import PropertyValue
from whorl.planning.clauses import Kind
from whorl.store import Store

pytestmark = pytest.mark.solr

DECLARED = [
    {"add-field-type": {"name": "pfloat_of_mine", "class": "solr.FloatPointField", "docValues": True}},
    {"add-field": {"name": "year", "type": "plong"}},
    {"add-field": {"name": "ratio", "type": "pfloat_of_mine"}},
    {"add-field": {"name": "made", "type": "pdate", "multiValued": True}},
    {"add-field": {"name": "done", "type": "boolean"}},
    {"add-field": {"name": "kind", "type": "string"}},
    {"add-field": {"name": "hidden", "type": "string", "indexed": False, "docValues": False}},
    {"add-dynamic-field": {"name": "*_n", "type": "pint"}},
]


@pytest.fixture
def client(solr_standalone_url: str) -> Iterator[SolrClient]:
    """
    A core of its own, whose schema a test may change.
    """
    base_url, name = solr_standalone_url.rsplit("/", 1)[0], f"whorl_typed_{uuid.uuid4().hex[:8]}"
    client = SolrClient(solr_runtime.make_collection(base_url, name))
    try:
        yield client
    finally:
        client.close()
        solr_runtime.drop(base_url, name)


def ids(store: Store, query: str) -> list[str]:
    return [hit.id for hit in store.search(query).hits]


def test_types_of_a_schema(client: SolrClient) -> None:
    """
    The schema's own types decide, dynamic fields included; a property in such a field is kept once.
    """
    for step in DECLARED:
        client.post("schema", step)
    made = ["2021-05-03", "2022-01-01T10:00:00+02:00"]
    first: dict[str, PropertyValue | Sequence[PropertyValue]] = {"year": 2021, "ratio": 0.5, "made": made, "done": True}
    with open_store(client.url) as store:
        store.index([Document("a", "", properties={**first, "kind": "A-1", "size_n": 7, "hidden": "x"})])
        store.index([Document("b", "", properties={"year": 1999, "kind": "9", "free": "some words"})])
        known = store.engine.fields().known
        assert known["year"] == {Kind.INTEGER: "year"}
        assert known["ratio"] == {Kind.FLOAT: "ratio"}
        assert known["made"] == {Kind.DATE: "made"}
        assert known["done"] == {Kind.BOOLEAN: "done"}
        assert known["kind"] == {Kind.KEYWORD: "kind"}
        assert known["free"] == {Kind.TEXT: "free", Kind.KEYWORD: "whorl_keyword_free"}
        assert known["name"] == {Kind.TEXT: "name"}
        # A field that cannot be searched leaves the value that is kept beside it.
        assert known["hidden"] == {Kind.KEYWORD: "whorl_keyword_hidden"}
        assert not {"MINHASH", "_version_", "whorl_digest"} & known.keys()
        assert store.engine.fields().find("other_n") == {Kind.INTEGER: "other_n"}
        for query in (
            "year:[2000 TO *]",
            "year:2021",
            "ratio:<0.4 TO 0.5]",
            "ratio:0.5",
            "made:2021-05",
            'made:["2022-01-01T08:00:00Z" TO "2022-01-01T08:00:00Z"]',
            "done:true",
            "kind:A-1",
            "kind:A*",
            "kind:A-2~0.6",
            "size_n:[7 TO 7]",
            "EXISTS:ratio",
            "ISNULL:free",
            "hidden:x",
            "DBID:[1 TO 9] OR id:a",
        ):
            assert ids(store, query) == ["a"], query
        assert ids(store, 'free:words AND =free:"some words"') == ["b"]
        assert ids(store, "kind:a-1") == []


def test_a_collection_without_types(client: SolrClient) -> None:
    """
    A collection made before has words alone, and says so; init and indexing again give it types.
    """
    for kind in ("keyword", "integer", "float", "date", "boolean"):
        client.post("schema", {"delete-dynamic-field": {"name": f"whorl_{kind}_*"}})
    document = Document("a", "", "A name", {"year": 2021})
    with open_store(client.url) as store:
        store.index([document])
        assert store.engine.fields().known["year"] == {Kind.TEXT: "year"}
        assert ids(store, "year:2021") == ["a"]
        with pytest.raises(FieldError, match="field 'year' holds words: a range needs whole values"):
            store.search("year:[2000 TO *]")
    assert sum("add-dynamic-field" in line for line in initialise(client, FieldNames(), dry_run=False)) == 5
    with open_store(client.url) as store:
        assert ids(store, "year:2021") == ["a"]
        store.index([document], again=True)
        assert ids(store, "year:[2000 TO *]") == ["a"]
        assert ids(store, '=name:"A name"') == ["a"]


def test_a_field_is_known_when_it_is_searchable(client: SolrClient) -> None:
    """
    What this store has indexed is known at once, and gone from no cache.
    """
    with open_store(client.url) as store:
        with pytest.raises(FieldError):
            store.search("fresh:1")
        store.index([Document("a", "", properties={"fresh": 1})])
        assert ids(store, "fresh:1") == ["a"]
