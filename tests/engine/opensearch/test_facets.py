"""Facet requests to a cluster and the reading of responses; tests/conformance checks the counts."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from whorl import Document, Store
from whorl.engine.index_terms import value_term
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.engine import OpenSearchEngine
from whorl.engine.opensearch.request_body import facet_aggregations, read_facets
from whorl.engine.protocol import Facet, MatchCount, Statistics, StatisticsFacet, ValueCount, ValueFacet
from whorl.errors import EngineResponseError, ParameterError
from whorl.query.plan.nodes import BoundPlan, Kind, MatchAll

ASKED: list[Facet] = [
    ValueFacet(Kind.INTEGER, "n", 3, subfacets=(MatchCount(MatchAll()),)),
    MatchCount(MatchAll()),
    StatisticsFacet(Kind.FLOAT, "price"),
]


def test_no_text_is_read_as_syntax() -> None:
    """
    In the expression for terms, all characters of names and prefixes except letters and digits are escaped.
    """
    made = facet_aggregations([ValueFacet(Kind.KEYWORD, "a.b", 3, prefix="x|y")], lambda _: {})
    assert made["facet0"]["terms"]["include"] == "a\\.b\\\x1ftx\\|y(.|\n)*"


def test_a_prefix_too_long_for_the_cluster() -> None:
    """
    A prefix or field name that is too long is refused with the limit; one at the limit is sent.
    """
    for place, beginning in (("a", "x" * 986), ("id", "é" * 495)):
        made = facet_aggregations([ValueFacet(Kind.KEYWORD, place, 3, prefix=beginning)], lambda _: {})
        assert len(made["facet0"]["terms"]["include"]) <= 1000
        for facet in (
            ValueFacet(Kind.KEYWORD, place, 3, prefix=f"{beginning}x"),
            ValueFacet(Kind.KEYWORD, "n" * 990, 3),
        ):
            with pytest.raises(ParameterError, match="prefix of 990 characters"):
                facet_aggregations([facet], lambda _: {})


def test_answers() -> None:
    """
    Each facet gets its own result, with decoded values.
    """
    aggregations = {
        "facet0": {"buckets": [{"key": value_term("n", Kind.INTEGER, 7), "doc_count": 2, "facet0": {"doc_count": 1}}]},
        "facet1": {"doc_count": 4},
        "facet2": {"count": 2, "min": 1.0, "max": 3.0, "sum": 4.0, "sum_of_squares": 10.0},
    }
    results = read_facets(ASKED, aggregations)
    assert results == ((ValueCount(7, 2, (1,)),), 4, Statistics(2, 1.0, 3.0, 4.0, 10.0))


@pytest.mark.parametrize(
    "aggregations",
    [7, "x", [], None, {}, {"facet0": []}, {"facet0": {"buckets": 7}}, {"facet0": {"buckets": ["x"]}},
     {"facet0": {"buckets": [{"key": "n\x1fi", "doc_count": 1}]}}],
)  # fmt: skip
def test_an_answer_of_another_shape(aggregations: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A malformed response raises an error with the URL.
    """
    monkeypatch.setattr(IndexClient, "mapping", lambda *_: None)
    monkeypatch.setattr(IndexClient, "search", lambda *_: {"aggregations": aggregations})
    with (
        contextlib.closing(OpenSearchEngine(IndexClient("opensearch+http://c/i"))) as engine,
        pytest.raises(EngineResponseError, match="http://c"),
    ):
        engine.facets(BoundPlan(MatchAll()), ASKED)


def test_more_nested_values_than_a_cluster_counts(store: Store) -> None:
    """
    Nested facets with more values than the cluster's limit are refused at once, with the remedy.
    """
    values = tuple(range(300))
    store.index([Document("many", "a text", properties={"a": values, "b": values})])

    def count(limit: int) -> list[int]:
        inner = ValueFacet(Kind.INTEGER, "b", limit)
        facet = ValueFacet(Kind.INTEGER, "a", limit, subfacets=(inner,))
        (counts,) = store.engine.facets(BoundPlan(MatchAll()), [facet])
        assert isinstance(counts, tuple)
        return [len(within) for counted in counts for within in counted.subfacets if isinstance(within, tuple)]

    with pytest.raises(ParameterError, match=r"ask for fewer values: .*65535"):
        count(300)
    assert count(200) == [200] * 200
