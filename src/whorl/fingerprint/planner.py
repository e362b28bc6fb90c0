"""From a threshold and a wanted recall to the tokens to ask for and how many of them a candidate must have.

A branch of the plan asks the m smallest hashes of the source's sample, of documents in a range of sizes whose own
samples hold those hashes if they hold them at all. Hashes are uniform and a document's level depends on its size
alone, so the m tokens are a uniform choice of the source's a shingles, and of them a document that shares I shingles
has X ~ Hypergeometric(a, I, m) in the index: exactly, whatever the sizes. The largest min-should-match c with
P(X >= c) >= recall, at the least I that reaches the threshold, then finds every document at or above the threshold
with at least that chance, over the choice of the hash.

In two phases the promise is shared out: few tokens at recall 1 - (1 - p) / 5, then, on the whole samples of those
found, `judgement.judge` at 1 - 4 (1 - p) / 5. Both together miss at most 1 - p. Where a branch cannot hold the first
share, but p, the second phase drops only what cannot be at the threshold.

A recall of 1 asks for what no document at the threshold can lack. That is a useful plan where all of the source's
shingles are asked and both samples are complete, and elsewhere mostly only best effort.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from whorl.errors import ParameterError
from whorl.fingerprint.calibration import Branch, Plan, Step
from whorl.fingerprint.judgement import law
from whorl.fingerprint.metrics import Metric, least_overlap, require_threshold, share, sizes_for
from whorl.fingerprint.sample import Sample
from whorl.fingerprint.tails import (
    SLACK,
    Counts,
    Floats,
    least_good_for,
    min_should_match_for,
    require_probability,
    upper_tail,
)

#: Tokens of a branch where a second phase follows.
BUDGET_OF_TWO_PHASES = 64
#: The first phase's part of what may be missed.
_FIRST_PART = Fraction(1, 5)
#: So many times the budget is asked where a promise takes it.
_MOST_BUDGETS = 4
#: Tokens that may be left out, so that the steps of the law come to lie near the wanted recall.
_LEAST_PART = 0.85
#: Parts into which a branch's sizes are cut for `steps`.
_STEPS = 8
_POINTS = (Fraction(10, 100), Fraction(20, 100))


def make_plan(
    source: Sample,
    metric: Metric,
    threshold: Fraction,
    recall: Fraction,
    *,
    budget: int = BUDGET_OF_TWO_PHASES,
    phases: Literal[1, 2] = 2,
    largest_size: int | None = None,
) -> Plan:
    """Return the plan of a calibrated search.

    Args:
        source: Sample of the source. Without shingles it has no branches.
        metric: What the threshold is a share of.
        threshold: Fraction in (0, 1].
        recall: Wanted chance to find a document just at the threshold, a fraction in (0, 1].
        budget: Tokens to ask in a branch, at least 1; 64 serve two phases, 128 to 256 one. Up to four times as many
            are asked where a promise takes them (a threshold of 5 % with recall 99 %), and all that there are with
            Metric.WITHIN: to find small documents within a large one takes no less.
        phases: 2 where the samples of candidates are fetched and judged, 1 where the look-ups have the last word.
        largest_size: Distinct shingles of the largest document in the index, where that is known.

    Raises:
        ParameterError: An argument is outside its range.
    """
    require_threshold(threshold)
    require_probability("recall", recall)
    if budget < 1 or phases not in (1, 2):
        raise ParameterError(f"budget must be at least 1 and phases 1 or 2, got {budget} and {phases}")
    first, second = recall, None
    if phases == 2:
        first, second = 1 - _FIRST_PART * (1 - recall), 1 - (1 - _FIRST_PART) * (1 - recall)
    plan = Plan(metric, threshold, recall, first, second, source.size, source.level, ())
    if not source.size:
        return plan
    groups = list(_groups(source, plan, budget, largest_size))
    if not groups:
        # Every document of the index is too small to reach the threshold.
        return plan
    return replace(plan, branches=tuple(_branches(source, plan, groups, _token_counts(plan, groups))))


@dataclass(frozen=True, slots=True)
class _Group:
    """Sizes whose levels offer the same tokens."""

    smallest: int
    largest: int | None
    level: int
    token_count: int

    def nearest(self, size: int) -> int:
        """Return the size in the group that is nearest to another."""
        return max(self.smallest, size if self.largest is None else min(size, self.largest))


def _groups(source: Sample, plan: Plan, budget: int, largest_size: int | None) -> Iterator[_Group]:
    """Yield the sizes that a hit can have, cut where its level changes the tokens that can be asked."""
    scheme = source.scheme
    smallest, largest = sizes_for(plan.metric, plan.threshold, plan.source_size)
    if largest_size is not None:
        largest = largest_size if largest is None else min(largest, largest_size)
    overlap = min(plan.source_size, plan.overlap_at(smallest))
    to_promise = int(least_good_for(plan.source_size, overlap, 1, plan.first_recall))
    budget = max(budget, min(to_promise, _MOST_BUDGETS * budget))
    pending: _Group | None = None
    level = scheme.level(smallest)
    while largest is None or smallest <= largest:
        common = max(level, plan.source_level)
        available = source.count_at(common)
        count = available if plan.metric is Metric.WITHIN else min(available, budget)
        # Beyond the last token nothing changes any more.
        stop = None if not count else scheme.sizes_of_level(level).stop - 1
        last = stop if largest is None else largest if stop is None else min(stop, largest)
        if pending and pending.token_count == count:
            pending = replace(pending, largest=last, level=common)
        else:
            if pending:
                yield pending
            pending = _Group(smallest, last, common, count)
        if last is None:
            break
        smallest, level = last + 1, level + 1
    if pending:
        yield pending


def _token_counts(plan: Plan, groups: list[_Group]) -> Counts:
    """Return how many tokens each group asks: those that cost the least precision and unasked-for recall.

    The law is one of whole numbers: with m tokens no min-should-match may give just the wanted recall, while a few
    tokens fewer often do. The cost is the chance to be found 10 points below the threshold plus the recall in excess.
    """
    most = np.array([group.token_count for group in groups], dtype=np.int64)
    # Where all shingles are asked the test is exact and nothing can be gained.
    is_fixed = (most == plan.source_size) | (plan.metric is Metric.WITHIN)
    least = np.where(is_fixed, most, np.maximum(np.minimum(1, most), (most * _LEAST_PART).astype(np.int64)))
    # The smallest documents share the fewest shingles: no promise to them is given away.
    smallest = [min(plan.source_size, plan.overlap_at(group.smallest)) for group in groups]
    least = np.maximum(least, np.minimum(most, least_good_for(plan.source_size, smallest, 1, plan.first_recall)))
    options = [range(first, last + 1) for first, last in zip(least.tolist(), most.tolist(), strict=True)]
    owners = np.repeat(np.arange(len(groups)), most - least + 1)
    drawn = np.concatenate([np.array(option, dtype=np.int64) for option in options])
    needed, lower, _ = _overlaps_near(plan, groups)
    minima = min_should_match_for(plan.source_size, needed[owners], drawn, plan.first_recall)
    recalls = upper_tail(plan.source_size, needed[owners], drawn, minima)
    costs = upper_tail(plan.source_size, lower[owners], drawn, minima) + recalls - float(plan.first_recall)
    # Where no minimum holds the recall, all tokens reach farthest.
    costs[minima == 0] = np.inf
    costs[(minima == 0) & (drawn == most[owners])] = 4.0
    best = [np.argmin(np.where(owners == owner, costs, np.inf)) for owner in range(len(groups))]
    return drawn[best]


def _overlaps_near(plan: Plan, groups: list[_Group]) -> Counts:
    """Return the overlaps at the threshold and 10 and 20 points below, at the size nearest to the source's.

    Returns:
        int64 array of shape (3, groups).
    """
    thresholds = (plan.threshold, *(plan.threshold - points for points in _POINTS))
    rows = []
    for size in (group.nearest(plan.source_size) for group in groups):
        most = min(plan.source_size, size)
        rows.append([min(most, least_overlap(plan.metric, at, plan.source_size, size)) for at in thresholds])
    return np.array(rows, dtype=np.int64).T


def _branches(source: Sample, plan: Plan, groups: list[_Group], counts: Counts) -> Iterator[Branch]:
    """Yield the branches of groups that ask `counts` tokens, which are an int64 array of shape (groups,)."""
    size = plan.source_size
    all_steps = _steps(plan, groups, counts)
    needed = np.array([min(size, plan.overlap_at(group.smallest)) for group in groups], dtype=np.int64)
    minima = np.array([steps[0].min_should_match for steps in all_steps], dtype=np.int64)
    recalls = upper_tail(size, needed, counts, np.maximum(1, minima))
    # Only those without a minimum need to know how much would give them one.
    holds = recalls >= float(plan.recall) - SLACK
    enough = np.ones_like(counts)
    enough[~holds] = least_good_for(size, counts[~holds], 1, plan.first_recall)
    first, final = _false_positives(source, plan, groups, counts)
    for at, (group, steps, recall) in enumerate(zip(groups, all_steps, recalls.tolist(), strict=True)):
        promised_from = group.smallest if holds[at] else _first_size(plan, group, int(enough[at]))
        can_reach = not holds[at] and enough[at] <= min(size, group.smallest)
        second = plan.second_recall
        # A share that depended on this recall, and so on the source's sample, would void the second phase's promise.
        if second is not None and plan.recall <= recall < plan.first_recall:
            second = Fraction(1)
        yield Branch(
            smallest_size=group.smallest,
            largest_size=group.largest,
            level=group.level,
            tokens=range(int(counts[at])),
            min_should_match=steps[0].min_should_match,
            steps=steps,
            recall=recall,
            second_recall=second,
            promised=bool(holds[at]),
            promised_from=promised_from,
            reach=share(plan.metric, int(enough[at]), size, group.smallest) if can_reach else None,
            false_positives=(float(first[0, at]), float(first[1, at])),
            final_false_positives=(float(final[0, at]), float(final[1, at])),
        )


def _steps(plan: Plan, groups: list[_Group], counts: Counts) -> list[tuple[Step, ...]]:
    """Return the minima of each group at sizes that cut it into parts of like ratio, where they change."""
    starts = [_starts(plan, group) for group in groups]
    owners = np.repeat(np.arange(len(groups)), [len(own) for own in starts])
    flat = [start for own in starts for start in own]
    needed = np.array([min(plan.source_size, plan.overlap_at(start)) for start in flat], dtype=np.int64)
    drawn = counts[owners]
    # Best effort where no minimum holds the recall: one token.
    minima = np.maximum(np.minimum(1, drawn), min_should_match_for(plan.source_size, needed, drawn, plan.first_recall))
    steps: list[list[Step]] = [[] for _ in groups]
    for owner, start, minimum in zip(owners.tolist(), flat, minima.tolist(), strict=True):
        if not steps[owner] or minimum > steps[owner][-1].min_should_match:
            steps[owner].append(Step(start, minimum))
    return [tuple(own) for own in steps]


def _starts(plan: Plan, group: _Group) -> list[int]:
    if group.largest is None or plan.metric is Metric.CONTAINS:
        return [group.smallest]
    ratio = (group.largest + 1) / group.smallest
    # Any place is a valid one, so floats may choose it.
    return sorted({int(group.smallest * ratio ** (part / _STEPS)) for part in range(_STEPS)} | {group.smallest})


def _first_size(plan: Plan, group: _Group, least: int) -> int | None:
    """Return the first size of a group at which the threshold means at least `least` shared shingles."""
    if plan.overlap_at(group.smallest) >= least:
        return group.smallest
    if group.largest is None or plan.overlap_at(group.largest) < least:
        return None
    sizes = range(group.smallest, group.largest + 1)
    return sizes[bisect_left(sizes, least, key=plan.overlap_at)]


def _false_positives(source: Sample, plan: Plan, groups: list[_Group], counts: Counts) -> tuple[Floats, Floats]:
    """Return the chances of documents 10 and 20 points below the threshold, after the first and after all phases.

    Returns:
        Two float arrays of shape (2, groups).
    """
    needed, *lower = _overlaps_near(plan, groups)
    minima = np.maximum(1, min_should_match_for(plan.source_size, needed, counts, plan.first_recall))
    first = upper_tail(plan.source_size, lower, counts, minima)
    if plan.second_recall is None:
        return first, first
    sizes = np.array([group.nearest(plan.source_size) for group in groups], dtype=np.int64)
    levels = [max(plan.source_level, source.scheme.level(size)) for size in sizes.tolist()]
    # The hits' hashes at the common level are not known yet; as many are taken as there are on average.
    of_source = np.array([source.count_at(level) for level in levels], dtype=np.int64)
    population, drawn = law(plan.metric, plan.source_size, sizes, of_source, sizes >> levels)
    minima = min_should_match_for(population, needed, drawn, plan.second_recall)
    passing = upper_tail(population, lower, drawn, minima)
    is_exact = (np.array(levels) == 0) & (np.array(lower) < needed)
    return first, np.where(is_exact, 0.0, np.minimum(first, passing))
