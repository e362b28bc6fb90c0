"""Computes tail probabilities of hypergeometric distributions, and their inverses, to about 12 digits.

A population has `population` items, and `good` of them are good. `drawn` items are drawn without replacement; X is the
number of good items drawn.

A tail is summed from its first term outwards, and each term is computed from the previous term. So even the smallest
tail has accurate leading digits. A tail that contains the mean is 1 minus the other tail.

Source of the first term: C. Loader, Fast and accurate computation of binomial probabilities (2000), the method of R's
dbinom and dhyper. The relative error is about 1e-12, for populations up to 2**40. The loops of
`fingerprint.compiled.overlap_estimate_loops` compute the same tails, if they are loaded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.errors import ParameterError
from whorl.fingerprint.compiled.kernel import as_loop_array, loops_if_loaded

Floats: TypeAlias = npt.NDArray[np.float64]
Counts: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

#: Tolerance for rounding errors: a computed tail reaches a probability `p` if the tail is at least `p - SLACK`.
SLACK = 1e-12
#: Maximum number of terms to compute at a time. Each term takes 8 bytes in each of a few arrays.
_CELLS = 1 << 19
#: Maximum number of distributions in a table of `min_should_match_for`.
_ROWS = 256
#: Largest population for which tails are accurate to about 12 digits.
LARGEST = 1 << 40
_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)


def upper_tail(population: npt.ArrayLike, good: npt.ArrayLike, drawn: npt.ArrayLike, least: npt.ArrayLike) -> Floats:
    """Return P(X >= least) of the hypergeometric distribution, for integers up to 2**40; arguments broadcast.

    >>> upper_tail(5, 2, 2, [0, 1, 2, 3]).round(9).tolist()
    [1.0, 0.7, 0.1, 0.0]
    """
    sizes, marked, taken, start = _counts(population, good, drawn, least)
    if loops := loops_if_loaded():
        tails = np.empty(sizes.size)
        loops.overlap_estimates.upper_tails(
            *(as_loop_array(part.ravel()) for part in (sizes, marked, taken, start)), tails
        )
        return tails.reshape(sizes.shape)
    lowest, highest = np.maximum(0, taken + marked - sizes), np.minimum(marked, taken)
    tail = np.where(start <= lowest, 1.0, 0.0)
    inside = (start > lowest) & (start <= highest)
    n, k, m, x = (part[inside].astype(np.float64) for part in (sizes, marked, taken, start))
    is_upper = x * n > m * k
    # Below the mean, sum the other tail: fewer than x good items are drawn if more than m - x bad items are drawn.
    part = _outward(n, np.where(is_upper, k, n - k), m, np.where(is_upper, x, m - x + 1))
    tail[inside] = np.where(is_upper, part, 1.0 - part)
    return tail


class Tails:
    """Table of the upper tails P(X >= x) of several hypergeometric distributions, for repeated queries.

    The table has a row per distribution and a column per x. Around each distribution's likeliest value, the columns
    extend to both sides by about nine standard deviations of the widest distribution.

    >>> tails = Tails(10, 9, [5, 10])
    >>> tails.largest_least(Fraction(1, 2)).tolist(), tails.from_least([5, 10]).round(9).tolist()
    ([5, 9], [0.5, 0.0])
    """

    def __init__(self, population: npt.ArrayLike, good: npt.ArrayLike, drawn: npt.ArrayLike) -> None:
        sizes, marked, taken = (part.ravel() for part in _counts(population, good, drawn))
        self._lowest = np.maximum(0, taken + marked - sizes)
        n, k, m = (part.astype(np.float64) for part in (sizes, marked, taken))
        likeliest = np.floor((k + 1) * (m + 1) / (n + 2))
        left = np.maximum(np.minimum(k, m) - likeliest, likeliest)
        terms = np.arange(_terms(left, _spread(n, k, m)), dtype=np.float64)
        tails = _around(n, k, m, likeliest, terms)
        self._tails = tails / tails[:, -1:]
        # The first column is for the largest x.
        self._largest = (likeliest + terms.size).astype(np.int64)

    def largest_least(self, recall: Fraction) -> Counts:
        """Return the largest c with P(X >= c) >= recall for each distribution, or 0."""
        if recall == 1:
            return np.asarray(self._lowest)
        return np.asarray(self._largest - (self._tails < float(recall) - SLACK).sum(axis=1))

    def from_least(self, least: npt.ArrayLike) -> Floats:
        """Return P(X >= least) for each distribution, with an error of at most 1e-15."""
        columns = self._largest - np.asarray(least)
        places = np.minimum(np.maximum(columns, 0), self._tails.shape[1] - 1)
        tails = self._tails[np.arange(len(places)), places]
        return np.where(columns < 0, 0.0, np.where(columns > places, 1.0, tails))


def min_should_match_for(
    population: npt.ArrayLike, good: npt.ArrayLike, drawn: npt.ArrayLike, recall: Fraction
) -> Counts:
    """Return the largest number of shared tokens that a search can require with this recall.

    The population is the source's shingles. A hit just at the threshold shares `good` shingles, and X of the `drawn`
    tokens. The result is the largest c with P(X >= c) >= recall, or 0. For a recall of 1, it is the minimum of X.

    >>> int(min_should_match_for(10, 9, 5, Fraction(1, 2))), int(min_should_match_for(10, 9, 5, Fraction(51, 100)))
    (5, 4)
    """
    counts = _counts(population, good, drawn)
    columns = [part.ravel() for part in counts]
    # Compute the distributions in portions, to limit the memory.
    portions = (slice(at, at + _ROWS) for at in range(0, columns[0].size, _ROWS))
    minima = [Tails(*(column[rows] for column in columns)).largest_least(recall) for rows in portions]
    return np.concatenate([np.empty(0, np.int64), *minima]).reshape(counts[0].shape)


def reaches(
    population: npt.ArrayLike, good: npt.ArrayLike, drawn: npt.ArrayLike, count: npt.ArrayLike, recall: Fraction
) -> Bools:
    """Check whether `count` is at least `min_should_match_for(population, good, drawn, recall)`."""
    sizes, marked, taken = _counts(population, good, drawn)
    if recall == 1:
        return np.asarray(np.asarray(count) >= np.maximum(0, taken + marked - sizes))
    return np.asarray(upper_tail(sizes, marked, taken, np.asarray(count) + 1) < float(recall) - SLACK)


def least_good_for(population: npt.ArrayLike, drawn: npt.ArrayLike, least: npt.ArrayLike, recall: Fraction) -> Counts:
    """Return the smallest number of good items with P(X >= least) >= recall, or population + 1 if no number is enough.

    The distribution stays the same if `good` and `drawn` are exchanged. So if the argument `drawn` is a number of good
    items, the result is the smallest number of items to draw.

    >>> least_good_for(10, [5, 4, 0], 1, Fraction(1, 2)).tolist()
    [1, 2, 11]
    """
    sizes, _, taken, start = _counts(population, population, drawn, least)

    def is_enough(good: Counts) -> Bools:
        if recall == 1:
            return np.asarray(np.maximum(0, taken + good - sizes) >= start)
        return np.asarray(upper_tail(sizes, good, taken, start) >= float(recall) - SLACK)

    return np.where(start > taken, sizes + 1, bisect_first(is_enough, np.minimum(start, sizes), sizes))


def bisect_first(holds: Callable[[Counts], Bools], low: Counts, high: Counts) -> Counts:
    """Return, for each row, the first number from `low` to `high` for which `holds` is true.

    `holds` must be monotonic, and true for `high`.
    """
    while (low < high).any():
        middle = (low + high) // 2
        is_met = holds(middle) | (middle == high)
        low, high = np.where(is_met, low, middle + 1), np.where(is_met, middle, high)
    return low


def draws_to_meet(population: int, good: int, recall: Fraction, most: int) -> int:
    """Return the smallest number of draws with P(X >= 1) >= recall, but at most `most`.

    >>> draws_to_meet(10, 5, Fraction(3, 4), 4), draws_to_meet(10, 1, Fraction(1), 4)
    (2, 4)
    """
    if recall == 1:
        return min(most, population - good + 1)
    # For few draws, this loop is faster than a bisection with `upper_tail`.
    chance_of_none, may_miss = 1.0, 1.0 - float(recall) + SLACK
    for drawn in range(most):
        if chance_of_none <= may_miss:
            return drawn
        chance_of_none *= (population - good - drawn) / (population - drawn)
    return most


def _counts(*parts: npt.ArrayLike) -> tuple[Counts, ...]:
    """Convert population, good, drawn and other numbers to arrays of one shape; raise ParameterError if invalid."""
    counts = [np.asarray(part, dtype=np.int64) for part in parts]
    shape = np.broadcast(*counts).shape
    # For a few numbers, adding zeros is faster than np.broadcast_arrays, which would take longer than the computation.
    counts = [part if part.shape == shape else part + np.zeros(shape, np.int64) for part in counts]
    population, good, drawn = counts[:3]
    valid = (good >= 0) & (good <= population) & (drawn >= 0) & (drawn <= population) & (population <= LARGEST)
    if not valid.all():
        at = int(np.argmin(valid.ravel()))
        n, k, m = (int(part.ravel()[at]) for part in counts[:3])
        raise ParameterError(f"good and drawn must be 0 to the population, at most 2**40; got {k} and {m} of {n}")
    return tuple(counts)


def _outward(n: Floats, k: Floats, m: Floats, x: Floats) -> Floats:
    """Return P(X >= x) of Hypergeometric(n, k, m) for a possible value x above the mean."""
    p, q = m / n, (n - m) / n
    # Calls of numpy take most of the time, so put the arguments of several calls into one array.
    whole, part = np.array([k, n - k, n]), np.array([x, m - x, m])
    of_marked, of_others, of_all = _log_choices(whole, part)
    seen, expected = np.array([*part[:2], *(whole - part)[:2]]), np.array([k * p, (n - k) * p, k * q, (n - k) * q])
    logarithm: Floats = of_marked + of_others - of_all - _deviance(seen, expected).sum(axis=0)
    first = np.exp(logarithm)
    result = np.empty_like(first)
    terms = np.arange(_terms(np.minimum(k, m) - x, _spread(n, k, m)), dtype=np.float64)
    # Divide the distributions into portions whose terms fit into memory.
    at_once = max(1, _CELLS // (terms.size + 1))
    for rows in (slice(at, at + at_once) for at in range(0, first.size, at_once)):
        result[rows] = first[rows] * (1.0 + _falling(n[rows], k[rows], m[rows], x[rows], terms).sum(axis=1))
    return result


def _around(n: Floats, k: Floats, m: Floats, middle: Floats, terms: Floats) -> Floats:
    """Return tails P(X >= x) divided by P(X = middle), for x from middle + terms.size down to middle - terms.size.

    The result has shape (distributions, 2 * terms.size + 1); the last column is the sum of all terms.
    """
    # Calls of numpy take most of the time, so compute both sides in one call.
    good, at = np.concatenate([k, n - k]), np.concatenate([middle, m - middle])
    twice = np.concatenate([n, n]), np.concatenate([m, m])
    above, below = _falling(twice[0], good, twice[1], at, terms).reshape(2, n.size, -1)
    weights = np.empty((n.size, 2 * terms.size + 1))
    weights[:, : terms.size], weights[:, terms.size], weights[:, terms.size + 1 :] = above[:, ::-1], 1.0, below
    return np.asarray(weights.cumsum(axis=1))


def _falling(n: Floats, k: Floats, m: Floats, x: Floats, terms: Floats) -> Floats:
    """Return P(X = x + 1), P(X = x + 2), … of Hypergeometric(n, k, m), divided by P(X = x)."""
    at = x[:, None] + terms
    # At the first impossible value of X, the ratio is 0, and so are all products from there on.
    ratios = (k[:, None] - at) * (m[:, None] - at) / ((at + 1) * ((n - k - m + 1)[:, None] + at))
    return np.asarray(ratios.cumprod(axis=1))


def _spread(n: Floats, k: Floats, m: Floats) -> Floats:
    n = np.maximum(n, 1.0)
    return np.asarray(np.sqrt(m * (k / n) * ((n - k) / n) * ((n - m) / np.maximum(n - 1.0, 1.0))))


def _terms(left: Floats, spread: Floats) -> int:
    """Return the number of terms on one side of the mean that are not negligible.

    Nine standard deviations from the mean, a term is less than 1e-16 times the first term. A skewed distribution needs
    some more terms.
    """
    return int(min(left.max(initial=0), math.ceil(9 * spread.max(initial=0)) + 24))


def _log_choices(n: Floats, x: Floats) -> Floats:
    """Return the logarithm of the binomial coefficient n over x, minus n log(n) - x log(x) - (n - x) log(n - x).

    The subtracted terms are large. `_outward` adds their sum with `_deviance`, which avoids cancellation.
    """
    whole, part, complement = _stirling(np.array([n, x, n - x]))
    return np.asarray(whole - part - complement)


def _stirling(n: Floats) -> Floats:
    """Return log(n!) - n log(n) + n, and 0 for 0: Stirling's formula without its large terms."""
    safe = np.maximum(n, 1.0)
    square = 1.0 / (safe * safe)
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))) / safe
    large = series + 0.5 * np.log(safe) + _HALF_LOG_2_PI
    small = _SMALL[np.minimum(n, len(_SMALL) - 1).astype(np.intp)]
    return np.where(n < len(_SMALL), small, large)


#: Values of `_stirling` for numbers below 16. For larger numbers, the series has full precision.
_SMALL = np.array([0.0, *(math.lgamma(n + 1) - n * math.log(n) + n for n in range(1, 16))])


def _deviance(x: Floats, expected: Floats) -> Floats:
    """Return x log(x / expected) + expected - x without cancellation (Loader's bd0); `expected` if x is 0."""
    total = x + expected
    v = (x - expected) / np.where(total > 0, total, 1.0)
    square = v * v
    series = np.zeros_like(v)
    for power in range(17, 1, -2):
        series = (series + 1.0 / power) * square
    near = (x - expected) * v + 2.0 * x * v * series
    # Where the quotient is not needed, divide 1 by 1 instead, to avoid a division by 0.
    is_far = (np.abs(v) >= 0.1) & (x > 0) & (expected > 0)
    quotient = np.where(is_far, x, 1.0) / np.where(is_far, expected, 1.0)
    far = x * np.log(quotient) + expected - x
    return np.where(is_far | (x == 0), far, near)
