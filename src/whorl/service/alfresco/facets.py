"""Counts facets for Alfresco's clients, in Alfresco's request and response format.

Facets are counts by field value or filter, and statistics of numeric fields. If a field has values of several types,
their counts are merged; an integer and an equal float become one value. An unknown field gives a warning and empty
counts, not an error, so that pages with facets still work. Ranges are divided into steps as in Solr.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

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
from whorl.query.plan.fields_and_values import UnreadableError, format_date, read_date, without_digest
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
#: Minimum number of values to request for the outermost facet of a pivot if integers and equal floats are merged.
_MOST_OUTER_VALUES = 1_000
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Bucket:
    """Hits with one value of a field: the value as text (None for no value), a query for it, and their number.

    `within` has the buckets or statistics of a nested facet for these hits only.
    """

    text: str | None
    query: str
    count: int
    within: tuple[Bucket, ...] | FieldStatistics | None = None


@dataclass(frozen=True, slots=True)
class FieldStatistics:
    """Statistics of a field, and the number of hits that have no number in this field."""

    numbers: Statistics
    missing: int


class FacetRequest(NamedTuple, Generic[_Answer]):
    """A facet for a client: the facets to request from the engine, and a function that combines their results."""

    facets: Sequence[Facet]
    read: Callable[[Sequence[FacetResult]], _Answer]


class FacetRequestBuilder:
    """Creates facet requests, and collects warnings. Facets count all hits of the query, not only one page."""

    def __init__(self, prepared: PreparedQuery) -> None:
        self._prepared = prepared
        self.warnings: list[str] = []

    def count(self, chosen: Filter) -> FacetRequest[int]:
        """Count the hits that match a filter (0 for an unknown field); raise QueryError if it is invalid."""
        try:
            bound = bound_filter(self._prepared, chosen)
        except UnknownFieldError as error:
            self.warnings.append(f"{error.message}, so {error.query!r:.100} counts nothing")
            return FacetRequest((), lambda _: 0)
        self.warnings += bound.warnings
        return FacetRequest([MatchCount(bound.root)], lambda results: _count(results[0]))

    def values(
        self, facet: FacetField, *inner: FacetField | Stats, is_nested: bool = False, is_merged: bool = False
    ) -> FacetRequest[tuple[Bucket, ...]]:
        """Count the values of a field; `inner` has the facets nested within each value, the outermost first.

        Args:
            is_nested: Whether the facet is nested within the values of another facet.
            is_merged: Whether the outer facet merges integers with equal floats, and so their nested results.

        Raises:
            ParameterError: A field holds words, which cannot be counted.
        """
        by_kind = self._whole_value_fields(facet.field)
        if facet.prefix:
            by_kind = {kind: field for kind, field in by_kind.items() if kind is Kind.KEYWORD}
        # A number may be an integer in one document and a float in another. The minimum count applies to their sum, so
        # request all counts of both, also in nested facets.
        is_merged = is_merged or by_kind.keys() >= {*_NUMBERS}
        nested = self._nested(*inner, is_merged=is_merged) if inner else None
        most = facet.offset + (MOST_VALUES if facet.limit < 0 else facet.limit)
        is_by_value = facet.sort == "INDEX"
        requested = most
        # A rare integer may become frequent when the equal float is added, so request more values than the client
        # wants. The outer facet of a pivot has a lower maximum, because OpenSearch limits the product of the numbers of
        # outer and inner values.
        if is_merged and not is_by_value and not is_nested:
            requested = max(most, _MOST_OUTER_VALUES if inner else MOST_VALUES)
        least, subfacets = 1 if is_merged else facet.mincount, tuple(nested.facets) if nested else ()
        facets: list[Facet] = [
            ValueFacet(kind, field, requested, least, is_by_value, facet.prefix, subfacets)
            for kind, field in by_kind.items()
        ]
        if facet.missing:
            facets.append(_missing(by_kind))

        def bucket(kind: Kind, counted: ValueCount) -> Bucket:
            query = value_query(facet.field, kind, counted.value)
            within = nested.read(counted.subfacets) if nested else None
            return Bucket(_text(kind, counted.value), query, counted.count, within)

        def read(results: Sequence[FacetResult]) -> tuple[Bucket, ...]:
            counts = zip(by_kind, results, strict=False)
            merged = _merge_kinds([(kind, values) for kind, values in counts if isinstance(values, tuple)])
            counted = [pair for pair in merged if pair[1].count >= facet.mincount]
            counted.sort(key=_value_sort_key if is_by_value else _count_sort_key)
            buckets = [bucket(*pair) for pair in counted[facet.offset : most]]
            if facet.missing:
                buckets.append(Bucket(None, f'ISNULL:"{facet.field}"', _count(results[-1])))
            return tuple(buckets)

        return FacetRequest(facets, read)

    def statistics(self, field: str) -> FacetRequest[FieldStatistics]:
        """Compute the statistics of a numeric field; raise ParameterError if the field holds no numbers."""
        by_kind = self._whole_value_fields(field)
        numbers = {kind: own for kind, own in by_kind.items() if kind in _NUMBERS}
        if by_kind and not numbers:
            held = " and ".join(kind.value for kind in by_kind)
            raise ParameterError(
                f"field {field!r:.80} holds {held}, of which there are no statistics; name one of numbers"
            )

        def read(results: Sequence[FacetResult]) -> FieldStatistics:
            merged = Statistics()
            for statistics in results[:-1]:
                if isinstance(statistics, Statistics):
                    merged = merged.merge(statistics)
            return FieldStatistics(merged, _count(results[-1]))

        return FacetRequest([*(StatisticsFacet(*own) for own in numbers.items()), _missing(numbers)], read)

    def _nested(
        self, facet: FacetField | Stats, *inner: FacetField | Stats, is_merged: bool
    ) -> FacetRequest[tuple[Bucket, ...]] | FacetRequest[FieldStatistics]:
        if isinstance(facet, Stats):
            return self.statistics(facet.field)
        return self.values(facet, *inner, is_nested=True, is_merged=is_merged)

    def _whole_value_fields(self, field: str) -> dict[Kind, str]:
        by_kind = self._prepared.reader.fields_by_kind(field)
        if by_kind is None:
            self.warnings.append(f"the store has no field {field!r:.80}, so no hit is counted by it")
            return {}
        if ignored := self._prepared.reader.ignored_spellings(field):
            self.warnings.append(f"values that documents have as {ignored} are not counted by {field!r:.80}")
        whole: dict[Kind, str] = {kind: own for kind, own in by_kind.items() if kind is not Kind.TEXT}
        if not whole:
            raise ParameterError(f"field {field!r:.80} holds words, which are not counted; name one with whole values")
        return whole


def _count(result: FacetResult) -> int:
    return result if isinstance(result, int) else 0


def value_query(field: str, kind: Kind, value: Value) -> str:
    text = _text(kind, value)
    match kind:
        case Kind.KEYWORD:
            return unparse(ast.Phrase(str(value), field, ast.Form.EXACT))
        case Kind.BOOLEAN:
            return unparse(ast.Term(text, field))
        case _:
            return unparse(ast.Range(ast.Bound(text), ast.Bound(text), field))


def _text(kind: Kind, value: Value) -> str:
    match kind:
        case Kind.DATE:
            return format_date(int(value))
        case Kind.BOOLEAN:
            return "true" if value else "false"
        case _:
            return without_digest(str(value))


def _missing(by_kind: dict[Kind, str]) -> MatchCount:
    present = tuple(Exists(field, kind, 0.0) for kind, field in by_kind.items())
    return MatchCount(Bool(must=(MatchAll(),), must_not=present))


def _merge_kinds(results: Sequence[tuple[Kind, tuple[ValueCount, ...]]]) -> list[tuple[Kind, ValueCount]]:
    """Merge the values of all types; an integer and an equal float become the integer, which is shorter."""
    merged: dict[tuple[bool, Value], tuple[Kind, ValueCount]] = {}
    for kind, counts in results:
        for counted in counts:
            key = (True, counted.value) if kind in _NUMBERS else (False, f"{kind.name} {counted.value}")
            if key in merged:
                first, other = merged[key]
                pair = (other, counted) if first is Kind.INTEGER else (counted, other)
                merged[key] = Kind.INTEGER, _merge_counts(*pair)
            else:
                merged[key] = kind, counted
    return list(merged.values())


def _merge_counts(one: ValueCount, other: ValueCount) -> ValueCount:
    subfacets = tuple(map(_merge_results, one.subfacets, other.subfacets))
    return ValueCount(one.value, one.count + other.count, subfacets)


def _merge_results(one: FacetResult, other: FacetResult) -> FacetResult:
    match one, other:
        case int(), int():
            return one + other
        case Statistics(), Statistics():
            return one.merge(other)
        case tuple(), tuple():
            merged = {counted.value: counted for counted in one}
            for counted in other:
                known = merged.get(counted.value)
                merged[counted.value] = counted if known is None else _merge_counts(known, counted)
            return tuple(merged.values())
    raise TypeError(f"results of different facets: {one!r:.80} and {other!r:.80}")


def _value_sort_key(pair: tuple[Kind, ValueCount]) -> tuple[int, Value]:
    kind, counted = pair
    return 0 if kind in _NUMBERS else 1 + list(Kind).index(kind), counted.value


def _count_sort_key(pair: tuple[Kind, ValueCount]) -> tuple[int, int, Value]:
    return -pair[1].count, *_value_sort_key(pair)


#: Maximum number of steps of one range; each is a separate query.
MOST_STEPS = 1000
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{1,18})?")


class Step(NamedTuple):
    """One step of a range of values. If a bound is None, the step is open on that side."""

    label: str
    low: Bound | None
    high: Bound | None


def steps(facet: FacetRange) -> list[Step]:
    """Return the steps of a range in order, then the requested steps before, after and between (the whole range).

    Like Solr's, the last step may go beyond the end. Raises ParameterError for an invalid range or too many steps.
    """
    ends = list(_bounds(facet))
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


def _bounds(facet: FacetRange) -> Iterator[str]:
    described = f"the range of {facet.field!r:.60}"
    following = _numbers(facet) if _NUMBER.fullmatch(facet.gap) else _dates(facet)
    number = 0
    for number, end in enumerate(following):
        if number > MOST_STEPS:
            raise ParameterError(f"{described} has more than {MOST_STEPS:,} steps; ask for a larger gap")
        yield end
    if number == 0:
        raise ParameterError(f"{described} is empty: its end, {facet.end!r:.40}, is not after {facet.start!r:.40}")


def _numbers(facet: FacetRange) -> Iterator[str]:
    wrong = next((end for end in (facet.start, facet.end) if not _NUMBER.fullmatch(end)), None)
    if wrong is not None:
        raise ParameterError(
            f"the range of {facet.field!r:.60} has the gap {facet.gap}, and {wrong!r:.40} is not a number"
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


_Json: TypeAlias = dict[str, Any]
_OPEN = ("*", "MIN", "MAX")


def facets_of(prepared: PreparedQuery, body: SearchRequest) -> tuple[_Json, tuple[str, ...]]:
    """Return the requested facets as members of the response's `context`, and warnings for the user."""
    requests = FacetRequestBuilder(prepared)
    #: Facets to request from the engine, and their results, by the positions of the filters that they ignore.
    facets_without: dict[frozenset[int], list[Facet]] = {}
    results_without: dict[frozenset[int], Sequence[FacetResult]] = {}

    def request_facet(tags: Sequence[str], request: FacetRequest[_Answer]) -> Callable[[], _Answer]:
        """Request a facet that ignores the filters with these tags; return a function that returns its result."""
        without = frozenset(
            number for number, query in enumerate(body.filter_queries) if not {*tags}.isdisjoint(query.tags)
        )
        engine_requests = facets_without.setdefault(without, [])
        first, end = len(engine_requests), len(engine_requests) + len(request.facets)
        engine_requests += request.facets
        return lambda: request.read(results_without[without][first:end])

    fields = {facet.name: facet for facet in body.facet_fields.facets}
    named: dict[str, FacetField | Stats] = {**{stats.name: stats for stats in body.stats}, **fields}
    queries = [(facet, request_facet((), requests.count(facet.query))) for facet in body.facet_queries]
    values = [(facet, request_facet(facet.exclude_filters, requests.values(facet))) for facet in fields.values()]
    ranges = [
        (kind, facet.name, [(*bucket, request_facet(tags, requests.count(bucket[1]))) for bucket in buckets])
        for kind, facet, tags, buckets in _ranges(body)
    ]
    paths = [[named[key] for key in pivot.keys] for pivot in body.pivots]
    pivots = [
        (path, request_facet(fields[pivot.key].exclude_filters, requests.values(fields[pivot.key], *path[1:])))
        for pivot, path in zip(body.pivots, paths, strict=True)
    ]
    inner = {path[-1].name for path in paths}
    outer_stats = [stats for stats in body.stats if stats.name not in inner]
    statistics = [
        (stats, request_facet(stats.exclude_filters, requests.statistics(stats.field))) for stats in outer_stats
    ]
    gaps = gap_warnings(prepared.engine, prepared.looked_up) if facets_without else ()
    for without, engine_requests in facets_without.items():
        results_without[without] = engine_facets(prepared, engine_requests, without)
    warnings = tuple(dict.fromkeys((*requests.warnings, *gaps)))

    context: _Json = {}
    facets = list[_Json]()
    is_generic = body.facet_format == "V2"
    if is_generic or any(facet.group is not None for facet in body.facet_queries):
        groups: dict[str | None, list[_Json]] = {}
        for facet, count in queries:
            groups.setdefault(facet.group, []).append(_bucket(facet.name, facet.query, count()))
        facets += [_facet("query", group, buckets) for group, buckets in groups.items()]
    elif queries:
        context["facetQueries"] = [
            {"label": facet.name, "filterQuery": facet.query, "count": count()} for facet, count in queries
        ]
    if is_generic:
        facets += [_facet("field", facet.name, map(_generic, buckets())) for facet, buckets in values]
    elif values:
        context["facetsFields"] = [
            {"label": facet.name, "buckets": [_plain(bucket) for bucket in buckets()]} for facet, buckets in values
        ]
    for kind, name, buckets in ranges:
        counted = ({**_bucket(label, query, count()), "bucketInfo": about} for label, query, about, count in buckets)
        facets.append(_facet(kind, name, counted))
    facets += [_pivot(path, buckets()) for path, buckets in pivots]
    facets += [_facet("stats", stats.name, [{"metrics": _statistics(stats, read())}]) for stats, read in statistics]
    return {**context, **({"facets": facets} if facets else {})}, warnings


#: A bucket of an interval or a range: its label, its query, and its bounds for the response.
_RangeBucket: TypeAlias = tuple[str, str, _Json]


def _ranges(body: SearchRequest) -> Iterator[tuple[str, Interval | FacetRange, Sequence[str], list[_RangeBucket]]]:
    """Yield the requested intervals and ranges: kind, facet, tags of the filters to ignore, and buckets."""
    for interval in body.facet_intervals.intervals:
        sets = interval.sets or body.facet_intervals.sets
        yield "interval", interval, (), [_interval_bucket(interval.field, interval_set) for interval_set in sets]
    for facet in body.ranges:
        yield "range", facet, facet.exclude_filters, [_step_bucket(facet.field, step) for step in steps(facet)]


def _interval_bucket(field: str, interval: IntervalSet) -> _RangeBucket:
    low, high = (
        None if text in _OPEN else Bound(text, is_in)
        for text, is_in in ((interval.start, interval.start_inclusive), (interval.end, interval.end_inclusive))
    )
    query = unparse(ast.Range(low, high, field))
    return interval.label or query, query, interval.model_dump(by_alias=True, exclude={"label"})


def _step_bucket(field: str, step: Step) -> _RangeBucket:
    about: _Json = {}
    for name, end in (("start", step.low), ("end", step.high)):
        if end is not None:
            about |= {name: end.text, f"{name}Inclusive": end.is_inclusive}
    return step.label, unparse(ast.Range(step.low, step.high, field)), about


def _pivot(path: Sequence[FacetField | Stats], buckets: Sequence[Bucket]) -> _Json:
    """Return the nested buckets of a pivot; `path` has its facets, the outermost first."""
    outermost, *inner = path
    made = []
    for bucket in buckets:
        described = _generic(bucket)
        if isinstance(bucket.within, FieldStatistics) and isinstance(inner[0], Stats):
            described["metrics"] += _statistics(inner[0], bucket.within)
        elif isinstance(bucket.within, tuple):
            described["facets"] = [_pivot(inner, bucket.within)]
        made.append(described)
    return _facet("pivot", outermost.name, made)


def _facet(kind: str, label: str | None, buckets: Iterable[_Json]) -> _Json:
    return {"type": kind, **({} if label is None else {"label": label}), "buckets": [*buckets]}


def _plain(bucket: Bucket) -> _Json:
    label = {} if bucket.text is None else {"label": bucket.text, "display": bucket.text}
    return {**label, "filterQuery": bucket.query, "count": bucket.count}


def _generic(bucket: Bucket) -> _Json:
    display = {} if bucket.text is None else {"display": bucket.text}
    return {**_bucket(bucket.text, bucket.query, bucket.count), **display}


def _bucket(label: str | None, query: str, count: int) -> _Json:
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
