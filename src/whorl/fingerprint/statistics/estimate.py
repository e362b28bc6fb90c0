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

An interval holds every I at which a count as large, and one as small, as that seen has a chance above half of what
is missing to the confidence (Clopper and Pearson's construction, for a law of whole numbers): it covers the truth
with at least that confidence, whatever the truth. The three shares rise with I, so its ends become theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whorl.errors import ParameterError
from whorl.fingerprint.sketch.sketch import Overlaps, Sketch, compare
from whorl.fingerprint.statistics.hypergeometric import Bools, Counts, upper_tail
from whorl.fingerprint.statistics.metric import Shares

CONFIDENCE = 0.95
#: Overlaps that are tried at once to find the ends of intervals: so many for a row, and about so many for all.
_MOST_STEPS, _AT_ONCE = 15, 64


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
    likeliest = _likeliest(sizes_a, sizes_b, levels, alone_a, alone_b, shared, most)
    return np.clip(likeliest, low, high), low, high


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
    tail = (1 - confidence) / 2
    # Both ends at once: the first half of each array seeks the lower one.
    total, drawn, shared, most = (np.tile(part, 2).astype(np.int64) for part in (total, drawn, shared, most))
    is_union = np.tile(is_union, 2).astype(np.bool_)
    is_lower = np.arange(total.size) < total.size // 2
    # From the end that is sought inwards, overlaps are impossible up to one, and possible from there on.
    outer, inner = np.where(is_lower, shared, np.maximum(shared, most)), np.where(is_lower, most, shared)
    inner = np.where(is_lower, np.maximum(inner, outer), inner)
    inwards = np.where(is_lower, 1, -1)
    # Several at once: of few rows it is the number of calls that takes the time.
    steps = np.arange(1, 1 + min(_MOST_STEPS, max(1, _AT_ONCE // max(1, total.size))))
    while (left := np.abs(inner - outer)).any():
        tried = outer[:, None] + inwards[:, None] * (left[:, None] * steps // (steps.size + 1))
        population = np.where(is_union[:, None], total[:, None] - tried, total[:, None])
        # At most so many good ones are at least so many of the others: both tails in one call.
        good = np.where(is_lower[:, None], tried, population - tried)
        least_drawn = np.where(is_lower, shared, drawn - shared)[:, None]
        is_possible = upper_tail(population, good, drawn[:, None], least_drawn) > tail
        first = np.where(is_possible.any(axis=1), is_possible.argmax(axis=1), steps.size)
        rows, is_any, is_none = np.arange(total.size), first < steps.size, first == 0
        beyond = tried[rows, np.maximum(first, 1) - 1] + inwards
        inner = np.where(is_any, tried[rows, np.minimum(first, steps.size - 1)], inner)
        outer = np.where(is_none | (left == 0), outer, beyond)
    least, largest = inner[is_lower], inner[~is_lower]
    return least, np.maximum(least, largest)


def _require_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence must be a fraction between 0 and 1, got {confidence}")


def _likeliest(
    sizes_a: Counts, sizes_b: Counts, levels: Counts, alone_a: Counts, alone_b: Counts, shared: Counts, most: Counts
) -> Counts:
    """Return the overlaps of greatest likelihood, at least those seen and at most `most`."""
    low, high = shared.copy(), np.maximum(shared, most)
    lost = 1.0 - np.exp2(-levels.astype(np.float64))
    while (low < high).any():
        middle = (low + high + 1) // 2
        in_a, in_b = sizes_a - middle + 1, sizes_b - middle + 1
        # The quotient of the docstring is at least 1; crosswise, nothing is divided by 0.
        gain = middle * ((in_a - alone_a) / in_a) * ((in_b - alone_b) / in_b)
        rises = gain >= (middle - shared) * lost
        low, high = np.where(rises, middle, low), np.where(rises, high, np.maximum(low, middle - 1))
    return low


def _estimates(
    source_size: int, sizes: Counts, middle: Counts, low: Counts, high: Counts, shared: Counts, asked: Counts
) -> tuple[Estimate, ...]:
    rows = zip(*(part.tolist() for part in (middle, low, high, sizes, shared, asked)), strict=True)
    return tuple(
        Estimate(
            Shares.of_counts(likeliest, source_size, size),
            Shares.of_counts(least, source_size, size),
            Shares.of_counts(largest, source_size, size),
            shared_hashes=common,
            source_hashes=counted,
            source_size=source_size,
            hit_size=size,
            is_exact=least == largest,
        )
        for likeliest, least, largest, size, common, counted in rows
    )
