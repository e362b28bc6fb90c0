"""The order in which documents come decides nothing."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np

from whorl.corpus.archive import sample_key
from whorl.corpus.pairs import Pairs
from whorl.corpus.question import PairMetric, PairQuestion
from whorl.corpus.samples import Samples
from whorl.corpus.search import find_pairs, first_of_equals
from whorl.fingerprint.sample import SampleScheme, sample_of

SCHEME = SampleScheme(k=64, floor_level=1, cap=128)


def test_the_order_of_documents_decides_nothing() -> None:
    """
    The same pairs with the same numbers come out in whatever order documents of equal sizes are, also where a low
    recall and samples leave much to chance.
    """
    chance = random.Random(3)
    sets = []
    for _ in range(60):
        base = [chance.getrandbits(64) for _ in range(500)]
        sets += [set(base[:400]) | {chance.getrandbits(64) for _ in range(100)} for _ in range(4)]
    asked = PairQuestion(PairMetric.SIMILARITY, Fraction(66, 100), Fraction(30, 100))
    found = []
    for _ in range(3):
        order = chance.sample(range(len(sets)), len(sets))
        samples = [sample_of(np.array(list(sets[at]), np.uint64), SCHEME) for at in order]
        keys, together = np.array([sample_key(sample) for sample in samples]), Samples.of(samples, SCHEME)
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
