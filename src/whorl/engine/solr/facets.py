"""Facets as a Solr JSON request and its response; pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from whorl.engine.protocol import Facet, FacetResult, MatchCount, Statistics, StatisticsFacet, ValueCount, ValueFacet
from whorl.engine.solr.request import SolrFields, search_request
from whorl.engine.solr.response import Json, SolrResponse, guard_response
from whorl.errors import ParameterError
from whorl.query.plan.nodes import BoundPlan, Kind, Value
from whorl.query.plan.values import date_of

#: Names that Solr parses as a field, and as nothing else, in a function.
_NAMEABLE = re.compile(r"[^\W\d][\w.:]*", re.ASCII)
#: Overrequest per shard, so that no value that is frequent overall is missed.
_MORE_OF_A_SHARD = 1000
#: Solr's aggregation functions for the fields of Statistics, in their order.
_FUNCTIONS = {"count": "countvals", "smallest": "min", "largest": "max", "total": "sum", "squares": "sumsq"}


def facets_request(
    plan: BoundPlan, asked: Sequence[Facet], names: SolrFields, prepared: Callable[[BoundPlan], BoundPlan]
) -> Json:
    """Return the JSON body that requests facets of a plan's hits, and no hits.

    Args:
        plan: The plan.
        asked: The facets.
        names: The collection's field names.
        prepared: Replaces clauses that cannot match anything in the collection.

    Raises:
        ParameterError: Solr cannot name a field in a facet.
    """
    plans = {f"matching{number}": prepared(BoundPlan(each.node)) for number, each in enumerate(_all_matching(asked))}
    counted = {name: each.root for name, each in plans.items()}
    facets = _facets(asked, iter(counted))
    return {**search_request(plan, names, start=0, rows=0, counted=counted), "facet": facets}


def read_facets(asked: Sequence[Facet], answer: SolrResponse) -> tuple[FacetResult, ...]:
    """Return the facets of a response.

    Args:
        asked: The facets.
        answer: Response of the search handler.

    Raises:
        EngineResponseError: The response has another shape.
    """
    # Solr returns no facets for an empty collection or an empty set of documents.
    with guard_response(answer.url):
        return _read(asked, answer.get("facets", {}))


def _all_matching(asked: Sequence[Facet]) -> Iterator[MatchCount]:
    for facet in asked:
        if isinstance(facet, MatchCount):
            yield facet
        elif isinstance(facet, ValueFacet):
            yield from _all_matching(facet.within)


def _facets(asked: Sequence[Facet], names: Iterator[str]) -> Json:
    """Return the request's parts for facets; `names` yields the names of the plans' queries in order."""
    made: Json = {}
    for number, facet in enumerate(asked):
        name = f"facet{number}"
        match facet:
            case MatchCount():
                made[name] = {"type": "query", "q": f"{{!query v=${next(names)}}}"}
            case ValueFacet():
                made[name] = {
                    "type": "terms",
                    "field": facet.place,
                    "limit": facet.most,
                    "mincount": facet.least,
                    "sort": "index asc" if facet.is_by_value else "count desc",
                    # Each shard returns more values than requested, and refinement asks each for counts of values from
                    # the others.
                    "overrequest": _MORE_OF_A_SHARD,
                    "refine": True,
                    **({"prefix": facet.beginning} if facet.beginning else {}),
                    **({"facet": _facets(facet.within, names)} if facet.within else {}),
                }
            case StatisticsFacet(place=place):
                if not _NAMEABLE.fullmatch(place):
                    raise ParameterError(
                        f"Solr counts the numbers of no field called {place!r:.80}: only of letters, digits, _ . and :"
                    )
                made |= {f"{name}_{part}": f"{function}({place})" for part, function in _FUNCTIONS.items()}
    return made


def _read(asked: Sequence[Facet], facets: Any) -> tuple[FacetResult, ...]:
    read: list[FacetResult] = []
    for number, facet in enumerate(asked):
        name = f"facet{number}"
        match facet:
            case MatchCount():
                read.append(int(facets.get(name, {}).get("count", 0)))
            case ValueFacet(kind=kind, within=within):
                buckets = facets.get(name, {}).get("buckets", [])
                counts = (
                    ValueCount(_value(kind, each["val"]), int(each["count"]), _read(within, each)) for each in buckets
                )
                read.append(tuple(counts))
            case StatisticsFacet():
                read.append(Statistics.read(*(facets.get(f"{name}_{part}") for part in _FUNCTIONS)))
    return tuple(read)


def _value(kind: Kind, raw: Any) -> Value:
    match kind:
        case Kind.DATE:
            moment = date_of(str(raw))
            if moment is None:
                raise ValueError(f"{raw!r:.80} is no date")
            return moment
        case Kind.INTEGER:
            return int(raw)
        case Kind.FLOAT:
            return float(raw)
        case Kind.BOOLEAN:
            return raw in (True, "true")
        case _:
            return str(raw)
