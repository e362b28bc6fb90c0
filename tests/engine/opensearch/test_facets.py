"""What a cluster is asked to count, and what its answers are read as; what it counts is in tests/conformance."""

from __future__ import annotations

from typing import Any

import pytest

from whorl.engine.facets import Facet, Matching, Numbers, Statistics, ValueCount, Values
from whorl.engine.opensearch.facets import facet_aggregations, read_facets
from whorl.engine.terms import value_term
from whorl.errors import EngineResponseError
from whorl.planning.build import MatchAll
from whorl.planning.clauses import Kind

ASKED: list[Facet] = [
    Values(Kind.INTEGER, "n", 3, within=(Matching(MatchAll()),)),
    Matching(MatchAll()),
    Numbers(Kind.FLOAT, "price"),
]


def test_no_text_is_read_as_syntax() -> None:
    """
    Of a name and a beginning, whatever is no letter is escaped in the expression for the terms.
    """
    made = facet_aggregations([Values(Kind.KEYWORD, "a.b", 3, beginning="x|y")], lambda _: {})
    assert made["facet0"]["terms"]["include"] == "a\\.b\\\x1ftx\\|y(.|\n)*"


def test_answers() -> None:
    """
    Each question has its own, values as they were before they were spelled.
    """
    told = {
        "facet0": {"buckets": [{"key": value_term("n", Kind.INTEGER, 7), "doc_count": 2, "facet0": {"doc_count": 1}}]},
        "facet1": {"doc_count": 4},
        "facet2": {"count": 2, "min": 1.0, "max": 3.0, "sum": 4.0, "sum_of_squares": 10.0},
    }
    found = read_facets(ASKED, {"aggregations": told}, "http://c")
    assert found == ((ValueCount(7, 2, (1,)),), 4, Statistics(2, 1.0, 3.0, 4.0, 10.0))


@pytest.mark.parametrize(
    "told",
    [7, "x", [], None, {}, {"facet0": []}, {"facet0": {"buckets": 7}}, {"facet0": {"buckets": ["x"]}},
     {"facet0": {"buckets": [{"key": "n\x1fi", "doc_count": 1}]}}],
)  # fmt: skip
def test_an_answer_of_another_shape(told: Any) -> None:
    """
    It is an error that names the address.
    """
    with pytest.raises(EngineResponseError, match="http://c"):
        read_facets(ASKED, {"aggregations": told}, "http://c")
