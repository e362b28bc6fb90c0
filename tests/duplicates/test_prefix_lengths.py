"""Tests of the parameters of the prefix filter: recall by exact distributions, and the end of the search."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.duplicates.sets import SMALL, numbers, pair_options, sketches_of
from tests.fingerprint.statistics.laws import binomial
from whorl.duplicates.prefix_lengths import FIRST_AIM, RoundParameters, rounds

METRICS = ["jaccard", "containment"]


@given(st.sampled_from(METRICS), st.integers(1, 100), st.integers(1, 100), st.integers(1, 100_000))
def test_rounds(metric: str, percent: int, recall: int, largest: int) -> None:
    """
    Each round uses more hashes than the round before, and the last round uses all. All rounds together miss at most a
    fifth of the pairs that may be missed.
    """
    options = pair_options(metric, percent, recall)
    actual = rounds(options, largest)
    aims = [search_round.aim for search_round in actual]
    assert aims == sorted(set(aims))
    assert [search_round.is_last for search_round in actual] == [False] * (len(actual) - 1) + [True]
    assert aims[-1] >= largest or aims == [aims[-1]]
    assert sum(1 - search_round.recall for search_round in actual) * 2 <= (1 - options.recall) / 5
    # At the threshold, at least half as many hashes are shared as the first round uses at 80 %.
    assert aims[0] * options.threshold >= FIRST_AIM // 2
    if recall == 100:
        assert len(actual) == 1


def test_rounds_by_hand() -> None:
    """
    At 80 % the rounds start with 64 hashes and grow by four; at 10 % they start with 512.
    """
    assert [step.aim for step in rounds(pair_options("jaccard", 80), 16_384)] == [64, 256, 1024, 4096, 16_384]
    assert [step.aim for step in rounds(pair_options("jaccard", 10), 1000)] == [512, 2048]
    assert [step.aim for step in rounds(pair_options("jaccard", 80), 1)] == [64]
    assert rounds(pair_options("jaccard", 80, 95), 64)[0].recall == 1 - Fraction(5, 100) / 10


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("percent", [20, 50, 80, 100])
def test_partners_share_the_least_number_with_the_recall(metric: str, percent: int) -> None:
    """
    A partner at the threshold shares the smallest number of indexable hashes with the recall of the round, but not one
    hash more. With a complete sketch the number is exact.
    """
    chance = random.Random(percent)
    sketches = sketches_of([numbers(chance, size) for size in (10, 60, 200, 1000, 3000)], SMALL)
    options = pair_options(metric, percent)
    for step in rounds(options, int(sketches.counts.max())):
        places = np.arange(5)
        for level in range(4):
            lengths = step.prefix_lengths(sketches, places, level)
            for place in range(5):
                size, count, indexable = (
                    int(part[place]) for part in (sketches.sizes, lengths.counts, lengths.indexable)
                )
                least = int(lengths.min_indexable_shared[place])
                share = options.share_of_smaller
                assert 1 <= least <= max(1, indexable)
                if indexable == size:
                    assert least == math.ceil(share * size)
                elif least > 1:
                    assert binomial(indexable, float(share))[least:].sum() >= float(step.recall) - 1e-9
                if indexable not in (size, 0) and least < indexable:
                    assert binomial(indexable, float(share))[least + 1 :].sum() < float(step.recall) + 1e-9
                assert indexable <= count
                assert metric == "jaccard" or lengths.min_shared[place] == 1


def test_participants_of_a_level() -> None:
    """
    At a level, its home documents are compared, and documents of lower levels if large enough for a pair with the
    smallest home document.
    """
    sizes, homes = np.array([79, 80, 100, 5, 500]), np.array([0, 0, 1, 0, 2])
    first = rounds(pair_options("jaccard", 80), 1000)[0]
    assert first.participants(sizes, homes, 1, 100).tolist() == [False, True, True, False, False]
    first = rounds(pair_options("containment", 80), 1000)[0]
    assert first.participants(sizes, homes, 1, 100).tolist() == [True, True, True, True, False]


def test_homes() -> None:
    """
    The home level leaves about as many hashes as the round's aim; for containment it is the sketch's own level.
    """
    sketches, sizes = sketches_of([], SMALL), np.array([64, 65, 128, 129, 4000])
    own = [SMALL.level(size) for size in sizes.tolist()]
    jaccard = RoundParameters(pair_options("jaccard", 80), 64, Fraction(1), False)
    assert jaccard.home_levels(sketches.scheme, sizes).tolist() == [0, 1, 1, 2, 6]
    containment = RoundParameters(pair_options("containment", 80), 64, Fraction(1), False)
    assert containment.home_levels(sketches.scheme, sizes).tolist() == own == [0, 1, 1, 2, 4]


def test_counted_hashes() -> None:
    """
    A document that may be the larger one uses all hashes; others use the indexable ones.
    """
    sketches = sketches_of([numbers(random.Random(1), 200)] * 2, SMALL)
    aimed = RoundParameters(pair_options("containment", 80), 16, Fraction(9, 10), False)
    lengths = aimed.prefix_lengths(sketches, np.arange(2), 2)
    assert lengths.count_used_hashes(np.array([True, False])).tolist() == [int(lengths.counts[0]), 16]
    assert aimed.has_more_hashes(sketches, np.arange(2), lengths).all()
