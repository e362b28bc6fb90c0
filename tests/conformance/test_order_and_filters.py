"""Tests of sorting, filters, query defaults and stored values, which are the same on every engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from whorl import Document, Store
from whorl.errors import ParameterError, QueryError
from whorl.model import Order
from whorl.query.ast import Operator
from whorl.query.plan.planner import QueryDefaults
from whorl.store import query_for_ids_after


def ids(store: Store, query: str, **options: Any) -> list[str]:
    return [hit.id for hit in store.search(query, rows=1000, **options).hits]


def by_value(collection: list[Document], field: str, *, is_ascending: bool) -> list[str]:
    """Sort as documented: documents without a value last, equal values by id."""
    worth: Callable[[Document], Any] = lambda document: document.properties.get(field)  # noqa: E731
    there = sorted((document for document in collection if worth(document)), key=lambda document: document.id)
    best = min if is_ascending else max
    there.sort(key=lambda document: best(worth(document)), reverse=not is_ascending)
    return [document.id for document in there] + sorted(document.id for document in collection if not worth(document))


@pytest.mark.parametrize(
    "field",
    ["größe", "ß", "日本", "2024", "a.b", "my-prop", "{http://www.acme.org/model/1.0}code", '-a "b", (c) \\ $d'],
)
def test_sorted_by_a_field_of_any_letters(store: Store, field: str) -> None:
    """
    The name of a property to sort by may have letters and digits of any script, and any signs.
    """
    documents = [Document(f"letters {value}", "", properties={field: value}) for value in (2, 3, 1)]
    store.index([*documents, Document("letters none", "")])
    try:
        expected = ["letters 1", "letters 2", "letters 3", "letters none"]
        assert ids(store, "id:letters*", sort=[Order(field, True)]) == expected
        assert ids(store, "id:letters*", sort=[Order(field)]) == [*reversed(expected[:3]), expected[3]]
    finally:
        store.delete(["letters none", *(document.id for document in documents)])


@pytest.mark.parametrize("is_ascending", [True, False])
@pytest.mark.parametrize("field", ["pages", "price", "final"])
def test_sorted_by_a_field(store: Store, collection: list[Document], field: str, is_ascending: bool) -> None:
    """
    Numbers and booleans are sorted by value; documents without a value are last in both directions.
    """
    hit_ids = ids(store, "*", sort=[Order(field, is_ascending)])
    assert hit_ids == by_value(collection, field, is_ascending=is_ascending)
    assert len(set(hit_ids)) == len(collection)


@pytest.mark.parametrize("order", [Order("created"), Order("name", True), Order("id"), Order("mixed", True)])
def test_sorted_alike(store: Store, embedded_store: Store, order: Order) -> None:
    """
    Documents sorted by date, name, id, or a field of numbers and texts have the same order on all engines.
    """
    assert ids(store, "*", sort=[order]) == ids(embedded_store, "*", sort=[order])


def test_a_filter_selects_ids_after_another(store: Store, collection: list[Document]) -> None:
    """
    A filter selects the ids after a given one of any length, existing or not, by code points on every engine.
    """
    known = sorted(document.id for document in collection)
    middle = known[len(known) // 2]
    for at in (known[0], middle, known[-1], "f", 'A b:("', "\u65e5", middle + "\u65e5" * 900, "f" * 1000):
        assert ids(store, "*", filter=[query_for_ids_after(at)]) == [
            document_id for document_id in known if document_id > at
        ]


def test_several_keys(store: Store, collection: list[Document]) -> None:
    """
    The first sort key has precedence over the second; pages of a sorted list fit together.
    """
    order = [Order("final", True), Order("pages")]
    hit_ids = ids(store, "final:true OR final:false", sort=order)
    known = {document.id: document.properties for document in collection}

    def most_first(document_id: str) -> list[float]:
        numbers = known[document_id].get("pages", ())
        assert isinstance(numbers, Sequence)
        return [-float(number) for number in numbers] or [1e9]

    assert hit_ids == sorted(
        sorted(hit_ids), key=lambda document_id: (known[document_id]["final"], most_first(document_id))
    )
    pages = [
        store.search("final:true OR final:false", start=at, rows=7, sort=order).hits for at in range(0, len(hit_ids), 7)
    ]
    assert [hit.id for page in pages for hit in page] == hit_ids


def test_sorted_by_score(store: Store) -> None:
    """
    Hits can be sorted by ascending score.
    """
    best = store.search("FINGERPRINT:f6-0", rows=100).hits
    worst = store.search("FINGERPRINT:f6-0", rows=100, sort=[Order(None, True)]).hits
    assert [hit.score for hit in worst] == [hit.score for hit in reversed(best)]
    assert worst[-1].id == "f6-0"


@pytest.mark.parametrize("direction", ["asc", "desc"])
def test_a_field_named_score(store: Store, collection: list[Document], direction: str) -> None:
    """
    In a text of sort keys `score` is the score, with a warning that `@score` is the field.
    """
    by_field = ids(store, "*", sort=f"@score {direction}")
    assert by_field == by_value(collection, "score", is_ascending=direction == "asc")
    page = store.search("FINGERPRINT:f6-0", rows=100, sort=f"score {direction}")
    assert [hit.score for hit in page.hits] == sorted((hit.score for hit in page.hits), reverse=direction == "desc")
    assert "sort: 'score' is the score of a hit; '@score' sorts by the field of that name" in page.warnings
    assert not store.search("*", sort=f"@score {direction}").warnings


@pytest.mark.parametrize(("field", "said"), [("nothing", "no field"), ("content", "words")])
def test_sorting_by_an_unknown_field_is_an_error(store: Store, field: str, said: str) -> None:
    """
    Sorting by an unknown field, or by a field of words, is an error that names it.
    """
    with pytest.raises(ParameterError, match=field) as failure:
        store.search("*", sort=[Order(field)])
    assert said in str(failure.value)


def test_filters_do_not_change_scores(store: Store) -> None:
    """
    All filters apply, and queries within a filter are alternatives; boosts and FINGERPRINTs in filters do not change
    the score.
    """
    everything = {hit.id: hit.score for hit in store.search("FINGERPRINT:f6-0", rows=100).hits}
    page = store.search(
        "FINGERPRINT:f6-0", rows=100, filter=["FINGERPRINT:f6-1_50^3", ("final:true^9", "NOT final:true")]
    )
    wanted = set(ids(store, "FINGERPRINT:f6-1_50")) & everything.keys()
    assert {hit.id: hit.score for hit in page.hits} == {document_id: everything[document_id] for document_id in wanted}
    assert 1 < len(wanted) < len(everything)
    assert ids(store, "*", filter=["NOT FINGERPRINT:f6-0", "final:true"]) == [
        document_id for document_id in ids(store, "final:true") if document_id not in everything
    ]


def test_an_error_in_a_filter_has_its_position(store: Store) -> None:
    """
    An error in a filter shows its position in the filter's text.
    """
    with pytest.raises(QueryError) as failure:
        store.search("*", filter=["final:true", "nothing:x"])
    assert failure.value.query == "nothing:x"


def test_defaults(store: Store) -> None:
    """
    Default operators, templates and default fields apply.
    """
    both, either = ids(store, "lorem1 AND ipsum1"), ids(store, "lorem1 OR ipsum1")
    assert ids(store, "lorem1 ipsum1", defaults=QueryDefaults(default_operator=Operator.AND)) == both
    assert ids(store, "lorem1 ipsum1") == either
    assert both != either
    grouped = "content:(lorem1 ipsum1)"
    assert ids(store, grouped, defaults=QueryDefaults(field_operator=Operator.AND)) == both
    assert ids(store, "any:lorem1", defaults=QueryDefaults(templates={"any": "%(name content)"})) == ids(
        store, "lorem1"
    )
    assert ids(store, "nul") == ["controls"]
    assert ids(store, "nul", defaults=QueryDefaults(default_field="content")) == []
    assert ids(store, "nul", defaults=QueryDefaults(text_fields=("cm:content",))) == []
    assert ids(store, "TEXT:nul", defaults=QueryDefaults(text_fields=("cm:content", "cm:name"))) == ["controls"]
    once = store.search("lorem1", rows=1000, defaults=QueryDefaults(text_fields=("content", "name", "content"))).hits
    assert {hit.score for hit in once} == {1.0}
    assert ids(store, "final:true", defaults=QueryDefaults(namespace="acme")) == ids(store, "acme:final:true")


def test_stored_values_are_returned(store: Store, collection: list[Document], embedded_store: Store) -> None:
    """
    Names and properties are returned as stored, and unknown ids are left out.
    """
    wanted = [document.id for document in collection]
    documents = store.documents([*wanted, "gone", ""])
    assert documents.keys() == set(wanted)
    assert store.engine.names([*wanted, "gone", ""]) == {document.id: document.name for document in collection}
    for document in collection:
        assert documents[document.id].name == document.name
        assert documents[document.id].properties.keys() == {
            name for name, values in document.properties.items() if values
        }
    own = embedded_store.documents(wanted)
    numbers = [
        (documents[document_id].properties.get(name), own[document_id].properties.get(name))
        for document_id in wanted
        for name in ("pages", "score")
    ]
    assert all(one == other for one, other in numbers)
    assert any(one for one, _ in numbers)


def test_hits_have_shared_tokens_and_shares(store: Store) -> None:
    """
    Hits have shared tokens and shares of a source, computed from sketches.
    """
    measured = store.prepare("FINGERPRINT:f6-0").measure_hits(["f6-0", "f6-half", "words-2", "gone"])
    assert measured.keys() == {"f6-0", "f6-half"}
    own, half = measured["f6-0"], measured["f6-half"]
    assert (own.shared_tokens, own.source_tokens) == (512, 512)
    assert own.estimate is not None
    assert half.estimate is not None
    assert own.estimate.shares.jaccard == 1.0
    # The texts share 1,496 of 2,996 shingles.
    assert half.estimate.shares.a_in_b == pytest.approx(0.4993, abs=0.01)
    assert half.estimate.shares.b_in_a == pytest.approx(1.0, abs=0.05)
    for query in ("FINGERPRINT:gone", "FINGERPRINT:words-2", "FINGERPRINT:f6-0 FINGERPRINT:f6-half", "law"):
        assert store.prepare(query).measure_hits(["f6-0"]) == {}
    # The scores of the page's hits count the same tokens as their signatures.
    prepared = store.prepare("FINGERPRINT:f6-0")
    ids = [hit.id for hit in prepared.search().hits]
    assert len(ids) > 1
    assert prepared.measure_hits(ids) == store.prepare("FINGERPRINT:f6-0").measure_hits(ids)
