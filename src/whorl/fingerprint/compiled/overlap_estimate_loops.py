"""Compiled loops that estimate the shared shingles of two texts from the hashes that their sketches share.

The loops process one pair at a time. For a few candidates, calling numpy would take a hundred times as long as the
arithmetic.
"""

from __future__ import annotations

import math
from typing import Any

from whorl.fingerprint.compiled.jit import cached, inlined, int64, loop

_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)
#: A sum has fewer than 2**41 terms, so it can omit terms below this fraction of the first term.
_LEAST_TERM = 1e-30


@cached
def upper_tails(population: Any, good: Any, drawn: Any, least: Any, tails: Any) -> None:
    """Write P(X >= least) of each hypergeometric distribution to `tails`; see `hypergeometric.upper_tail`."""
    for i in range(tails.size):
        tails[i] = _tail(population[i], good[i], drawn[i], least[i])


@cached
def overlap_intervals(
    total: Any, is_union: Any, drawn: Any, shared: Any, most: Any, tail: float, low: Any, high: Any
) -> None:
    """Find an interval of the number of shared shingles for each hit, like `overlap_estimates.overlap_interval`.

    An interval contains each number for which two probabilities exceed `tail`: the probability of at least `shared`
    shared hashes, and the probability of at most `shared`. All arguments except `tail` are arrays of shape (hits,), and
    `most` is at least `shared`. `low` and `high` are the output.
    """
    for i in range(shared.size):
        low[i] = _first_possible(total[i], is_union[i], drawn[i], shared[i], shared[i], most[i], tail)
        high[i] = max(low[i], _first_possible(total[i], is_union[i], drawn[i], shared[i], most[i], shared[i], tail))


@cached
def likeliest(
    sizes_a: Any, sizes_b: Any, alone_a: Any, alone_b: Any, shared: Any, low: Any, high: Any, lost: Any, middle: Any
) -> None:
    """Find the likeliest number of shared shingles of each pair, like `overlap_estimates.shared_shingles`.

    All arguments are arrays of shape (pairs,). `alone_a` and `alone_b` have the number of compared hashes that only A's
    or only B's sketch has. `low` and `high` are the smallest and largest possible results. `lost` has the fraction of
    hashes that the sketches omit. `middle` is the output.
    """
    for i in range(middle.size):
        middle[i] = _last_rise(sizes_a[i], sizes_b[i], alone_a[i], alone_b[i], shared[i], low[i], high[i], lost[i])


@loop
def _first_possible(total: int, takes_overlap: int, drawn: int, seen: int, start: int, end: int, tail: float) -> Any:
    """Return the first possible number of shared shingles from `start` towards `end`; `end` if no other is possible.

    Counting upwards, a number is possible if P(shared hashes >= seen) > `tail`. Counting downwards, it is possible if
    P(shared hashes <= seen) > `tail`.
    """
    step = 1 if start <= end else -1
    first, last = 0, abs(end - start)
    while first < last:
        middle = (first + last) // 2
        overlap = start + step * middle
        population = total - takes_overlap * overlap
        # `_tail` computes only P(count >= least). With at most `seen` shared hashes, at least `drawn` - `seen` hashes
        # are not shared, so count these hashes when counting downwards.
        good, least = (overlap, seen) if step > 0 else (population - overlap, drawn - seen)
        if _tail(population, good, drawn, least) > tail:
            last = middle
        else:
            first = middle + 1
    return start + step * first


@loop
def _last_rise(a: int, b: int, alone_a: int, alone_b: int, seen: int, low: int, high: int, lost: float) -> Any:
    """Return the likeliest number of shared shingles in [low, high]; the likelihood rises up to it, and then falls."""
    first, last = low, high
    while first < last:
        overlap = (first + last) // 2 + 1
        in_a, in_b = a - overlap + 1, b - overlap + 1
        gain = overlap * ((in_a - alone_a) / in_a) * ((in_b - alone_b) / in_b)
        if gain < (overlap - seen) * lost:
            last = overlap - 1
        else:
            first = overlap
    return first


@loop
def _tail(population: int, good: int, drawn: int, least: int) -> Any:
    if least <= max(0, drawn + good - population):
        return 1.0
    if least > min(good, drawn):
        return 0.0
    n, k, m, x = float(population), float(good), float(drawn), float(least)
    if x * n > m * k:
        return _outward(n, k, m, x)
    # Below the mean, subtract the other tail: fewer than x good items are drawn if more than m - x bad items are drawn.
    return 1.0 - _outward(n, n - k, m, m - x + 1)


@loop
def _outward(n: float, k: float, m: float, x: float) -> Any:
    """Return P(X >= x) for x above the mean: P(X = x) times the sum over i >= 0 of P(X = x + i) / P(X = x)."""
    p, q = m / n, (n - m) / n
    choices = _log_choices(k, x) + _log_choices(n - k, m - x) - _log_choices(n, m)
    drawn = _deviance(x, k * p) + _deviance(m - x, (n - k) * p)
    left = _deviance(k - x, k * q) + _deviance(n - k - m + x, (n - k) * q)
    total, term = 1.0, 1.0
    for step in range(int64(min(k, m) - x)):
        at = x + step
        term *= (k - at) * (m - at) / ((at + 1) * (n - k - m + 1 + at))
        if term < _LEAST_TERM:
            break
        total += term
    return math.exp(choices - drawn - left) * total


@inlined
def _log_choices(n: float, x: float) -> Any:
    """Return the logarithm of the binomial coefficient n over x, without the part that `_deviance` contains."""
    return _stirling(n) - _stirling(x) - _stirling(n - x)


@loop
def _stirling(n: float) -> Any:
    """Return log(n!) - n log(n) + n, and 0 for 0: Stirling's formula without its large terms."""
    if n < 1:
        return 0.0
    if n < 16:
        return math.lgamma(n + 1) - n * math.log(n) + n
    square = 1.0 / (n * n)
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))) / n
    return series + 0.5 * math.log(n) + _HALF_LOG_2_PI


@loop
def _deviance(x: float, expected: float) -> Any:
    """Return x log(x / expected) + expected - x without cancellation (Loader's bd0); `expected` if x is 0."""
    if x == 0:
        return expected
    v = (x - expected) / (x + expected)
    if abs(v) >= 0.1:
        return x * math.log(x / expected) + expected - x
    square, series = v * v, 0.0
    for power in range(17, 1, -2):
        series = (series + 1.0 / power) * square
    return (x - expected) * v + 2.0 * x * v * series
