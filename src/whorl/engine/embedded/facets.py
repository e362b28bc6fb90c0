"""Counts facets (values, statistics) of search hits in an embedded store, from their stored fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from whorl.arrays_and_batches import batches
from whorl.engine.embedded.database import Records
from whorl.engine.embedded.search import PlanRunner
from whorl.engine.index_terms import encode_sortable
from whorl.engine.protocol import Facet, FacetResult, MatchCount, Statistics, StatisticsFacet, ValueCount, ValueFacet
from whorl.query.plan.fields_and_values import encode_keyword
from whorl.query.plan.nodes import Bool, BoundNode, BoundPlan, Equal, Kind, Value
from whorl.request_context import require_time

#: Number of documents to read at a time, without their texts.
_READ_AT_ONCE = 1000
#: Values of the requested fields by document id.
_DocumentValues = Mapping[str, Mapping[tuple[Kind, str], list[Value]]]


def count_facets(
    runner: PlanRunner, records: Records, plan: BoundPlan, facets: Sequence[Facet]
) -> tuple[FacetResult, ...]:
    places = set(_places(facets))
    values = _read_values(runner.ids(plan), records, places) if places else {}
    return _count_facets(runner, facets, values, plan.root)


def _places(facets: Sequence[Facet]) -> list[tuple[Kind, str]]:
    """Return the types and names of the fields that facets count, including sub-facets."""
    places = [(facet.kind, facet.place) for facet in facets if isinstance(facet, ValueFacet | StatisticsFacet)]
    return places + [place for facet in facets if isinstance(facet, ValueFacet) for place in _places(facet.within)]


def _read_values(ids: Sequence[str], records: Records, places: set[tuple[Kind, str]]) -> _DocumentValues:
    values_by_id: dict[str, dict[tuple[Kind, str], list[Value]]] = {}
    for batch in batches(ids, _READ_AT_ONCE):
        require_time()
        for head in records.heads("id", batch):
            values = values_by_id.setdefault(head.id, {})
            for name, kind, value in [("id", Kind.KEYWORD, head.id), *head.document().wholes()]:
                if (kind, name) in places:
                    values.setdefault((kind, name), []).append(
                        encode_keyword(str(value)) if kind is Kind.KEYWORD else value
                    )
    return values_by_id


def _count_facets(
    runner: PlanRunner, facets: Sequence[Facet], known: _DocumentValues, among: BoundNode
) -> tuple[FacetResult, ...]:
    results: list[FacetResult] = []
    for facet in facets:
        match facet:
            case MatchCount(node=node):
                results.append(runner.page(BoundPlan(Bool(must=(among, node))), 0, 0, ()).total)
            case ValueFacet():
                results.append(_count_values(runner, facet, known, among))
            case StatisticsFacet(kind=kind, place=place):
                numbers = [float(value) for values in known.values() for value in values.get((kind, place), ())]
                squares = sum(number * number for number in numbers)
                results.append(
                    Statistics(len(numbers), min(numbers), max(numbers), sum(numbers), squares)
                    if numbers
                    else Statistics()
                )
    return tuple(results)


def _count_values(
    runner: PlanRunner, facet: ValueFacet, known: _DocumentValues, among: BoundNode
) -> tuple[ValueCount, ...]:
    kind, place = facet.kind, facet.place
    counts = Counter(value for values in known.values() for value in dict.fromkeys(values.get((kind, place), ())))
    retained = [
        (count, encode_sortable(kind, value).encode(), value)
        for value, count in counts.items()
        if count >= facet.least and (not facet.beginning or str(value).startswith(facet.beginning))
    ]
    retained.sort(key=lambda counted: counted[1] if facet.is_by_value else (-counted[0], counted[1]))
    return tuple(
        ValueCount(value, count, _count_within(runner, facet, value, known, among))
        for count, _, value in retained[: facet.most]
    )


def _count_within(
    runner: PlanRunner, facet: ValueFacet, value: Value, known: _DocumentValues, among: BoundNode
) -> tuple[FacetResult, ...]:
    if not facet.within:
        return ()
    place = (facet.kind, facet.place)
    matching = {document_id: values for document_id, values in known.items() if value in values.get(place, ())}
    return _count_facets(runner, facet.within, matching, Bool(must=(among, Equal(facet.place, facet.kind, value))))
