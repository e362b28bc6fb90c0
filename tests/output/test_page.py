"""A page of hits and an explanation as JSON: every key, and the values for unknown numbers."""

from __future__ import annotations

import json
from fractions import Fraction

from tests.search.similar.sources import source_of
from whorl.fingerprint.statistics.metric import Metric
from whorl.model import Hit, Page
from whorl.output.page import explanation_values, measured_page_values, page_values
from whorl.output.plan import plan_lines
from whorl.output.similar import estimate_values
from whorl.search.prepared import Explanation
from whorl.search.similar.plan import make_plan
from whorl.search.similar.results import Measured, exact_estimate

PAGE = Page(7, (Hit("a", "A", 3.0), Hit("b", "", 2.5)), ("careful",), is_total_exact=False)


def test_a_page() -> None:
    """
    Hits have shared tokens only if these were counted.
    """
    values = page_values("FINGERPRINT:a", PAGE)
    assert values == {
        "query": "FINGERPRINT:a",
        "total": 7,
        "total_is_exact": False,
        "warnings": ["careful"],
        "hits": [{"id": "a", "name": "A", "score": 3.0}, {"id": "b", "name": "", "score": 2.5}],
    }
    counted = Page(1, (Hit("a", "A", 3.0, shared_tokens=0),), source_tokens=512)
    assert page_values("x", counted)["hits"] == [{"id": "a", "name": "A", "score": 3.0, "shared_tokens": 0}]


def test_a_page_with_what_hits_share() -> None:
    """
    A hit without measurements has null values; a hit whose tokens allow no estimate has a count only.
    """
    estimate = exact_estimate(20, 30, 10)
    measured = {"a": Measured(5, 512, estimate)}
    values = measured_page_values("q", PAGE, ("s",), measured)
    assert list(values) == ["query", "sources", "total", "total_is_exact", "warnings", "hits"]
    assert values["sources"] == ["s"]
    assert values["hits"] == [
        {"id": "a", "name": "A", "score": 3.0, "shared_tokens": 5, "measured": estimate_values(estimate)},
        {"id": "b", "name": "", "score": 2.5, "shared_tokens": None, "measured": None},
    ]
    unknown = measured_page_values("q", PAGE, ("s",), {"a": Measured(5, 512, None)})["hits"]
    assert isinstance(unknown, list)
    assert (unknown[0]["shared_tokens"], unknown[0]["measured"]) == (5, None)
    assert json.loads(json.dumps(values)) == values


def test_an_explanation() -> None:
    """
    A source may occur twice, each time with its own plan in words.
    """
    plans = [make_plan(source_of(10), Metric.JACCARD, Fraction(percent, 100), Fraction(9, 10)) for percent in (20, 80)]
    explained = Explanation(("all of:",), tuple(("s", plan) for plan in plans), ("careful",), {"q": "*:*"})
    values = explanation_values("q", explained)
    assert values == {
        "query": "q",
        "plan": ["all of:"],
        "fingerprints": [{"source": "s", "plan": list(plan_lines(plan))} for plan in plans],
        "warnings": ["careful"],
        "request": {"q": "*:*"},
    }
    assert json.loads(json.dumps(values)) == values
