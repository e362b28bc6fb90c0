"""Counts facets for Alfresco's clients, in Alfresco's request and response format.

Facets are counts by field value or filter, and statistics of numeric fields. If a field has values of several types,
their counts are merged; an integer and an equal float become one value. An unknown field has empty counts, with a
warning instead of an error, so that pages with facets still work. Ranges are divided into steps as in Solr.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any, TypeAlias

from whorl.engine.protocol import (
    Facet,
    FacetResult,
    MatchCount,
    Statistics,
    StatisticsFacet,
    ValueCount,
    ValueFacet,
    gap_warnings,
)
from whorl.errors import ParameterError, UnknownFieldError
from whorl.query import ast
from whorl.query.ast import Bound
from whorl.query.plan.fields_and_values import UnreadableError, format_date, read_date
from whorl.query.plan.nodes import Bool, Exists, Kind, MatchAll, Value
from whorl.query.unparse import unparse
from whorl.search.prepared_search import Filter, PreparedQuery, bound_filter, engine_facets
from whorl.service.alfresco.request import (
    MOST_VALUES,
    FacetField,
    FacetRange,
    Interval,
    IntervalSet,
    SearchRequest,
    Stats,
)

_NUMBERS = (Kind.INTEGER, Kind.FLOAT)


@dataclass(frozen=True, slots=True)
class FilterCount:
    """Request for the number of hits that match a filter."""

    filter: Filter


@dataclass(frozen=True, slots=True)
class FieldValueCounts:
    """Request for the counts of a field's values.

    `within` has nested requests: for each value, they are answered for the hits with this value.
    """

    facet: FacetField
    within: tuple[FacetRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class FieldNumbers:
    """Request for the statistics of a numeric field."""

    field: str


FacetRequest: TypeAlias = FilterCount | FieldValueCounts | FieldNumbers


@dataclass(frozen=True, slots=True)
class Bucket:
    """Hits with one value of a field: the value as text, a query for it, and the number of hits.

    `text` is None for hits without a value. `within` has the answers to nested requests.
    """

    text: str | None
    query: str
    count: int
    within: tuple[Answer, ...] = ()


@dataclass(frozen=True, slots=True)
class FieldStatistics:
    """Statistics of a field, and the number of hits that have no number in this field."""

    numbers: Statistics
    missing: int


#: Answer to a request: its types have the same order as the request types in `FacetRequest`.
Answer: TypeAlias = int | tuple[Bucket, ...] | FieldStatistics
_Read: TypeAlias = Callable[[Iterator[FacetResult]], Answer]


def answer_facets(
    prepared: PreparedQuery, requests: Sequence[FacetRequest], without: Collection[int] = ()
) -> tuple[tuple[Answer, ...], tuple[str, ...]]:
    """Return the answers to requests about all hits of a query, and warnings for the user.

    The engine gets all requests at once. `without` has the positions of filters that do not apply to the counts.

    Raises:
        ParameterError: A field holds words, which cannot be counted, or has no numbers for statistics.
        QueryError: A filter is invalid. A filter on an unknown field is not an error, and its count is 0.
    """
    translator = _FacetTranslator(prepared)
    reads = [translator.add(request) for request in requests]
    warnings = (*translator.warnings, *gap_warnings(prepared.engine, prepared.looked_up))
    results = iter(engine_facets(prepared, translator.facets, without))
    return tuple(read(results) for read in reads), tuple(dict.fromkeys(warnings))


class _FacetTranslator:
    """Translates requests about fields into the engine's facets, and merges the engine's results."""

    def __init__(self, prepared: PreparedQuery) -> None:
        self._prepared = prepared
        self.facets: list[Facet] = []
        self.warnings: list[str] = []

    def add(self, request: FacetRequest) -> _Read:
        """Add the engine's facets for a request to `facets`; return a function that reads the facets' results.

        Call these functions in the order of the requests.
        """
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
        facet = request.facet
        places = self._places(facet.field)
        if facet.prefix:
            places = {kind: place for kind, place in places.items() if kind is Kind.KEYWORD}
        inner = _FacetTranslator(self._prepared)
        reads = [inner.add(nested) for nested in request.within]
        self.warnings += inner.warnings
        most = facet.offset + (MOST_VALUES if facet.limit < 0 else facet.limit)
        is_by_value, within = facet.sort == "INDEX", tuple(inner.facets)
        # A number may be an integer in one document and a float in another, and the minimum count applies to the sum of
        # both counts. So request all counts of both types.
        least = 1 if places.keys() >= {*_NUMBERS} else facet.mincount
        self.facets += [
            ValueFacet(kind, place, most, least, is_by_value, facet.prefix, within) for kind, place in places.items()
        ]
        if facet.missing:
            self.facets.append(_missing(places))

        def bucket(kind: Kind, counted: ValueCount) -> Bucket:
            results = iter(counted.within)
            query = value_query(facet.field, kind, counted.value)
            return Bucket(_text(kind, counted.value), query, counted.count, tuple(read(results) for read in reads))

        def read(results: Iterator[FacetResult]) -> Answer:
            counts = zip(places, results, strict=False)
            merged = _merge_kinds([(kind, values) for kind, values in counts if isinstance(values, tuple)])
            counted = [pair for pair in merged if pair[1].count >= facet.mincount]
            counted.sort(key=_value_sort_key if is_by_value else _count_sort_key)
            buckets = [bucket(*pair) for pair in counted[facet.offset : most]]
            if facet.missing:
                buckets.append(Bucket(None, f'ISNULL:"{facet.field}"', _count(results)))
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
    """Return the query for documents with a value in a range. If a bound is None, the range is open."""
    return unparse(ast.Range(low, high, field))


def _text(kind: Kind, value: Value) -> str:
    match kind:
        case Kind.DATE:
            return format_date(int(value))
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
    """Merge the values of all types. Equal numbers become one value, with the nested answers of the first number."""
    merged: dict[tuple[bool, Value], tuple[Kind, ValueCount]] = {}
    for kind, counts in results:
        for counted in counts:
            key = (True, counted.value) if kind in _NUMBERS else (False, f"{kind.name} {counted.value}")
            if key in merged:
                # If an integer and a float are equal, keep the integer, which is shorter.
                first, other = merged[key]
                value = other.value if first is Kind.INTEGER else counted.value
                merged[key] = Kind.INTEGER, ValueCount(value, other.count + counted.count, other.within)
            else:
                merged[key] = kind, counted
    return list(merged.values())


def _value_sort_key(pair: tuple[Kind, ValueCount]) -> tuple[int, Value]:
    kind, counted = pair
    return 0 if kind in _NUMBERS else 1 + list(Kind).index(kind), counted.value


def _count_sort_key(pair: tuple[Kind, ValueCount]) -> tuple[int, int, Value]:
    return -pair[1].count, *_value_sort_key(pair)


#: Maximum number of steps of one range; each is a separate query.
MOST_STEPS = 1000
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{1,18})?")


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a range of values. If a bound is None, the step is open on that side."""

    label: str
    low: Bound | None
    high: Bound | None


def steps(facet: FacetRange) -> list[Step]:
    """Return the steps of a range in order, then the requested ones of "before", "after" and "between".

    "before" and "after" are open steps below and above the range; "between" is the whole range.

    Source: Solr's FacetRangeProcessor, for the bounds of a step, and for the last step, which may go beyond the end.

    Raises:
        ParameterError: Start, end or gap is malformed, the range is empty, or it has more than MOST_STEPS steps.
    """
    ends = list(_ends(facet))
    include = {"lower", "upper", "edge", "outer"} if "all" in facet.include else set(facet.include)
    lower, upper, edge = "lower" in include, "upper" in include, "edge" in include
    last = len(ends) - 2
    made = [
        _step(Bound(low, lower or (edge and at == 0)), Bound(high, upper or (edge and at == last)))
        for at, (low, high) in enumerate(pairwise(ends))
    ]
    other = {"before", "after", "between"} if "all" in facet.other else set(facet.other)
    if "none" in other:
        other = set()
    outer = "outer" in include
    first_is_in, last_is_in = lower or edge, upper or edge
    around = {
        "before": Step("before", None, Bound(ends[0], outer or not first_is_in)),
        "after": Step("after", Bound(ends[-1], outer or not last_is_in), None),
        "between": Step("between", Bound(ends[0], first_is_in), Bound(ends[-1], last_is_in)),
    }
    return made + [step for name, step in around.items() if name in other]


def _step(low: Bound, high: Bound) -> Step:
    opened, closed = "[" if low.is_inclusive else "(", "]" if high.is_inclusive else ")"
    return Step(f"{opened}{low.text} - {high.text}{closed}", low, high)


def _ends(facet: FacetRange) -> Iterator[str]:
    """Yield the bounds of a range's steps, in order; there are at least two."""
    place = f"the range of {facet.field!r:.60}"
    following = _numbers(facet) if _NUMBER.fullmatch(facet.gap) else _dates(facet)
    count = 0
    for end in following:
        if count > MOST_STEPS:
            raise ParameterError(f"{place} has more than {MOST_STEPS:,} steps; ask for a larger gap")
        count += 1
        yield end
    if count < 2:
        raise ParameterError(f"{place} is empty: its end, {facet.end!r:.40}, is not after {facet.start!r:.40}")


def _numbers(facet: FacetRange) -> Iterator[str]:
    wrong = next((end for end in (facet.start, facet.end) if not _NUMBER.fullmatch(end)), None)
    if wrong is not None:
        raise ParameterError(
            f"the range of {facet.field!r:.60} has the gap {facet.gap}, and {wrong!r:.40} is no number"
        )
    at, end, gap = Decimal(facet.start), Decimal(facet.end), Decimal(facet.gap)
    if gap <= 0:
        raise ParameterError(f"the gap of a range is above 0, got {facet.gap}")
    yield f"{at:f}"
    while at < end:
        at = min(at + gap, end) if facet.hardend else at + gap
        yield f"{at:f}"


def _dates(facet: FacetRange) -> Iterator[str]:
    now = datetime.now(UTC)
    gap = facet.gap if facet.gap[:1] in "+-/" else f"+{facet.gap}"
    try:
        at, end = read_date(facet.start, now).first, read_date(facet.end, now).first
        yield format_date(at)
        while at < end:
            following = read_date(format_date(at) + gap, now).first
            if following <= at:
                raise ParameterError(
                    f"the gap of a range of dates leads forward, as +1YEAR does, got {facet.gap!r:.40}"
                )
            at = min(following, end) if facet.hardend else following
            yield format_date(at)
    except UnreadableError as error:
        raise ParameterError(f"the range of {facet.field!r:.60} cannot be read: {error}") from error


#: A facet request to the store, and the tags of the filters to ignore when it is answered.
_Question: TypeAlias = tuple[FacetRequest, Sequence[str]]
_Json: TypeAlias = dict[str, Any]
_OPEN = ("*", "MIN", "MAX")


def facets_of(prepared: PreparedQuery, body: SearchRequest) -> tuple[_Json, tuple[str, ...]]:
    """Return the requested facets as members of the response's `context`, and warnings for the user.

    Raises:
        ParameterError: A field or a range cannot be counted; the message names it.
    """
    requested = _RequestedFacets(body)
    questions = [*requested.questions()]
    by_filters: dict[frozenset[int], list[int]] = {}
    for at, (_, tags) in enumerate(questions):
        without = (number for number, query in enumerate(body.filter_queries) if not {*tags}.isdisjoint(query.tags))
        by_filters.setdefault(frozenset(without), []).append(at)
    answers, warnings = dict[int, Answer](), list[str]()
    for filters, places in by_filters.items():
        counted, more = answer_facets(prepared, [questions[at][0] for at in places], filters)
        answers |= zip(places, counted, strict=True)
        warnings += more
    return requested.context(answers[at] for at in range(len(questions))), tuple(dict.fromkeys(warnings))


class _RequestedFacets:
    """The facets of a search request.

    `questions` returns the requests to the store; `context` needs the answers in the same order.
    """

    def __init__(self, body: SearchRequest) -> None:
        self._body = body
        self._fields = {facet.name: facet for facet in body.facet_fields.facets}
        self._stats = {stats.name: stats for stats in body.stats}
        inner = {pivot.keys[-1] for pivot in body.pivots}
        #: Statistics of all hits. Statistics named by a pivot belong to this pivot, so they are left out here.
        self._outer_stats = [stats for stats in body.stats if stats.name not in inner]
        intervals = body.facet_intervals
        self._intervals = [(interval, interval.sets or intervals.sets) for interval in intervals.intervals]
        self._ranges = [(facet, steps(facet)) for facet in body.ranges]

    def questions(self) -> Iterator[_Question]:
        for query in self._body.facet_queries:
            yield FilterCount(query.query), ()
        for field in self._body.facet_fields.facets:
            yield FieldValueCounts(field), field.exclude_filters
        for interval, sets in self._intervals:
            for interval_set in sets:
                yield FilterCount(_interval_query(interval, interval_set)), ()
        for facet, parts in self._ranges:
            for part in parts:
                yield FilterCount(range_query(facet.field, part.low, part.high)), facet.exclude_filters
        for pivot in self._body.pivots:
            yield self._pivot_question(pivot.keys), self._fields[pivot.key].exclude_filters
        for stats in self._outer_stats:
            yield FieldNumbers(stats.field), stats.exclude_filters

    def context(self, answers: Iterable[Any]) -> _Json:
        """Build the response's `context` from the answers: facet queries, fields, intervals, ranges and others."""
        remaining = iter(answers)
        context: _Json = {}
        facets = list[_Json]()
        is_generic = self._body.facet_format == "V2"
        counts = [next(remaining) for _ in self._body.facet_queries]
        if is_generic or any(facet.group is not None for facet in self._body.facet_queries):
            facets += self._groups(counts)
        elif counts:
            context["facetQueries"] = [
                {"label": facet.name, "filterQuery": facet.query, "count": count}
                for facet, count in zip(self._body.facet_queries, counts, strict=True)
            ]
        fields = [(facet, next(remaining)) for facet in self._body.facet_fields.facets]
        if is_generic:
            facets += [_facet("field", facet.name, map(_generic, buckets)) for facet, buckets in fields]
        elif fields:
            context["facetsFields"] = [
                {"label": facet.name, "buckets": [_plain(bucket) for bucket in buckets]} for facet, buckets in fields
            ]
        facets += [
            _facet("interval", interval.name, [_interval_bucket(interval, part, remaining) for part in sets])
            for interval, sets in self._intervals
        ]
        facets += [
            _facet("range", facet.name, [_range_bucket(facet, part, remaining) for part in parts])
            for facet, parts in self._ranges
        ]
        facets += [self._pivot(pivot.keys, next(remaining)) for pivot in self._body.pivots]
        facets += [
            _facet("stats", stats.name, [{"metrics": _statistics(stats, next(remaining))}])
            for stats in self._outer_stats
        ]
        return {**context, **({"facets": facets} if facets else {})}

    def _groups(self, counts: Sequence[int]) -> Iterator[_Json]:
        groups: dict[str | None, list[_Json]] = {}
        for facet, count in zip(self._body.facet_queries, counts, strict=True):
            groups.setdefault(facet.group, []).append(_bucket(facet.name, facet.query, count))
        return (_facet("query", group, buckets) for group, buckets in groups.items())

    def _pivot_question(self, keys: Sequence[str]) -> FieldValueCounts:
        first, *inner = keys
        if not inner:
            return FieldValueCounts(self._fields[first])
        is_field = inner[0] in self._fields
        within = self._pivot_question(inner) if is_field else FieldNumbers(self._stats[inner[0]].field)
        return FieldValueCounts(self._fields[first], (within,))

    def _pivot(self, keys: Sequence[str], buckets: Sequence[Bucket]) -> _Json:
        first, *inner = keys
        return _facet("pivot", first, [self._pivot_bucket(inner, bucket) for bucket in buckets])

    def _pivot_bucket(self, keys: Sequence[str], bucket: Bucket) -> _Json:
        made = _generic(bucket)
        for answer in bucket.within:
            if isinstance(answer, FieldStatistics):
                made["metrics"] += _statistics(self._stats[keys[0]], answer)
            elif isinstance(answer, tuple):
                made["facets"] = [self._pivot(keys, answer)]
        return made


def _interval_query(interval: Interval, interval_set: IntervalSet) -> str:
    low, high = (
        None if text in _OPEN else Bound(text, is_in)
        for text, is_in in (
            (interval_set.start, interval_set.start_inclusive),
            (interval_set.end, interval_set.end_inclusive),
        )
    )
    return range_query(interval.field, low, high)


def _interval_bucket(interval: Interval, interval_set: IntervalSet, answers: Iterator[Any]) -> _Json:
    about = {
        "start": interval_set.start,
        "end": interval_set.end,
        "startInclusive": interval_set.start_inclusive,
        "endInclusive": interval_set.end_inclusive,
    }
    query = _interval_query(interval, interval_set)
    return {**_bucket(interval_set.label or query, query, next(answers)), "bucketInfo": about}


def _range_bucket(facet: FacetRange, part: Step, answers: Iterator[Any]) -> _Json:
    about: _Json = {}
    for name, end in (("start", part.low), ("end", part.high)):
        if end is not None:
            about |= {name: end.text, f"{name}Inclusive": end.is_inclusive}
    query = range_query(facet.field, part.low, part.high)
    return {**_bucket(part.label, query, next(answers)), "bucketInfo": about}


def _facet(kind: str, label: str | None, buckets: Iterable[_Json]) -> _Json:
    return {"type": kind, **({} if label is None else {"label": label}), "buckets": [*buckets]}


def _plain(bucket: Bucket) -> _Json:
    label = {} if bucket.text is None else {"label": bucket.text, "display": bucket.text}
    return {**label, "filterQuery": bucket.query, "count": bucket.count}


def _generic(bucket: Bucket) -> _Json:
    display = {} if bucket.text is None else {"display": bucket.text}
    return {**_bucket(bucket.text, bucket.query, bucket.count), **display}


def _bucket(label: str | None, query: str, count: int) -> _Json:
    """Return one bucket with its query and count; the bucket of documents without a value has no label."""
    labelled = {} if label is None else {"label": label}
    return {**labelled, "filterQuery": query, "metrics": [_metric("count", str(count))]}


def _statistics(stats: Stats, answer: FieldStatistics) -> list[_Json]:
    numbers = answer.numbers
    parts = (
        (stats.min, "min", numbers.smallest if numbers.count else None),
        (stats.max, "max", numbers.largest if numbers.count else None),
        (stats.sum, "sum", numbers.total),
        (stats.count_values, "countValues", numbers.count),
        (stats.missing, "missing", answer.missing),
        (stats.mean, "mean", numbers.mean if numbers.count else None),
        (stats.stddev, "stddev", numbers.deviation),
        (stats.sum_of_squares, "sumOfSquares", numbers.squares),
    )
    return [_metric(name, value) for is_wanted, name, value in parts if is_wanted and value is not None]


def _metric(name: str, value: object) -> _Json:
    return {"type": name, "value": {name: value}}
