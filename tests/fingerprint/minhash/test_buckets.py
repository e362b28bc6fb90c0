"""Stock tokens: laws by hand and on random sets with fixed seeds, where no exact sum is within reach."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from tests.plain import full_minima
from whorl.errors import ParameterError, SchemeMismatchError
from whorl.fingerprint.minhash.buckets import (
    Buckets,
    StockOverlaps,
    buckets_of,
    compare_buckets,
    estimate_buckets,
    judge_buckets,
)
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.statistics.metric import Metric, least_overlap
from whorl.similar.minhash_plan import MinHashPlan, make_minhash_plan

HALF, MOST = Fraction(1, 2), Fraction(9, 10)


def at(*places: float | None) -> Buckets:
    """Buckets whose hashes are at places of theirs, None for an empty one, which then repeats the first."""
    width = (1 << 64) // len(places)
    hashes = [None if place is None else int((number + place) * width) for number, place in enumerate(places)]
    first = next(hash_ for hash_ in hashes if hash_ is not None)
    return buckets_of(np.array([first if hash_ is None else hash_ for hash_ in hashes], dtype=np.uint64))


def smallest(hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """512 bucket minima, empty buckets filled by rotation."""
    found = np.full(512, np.iinfo(np.uint64).max, dtype=np.uint64)
    numbers = (hashes >> np.uint64(55)).astype(np.intp)
    np.minimum.at(found, numbers, hashes)
    filled = np.unique(numbers)
    return found[filled[np.searchsorted(filled, np.arange(512)) % filled.size]]


def pair(source: int, hit: int, overlap: int, seed: int) -> tuple[Buckets, Buckets]:
    hashes = np.random.default_rng(seed).integers(0, 1 << 64, source + hit - overlap, dtype=np.uint64)
    return buckets_of(smallest(hashes[:source])), buckets_of(smallest(hashes[source - overlap :]))


def is_found(plan: MinHashPlan, source: Buckets, hit: Buckets) -> bool:
    asked = np.array(plan.buckets)
    return int((hit.is_filled[asked] & (source.minima[asked] == hit.minima[asked])).sum()) >= plan.min_should_match


def test_by_hand() -> None:
    """
    Four buckets: shared, below the hit's, above the hit's, empty in the source; and what each law counts.
    """
    source, hit = at(0.25, 0.25, 0.75, None), at(0.25, 0.5, 0.5, 0.5)
    overlaps = compare_buckets(source, [hit, source])
    assert overlaps.shared.tolist() == [1, 3]
    assert overlaps.source_counts.tolist() == [2, 3]
    assert overlaps.counts.tolist() == [3, 3]
    assert overlaps.union_counts.tolist() == [4, 3]
    # 4 buckets, 3 filled, places .25 + .25 + .75 + 1 for the empty one.
    assert source.size == round(4 * 3 / 2.25)
    found, same = estimate_buckets(overlaps)
    assert (found.shares.a_in_b, found.shares.b_in_a, found.shares.jaccard) == (1 / 2, 1 / 3, 1 / 4)
    assert (same.shares.a_in_b, same.shares.jaccard, same.shared_hashes, same.source_hashes) == (1.0, 1.0, 3, 3)


def test_unknown_buckets_count_on_neither_side() -> None:
    """
    Buckets whose tokens an index lost are left out.
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
    Rotation's repeats are not taken for hashes: 3 shingles are 3 filled buckets.
    """
    words = ["one", "two", "three", "four", "five", "six", "seven"]
    buckets = buckets_of(full_minima(words, Scheme())[:, 0])
    assert buckets.is_filled.sum() == 3
    assert buckets.size == 3


@pytest.mark.parametrize("size", [20, 100, 1000, 50_000])
def test_sizes(size: int) -> None:
    """
    About right, by 5 % and more in a few of a hundred.
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


@pytest.mark.parametrize(("metric", "threshold", "source_size", "hit_size"), PAIRS)
def test_promises(metric: Metric, threshold: Fraction, source_size: int, hit_size: int) -> None:
    """
    Documents at the threshold pass both phases as often as asked, and the intervals cover; 160 draws, so that 5 points
    below is what chance alone hardly ever does.
    """
    overlap = least_overlap(metric, threshold, source_size, hit_size)
    truths = (overlap / (source_size + hit_size - overlap), overlap / source_size, overlap / hit_size)
    known, found = [], []
    for seed in range(160):
        source, hit = pair(source_size, hit_size, overlap, seed)
        known.append(compare_buckets(source, [hit], source_size))
        if seed < 40:
            unknown = compare_buckets(source, [hit])
            found.append(bool(judge_buckets(unknown, metric, threshold, MOST)[0]))
        if seed < 8:
            plan = make_minhash_plan(source, metric, threshold, MOST, largest_size=max(hit_size, 20_000))
            assert plan.promised_sizes is not None
            assert plan.promised_sizes[0] <= hit_size <= plan.promised_sizes[1]
            assert is_found(plan, source, hit)
    arrays = ("sizes", "union_sizes", "source_counts", "counts", "union_counts", "shared")
    merged = StockOverlaps(
        source_size, True, *(np.concatenate([getattr(one, name) for one in known]) for name in arrays)
    )
    assert np.mean(judge_buckets(merged, metric, threshold, MOST)) >= 0.85
    assert np.mean(found) >= 0.8
    for name, truth in zip(("jaccard", "a_in_b", "b_in_a"), truths, strict=True):
        ranges = [(getattr(one.low, name), getattr(one.high, name)) for one in estimate_buckets(merged)]
        assert np.mean([low <= truth <= high for low, high in ranges]) >= 0.91


def test_far_below_is_dropped() -> None:
    """
    Documents 20 points below the threshold seldom stay.
    """
    kept = []
    for seed in range(40):
        source, hit = pair(2000, 2000, least_overlap(Metric.JACCARD, Fraction(3, 10), 2000, 2000), seed)
        kept.append(bool(judge_buckets(compare_buckets(source, [hit]), Metric.JACCARD, HALF, MOST)[0]))
    assert not any(kept)


def test_plan_asks_what_survives() -> None:
    """
    The smallest places first, as many as the budget; all where small documents are sought.
    """
    source, _ = pair(5000, 5000, 100, 0)
    plan = make_minhash_plan(source, Metric.A_IN_B, HALF, MOST, source_size=5000, budget=100)
    assert len(plan.buckets) == 100
    places = source.places[np.array(plan.buckets)]
    assert places.tolist() == sorted(source.places.tolist())[:100]
    assert (plan.min_should_match, plan.sizes[0], plan.source_size) == (1, 2500, 5000)
    assert plan.promised_sizes is not None
    assert plan.promised_sizes[0] == 2500
    assert not plan.promised
    assert plan.recalls[0] == pytest.approx(1)
    assert plan.recalls[2] < 0.9
    assert len(make_minhash_plan(source, Metric.B_IN_A, HALF, MOST).buckets) == source.is_filled.sum()
    alike = make_minhash_plan(source, Metric.JACCARD, HALF, MOST)
    assert alike.promised
    assert alike.promised_sizes == alike.sizes
    assert alike.min_should_match > 50
    assert all(recall >= 0.98 for recall in alike.recalls)


def test_wrong_arguments() -> None:
    """
    Errors name what is wrong.
    """
    source = at(0.25, 0.5)
    with pytest.raises(SchemeMismatchError, match="2 and 4 buckets"):
        compare_buckets(source, [at(0.25, 0.5, 0.5, 0.5)])
    with pytest.raises(ParameterError, match="no buckets"):
        buckets_of(np.empty(0, dtype=np.uint64))
    with pytest.raises(ParameterError, match="budget"):
        make_minhash_plan(source, Metric.A_IN_B, HALF, HALF, budget=0)
