"""Facets as a cluster's own aggregations, pure: all values lie in one field of ours, each behind its field's name."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from whorl.engine.facets import Counted, Facet, Matching, Numbers, Statistics, ValueCount, Values
from whorl.engine.opensearch.fields import ID, VALUES, Json
from whorl.engine.terms import read_sortable, values_begin
from whorl.errors import EngineResponseError
from whorl.planning.build import BoundNode
from whorl.planning.clauses import Kind

#: Values that each shard tells, where there are several, so that none that is frequent in all is missed.
_LEAST_OF_A_SHARD = 1000
_SYNTAX = re.compile(r"[^0-9A-Za-z]", re.ASCII)
#: Numbers behind the names of their fields, as `request` sorts by them.
_NUMBERS = """
List found = new ArrayList();
for (String value : doc['whorl_values']) {
  if (value.startsWith(params.beginning)) {
    long bits = Long.parseUnsignedLong(value.substring(params.beginning.length()), 16);
    if (params.whole) { found.add((double) (bits + Long.MIN_VALUE)); }
    else { found.add(Double.longBitsToDouble(bits < 0 ? bits ^ Long.MIN_VALUE : ~bits)); }
  }
}
return found;
"""
_PARTS = {"count": "count", "smallest": "min", "largest": "max", "total": "sum", "squares": "sum_of_squares"}


def facet_aggregations(asked: Sequence[Facet], query: Callable[[BoundNode], Json]) -> Json:
    """Return the aggregations that answer questions.

    Args:
        asked: The questions.
        query: Returns a plan as a query.
    """
    made: Json = {}
    for number, facet in enumerate(asked):
        match facet:
            case Matching(node=node):
                about: Json = {"filter": query(node)}
            case Values():
                by_count = [{"_count": "desc"}, {"_key": "asc"}]
                about = {
                    "terms": {
                        **_field(facet),
                        "size": facet.most,
                        "shard_size": max(facet.most, _LEAST_OF_A_SHARD),
                        "min_doc_count": facet.least,
                        "order": [{"_key": "asc"}] if facet.is_by_value else by_count,
                    }
                }
                if facet.within:
                    about["aggs"] = facet_aggregations(facet.within, query)
            case Numbers(kind=kind, place=place):
                parameters = {"beginning": values_begin(place, kind), "whole": kind is Kind.INTEGER}
                script = {"lang": "painless", "source": _NUMBERS, "params": parameters}
                about = {"extended_stats": {"script": script}}
        made[f"facet{number}"] = about
    return made


def read_facets(asked: Sequence[Facet], answer: Json, url: str) -> tuple[Counted, ...]:
    """Return what a cluster has counted.

    Raises:
        EngineResponseError: It answers something else.
    """
    try:
        return _read(asked, answer.get("aggregations", {}))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise EngineResponseError(f"{url} tells no counts: {error}") from error


def _field(facet: Values) -> Json:
    if facet.place == "id":
        return {"field": ID, **({"include": f"{_literal(facet.beginning)}.*"} if facet.beginning else {})}
    return {"field": VALUES, "include": f"{_literal(values_begin(facet.place, facet.kind) + facet.beginning)}(.|\n)*"}


def _literal(text: str) -> str:
    return _SYNTAX.sub(r"\\\g<0>", text)


def _read(asked: Sequence[Facet], told: Any) -> tuple[Counted, ...]:
    read: list[Counted] = []
    for number, facet in enumerate(asked):
        about = told[f"facet{number}"]
        match facet:
            case Matching():
                read.append(int(about["doc_count"]))
            case Values(kind=kind, place=place, within=within):
                length = 0 if place == "id" else len(values_begin(place, kind))
                counts = (
                    ValueCount(
                        read_sortable(kind, str(each["key"])[length:]), int(each["doc_count"]), _read(within, each)
                    )
                    for each in about["buckets"]
                )
                read.append(tuple(counts))
            case Numbers():
                parts = {name: about[theirs] or 0 for name, theirs in _PARTS.items()}
                read.append(Statistics(int(parts.pop("count")), **{part: float(parts[part]) for part in parts}))
    return tuple(read)
