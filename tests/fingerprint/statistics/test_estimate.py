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
from whorl.errors import ParameterError
from whorl.fingerprint.sketch.sketch import Overlaps, SketchScheme
from whorl.fingerprint.statistics.estimate import CONFIDENCE, estimate, estimate_overlaps, overlap_interval
from whorl.fingerprint.statistics.hypergeometric import SLACK, upper_tail

pytestmark = pytest.mark.usefixtures("each_route")

SCHEME = SketchScheme()


def interval(size: int, shared: list[int], drawn: int, confidence: float = CONFIDENCE) -> list[tuple[int, int]]:
    """Return the interval of overlaps for each number of shared ones among `drawn` of a set of `size`."""
    seen, same = np.array(shared), np.ones(len(shared), np.int64)
    most = size - drawn + seen
    ends = overlap_interval(size * same, np.zeros(len(shared), np.bool_), drawn * same, seen, most, confidence)
    return list(zip(*(end.tolist() for end in ends), strict=True))


def test_by_hand() -> None:
    """
    5 of 10 are drawn, 2 of them good: with 2 good ones in all, both are drawn in 56 of 252 cases; with 8 good ones, at
    least 3 are drawn.
    """
    # With 7 good ones, 2 of 5 drawn are good in 21 of 252 cases.
    assert interval(10, [2], 5) == [(2, 7)]


def test_all_drawn_is_exact() -> None:
    """
    If all are drawn, the interval is the exact value.
    """
    assert interval(10, list(range(11)), 10) == [(count, count) for count in range(11)]


def test_nothing_drawn_says_nothing() -> None:
    """
    If none is drawn, every overlap is possible.
    """
    assert interval(10, [0], 0) == [(0, 10)]
    assert interval(0, [0], 0) == [(0, 0)]


@pytest.mark.slow
@given(st.data())
def test_ends_are_those_that_trying_all_finds(data: st.DataObject) -> None:
    """
    The ends equal those found by trying all overlaps, for any number of rows and any distance from the first guess.
    """
    total, rows = data.draw(st.integers(1, 400)), data.draw(st.integers(1, 12))
    confidence = data.draw(st.sampled_from([0.05, CONFIDENCE, 0.9999]))
    is_union = data.draw(st.booleans())
    counts = st.integers(0, total // 2 if is_union else total).flatmap(
        lambda m: st.tuples(st.just(m), st.integers(0, m))
    )
    drawn, shared = np.array(data.draw(st.lists(counts, min_size=rows, max_size=rows))).T
    # Drawn hashes that are not shared are outside the overlap.
    most = (total - drawn + shared) // 2 if is_union else total - drawn + shared
    most = np.maximum(most, shared)
    ends = overlap_interval(np.full(rows, total), np.full(rows, is_union), drawn, shared, most, confidence)
    tail = (1 - confidence) / 2 * (1 - SLACK)
    for row, (least, largest) in enumerate(zip(*ends, strict=True)):
        tried = np.arange(shared[row], most[row] + 1)
        population = total - tried if is_union else np.full(tried.shape, total)
        can_be_so_few = upper_tail(population, population - tried, drawn[row], drawn[row] - shared[row]) > tail
        can_be_so_many = upper_tail(population, tried, drawn[row], shared[row]) > tail
        # The ends count as possible if no other overlap is.
        assert least == next(iter(tried[can_be_so_many]), most[row])
        assert largest == max(least, next(iter(tried[can_be_so_few][::-1]), shared[row]))


def test_an_end_whose_chance_is_just_the_tail() -> None:
    """
    With 195 good ones of 200, a single draw is not good with probability 5 / 200, exactly the tail outside a 95 %
    interval.
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
    found = interval(size, list(range(drawn + 1)), drawn)
    for overlap in range(size + 1):
        covered = np.array([low <= overlap <= high for low, high in found])
        assert hypergeometric(size, overlap, drawn) @ covered >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b"), [(16, 16), (16, 20), (12, 24), (24, 12)])
@pytest.mark.parametrize("level", [1, 2])
def test_sketches_are_covered(a: int, b: int, level: int) -> None:
    """
    The same holds over all possible sketches of two documents.
    """
    for overlap in range(min(a, b) + 1):
        overlaps, chances = outcomes(a, b, overlap, level)
        found = estimate_overlaps(overlaps)
        truth = overlap / b
        covered = [one.low.b_in_a - 1e-12 <= truth <= one.high.b_in_a + 1e-12 for one in found]
        assert chances @ np.array(covered) >= 0.95
        assert all(one.low.jaccard <= one.shares.jaccard <= one.high.jaccard for one in found)


def likelihood(a: int, b: int, overlap: int, shared: int, ours: int, theirs: int, level: int) -> Fraction:
    rate = Fraction(1, 2**level)
    chance = Fraction(1)
    for trials, kept in ((overlap, shared), (a - overlap, ours), (b - overlap, theirs)):
        chance *= math.comb(trials, kept) * rate**kept * (1 - rate) ** (trials - kept)
    return chance


@given(st.data())
def test_estimate_is_the_likeliest(data: st.DataObject) -> None:
    """
    The estimate has the maximum likelihood of all overlaps, unless the interval, from another distribution, excludes
    it.
    """
    a, b, level = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 30)), data.draw(st.integers(1, 3))
    shared = data.draw(st.integers(0, min(a, b)))
    ours, theirs = data.draw(st.integers(0, a - shared)), data.draw(st.integers(0, b - shared))
    counts = ([b], [level], [shared + ours], [shared + theirs], [shared])
    (found,) = estimate_overlaps(Overlaps(a, *(np.array(part) for part in counts)))
    value, low, high = (round(part * a) for part in (found.shares.a_in_b, found.low.a_in_b, found.high.a_in_b))
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
    A higher confidence gives a wider interval; a confidence outside (0, 1) is an error.
    """
    ((near, far),), ((least, largest),) = (interval(1000, [50], 100, confidence) for confidence in (0.5, 0.999))
    assert least < near < 500 < far < largest
    for wrong in (0.0, 1.0, 95.0):
        with pytest.raises(ParameterError, match=f"confidence must be a fraction between 0 and 1, got {wrong}"):
            interval(1000, [50], 100, wrong)
