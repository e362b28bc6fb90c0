"""Facets by field name: values of several types, missing fields, and the queries of the buckets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from whorl import Document, Store, open_store
from whorl.engine.protocol import ValueFacet
from whorl.errors import ParameterError, QueryError
from whorl.search.prepared_search import PreparedQuery, engine_facets
from whorl.service.alfresco.facets import Bucket, FacetRequest, FacetRequestBuilder, FieldStatistics
from whorl.service.alfresco.request import FacetField, Stats

Answer = TypeVar("Answer")

VALUES: list[dict[str, Any]] = [
    {"n": 10, "k": "a b", "cm:creator": "ann"},
    {"n": 10.0, "k": ["a b", 'say "c"'], "day": "2020-01-02"},
    {"n": 2.5, "k": "7", "open": True},
    {"n": -1, "k": 7, "day": "2020-01-02T10:00:00Z"},
    {"n": "many"},
    {},
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(Path(tmp_path_factory.mktemp("facets")) / "store") as opened:
        opened.index(Document(f"d{at}", "some words", properties=own) for at, own in enumerate(VALUES))
        yield opened


def facet(field: str, **options: Any) -> FacetField:
    return FacetField(field=field, **options)


def answer_of(prepared: PreparedQuery, request: FacetRequest[Answer], without: tuple[int, ...] = ()) -> Answer:
    return request.read(engine_facets(prepared, request.facets, without))


def values_of(store: Store, first: FacetField, *inner: FacetField | Stats) -> tuple[Bucket, ...]:
    prepared = store.prepare("*")
    return answer_of(prepared, FacetRequestBuilder(prepared).values(first, *inner))


def count_of(prepared: PreparedQuery, chosen: str, without: tuple[int, ...] = ()) -> int:
    return answer_of(prepared, FacetRequestBuilder(prepared).count(chosen), without)


def statistics_of(store: Store, field: str) -> FieldStatistics:
    prepared = store.prepare("*")
    return answer_of(prepared, FacetRequestBuilder(prepared).statistics(field))


def buckets(store: Store, field: str, **options: Any) -> list[tuple[str | None, int]]:
    return [(bucket.text, bucket.count) for bucket in values_of(store, facet(field, **options))]


def test_values_of_several_types(store: Store) -> None:
    """
    Equal numbers of different types are one value; texts follow the numbers, documents without a value come last.
    """
    assert buckets(store, "n") == [("10", 2), ("-1", 1), ("2.5", 1), ("many", 1)]
    in_order = buckets(store, "n", sort="INDEX", missing=True)
    assert in_order == [("-1", 1), ("2.5", 1), ("10", 2), ("many", 1), (None, 1)]
    assert buckets(store, "n", limit=2, offset=1) == [("-1", 1), ("2.5", 1)]
    assert buckets(store, "n", mincount=2) == [("10", 2)]
    assert buckets(store, "k", prefix="a") == [("a b", 2)]
    assert buckets(store, "n", prefix="1") == []
    # Field names work without their namespace, as in Alfresco.
    assert buckets(store, "creator") == [("ann", 1)]


@pytest.mark.parametrize("field", ["n", "k", "day", "open", "cm:creator", "name", "id"])
def test_a_bucket_has_the_filter_of_its_documents(store: Store, field: str) -> None:
    """
    A bucket's query, used as a filter, finds as many documents as the bucket counts.
    """
    counts = values_of(store, facet(field, missing=field != "id"))
    assert counts or field == "name"
    for bucket in counts:
        assert store.search("*", filter=[bucket.query]).total == bucket.count


def test_a_long_value_is_shown_by_its_beginning(tmp_path: Path) -> None:
    """
    The bucket of a long value shows its first 200 characters; its query finds only documents with this value.
    """
    with open_store(tmp_path / "store") as store:
        texts = {"one": "x" * 1001, "two": "x" * 1002, "three": "x" * 1002, "short": "y"}
        store.index(Document(name, "some words", properties={"long": text}) for name, text in texts.items())
        found = {bucket.query: bucket for bucket in values_of(store, facet("long"))}
        assert {bucket.text for bucket in found.values()} == {"x" * 200 + "…", "y"}
        hits = {frozenset(hit.id for hit in store.search(query).hits) for query in found}
        assert hits == {frozenset({"one"}), frozenset({"two", "three"}), frozenset({"short"})}


def test_within_each_other(store: Store) -> None:
    """
    Nested facets of a value count only its own documents.
    """
    first = values_of(store, facet("k"), facet("n"))[0]
    assert (first.text, first.count) == ("a b", 2)
    assert first.within == (Bucket("10", "n:[10 TO 10]", 2),)
    figures = values_of(store, facet("k"), Stats(field="n"))[0].within
    assert isinstance(figures, FieldStatistics)
    assert (figures.numbers.total, figures.missing) == (20.0, 0)


def test_statistics(store: Store) -> None:
    """
    Statistics cover numbers of both types; texts and empty values count as missing.
    """
    figures = statistics_of(store, "n")
    numbers = figures.numbers
    assert (numbers.count, numbers.smallest, numbers.largest, figures.missing) == (4, -1.0, 10.0, 2)
    with pytest.raises(ParameterError, match=r"'day' holds .*dates"):
        statistics_of(store, "day")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [(["k"], [5]), (["n"], [10_000]), (["n", "k"], [1000, 5]), (["n", "n"], [1000, 5]), (["k", "n"], [5, 5])],
)
def test_additional_values_to_merge(store: Store, fields: list[str], expected: list[int]) -> None:
    """
    More values than the limit are requested to merge integers and floats, but not within the values of a pivot.
    """
    request = FacetRequestBuilder(store.prepare("*")).values(*(facet(field, limit=5) for field in fields))
    requested, within = [], [*request.facets]
    while within:
        values = within[0]
        assert isinstance(values, ValueFacet)
        requested.append(values.limit)
        within = [*values.subfacets]
    assert requested == expected


def test_a_missing_field(store: Store) -> None:
    """
    Facets of an unknown field are empty, with a warning; a field or query that cannot be counted or parsed is an error.
    """
    prepared = store.prepare("*")
    requests = FacetRequestBuilder(prepared)
    values, numbers = requests.values(facet("gone")), requests.statistics("gone")
    count, other = requests.count("gone:x"), requests.count("n:10")
    assert [answer_of(prepared, values), answer_of(prepared, count), answer_of(prepared, other)] == [(), 0, 2]
    figures = answer_of(prepared, numbers)
    assert (figures.numbers.count, figures.missing) == (0, len(VALUES))
    warnings = set(requests.warnings)
    assert len(warnings) == 2
    assert all("'gone'" in warning for warning in warnings)
    with pytest.raises(ParameterError, match="'content' holds words"):
        values_of(store, facet("content"))
    with pytest.raises(QueryError):
        count_of(store.prepare("*"), "(")


def test_filters_that_are_left_out(store: Store) -> None:
    """
    Facets can leave out filters by their numbers; the query itself always applies.
    """
    prepared = store.prepare("n:[* TO *]", filter=["n:10", "k:b"])
    assert count_of(prepared, "*") == 2
    assert count_of(prepared, "*", (0,)) == 2
    assert count_of(prepared, "*", (0, 1)) == 5
