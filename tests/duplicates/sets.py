"""Random sets in place of documents' hashes, their sketches, and their true pairs by a comparison of all sets."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np

from tests.plain import sketch_of
from whorl.duplicates.options import PairOptions
from whorl.duplicates.sketch_arrays import Sketches
from whorl.fingerprint.sketch.frac_minhash import SketchScheme
from whorl.fingerprint.statistics.metric import Metric

COMPLETE = SketchScheme(k=16384, floor_level=0, cap=16384, bits=40)


#: Scheme of small sketches, partial for documents of more than 64 shingles.
SMALL = SketchScheme(k=64, floor_level=2, cap=256, lookup_k=64)


def sketches_of(sets: list[set[int]], scheme: SketchScheme = COMPLETE) -> Sketches:
    """Return the sketches of sets."""
    return Sketches.from_sketches([sketch_of(np.array(sorted(members), np.uint64), scheme) for members in sets], scheme)


def numbers(chance: random.Random, count: int) -> set[int]:
    """Return random hashes."""
    return {chance.getrandbits(64) for _ in range(count)}


def pair_options(metric: str, percent: int, recall: int = 95) -> PairOptions:
    """Return search options with the threshold and the recall in percent."""
    return PairOptions(Metric(metric), Fraction(percent, 100), Fraction(recall, 100))


def truth(sets: list[set[int]], options: PairOptions) -> set[tuple[int, int]]:
    """Return the pairs of sets that reach the threshold, by brute force."""
    actual = set()
    for b in range(len(sets)):
        for a in range(b):
            if sets[a].isdisjoint(sets[b]):
                continue
            common, sizes = len(sets[a] & sets[b]), (len(sets[a]), len(sets[b]))
            whole = sum(sizes) - common if options.metric is Metric.JACCARD else min(sizes)
            if Fraction(common, whole) >= options.threshold:
                actual.add((a, b))
    return actual


def families(chance: random.Random, count: int, largest: int) -> list[set[int]]:
    """Return random sets in families whose members share most, half or few of their hashes; some share a block."""
    common = numbers(chance, 40)
    sets: list[set[int]] = []
    for _ in range(count):
        own = numbers(chance, round(largest ** chance.random()))
        for _ in range(chance.randrange(1, 5)):
            sample = set(chance.sample(sorted(own), round(len(own) * chance.choice([1, 0.95, 0.9, 0.8, 0.5, 0.2]))))
            sets.append(
                sample
                | numbers(chance, chance.choice([0, 0, 1, len(own) // 10]))
                | (common if chance.random() < 0.3 else set())
            )
    chance.shuffle(sets)
    return sets
