"""Tails of distributions, compared with exact sums of binomial coefficients."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.errors import ParameterError
from whorl.fingerprint.statistics.hypergeometric import (
    LARGEST,
    Tails,
    draws_to_meet,
    least_good_for,
    min_should_match_for,
    reaches,
    upper_tail,
)

pytestmark = pytest.mark.usefixtures("each_route")


def plain_upper_tail(population: int, good: int, drawn: int, least: int) -> Fraction:
    ways = sum(
        math.comb(good, count) * math.comb(population - good, drawn - count)
        for count in range(max(least, 0), min(good, drawn) + 1)
    )
    return Fraction(ways, math.comb(population, drawn))


def plain_binomial(trials: int, permille: int, least: int) -> Fraction:
    counts = range(max(least, 0), trials + 1)
    ways = sum(math.comb(trials, x) * permille**x * (1000 - permille) ** (trials - x) for x in counts)
    return Fraction(ways, 1000**trials)


@st.composite
def draws(draw: st.DrawFn, largest: int = 5_000_000) -> tuple[int, int, int]:
    population = draw(st.one_of(st.integers(0, 60), st.integers(1, largest)))
    good = draw(st.integers(0, population))
    return population, good, draw(st.integers(0, min(population, 300)))


def test_by_hand() -> None:
    """
    Of 5 cards 2 are red and 2 are drawn: both are red in 1 of 10 hands, at least one is red in 7.
    """
    assert upper_tail(5, 2, 2, [0, 1, 2, 3]).tolist() == pytest.approx([1, 0.7, 0.1, 0], abs=1e-15)
    # At most 0, 1 or 2 red cards means at least 2, 1 or 0 of the 3 others.
    assert upper_tail(5, 3, 2, [3, 2, 1, 0]).tolist() == pytest.approx([0, 0.3, 0.9, 1], abs=1e-15)


@given(draws(), st.integers(0, 301))
def test_hypergeometric_equals_the_plain_sum(numbers: tuple[int, int, int], least: int) -> None:
    """
    Both tails have a relative error of at most 1e-10, for any size. The lower tail is the upper tail of the other
    hashes: at most n good ones drawn means at least drawn - n others.
    """
    expected = plain_upper_tail(*numbers, least)
    assert float(upper_tail(*numbers, least)) == pytest.approx(float(expected), rel=1e-10, abs=1e-300)
    population, good, drawn = numbers
    others = float(upper_tail(population, population - good, drawn, drawn - least + 1))
    assert others == pytest.approx(float(1 - expected), rel=1e-10, abs=1e-300)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("population", "good", "drawn", "least"),
    [
        (300_000, 160, 258, 98),  # 3e-265
        (5_000_000, 119, 102, 66),  # 5e-288
        (5_000_000, 2_500_000, 1000, 900),  # 1e-162
        (100_000, 50_000, 2000, 1000),  # about the mean, with many tokens
        (1000, 999, 500, 500),
    ],
)
def test_extreme_tails(population: int, good: int, drawn: int, least: int) -> None:
    """
    Extreme tails keep their precision down to the smallest floats.
    """
    expected = plain_upper_tail(population, good, drawn, least)
    assert float(upper_tail(population, good, drawn, least)) == pytest.approx(float(expected), rel=1e-10)


@given(st.integers(0, 400), st.integers(0, 1000), st.integers(-1, 401))
def test_the_largest_population_is_practically_binomial(trials: int, permille: int, least: int) -> None:
    """
    Few draws from the largest population have the binomial distribution.
    """
    expected = plain_binomial(trials, permille, least)
    assert float(upper_tail(LARGEST, LARGEST * permille // 1000, trials, least)) == pytest.approx(
        float(expected), rel=1e-3, abs=1e-9
    )


def test_arrays_broadcast() -> None:
    """
    A table of tails has the same values as single calls, for any number of cells.
    """
    good, least = np.arange(0, 2001, 7)[:, None], np.arange(0, 120, 3)
    table = upper_tail(2000, good, 120, least)
    assert table.shape == (286, 40)
    cells = [(row, column) for row in (0, 17, 150, 285) for column in (0, 13, 39)]
    for row, column in cells:
        assert table[row, column] == float(upper_tail(2000, int(good[row, 0]), 120, int(least[column])))
    assert (np.diff(table, axis=0) >= -1e-12).all()
    assert (np.diff(table, axis=1) <= 1e-12).all()


@given(draws(2000), st.fractions(Fraction(1, 100), 1, max_denominator=1000))
def test_minimum_is_the_largest_with_the_recall(numbers: tuple[int, int, int], recall: Fraction) -> None:
    """
    The recall holds at the minimum and not with one token more; `reaches` agrees for every count.
    """
    minimum = int(min_should_match_for(*numbers, recall))
    assert plain_upper_tail(*numbers, minimum) >= recall - Fraction(1, 10**11)
    assert plain_upper_tail(*numbers, minimum + 1) < recall
    counts = np.arange(minimum + 3)
    assert (reaches(*numbers, counts, recall) == (counts >= minimum)).all()


def test_minima_of_many_laws_at_once() -> None:
    """
    Each minimum equals that of a single call, for narrow and wide distributions and for those with one outcome.
    """
    laws = [(0, 0, 0), (5, 5, 3), (10, 9, 5), (20_000, 1, 64), (200_000, 65_000, 12_500), (1 << 40, 1 << 39, 60)]
    laws += [(200_000, 199_999, 12_500), (1000, 0, 10), (3000, 2990, 2999), (1 << 40, (1 << 40) - 40, 1 << 39)]
    for recall in (Fraction(1, 100), Fraction(1, 2), Fraction(99, 100), Fraction(999_999, 1_000_000)):
        population, good, drawn = np.array(laws).T
        together = min_should_match_for(population, good, drawn, recall).tolist()
        assert together == [int(min_should_match_for(*law, recall=recall)) for law in laws]
        for (population, good, drawn), minimum in zip(laws, together, strict=True):
            at, above = upper_tail(population, good, drawn, [minimum, minimum + 1]).tolist()
            assert at >= float(recall) - 1e-11
            assert above < float(recall)


@given(draws(2000), st.fractions(Fraction(1, 100), 1, max_denominator=100), st.integers(0, 400))
def test_draws_to_meet(numbers: tuple[int, int, int], recall: Fraction, most: int) -> None:
    """
    draws_to_meet is `least_good_for` with good and drawn exchanged.
    """
    population, good, _ = numbers
    if good:
        expected = int(least_good_for(population, good, 1, recall))
        assert draws_to_meet(population, good, recall, most) == min(expected, most)


def test_equal_probability_is_enough() -> None:
    """
    Drawing 5 of 10 with 9 good ones gives 5 good ones in exactly half of the cases, which satisfies a recall of 1/2.
    """
    assert int(min_should_match_for(10, 9, 5, Fraction(1, 2))) == 5
    assert int(min_should_match_for(10, 9, 5, Fraction(500_001, 1_000_000))) == 4
    assert int(min_should_match_for(10, 9, 5, Fraction(1))) == 4


@pytest.mark.slow
@given(draws(2000), st.integers(0, 5), st.fractions(Fraction(1, 100), 1, max_denominator=100))
def test_least_good(numbers: tuple[int, int, int], least: int, recall: Fraction) -> None:
    """
    The number of good ones reaches the recall, and one fewer does not.
    """
    population, _, drawn = numbers
    least = min(least, population)
    good = int(least_good_for(population, drawn, least, recall))
    if least > drawn:
        assert good == population + 1
    else:
        assert plain_upper_tail(population, good, drawn, least) >= recall - Fraction(1, 10**11)
        assert good == 0 or plain_upper_tail(population, good - 1, drawn, least) < recall


@pytest.mark.parametrize("numbers", [(5, 6, 1), (5, 1, 6), (5, -1, 1), (1 << 41, 1, 1)])
def test_impossible_counts(numbers: tuple[int, int, int]) -> None:
    """
    Impossible counts are an error that names the numbers.
    """
    with pytest.raises(ParameterError, match=str(numbers[0])):
        upper_tail(*numbers, 1)


@given(st.lists(draws(), min_size=1, max_size=4), st.integers(-1, 301), st.fractions(Fraction(1, 1000), 1))
def test_a_table_of_tails_equals_single_laws(laws: list[tuple[int, int, int]], least: int, recall: Fraction) -> None:
    """
    Distributions of any sizes in one table have the same tails and minimum as alone.
    """
    population, good, drawn = (np.array(column) for column in zip(*laws, strict=True))
    table = Tails(population, good, drawn)
    assert table.largest_least(recall).tolist() == min_should_match_for(population, good, drawn, recall).tolist()
    expected = [float(plain_upper_tail(*law, least)) for law in laws]
    assert table.from_least([least] * len(laws)).tolist() == pytest.approx(expected, rel=1e-10, abs=1e-15)
