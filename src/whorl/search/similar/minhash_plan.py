"""Chooses the MinHash tokens that a search looks up for a given recall, in an index without sketches.

A source has `a` shingles, a document has `b` shingles, and `I` shingles are in both. The search looks up `m` tokens of
the source; G ~ Hypergeometric(a, I, m) of them come from shared shingles. The document has each of these G tokens,
unless one of its b - I other shingles has a smaller hash in the same bucket. If it has each of them with the average
probability `s`, then at least `c` tokens match with the probability
    the sum over g of P(G = g) P(Binomial(g, s) >= c).
The true distribution is slightly narrower, so the true recall is slightly higher.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from whorl.arrays_and_batches import ranges_of
from whorl.fingerprint.minhash.bucket_estimates import MARGIN, Buckets
from whorl.fingerprint.statistics.hypergeometric import LARGEST, Counts, Floats, upper_tail
from whorl.fingerprint.statistics.metric import Metric, least_overlap, sizes_for
from whorl.search.similar.options import SimilarCriteria

#: Number of tokens to look up; if `Metric.allows_smaller` is true, all tokens of the source are looked up.
BUDGET = 256
#: Number of document sizes for which the recall is computed.
_GRID = 24
#: Largest document size to consider, as a multiple of the source's size; larger documents hardly share a token.
_LARGEST_RATIO = 4096
#: Smaller probabilities are ignored, because they do not change a recall.
_NEGLIGIBLE = 1e-18


@dataclass(frozen=True, slots=True)
class MinHashPlan:
    """Tokens to look up, and the expected recall.

    Args:
        recall: Wanted probability that a document at the threshold is found.
        second_recall: Recall of the verification by `judge_buckets`.
        source_size: Number of distinct shingles of the source; an estimate if the text is not known.
        buckets: Buckets to look up; first those whose tokens a larger document is most likely to have.
        min_should_match: Number of tokens that a candidate must have; 0 if the source has no tokens.
        sizes: Smallest and largest size of a document that can reach the threshold, in distinct shingles.
        promised_sizes: Smallest and largest size with the wanted recall; None if no size has it.
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

    @property
    def promised(self) -> bool:
        """Whether documents of every size in `sizes` are found with the wanted recall."""
        return self.promised_sizes == self.sizes


def make_minhash_plan(source: Buckets, criteria: SimilarCriteria, *, source_size: int | None = None) -> MinHashPlan:
    """Return the plan of a search by MinHash tokens; `source_size` counts distinct shingles, if known."""
    metric, threshold = criteria.metric, criteria.threshold
    filled = np.flatnonzero(source.is_filled)
    size = max(source.size if source_size is None else source_size, filled.size)
    first, second = criteria.phase_recalls()
    smallest, largest = sizes_for(metric, threshold, max(1, size))
    if largest is None:
        largest = _LARGEST_RATIO * max(1, size)
    if source_size is None:
        smallest, largest = max(1, int(smallest / MARGIN)), int(largest * MARGIN) + 1
    order = filled[np.argsort(source.positions[filled], kind="stable")]
    buckets = order if metric.allows_smaller else order[:BUDGET]
    # Include the source's size, which matters most to users.
    middle = min(max(size, smallest), largest)
    grid = np.geomspace(smallest, largest, _GRID).round().astype(np.int64)
    grid = np.unique(np.append(grid, [smallest, middle, largest]))
    grid = grid[(grid >= smallest) & (grid <= largest)]
    recalls_for = _recall_function(source, buckets, metric, threshold, size, grid)
    wanted = float(first)
    least = 1
    if metric.bounds_sizes:
        # The recall falls as the minimum number of matching tokens rises, so bisect for the largest sufficient number.
        counts = range(1, len(buckets) + 1)
        least = max(1, bisect_left(counts, 1, key=lambda count: int((recalls_for(count) < wanted).any())))
    recalls = recalls_for(least) if len(buckets) else np.zeros(len(grid))
    longest = max(ranges_of(recalls >= wanted).tolist(), key=lambda ends: ends[1] - ends[0], default=None)
    return MinHashPlan(
        metric,
        threshold,
        criteria.recall,
        second,
        size,
        tuple(buckets.tolist()),
        least if len(buckets) else 0,
        (smallest, largest),
        (int(grid[longest[0]]), int(grid[longest[1] - 1])) if longest else None,
    )


def _recall_function(
    source: Buckets, buckets: Counts, metric: Metric, threshold: Fraction, size: int, grid: Counts
) -> Callable[[int], Floats]:
    """Return a function from the minimum number of matching tokens to the recalls at the sizes in `grid`.

    A recall is the probability that a document just at the threshold has at least this number of the tokens.
    """
    needed = [min(size, other, least_overlap(metric, threshold, size, other)) for other in grid.tolist()]
    overlaps = np.array(needed, dtype=np.int64)
    lost = np.log1p(-source.positions[buckets] / source.positions.size)
    survival = np.exp((grid - overlaps)[:, None] * lost).mean(axis=1) if buckets.size else np.zeros(grid.size)
    tails = upper_tail(size, overlaps[:, None], buckets.size, np.arange(buckets.size + 2))
    probabilities = tails[:, :-1] - tails[:, 1:]
    sizes, drawn = np.nonzero(probabilities > _NEGLIGIBLE)
    surviving = np.rint(np.minimum(survival, 1.0) * LARGEST).astype(np.int64)[sizes]
    likely = probabilities[sizes, drawn]

    def recalls_for(count: int) -> Floats:
        return np.asarray(np.bincount(sizes, likely * upper_tail(LARGEST, surviving, drawn, count)), np.float64)

    return recalls_for
