"""Plans a search by sketches for a given recall: the tokens to look up, and how many must match.

The query of a plan is an OR of branches. Each branch covers a range of document sizes, and looks up `m` tokens: the
smallest hashes of the source's sketch. For each document of these sizes, the index has all hashes of the document that
are among the tokens.

The tokens are a uniform sample of the `a` shingles of the source. So a document that shares `I` shingles has
X ~ Hypergeometric(a, I, m) of the tokens (and a few by accident, see `sketch.frac_minhash`). Let `I` be the smallest
number of shared shingles that reaches the threshold. The branch requires the largest number `c` of tokens with
P(X >= c) >= recall. So every document at or above the threshold is found with at least this probability, over the
choice of the hash function.

A wanted recall `p` allows the share 1 - p of misses. Two phases divide this share:

    look-ups                        recall 1 - (1 - p) / 5
    comparison of whole sketches    recall 1 - 4 (1 - p) / 5    (`judge_overlaps`)

If the look-ups of a branch reach the recall `p`, but not the recall of the first phase, the second phase of this branch
drops only documents that cannot reach the threshold.

More tokens give fewer unwanted candidates, but more look-ups. In an index of many segments, look-ups are expensive, and
it is faster to look up few tokens and verify more candidates. The cost formula assumes that D / s documents contain the
share `s` of the source or more. So D documents contain the whole source, and -d(D / s) = D / s**2 ds documents contain
a share between `s` and `s` + ds. The average number of documents with at least `c` >= 2 of the `m` tokens is

    D + integral from 0 to 1 of P(Binomial(m, s) >= c) D / s**2 ds = D m / (c - 1)

So m look-ups and their candidates cost m (look-up + D candidate / (c - 1)).

If boilerplate causes far more candidates, the index is queried again with all tokens of the budget. Each of the two
queries gets half of the misses of the first phase (`SketchPlan.first_recall` is 1 - (1 - p) / 10), so the recall holds
for both queries.

A large document may have no token of a source with few shingles. `with_phrases` looks up all shingles of such a source
as phrases in the index of words.

A search reaches a recall of 1 if it looks up all shingles of the source and both sketches are complete. Otherwise, a
search with this recall is mostly best effort.

`ResidualPlan` is the plan of a search whose threshold `t` ignores common text. R is the set of the source's shingles
that are not common, and `a` is their number. A document has `I` shingles of R. The number of all of its uncommon
shingles, `b`, is unknown until its text is read. So candidates are documents of any size with enough shingles of R:

    a_in_b       I / a >= t.
    jaccard      I / (a + b - I) >= t. This implies I / a >= t, because b >= I.
    b_in_a       I / b >= t. This implies no share I / a: the source may contain all of the uncommon text of a document
                 that has few uncommon words. Candidates must have `ResidualPlan.least_shared` shingles of R.
    containment  I / a >= t or I / b >= t. Candidates are those of a_in_b and of b_in_a.

The look-ups and the second phase work as above, with R as the source. Then the texts of the remaining candidates are
read, and their shingles are counted exactly. At the ends of boilerplate, a comparison of two texts marks a few more
words as common than are marked in either text alone. Both texts have these words, so a document at the threshold still
has the required share of R.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from whorl.engine.protocol import Costs
from whorl.fingerprint.sketch.frac_minhash import Overlaps, Sketch
from whorl.fingerprint.statistics.hypergeometric import (
    SLACK,
    Tails,
    draws_to_meet,
    least_good_for,
    min_should_match_for,
    upper_tail,
)
from whorl.fingerprint.statistics.metric import Metric, Shares, least_overlap, sizes_for
from whorl.fingerprint.statistics.overlap_estimates import judge_overlaps, population_and_draws
from whorl.search.similar.options import SimilarCriteria

#: Default number of tokens to look up in a branch.
BUDGET = 64
#: Largest multiple of the token budget that a plan may use to reach the promised recall.
_MOST_BUDGETS = 4
#: Minimum fraction of the available tokens to look up if the costs are unknown. With slightly fewer tokens than all,
#: the recall may be closer to the wanted recall.
_LEAST_SHARE_OF_TOKENS = 0.85
#: D in the cost formula: average number of documents that contain the whole source (see benchmarks/similar_costs.py).
_SHARING = 4.0
#: Replaces c - 1 in the cost formula for c = 1.
_OF_ONE_TOKEN = 1 / 6
_NO_HASHES = np.empty(0, np.uint64)
#: Without costs, a plan has the number of tokens that finds the fewest documents at this distance below the threshold
#: (10 percentage points).
_NEAR_POINTS_BELOW = Fraction(10, 100)


@dataclass(frozen=True, slots=True)
class Branch:
    """Part of a plan's query: the look-ups for a range of document sizes.

    Args:
        smallest_size, largest_size: Distinct shingles of the smallest and largest document; None for no limit.
        level: Highest look-up level of the documents of the branch. The index has at least the fraction 2**-level of
            their hashes.
        tokens: Hashes to look up, as a range of indices in the source's sketch, which begins with the smallest hash.
        min_should_match: Number of tokens that a candidate must have; 0 if the branch has no tokens.
        recall: Probability, in [0, 1], that a document of the smallest size just at the threshold becomes a candidate.
        second_recall: Recall of the second phase, which compares the sketches of the branch's candidates.
        promised: Whether documents of the branch at the threshold are found with the wanted recall.
        by_phrases: Whether the branch looks up all shingles of the source as phrases of words, instead of tokens.
    """

    smallest_size: int
    largest_size: int | None
    level: int
    tokens: range
    min_should_match: int
    recall: float
    second_recall: Fraction
    promised: bool
    by_phrases: bool = False


@dataclass(frozen=True, slots=True)
class SketchPlan:
    """Tokens to look up, and their guaranteed recall.

    Args:
        recall: Wanted probability that a document at the threshold is found, a fraction in (0, 1].
        first_recall: Recall of the first phase, the look-ups.
        second_recall: Recall of the second phase, the comparison of sketches.
        branches: Branches in ascending order of document size, without gaps between their ranges.
    """

    metric: Metric
    threshold: Fraction
    recall: Fraction
    first_recall: Fraction
    second_recall: Fraction
    source: Sketch
    branches: tuple[Branch, ...]

    @property
    def source_size(self) -> int:
        return self.source.size

    @property
    def look_up_count(self) -> int:
        """Number of tokens and phrases to look up, counted once for each branch that uses them."""
        return sum(self.source_size if branch.by_phrases else len(branch.tokens) for branch in self.branches)

    @property
    def promised(self) -> bool:
        """Whether hits of every size are found with the wanted recall. Otherwise, the plan is best effort."""
        return all(branch.promised for branch in self.branches)

    def is_hit(self, overlaps: Overlaps) -> npt.NDArray[np.bool_]:
        """Return a mask of the candidates that are hits according to their sketches (the second phase)."""
        is_passing, sizes = np.zeros(len(overlaps.sizes), np.bool_), overlaps.sizes
        for branch in self.branches:
            limit = self.size_limit(branch)
            at = np.flatnonzero((sizes >= branch.smallest_size) & (sizes <= (np.inf if limit is None else limit)))
            if at.size:
                is_passing[at] = judge_overlaps(overlaps.select(at), self.metric, self.threshold, branch.second_recall)
        return is_passing

    def size_limit(self, branch: Branch) -> int | None:
        """Return the largest size of the documents that a branch finds; None if there is no limit.

        If hits may be larger than the source, the last branch has no limit: larger documents may have been added.
        """
        is_open = branch is self.branches[-1] and self.metric.allows_larger
        return None if is_open else branch.largest_size

    def overlap_at(self, size: int, threshold: Fraction | None = None) -> int:
        """Return the number of shingles that a document of `size` must share at a threshold (default: the plan's)."""
        at = self.threshold if threshold is None else threshold
        return least_overlap(self.metric, at, self.source_size, size)

    def nearest_size(self, smallest: int, largest: int | None) -> int:
        """Return the size from `smallest` to `largest` that is nearest to the size of the source."""
        return max(smallest, self.source_size if largest is None else min(self.source_size, largest))


def make_plan(
    source: Sketch,
    criteria: SimilarCriteria,
    *,
    budget: int = BUDGET,
    requests: int = 1,
    costs: Costs | None = None,
    largest_size: int | None = None,
) -> SketchPlan:
    """Return the plan of a calibrated search.

    Args:
        source: Sketch of the source. If it has no shingles, the plan has no branches.
        budget: Number of tokens to look up in a branch, at least 1. The plan uses up to four times the budget
            if the recall requires it, and all tokens if the metric allows smaller hits.
        requests: Maximum number of queries to the index: 2 if a plan with more tokens may follow this one.
        costs: Costs of a look-up and a candidate. If given, the plan has the cheapest number of tokens; if None, the
            number that gives the fewest unwanted candidates.
        largest_size: Distinct shingles of the largest document in the index, if known.
    """
    first, second = criteria.phase_recalls(requests)
    plan = SketchPlan(criteria.metric, criteria.threshold, criteria.recall, first, second, source, ())
    size_ranges = tuple(_size_ranges(plan, budget, largest_size)) if source.size else ()
    if not size_ranges:
        # The source is empty, or no document in the index is large enough to reach the threshold, so look up nothing.
        return plan
    # With given size ranges, branches depend only on the source's size, so sources of one size share cached branches.
    any_source = Sketch(source.scheme, source.size, _NO_HASHES)
    return replace(plan, branches=_branches(replace(plan, source=any_source), size_ranges, costs))


def with_phrases(plan: SketchPlan) -> SketchPlan:
    """Replace tokens by phrases in the branches whose tokens do not reach the wanted recall.

    The second phase then drops only candidates that cannot be hits.
    """
    branches = tuple(
        branch
        if branch.promised
        else replace(
            branch,
            tokens=range(0),
            min_should_match=max(1, plan.overlap_at(branch.smallest_size)),
            recall=1.0,
            second_recall=Fraction(1),
            promised=True,
            by_phrases=True,
        )
        for branch in plan.branches
    )
    return replace(plan, branches=branches)


class _SizeRange(NamedTuple):
    """Range of document sizes with the same level and the same number of tokens to look up."""

    smallest: int
    largest: int | None
    level: int
    token_count: int


def _size_ranges(plan: SketchPlan, budget: int, largest_size: int | None) -> list[_SizeRange]:
    """Split the sizes of possible hits into ranges; a new range begins where fewer tokens can be looked up."""
    if plan.metric is Metric.CONTAINMENT:
        # Containment is a share of the smaller text, so it is B_IN_A for documents smaller than the source, and A_IN_B
        # for other documents.
        below = _lowest(plan.source_size - 1, largest_size)
        ranges = _size_ranges(replace(plan, metric=Metric.B_IN_A), budget, below)
        for size_range in _size_ranges(replace(plan, metric=Metric.A_IN_B), budget, largest_size):
            if size_range.largest is None or size_range.largest >= plan.source_size:
                ranges.append(size_range._replace(smallest=max(size_range.smallest, plan.source_size)))
        return ranges
    source, scheme = plan.source, plan.source.scheme
    smallest, largest = sizes_for(plan.metric, plan.threshold, plan.source_size)
    largest = _lowest(largest, largest_size)
    most = _MOST_BUDGETS * budget
    budget = max(budget, draws_to_meet(plan.source_size, plan.overlap_at(smallest), plan.first_recall, most))
    ranges = []
    level = scheme.lookup_level(smallest)
    while largest is None or smallest <= largest:
        common = max(level, source.level)
        available = source.count_at(common)
        count = available if plan.metric is Metric.B_IN_A else min(available, budget)
        # Without tokens, the level does not matter, so one range has all remaining sizes.
        stop = None if not count else scheme.largest_at(level)
        last = _lowest(stop, largest)
        if ranges and ranges[-1].token_count == count:
            ranges[-1] = ranges[-1]._replace(largest=last, level=common)
        else:
            ranges.append(_SizeRange(smallest, last, common, count))
        if last is None:
            break
        smallest, level = last + 1, level + 1
    return ranges


def _lowest(*limits: int | None) -> int | None:
    """Return the lowest of several upper limits; None means no limit."""
    return min((limit for limit in limits if limit is not None), default=None)


@lru_cache(1024)
def _branches(plan: SketchPlan, size_ranges: tuple[_SizeRange, ...], costs: Costs | None) -> tuple[Branch, ...]:
    """Return a branch for each size range, with the number of tokens that costs least.

    All ranges are computed together: separate calls of numpy would take two to four times as long.
    """
    options = [_token_counts(plan, size_range, costs) for size_range in size_ranges]
    ends = list(accumulate(map(len, options)))
    # A branch has one min-should-match for all of its document sizes. The smallest documents must share the fewest
    # shingles, so the min-should-match is computed for their overlap.
    overlap_rows = [[plan.overlap_at(size_range.smallest) for size_range in size_ranges]]
    if is_open := costs is None and ends[-1] > len(size_ranges):
        nearest = [plan.nearest_size(size_range.smallest, size_range.largest) for size_range in size_ranges]
        at = (plan.threshold, plan.threshold - _NEAR_POINTS_BELOW)
        overlap_rows += [[plan.overlap_at(size, threshold) for size in nearest] for threshold in at]
    overlaps = [
        overlap for overlaps_at in overlap_rows for overlap, own in zip(overlaps_at, options, strict=True) for _ in own
    ]
    drawn = np.array([*chain.from_iterable(options)] * len(overlap_rows), dtype=np.int64)
    distributions = Tails(plan.source_size, np.array(overlaps, dtype=np.int64), drawn)
    drawn = drawn[: ends[-1]]
    minima = distributions.largest_least(plan.first_recall).reshape(len(overlap_rows), -1)
    # If no min-should-match reaches the recall, the branch is best effort with one token.
    least = [np.maximum(1, minima[0]), *([minima[1], minima[1]] if is_open else [])]
    tails = distributions.from_least(np.concatenate(least)).reshape(len(overlap_rows), -1)
    prices = np.zeros(ends[-1])
    if costs is not None:
        # The price is the cost in microseconds; infinity if the recall is too low.
        candidates = _SHARING / np.maximum(minima[0] - 1, _OF_ONE_TOKEN)
        prices = np.where(minima[0] > 0, drawn * (costs.look_up + costs.candidate * candidates), np.inf)
    elif is_open:
        # The price is the probability of finding a document 10 points below the threshold, plus the difference between
        # the recall and the wanted recall; infinity if the recall is too low. With slightly fewer tokens, the recall of
        # the largest sufficient min-should-match is often closer to the wanted recall.
        prices = np.where(minima[1] > 0, tails[2] + tails[1] - float(plan.first_recall), np.inf)
    branches = []
    for size_range, own, end in zip(size_ranges, options, ends, strict=True):
        own_prices = prices[end - len(own) : end]
        # If no min-should-match reaches the wanted recall, all tokens give the highest recall.
        place = int(np.argmin(own_prices)) if np.isfinite(own_prices).any() else len(own) - 1
        row = end - len(own) + place
        branches.append(_branch(plan, size_range, own[place], int(least[0][row]), float(tails[0, row])))
    return tuple(branches)


def _token_counts(plan: SketchPlan, size_range: _SizeRange, costs: Costs | None) -> range:
    """Return the possible numbers of tokens to look up for a range of document sizes."""
    most = size_range.token_count
    # A small part of the source shares few of its shingles, so look up all tokens.
    is_smaller = size_range.smallest < plan.source_size
    is_within = plan.metric is Metric.B_IN_A or (plan.metric is Metric.CONTAINMENT and is_smaller)
    # Looking up all shingles of the source misses nothing, so look up fewer only to lower the costs.
    if not most or (most == plan.source_size and costs is None) or is_within:
        return range(most, most + 1)
    # The smallest documents share the fewest shingles, so a number of tokens that is enough for them is enough for all.
    to_promise = draws_to_meet(plan.source_size, plan.overlap_at(size_range.smallest), plan.first_recall, most)
    least = int(most * _LEAST_SHARE_OF_TOKENS) if costs is None else 1
    return range(max(1, least, to_promise), most + 1)


def _branch(plan: SketchPlan, size_range: _SizeRange, count: int, minimum: int, recall: float) -> Branch:
    second = plan.second_recall
    # If the look-ups reach the wanted recall, but not `first_recall`, the comparison of sketches must keep every hit.
    # The look-ups leave some of the allowed misses unused. The comparison cannot use them, because the misses of both
    # phases depend on the source's sketch, and so are not independent.
    if plan.recall <= recall < plan.first_recall:
        second = Fraction(1)
    smallest, largest, level, _ = size_range
    promised = recall >= float(plan.recall) - SLACK
    return Branch(smallest, largest, level, range(count), min(minimum, count), recall, second, promised)


#: A candidate that may be a part of the source must share `_LEAST_WITHIN` uncommon shingles, or the fraction 1 /
#: `_FRACTION_WITHIN` of the source's uncommon shingles, if this is less.
_LEAST_WITHIN, _FRACTION_WITHIN = 20, 4


@dataclass(frozen=True, slots=True)
class ResidualPlan:
    """Plan of a search whose threshold ignores common text.

    Args:
        metric: Metric of the threshold, without common text.
        source_size: Number of distinct shingles of the source, including common shingles.
        candidates: Plan that finds documents with enough of the source's uncommon shingles.
    """

    metric: Metric
    threshold: Fraction
    recall: Fraction
    source_size: int
    candidates: SketchPlan

    @property
    def uncommon_size(self) -> int:
        """Number of distinct shingles of the source that are not common; 0 if its whole text is common."""
        return self.candidates.source_size

    @property
    def least_shared(self) -> int:
        """Number of uncommon shingles that a candidate must share with the source."""
        return self.candidates.overlap_at(self.uncommon_size)

    @property
    def promised(self) -> bool:
        """Whether documents of every size at the threshold are found with the wanted recall."""
        return self.candidates.promised and (not self.metric.allows_smaller or self.least_shared <= 1)


def part_of_source(metric: Metric, threshold: Fraction, uncommon_size: int) -> Fraction:
    """Return the share of the source's `uncommon_size` uncommon shingles that a candidate must have, in (0, 1]."""
    if not metric.allows_smaller or not uncommon_size:
        return metric.as_jaccard(threshold) or threshold
    part = Fraction(max(1, min(_LEAST_WITHIN, -(-uncommon_size // _FRACTION_WITHIN))), uncommon_size)
    return part if metric is Metric.B_IN_A else min(part, threshold)


#: Plans report false positives for the shares that lie this far below the threshold.
_POINTS_BELOW = (Fraction(10, 100), Fraction(20, 100))


def smallest_promised_share(plan: SketchPlan, branch: Branch) -> float | None:
    """Return the smallest share at which a branch finds documents of its smallest size with the wanted recall.

    Return None if the branch already reaches this recall at the threshold, or does not reach it at any share.
    """
    enough = _least_promised(plan, branch)
    if branch.promised or enough > min(plan.source_size, branch.smallest_size):
        return None
    return Shares.of_counts(enough, plan.source_size, branch.smallest_size).measured_by(plan.metric)


def find_promised_size(plan: SketchPlan) -> int | None:
    """Return the smallest n so that documents of n shingles or more are found with the wanted recall, or None."""
    size = None
    for branch in reversed(plan.branches):
        if branch.promised:
            size = branch.smallest_size
            continue
        sizes = range(branch.smallest_size, (branch.largest_size or branch.smallest_size) + 1)
        at = bisect_left(sizes, _least_promised(plan, branch), key=plan.overlap_at)
        return sizes[at] if at < len(sizes) else size
    return size


def _least_promised(plan: SketchPlan, branch: Branch) -> int:
    """Return the number of shingles that a document must share to be found by a branch with the wanted recall."""
    return int(least_good_for(plan.source_size, len(branch.tokens), 1, plan.first_recall))


def false_positives(plan: SketchPlan, branch: Branch) -> tuple[float, float]:
    """Return the probabilities that documents 10 and 20 points below the threshold become candidates.

    They are computed for the size in the branch's range that is nearest to the source's size.
    """
    _, lower = _overlaps_around_threshold(plan, branch)
    near, far = upper_tail(plan.source_size, lower, len(branch.tokens), max(1, branch.min_should_match)).tolist()
    return near, far


def final_false_positives(plan: SketchPlan, branch: Branch) -> tuple[float, float]:
    """Return approximate upper limits of the probability that a document 10 or 20 points below the threshold is a hit.

    They are computed for the size in the branch's range that is nearest to the source's size.
    """
    size = plan.nearest_size(branch.smallest_size, branch.largest_size)
    level = max(plan.source.level, plan.source.scheme.level(size))
    # The hit's sketch is unknown; take the average number of hashes at this level.
    counts = (np.array([number], dtype=np.int64) for number in (size, plan.source.count_at(level), size >> level))
    population, drawn = population_and_draws(plan.metric, plan.source_size, *counts)
    needed, lower = _overlaps_around_threshold(plan, branch)
    passing = upper_tail(population, lower, drawn, min_should_match_for(population, needed, drawn, plan.second_recall))
    # At level 0, the comparison is exact, so documents below the threshold never pass.
    passing[(level == 0) & (np.array(lower) < needed)] = 0.0
    near, far = np.minimum(false_positives(plan, branch), passing).tolist()
    return near, far


def _overlaps_around_threshold(plan: SketchPlan, branch: Branch) -> tuple[int, list[int]]:
    """Return the numbers of shared shingles at the threshold, and 10 and 20 percentage points below it.

    They are computed for the size in the branch's range that is nearest to the source's size.
    """
    size = plan.nearest_size(branch.smallest_size, branch.largest_size)
    return plan.overlap_at(size), [plan.overlap_at(size, plan.threshold - points) for points in _POINTS_BELOW]
