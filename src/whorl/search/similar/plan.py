"""Plans a sketch search with a stated recall: tokens to look up, how many must match, and the error rates.

A branch of the plan looks up the m smallest hashes of the source's sketch, among documents in a range of sizes whose
index entries are complete for these hashes. Hashes are uniform and a document's look-up level depends only on its size,
so the m tokens are a uniform sample of the source's a shingles. A document that shares I shingles therefore has X ~
Hypergeometric(a, I, m) of them in the index: exactly, for any size, except for a few accidental matches
(`sketch.sketch`), which never make a document harder to find. The largest min-should-match c with P(X >= c) >= recall,
at the least I that reaches the threshold, then finds every document at or above the threshold with at least that
probability, over the choice of the hash function.

Two phases share the allowed misses: few tokens at recall 1 - (1 - p) / 5, then `verify.judge_overlaps` at 1 - 4 (1 - p)
/ 5 on the whole sketches of the candidates. Together they miss at most 1 - p. If a branch reaches the recall p, but not
the first phase's recall, its second phase drops only documents that cannot be at the threshold.

The number of tokens is a matter of precision, or of cost. If look-ups are expensive for an engine, as in an index of
many segments, few tokens and more candidates for the second phase are faster: if D / s documents contain a share s of
the source or more, the number of those with c of m tokens is on average

    the integral of P(Binomial(m, s) >= c) over -d(D / s), and D themselves = D m / (c - 1)    for c >= 2

so that m look-ups and their candidates cost m (look-up + D candidate / (c - 1)). Text common to many documents can
produce far more candidates from a few tokens. Then the index is queried again with all tokens of the budget; each of
the two plans has half of the first phase's share of the misses, so that the recall holds whichever plan is used (and
`SketchPlan.first_recall` is 1 - (1 - p) / 10).

A source of few shingles may have no token in a large document. `with_phrases` then plans to look up all of its shingles
as phrases in the index of words, which lists every document with such a phrase.

A recall of 1 requires the tokens that every document at the threshold must have. That is useful if all of the source's
shingles are looked up and both sketches are complete, and otherwise mostly best effort.

`ResidualPlan` is the plan of a search whose threshold ignores common text. Let R be the a shingles of the source that
are not common; let I be the number of them in a document, and b the number of the document's own shingles that are not
common. b is unknown before the document's text is read, since documents are indexed with all of their shingles. So
candidates are the documents with enough of R, whatever their size:

    a_in_b    I / a >= t
    jaccard   I / (a + b - I) >= t, which implies I / a >= t, since b >= I
    b_in_a    I / b >= t, which implies nothing about I / a: a document with little text beyond common text may be
              contained in the source completely. Candidates must have `ResidualPlan.least_shared` shingles of R.
    containment  I / a >= t or I / b >= t: candidates of either

Look-ups and second phase work as above and with the same recall, for R instead of the source and for documents that
contain a part of R. The texts of the results are read and counted exactly. Two texts together mark more words as
common than either alone, a dozen at the ends of a form. The words that this removes from R are also in the document,
except for a few shingles that extend beyond a passage, so a document at the threshold has the required share of R.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, chain
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from whorl.engine.protocol import Costs
from whorl.errors import ParameterError
from whorl.fingerprint.sketch.sketch import Overlaps, Sketch
from whorl.fingerprint.statistics.estimate import judge_overlaps, law
from whorl.fingerprint.statistics.hypergeometric import (
    SLACK,
    Counts,
    Floats,
    Tails,
    draws_to_meet,
    least_good_for,
    min_should_match_for,
    reaches,
    upper_tail,
)
from whorl.fingerprint.statistics.metric import Metric, Shares, least_overlap, require_fraction, sizes_for
from whorl.search.similar.options import SimilarCriteria

#: Tokens of a branch that is followed by a second phase.
BUDGET_OF_TWO_PHASES = 64
#: Metrics that find small documents within the source.
FINDS_WITHIN = (Metric.B_IN_A, Metric.CONTAINMENT)
#: Share of the allowed misses that the first phase may use.
_FIRST_PART = Fraction(1, 5)
#: Largest multiple of the budget that is looked up to keep the promised recall.
_MOST_BUDGETS = 4
#: Smallest share of the tokens to look up. Because the distribution is discrete, leaving out some tokens can bring the
#: recall closer to the wanted one.
_LEAST_PART = 0.85
#: D of the module's cost law: documents that contain all of a source; measured by benchmarks/similar_costs.py.
_SHARING = 4.0
#: Replaces c - 1 if one token is enough: the integral then grows with the logarithm of the source's size.
_OF_ONE_TOKEN = 1 / 6
_NO_HASHES = np.empty(0, np.uint64)
#: Distance below the threshold of documents that should not be found.
_NEAR_POINTS_BELOW = Fraction(10, 100)


@dataclass(frozen=True, slots=True)
class Branch:
    """Range of document sizes, with the condition for candidates of these sizes.

    Args:
        smallest_size: Distinct shingles of the smallest document.
        largest_size: Distinct shingles of the largest document, None for no limit.
        level: Coarsest look-up level of the documents of the branch.
        tokens: Range of the sketch's hashes to look up, in their order: the smallest ones.
        min_should_match: Tokens that a document of the smallest size must have; 0 if there are none to look up. Valid
            as a filter for larger documents too, and coarser than `SketchPlan.is_candidate`.
        recall: Probability that a document of the smallest size just at the threshold becomes a candidate, in [0, 1].
        second_recall: Recall of the second phase for the branch's candidates; None without a second phase.
        promised: Whether documents of the branch at the threshold are found with the wanted recall.
        by_phrases: Whether to look up all shingles of the source as phrases of words, instead of tokens.
    """

    smallest_size: int
    largest_size: int | None
    level: int
    tokens: range
    min_should_match: int
    recall: float
    second_recall: Fraction | None
    promised: bool
    by_phrases: bool = False


@dataclass(frozen=True, slots=True)
class SketchPlan:
    """Tokens to look up, and the recall that they guarantee.

    Args:
        recall: Wanted probability that a document at the threshold is found, a fraction in (0, 1].
        first_recall: Recall of the look-ups.
        second_recall: Recall of the second phase; None without one.
        branches: Branches by ascending size, without gaps.
    """

    metric: Metric
    threshold: Fraction
    recall: Fraction
    first_recall: Fraction
    second_recall: Fraction | None
    source: Sketch
    branches: tuple[Branch, ...]

    @property
    def source_size(self) -> int:
        """Distinct shingles of the source."""
        return self.source.size

    @property
    def look_ups(self) -> int:
        """Number of look-ups: tokens or phrases, counted once for each branch that uses them."""
        return sum(self.source_size if branch.by_phrases else len(branch.tokens) for branch in self.branches)

    @property
    def promised(self) -> bool:
        """Whether documents of every size are found with the wanted recall; otherwise the plan is best effort."""
        return all(branch.promised for branch in self.branches)

    def is_candidate(self, sizes: npt.NDArray[np.int64], shared: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return the documents that pass the first phase, each tested for its own size.

        Documents that share enough are never lost here, but accidental matches are possible: a document with n shingles
        has a share of n / 2**bits of the tokens by accident. The second phase drops these; without one they are hits.
        """
        is_found = np.zeros(len(sizes), dtype=np.bool_)
        needed = np.array([self.overlap_at(size) for size in sizes.tolist()], dtype=np.int64)
        is_possible = (shared >= 1) & (needed <= np.minimum(self.source_size, sizes))
        for branch, is_own in self._by_branch(sizes):
            at = np.flatnonzero(is_own & is_possible)
            is_found[at] = reaches(self.source_size, needed[at], len(branch.tokens), shared[at], self.first_recall)
        return is_found

    def is_hit(self, overlaps: Overlaps) -> npt.NDArray[np.bool_]:
        """Return the candidates that pass the second phase; all without a second phase."""
        is_passing = np.full(len(overlaps.sizes), self.second_recall is None)
        for branch, is_own in self._by_branch(overlaps.sizes):
            at = np.flatnonzero(is_own)
            if branch.second_recall is not None and at.size:
                is_passing[at] = judge_overlaps(overlaps.of(at), self.metric, self.threshold, branch.second_recall)
        return is_passing

    def _by_branch(self, sizes: npt.NDArray[np.int64]) -> Iterator[tuple[Branch, npt.NDArray[np.bool_]]]:
        for branch in self.branches:
            is_own = sizes >= branch.smallest_size
            yield branch, is_own if branch.largest_size is None else is_own & (sizes <= branch.largest_size)

    def overlap_at(self, size: int, threshold: Fraction | None = None) -> int:
        """Return the shingles that a document of `size` must share to reach a threshold, by default the plan's.

        For a size within a branch the result does not exceed either size.
        """
        at = self.threshold if threshold is None else threshold
        return least_overlap(self.metric, at, self.source_size, size)

    def nearest_size(self, smallest: int, largest: int | None) -> int:
        """Return the size nearest to the source's in a range; `largest` None means no upper limit."""
        return max(smallest, self.source_size if largest is None else min(self.source_size, largest))


def make_plan(
    source: Sketch,
    criteria: SimilarCriteria,
    *,
    budget: int = BUDGET_OF_TWO_PHASES,
    phases: Literal[1, 2] = 2,
    asks: Literal[1, 2] = 1,
    costs: Costs | None = None,
    largest_size: int | None = None,
) -> SketchPlan:
    """Return the plan of a calibrated search.

    Args:
        source: Sketch of the source. A source without shingles gives a plan without branches.
        criteria: Options of the search.
        budget: Tokens to look up in a branch, at least 1; 64 suit two phases, 128 to 256 a single one. Up to four times
            as many are looked up if the promised recall requires them (a threshold of 5 % with recall 99 %), and all
            tokens to find small documents within the source, which takes no fewer.
        phases: 2 if the sketches of candidates are fetched and verified, 1 if the look-ups decide alone.
        asks: 2 if the index may be queried with this plan and then with another one, made with the same number.
        costs: Costs that determine the number of tokens; without them it is the number with the fewest unwanted
            candidates.
        largest_size: Distinct shingles of the largest document in the index, if known.
    """
    metric, threshold, recall = criteria.metric, criteria.threshold, criteria.recall
    require_fraction("threshold", threshold)
    require_fraction("recall", recall)
    if budget < 1 or phases not in (1, 2):
        raise ParameterError(f"budget must be at least 1 and phases 1 or 2, got {budget} and {phases}")
    first, second = _phases(recall, asks) if phases == 2 else (recall, None)
    plan = SketchPlan(metric, threshold, recall, first, second, source, ())
    if not source.size:
        return plan
    groups = tuple(_groups(plan, budget, largest_size))
    if not groups:
        # Every document of the index is too small to reach the threshold.
        return plan
    # The number of tokens depends on the size of the source only, so the cached branches hold for any source of that
    # size.
    any_source = Sketch(source.scheme, source.size, _NO_HASHES)
    branches = _branches(SketchPlan(metric, threshold, recall, first, second, any_source, ()), groups, costs)
    return SketchPlan(metric, threshold, recall, first, second, source, branches)


def with_phrases(plan: SketchPlan) -> SketchPlan:
    """Return a plan that looks up phrases where tokens do not promise the wanted recall.

    Every candidate then has the required shingles. The second phase drops only candidates that cannot be hits.
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


@lru_cache
def _phases(recall: Fraction, asks: int) -> tuple[Fraction, Fraction]:
    return 1 - _FIRST_PART / asks * (1 - recall), 1 - (1 - _FIRST_PART) * (1 - recall)


class _SizeRange(NamedTuple):
    """Range of document sizes whose look-up levels offer the same tokens."""

    smallest: int
    largest: int | None
    level: int
    token_count: int


def _groups(plan: SketchPlan, budget: int, largest_size: int | None) -> Iterator[_SizeRange]:
    """Yield the size ranges of possible hits, split where the look-up level changes the available tokens."""
    if plan.metric is Metric.CONTAINMENT:
        # A smaller document counts by its own share, a larger one by the source's.
        below = plan.source_size - 1 if largest_size is None else min(plan.source_size - 1, largest_size)
        yield from _groups(replace(plan, metric=Metric.B_IN_A), budget, below)
        for group in _groups(replace(plan, metric=Metric.A_IN_B), budget, largest_size):
            if group.largest is None or group.largest >= plan.source_size:
                yield group._replace(smallest=max(group.smallest, plan.source_size))
        return
    source, scheme = plan.source, plan.source.scheme
    smallest, largest = sizes_for(plan.metric, plan.threshold, plan.source_size)
    if largest_size is not None:
        largest = largest_size if largest is None else min(largest, largest_size)
    most = _MOST_BUDGETS * budget
    budget = max(budget, draws_to_meet(plan.source_size, plan.overlap_at(smallest), plan.first_recall, most))
    pending: _SizeRange | None = None
    level = scheme.lookup_level(smallest)
    while largest is None or smallest <= largest:
        common = max(level, source.level)
        available = source.count_at(common)
        count = available if plan.metric is Metric.B_IN_A else min(available, budget)
        # Without tokens left, larger sizes change nothing.
        stop = None if not count else scheme.largest_at(level)
        last = stop if largest is None else largest if stop is None else min(stop, largest)
        if pending and pending.token_count == count:
            pending = pending._replace(largest=last, level=common)
        else:
            if pending:
                yield pending
            pending = _SizeRange(smallest, last, common, count)
        if last is None:
            break
        smallest, level = last + 1, level + 1
    if pending:
        yield pending


@lru_cache(1024)
def _branches(plan: SketchPlan, groups: tuple[_SizeRange, ...], costs: Costs | None) -> tuple[Branch, ...]:
    """Return the branches of groups, each with the cheapest number of tokens.

    Only the size of the plan's source matters.
    """
    options = [_options(plan, group, costs) for group in groups]
    ends = list(accumulate(map(len, options)))
    # The engine's filter uses the overlap of the smallest documents of a group.
    overlaps_of_groups = [[plan.overlap_at(group.smallest) for group in groups]]
    if is_open := costs is None and ends[-1] > len(groups):
        nearest = [plan.nearest_size(group.smallest, group.largest) for group in groups]
        at = (plan.threshold, plan.threshold - _NEAR_POINTS_BELOW)
        overlaps_of_groups += [[plan.overlap_at(size, threshold) for size in nearest] for threshold in at]
    # For few numbers, Python lists are faster than numpy's repeat.
    overlaps = [
        overlap
        for overlaps_at in overlaps_of_groups
        for overlap, own in zip(overlaps_at, options, strict=True)
        for _ in own
    ]
    drawn = np.array([*chain.from_iterable(options)] * len(overlaps_of_groups), dtype=np.int64)
    laws = Tails(plan.source_size, np.array(overlaps, dtype=np.int64), drawn)
    drawn = drawn[: ends[-1]]
    minima = laws.largest_least(plan.first_recall).reshape(len(overlaps_of_groups), -1)
    # If no min-should-match reaches the recall, look for one token, as best effort.
    least = [np.maximum(1, minima[0]), *([minima[1], minima[1]] if is_open else [])]
    tails = laws.from_least(np.concatenate(least)).reshape(len(overlaps_of_groups), -1)
    prices = np.zeros(ends[-1])
    if costs is not None:
        prices = _price(drawn, minima[0], costs)
    elif is_open:
        prices = _imprecision(plan, minima[1], tails[1], tails[2])
    branches = []
    for group, own, end in zip(groups, options, ends, strict=True):
        costs_of_group = prices[end - len(own) : end]
        # If no min-should-match reaches the recall, all tokens come nearest to it.
        place = int(np.argmin(costs_of_group)) if np.isfinite(costs_of_group).any() else len(own) - 1
        row = end - len(own) + place
        branches.append(_branch(plan, group, own[place], int(least[0][row]), float(tails[0, row])))
    return tuple(branches)


def _options(plan: SketchPlan, group: _SizeRange, costs: Costs | None) -> range:
    most = group.token_count
    # If all shingles are looked up, the test is exact, so fewer tokens can only save costs.
    is_within = plan.metric is Metric.B_IN_A or (
        plan.metric is Metric.CONTAINMENT and group.smallest < plan.source_size
    )
    if not most or (most == plan.source_size and costs is None) or is_within:
        return range(most, most + 1)
    # The smallest documents share the fewest shingles; keep enough tokens to promise their recall.
    to_promise = draws_to_meet(plan.source_size, plan.overlap_at(group.smallest), plan.first_recall, most)
    least = int(most * _LEAST_PART) if costs is None else 1
    return range(max(1, least, to_promise), most + 1)


def _imprecision(plan: SketchPlan, minima: Counts, recalls: Floats, unwanted: Floats) -> Floats:
    """Return the price of each number of tokens in precision and excess recall; infinity below the recall.

    The law is discrete: with m tokens no min-should-match may give exactly the wanted recall, while with slightly fewer
    tokens one often does. The price is the probability of finding a document 10 points below the threshold plus the
    excess recall.

    `minima` has the min-should-match of each number of tokens, 0 if none reaches the recall; `recalls` and `unwanted`
    have the probabilities of finding a document at the threshold, and 10 points below it.
    """
    return np.where(minima > 0, unwanted + recalls - float(plan.first_recall), np.inf)


def _price(drawn: Counts, minima: Counts, costs: Costs) -> Floats:
    """Return the cost of each number of tokens in microseconds, by the module's law; infinity below the recall."""
    candidates = _SHARING / np.maximum(minima - 1, _OF_ONE_TOKEN)
    return np.where(minima > 0, drawn * (costs.look_up + costs.candidate * candidates), np.inf)


def _branch(plan: SketchPlan, group: _SizeRange, count: int, minimum: int, recall: float) -> Branch:
    second = plan.second_recall
    # A recall that depended on this branch's recall, and so on the source's sketch, would void the second phase's
    # promise.
    if second is not None and not _is_below(recall, plan.recall) and _is_below(recall, plan.first_recall):
        second = Fraction(1)
    return Branch(
        smallest_size=group.smallest,
        largest_size=group.largest,
        level=group.level,
        tokens=range(count),
        min_should_match=min(minimum, count),
        recall=recall,
        second_recall=second,
        promised=recall >= float(plan.recall) - SLACK,
    )


def _is_below(number: float, fraction: Fraction) -> bool:
    """Return `number < fraction` exactly, twenty times as fast as the operator."""
    numerator, denominator = number.as_integer_ratio()
    return numerator * fraction.denominator < fraction.numerator * denominator


#: Minimum for candidates within the source: this number of shingles, or this fraction (1 / n) of the source's rest.
_LEAST_WITHIN, _PART_WITHIN = 20, 4


@dataclass(frozen=True, slots=True)
class ResidualPlan:
    """Candidates of the search without common text, and the recall that the search guarantees.

    Args:
        metric: Metric that the threshold applies to, without common text.
        source_size: Distinct shingles of the source, common ones included.
        candidates: Plan that finds documents with enough of the source's rest.
    """

    metric: Metric
    threshold: Fraction
    recall: Fraction
    source_size: int
    candidates: SketchPlan

    @property
    def left(self) -> int:
        """Distinct shingles of the source that are not common."""
        return self.candidates.source_size

    @property
    def least_shared(self) -> int:
        """Minimum number of the source's non-common shingles that a candidate must have."""
        return self.candidates.overlap_at(self.left)

    @property
    def promised(self) -> bool:
        """Whether documents at the threshold are found with the wanted recall, whatever their size and common text."""
        return self.candidates.promised and (self.metric not in FINDS_WITHIN or self.least_shared <= 1)


def part_of_source(metric: Metric, threshold: Fraction, left: int) -> Fraction:
    """Return the share of the source's uncommon shingles that makes a document a candidate, in (0, 1]."""
    if metric not in FINDS_WITHIN or not left:
        return threshold
    part = Fraction(max(1, min(_LEAST_WITHIN, -(-left // _PART_WITHIN))), left)
    return part if metric is Metric.B_IN_A else min(part, threshold)


_POINTS_BELOW = (Fraction(10, 100), Fraction(20, 100))


def reach(plan: SketchPlan, branch: Branch) -> float | None:
    """Return the lowest value of the metric at which the branch promises to find its smallest documents.

    Returns:
        A fraction up to 1; None if they are promised at the threshold already, or at no value.
    """
    if branch.promised:
        return None
    enough = int(least_good_for(plan.source_size, len(branch.tokens), 1, plan.first_recall))
    is_possible = enough <= min(plan.source_size, branch.smallest_size)
    return Shares.of_counts(enough, plan.source_size, branch.smallest_size).by(plan.metric) if is_possible else None


def promised_size(plan: SketchPlan) -> int | None:
    """Return the smallest size of documents for which the recall is promised; None without a promise.

    A share of a small document is few shingles, and a search may not look up any of these.
    """
    size = None
    for branch in reversed(plan.branches):
        if branch.promised:
            size = branch.smallest_size
            continue
        enough = int(least_good_for(plan.source_size, len(branch.tokens), 1, plan.first_recall))
        sizes = range(branch.smallest_size, (branch.largest_size or branch.smallest_size) + 1)
        at = bisect_left(sizes, enough, key=plan.overlap_at)
        return sizes[at] if at < len(sizes) else size
    return size


def false_positives(plan: SketchPlan, branch: Branch) -> tuple[float, float]:
    """Return the probabilities that documents 10 and 20 points below the threshold become candidates.

    They hold for the document size of the branch nearest to the source's, after `SketchPlan.is_candidate`.
    """
    needed, lower = _overlaps_around_threshold(plan, branch)
    tokens = len(branch.tokens)
    minimum = max(1, int(min_should_match_for(plan.source_size, needed, tokens, plan.first_recall)))
    near, far = upper_tail(plan.source_size, lower, tokens, minimum).tolist()
    return near, far


def final_false_positives(plan: SketchPlan, branch: Branch) -> tuple[float, float]:
    """Return approximate upper limits of the probabilities of `false_positives` after the second phase."""
    near, far = false_positives(plan, branch)
    if plan.second_recall is None:
        return near, far
    size = plan.nearest_size(branch.smallest_size, branch.largest_size)
    level = max(plan.source.level, plan.source.scheme.level(size))
    # The number of a hit's hashes at the common level is unknown; use the average.
    counts = (np.array([number], dtype=np.int64) for number in (size, plan.source.count_at(level), size >> level))
    population, drawn = law(plan.metric, plan.source_size, *counts)
    needed, lower = _overlaps_around_threshold(plan, branch)
    passing = upper_tail(population, lower, drawn, min_should_match_for(population, needed, drawn, plan.second_recall))
    # At level 0 all shingles are compared, so no document below the threshold passes.
    passing[(level == 0) & (np.array(lower) < needed)] = 0.0
    near, far = np.minimum((near, far), passing).tolist()
    return near, far


def _overlaps_around_threshold(plan: SketchPlan, branch: Branch) -> tuple[int, list[int]]:
    """For the size nearest to the source's, return the overlap at the threshold, and those 10 and 20 points below."""
    size = plan.nearest_size(branch.smallest_size, branch.largest_size)
    return plan.overlap_at(size), [plan.overlap_at(size, plan.threshold - points) for points in _POINTS_BELOW]
