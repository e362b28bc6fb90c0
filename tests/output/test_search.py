"""Similar documents as JSON: query, promise and hits, by hand."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from calibration import OnePhase
from tests.fingerprint.minhash.made_buckets import at
from tests.search.similar.sources import SCHEME, source_of
from whorl.fingerprint.sketch.frac_minhash import Sketch
from whorl.fingerprint.statistics.metric import Metric, Shares
from whorl.fingerprint.statistics.overlap_estimates import Estimate
from whorl.model import Hit, Page
from whorl.output.json_conversion import values
from whorl.output.search import (
    ExplainedQuery,
    describe_promise,
    make_measured_page,
    plan_lines,
    repeats_lines,
)
from whorl.search.repeats_of_new_documents import NewDocumentRepeats, RepeatedDocument
from whorl.search.similar.minhash_plan import make_minhash_plan
from whorl.search.similar.options import SimilarCriteria
from whorl.search.similar.results import Explanation, Measured, Similar, exact_estimate, score_hit
from whorl.search.similar.sketch_plan import make_plan

ABOUT = Estimate(
    Shares(1 / 3, 2 / 3, 0.5), Shares(0.1, 1 / 3, 0.25), Shares(1 / 3, 1.0, 2 / 3), 8, 12, 20, 30, is_exact=False
)


def test_shares_of_two_documents() -> None:
    """
    Shares are rounded down, intervals outward, and only estimates have intervals; the counts are included.
    """
    assert values(exact_estimate(20, 30, 10)) == {
        "jaccard": 0.25, "a_in_b": 0.5, "b_in_a": 0.333333, "exact": True,
        "shared_hashes": 10, "source_hashes": 20, "shingles": 30,
    }  # fmt: skip
    assert values(ABOUT) == {
        "jaccard": 0.333333, "a_in_b": 0.666666, "b_in_a": 0.5, "exact": False,
        "intervals": {"jaccard": [0.1, 0.333334], "a_in_b": [0.333333, 1.0], "b_in_a": [0.25, 0.666667]},
        "shared_hashes": 8, "source_hashes": 12, "shingles": 30,
    }  # fmt: skip


def test_a_page() -> None:
    """
    The options are fractions, and the score of each hit is a percentage.
    """
    plan = make_plan(
        source_of(20), SimilarCriteria(Metric.A_IN_B, Fraction(1, 2), Fraction(95, 100)), largest_size=1024
    )
    hit = score_hit(Hit("b", "B", 0.0), ABOUT, Metric.A_IN_B)
    page = Similar(9, False, (hit,), plan, 12, ("projected",))
    answer = values(page)
    assert answer == {
        "metric": "a_in_b",
        "threshold": 0.5,
        "recall": 0.95,
        "promised": True,
        "ignore_common": False,
        "source_shingles": 20,
        "total": 9,
        "total_is_exact": False,
        "candidates": 12,
        "warnings": ["projected"],
        "hits": [{"id": "b", "name": "B", "score": 66.6667, **values(ABOUT)}],
    }
    assert json.loads(json.dumps(answer)) == answer


HALF = Fraction(1, 2)


def test_a_plan_by_hand() -> None:
    """
    All ten shingles are looked up, so no document below the threshold passes.
    """
    plan = make_plan(source_of(10), SimilarCriteria(Metric.A_IN_B, HALF, HALF), largest_size=128)
    assert list(plan_lines(plan)) == [
        "find documents with at least 50 % of the source in common (a_in_b)",
        "the source has 10 distinct shingles",
        "documents of 5 to 128 shingles: at least 5 of 10 tokens",
        "  finds 100.0 of 100 at the threshold; passes none of 100 that are 10 points below, none that are 20",
        "10 look-ups in all",
        "then each candidate's whole sketch is compared, and those below the threshold are dropped",
        "at least 50 of 100 documents just at the threshold are found, more of those above it",
    ]


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        (Metric.JACCARD, "with at least 12.5 % of both texts together in common (jaccard)"),
        (Metric.A_IN_B, "with at least 12.5 % of the source in common (a_in_b)"),
        (Metric.B_IN_A, "with at least 12.5 % of the document in common (b_in_a)"),
        (Metric.CONTAINMENT, "with at least 12.5 % of the smaller text in common (containment)"),
    ],
)
def test_a_plan_begins_with_its_condition(metric: Metric, words: str) -> None:
    """
    The first line has the direction of the metric and the threshold as written.
    """
    plan = make_plan(source_of(1), SimilarCriteria(metric, Fraction(1, 8), HALF))
    lines = list(plan_lines(plan))
    assert lines[:2] == [f"find documents {words}", "the source has 1 distinct shingle"]


@pytest.mark.parametrize(
    ("tokens", "reached"),
    [
        # Calculated by hand in tests/search/similar/test_sketch_plan.py.
        (3, "there it holds from 60 % on"),
        (1, "there it holds from 95 % on"),
        (0, "the source is too short to be met there; 0 of 100 are found"),
    ],
)
def test_best_effort_names_its_reach(tokens: int, reached: str) -> None:
    """
    A best-effort plan states the sizes without a promise, and the smallest threshold with the wanted recall.
    """
    hashes = np.r_[np.arange(tokens), SCHEME.bound(1) + np.arange(20 - tokens)].astype(np.uint64)
    plan = make_plan(
        Sketch(SCHEME, 20, hashes),
        OnePhase(Metric.A_IN_B, HALF, Fraction(95, 100)),
        largest_size=100_000,
    )
    weak = [branch for branch in plan.branches if not branch.promised]
    last = replace(plan, branches=(*(branch for branch in plan.branches if branch.promised), weak[-1]))
    assert re.fullmatch(
        rf"best effort: 95 of 100 is not promised for documents of [\d,]+ to 100,000 shingles: {reached}",
        describe_promise(last),
    )


def test_nothing_can_be_found_of_nothing() -> None:
    """
    The promise of a plan without shingles says that nothing can be found.
    """
    plan = make_plan(source_of(0), SimilarCriteria(Metric.JACCARD, HALF, HALF))
    assert "nothing can share content with it" in describe_promise(plan)
    assert "0 look-ups in all" in list(plan_lines(plan))


def test_plans_without_sketches() -> None:
    """
    With MinHash tokens only, the plan promises about the recall for all sizes, for some, or for none.
    """
    plan = make_minhash_plan(at(0.0, 0.0, 0.0, 0.0), SimilarCriteria(Metric.A_IN_B, HALF, HALF), source_size=4)
    plan = replace(plan, min_should_match=2)
    assert list(plan_lines(plan)) == [
        "find documents with at least 50 % of the source in common (a_in_b)",
        "the source has 4 distinct shingles",
        "at least 2 of 4 MinHash tokens (the documents have no sketches)",
        "then all tokens of each candidate are compared, and those below the threshold are dropped",
        "about 50 of 100 documents just at the threshold are found, by their MinHash tokens alone",
    ]
    line = describe_promise(replace(plan, promised_sizes=(2, 1500)))
    assert line == "best effort: about 50 of 100 is promised for documents of 2 to 1,500 shingles only"
    none = describe_promise(replace(plan, promised_sizes=None))
    assert none == "best effort: with MinHash tokens alone about 50 of 100 is not promised for any size"
    assert "nothing can share content with it" in describe_promise(replace(plan, buckets=(), min_should_match=0))


PAGE = Page(7, (Hit("a", "A", 3.0), Hit("b", "", 2.5)), ("careful",), is_total_exact=False)


def test_a_page_of_hits() -> None:
    """
    Hits have shared tokens only if these were counted.
    """
    assert values(PAGE) == {
        "total": 7,
        "total_is_exact": False,
        "warnings": ["careful"],
        "hits": [{"id": "a", "name": "A", "score": 3.0}, {"id": "b", "name": "", "score": 2.5}],
    }
    counted = Page(1, (Hit("a", "A", 3.0, shared_tokens=0),), source_tokens=512)
    assert values(counted)["hits"] == [{"id": "a", "name": "A", "score": 3.0, "shared_tokens": 0}]


def test_a_page_with_shared_tokens_of_hits() -> None:
    """
    A hit without measurements has null values; a hit whose tokens allow no estimate has a count only.
    """
    estimate = exact_estimate(20, 30, 10)
    measured = {"a": Measured(5, 512, estimate)}
    answer = values(make_measured_page("q", PAGE, ("s",), measured))
    assert list(answer) == ["query", "sources", "total", "total_is_exact", "warnings", "hits"]
    assert answer["sources"] == ["s"]
    assert answer["hits"] == [
        {"id": "a", "name": "A", "score": 3.0, "shared_tokens": 5, "measured": values(estimate)},
        {"id": "b", "name": "", "score": 2.5, "shared_tokens": None, "measured": None},
    ]
    unknown = values(make_measured_page("q", PAGE, ("s",), {"a": Measured(5, 512, None)}))["hits"]
    assert (unknown[0]["shared_tokens"], unknown[0]["measured"]) == (5, None)
    assert json.loads(json.dumps(answer)) == answer


def test_an_explanation() -> None:
    """
    A source may occur twice, each time with its own plan in words.
    """
    plans = [
        make_plan(source_of(10), SimilarCriteria(Metric.JACCARD, Fraction(percent, 100), Fraction(9, 10)))
        for percent in (20, 80)
    ]
    explained = Explanation(("all of:",), tuple(("s", plan) for plan in plans), ("careful",), {"q": "*:*"})
    answer = values(ExplainedQuery("q", explained))
    assert answer == {
        "query": "q",
        "plan": ["all of:"],
        "fingerprints": [{"source": "s", "plan": list(plan_lines(plan))} for plan in plans],
        "warnings": ["careful"],
        "request": {"q": "*:*"},
    }
    assert json.loads(json.dumps(answer)) == answer


REPEATS = NewDocumentRepeats("new\x1b", (RepeatedDocument(Hit("old", "Old", 75.0), exact_estimate(20, 30, 15)),))


def test_as_json() -> None:
    """
    The JSON has the shares of `similar`; A is the new document.
    """
    answer = values(REPEATS)
    assert answer["id"] == "new\x1b"
    (hit,) = answer["hits"]
    assert hit.items() >= {"id": "old", "name": "Old", "a_in_b": 0.75, "b_in_a": 0.5, "exact": True}.items()
    assert "score" not in hit


def test_for_people() -> None:
    """
    The lines have the share of the metric, and no control characters.
    """
    assert list(repeats_lines(REPEATS, Metric.A_IN_B)) == ["new\ufffd repeats", "     75.0%  old  Old"]
    assert list(repeats_lines(REPEATS, Metric.B_IN_A))[1] == "     50.0%  old  Old"
