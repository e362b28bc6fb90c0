"""Verification of candidates by their sketches: the promised recall holds for all sketches."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fingerprint.statistics.laws import outcomes
from tests.plain import sketch_of
from whorl.errors import ParameterError
from whorl.fingerprint.sketch.sketch import Overlaps, SketchScheme, compare
from whorl.fingerprint.statistics.metric import Metric, least_overlap
from whorl.fingerprint.statistics.verify import judge_overlaps, law

pytestmark = pytest.mark.usefixtures("each_route")

SCHEME = SketchScheme()


RECALLS = [Fraction(percent, 100) for percent in (50, 80, 90, 95, 99)]


fractions = st.fractions(Fraction(1, 100), 1, max_denominator=100)


METRICS = [Metric.JACCARD, Metric.A_IN_B, Metric.B_IN_A]
metrics = st.sampled_from(METRICS)


ROUNDING = 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("sizes", [(20, 20), (12, 26), (26, 12), (18, 27), (27, 18)])
def test_judgement_keeps_what_it_promises(metric: Metric, sizes: tuple[int, int]) -> None:
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
                kept = judge_overlaps(overlaps, metric, threshold, recall)
                assert chances @ kept >= float(recall) - ROUNDING


@pytest.mark.parametrize("metric", [Metric.JACCARD, Metric.A_IN_B])
def test_judgement_keeps_it_for_every_source(metric: Metric) -> None:
    """
    The recall also holds for each size of the source's sketch, so for every search.
    """
    overlap = least_overlap(metric, Fraction(1, 2), 20, 24)
    overlaps, chances = outcomes(20, 24, overlap, 1)
    for recall in RECALLS:
        kept = chances * judge_overlaps(overlaps, metric, Fraction(1, 2), recall)
        for count in range(21):
            some = overlaps.source_counts == count
            assert kept[some].sum() >= (float(recall) - ROUNDING) * chances[some].sum()


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
    kept = judge_overlaps(compare(source, hits), metric, threshold, recall)
    for other, is_kept in zip(others, kept.tolist(), strict=True):
        whole = {Metric.JACCARD: own | other, Metric.A_IN_B: own, Metric.B_IN_A: other}[metric]
        assert is_kept == (Fraction(len(own & other), len(whole)) >= threshold)


def test_by_hand() -> None:
    """
    A source and a hit have 20 shingles each and 10 hashes in their sketches: for a threshold of 100 % all 10 must be
    shared, for half of the source 3 or more.
    """
    shared = np.array([10, 9, 3, 2])
    same = np.ones_like(shared)
    seen = Overlaps(20, same * 20, same, same * 10, same * 10, shared)
    recall = Fraction(95, 100)
    assert judge_overlaps(seen, Metric.A_IN_B, Fraction(1), recall).tolist() == [True, False, False, False]
    # 10 of 20 are drawn, 10 of the 20 are good: 1 + 100 + 2,025 of the 184,756 draws have at most 2 good ones, 1 %; for
    # 3 it is 9 %.
    assert judge_overlaps(seen, Metric.A_IN_B, Fraction(1, 2), recall).tolist() == [True, True, True, False]


def test_sizes_that_cannot_be_pairs_are_dropped() -> None:
    """
    A hit of a tenth of the source's size cannot contain half of it, whatever the sketches say.
    """
    one = np.ones(1, np.int64)
    small = Overlaps(1000, one * 100, one * 8, one * 4, one * 4, one * 4)
    assert not judge_overlaps(small, Metric.A_IN_B, Fraction(1, 2), Fraction(95, 100)).any()
    assert judge_overlaps(small, Metric.B_IN_A, Fraction(1, 2), Fraction(95, 100)).all()


def test_whose_law_it_is() -> None:
    """
    A hit within the source that is smaller is judged by its own hashes, any other by the source's.
    """
    sizes, source_counts, counts = np.array([50, 100, 200]), np.array([10, 11, 12]), np.array([5, 9, 20])
    for metric in METRICS:
        population, drawn = law(metric, 100, sizes, source_counts, counts)
        is_within = metric is Metric.B_IN_A
        assert population.tolist() == [50 if is_within else 100, 100, 100]
        assert drawn.tolist() == [5 if is_within else 10, 11, 12]


@pytest.mark.parametrize(("threshold", "recall"), [(0, 1), (2, 1), (1, 0), (1, 2)])
def test_fractions_outside_their_range(threshold: int, recall: int) -> None:
    """
    Numbers outside (0, 1] are an error; percentages must be divided by 100.
    """
    one = np.ones(1, np.int64)
    seen = Overlaps(20, one * 20, one, one * 10, one * 10, one * 5)
    with pytest.raises(ParameterError, match="fraction"):
        judge_overlaps(seen, Metric.JACCARD, Fraction(threshold), Fraction(recall))
