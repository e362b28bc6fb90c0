"""Estimates against brute force, and the coverage of their intervals by summing exact laws."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plain import sketch_of
from tests.similar.test_plan import hypergeometric, outcomes
from whorl.errors import ParameterError
from whorl.fingerprint.sketch.sketch import Overlaps, SketchScheme
from whorl.fingerprint.statistics.estimate import Estimate, estimate, estimate_counts, estimate_overlaps

SCHEME = SketchScheme()


def counted(source_size: int, size: int, shared: list[int], asked: int) -> tuple[Estimate, ...]:
    same = np.ones(len(shared), dtype=np.int64)
    return estimate_counts(source_size, size * same, np.array(shared), asked * same)


def test_by_hand() -> None:
    """
    5 of 10 shingles asked, 2 found: 4 are shared; of 20 in the hit that is a fifth, and 26 are in either.
    """
    (found,) = counted(10, 20, [2], 5)
    assert found.shares.a_in_b == pytest.approx(0.4)
    assert found.shares.b_in_a == pytest.approx(0.2)
    assert found.shares.jaccard == pytest.approx(4 / 26)
    # With 2 shared both would be found in 10 of 45 draws, with 7 or 8 shared 2 of 5 in 21 and 10 of 252 ..
    assert (found.low.a_in_b, found.high.a_in_b) == (0.2, 0.7)
    assert (found.shared_hashes, found.source_hashes, found.source_size, found.hit_size, found.is_exact) == (
        2,
        5,
        10,
        20,
        False,
    )


def test_all_asked_is_exact() -> None:
    """
    The interval is the value.
    """
    for found in counted(10, 20, list(range(11)), 10):
        assert found.is_exact
        assert found.shares.a_in_b == found.low.a_in_b == found.high.a_in_b == found.shared_hashes / 10


def test_nothing_asked_says_nothing() -> None:
    """
    Everything is possible.
    """
    (found,) = counted(10, 20, [0], 0)
    assert (found.low.a_in_b, found.high.a_in_b) == (0.0, 1.0)
    (empty,) = counted(0, 20, [0], 0)
    assert (empty.shares.jaccard, empty.high.a_in_b) == (0.0, 0.0)


@pytest.mark.parametrize("asked", [1, 3, 7, 15, 29])
def test_counts_are_unbiased_and_covered(asked: int) -> None:
    """
    Over all draws the mean is the truth, and the interval holds it in at least 95 % of them, for every truth.
    """
    size = 30
    found = counted(size, 45, list(range(asked + 1)), asked)
    values = np.array([one.shares.a_in_b for one in found])
    for overlap in range(size + 1):
        chances = hypergeometric(size, overlap, asked)
        assert chances @ values == pytest.approx(overlap / size)
        for name, truth in (("a_in_b", overlap / size), ("jaccard", overlap / (75 - overlap))):
            ranges = [(getattr(one.low, name), getattr(one.high, name)) for one in found]
            covered = np.array([low - 1e-12 <= truth <= high + 1e-12 for low, high in ranges])
            assert chances @ covered >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b"), [(16, 16), (16, 20), (12, 24), (24, 12)])
@pytest.mark.parametrize("level", [1, 2])
def test_sketches_are_covered(a: int, b: int, level: int) -> None:
    """
    The same over all sketches that two documents can have.
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
    Found by trying all overlaps, unless the interval, which comes from another law, leaves it out.
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
    Real sets below 1,024 shingles are counted; larger ones come close.
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
    And the confidence has to be one.
    """
    same = np.array([50])
    narrow, wide = (estimate_counts(1000, same * 20, same, same * 2, confidence)[0] for confidence in (0.5, 0.999))
    assert wide.low.jaccard < narrow.low.jaccard < narrow.shares.jaccard < narrow.high.jaccard < wide.high.jaccard
    with pytest.raises(ParameterError, match="confidence"):
        estimate_counts(1000, same * 20, same, same * 2, 1.0)
    with pytest.raises(ParameterError, match="shared"):
        estimate_counts(1000, same * 20, same * 3, same * 2)
