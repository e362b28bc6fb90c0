"""Computes facets of a query's hits: counts by field value or filter, and statistics of numeric fields.

A field may have values of several types. Their counts are merged into one list; an integer and an equal float
are one value. An unknown field gives empty counts and a warning instead of an error, so that pages with facets still
work.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from whorl.engine.lucene import encode_sortable
from whorl.engine.protocol import (
    Facet,
    FacetResult,
    MatchCount,
    Statistics,
    StatisticsFacet,
    ValueCount,
    ValueFacet,
    lag_warnings,
)
from whorl.errors import ParameterError, UnknownFieldError
from whorl.query import ast
from whorl.query.plan.nodes import Bool, Exists, Kind, MatchAll, Value
from whorl.query.plan.values import written
from whorl.query.unparse import unparse
from whorl.search.prepared import Filter, PreparedQuery, bound_filter, engine_facets

_NUMBERS = (Kind.INTEGER, Kind.FLOAT)


@dataclass(frozen=True, slots=True)
class FilterCount:
    """Number of hits that match a filter."""

    filter: Filter


@dataclass(frozen=True, slots=True)
class FieldValueCounts:
    """Counts of a field's values.

    Args:
        field: Name of the field in queries.
        most: Maximum number of values, at least 1.
        skip: Values to skip.
        least: Minimum number of hits of a value, at least 1.
        is_by_value: Whether to sort by value, ascending, instead of by count.
        beginning: Prefix of the values; text only.
        with_missing: Whether to add the count of the hits without a value at the end.
        within: Nested requests, answered for the hits with each value.
    """

    field: str
    most: int = 100
    skip: int = 0
    least: int = 1
    is_by_value: bool = False
    beginning: str = ""
    with_missing: bool = False
    within: tuple[FacetRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class FieldNumbers:
    """Statistics of a numeric field."""

    field: str


FacetRequest: TypeAlias = FilterCount | FieldValueCounts | FieldNumbers


@dataclass(frozen=True, slots=True)
class Bucket:
    """A value of a field, the query that finds it, the number of its hits, and nested answers.

    The value is written in the query language; None stands for hits without a value.
    """

    text: str | None
    query: str
    count: int
    within: tuple[Answer, ...] = ()


@dataclass(frozen=True, slots=True)
class FieldStatistics:
    """Statistics of a field, and the number of hits without a number in it."""

    numbers: Statistics
    missing: int


#: Answer to a request, in the order of the types of `FacetRequest`.
Answer: TypeAlias = int | tuple[Bucket, ...] | FieldStatistics
_Read: TypeAlias = Callable[[Iterator[FacetResult]], Answer]


def faceted(
    prepared: PreparedQuery, requests: Sequence[FacetRequest], without: Collection[int] = ()
) -> tuple[tuple[Answer, ...], tuple[str, ...]]:
    """Return the answers to requests about all hits of a query, and warnings for the user.

    Sends a single request to the engine. `without` has the indices of the query's filters to ignore when counting.

    Raises:
        ParameterError: A field holds words, which cannot be counted, or no numbers.
        QueryError: A filter cannot be run, unless it only refers to an unknown field: such a filter matches nothing.
    """
    translator = _FacetTranslator(prepared)
    reads = [translator.add(request) for request in requests]
    warnings = (*translator.warnings, *lag_warnings(prepared.engine))
    results = iter(engine_facets(prepared, translator.facets, without))
    return tuple(read(results) for read in reads), tuple(dict.fromkeys(warnings))


class _FacetTranslator:
    """Translates requests about fields into the engine's facets, and merges the engine's results."""

    def __init__(self, prepared: PreparedQuery) -> None:
        self._prepared = prepared
        self.facets: list[Facet] = []
        self.warnings: list[str] = []

    def add(self, request: FacetRequest) -> _Read:
        """Add a request's facets, and return the function that reads its answer; call these functions in order."""
        match request:
            case FilterCount(filter=chosen):
                return self._filter(chosen)
            case FieldValueCounts():
                return self._values(request)
            case FieldNumbers(field=field):
                return self._numbers(field)

    def _filter(self, chosen: Filter) -> _Read:
        try:
            bound = bound_filter(self._prepared, chosen)
        except UnknownFieldError as error:
            self.warnings.append(f"{error.message}, so {error.query!r:.100} counts nothing")
            return lambda _: 0
        self.warnings += bound.warnings
        self.facets.append(MatchCount(bound.root))
        return _count

    def _values(self, request: FieldValueCounts) -> _Read:
        places = self._places(request.field)
        if request.beginning:
            places = {kind: place for kind, place in places.items() if kind is Kind.KEYWORD}
        inner = _FacetTranslator(self._prepared)
        reads = [inner.add(nested) for nested in request.within]
        self.warnings += inner.warnings
        most, within = request.skip + request.most, tuple(inner.facets)
        # A number may be an integer in one document and a float in another; only the sum of both counts must reach the
        # minimum.
        least = 1 if places.keys() >= {*_NUMBERS} else request.least
        self.facets += [
            ValueFacet(kind, place, most, least, request.is_by_value, request.beginning, within)
            for kind, place in places.items()
        ]
        if request.with_missing:
            self.facets.append(_missing(places))

        def bucket(kind: Kind, counted: ValueCount) -> Bucket:
            results = iter(counted.within)
            query = value_query(request.field, kind, counted.value)
            return Bucket(_text(kind, counted.value), query, counted.count, tuple(read(results) for read in reads))

        def read(results: Iterator[FacetResult]) -> Answer:
            counts = zip(places, results, strict=False)
            merged = _merge_kinds([(kind, values) for kind, values in counts if isinstance(values, tuple)])
            counted = [pair for pair in merged if pair[1].count >= request.least]
            counted.sort(key=_by_value if request.is_by_value else _by_count)
            buckets = [bucket(*pair) for pair in counted[request.skip : most]]
            if request.with_missing:
                buckets.append(Bucket(None, f'ISNULL:"{request.field}"', _count(results)))
            return tuple(buckets)

        return read

    def _numbers(self, field: str) -> _Read:
        places = self._places(field)
        numbers = {kind: place for kind, place in places.items() if kind in _NUMBERS}
        if places and not numbers:
            held = " and ".join(kind.value for kind in places)
            raise ParameterError(
                f"field {field!r:.80} holds {held}, of which there are no statistics; name one of numbers"
            )
        self.facets += [*(StatisticsFacet(kind, place) for kind, place in numbers.items()), _missing(numbers)]

        def read(results: Iterator[FacetResult]) -> Answer:
            merged = Statistics()
            for _, statistics in zip(numbers, results, strict=False):
                if isinstance(statistics, Statistics):
                    merged = merged.merge(statistics)
            return FieldStatistics(merged, _count(results))

        return read

    def _places(self, field: str) -> dict[Kind, str]:
        places = self._prepared.reader.places(field)
        if places is None:
            self.warnings.append(f"the store has no field {field!r:.80}, so no hit is counted by it")
            return {}
        whole: dict[Kind, str] = {kind: place for kind, place in places.items() if kind is not Kind.TEXT}
        if not whole:
            raise ParameterError(f"field {field!r:.80} holds words, which are not counted; name one with whole values")
        return whole


def value_query(field: str, kind: Kind, value: Value) -> str:
    text = _text(kind, value)
    match kind:
        case Kind.KEYWORD:
            return unparse(ast.Phrase(text, field, ast.Form.EXACT))
        case Kind.BOOLEAN:
            return unparse(ast.Term(text, field))
        case _:
            return range_query(field, ast.Bound(text), ast.Bound(text))


def range_query(field: str, low: ast.Bound | None, high: ast.Bound | None) -> str:
    """Return the query for the documents with a value in a range; None leaves the range open at that end."""
    return unparse(ast.Range(low, high, field))


def _text(kind: Kind, value: Value) -> str:
    match kind:
        case Kind.DATE:
            return written(int(value))
        case Kind.BOOLEAN:
            return "true" if value else "false"
        case _:
            return str(value)


def _missing(places: dict[Kind, str]) -> MatchCount:
    present = tuple(Exists(place, kind, 0.0) for kind, place in places.items())
    return MatchCount(Bool(must=(MatchAll(),), must_not=present))


def _count(results: Iterator[FacetResult]) -> int:
    count = next(results)
    return count if isinstance(count, int) else 0


def _merge_kinds(results: Sequence[tuple[Kind, tuple[ValueCount, ...]]]) -> list[tuple[Kind, ValueCount]]:
    """Return the values of all types. Equal numbers are merged, and keep the nested answers of the first one."""
    merged: dict[tuple[bool, Value], tuple[Kind, ValueCount]] = {}
    for kind, counts in results:
        for counted in counts:
            key = (True, counted.value) if kind in _NUMBERS else (False, f"{kind.name} {counted.value}")
            if key in merged:
                # Of an integer and an equal float, keep the integer, which is shorter as text.
                first, other = merged[key]
                value = other.value if first is Kind.INTEGER else counted.value
                merged[key] = Kind.INTEGER, ValueCount(value, other.count + counted.count, other.within)
            else:
                merged[key] = kind, counted
    return list(merged.values())


def _by_value(pair: tuple[Kind, ValueCount]) -> tuple[int, bytes]:
    kind, counted = pair
    if kind in _NUMBERS:
        return 0, encode_sortable(Kind.FLOAT, float(counted.value)).encode()
    return 1 + list(Kind).index(kind), encode_sortable(kind, counted.value).encode()


def _by_count(pair: tuple[Kind, ValueCount]) -> tuple[int, int, bytes]:
    return -pair[1].count, *_by_value(pair)
