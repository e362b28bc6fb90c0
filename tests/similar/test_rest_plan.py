"""What documents are looked for where common text counts for nothing, and of which a recall is promised."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from tests.sources.made import words
from whorl.fingerprint.batch import text_sketch
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import SketchScheme
from whorl.fingerprint.statistics.metric import Metric
from whorl.similar.plan import make_plan
from whorl.similar.rest_plan import RestPlan, part_of_source

LEFT = text_sketch(" ".join(words(random.Random(3), 84)), Scheme(), SketchScheme())


def test_the_part_that_makes_a_candidate() -> None:
    """
    The threshold; but of documents within the source, twenty shingles or a quarter of what is left.
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
    Of 80 shingles that are left a document must have the threshold; one that lies within the source with all that is
    left of it may have fewer than are looked for.
    """
    asked, recall = Fraction(threshold, 100), Fraction(95, 100)
    part = part_of_source(metric, asked, LEFT.size)
    candidates = make_plan(LEFT, Metric.A_IN_B, part, recall, largest_size=1_000)
    plan = RestPlan(metric, asked, recall, 300, candidates)
    assert (plan.left, plan.least, plan.promised) == (80, least, promised)
