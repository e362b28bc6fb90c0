"""Estimates from MinHash buckets: by hand, and on random sets with fixed seeds where exact sums take too long."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.fingerprint.minhash.made_buckets import at, pair, smallest
from tests.plain import full_minima
from whorl.errors import ParameterError, SchemeMismatchError
from whorl.fingerprint.minhash.bucket_estimates import (
    BucketOverlaps,
    Buckets,
    buckets_of,
    compare_buckets,
    estimate_buckets,
    judge_buckets,
)
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.statistics.metric import Metric, least_overlap
from whorl.search.similar.minhash_plan import MinHashPlan, make_minhash_plan
from whorl.search.similar.options import SimilarCriteria

HALF, MOST = Fraction(1, 2), Fraction(9, 10)


def is_found(plan: MinHashPlan, source: Buckets, hit: Buckets) -> bool:
    planned_buckets = np.array(plan.buckets)
    return (
        int((hit.is_filled[planned_buckets] & (source.minima[planned_buckets] == hit.minima[planned_buckets])).sum())
        >= plan.min_should_match
    )


def test_by_hand() -> None:
    """
    Four buckets (shared, smaller in the source, smaller in the hit, empty in the source) have the right counts and
    estimates.
    """
    source, hit = at(0.25, 0.25, 0.75, None), at(0.25, 0.5, 0.5, 0.5)
    overlaps = compare_buckets(source, [hit, source])
    assert overlaps.shared.tolist() == [1, 3]
    assert overlaps.source_counts.tolist() == [2, 3]
    assert overlaps.counts.tolist() == [3, 3]
    assert overlaps.union_counts.tolist() == [4, 3]
    # 3 of 4 buckets are filled; their positions are .25 + .25 + .75, and 1 for the empty one.
    assert source.size == round(4 * 3 / 2.25)
    estimates, same = estimate_buckets(overlaps)
    assert (estimates.shares.a_in_b, estimates.shares.b_in_a, estimates.shares.jaccard) == (1 / 2, 1 / 3, 1 / 4)
    assert (same.shares.a_in_b, same.shares.jaccard, same.shared_hashes, same.source_hashes) == (1.0, 1.0, 3, 3)


def test_unknown_buckets_count_on_neither_side() -> None:
    """
    Buckets whose tokens the index lost are left out on both sides.
    """
    source = at(0.25, 0.25, 0.75, 0.5)
    known = np.array([True, False, True, True])
    lost = buckets_of(np.where(known, source.minima, np.uint64(7)), known)
    overlaps = compare_buckets(source, [lost])
    assert (overlaps.shared.tolist(), overlaps.source_counts.tolist(), overlaps.union_counts.tolist()) == (
        [3],
        [3],
        [3],
    )


def test_signatures_of_texts() -> None:
    """
    Repeats by rotation do not count as hashes: 3 shingles fill 3 buckets.
    """
    words = ["one", "two", "three", "four", "five", "six", "seven"]
    buckets = buckets_of(full_minima(words, Scheme())[:, 0])
    assert buckets.is_filled.sum() == 3
    assert buckets.size == 3


@pytest.mark.parametrize("size", [20, 100, 1000, 50_000])
def test_sizes(size: int) -> None:
    """
    Estimated sizes are unbiased within 2 %, with a standard deviation below 5.5 %.
    """
    sizes = np.array(
        [
            buckets_of(smallest(np.random.default_rng(seed).integers(0, 1 << 64, size, np.uint64))).size
            for seed in range(60)
        ]
    )
    assert abs(sizes.mean() / size - 1) < 0.02
    assert sizes.std() / size < 0.055


PAIRS = [
    (Metric.A_IN_B, HALF, 200, 200),
    (Metric.A_IN_B, Fraction(8, 10), 500, 20_000),
    (Metric.JACCARD, HALF, 1000, 1000),
    (Metric.JACCARD, MOST, 5000, 5200),
    (Metric.B_IN_A, HALF, 5000, 500),
]


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "threshold", "source_size", "hit_size"), PAIRS)
def test_recall_of_the_judgement(metric: Metric, threshold: Fraction, source_size: int, hit_size: int) -> None:
    """
    Documents at the threshold pass both phases at the requested rate, and the intervals contain the truth; with 160
    draws, a rate 5 points lower hardly ever occurs by chance.
    """
    overlap = least_overlap(metric, threshold, source_size, hit_size)
    truths = (overlap / (source_size + hit_size - overlap), overlap / source_size, overlap / hit_size)
    known, actual = [], []
    for seed in range(160):
        source, hit = pair(source_size, hit_size, overlap, seed)
        known.append(compare_buckets(source, [hit], source_size))
        if seed < 40:
            unknown = compare_buckets(source, [hit])
            actual.append(bool(judge_buckets(unknown, metric, threshold, MOST)[0]))
        if seed < 8:
            plan = make_minhash_plan(source, SimilarCriteria(metric, threshold, MOST))
            assert plan.promised_sizes is not None
            assert plan.promised_sizes[0] <= hit_size <= plan.promised_sizes[1]
            assert is_found(plan, source, hit)
    arrays = ("sizes", "union_sizes", "source_counts", "counts", "union_counts", "shared")
    merged = BucketOverlaps(
        source_size, True, *(np.concatenate([getattr(one, name) for one in known]) for name in arrays)
    )
    assert np.mean(judge_buckets(merged, metric, threshold, MOST)) >= 0.85
    assert np.mean(actual) >= 0.8
    for name, truth in zip(("jaccard", "a_in_b", "b_in_a"), truths, strict=True):
        ranges = [(getattr(one.low, name), getattr(one.high, name)) for one in estimate_buckets(merged)]
        assert np.mean([low <= truth <= high for low, high in ranges]) >= 0.91


def test_candidates_far_below_the_threshold_are_dropped() -> None:
    """
    Documents with a similarity of 30 % are dropped at a threshold of 50 %.
    """
    judgements = []
    for seed in range(40):
        source, hit = pair(2000, 2000, least_overlap(Metric.JACCARD, Fraction(3, 10), 2000, 2000), seed)
        judgements.append(bool(judge_buckets(compare_buckets(source, [hit]), Metric.JACCARD, HALF, MOST)[0]))
    assert not any(judgements)


def test_wrong_arguments() -> None:
    """
    Errors name the invalid argument.
    """
    source = at(0.25, 0.5)
    with pytest.raises(SchemeMismatchError, match="2 and 4 buckets"):
        compare_buckets(source, [at(0.25, 0.5, 0.5, 0.5)])
    with pytest.raises(ParameterError, match="no buckets"):
        buckets_of(np.empty(0, dtype=np.uint64))
