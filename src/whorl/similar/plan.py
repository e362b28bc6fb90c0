"""From a threshold and a wanted recall to the tokens to ask for and how many of them a candidate must have.

A branch of the plan asks the m smallest hashes of the source's sketch, of documents in a range of sizes of which those
hashes stand in the index if they have them at all. Hashes are uniform and a document's look-up level depends on its
size alone, so the m tokens are a uniform choice of the source's a shingles, and of them a document that shares I
shingles has X ~ Hypergeometric(a, I, m) in the index: exactly, whatever the sizes, but for those few that it has by
accident (`sketch.sketch`), which make no document harder to find. The largest min-should-match c with
P(X >= c) >= recall, at the least I that reaches the threshold, then finds every document at or above the threshold
with at least that chance, over the choice of the hash.

In two phases the promise is shared out: few tokens at recall 1 - (1 - p) / 5, then, on the whole sketches of those
found, `verify.judge_overlaps` at 1 - 4 (1 - p) / 5. Both together miss at most 1 - p. Where a branch cannot hold the
first share, but p, the second phase drops only what cannot be at the threshold.

How many tokens are asked is a matter of precision, or of cost. Where an engine's look-ups are dear, as they are in an
index of many segments, few tokens and more candidates for the second phase are quicker: of D / s documents that hold a
share s of the source or more, those with c of m tokens are on average

    the integral of P(Binomial(m, s) >= c) over -d(D / s), and D themselves = D m / (c - 1)    for c >= 2

so that m look-ups and their candidates cost m (look-up + D candidate / (c - 1)). Text that many documents have in
common can make far more candidates of a few tokens. Then the index is asked again, for all tokens of the budget; each
of the two plans has half of the first phase's part of what may be missed, so that the promise holds whatever decides
between them (and `SketchPlan.first_recall` is 1 - (1 - p) / 10).

A recall of 1 asks for what no document at the threshold can lack. That is a useful plan where all of the source's
shingles are asked and both sketches are complete, and elsewhere mostly only best effort.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, chain
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from whorl.engine.protocol import Costs
from whorl.errors import ParameterError
from whorl.fingerprint.sketch.sketch import Overlaps, Sketch
from whorl.fingerprint.statistics.hypergeometric import (
    SLACK,
    Counts,
    Floats,
    Tails,
    draws_to_meet,
    reaches,
    require_probability,
)
from whorl.fingerprint.statistics.metric import Metric, least_overlap, require_threshold, sizes_for
from whorl.fingerprint.statistics.verify import judge_overlaps

#: Tokens of a branch where a second phase follows.
BUDGET_OF_TWO_PHASES = 64
#: The first phase's part of what may be missed.
_FIRST_PART = Fraction(1, 5)
#: So many times the budget is asked where a promise takes it.
_MOST_BUDGETS = 4
#: Tokens that may be left out, so that the steps of the law come to lie near the wanted recall.
_LEAST_PART = 0.85
#: D of the module's law, the documents that hold all of a source; benchmarks/similar_costs.py measures it.
_SHARING = 4.0
#: What stands for c - 1 where one token is enough: the integral then grows with the logarithm of the source's size.
_OF_ONE_TOKEN = 1 / 6
_NO_HASHES = np.empty(0, np.uint64)
#: How far below the threshold a document is that should not be found.
_POINTS_BELOW = Fraction(10, 100)


@dataclass(frozen=True, slots=True)
class Branch:
    """Documents of a range of sizes, and what makes them candidates.

    Args:
        smallest_size: Distinct shingles of the smallest document.
        largest_size: Those of the largest, None for no limit.
        level: The coarsest level at which a document of the branch is looked up.
        tokens: Which of the sketch's hashes are asked, in their order: the smallest ones.
        min_should_match: Tokens that a document of the smallest size must have; 0 where nothing can be asked. Valid
            as a filter for larger ones too, and coarser than `SketchPlan.is_candidate`.
        recall: Chance that a document of the smallest size just at the threshold becomes a candidate, in [0, 1].
        second_recall: With which the second phase judges the branch's candidates; None where there is none.
        promised: Whether all documents of the branch at the threshold are found with the wanted recall.
    """

    smallest_size: int
    largest_size: int | None
    level: int
    tokens: range
    min_should_match: int
    recall: float
    second_recall: Fraction | None
    promised: bool


@dataclass(frozen=True, slots=True)
class SketchPlan:
    """What to ask for and what is promised.

    Args:
        metric: What the threshold is a share of.
        threshold: Fraction in (0, 1].
        recall: Wanted chance to find a document at the threshold, a fraction in (0, 1].
        first_recall: That of the look-ups.
        second_recall: That of the second phase; None where there is none.
        source: Sketch of the source.
        branches: By size, ascending, without gaps.
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
        """Tokens asked, once for each branch that asks them."""
        return sum(len(branch.tokens) for branch in self.branches)

    @property
    def promised(self) -> bool:
        """Whether documents of every size are found with the wanted recall; else the plan is best effort."""
        return all(branch.promised for branch in self.branches)

    def is_candidate(self, sizes: npt.NDArray[np.int64], shared: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return which documents pass the first phase, each held to what its own size asks for.

        None is lost by it that shares enough, but some may share tokens by accident: of a document with n shingles,
        n / 2**bits of those that are asked. A second phase drops them; without one they are hits.

        Args:
            sizes: Distinct shingles of the documents; int64 array of shape (documents,).
            shared: Tokens that each shares of those its branch asks; int64 array of the same shape.
        """
        is_found = np.zeros(len(sizes), dtype=np.bool_)
        needed = np.array([self.overlap_at(size) for size in sizes.tolist()], dtype=np.int64)
        is_possible = (shared >= 1) & (needed <= np.minimum(self.source_size, sizes))
        for branch, is_own in self._by_branch(sizes):
            at = np.flatnonzero(is_own & is_possible)
            is_found[at] = reaches(self.source_size, needed[at], len(branch.tokens), shared[at], self.first_recall)
        return is_found

    def is_hit(self, overlaps: Overlaps) -> npt.NDArray[np.bool_]:
        """Return which candidates pass the second phase; all where there is none.

        Args:
            overlaps: What the source's sketch has in common with those of the candidates.
        """
        is_kept = np.full(len(overlaps.sizes), self.second_recall is None)
        for branch, is_own in self._by_branch(overlaps.sizes):
            at = np.flatnonzero(is_own)
            if branch.second_recall is not None and at.size:
                is_kept[at] = judge_overlaps(overlaps.of(at), self.metric, self.threshold, branch.second_recall)
        return is_kept

    def _by_branch(self, sizes: npt.NDArray[np.int64]) -> Iterator[tuple[Branch, npt.NDArray[np.bool_]]]:
        for branch in self.branches:
            is_own = sizes >= branch.smallest_size
            yield branch, is_own if branch.largest_size is None else is_own & (sizes <= branch.largest_size)

    def overlap_at(self, size: int, threshold: Fraction | None = None) -> int:
        """Return how many shingles a document of `size` shares with the source at a threshold, by default the plan's.

        At most as many as both have, where the size is one of a branch.
        """
        at = self.threshold if threshold is None else threshold
        return least_overlap(self.metric, at, self.source_size, size)

    def nearest_size(self, smallest: int, largest: int | None) -> int:
        """Return the size nearest to the source's in a range; without a largest one the range has no end."""
        return max(smallest, self.source_size if largest is None else min(self.source_size, largest))


def make_plan(
    source: Sketch,
    metric: Metric,
    threshold: Fraction,
    recall: Fraction,
    *,
    budget: int = BUDGET_OF_TWO_PHASES,
    phases: Literal[1, 2] = 2,
    asks: Literal[1, 2] = 1,
    costs: Costs | None = None,
    largest_size: int | None = None,
) -> SketchPlan:
    """Return the plan of a calibrated search.

    Args:
        source: Sketch of the source. Without shingles it has no branches.
        metric: What the threshold is a share of.
        threshold: Fraction in (0, 1].
        recall: Wanted chance to find a document just at the threshold, a fraction in (0, 1].
        budget: Tokens to ask in a branch, at least 1; 64 serve two phases, 128 to 256 one. Up to four times as many
            are asked where a promise takes them (a threshold of 5 % with recall 99 %), and all that there are with
            Metric.B_IN_A: to find small documents within a large one takes no less.
        phases: 2 where the sketches of candidates are fetched and judged, 1 where the look-ups have the last word.
        asks: 2 where the index may be asked by this plan and then by another, made with the same number.
        costs: By what the number of tokens is chosen; without them it is the one that finds least that was not wanted.
        largest_size: Distinct shingles of the largest document in the index, where that is known.

    Raises:
        ParameterError: An argument is outside its range.
    """
    require_threshold(threshold)
    require_probability("recall", recall)
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
    # How many tokens are asked depends on the source's size, and not on which they are.
    any_source = Sketch(source.scheme, source.size, _NO_HASHES)
    branches = _branches(SketchPlan(metric, threshold, recall, first, second, any_source, ()), groups, costs)
    return SketchPlan(metric, threshold, recall, first, second, source, branches)


@lru_cache
def _phases(recall: Fraction, asks: int) -> tuple[Fraction, Fraction]:
    """Return with what recall the index is asked, and with what the candidates are judged."""
    return 1 - _FIRST_PART / asks * (1 - recall), 1 - (1 - _FIRST_PART) * (1 - recall)


class _Group(NamedTuple):
    """Sizes whose look-up levels offer the same tokens."""

    smallest: int
    largest: int | None
    level: int
    token_count: int


def _groups(plan: SketchPlan, budget: int, largest_size: int | None) -> Iterator[_Group]:
    """Yield the sizes that a hit can have, cut where its look-up level changes the tokens that can be asked."""
    source, scheme = plan.source, plan.source.scheme
    smallest, largest = sizes_for(plan.metric, plan.threshold, plan.source_size)
    if largest_size is not None:
        largest = largest_size if largest is None else min(largest, largest_size)
    most = _MOST_BUDGETS * budget
    budget = max(budget, draws_to_meet(plan.source_size, plan.overlap_at(smallest), plan.first_recall, most))
    pending: _Group | None = None
    level = scheme.lookup_level(smallest)
    while largest is None or smallest <= largest:
        common = max(level, source.level)
        available = source.count_at(common)
        count = available if plan.metric is Metric.B_IN_A else min(available, budget)
        # Beyond the last token nothing changes any more.
        stop = None if not count else scheme.largest_at(level)
        last = stop if largest is None else largest if stop is None else min(stop, largest)
        if pending and pending.token_count == count:
            pending = pending._replace(largest=last, level=common)
        else:
            if pending:
                yield pending
            pending = _Group(smallest, last, common, count)
        if last is None:
            break
        smallest, level = last + 1, level + 1
    if pending:
        yield pending


@lru_cache(1024)
def _branches(plan: SketchPlan, groups: tuple[_Group, ...], costs: Costs | None) -> tuple[Branch, ...]:
    """Return the branches of groups, each of which asks the number of tokens that costs least.

    Args:
        plan: Without them; of its source only the size counts.
        groups: The sizes of the branches.
        costs: By what the numbers are chosen.
    """
    options = [_options(plan, group, costs) for group in groups]
    ends = list(accumulate(map(len, options)))
    # The engine is asked for what the smallest documents of a group have.
    asked = [[plan.overlap_at(group.smallest) for group in groups]]
    if is_open := costs is None and ends[-1] > len(groups):
        nearest = [plan.nearest_size(group.smallest, group.largest) for group in groups]
        at = (plan.threshold, plan.threshold - _POINTS_BELOW)
        asked += [[plan.overlap_at(size, each) for size in nearest] for each in at]
    # Of few numbers Python makes lists sooner than numpy repeats arrays.
    overlaps = [overlap for each in asked for overlap, own in zip(each, options, strict=True) for _ in own]
    drawn = np.array([*chain.from_iterable(options)] * len(asked), dtype=np.int64)
    laws = Tails(plan.source_size, np.array(overlaps, dtype=np.int64), drawn)
    drawn = drawn[: ends[-1]]
    minima = laws.largest_least(plan.first_recall).reshape(len(asked), -1)
    # Best effort where no minimum holds the recall: one token.
    least = [np.maximum(1, minima[0]), *([minima[1], minima[1]] if is_open else [])]
    tails = laws.from_least(np.concatenate(least)).reshape(len(asked), -1)
    prices = np.zeros(ends[-1])
    if costs is not None:
        prices = _price(drawn, minima[0], costs)
    elif is_open:
        prices = _imprecision(plan, minima[1], tails[1], tails[2])
    branches = []
    for group, own, end in zip(groups, options, ends, strict=True):
        some = prices[end - len(own) : end]
        # Where no minimum holds the recall, all tokens reach farthest.
        place = int(np.argmin(some)) if np.isfinite(some).any() else len(own) - 1
        row = end - len(own) + place
        branches.append(_branch(plan, group, own[place], int(least[0][row]), float(tails[0, row])))
    return tuple(branches)


def _options(plan: SketchPlan, group: _Group, costs: Costs | None) -> range:
    """Return the numbers of tokens among which a group chooses."""
    most = group.token_count
    # Where all shingles are asked the test is exact and nothing can be gained, unless by asking less.
    if not most or (most == plan.source_size and costs is None) or plan.metric is Metric.B_IN_A:
        return range(most, most + 1)
    # The smallest documents share the fewest shingles: no promise to them is given away.
    to_promise = draws_to_meet(plan.source_size, plan.overlap_at(group.smallest), plan.first_recall, most)
    least = int(most * _LEAST_PART) if costs is None else 1
    return range(max(1, least, to_promise), most + 1)


def _imprecision(plan: SketchPlan, minima: Counts, recalls: Floats, unwanted: Floats) -> Floats:
    """Return what numbers of tokens cost in precision and in recall that nobody asked for; infinity where none holds.

    The law is one of whole numbers: with m tokens no min-should-match may give just the wanted recall, while a few
    tokens fewer often do. The price is the chance to be found 10 points below the threshold plus the recall in excess.

    Args:
        plan: The plan.
        minima: The min-should-match of each number, 0 where none holds the recall.
        recalls: The chances that a document at the threshold has so many.
        unwanted: Those that one 10 points below has.
    """
    return np.where(minima > 0, unwanted + recalls - float(plan.first_recall), np.inf)


def _price(drawn: Counts, minima: Counts, costs: Costs) -> Floats:
    """Return what numbers of tokens cost in microseconds, by the module's law; infinity where none holds the recall."""
    candidates = _SHARING / np.maximum(minima - 1, _OF_ONE_TOKEN)
    return np.where(minima > 0, drawn * (costs.look_up + costs.candidate * candidates), np.inf)


def _branch(plan: SketchPlan, group: _Group, count: int, minimum: int, recall: float) -> Branch:
    """Return the branch of a group that asks so many tokens."""
    second = plan.second_recall
    # A share that depended on this recall, and so on the source's sketch, would void the second phase's promise.
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
    """Compare exactly, as `<` does in twenty times the time."""
    numerator, denominator = number.as_integer_ratio()
    return numerator * fraction.denominator < fraction.numerator * denominator
