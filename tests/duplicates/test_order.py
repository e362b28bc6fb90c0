"""The order in which documents come decides nothing."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np

from tests.plain import sketch_of
from whorl.duplicates.archive import sketch_key
from whorl.duplicates.question import PairQuestion
from whorl.duplicates.search import find_pairs, first_of_equals
from whorl.duplicates.sketches import Sketches
from whorl.duplicates.verify import Pairs
from whorl.fingerprint.sketch.sketch import SketchScheme
from whorl.fingerprint.statistics.metric import Metric

SCHEME = SketchScheme(k=64, floor_level=1, cap=128)


def test_the_order_of_documents_decides_nothing() -> None:
    """
    The same pairs with the same numbers come out in whatever order documents of equal sizes are, also where a low
    recall and sketches leave much to chance.
    """
    chance = random.Random(3)
    sets = []
    for _ in range(60):
        base = [chance.getrandbits(64) for _ in range(500)]
        sets += [set(base[:400]) | {chance.getrandbits(64) for _ in range(100)} for _ in range(4)]
    asked = PairQuestion(Metric.JACCARD, Fraction(66, 100), Fraction(30, 100))
    found = []
    for _ in range(3):
        order = chance.sample(range(len(sets)), len(sets))
        sketches = [sketch_of(np.array(list(sets[at]), np.uint64), SCHEME) for at in order]
        keys, together = np.array([sketch_key(sketch) for sketch in sketches]), Sketches.of(sketches, SCHEME)
        pairs = find_pairs(
            together,
            first_of_equals(keys, together.sizes),
            asked,
            known=Pairs.together([]),
            is_known=np.zeros(len(sets), np.bool_),
            keys=keys,
        )
        numbers = zip(pairs.a.tolist(), pairs.b.tolist(), pairs.shared.tolist(), pairs.low.tolist(), strict=True)
        found.append({(frozenset((order[a], order[b])), shared, low) for a, b, shared, low in numbers})
    assert 50 < len(found[0]) < 360
    assert found[0] == found[1] == found[2]
