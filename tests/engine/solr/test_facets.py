"""Facet requests to Solr and the reading of responses; tests/conformance checks the counts."""

from __future__ import annotations

from typing import Any

import pytest

from whorl.engine.protocol import Facet, MatchCount, Statistics, StatisticsFacet, ValueCount, ValueFacet
from whorl.engine.solr.request_body import SolrFields, facets_request, read_facets
from whorl.query.plan.nodes import BoundPlan, Equal, Kind, MatchAll

ALL = BoundPlan(MatchAll())
ASKED: list[Facet] = [ValueFacet(Kind.INTEGER, "n", 3, subfacets=(MatchCount(MatchAll()),)), MatchCount(MatchAll()),
                      StatisticsFacet(Kind.FLOAT, "price")]  # fmt: skip


def test_no_text_is_read_as_syntax() -> None:
    """
    Field names and prefixes are passed as values, and plans and the fields of functions by name, also in nested facets.
    """
    odd = '"}, {!lucene} $x'
    inner = StatisticsFacet(Kind.INTEGER, "acme:count")
    facets: list[Facet] = [
        ValueFacet(Kind.KEYWORD, odd, 3, prefix=odd, subfacets=(inner,)),
        MatchCount(Equal("f", Kind.KEYWORD, odd)),
        StatisticsFacet(Kind.FLOAT, odd),
    ]
    body = facets_request(ALL, facets, SolrFields(), lambda plan: plan)
    assert (body["facet"]["facet0"]["field"], body["facet"]["facet0"]["prefix"]) == (odd, odd)
    assert body["facet"]["facet1"] == {"type": "query", "q": "{!query v=$matching0}"}
    assert odd not in str(body["facet"]["facet1"])
    assert body["limit"] == 0
    assert body["facet"]["facet0"]["facet"]["facet0_total"] == "sum($field0)"
    assert body["facet"]["facet2_total"] == "sum($field1)"
    assert (body["params"]["field0"], body["params"]["field1"]) == ("acme:count", odd)


def test_answers() -> None:
    """
    Each facet gets its own result; an empty collection gives empty results.
    """
    counts = {
        "count": 4,
        "facet0": {"buckets": [{"val": 7, "count": 2, "facet0": {"count": 1}}]},
        "facet1": {"count": 4},
        "facet2_count": 2,
        "facet2_smallest": 1,
        "facet2_largest": 3,
        "facet2_total": 4,
        "facet2_squares": 10,
    }
    results = read_facets(ASKED, counts)
    assert results == ((ValueCount(7, 2, (1,)),), 4, Statistics(2, 1.0, 3.0, 4.0, 10.0))
    assert read_facets(ASKED, {}) == ((), 0, Statistics())


@pytest.mark.parametrize(
    "facets",
    [7, "x", [], None, {"facet0": []}, {"facet0": {"buckets": 7}}, {"facet0": {"buckets": ["x"]}},
     {"facet0": {"buckets": [{"val": "x", "count": 1}]}}, {"facet1": {"count": "many"}}, {"facet2_count": {}}],
)  # fmt: skip
def test_an_answer_of_another_shape(facets: Any) -> None:
    """
    Malformed facets raise a Python error, which the engine turns into an EngineResponseError.
    """
    with pytest.raises((AttributeError, LookupError, TypeError, ValueError)):
        read_facets(ASKED, facets)
