"""Hits counted by the names of their fields: what an engine counts by place and type, put together for each field.

A field may keep values of several types. Their counts come in one list, numbers of both types as one. A field that the
store does not have counts nothing, and that is told: a page that shows facets is shown all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from whorl.engine.facets import Counted, Facet, Matching, Numbers, Statistics, ValueCount, Values
from whorl.engine.terms import sortable
from whorl.errors import ParameterError, UnknownFieldError
from whorl.planning.build import Bool, MatchAll
from whorl.planning.clauses import Kind, Present, Value
from whorl.planning.dates import written
from whorl.prepared import Filter, PreparedQuery
from whorl.query import ast
from whorl.query.unparse import unparse

_NUMBERS = (Kind.INTEGER, Kind.FLOAT)


@dataclass(frozen=True, slots=True)
class FilterCount:
    """How many hits a filter lets through."""

    filter: Filter


@dataclass(frozen=True, slots=True)
class FieldValues:
    """The values of a field, each with how many hits have it.

    Args:
        field: Its name, as in a query.
        most: How many values, at least 1.
        skip: Values to leave out before them.
        least: Hits that a value has, at least 1.
        is_by_value: Whether the smallest value comes first, and not the most frequent one.
        beginning: What they begin with; of texts only.
        with_missing: Whether the hits without a value are counted, too, and told last.
        within: Questions about the hits with each value.
    """

    field: str
    most: int = 100
    skip: int = 0
    least: int = 1
    is_by_value: bool = False
    beginning: str = ""
    with_missing: bool = False
    within: tuple[Question, ...] = ()


@dataclass(frozen=True, slots=True)
class FieldNumbers:
    """The statistics of a field of numbers."""

    field: str


Question: TypeAlias = FilterCount | FieldValues | FieldNumbers


@dataclass(frozen=True, slots=True)
class Bucket:
    """A value, how many hits have it, and what was asked about these.

    Args:
        text: The value as a query writes it; None for the hits without any.
        query: What chooses the documents with it.
        count: How many hits have it.
        within: The answers to what was asked within each.
    """

    text: str | None
    query: str
    count: int
    within: tuple[Answer, ...] = ()


@dataclass(frozen=True, slots=True)
class FieldStatistics:
    """The statistics of a field, and how many hits have no number in it."""

    numbers: Statistics
    missing: int


#: What a question is answered with, in the order of the three.
Answer: TypeAlias = int | tuple[Bucket, ...] | FieldStatistics
_Read: TypeAlias = Callable[[Iterator[Counted]], Answer]


@dataclass(frozen=True, slots=True)
class Faceted:
    """The answers to some questions, and what the user should know beside them."""

    answers: tuple[Answer, ...]
    warnings: tuple[str, ...]


def faceted(prepared: PreparedQuery, questions: Sequence[Question], without: Collection[int] = ()) -> Faceted:
    """Return what is counted among all hits of a query.

    Args:
        prepared: The query.
        questions: What is asked; an answer for each comes back, from one request to the engine.
        without: Filters of the query, by their numbers, that a hit need not pass to be counted.

    Raises:
        ParameterError: A field holds words, which are not counted, or no numbers.
        QueryError: A filter cannot be run; but one of a field that the store does not have lets nothing through.
    """
    asking = _Asking(prepared)
    reads = [asking.asked(each) for each in questions]
    told = iter(prepared.counting.facets(asking.facets, without))
    return Faceted(tuple(read(told) for read in reads), tuple(dict.fromkeys(asking.warnings)))


class _Asking:
    """Makes questions about places of questions about fields, and remembers how their answers are put together."""

    def __init__(self, prepared: PreparedQuery) -> None:
        self._prepared = prepared
        self.facets: list[Facet] = []
        self.warnings: list[str] = []

    def asked(self, question: Question) -> _Read:
        """Ask for what a question needs, and return what reads its answer, questions being read in their order."""
        match question:
            case FilterCount(filter=chosen):
                return self._filter(chosen)
            case FieldValues():
                return self._values(question)
            case FieldNumbers(field=field):
                return self._numbers(field)

    def _filter(self, chosen: Filter) -> _Read:
        try:
            bound = self._prepared.counting.filtered(chosen)
        except UnknownFieldError as error:
            self.warnings.append(f"{error.message}, so {error.query!r:.100} counts nothing")
            return lambda _: 0
        self.warnings += bound.warnings
        self.facets.append(Matching(bound.root))
        return _count

    def _values(self, question: FieldValues) -> _Read:
        places = self._places(question.field)
        if question.beginning:
            places = {kind: place for kind, place in places.items() if kind is Kind.KEYWORD}
        inner = _Asking(self._prepared)
        reads = [inner.asked(each) for each in question.within]
        self.warnings += inner.warnings
        most, within = question.skip + question.most, tuple(inner.facets)
        # A number that is whole in one document and not in another has the documents of both.
        least = 1 if places.keys() >= {*_NUMBERS} else question.least
        self.facets += [
            Values(kind, place, most, least, question.is_by_value, question.beginning, within)
            for kind, place in places.items()
        ]
        if question.with_missing:
            self.facets.append(_missing(places))

        def bucket(kind: Kind, counted: ValueCount) -> Bucket:
            told = iter(counted.within)
            query = value_query(question.field, kind, counted.value)
            return Bucket(_text(kind, counted.value), query, counted.count, tuple(each(told) for each in reads))

        def read(told: Iterator[Counted]) -> Answer:
            counts = zip(places, told, strict=False)
            together = _together([(kind, each) for kind, each in counts if isinstance(each, tuple)])
            found = [each for each in together if each[1].count >= question.least]
            found.sort(key=_by_value if question.is_by_value else _by_count)
            buckets = [bucket(*each) for each in found[question.skip : most]]
            if question.with_missing:
                buckets.append(Bucket(None, f'ISNULL:"{question.field}"', _count(told)))
            return tuple(buckets)

        return read

    def _numbers(self, field: str) -> _Read:
        places = self._places(field)
        numbers = {kind: place for kind, place in places.items() if kind in _NUMBERS}
        if places and not numbers:
            held = " and ".join(kind.value for kind in places)
            raise ParameterError(f"field {field!r} holds {held}, of which there are no statistics; name one of numbers")
        self.facets += [*(Numbers(kind, place) for kind, place in numbers.items()), _missing(numbers)]

        def read(told: Iterator[Counted]) -> Answer:
            together = Statistics()
            for _, each in zip(numbers, told, strict=False):
                if isinstance(each, Statistics):
                    together = together.with_others(each)
            return FieldStatistics(together, _count(told))

        return read

    def _places(self, field: str) -> dict[Kind, str]:
        """Return where a field keeps whole values."""
        places = self._prepared.reader.places(field)
        if places is None:
            self.warnings.append(f"the store has no field {field!r}, so no hit is counted by it")
            return {}
        whole: dict[Kind, str] = {kind: place for kind, place in places.items() if kind is not Kind.TEXT}
        if not whole:
            raise ParameterError(f"field {field!r} holds words, which are not counted; name one with whole values")
        return whole


def value_query(field: str, kind: Kind, value: Value) -> str:
    """Return the query for the documents that have a value in a field."""
    text = _text(kind, value)
    match kind:
        case Kind.KEYWORD:
            return unparse(ast.Phrase(text, field, ast.Form.EXACT))
        case Kind.BOOLEAN:
            return unparse(ast.Term(text, field))
        case _:
            return range_query(field, ast.Bound(text), ast.Bound(text))


def range_query(field: str, low: ast.Bound | None, high: ast.Bound | None) -> str:
    """Return the query for the documents that have a value of a range in a field; an end that is None is open."""
    return unparse(ast.Range(low, high, field))


def _text(kind: Kind, value: Value) -> str:
    match kind:
        case Kind.DATE:
            return written(int(value))
        case Kind.BOOLEAN:
            return "true" if value else "false"
        case _:
            return str(value)


def _missing(places: dict[Kind, str]) -> Matching:
    present = tuple(Present(place, kind, 0.0) for kind, place in places.items())
    return Matching(Bool(must=(MatchAll(),), must_not=present))


def _count(told: Iterator[Counted]) -> int:
    count = next(told)
    return count if isinstance(count, int) else 0


def _together(told: Sequence[tuple[Kind, tuple[ValueCount, ...]]]) -> list[tuple[Kind, ValueCount]]:
    """Return the values of all types, equal numbers as one; what was asked within it is that of the first."""
    found: dict[tuple[bool, Value], tuple[Kind, ValueCount]] = {}
    for kind, counts in told:
        for each in counts:
            key = (True, each.value) if kind in _NUMBERS else (False, f"{kind.name} {each.value}")
            if key in found:
                # The whole number is the shorter text.
                first, other = found[key]
                value = other.value if first is Kind.INTEGER else each.value
                found[key] = Kind.INTEGER, ValueCount(value, other.count + each.count, other.within)
            else:
                found[key] = kind, each
    return list(found.values())


def _by_value(each: tuple[Kind, ValueCount]) -> tuple[int, bytes]:
    kind, counted = each
    if kind in _NUMBERS:
        return 0, sortable(Kind.FLOAT, float(counted.value)).encode()
    return 1 + list(Kind).index(kind), sortable(kind, counted.value).encode()


def _by_count(each: tuple[Kind, ValueCount]) -> tuple[int, int, bytes]:
    return -each[1].count, *_by_value(each)
