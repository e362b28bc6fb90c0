"""Turns facets into OpenSearch aggregations, and reads the counts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from whorl.engine.lucene import decode_sortable, value_prefix
from whorl.engine.opensearch.documents import ID, VALUES, Json
from whorl.engine.protocol import Facet, FacetResult, MatchCount, Statistics, StatisticsFacet, ValueCount, ValueFacet
from whorl.errors import ParameterError
from whorl.query.plan.nodes import BoundNode, Kind

#: Minimum number of values to request from each shard, so that a value that is frequent in total is not missed.
_LEAST_OF_A_SHARD = 1000
#: Maximum length of the prefix of a regular expression, which has at most 1,000 characters (index.max_regex_length).
_LONGEST_BEGINNING = 990
_SYNTAX = re.compile(r"[^0-9A-Za-z]", re.ASCII)
#: Script for the numbers in a field of a document, decoded as in the sort script of `request`.
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
#: Statistics of an aggregation, in the order of `Statistics`.
_PARTS = ("count", "min", "max", "sum", "sum_of_squares")


def facet_aggregations(facets: Sequence[Facet], query: Callable[[BoundNode], Json]) -> Json:
    """Return the aggregations for facets; raise ParameterError if a name or prefix is too long."""
    return {f"facet{number}": _aggregation(facet, query) for number, facet in enumerate(facets)}


def _aggregation(facet: Facet, query: Callable[[BoundNode], Json]) -> Json:
    match facet:
        case MatchCount(node=node):
            return {"filter": query(node)}
        case ValueFacet():
            terms = {
                **_field(facet),
                "size": facet.most,
                "shard_size": max(facet.most, _LEAST_OF_A_SHARD),
                "min_doc_count": facet.least,
                "order": [{"_key": "asc"}] if facet.is_by_value else [{"_count": "desc"}, {"_key": "asc"}],
            }
            return {"terms": terms, **({"aggs": facet_aggregations(facet.within, query)} if facet.within else {})}
        case StatisticsFacet(kind=kind, place=place):
            parameters = {"beginning": value_prefix(place, kind), "whole": kind is Kind.INTEGER}
            return {"extended_stats": {"script": {"lang": "painless", "source": _NUMBERS, "params": parameters}}}


def _field(facet: ValueFacet) -> Json:
    """Return the field of a facet, with a regular expression that its values match."""
    is_id = facet.place == "id"
    if is_id and not facet.beginning:
        return {"field": ID}
    beginning = _literal(("" if is_id else value_prefix(facet.place, facet.kind)) + facet.beginning)
    if len(beginning) > _LONGEST_BEGINNING:
        raise ParameterError(
            f"a cluster counts values by a field's name and a prefix of {_LONGEST_BEGINNING} characters together, got "
            f"{facet.place!r:.80} and {facet.beginning!r:.80}"
        )
    return {"field": ID if is_id else VALUES, "include": f"{beginning}(.|\n)*"}


def _literal(text: str) -> str:
    return _SYNTAX.sub(r"\\\g<0>", text)


def read_facets(facets: Sequence[Facet], aggregations: Any) -> tuple[FacetResult, ...]:
    """Return the facets in the aggregations of a response; the caller handles errors from malformed responses."""
    return tuple(_read(facet, aggregations[f"facet{number}"]) for number, facet in enumerate(facets))


def _read(facet: Facet, aggregation: Any) -> FacetResult:
    match facet:
        case MatchCount():
            return int(aggregation["doc_count"])
        case ValueFacet(kind=kind, place=place, within=within):
            length = 0 if place == "id" else len(value_prefix(place, kind))
            return tuple(
                ValueCount(
                    decode_sortable(kind, str(bucket["key"])[length:]),
                    int(bucket["doc_count"]),
                    read_facets(within, bucket),
                )
                for bucket in aggregation["buckets"]
            )
        case StatisticsFacet():
            return Statistics.read(*(aggregation[part] for part in _PARTS))
