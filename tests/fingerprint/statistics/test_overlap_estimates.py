"""Estimates compared with brute force, and the coverage of their intervals by exact sums."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fingerprint.statistics.laws import hypergeometric, outcomes
from tests.plain import sketch_of
from whorl.fingerprint.sketch.frac_minhash import Overlaps, SketchScheme, compare
from whorl.fingerprint.statistics.hypergeometric import SLACK, upper_tail
from whorl.fingerprint.statistics.metric import Metric, least_overlap
from whorl.fingerprint.statistics.overlap_estimates import (
    CONFIDENCE,
    estimate,
    estimate_overlaps,
    judge_overlaps,
    overlap_interval,
    population_and_draws,
)

pytestmark = pytest.mark.usefixtures("each_route")

SCHEME = SketchScheme()


def interval(size: int, shared: list[int], drawn: int, confidence: float = CONFIDENCE) -> list[tuple[int, int]]:
    """Return the interval of overlaps for each number of shared ones among `drawn` of a set of `size`."""
    counts, same = np.array(shared), np.ones(len(shared), np.int64)
    most = size - drawn + counts
    ends = overlap_interval(size * same, np.zeros(len(shared), np.bool_), drawn * same, counts, most, confidence)
    return list(zip(*(end.tolist() for end in ends), strict=True))


def test_by_hand() -> None:
    """
    5 of 10 are drawn, and 2 of them are good. If 2 of the 10 are good, both are drawn in 56 of 252 cases; if 8 are
    good, at least 3 are always drawn.
    """
    # With 7 good ones, 2 of 5 drawn are good in 21 of 252 cases.
    assert interval(10, [2], 5) == [(2, 7)]


def test_all_drawn_is_exact() -> None:
    """
    If all are drawn, the interval is the exact value.
    """
    assert interval(10, list(range(11)), 10) == [(count, count) for count in range(11)]


def test_nothing_drawn_allows_any_overlap() -> None:
    """
    If none is drawn, every overlap is possible.
    """
    assert interval(10, [0], 0) == [(0, 10)]
    assert interval(0, [0], 0) == [(0, 0)]


@pytest.mark.slow
@given(st.data())
def test_interval_ends_equal_an_exhaustive_search(data: st.DataObject) -> None:
    """
    The ends equal those found by trying all overlaps, for any number of rows.
    """
    total, rows = data.draw(st.integers(1, 400)), data.draw(st.integers(1, 12))
    confidence = data.draw(st.sampled_from([0.05, CONFIDENCE, 0.9999]))
    is_union = data.draw(st.booleans())
    counts = st.integers(0, total // 2 if is_union else total).flatmap(
        lambda m: st.tuples(st.just(m), st.integers(0, m))
    )
    drawn, shared = np.array(data.draw(st.lists(counts, min_size=rows, max_size=rows))).T
    # Hashes that are drawn and not shared cannot be in the overlap.
    most = (total - drawn + shared) // 2 if is_union else total - drawn + shared
    most = np.maximum(most, shared)
    ends = overlap_interval(np.full(rows, total), np.full(rows, is_union), drawn, shared, most, confidence)
    tail = (1 - confidence) / 2 * (1 - SLACK)
    for row, (least, largest) in enumerate(zip(*ends, strict=True)):
        tried = np.arange(shared[row], most[row] + 1)
        population = total - tried if is_union else np.full(tried.shape, total)
        can_be_so_few = upper_tail(population, population - tried, drawn[row], drawn[row] - shared[row]) > tail
        can_be_so_many = upper_tail(population, tried, drawn[row], shared[row]) > tail
        # If no overlap is possible, the interval has the last ones tried as its ends.
        assert least == next(iter(tried[can_be_so_many]), most[row])
        assert largest == max(least, next(iter(tried[can_be_so_few][::-1]), shared[row]))


def test_an_end_with_exactly_the_tail_probability() -> None:
    """
    If 195 of 200 are good, a single draw is bad with probability 5 / 200, exactly the tail outside a 95 % interval.
    """
    total, drawn, shared, most = np.array([[200], [1], [0], [199]])
    ends = overlap_interval(total, np.array([False]), drawn, shared, most, CONFIDENCE)
    assert [end.tolist() for end in ends] == [[0], [195]]


@pytest.mark.parametrize("drawn", [1, 3, 7, 15, 29])
def test_intervals_cover(drawn: int) -> None:
    """
    For every true overlap, the interval contains it in at least 95 % of all draws.
    """
    size = 30
    actual = interval(size, list(range(drawn + 1)), drawn)
    for overlap in range(size + 1):
        covered = np.array([low <= overlap <= high for low, high in actual])
        assert hypergeometric(size, overlap, drawn) @ covered >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b"), [(16, 16), (16, 20), (12, 24), (24, 12)])
@pytest.mark.parametrize("level", [1, 2])
def test_intervals_of_sketches_cover_the_truth(a: int, b: int, level: int) -> None:
    """
    The same holds over all possible sketches of two documents.
    """
    for overlap in range(min(a, b) + 1):
        overlaps, chances = outcomes(a, b, overlap, level)
        estimates = estimate_overlaps(overlaps)
        truth = overlap / b
        covered = [one.low.b_in_a - 1e-12 <= truth <= one.high.b_in_a + 1e-12 for one in estimates]
        assert chances @ np.array(covered) >= 0.95
        assert all(one.low.jaccard <= one.shares.jaccard <= one.high.jaccard for one in estimates)


def likelihood(a: int, b: int, overlap: int, shared: int, ours: int, theirs: int, level: int) -> Fraction:
    rate = Fraction(1, 2**level)
    chance = Fraction(1)
    for trials, count in ((overlap, shared), (a - overlap, ours), (b - overlap, theirs)):
        chance *= math.comb(trials, count) * rate**count * (1 - rate) ** (trials - count)
    return chance


@given(st.data())
def test_estimate_is_the_likeliest(data: st.DataObject) -> None:
    """
    The estimate is the overlap with the maximum likelihood, unless the interval, which uses another distribution,
    excludes it.
    """
    a, b, level = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 30)), data.draw(st.integers(1, 3))
    shared = data.draw(st.integers(0, min(a, b)))
    ours, theirs = data.draw(st.integers(0, a - shared)), data.draw(st.integers(0, b - shared))
    counts = ([b], [level], [shared + ours], [shared + theirs], [shared])
    (estimates,) = estimate_overlaps(Overlaps(a, *(np.array(part) for part in counts)))
    value, low, high = (
        round(part * a) for part in (estimates.shares.a_in_b, estimates.low.a_in_b, estimates.high.a_in_b)
    )
    possible = range(shared, min(a - ours, b - theirs) + 1)
    chances = {overlap: likelihood(a, b, overlap, shared, ours, theirs, level) for overlap in possible}
    best = max(chances.values())
    if low < value < high:
        assert chances[value] == best
    assert low <= value <= high
    assert set(range(low, high + 1)) <= set(possible)


def test_complete_sketches_are_exact() -> None:
    """
    Sketches of fewer than 1,024 shingles give exact shares; those of larger sets come close.
    """
    pool = np.random.default_rng(1).integers(0, 1 << 64, 40_000, dtype=np.uint64)
    small, large = sketch_of(pool[:1000], SCHEME), sketch_of(pool[:30_000], SCHEME)
    (exact,) = estimate(small, [sketch_of(pool[250:1250], SCHEME)])
    assert exact.is_exact
    assert (exact.shares.jaccard, exact.shares.a_in_b) == (750 / 1250, 0.75)
    (near,) = estimate(large, [sketch_of(pool[6000:36_000], SCHEME)])
    assert not near.is_exact
    assert near.shares.a_in_b == pytest.approx(0.8, abs=0.01)
    assert near.low.jaccard < 24 / 36 < near.high.jaccard


def test_wider_confidence_is_a_wider_interval() -> None:
    """
    A higher confidence gives a wider interval.
    """
    ((near, far),), ((least, largest),) = (interval(1000, [50], 100, confidence) for confidence in (0.5, 0.999))
    assert least < near < 500 < far < largest


RECALLS = [Fraction(percent, 100) for percent in (50, 80, 90, 95, 99)]


fractions = st.fractions(Fraction(1, 100), 1, max_denominator=100)


METRICS = [Metric.JACCARD, Metric.A_IN_B, Metric.B_IN_A]
metrics = st.sampled_from(METRICS)


ROUNDING = 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("sizes", [(20, 20), (12, 26), (26, 12), (18, 27), (27, 18)])
def test_judgement_reaches_the_recall(metric: Metric, sizes: tuple[int, int]) -> None:
    """
    A document just at the threshold is kept at least at the requested rate, whatever distribution is used.
    """
    for threshold in (Fraction(1, 10), Fraction(3, 10), Fraction(1, 2), Fraction(8, 10)):
        overlap = least_overlap(metric, threshold, *sizes)
        if overlap > min(sizes):
            continue
        for level in (1, 2):
            overlaps, chances = outcomes(*sizes, overlap, level)
            for recall in RECALLS:
                is_kept = judge_overlaps(overlaps, metric, threshold, recall)
                assert chances @ is_kept >= float(recall) - ROUNDING


@pytest.mark.parametrize("metric", [Metric.JACCARD, Metric.A_IN_B])
def test_judgement_reaches_the_recall_for_every_source(metric: Metric) -> None:
    """
    The recall also holds for each size of the source's sketch, so for every search.
    """
    overlap = least_overlap(metric, Fraction(1, 2), 20, 24)
    overlaps, chances = outcomes(20, 24, overlap, 1)
    for recall in RECALLS:
        kept_chances = chances * judge_overlaps(overlaps, metric, Fraction(1, 2), recall)
        for count in range(21):
            of_size = overlaps.source_counts == count
            assert kept_chances[of_size].sum() >= (float(recall) - ROUNDING) * chances[of_size].sum()


@pytest.mark.slow
@given(
    st.sets(st.integers(0, 60), min_size=1),
    st.lists(st.sets(st.integers(0, 60), min_size=1), max_size=4),
    metrics,
    fractions,
    fractions,
)
def test_complete_sketches_are_judged_exactly(
    own: set[int], others: list[set[int]], metric: Metric, threshold: Fraction, recall: Fraction
) -> None:
    """
    Complete sketches are judged without false positives and misses, for any recall.
    """
    pool = np.random.default_rng(0).integers(0, 1 << 64, 61, dtype=np.uint64)
    source, *hits = (sketch_of(pool[sorted(part)], SCHEME) for part in (own, *others))
    is_hit = judge_overlaps(compare(source, hits), metric, threshold, recall)
    for other, is_kept in zip(others, is_hit.tolist(), strict=True):
        whole = {Metric.JACCARD: own | other, Metric.A_IN_B: own, Metric.B_IN_A: other}[metric]
        assert is_kept == (Fraction(len(own & other), len(whole)) >= threshold)


def test_judged_by_hand() -> None:
    """
    A source and a hit have 20 shingles each and 10 hashes in their sketches. For a threshold of 100 %, all 10 must be
    shared; for half of the source, 3 or more.
    """
    shared = np.array([10, 9, 3, 2])
    same = np.ones_like(shared)
    overlaps = Overlaps(20, same * 20, same, same * 10, same * 10, shared)
    recall = Fraction(95, 100)
    assert judge_overlaps(overlaps, Metric.A_IN_B, Fraction(1), recall).tolist() == [True, False, False, False]
    # 10 of 20 are drawn, 10 of the 20 are good: 1 + 100 + 2,025 of the 184,756 draws have at most 2 good ones, 1 %; for
    # 3 it is 9 %.
    assert judge_overlaps(overlaps, Metric.A_IN_B, Fraction(1, 2), recall).tolist() == [True, True, True, False]


def test_sizes_that_cannot_be_pairs_are_dropped() -> None:
    """
    A hit of a tenth of the source's size cannot contain half of it, whatever the sketches say.
    """
    one = np.ones(1, np.int64)
    small = Overlaps(1000, one * 100, one * 8, one * 4, one * 4, one * 4)
    assert not judge_overlaps(small, Metric.A_IN_B, Fraction(1, 2), Fraction(95, 100)).any()
    assert judge_overlaps(small, Metric.B_IN_A, Fraction(1, 2), Fraction(95, 100)).all()


def test_choice_of_the_law() -> None:
    """
    A hit that lies within the source and is smaller is judged by its own hashes, any other by the source's.
    """
    sizes, source_counts, counts = np.array([50, 100, 200]), np.array([10, 11, 12]), np.array([5, 9, 20])
    for metric in METRICS:
        population, drawn = population_and_draws(metric, 100, sizes, source_counts, counts)
        is_within = metric is Metric.B_IN_A
        assert population.tolist() == [50 if is_within else 100, 100, 100]
        assert drawn.tolist() == [5 if is_within else 10, 11, 12]
