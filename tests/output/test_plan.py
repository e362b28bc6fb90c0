"""Calibrated plans in words: one checked line by line, and the promises of others."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tests.fingerprint.minhash.made_buckets import at
from tests.search.similar.sources import SCHEME, source_of
from whorl.fingerprint.sketch.sketch import Sketch
from whorl.fingerprint.statistics.metric import Metric
from whorl.output.plan import plan_lines, promise
from whorl.search.similar.minhash_plan import make_minhash_plan
from whorl.search.similar.plan import make_plan

HALF = Fraction(1, 2)


def test_a_plan_by_hand() -> None:
    """
    All ten shingles are looked up, so no document below the threshold passes.
    """
    plan = make_plan(source_of(10), Metric.A_IN_B, HALF, HALF, largest_size=128)
    assert list(plan_lines(plan)) == [
        "find documents that contain at least 50 % of the source",
        "the source has 10 distinct shingles",
        "documents of 5 to 128 shingles: at least 5 of 10 tokens",
        "  finds 100.0 of 100 at the threshold; passes none of 100 that are 10 points below, none that are 20",
        "10 look-ups in all",
        "then each candidate's whole sketch is compared, and those below the threshold are dropped",
        "at least 50 of 100 documents just at the threshold are found, more of those above it",
    ]
    one_phase = make_plan(source_of(10), Metric.A_IN_B, HALF, HALF, phases=1, largest_size=128)
    assert not any("sketch" in line for line in plan_lines(one_phase))


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        (Metric.JACCARD, "share at least 12.5 % of what both have together (Jaccard)"),
        (Metric.A_IN_B, "contain at least 12.5 % of the source"),
        (Metric.B_IN_A, "lie in the source with at least 12.5 % of theirs"),
    ],
)
def test_what_is_looked_for(metric: Metric, words: str) -> None:
    """
    The first line has the direction of the metric and the threshold as written.
    """
    plan = make_plan(source_of(1), metric, Fraction(1, 8), HALF)
    lines = list(plan_lines(plan))
    assert lines[:2] == [f"find documents that {words}", "the source has 1 distinct shingle"]


@pytest.mark.parametrize(
    ("tokens", "reached"),
    [
        # Calculated by hand in tests/search/similar/test_plan.py.
        (3, "there it holds from 60 % on"),
        (1, "there it holds from 95 % on"),
        (0, "the source is too short to be met there; 0 of 100 are found"),
    ],
)
def test_best_effort_says_from_where_it_holds(tokens: int, reached: str) -> None:
    """
    A best-effort plan states the sizes without a promise, and the threshold from which on the recall holds for them.
    """
    hashes = np.r_[np.arange(tokens), SCHEME.bound(1) + np.arange(20 - tokens)].astype(np.uint64)
    plan = make_plan(Sketch(SCHEME, 20, hashes), Metric.A_IN_B, HALF, Fraction(95, 100), phases=1, largest_size=100_000)
    weak = [branch for branch in plan.branches if not branch.promised]
    last = replace(plan, branches=(*(each for each in plan.branches if each.promised), weak[-1]))
    assert re.fullmatch(
        rf"best effort: 95 of 100 is not promised for documents of [\d,]+ to 100,000 shingles: {reached}", promise(last)
    )


def test_nothing_can_be_found_of_nothing() -> None:
    """
    The promise of a plan without shingles says that nothing can be found.
    """
    plan = make_plan(source_of(0), Metric.JACCARD, HALF, HALF)
    assert "nothing can share content with it" in promise(plan)
    assert "0 look-ups in all" in list(plan_lines(plan))


def test_plans_without_sketches() -> None:
    """
    The promise of MinHash tokens is approximate, for all sizes, for some or for none.
    """
    plan = make_minhash_plan(at(0.0, 0.0, 0.0, 0.0), Metric.A_IN_B, HALF, HALF, source_size=4, largest_size=100)
    assert list(plan_lines(plan)) == [
        "find documents that contain at least 50 % of the source",
        "the source has 4 distinct shingles",
        "at least 2 of 4 MinHash tokens (the documents have no sketches)",
        "then all tokens of each candidate are compared, and those below the threshold are dropped",
        "about 50 of 100 documents just at the threshold are found, by their MinHash tokens alone",
    ]
    some = promise(replace(plan, promised_sizes=(2, 1500)))
    assert some == "best effort: about 50 of 100 is promised for documents of 2 to 1,500 shingles only"
    none = promise(replace(plan, promised_sizes=None))
    assert none == "best effort: with MinHash tokens alone about 50 of 100 is not promised for any size"
    assert "nothing can share content with it" in promise(replace(plan, buckets=(), min_should_match=0))
