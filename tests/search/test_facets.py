"""Facets by field name: values of several types, missing fields, and the queries of the buckets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from whorl import Document, Store, open_store
from whorl.errors import ParameterError, QueryError
from whorl.service.alfresco.facets import (
    Bucket,
    FacetRequest,
    FieldNumbers,
    FieldStatistics,
    FieldValueCounts,
    FilterCount,
    answer_facets,
)
from whorl.service.alfresco.request import FacetField

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


def values_of(field: str, within: tuple[FacetRequest, ...] = (), **options: Any) -> FieldValueCounts:
    return FieldValueCounts(FacetField(field=field, **options), within)


def buckets(store: Store, question: FieldValueCounts) -> list[tuple[str | None, int]]:
    (values,) = answer_facets(store.prepare("*"), [question])[0]
    assert isinstance(values, tuple)
    return [(document.text, document.count) for document in values]


def test_values_of_several_types(store: Store) -> None:
    """
    Equal numbers of different types are one value; texts follow the numbers, documents without a value come last.
    """
    assert buckets(store, values_of("n")) == [("10", 2), ("-1", 1), ("2.5", 1), ("many", 1)]
    in_order = values_of("n", sort="INDEX", missing=True)
    assert buckets(store, in_order) == [("-1", 1), ("2.5", 1), ("10", 2), ("many", 1), (None, 1)]
    assert buckets(store, values_of("n", limit=2, offset=1)) == [("-1", 1), ("2.5", 1)]
    assert buckets(store, values_of("n", mincount=2)) == [("10", 2)]
    assert buckets(store, values_of("k", prefix="a")) == [("a b", 2)]
    assert buckets(store, values_of("n", prefix="1")) == []
    # Field names work without their namespace, as in Alfresco.
    assert buckets(store, values_of("creator")) == [("ann", 1)]


@pytest.mark.parametrize("field", ["n", "k", "day", "open", "cm:creator", "name", "id"])
def test_a_bucket_has_the_filter_of_its_documents(store: Store, field: str) -> None:
    """
    A bucket's query, used as a filter, finds as many documents as the bucket counts.
    """
    (counts,) = answer_facets(store.prepare("*"), [values_of(field, missing=field != "id")])[0]
    assert isinstance(counts, tuple)
    assert counts or field == "name"
    for bucket in counts:
        assert store.search("*", filter=[bucket.query]).total == bucket.count


def test_within_each_other(store: Store) -> None:
    """
    Nested facets of a value count only its own documents.
    """
    inner = (values_of("n"), FieldNumbers("n"), FilterCount("n:10"))
    (counts,) = answer_facets(store.prepare("*"), [values_of("k", within=inner)])[0]
    assert isinstance(counts, tuple)
    first = counts[0]
    values, numbers, count = first.within
    assert (first.text, first.count, count) == ("a b", 2, 2)
    assert values == (Bucket("10", "n:[10 TO 10]", 2),)
    assert isinstance(numbers, FieldStatistics)
    assert (numbers.numbers.total, numbers.missing) == (20.0, 0)


def test_statistics(store: Store) -> None:
    """
    Statistics cover numbers of both types; texts and empty values count as missing.
    """
    (figures,) = answer_facets(store.prepare("*"), [FieldNumbers("n")])[0]
    assert isinstance(figures, FieldStatistics)
    numbers = figures.numbers
    assert (numbers.count, numbers.smallest, numbers.largest, figures.missing) == (4, -1.0, 10.0, 2)
    with pytest.raises(ParameterError, match=r"'day' holds .*dates"):
        answer_facets(store.prepare("*"), [FieldNumbers("day")])


def test_a_missing_field(store: Store) -> None:
    """
    Facets of an unknown field are empty, with a warning; a field or query that cannot be counted or parsed is an error.
    """
    facets: list[FacetRequest] = [
        values_of("gone"),
        FieldNumbers("gone"),
        FilterCount("gone:x"),
        FilterCount("n:10"),
    ]
    (values, numbers, count, other), warnings = answer_facets(store.prepare("*"), facets)
    assert (values, count, other) == ((), 0, 2)
    assert isinstance(numbers, FieldStatistics)
    assert (numbers.numbers.count, numbers.missing) == (0, len(VALUES))
    assert len(warnings) == 2
    assert all("'gone'" in warning for warning in warnings)
    with pytest.raises(ParameterError, match="'content' holds words"):
        answer_facets(store.prepare("*"), [values_of("content")])
    with pytest.raises(QueryError):
        answer_facets(store.prepare("*"), [FilterCount("(")])


def test_filters_that_are_left_out(store: Store) -> None:
    """
    Facets can leave out filters by their numbers; the query itself always applies.
    """
    prepared = store.prepare("n:[* TO *]", filter=["n:10", "k:b"])
    assert answer_facets(prepared, [FilterCount("*")])[0] == (2,)
    assert answer_facets(prepared, [FilterCount("*")], [0])[0] == (2,)
    assert answer_facets(prepared, [FilterCount("*")], [0, 1])[0] == (5,)
