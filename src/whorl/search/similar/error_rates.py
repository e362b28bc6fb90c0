"""Error rates to expect of a plan: promised range and false positives, for the description of the plan."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from whorl.fingerprint.statistics.hypergeometric import least_good_for, min_should_match_for, upper_tail
from whorl.fingerprint.statistics.metric import Shares
from whorl.fingerprint.statistics.verify import law
from whorl.search.similar.plan import Branch, SketchPlan

_POINTS_BELOW = (Fraction(10, 100), Fraction(20, 100))


def reach(plan: SketchPlan, branch: Branch) -> float | None:
    """Return the value of the metric, above the threshold, at which a branch's smallest documents are promised.

    Returns:
        A fraction up to 1; None if they are promised at the threshold already, or at no value.
    """
    if branch.promised:
        return None
    enough = int(least_good_for(plan.source_size, len(branch.tokens), 1, plan.first_recall))
    is_possible = enough <= min(plan.source_size, branch.smallest_size)
    return Shares.of_counts(enough, plan.source_size, branch.smallest_size).by(plan.metric) if is_possible else None


def false_positives(plan: SketchPlan, branch: Branch) -> tuple[float, float]:
    """Return the probabilities that documents 10 and 20 points below the threshold become candidates.

    They hold for the document size of the branch nearest to the source's, after `SketchPlan.is_candidate`.
    """
    needed, lower = _overlaps_near(plan, branch)
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
    counts = (np.array([each], dtype=np.int64) for each in (size, plan.source.count_at(level), size >> level))
    population, drawn = law(plan.metric, plan.source_size, *counts)
    needed, lower = _overlaps_near(plan, branch)
    passing = upper_tail(population, lower, drawn, min_should_match_for(population, needed, drawn, plan.second_recall))
    # At level 0 all shingles are compared, so no document below the threshold passes.
    passing[(level == 0) & (np.array(lower) < needed)] = 0.0
    near, far = np.minimum((near, far), passing).tolist()
    return near, far


def _overlaps_near(plan: SketchPlan, branch: Branch) -> tuple[int, list[int]]:
    """Return the overlap at the threshold, and those 10 and 20 points below, at the size nearest to the source's."""
    size = plan.nearest_size(branch.smallest_size, branch.largest_size)
    return plan.overlap_at(size), [plan.overlap_at(size, plan.threshold - points) for points in _POINTS_BELOW]
