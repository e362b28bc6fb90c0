"""How much a source and its hits share, estimated from sketches, with intervals that hold what they say.

Of a source of a shingles and a hit of b that share I, x hashes are in both sketches, ya in the source's alone and yb
in the hit's, all below 2**-L of the hash space. These are three independent binomials of I, a - I and b - I shingles,
each kept with chance r = 2**-L, so the likelihood of I grows by

    L(I) / L(I - 1) = I / (I - x) * (a - I + 1 - ya) / (a - I + 1) * (b - I + 1 - yb) / (b - I + 1) / (1 - r)

which falls as I rises; the estimate is the last I at which it is at least 1. At level 0 r is 1 and I is x.

Two laws are exact for x and give the interval: x ~ Hypergeometric(a, I, x + ya), or the same of the hit, and
x ~ Hypergeometric(a + b - I, I, x + ya + yb), the union's. The smaller document's has less spread than the other's.
For documents of like size the union's has least: with a <= b, s = (a + b) / a and I / a below s (3 - s) / 2. Which
law it is must not depend on what was seen, so sizes within 3 : 2 of each other (s <= 5 / 2) take the union's.

An interval holds every I at which a count as large, and one as small, as that seen has a chance of half of what is
missing to the confidence, or more (Clopper and Pearson's construction, for a law of whole numbers): it covers the truth
with at least that confidence, whatever the truth. The three shares rise with I, so its ends become theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.errors import ParameterError
from whorl.fingerprint.compiled.kernel import for_loops, loops_at_hand
from whorl.fingerprint.sketch.sketch import Overlaps, Sketch, compare
from whorl.fingerprint.statistics.hypergeometric import SLACK, Bools, Counts, Floats, upper_tail
from whorl.fingerprint.statistics.metric import Shares

CONFIDENCE = 0.95
#: Of rows, as numpy finds them.
Places: TypeAlias = npt.NDArray[np.intp]
#: Numbers that are tried at once to find the end of an interval: so many for a row, and about so many for all.
_MOST_STEPS, _AT_ONCE = 15, 64
#: Those that are tried first, about a good guess; and of many rows, where each takes its time.
_AROUND = np.array([-32, -10, -5, -3, -2, -1, 0, 1, 2, 4, 9, 31])
_AROUND_OF_MANY = np.array([-5, 0, 4])


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a source (A) and a hit (B) have in common.

    Args:
        shares: The likeliest shares.
        low: The lower ends of their intervals; the shares themselves where these are exact.
        high: The upper ends.
        shared_hashes: Hashes seen in both.
        source_hashes: Hashes of the source that were looked for in the hit.
        source_size: Distinct shingles of the source.
        hit_size: Those of the hit.
        is_exact: Whether the values are no estimates: all hashes were compared.
    """

    shares: Shares
    low: Shares
    high: Shares
    shared_hashes: int
    source_hashes: int
    source_size: int
    hit_size: int
    is_exact: bool


def estimate(source: Sketch, hits: Sequence[Sketch], confidence: float = CONFIDENCE) -> tuple[Estimate, ...]:
    """Return estimates from the sketches of both sides.

    Args:
        source: Sketch of the source.
        hits: Sketches of the hits.
        confidence: Of the intervals, in (0, 1).

    Raises:
        ParameterError: The confidence is outside its range.
        SchemeMismatchError: Some sketches were made under different schemes.
    """
    return estimate_overlaps(compare(source, hits), confidence)


def estimate_overlaps(overlaps: Overlaps, confidence: float = CONFIDENCE) -> tuple[Estimate, ...]:
    """Return estimates from sketches that were compared already, as `estimate` does."""
    _require_confidence(confidence)
    size, sizes = overlaps.source_size, overlaps.sizes
    middle = low = high = overlaps.shared
    # At level 0 that is all there is to know.
    if overlaps.levels.any():
        middle, low, high = shared_shingles(
            np.full(sizes.shape, size, dtype=np.int64),
            sizes,
            overlaps.levels,
            overlaps.source_counts,
            overlaps.counts,
            overlaps.shared,
            confidence,
        )
    return _estimates(size, sizes, middle, low, high, overlaps.shared, overlaps.source_counts)


def shared_shingles(
    sizes_a: Counts,
    sizes_b: Counts,
    levels: Counts,
    counts_a: Counts,
    counts_b: Counts,
    shared: Counts,
    confidence: float = CONFIDENCE,
) -> tuple[Counts, Counts, Counts]:
    """Return how many shingles pairs of documents share: the likeliest number, and the ends of its interval.

    Args:
        sizes_a: Distinct shingles of the one document; this and all others int64 arrays of shape (pairs,).
        sizes_b: Those of the other.
        levels: The level at which their sketches are compared.
        counts_a: Hashes of the one below the bound of that level.
        counts_b: Those of the other.
        shared: Those of both.
        confidence: Of the intervals, in (0, 1).

    Raises:
        ParameterError: The confidence is outside its range.
    """
    alone_a, alone_b = counts_a - shared, counts_b - shared
    most = np.minimum(sizes_a - alone_a, sizes_b - alone_b)
    smaller, together = np.minimum(sizes_a, sizes_b), sizes_a + sizes_b
    is_union = 2 * together <= 5 * smaller
    of_smaller = np.where(sizes_a <= sizes_b, counts_a, counts_b)
    drawn = np.where(is_union, shared + alone_a + alone_b, of_smaller)
    low, high = overlap_interval(np.where(is_union, together, smaller), is_union, drawn, shared, most, confidence)
    return _likeliest(sizes_a, sizes_b, levels, alone_a, alone_b, shared, low, high), low, high


def overlap_interval(
    total: Counts, is_union: Bools, drawn: Counts, shared: Counts, most: Counts, confidence: float
) -> tuple[Counts, Counts]:
    """Return the least and the largest overlap that the counts leave possible.

    Args:
        total: The population; where `is_union`, the sum of both sizes, of which the overlap is to be taken once.
        is_union: Whether the population is a union. This and all others are arrays of shape (hits,).
        drawn: Hashes drawn from the population.
        shared: Good ones among them: no overlap is smaller.
        most: No overlap is larger.
        confidence: In (0, 1).

    Raises:
        ParameterError: The confidence is outside its range.
    """
    _require_confidence(confidence)
    # As chances are computed, one that is just the tail may come out as a little less.
    tail = (1 - confidence) / 2 * (1 - SLACK)
    if loops := loops_at_hand():
        low, high = np.empty((2, *shared.shape), np.int64)
        counts = map(for_loops, (total, is_union, drawn, shared, np.maximum(shared, most)))
        loops.overlap_intervals(*counts, tail, low, high)
        return low, high
    # Both ends at once: the first half of each array seeks the lower one.
    total, drawn, shared, most = (np.tile(part, 2).astype(np.int64) for part in (total, drawn, shared, most))
    is_union = np.tile(is_union, 2).astype(np.bool_)
    is_lower = np.arange(total.size) < total.size // 2
    # From the end that is sought inwards, overlaps are impossible up to one, and possible from there on.
    inwards, most = np.where(is_lower, 1, -1), np.maximum(shared, most)
    outer = np.where(is_lower, shared, most)

    def is_possible(rows: Places, steps: Counts) -> Bools:
        overlaps = outer[rows, None] + inwards[rows, None] * steps
        population = total[rows, None] - np.where(is_union[rows, None], overlaps, 0)
        # At most so many good ones are at least so many of the others: both tails in one call.
        good = np.where(is_lower[rows, None], overlaps, population - overlaps)
        least_drawn = np.where(is_lower, shared, drawn - shared)[rows, None]
        return np.asarray(upper_tail(population, good, drawn[rows, None], least_drawn) > tail)

    deviations = -inwards * NormalDist().inv_cdf(1 - tail)
    about = inwards * (_guessed_ends(total, is_union, drawn, shared, deviations) - outer)
    ends = outer + inwards * _first(most - shared, is_possible, about)
    least, largest = ends[is_lower], ends[~is_lower]
    return least, np.maximum(least, largest)


def _require_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence must be a fraction between 0 and 1, got {confidence}")


def _guessed_ends(total: Counts, is_union: Bools, drawn: Counts, shared: Counts, deviations: Floats) -> Counts:
    """Return about where intervals end, most of them right to four shingles; `overlap_interval` says what they hold.

    By Wilson's interval (Probable inference, the law of succession, and statistical inference, 1927), with half a
    count of correction to whole numbers and the lesser spread of what is drawn without putting back.

    Args:
        total: As all but the last, those of `overlap_interval`.
        is_union: Whether an overlap is taken from it once.
        drawn: Hashes drawn.
        shared: Good ones among them.
        deviations: Standard deviations from the overlap seen to the end; negative to a lower end.
    """
    taken = np.maximum(drawn, 1).astype(np.float64)
    seen = np.clip(shared + np.sign(deviations) / 2, 0, taken)
    population = np.maximum(np.where(is_union, total / (1 + seen / taken), total), 2)
    square = deviations * deviations * np.maximum(population - taken, 0) / (population - 1)
    spread = np.sqrt(square * (seen * (taken - seen) / taken + square / 4))
    share = (seen + square / 2 + np.sign(deviations) * spread) / (taken + square)
    return np.asarray(share * np.where(is_union, total / (1 + share), total)).astype(np.int64)


def _first(last: Counts, holds: Callable[[Places, Counts], Bools], about: Counts | None = None) -> Counts:
    """Return of each row the first whole number from 0 to `last` from which on something holds.

    Args:
        last: At least 0; there it is taken to hold; int64 array of shape (rows,).
        holds: Tells whether it does, of rows by their places and numbers of each, an array of shape (rows, numbers).
        about: Near which number that may be; int64 array of shape (rows,).
    """
    low, high = np.zeros_like(last), last.copy()
    rows = np.flatnonzero(high)
    while rows.size:
        left = (high[rows] - low[rows])[:, None]
        # Several at once: of few rows it is the number of calls that takes the time.
        if about is not None:
            near = _AROUND if rows.size * _AROUND.size <= 4 * _AT_ONCE else _AROUND_OF_MANY
            steps, about = np.clip(about[rows, None] + near, 0, left - 1), None
        else:
            parts = min(_MOST_STEPS, max(1, _AT_ONCE // rows.size))
            steps = left * np.arange(1, 1 + parts) // (parts + 1)
        tried = low[rows, None] + steps
        does = holds(rows, tried)
        failed = np.where(does.any(axis=1), does.argmax(axis=1), tried.shape[1])
        is_any, at = failed < tried.shape[1], np.arange(rows.size)
        high[rows] = np.where(is_any, tried[at, np.minimum(failed, tried.shape[1] - 1)], high[rows])
        low[rows] = np.where(failed > 0, tried[at, np.maximum(failed, 1) - 1] + 1, low[rows])
        rows = rows[low[rows] < high[rows]]
    return low


def _likeliest(
    sizes_a: Counts,
    sizes_b: Counts,
    levels: Counts,
    alone_a: Counts,
    alone_b: Counts,
    shared: Counts,
    low: Counts,
    high: Counts,
) -> Counts:
    """Return the overlaps of greatest likelihood from `low` to `high`."""
    lost = 1.0 - np.exp2(-levels.astype(np.float64))
    if loops := loops_at_hand():
        middle = np.empty(low.shape, np.int64)
        loops.likeliest(*map(for_loops, (sizes_a, sizes_b, alone_a, alone_b, shared, low, high)), lost, middle)
        return middle

    def falls(rows: Places, steps: Counts) -> Bools:
        overlaps = low[rows, None] + steps + 1
        in_a, in_b = sizes_a[rows, None] - overlaps + 1, sizes_b[rows, None] - overlaps + 1
        # The quotient of the docstring is at least 1; crosswise, nothing is divided by 0.
        gain = overlaps * ((in_a - alone_a[rows, None]) / in_a) * ((in_b - alone_b[rows, None]) / in_b)
        return np.asarray(gain < (overlaps - shared[rows, None]) * lost[rows, None])

    return low + _first(high - low, falls)


def _estimates(
    source_size: int, sizes: Counts, middle: Counts, low: Counts, high: Counts, shared: Counts, asked: Counts
) -> tuple[Estimate, ...]:
    rows = zip(*(part.tolist() for part in (middle, low, high, sizes, shared, asked)), strict=True)
    estimates = []
    for likeliest, least, largest, size, common, counted in rows:
        shares = low_shares = high_shares = Shares.of_counts(likeliest, source_size, size)
        if least < largest:
            low_shares, high_shares = (Shares.of_counts(end, source_size, size) for end in (least, largest))
        estimates.append(
            Estimate(shares, low_shares, high_shares, common, counted, source_size, size, is_exact=least == largest)
        )
    return tuple(estimates)
