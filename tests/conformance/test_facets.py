"""Tests of facets on every engine, against a plain loop: value counts, statistics, and matches of another plan."""

from __future__ import annotations

import math
import statistics
from collections import Counter

import pytest

from whorl import Document, Store
from whorl.engine.protocol import Facet, MatchCount, Statistics, StatisticsFacet, ValueFacet
from whorl.query.plan.nodes import Between, BoundPlan, Equal, Kind, MatchAll, Value

ALL = BoundPlan(MatchAll())


def place(store: Store, field: str, kind: Kind) -> str:
    """Return the engine's field for values of a type."""
    places = store.engine.fields().resolve_name(field, {})
    assert places is not None
    return places[kind]


def values(store: Store, field: str, kind: Kind, most: int = 1000, **options: object) -> ValueFacet:
    return ValueFacet(kind, place(store, field, kind), most, **options)  # type: ignore[arg-type]


def counted(store: Store, plan: BoundPlan, facet: Facet) -> list[tuple[Value, int]]:
    (buckets,) = store.engine.facets(plan, [facet])
    assert isinstance(buckets, tuple)
    return [(bucket.value, bucket.count) for bucket in buckets]


def owners(collection: list[Document], field: str, kind: Kind) -> Counter[Value]:
    """Return each value's number of documents, counted in a loop."""
    return Counter(
        value for document in collection for name, own, value in document.whole_values() if (name, own) == (field, kind)
    )


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ("type", Kind.KEYWORD), ("tags", Kind.KEYWORD), ("code", Kind.KEYWORD), ("name", Kind.KEYWORD),
        ("mixed", Kind.KEYWORD), ("pages", Kind.INTEGER), ("price", Kind.FLOAT), ("created", Kind.DATE),
        ("final", Kind.BOOLEAN),
    ],
)  # fmt: skip
def test_values(store: Store, collection: list[Document], field: str, kind: Kind) -> None:
    """
    Each value has its number of documents; values are sorted by count and then by value, or by value alone.
    """
    expected = owners(collection, field, kind)
    assert expected
    by_count = sorted(expected.items(), key=lambda pair: (-pair[1], pair[0]))
    assert counted(store, ALL, values(store, field, kind)) == by_count
    assert counted(store, ALL, values(store, field, kind, 3)) == by_count[:3]
    by_value = sorted(expected.items(), key=lambda pair: pair[0])
    assert counted(store, ALL, values(store, field, kind, is_by_value=True)) == by_value
    least = by_count[len(by_count) // 2][1]
    frequent = [pair for pair in by_count if pair[1] >= least]
    assert counted(store, ALL, values(store, field, kind, min_count=least)) == frequent


def test_values_with_a_prefix(store: Store, collection: list[Document]) -> None:
    """
    A prefix of values is compared letter by letter, and never read as query syntax.
    """
    expected = owners(collection, "code", Kind.KEYWORD)
    for beginning in ("A", "A-", "ab*", "x/y [1] \\", "Ü", "none"):
        counts = dict(counted(store, ALL, values(store, "code", Kind.KEYWORD, prefix=beginning)))
        assert counts == {value: count for value, count in expected.items() if str(value).startswith(beginning)}


def test_ids_are_values(store: Store, collection: list[Document]) -> None:
    """
    Each id is a value of one document.
    """
    counts = counted(store, ALL, values(store, "id", Kind.KEYWORD, is_by_value=True))
    assert counts == [(document_id, 1) for document_id in sorted(document.id for document in collection)]


def test_statistics(store: Store, collection: list[Document]) -> None:
    """
    Statistics equal those of Python's own library, for integers and other numbers; a field without numbers has none.
    """
    for kind in (Kind.INTEGER, Kind.FLOAT):
        numbers = [float(value) for document in collection for name, own, value in document.whole_values()
                   if (name, own) == ("price", kind)]  # fmt: skip
        (figures,) = store.engine.facets(ALL, [StatisticsFacet(kind, place(store, "price", kind))])
        assert isinstance(figures, Statistics)
        assert (figures.count, figures.smallest, figures.largest) == (len(numbers), min(numbers), max(numbers))
        assert math.isclose(figures.total, math.fsum(numbers))
        assert math.isclose(figures.mean, statistics.fmean(numbers))
        assert math.isclose(figures.deviation, statistics.stdev(numbers), abs_tol=1e-9)
    none = BoundPlan(Equal(place(store, "type", Kind.KEYWORD), Kind.KEYWORD, "nothing"))
    assert store.engine.facets(none, [StatisticsFacet(Kind.FLOAT, place(store, "price", Kind.FLOAT))]) == (
        Statistics(),
    )


@pytest.mark.parametrize("name", ["acme:amount", "{http://www.acme.org/model/1.0}amount", "2021", 'a "b" (c) $d-e'])
def test_statistics_of_any_name(store: Store, name: str) -> None:
    """
    The name of a field may have a prefix, a namespace, digits and any signs.
    """
    ids = ["first", "second"]
    store.index([Document(ids[at], "", properties={name: number}) for at, number in enumerate((1.5, 3.25))])
    try:
        facet = StatisticsFacet(Kind.FLOAT, place(store, name, Kind.FLOAT))
        (figures,) = store.engine.facets(ALL, [facet])
    finally:
        store.delete(ids)
    assert isinstance(figures, Statistics)
    assert (figures.count, figures.smallest, figures.largest, figures.total) == (2, 1.5, 3.25, 4.75)


def test_statistics_of_huge_numbers(store: Store) -> None:
    """
    The sum of numbers is right even if their squares exceed a float; the deviation is then NaN.
    """
    store.index([Document(f"huge {number}", "", properties={"huge": number}) for number in (1e200, 1.0)])
    try:
        (figures,) = store.engine.facets(ALL, [StatisticsFacet(Kind.FLOAT, place(store, "huge", Kind.FLOAT))])
    finally:
        store.delete(["huge 1e+200", "huge 1.0"])
    assert isinstance(figures, Statistics)
    assert (figures.count, figures.smallest, figures.largest, figures.total) == (2, 1.0, 1e200, 1e200)
    assert math.isnan(figures.deviation)


def test_questions_of_one_request(store: Store, collection: list[Document]) -> None:
    """
    Facets of one request count only hits of the plan. Nested facets count only documents with the outer value.
    """
    pages = place(store, "pages", Kind.INTEGER)
    plan = BoundPlan(Between(pages, Kind.INTEGER, 1, 120))
    many = MatchCount(Between(pages, Kind.INTEGER, 10, None))
    inner = (values(store, "final", Kind.BOOLEAN), many, StatisticsFacet(Kind.INTEGER, pages))
    facets: list[Facet] = [values(store, "type", Kind.KEYWORD, subfacets=inner), many]
    buckets, total = store.engine.facets(plan, facets)
    there = [document for document in collection if 1 <= number(document) <= 120]
    assert total == sum(number(document) >= 10 for document in there)
    assert isinstance(buckets, tuple)
    types = Counter(document.properties["type"] for document in there)
    assert {((bucket.value),): bucket.count for bucket in buckets} == types
    for bucket in buckets:
        own = [one for one in there if one.properties["type"] == (bucket.value,)]
        finals, count, numbers = bucket.subfacets
        assert isinstance(finals, tuple)
        assert {(one.value,): one.count for one in finals} == Counter(
            one.properties["final"] for one in own if one.properties.get("final")
        )
        assert count == sum(number(one) >= 10 for one in own)
        assert isinstance(numbers, Statistics)
        assert (numbers.count, numbers.total) == (len(own), sum(map(number, own)))


def number(document: Document) -> int:
    """Return the pages of a document, or 0 without a value."""
    pages = next((value for name, _, value in document.whole_values() if name == "pages"), 0)
    assert isinstance(pages, int)
    return pages


def test_a_request_without_facets_is_empty(store: Store) -> None:
    """
    A request without facets gives an empty result, and so do facets without values.
    """
    assert store.engine.facets(ALL, []) == ()
    none = BoundPlan(Equal(place(store, "type", Kind.KEYWORD), Kind.KEYWORD, "nothing"))
    assert store.engine.facets(none, [values(store, "type", Kind.KEYWORD), MatchCount(MatchAll())]) == ((), 0)
