"""Expected recall and false positives of a plan, compared with exact sums and calculations by hand."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np
import pytest

from calibration import promised_from
from tests.fingerprint.statistics.laws import hypergeometric
from tests.search.similar.sources import SCHEME, source_of
from whorl.fingerprint.sketch.sketch import Overlaps, Sketch
from whorl.fingerprint.statistics.metric import Metric, least_overlap
from whorl.fingerprint.statistics.verify import judge_overlaps
from whorl.search.similar.error_rates import false_positives, final_false_positives, reach
from whorl.search.similar.plan import make_plan


@pytest.mark.parametrize(("tokens", "recall"), [(3, 1 - 120 / 1140), (1, 0.5)])
def test_best_effort_says_what_it_reaches(tokens: int, recall: float) -> None:
    """
    Few of 20 shingles are below the bound of level 3, so half of them shared is not found reliably: by hand, 1 - (10
    over 3) / (20 over 3) = 1 - 120/1140. With 3 tokens, a recall of 95 % takes 12 shared shingles: (8 over 3) / (20
    over 3) = 4.9 % are missed.
    """
    hashes = np.r_[np.arange(tokens), SCHEME.bound(1) + np.arange(20 - tokens)].astype(np.uint64)
    plan = make_plan(
        Sketch(SCHEME, 20, hashes), Metric.A_IN_B, Fraction(1, 2), Fraction(95, 100), phases=1, largest_size=100_000
    )
    far = plan.branches[-1]
    assert (far.level, far.promised, promised_from(plan, far), plan.promised) == (3, False, None, False)
    assert far.min_should_match == 1
    assert far.recall == pytest.approx(recall)
    assert reach(plan, far) == {3: 12 / 20, 1: 19 / 20}[tokens]


@pytest.mark.parametrize(("metric", "size"), [(Metric.JACCARD, 3000), (Metric.A_IN_B, 2000), (Metric.B_IN_A, 3000)])
@pytest.mark.parametrize("phases", [1, 2])
def test_false_positives_are_those_of_the_search(metric: Metric, size: int, phases: Literal[1, 2]) -> None:
    """
    The false positive rate is the sum over all overlaps of a document of the nearest size, below the threshold, that
    `is_candidate` accepts; the second phase keeps at most its own share.
    """
    source = source_of(size)
    plan = make_plan(source, metric, Fraction(4, 10), Fraction(9, 10), phases=phases, largest_size=40_000)
    sampled = 0
    for branch in plan.branches:
        hit_size = max(branch.smallest_size, min(size, branch.largest_size or size))
        level = max(source.level, SCHEME.level(hit_size))
        of_source, of_hit = source.count_at(level), hit_size >> level
        for points, first, final in zip(
            (10, 20), false_positives(plan, branch), final_false_positives(plan, branch), strict=True
        ):
            overlap = least_overlap(metric, plan.threshold - Fraction(points, 100), size, hit_size)
            tokens = np.arange(len(branch.tokens) + 1)
            passes = plan.is_candidate(np.full(tokens.shape, hit_size), tokens)
            assert first == pytest.approx(hypergeometric(size, overlap, len(branch.tokens)) @ passes, abs=1e-12)
            if plan.second_recall is None:
                assert final == first
                continue
            is_of_hit = metric is Metric.B_IN_A and hit_size < size
            drawn = of_hit if is_of_hit else of_source
            shared = np.arange(drawn + 1)
            same = np.ones_like(shared)
            overlaps = Overlaps(size, same * hit_size, same * level, same * of_source, same * of_hit, shared)
            kept = judge_overlaps(overlaps, metric, plan.threshold, plan.second_recall)
            chance = hypergeometric(hit_size if is_of_hit else size, overlap, drawn) @ kept if level else 0.0
            assert final == pytest.approx(min(first, chance), abs=1e-12)
            sampled += level > 0
    assert sampled or phases == 1
