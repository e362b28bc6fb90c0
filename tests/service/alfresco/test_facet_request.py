"""Tests of invalid facets in a request: the error names each, like every other part."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.service.alfresco.test_request import GOOD, told
from whorl.service.alfresco.facet_request import FacetRange, IntervalSet
from whorl.service.paths import SEARCH

#: Pairs of a request and the words that the error has to contain: the part, then the value or the reason.
WRONG: list[tuple[Any, tuple[str, ...]]] = [
    ({**GOOD, "facetQueries": [{"label": "x"}]}, ("facetQueries[0].query", "required")),
    ({**GOOD, "facetQueries": [{"query": "{!afts}a"}]}, ("{",)),
    ({**GOOD, "facetQueries": [{"query": "a", "label": "x"}, {"query": "b", "label": "x"}]}, ("label", "'x'")),
    ({**GOOD, "facetFormat": "V3"}, ("facetFormat", "V1")),
    ({**GOOD, "facetFields": {"facets": [{"label": "x"}]}}, ("facetFields.facets[0].field", "required")),
    ({**GOOD, "facetFields": {"facets": [{"field": "pages", "limit": 0}]}}, ("facets[0].limit", "1 or more")),
    ({**GOOD, "facetFields": {"facets": [{"field": "pages", "limit": 10_001}]}}, ("facets[0].limit", "10000")),
    ({**GOOD, "facetFields": {"facets": [{"field": "pages", "mincount": 0}]}}, ("facets[0].mincount", "1")),
    ({**GOOD, "facetFields": {"facets": [{"field": "pages", "sort": "SIZE"}]}}, ("facets[0].sort", "INDEX")),
    ({**GOOD, "facetFields": {"facets": [{"field": "pages", "excludeFilters": ["t"]}]}}, ("'t'", "tag")),
    ({**GOOD, "facetFields": {"facets": [{"field": "pages"}, {"field": "pages"}]}}, ("label", "'pages'")),
    ({**GOOD, "facetFields": {"facets": [{"field": "content"}]}}, ("'content'", "words")),
    ({**GOOD, "facetIntervals": {"intervals": [{"field": "pages"}]}}, ("facetIntervals", "'pages'", "no sets")),
    ({**GOOD, "facetIntervals": {"intervals": [{"field": "pages", "sets": [{"start": 1}]}]}}, ("sets[0].end",)),
    ({**GOOD, "facetIntervals": {"intervals": [{"field": "pages", "sets": [{"start": "a", "end": "b"}]}]}}, ("'a'",)),
    ({**GOOD, "ranges": [{"field": "pages", "start": 1, "end": 2}]}, ("ranges[0].gap", "required")),
    ({**GOOD, "ranges": [{"field": "pages", "start": 1, "end": 2, "gap": 0}]}, ("gap", "above 0")),
    ({**GOOD, "ranges": [{"field": "pages", "start": 3, "end": 2, "gap": 1}]}, ("'2'", "not after '3'")),
    ({**GOOD, "ranges": [{"field": "pages", "start": 0, "end": 2, "gap": 1e-4}]}, ("1,000 steps",)),
    ({**GOOD, "ranges": [{"field": "pages", "start": "x", "end": 2, "gap": 1}]}, ("'x'", "no number")),
    ({**GOOD, "ranges": [{"field": "cm:created", "start": "2017", "end": "2018", "gap": "+1AGE"}]}, ("'AGE'",)),
    ({**GOOD, "ranges": [{"field": "cm:created", "start": "2017", "end": "2018", "gap": "-1DAY"}]}, ("forward",)),
    ({**GOOD, "stats": [{"field": "cm:creator"}]}, ("'cm:creator'", "statistics")),
    ({**GOOD, "stats": [{"field": "pages", "percentiles": [50]}]}, ("stats[0].percentiles", "leave it out")),
    ({**GOOD, "stats": [{"field": "pages", "distinctValues": True}]}, ("stats[0].distinctValues", "leave it out")),
    ({**GOOD, "stats": [{"field": "pages"}, {"field": "pages"}]}, ("stats", "'pages'")),
    ({**GOOD, "pivots": [{"key": "a"}]}, ("label of a facet field", "'a'")),
    ({**GOOD, "stats": [{"field": "pages"}], "pivots": [{"key": "pages"}]}, ("innermost",)),
]


@pytest.mark.parametrize(("body", "named"), WRONG, ids=lambda each: json.dumps(each)[:60])
def test_a_wrong_facet_is_named(embedded_service: TestClient, body: Any, named: tuple[str, ...]) -> None:
    """
    An invalid facet is a 400 that names it.
    """
    message = told(embedded_service.post(SEARCH, json=body), 400)
    for each in named:
        assert each in message


@pytest.mark.parametrize("part", [IntervalSet, FacetRange])
def test_what_may_be_a_number_is_described_as_one(part: type[IntervalSet | FacetRange]) -> None:
    """
    The service's description says that every end and gap may be a number, since numbers are accepted.
    """
    described = part.model_json_schema()["properties"]
    for name in {"start", "end", "gap"} & described.keys():
        assert {each.get("type") for each in described[name]["anyOf"]} == {"string", "number"}
