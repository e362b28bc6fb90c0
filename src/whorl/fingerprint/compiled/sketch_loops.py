"""Compiled loops that decode sketches, count the hashes that two sketches share, and estimate the shared shingles.

The loops process one pair at a time. For a few candidates, calling numpy would take a hundred times as long as the
arithmetic.
"""

from __future__ import annotations

import math
from typing import Any

from whorl.fingerprint.compiled.jit import cached, get, inlined, int64, load8, loop, lowest_bit, uint64

#: Sizes of the header and of the checksum of an encoded sketch, in bytes; see `sketch.frac_minhash`.
_HEAD, _CHECK = 12, 4
_ONES = uint64(0xFFFF_FFFF_FFFF_FFFF)
_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)
#: Sums omit terms below this fraction of the first term. A sum has fewer than 2**41 terms, so these terms do not
#: matter.
_LEAST_TERM = 1e-30
#: Number of merge steps between two checks of a pair. If a check finds that the pair cannot share as many hashes as
#: `least` requires, the merge ends.
_STEPS = 16


@cached
def decode(raw: Any, starts: Any, low_bits: Any, counts: Any, firsts: Any, hashes: Any) -> Any:
    """Decode the concatenated sketches of `raw`; return the number of valid sketches before the first invalid one.

    A sketch is invalid if the lengths of its parts contradict its header.

    Args:
        raw: The sketches, and at least eight more bytes.
        starts: Start of each sketch, and the end of the last.
        low_bits: Number of bits of each low part, for each sketch.
        counts: Number of hashes of each sketch, from its header.
        firsts: Index of each sketch's first hash in the output.
    """
    for sketch in range(counts.size):
        at, low, count, first = starts[sketch] + _HEAD, low_bits[sketch], counts[sketch], firsts[sketch]
        whole, width = low // 8, low % 8
        unary, end = at + whole * count + (width * count + 7) // 8, starts[sketch + 1] - _CHECK
        if not _unary(raw, unary, end, low, count, first, hashes):
            return sketch
        done = uint64(0)
        # Unsigned indices are faster, because numba does not check whether they are negative.
        for size in (8, 4, 2, 1):
            if whole & size:
                mask = _ONES >> uint64(64 - 8 * size)
                for i in range(count):
                    hashes[uint64(first + i)] |= (load8(raw, at + size * i) & mask) << done
                at, done = at + size * count, done + uint64(8 * size)
        if width:
            mask = uint64((1 << width) - 1)
            for i in range(count):
                low_part = load8(raw, at + (width * i >> 3)) >> uint64(width * i & 7) & mask
                hashes[uint64(first + i)] |= low_part << done
    return counts.size


@loop
def _unary(raw: Any, at: int, end: int, low: int, count: int, first: int, hashes: Any) -> Any:
    """Decode the unary high parts of a sketch's hashes; return whether the sketch has `count` high parts."""
    if at > end:
        return False
    decoded = 0
    for word in range(at, end, 8):
        bits = load8(raw, word)
        if end - word < 8:
            bits &= _ONES >> uint64(8 * (word + 8 - end))
        while bits:
            if decoded == count:
                return False
            high = uint64(8 * (word - at) + int64(lowest_bit(bits)) - decoded)
            hashes[uint64(first + decoded)] = high << uint64(low) if low < 64 else uint64(0)
            bits &= bits - uint64(1)
            decoded += 1
    return decoded == count


@cached
def count_shared(
    hashes: Any, starts_a: Any, counts_a: Any, starts_b: Any, counts_b: Any, least: Any, shared: Any
) -> None:
    """Count the hashes that the two documents of each pair share, by merging their ranges of `hashes`.

    Starts and counts give the range of each document's ascending hashes. If a pair can no longer reach its number in
    `least`, the loop stops early and writes a smaller count to `shared`.
    """
    for pair in range(shared.size):
        at_a, at_b = starts_a[pair], starts_b[pair]
        end_a, end_b = at_a + counts_a[pair], at_b + counts_b[pair]
        count = 0
        left = min(end_a - at_a, end_b - at_b)
        while left > 0 and count + left >= least[pair]:
            for _ in range(min(left, _STEPS)):
                one, other = get(hashes, at_a), get(hashes, at_b)
                # Add the results of the comparisons instead of branching: the processor would often mispredict the
                # branch.
                count += one == other
                at_a += one <= other
                at_b += other <= one
            left = min(end_a - at_a, end_b - at_b)
        shared[pair] = count


@cached
def upper_tails(population: Any, good: Any, drawn: Any, least: Any, tails: Any) -> None:
    """Compute P(X >= least) of several hypergeometric distributions, and write the results to `tails`.

    The other arguments are those of `hypergeometric.upper_tail`, as arrays with one element per distribution.
    """
    for i in range(tails.size):
        tails[i] = _tail(population[i], good[i], drawn[i], least[i])


@cached
def overlap_intervals(
    total: Any, is_union: Any, drawn: Any, shared: Any, most: Any, tail: float, low: Any, high: Any
) -> None:
    """Find the ends of intervals of the number of shared shingles, like `overlap_estimates.overlap_interval`.

    All arguments except `tail` are arrays of shape (hits,), and `most` is at least `shared`. A number of shingles is
    compatible with a count of shared hashes if two probabilities exceed `tail`: the probability of at least this count,
    and of at most this count. `low` and `high` are the output.
    """
    for i in range(shared.size):
        low[i] = _least_possible(total[i], is_union[i], drawn[i], shared[i], most[i], tail)
        high[i] = max(low[i], _largest_possible(total[i], is_union[i], drawn[i], shared[i], most[i], tail))


@cached
def likeliest(
    sizes_a: Any, sizes_b: Any, alone_a: Any, alone_b: Any, shared: Any, low: Any, high: Any, lost: Any, middle: Any
) -> None:
    """Find the likeliest number of shared shingles of each pair, like `overlap_estimates.shared_shingles`.

    All arguments are arrays of shape (pairs,). `alone_a` and `alone_b` have the numbers of compared hashes that only
    one sketch has. `lost` has the fraction of hashes that the sketches omit. `middle` is the output.
    """
    for i in range(middle.size):
        middle[i] = _last_rise(sizes_a[i], sizes_b[i], alone_a[i], alone_b[i], shared[i], low[i], high[i], lost[i])


@loop
def _least_possible(total: int, takes_overlap: int, drawn: int, seen: int, most: int, tail: float) -> Any:
    """Return the smallest number of shared shingles, up to `most`, with P(shared hashes >= seen) > `tail`."""
    first, last = seen, most
    while first < last:
        overlap = (first + last) // 2
        if _tail(total - takes_overlap * overlap, overlap, drawn, seen) > tail:
            last = overlap
        else:
            first = overlap + 1
    return first


@loop
def _largest_possible(total: int, takes_overlap: int, drawn: int, seen: int, most: int, tail: float) -> Any:
    """Return the largest number of shared shingles, from `seen` on, with P(shared hashes <= seen) > `tail`."""
    first, last = seen, most
    while first < last:
        overlap = (first + last + 1) // 2
        population = total - takes_overlap * overlap
        # At most x good items are drawn if at least drawn - x bad items are drawn.
        if _tail(population, population - overlap, drawn, drawn - seen) > tail:
            first = overlap
        else:
            last = overlap - 1
    return first


@loop
def _last_rise(a: int, b: int, alone_a: int, alone_b: int, seen: int, low: int, high: int, lost: float) -> Any:
    """Return the likeliest number of shared shingles, from `low` to `high`.

    The likelihood rises up to this number, and falls after it.
    """
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
    # Below the mean, sum the other tail: fewer than x good items are drawn if more than m - x bad items are drawn.
    return 1.0 - _outward(n, n - k, m, m - x + 1)


@loop
def _outward(n: float, k: float, m: float, x: float) -> Any:
    """Return P(X >= x) for a possible value x above the mean.

    The result is P(X = x) times the sum of the terms, each divided by P(X = x).
    """
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
