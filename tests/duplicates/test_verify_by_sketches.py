"""Tests of verification by sketches against plain sets."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.duplicates.sets import COMPLETE, SMALL, families, numbers, pair_options, sketches_of, truth
from whorl.duplicates import verify_by_sketches
from whorl.duplicates.sketch_arrays import Numbers
from whorl.duplicates.verify_by_sketches import measure_pairs, overlaps, verify_pairs
from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.sketch.frac_minhash import compare


def every_two(count: int) -> tuple[Numbers, Numbers]:
    a, b = np.triu_indices(count, 1)
    return a.astype(np.int64), b.astype(np.int64)


@pytest.mark.parametrize("is_fast", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_overlaps_equal_a_comparison_of_two_sketches(is_fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Both implementations give the overlaps of single sketches at the level of the larger document, in either order.
    """
    if is_fast and not kernel.is_available():
        pytest.skip("numba is not installed (whorl[fast])")
    monkeypatch.setattr(kernel, "is_available", lambda: is_fast)
    monkeypatch.setattr(verify_by_sketches, "LEAST_FOR_COMPILED", 0)
    sketches = sketches_of(families(random.Random(2), 12, 2_000), SMALL)
    a, b = every_two(len(sketches))
    a, b = np.r_[a, b], np.r_[b, a]
    actual = overlaps(sketches, a, b)
    assert len(set(actual.levels.tolist())) > 2
    for at, (one, other) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        comparison = compare(sketches.sketch(one), [sketches.sketch(other)])
        expected = [
            int(part[0]) for part in (comparison.levels, comparison.source_counts, comparison.counts, comparison.shared)
        ]
        assert [int(part[at]) for part in (actual.levels, actual.counts_a, actual.counts_b, actual.shared)] == expected


@given(st.integers(0, 2**32), st.sampled_from(["jaccard", "containment"]), st.integers(1, 100))
def test_complete_sketches_are_verified_exactly(seed: int, metric: str, percent: int) -> None:
    """
    With complete sketches, exactly the pairs at or above the threshold are accepted, in either order of the documents.
    """
    sets = families(random.Random(seed), 4, 60)
    options = pair_options(metric, percent)
    a, b = every_two(len(sets))
    actual = verify_pairs(sketches_of(sets, COMPLETE), b, a, options)
    assert set(zip(actual.a.tolist(), actual.b.tolist(), strict=True)) == truth(sets, options)
    assert actual.shared.tolist() == [len(sets[a] & sets[b]) for a, b in zip(actual.a, actual.b, strict=True)]
    assert actual.is_exact.all()


def test_pairs_of_partial_sketches_are_kept_with_the_recall() -> None:
    """
    At least the wanted 80 of 100 pairs just at the threshold are accepted, within four standard deviations.
    """
    chance = random.Random(6)
    sets = []
    for _ in range(300):
        shared = numbers(chance, 800)
        sets += [shared | numbers(chance, 100) for _ in range(2)]
    sketches = sketches_of(sets, SMALL)
    a = np.arange(0, 600, 2)
    count = len(verify_pairs(sketches, a, a + 1, pair_options("jaccard", 80, 80)))
    assert count >= 300 * (0.8 - 4 * (0.16 / 300) ** 0.5)
    # No pair far below the threshold is accepted.
    assert len(verify_pairs(sketches, a, (a + 2) % 600, pair_options("jaccard", 80, 80))) == 0


def test_measured_documents_need_not_be_a_pair() -> None:
    """
    Documents below the threshold are measured, too: complete sketches exactly, partial ones with an interval that
    contains the true number.
    """
    chance = random.Random(7)
    common = numbers(chance, 500)
    sets = [common | numbers(chance, 500), common | numbers(chance, 1500), numbers(chance, 40), set[int]()]
    a, b = every_two(4)
    exact, actual = (
        measure_pairs(sketches_of(sets, COMPLETE), a, b),
        measure_pairs(sketches_of(sets, SMALL), a, b, 0.999),
    )
    assert exact.shared.tolist() == exact.low.tolist() == [500, 0, 0, 0, 0, 0]
    assert (actual.low[0], actual.high[0]) != (500, 500)
    assert ((actual.low <= exact.shared) & (exact.shared <= actual.high)).all()


def test_sizes_alone_can_exclude_a_pair() -> None:
    """
    At 2 %, documents of sizes 50 and 5,000 make no pair, however few hashes the sketches hold.
    """
    chance = random.Random(8)
    large = numbers(chance, 5_000)
    sketches = sketches_of([large, set(sorted(large)[:50])], SMALL)
    a, b = every_two(2)
    assert len(verify_pairs(sketches, a, b, pair_options("jaccard", 1, 95))) == 1
    assert len(verify_pairs(sketches, a, b, pair_options("jaccard", 2, 95))) == 0
    assert pair_options("jaccard", 2).threshold == Fraction(1, 50)
