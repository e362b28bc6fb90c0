"""Hits, their scores and order, and projected totals."""

from __future__ import annotations

import pytest

from whorl.fingerprint.statistics.metric import Metric, Shares
from whorl.model import Hit
from whorl.search.similar.results import Found, Verified, best_first, exact_estimate, scored


def found(name: str, shared: int) -> Found:
    """Return a hit of 30 shingles that shares `shared` with a source of 20."""
    return scored(Hit(name, "", 0.0), exact_estimate(20, 30, shared), Metric.JACCARD)


def test_what_was_counted_is_exact() -> None:
    """
    The interval of an exact estimate is a single value.
    """
    estimate = exact_estimate(20, 30, 10)
    assert estimate.low == estimate.shares == estimate.high == Shares(10 / 40, 10 / 20, 10 / 30)
    assert (estimate.source_size, estimate.hit_size, estimate.shared_hashes, estimate.is_exact) == (20, 30, 10, True)


@pytest.mark.parametrize(
    ("metric", "score"), [(Metric.JACCARD, 16.2791), (Metric.A_IN_B, 35.0), (Metric.B_IN_A, 23.3333)]
)
def test_scores_are_percentages_of_the_metric(metric: Metric, score: float) -> None:
    """
    Scores have four decimals: 7 of 43, 20 and 30.
    """
    hit = Hit("a", "name", 512.0, shared_tokens=3)
    assert scored(hit, exact_estimate(20, 30, 7), metric).hit == Hit("a", "name", score, 3)


def test_the_best_come_first() -> None:
    """
    Hits are ordered by score, then by the code points of their ids.
    """
    hits = [found("b", 10), found("é", 20), found("a", 10), found("Z", 10), found("c", 11)]
    assert [each.hit.id for each in best_first(hits)] == ["é", "c", "Z", "a", "b"]
    assert best_first([]) == []


@pytest.mark.parametrize(
    ("kept", "candidates", "seen", "is_whole", "projected"),
    [(0, 0, 0, True, 0), (3, 10, 10, True, 3), (3, 10, 4, False, 8), (0, 10, 4, False, 0), (4, 9, 4, False, 9)],
)
def test_projected_totals(kept: int, candidates: int, seen: int, is_whole: bool, projected: int) -> None:
    """
    The share of hits among the verified candidates is projected to all candidates.
    """
    verified = Verified(tuple(found(str(number), 10) for number in range(kept)), candidates, seen)
    assert (verified.is_whole, verified.projected) == (is_whole, projected)
