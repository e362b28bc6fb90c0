"""Facets as a cluster's aggregations; pure. All values are in one field, each prefixed with the name of its field."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from whorl.engine.lucene import decode_sortable, value_prefix
from whorl.engine.opensearch.documents import ID, VALUES, Json
from whorl.engine.protocol import Facet, FacetResult, MatchCount, Statistics, StatisticsFacet, ValueCount, ValueFacet
from whorl.errors import ParameterError
from whorl.query.plan.nodes import BoundNode, Kind

#: Minimum number of values that each of several shards returns, so that no value that is frequent overall is missed.
_LEAST_OF_A_SHARD = 1000
#: Maximum length of a regular expression's prefix; the default limit of the whole is 1,000 (index.max_regex_length).
_LONGEST_BEGINNING = 990
_SYNTAX = re.compile(r"[^0-9A-Za-z]", re.ASCII)
#: Script that extracts a document's numbers of a field, decoded as in the sort script of `request`.
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


def facet_aggregations(asked: Sequence[Facet], query: Callable[[BoundNode], Json]) -> Json:
    """Return the aggregations for facets.

    Args:
        asked: The facets.
        query: Returns the query of a plan's node.

    Raises:
        ParameterError: The name of a field, or a prefix of its values, is too long for a cluster.
    """
    made: Json = {}
    for number, facet in enumerate(asked):
        match facet:
            case MatchCount(node=node):
                about: Json = {"filter": query(node)}
            case ValueFacet():
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
            case StatisticsFacet(kind=kind, place=place):
                parameters = {"beginning": value_prefix(place, kind), "whole": kind is Kind.INTEGER}
                script = {"lang": "painless", "source": _NUMBERS, "params": parameters}
                about = {"extended_stats": {"script": script}}
        made[f"facet{number}"] = about
    return made


def read_facets(asked: Sequence[Facet], answer: Json) -> tuple[FacetResult, ...]:
    """Return the facets of a response; malformed responses raise errors that `answers` converts."""
    return _read(asked, answer["aggregations"] if asked else {})


def _field(facet: ValueFacet) -> Json:
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


def _read(asked: Sequence[Facet], aggregations: Any) -> tuple[FacetResult, ...]:
    read: list[FacetResult] = []
    for number, facet in enumerate(asked):
        about = aggregations[f"facet{number}"]
        match facet:
            case MatchCount():
                read.append(int(about["doc_count"]))
            case ValueFacet(kind=kind, place=place, within=within):
                length = 0 if place == "id" else len(value_prefix(place, kind))
                counts = (
                    ValueCount(
                        decode_sortable(kind, str(each["key"])[length:]), int(each["doc_count"]), _read(within, each)
                    )
                    for each in about["buckets"]
                )
                read.append(tuple(counts))
            case StatisticsFacet():
                read.append(Statistics.read(*(about[part] for part in _PARTS)))
    return tuple(read)
