"""Turns facets into a Solr JSON request, and reads the counts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from whorl.engine.protocol import Facet, FacetResult, MatchCount, Statistics, StatisticsFacet, ValueCount, ValueFacet
from whorl.engine.solr.client import Json, SolrResponse, guard_response
from whorl.engine.solr.request import SolrFields, search_request
from whorl.errors import ParameterError
from whorl.query.plan.nodes import BoundNode, BoundPlan, Kind, Value
from whorl.query.plan.values import date_of

#: Names that Solr always parses as a field in a function.
_NAMEABLE = re.compile(r"[^\W\d][\w.:]*", re.ASCII)
#: Number of further values to request from each shard, so that a value that is frequent in total is not missed.
_MORE_OF_A_SHARD = 1000
#: Solr's aggregation functions for the fields of Statistics, in their order.
_FUNCTIONS = {"count": "countvals", "smallest": "min", "largest": "max", "total": "sum", "squares": "sumsq"}


def facets_request(
    plan: BoundPlan, facets: Sequence[Facet], names: SolrFields, prepared: Callable[[BoundPlan], BoundPlan]
) -> Json:
    """Return the JSON body that requests facets of a plan's hits, and no hits.

    Args:
        prepared: Replaces the clauses of a plan that cannot match anything in the collection.

    Raises:
        ParameterError: Solr cannot name a field in a facet.
    """
    nodes: dict[str, BoundNode] = {}
    parts = _facets(facets, nodes)
    counted = {name: prepared(BoundPlan(node)).root for name, node in nodes.items()}
    return {**search_request(plan, names, start=0, rows=0, counted=counted), "facet": parts}


def _facets(facets: Sequence[Facet], counted: dict[str, BoundNode]) -> Json:
    """Return the facets of the request.

    Args:
        counted: Gets the nodes to count, by the names of their queries.
    """
    parts: Json = {}
    for number, facet in enumerate(facets):
        name = f"facet{number}"
        match facet:
            case MatchCount(node=node):
                query = f"matching{len(counted)}"
                counted[query] = node
                parts[name] = {"type": "query", "q": f"{{!query v=${query}}}"}
            case ValueFacet():
                parts[name] = {
                    "type": "terms",
                    "field": facet.place,
                    "limit": facet.most,
                    "mincount": facet.least,
                    "sort": "index asc" if facet.is_by_value else "count desc",
                    # Each shard returns more values than needed, and Solr asks the other shards for their counts.
                    "overrequest": _MORE_OF_A_SHARD,
                    "refine": True,
                    **({"prefix": facet.beginning} if facet.beginning else {}),
                    **({"facet": _facets(facet.within, counted)} if facet.within else {}),
                }
            case StatisticsFacet(place=place):
                if not _NAMEABLE.fullmatch(place):
                    raise ParameterError(
                        f"Solr counts the numbers of no field called {place!r:.80}: only of letters, digits, _ . and :"
                    )
                parts |= {f"{name}_{part}": f"{function}({place})" for part, function in _FUNCTIONS.items()}
    return parts


def read_facets(facets: Sequence[Facet], answer: SolrResponse) -> tuple[FacetResult, ...]:
    """Return the facets of a search handler's response; a malformed one raises EngineResponseError."""
    # Solr returns no facets for an empty set of documents.
    with guard_response(answer.url):
        return _read(facets, answer.get("facets", {}))


def _read(facets: Sequence[Facet], answers: Any) -> tuple[FacetResult, ...]:
    results: list[FacetResult] = []
    for number, facet in enumerate(facets):
        name = f"facet{number}"
        match facet:
            case MatchCount():
                results.append(int(answers.get(name, {}).get("count", 0)))
            case ValueFacet(kind=kind, within=within):
                buckets = answers.get(name, {}).get("buckets", [])
                counts = (
                    ValueCount(_value(kind, bucket["val"]), int(bucket["count"]), _read(within, bucket))
                    for bucket in buckets
                )
                results.append(tuple(counts))
            case StatisticsFacet():
                results.append(Statistics.read(*(answers.get(f"{name}_{part}") for part in _FUNCTIONS)))
    return tuple(results)


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
