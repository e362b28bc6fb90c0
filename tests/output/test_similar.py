"""Similar documents as JSON: query, promise and hits, by hand."""

from __future__ import annotations

import json
from fractions import Fraction

from tests.search.similar.sources import source_of
from whorl.fingerprint.statistics.estimate import Estimate
from whorl.fingerprint.statistics.metric import Metric, Shares
from whorl.model import Hit
from whorl.output.similar import estimate_values, similar_values
from whorl.search.similar.plan import make_plan
from whorl.search.similar.results import Similar, exact_estimate, scored

ABOUT = Estimate(
    Shares(1 / 3, 2 / 3, 0.5), Shares(0.1, 1 / 3, 0.25), Shares(1 / 3, 1.0, 2 / 3), 8, 12, 20, 30, is_exact=False
)


def test_what_two_documents_share() -> None:
    """
    Shares are rounded down, intervals outward, and only estimates have intervals; the counts are included.
    """
    assert estimate_values(exact_estimate(20, 30, 10)) == {
        "jaccard": 0.25, "a_in_b": 0.5, "b_in_a": 0.333333, "exact": True,
        "shared_hashes": 10, "source_hashes": 20, "shingles": 30,
    }  # fmt: skip
    assert estimate_values(ABOUT) == {
        "jaccard": 0.333333, "a_in_b": 0.666666, "b_in_a": 0.5, "exact": False,
        "intervals": {"jaccard": [0.1, 0.333334], "a_in_b": [0.333333, 1.0], "b_in_a": [0.25, 0.666667]},
        "shared_hashes": 8, "source_hashes": 12, "shingles": 30,
    }  # fmt: skip


def test_a_page() -> None:
    """
    The options are fractions, and the score of each hit is a percentage.
    """
    plan = make_plan(source_of(20), Metric.A_IN_B, Fraction(1, 2), Fraction(95, 100), largest_size=1024)
    hit = scored(Hit("b", "B", 0.0), ABOUT, Metric.A_IN_B)
    page = Similar(9, False, (hit,), plan, 12, ("projected",))
    values = similar_values(page)
    assert values == {
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
        "hits": [{"id": "b", "name": "B", "score": 66.6667, **estimate_values(ABOUT)}],
    }
    assert json.loads(json.dumps(values)) == values
