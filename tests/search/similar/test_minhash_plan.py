"""Plans for MinHash tokens: chosen buckets and promised recall, checked by simulation and by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.fingerprint.minhash.made_buckets import at, pair, smallest
from whorl.fingerprint.minhash.bucket_estimates import buckets_of
from whorl.fingerprint.statistics.metric import SIMILAR_METRICS, Metric
from whorl.search.similar import minhash_plan
from whorl.search.similar.minhash_plan import make_minhash_plan
from whorl.search.similar.options import SimilarCriteria

HALF, MOST = Fraction(1, 2), Fraction(9, 10)


def test_plan_asks_what_survives(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A plan takes the tokens with the smallest positions within their buckets, up to the budget; it takes all tokens if
    small documents are wanted.
    """
    monkeypatch.setattr(minhash_plan, "BUDGET", 100)
    source, _ = pair(5000, 5000, 100, 0)
    plan = make_minhash_plan(source, SimilarCriteria(Metric.A_IN_B, HALF, MOST), source_size=5000)
    assert len(plan.buckets) == 100
    places = source.positions[np.array(plan.buckets)]
    assert places.tolist() == sorted(source.positions.tolist())[:100]
    assert (plan.min_should_match, plan.sizes[0], plan.source_size) == (1, 2500, 5000)
    assert plan.promised_sizes is not None
    assert plan.promised_sizes[0] == 2500
    assert not plan.promised
    assert len(make_minhash_plan(source, SimilarCriteria(Metric.B_IN_A, HALF, MOST)).buckets) == source.is_filled.sum()
    monkeypatch.undo()
    alike = make_minhash_plan(source, SimilarCriteria(Metric.JACCARD, HALF, MOST))
    assert alike.promised
    assert alike.promised_sizes == alike.sizes
    assert alike.min_should_match > 50


def test_a_plan_by_hand() -> None:
    """
    Four tokens are so small in their buckets that no other shingle displaces them. If two of four shingles are shared,
    two tokens always match. If four of eight are shared, as with a document of four, no token matches in 1 of 70 cases,
    and one in 16.
    """
    source = at(0.0, 0.0, 0.0, 0.0)
    all_known = make_minhash_plan(source, SimilarCriteria(Metric.JACCARD, HALF, HALF), source_size=4)
    assert (all_known.min_should_match, all_known.promised) == (2, True)
    assert (all_known.sizes, len(all_known.buckets)) == ((2, 8), 4)
    some_known = make_minhash_plan(source, SimilarCriteria(Metric.JACCARD, HALF, HALF), source_size=8)
    assert (some_known.min_should_match, some_known.second_recall) == (1, Fraction(6, 10))
    two = make_minhash_plan(source, SimilarCriteria(Metric.JACCARD, HALF, Fraction(1, 100)), source_size=8)
    assert two.min_should_match == 1
    assert make_minhash_plan(source, SimilarCriteria(Metric.A_IN_B, HALF, HALF), source_size=8).min_should_match == 1


@pytest.mark.parametrize("metric", SIMILAR_METRICS)
@pytest.mark.parametrize("size", [5, 700, 20_000])
def test_plans_of_any_source(metric: Metric, size: int) -> None:
    """
    The promised sizes lie within the searched sizes, and a higher threshold requires at least as many shared tokens.
    """
    source = buckets_of(smallest(np.random.default_rng(size).integers(0, 1 << 64, size, dtype=np.uint64)))
    minima = []
    for percent in (10, 50, 90):
        plan = make_minhash_plan(source, SimilarCriteria(metric, Fraction(percent, 100), MOST), source_size=size)
        minima.append(plan.min_should_match)
        assert 1 <= plan.min_should_match <= len(plan.buckets) <= source.is_filled.sum()
        assert len(set(plan.buckets)) == len(plan.buckets)
        if plan.promised_sizes is not None:
            assert plan.sizes[0] <= plan.promised_sizes[0] <= plan.promised_sizes[1] <= plan.sizes[1]
        assert plan.promised == (plan.promised_sizes == plan.sizes)
    assert minima == sorted(minima)
