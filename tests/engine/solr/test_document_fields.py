"""Typed values on a real Solr: types of a foreign schema, typed dynamic fields, and a collection without types."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from tests import solr_runtime
from whorl import Document, Order, open_store
from whorl.engine import server_engine
from whorl.engine.configured_fields import FieldNames
from whorl.engine.protocol import MatchCount
from whorl.engine.solr import document_fields
from whorl.engine.solr.add_missing_fields import initialise
from whorl.engine.solr.check_collection import check
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.document_fields import find_used_names
from whorl.engine.solr.field_definitions import PASSAGES, SKETCH
from whorl.engine.solr.inspect_collection import Schema, names_in_use
from whorl.errors import EngineResponseError, FieldError, ParameterError
from whorl.fingerprint.fingerprint_texts import Outputs, TextHashes, hash_texts
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.winnowing import PassageScheme
from whorl.model import PropertyValue
from whorl.query.plan.nodes import Between, BoundPlan, Kind, MatchAll
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
    A core for one test, which may change its schema.
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
    The schema's own types decide, including dynamic fields; a property in a typed field is stored once.
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
        # If a property's own field is not searchable, its typed dynamic field remains.
        assert known["hidden"] == {Kind.KEYWORD: "whorl_keyword_hidden"}
        assert not {"MINHASH", "_version_", "whorl_digest"} & known.keys()
        assert store.engine.fields().find("size_n") == {Kind.INTEGER: "size_n"}
        assert store.engine.fields().find("other_n") is None
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


def test_numbers_that_a_field_cannot_hold(client: SolrClient) -> None:
    """
    Solr refuses a number of more than 32 bits in a field of integers; whorl finds the documents that a larger field
    would give.
    """
    for step in (*DECLARED, {"replace-field": {"name": "DBID", "type": "pint"}}):
        client.post("schema", step)
    with open_store(client.url) as store:
        assert store.engine.resolve(["3000000000"]) == {}
        store.index([Document("a", "", properties={"size_n": 7}), Document("b", "", properties={"size_n": 2147483647})])
        for query, expected in (
            ("size_n:3000000000", []),
            ("size_n:\\-3000000000", []),
            ("NOT size_n:3000000000", ["a", "b"]),
            ("size_n:[7 TO 3000000000]", ["a", "b"]),
            ("size_n:<-3000000000 TO 3000000000>", ["a", "b"]),
            ("size_n:[-3000000000 TO 7]", ["a"]),
            ("size_n:[3000000000 TO *]", []),
            ("size_n:[* TO -3000000000]", []),
            ("size_n:<2147483647 TO 3000000000]", []),
            ("size_n:[8 TO 2147483647]", ["b"]),
        ):
            assert sorted(ids(store, query)) == expected, query
        between = Between("size_n", Kind.INTEGER, 0, 3000000000)
        assert store.engine.facets(BoundPlan(MatchAll()), [MatchCount(between)]) == (2,)


def test_a_collection_without_types(client: SolrClient) -> None:
    """
    An older collection has words only, and says so; init and indexing again add types.
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


def test_names_that_begin_with_a_digit(client: SolrClient) -> None:
    """
    Solr's field lists and sorts read such names as numbers; whorl returns and sorts by the fields' values.
    """
    for step in (
        {"add-field": {"name": "3002", "type": "pint"}},
        {"add-field": {"name": "3001", "type": "string"}},
        {"add-dynamic-field": {"name": "*_n", "type": "pint"}},
    ):
        client.post("schema", step)
    properties: dict[str, PropertyValue | Sequence[PropertyValue]] = {
        "2021": "budget",
        "3d_model": "yes",
        "1e5": 7,
        "7": True,
        "100_n": 5,
        "3001": "x",
        "3002": 2,
    }
    with open_store(client.url) as store:
        store.index(
            [
                Document("a", "", properties=properties),
                Document("b", "", properties={"color": "red", "3002": 1}),
                Document("c", "", properties={"1e5": 9, "3002": 3}),
            ]
        )
        found = store.engine.documents(["a", "b"])
        assert found["a"].properties == {name: (value,) for name, value in properties.items()}
        assert found["b"].properties == {"color": ("red",), "3002": (1,)}
        for name, expected in (("3002", ["c", "a", "b"]), ("1e5", ["c", "a", "b"]), ("100_n", ["a", "b", "c"])):
            hits = store.search("id:a OR id:b OR id:c", sort=[Order(name)]).hits
            assert [hit.id for hit in hits] == expected, name
        with pytest.raises(ParameterError, match="reads the name of this field as a number"):
            store.search("id:a", sort=[Order("3001")])


def test_a_field_is_known_when_it_is_searchable(client: SolrClient) -> None:
    """
    A field that this store has indexed is known at once, despite the cache.
    """
    with open_store(client.url) as store:
        with pytest.raises(FieldError):
            store.search("fresh:1")
        store.index([Document("a", "", properties={"fresh": 1})])
        assert ids(store, "fresh:1") == ["a"]


def test_a_mistyped_name_that_a_pattern_fits_is_an_error(client: SolrClient) -> None:
    """
    A dynamic field without documents is unknown; declared fields are known, and the hint names one with documents.
    """
    for pattern, name in (("*_s", "string"), ("*_i", "pint")):
        client.post("schema", {"add-dynamic-field": {"name": pattern, "type": name, "indexed": True, "stored": True}})
    client.post("schema", {"add-field": {"name": "declared_s", "type": "string"}})
    with open_store(client.url) as store:
        with pytest.raises(FieldError, match="no field 'author_s'"):
            store.search("author_s:debian")
        store.index([Document("a", "", properties={"author_s": "debian", "pages_i": 3})])
        assert ids(store, "author_s:debian AND pages_i:[1 TO 5]") == ["a"]
        assert ids(store, "declared_s:x") == []
        for query, name in (
            ("authr_s:debian", "author_s"),
            ("pagse_i:[1 TO 5]", "pages_i"),
            ("EXISTS:pags_i", "pages_i"),
        ):
            with pytest.raises(FieldError, match="the store has no field") as raised:
                store.search(query)
            assert raised.value.hint == f"Did you mean {name}?"
        assert store.documents(["a"])["a"].properties == {"author_s": ("debian",), "pages_i": (3,)}


def test_a_field_that_another_process_has_filled(client: SolrClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Before a name is refused, Solr is asked again, unless the cached list of fields is fresh.
    """
    monkeypatch.setattr(server_engine, "_LATEST_SECONDS", -1.0)
    with open_store(client.url) as reader, open_store(client.url) as writer:
        reader.index([Document("a", "", properties={"first": "x"})])
        assert ids(reader, "first:x") == ["a"]
        writer.index([Document("b", "", properties={"second": "y"})])
        assert ids(reader, "second:y") == ["b"]
        assert reader.search("*", sort=[Order("second")]).total == 2


def test_a_solr_that_does_not_tell_the_fields_in_use(client: SolrClient) -> None:
    """
    Field patterns are used if the user has no access to Luke.
    """
    schema = Schema("id", {"id": {"type": "string"}}, {"*_i": {"type": "pint"}}, {})
    with pytest.raises(EngineResponseError):
        names_in_use(SolrClient(f"{client.url}_gone"))
    assert find_used_names(SolrClient(f"{client.url}_gone"), schema) is None
    assert find_used_names(client, schema) is not None


def test_names_of_a_collection_made_before(client: SolrClient) -> None:
    """
    Without the name separators in an older collection, names match only as whole words, and check reports it.
    """
    client.post("schema", {"replace-field": {"name": "name", "type": "text_whorl", "indexed": True, "stored": True}})
    with open_store(client.url) as store:
        store.index([Document("a", "", "lease_2024.txt")])
        assert (ids(store, "name:2024"), ids(store, "2024")) == ([], [])
        assert ids(store, "name:lease_2024.txt") == ids(store, "lease_20*") == ids(store, "name:lease_20*") == ["a"]
    assert [finding.code for finding in check(client, FieldNames()) if finding.code == "whole-names"] == ["whole-names"]
    assert "text_whorl_names" not in " ".join(initialise(client, FieldNames(), dry_run=True))


def test_numbers_are_returned_as_numbers(client: SolrClient) -> None:
    """
    Fractions and whole numbers of one property are returned as numbers, and texts stay texts.
    """
    given: dict[str, dict[str, PropertyValue]] = {
        "a": {"price": 9.99, "count": 3, "rate": 0.5, "code": "9.99"},
        "b": {"price": 10, "count": 4, "rate": 1e-7, "code": "10"},
    }
    with open_store(client.url) as store:
        store.index([Document(name, "", properties=properties) for name, properties in given.items()])
        stored = store.engine.documents(list(given))
    assert {name: dict(document.properties) for name, document in stored.items()} == {
        name: {field: (value,) for field, value in properties.items()} for name, properties in given.items()
    }


def test_only_wanted_fingerprints_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Texts are not hashed for sketches that are not wanted, and not read if no fingerprint is wanted.
    """
    computed = list[Outputs]()

    def observed(texts: Sequence[str], scheme: Scheme, outputs: Outputs, *, workers: int) -> Iterator[TextHashes]:
        computed.append(outputs)
        return hash_texts(texts, scheme, outputs, workers=workers)

    def fields(*, has_sketches: bool, passages: PassageScheme | None, with_sketches: bool) -> set[str]:
        schema = SimpleNamespace(has_sketches=has_sketches, passage_scheme=passages)
        collection: Any = SimpleNamespace(schema=schema, scheme=Scheme(), names=None)
        (made,) = document_fields.fingerprint_fields(
            ["one two three four five six"], collection, with_sketches=with_sketches
        )
        return {*made}

    monkeypatch.setattr(document_fields, "hash_texts", observed)
    assert fields(has_sketches=False, passages=None, with_sketches=True) == set()
    assert computed == []
    assert fields(has_sketches=True, passages=PassageScheme(), with_sketches=False) == {PASSAGES}
    assert computed == [Outputs.WORDS]
    assert SKETCH in fields(has_sketches=True, passages=None, with_sketches=True)
    assert computed == [Outputs.WORDS, Outputs.HASHES]
