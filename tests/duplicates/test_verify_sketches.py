"""Tests of verification by sketches against plain sets, and of pairs as arrays."""

from __future__ import annotations

import random
import threading
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.duplicates.sets import COMPLETE, SMALL, families, numbers, pair_options, sketches_of, truth
from whorl.duplicates import verify_sketches
from whorl.duplicates.sketch_arrays import Numbers
from whorl.duplicates.verify_sketches import Pairs, measure_pairs, overlaps, run_in_threads, split_evenly, verify_pairs
from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.sketch.frac_minhash import compare


def every_two(count: int) -> tuple[Numbers, Numbers]:
    a, b = np.triu_indices(count, 1)
    return a.astype(np.int64), b.astype(np.int64)


def pairs_of(*rows: tuple[int, int, int]) -> Pairs:
    """
    Return pairs of documents with 10 and 20 shingles, from indices and shared shingles.
    """
    a, b, shared = np.array(rows, np.int64).reshape(-1, 3).T
    return Pairs(a, b, np.full_like(a, 10), np.full_like(a, 20), shared, shared, shared)


@pytest.mark.parametrize("is_fast", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_overlaps_equal_a_comparison_of_two_sketches(is_fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Both implementations give the overlaps of single sketches at the level of the larger document, in either order.
    """
    if is_fast and not kernel.is_available():
        pytest.skip("numba is not installed (whorl[fast])")
    monkeypatch.setattr(kernel, "is_available", lambda: is_fast)
    monkeypatch.setattr(verify_sketches, "LARGE", 0)
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


@given(st.lists(st.lists(st.tuples(st.integers(0, 4), st.integers(5, 9), st.integers(1, 9)), max_size=6), max_size=4))
def test_pairs_together(several: list[list[tuple[int, int, int]]]) -> None:
    """
    The union of pairs is ordered by documents and contains each pair once, the first occurrence.
    """
    expected: dict[tuple[int, int], int] = {}
    for a, b, shared in (row for rows in several for row in rows):
        expected.setdefault((a, b), shared)
    actual = Pairs.concatenate(pairs_of(*rows) for rows in several)
    rows = zip(actual.a.tolist(), actual.b.tolist(), actual.shared.tolist(), strict=True)
    assert list(rows) == [(a, b, shared) for (a, b), shared in sorted(expected.items())]


def test_pairs_are_renumbered() -> None:
    """
    Other indices may exchange the two documents of a pair with their sizes; the shared shingles stay.
    """
    actual = pairs_of((0, 1, 4), (0, 2, 5)).renumber(np.array([5, 7, 3]))
    columns = (actual.a, actual.b, actual.sizes_a, actual.sizes_b, actual.shared)
    assert [column.tolist() for column in columns] == [[5, 3], [7, 5], [10, 20], [20, 10], [4, 5]]
    assert actual.jaccard.tolist() == [4 / 26, 5 / 25]
    assert len(actual.select(np.array([False, True]))) == 1


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


@given(st.lists(st.integers(0, 1 << 17), max_size=9), st.integers(1, 4))
def test_ranges_cover_all_items(amounts: list[int], most: int) -> None:
    """
    The ranges partition the items, none is empty except a single one, and each has at most its share and one item more.
    """
    actual = split_evenly(np.cumsum(np.array(amounts, np.int64)), most)
    assert [at for first, upto in actual for at in range(first, upto)] == list(range(len(amounts)))
    assert 1 <= len(actual) <= most
    assert all(first < upto for first, upto in actual) or actual == [(0, 0)]
    if len(actual) > 1:
        share = sum(amounts) / most
        assert all(sum(amounts[first:upto]) <= share + max(amounts) + 1 for first, upto in actual)


def test_each_range_runs_in_a_thread() -> None:
    """
    Each range runs in another thread, in order; errors are raised, and a single range runs in the calling thread.
    """
    assert run_in_threads(lambda first, upto: range(first, upto), [(0, 2), (2, 3)]) == [range(2), range(2, 3)]
    assert run_in_threads(lambda first, upto: threading.current_thread(), [(0, 5)]) == [threading.current_thread()]
    other, own = run_in_threads(lambda first, upto: threading.current_thread(), [(0, 5), (5, 9)])
    assert own == threading.current_thread() != other
    with pytest.raises(ZeroDivisionError):
        run_in_threads(lambda first, upto: upto // first, [(0, 2), (2, 3)])
    with pytest.raises(ZeroDivisionError):
        run_in_threads(lambda first, upto: upto // first, [(2, 3), (0, 2)])
