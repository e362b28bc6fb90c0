"""Plans that ignore common text: the minimum overlap of candidates, and the promise of a recall."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from tests.search.attribution.made import words
from whorl.fingerprint.batch import text_sketch
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import SketchScheme
from whorl.fingerprint.statistics.metric import Metric
from whorl.search.similar.plan import make_plan
from whorl.search.similar.rest_plan import RestPlan, part_of_source

LEFT = text_sketch(" ".join(words(random.Random(3), 84)), Scheme(), SketchScheme())


def test_the_part_that_makes_a_candidate() -> None:
    """
    The minimum is the threshold; for documents within the source it is twenty shingles or a quarter of the uncommon
    ones.
    """
    half = Fraction(1, 2)
    assert part_of_source(Metric.JACCARD, half, 1_000) == part_of_source(Metric.A_IN_B, half, 3) == half
    parts = [part_of_source(Metric.B_IN_A, half, left) for left in (1, 8, 80, 81, 1_000)]
    assert parts == [Fraction(1), Fraction(1, 4), Fraction(1, 4), Fraction(20, 81), Fraction(1, 50)]


@pytest.mark.parametrize(
    ("metric", "threshold", "least", "promised"),
    [(Metric.JACCARD, 50, 40, True), (Metric.A_IN_B, 50, 40, True), (Metric.B_IN_A, 90, 20, False)],
)
def test_what_is_promised(metric: Metric, threshold: int, least: int, promised: bool) -> None:
    """
    With 80 uncommon shingles a hit must reach the threshold; a document whose uncommon part lies within the source may
    have fewer than the minimum, so nothing is promised.
    """
    asked, recall = Fraction(threshold, 100), Fraction(95, 100)
    part = part_of_source(metric, asked, LEFT.size)
    candidates = make_plan(LEFT, Metric.A_IN_B, part, recall, largest_size=1_000)
    plan = RestPlan(metric, asked, recall, 300, candidates)
    assert (plan.left, plan.least, plan.promised) == (80, least, promised)
