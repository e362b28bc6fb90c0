"""The first phase of a calibrated search on an index that has the stock MinHash tokens and no sizes.

Of the m tokens asked, G ~ Hypergeometric(a, I, m) are of shared shingles, and each of these is a token of the hit
unless one of the hit's b - I other shingles displaced it: with the chance s averaged over the m tokens,
P(X >= c) = sum over g of P(G = g) P(Binomial(g, s) >= c). The binomial spreads a little more than the tokens do
(their chances differ, and one displacement makes another less likely), so the recall is slightly better than said.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from whorl.errors import ParameterError
from whorl.fingerprint.minhash.buckets import MARGIN, Buckets
from whorl.fingerprint.statistics.hypergeometric import (
    Counts,
    Floats,
    binomial_upper_tail,
    require_probability,
    upper_tail,
)
from whorl.fingerprint.statistics.metric import Metric, least_overlap, require_threshold, sizes_for

BUDGET = 256
_FIRST_PART = Fraction(1, 5)
#: Sizes at which the recall is computed.
_GRID = 24
#: Where any size can be a hit: so many times the source's are looked at, from where on nothing survives.
_LARGEST_RATIO = 4096


@dataclass(frozen=True, slots=True)
class MinHashPlan:
    """What to ask for and about what can be expected.

    Args:
        metric: What the threshold is a share of.
        threshold: Fraction in (0, 1].
        recall: Wanted chance to find a document at the threshold.
        second_recall: With which `judge_buckets` is to judge the candidates.
        source_size: Distinct shingles of the source; about, where they were not known.
        buckets: Which buckets' tokens are asked, those that survive best first.
        min_should_match: Tokens that a candidate must have; 0 where the source has none.
        sizes: Distinct shingles of documents that can reach the threshold, smallest and largest looked at.
        promised_sizes: The smallest and largest of those that are found with the wanted recall; None for none.
        recalls: Chances at the threshold to become a candidate, for documents of the smallest of the `sizes`, of the
            source's own size or the nearest, and of the largest.
    """

    metric: Metric
    threshold: Fraction
    recall: Fraction
    second_recall: Fraction
    source_size: int
    buckets: tuple[int, ...]
    min_should_match: int
    sizes: tuple[int, int]
    promised_sizes: tuple[int, int] | None
    recalls: tuple[float, float, float]

    @property
    def promised(self) -> bool:
        """Whether documents of every size looked at are found with the wanted recall."""
        return self.promised_sizes == self.sizes


def make_minhash_plan(
    source: Buckets,
    metric: Metric,
    threshold: Fraction,
    recall: Fraction,
    *,
    source_size: int | None = None,
    budget: int = BUDGET,
    largest_size: int | None = None,
) -> MinHashPlan:
    """Return the plan of a search among stock tokens.

    Args:
        source: Buckets of the source.
        metric: What the threshold is a share of.
        threshold: Fraction in (0, 1].
        recall: Wanted chance to find a document just at the threshold, a fraction in (0, 1].
        source_size: Distinct shingles of the source, where known.
        budget: Tokens to ask, at least 1; Metric.B_IN_A asks all.
        largest_size: Distinct shingles of the largest document that is to be found. Without it Metric.A_IN_B asks
            for one shared token, which reaches farthest.

    Raises:
        ParameterError: An argument is outside its range.
    """
    require_threshold(threshold)
    require_probability("recall", recall)
    if budget < 1:
        raise ParameterError(f"budget must be at least 1, got {budget}")
    filled = np.flatnonzero(source.is_filled)
    size = max(source.size if source_size is None else source_size, filled.size)
    first, second = 1 - _FIRST_PART * (1 - recall), 1 - (1 - _FIRST_PART) * (1 - recall)
    smallest, largest = sizes_for(metric, threshold, max(1, size))
    if largest is None:
        largest = _LARGEST_RATIO * max(1, size)
    if source_size is None:
        smallest, largest = max(1, int(smallest / MARGIN)), int(largest * MARGIN) + 1
    if largest_size is not None:
        largest = max(smallest, min(largest, largest_size))
    order = filled[np.argsort(source.places[filled], kind="stable")]
    asked = order if metric is Metric.B_IN_A else order[:budget]
    # The source's own size is among them, since that is what a user asks first.
    middle = min(max(size, smallest), largest)
    grid = np.unique(
        np.append(np.geomspace(smallest, largest, _GRID).round().astype(np.int64), [smallest, middle, largest])
    )
    grid = grid[(grid >= smallest) & (grid <= largest)]
    chances = _Chances(source, asked, metric, threshold, size, grid)
    wanted = float(first)
    least = 1
    if metric is Metric.JACCARD or (metric is Metric.A_IN_B and largest_size is not None):
        low, high = 0, len(asked)
        while low < high:
            half = (low + high + 1) // 2
            low, high = (half, high) if (chances.at_least(half) >= wanted).all() else (low, half - 1)
        least = max(1, low)
    found = chances.at_least(least) if len(asked) else np.zeros(len(grid))
    at = np.searchsorted(grid, middle)
    return MinHashPlan(
        metric,
        threshold,
        recall,
        second,
        size,
        tuple(asked.tolist()),
        least if len(asked) else 0,
        (smallest, largest),
        _longest_run(grid, found >= wanted),
        (float(found[0]), float(found[at]), float(found[-1])),
    )


class _Chances:
    """How likely documents just at a threshold have some of the tokens asked.

    Args:
        source: Buckets of the source.
        asked: Buckets whose tokens are asked; int64 array of shape (tokens,).
        metric: What the threshold is a share of.
        threshold: Fraction in (0, 1].
        size: Distinct shingles of the source.
        grid: Those of the documents; int64 array of shape (sizes,).
    """

    def __init__(
        self, source: Buckets, asked: Counts, metric: Metric, threshold: Fraction, size: int, grid: Counts
    ) -> None:
        needed = [min(size, other, least_overlap(metric, threshold, size, other)) for other in grid.tolist()]
        overlaps = np.array(needed, dtype=np.int64)
        lost = np.log1p(-source.places[asked] / source.places.size)
        survival = np.exp((grid - overlaps)[:, None] * lost).mean(axis=1) if asked.size else np.zeros(grid.size)
        self._survival = np.minimum(survival, 1.0)[:, None]
        self._drawn = np.arange(asked.size + 1)
        tails = upper_tail(size, overlaps[:, None], asked.size, np.arange(asked.size + 2))
        self._chances = tails[:, :-1] - tails[:, 1:]

    def at_least(self, count: int) -> Floats:
        """Return the chances to have `count` tokens, one for each size."""
        return np.asarray((self._chances * binomial_upper_tail(self._drawn, self._survival, count)).sum(axis=1))


def _longest_run(grid: Counts, holds: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> tuple[int, int] | None:
    """Return the first and the last of the longest run of sizes for which something holds."""
    best: tuple[int, int] | None = None
    start = 0
    for at, is_held in enumerate([*holds.tolist(), False]):
        if is_held:
            continue
        if at > start and (best is None or at - start > best[1] - best[0] + 1):
            best = (start, at - 1)
        start = at + 1
    return None if best is None else (int(grid[best[0]]), int(grid[best[1]]))
