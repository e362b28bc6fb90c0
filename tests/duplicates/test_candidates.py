"""Candidates and verified pairs against plain sets; what many documents share does not make many pairs."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plain import sketch_of
from whorl.duplicates.candidates import Crowd, Some, find_candidates
from whorl.duplicates.clusters import Components
from whorl.duplicates.question import PairQuestion
from whorl.duplicates.schedule import MOST_PAIRS
from whorl.duplicates.search import _Links, find_pairs, first_of_equals
from whorl.duplicates.sketches import Sketches, level_beyond
from whorl.duplicates.verify import Pairs, verified
from whorl.errors import ParameterError
from whorl.fingerprint.sketch.sketch import SketchScheme
from whorl.fingerprint.statistics.metric import Metric

COMPLETE = SketchScheme(k=16384, floor_level=0, cap=16384)
#: Sketches of nearly everything in these tests.
SMALL = SketchScheme(k=64, floor_level=2, cap=256)


def sketches_of(sets: list[set[int]], scheme: SketchScheme = COMPLETE) -> Sketches:
    return Sketches.of([sketch_of(np.array(sorted(each), np.uint64), scheme) for each in sets], scheme)


def numbers(chance: random.Random, count: int) -> set[int]:
    return {chance.getrandbits(64) for _ in range(count)}


def question(metric: str, percent: int, recall: int = 95) -> PairQuestion:
    return PairQuestion(Metric(metric), Fraction(percent, 100), Fraction(recall, 100))


def found_in(sketches: Sketches, asked: PairQuestion, most: int = MOST_PAIRS) -> Pairs:
    some = [each for each in find_candidates(sketches, asked, most=most) if isinstance(each, Some)]
    return Pairs.together([verified(sketches, each.smaller, each.larger, asked) for each in some])


def truth(sets: list[set[int]], asked: PairQuestion) -> set[tuple[int, int]]:
    found = set()
    for b in range(len(sets)):
        for a in range(b):
            common = len(sets[a] & sets[b])
            whole = len(sets[a] | sets[b]) if asked.metric is Metric.JACCARD else min(len(sets[a]), len(sets[b]))
            if common and Fraction(common, whole) >= asked.threshold:
                found.add((a, b))
    return found


def families(chance: random.Random, count: int, largest: int) -> list[set[int]]:
    """Return sets of which some share most, some a part, some all, and some a common block."""
    common = numbers(chance, 40)
    sets: list[set[int]] = []
    for _ in range(count):
        own = numbers(chance, round(largest ** chance.random()))
        for _ in range(chance.randrange(1, 5)):
            kept = set(chance.sample(sorted(own), round(len(own) * chance.choice([1, 0.95, 0.9, 0.8, 0.5, 0.2]))))
            sets.append(
                kept
                | numbers(chance, chance.choice([0, 0, 1, len(own) // 10]))
                | (common if chance.random() < 0.3 else set())
            )
    chance.shuffle(sets)
    return sets


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["jaccard", "containment"])
@pytest.mark.parametrize("percent", [5, 20, 50, 80, 90, 100])
def test_complete_sketches_give_all_pairs_and_no_others(metric: str, percent: int) -> None:
    """
    With a recall of 100 the pairs are those of plain sets; with 95 none is wrong, and at least 95 of 100 are there.
    """
    sets = families(random.Random(percent), 150, 1500)
    sketches, expected = sketches_of(sets), truth(sets, question(metric, percent))
    assert len(expected) > 10
    for recall in (100, 95):
        pairs = found_in(sketches, question(metric, percent, recall))
        there = set(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True))
        assert there <= expected
        assert len(there) >= recall / 100 * len(expected)
        for a, b, jaccard, shared in zip(pairs.a.tolist(), pairs.b.tolist(), pairs.jaccard, pairs.shared, strict=True):
            common = len(sets[a] & sets[b])
            assert shared == common
            assert jaccard == pytest.approx(common / len(sets[a] | sets[b]))
        assert pairs.is_exact.all()


@pytest.mark.parametrize("metric", ["jaccard", "containment"])
def test_parts_of_sketches_find_what_was_asked(metric: str) -> None:
    """
    Of 400 pairs at 80 % of which sketches hold a part only, at least the 90 of 100 asked for are found.
    """
    chance, sets = random.Random(5), []
    for _ in range(400):
        size = chance.randrange(300, 1500)
        shared = numbers(chance, round(size * (2 * 0.81 / 1.81 if metric == "jaccard" else 0.81)))
        sets += [shared | numbers(chance, size - len(shared)) for _ in range(2)]
    pairs = found_in(sketches_of(sets, SMALL), question(metric, 80, 90))
    there = set(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True))
    wanted = {(at, at + 1) for at in range(0, 800, 2)}
    # Just above the threshold: four standard deviations below what was asked.
    assert len(there & wanted) >= 400 * (0.9 - 4 * (0.09 / 400) ** 0.5)
    assert not pairs.is_exact.all()
    is_near = pairs.jaccard[~pairs.is_exact] > (0.6 if metric == "jaccard" else 0.5)
    assert is_near.all()


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32), st.sampled_from(["jaccard", "containment"]), st.integers(1, 100))
def test_how_candidates_are_found_changes_nothing(seed: int, metric: str, percent: int) -> None:
    """
    A hash that makes a few pairs only before its documents are put off gives the same pairs as one that makes many.
    """
    # Not hypothesis' own numbers: those it simplifies are no hashes.
    sets = families(random.Random(seed), 12, 200)
    sketches, asked = sketches_of(sets), question(metric, percent, 100)
    expected = truth(sets, asked)
    for most in (1, 5, 10**6):
        pairs = found_in(sketches, asked, most=most)
        assert set(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True)) == expected


def test_one_hash_of_everybody_makes_no_pairs() -> None:
    """
    5,000 documents with one hash in common, and 60 that they have alone, are not compared at all.
    """
    chance = random.Random(8)
    one = numbers(chance, 1)
    sketches = sketches_of([one | numbers(chance, 60) for _ in range(5_000)])
    for metric in ("jaccard", "containment"):
        assert not list(find_candidates(sketches, question(metric, 80)))


@pytest.mark.slow
@pytest.mark.parametrize("share", [30, 60, 75])
def test_boilerplate_makes_few_candidates(share: int) -> None:
    """
    3,000 documents whose shingles are 30, 60 or 75 % those of the same page frame (J up to 60 %) meet in a few
    pairs each at a threshold of 80 %, where any two of them share the frame: 4.5 million pairs.
    """
    chance = random.Random(share)
    frame = numbers(chance, 4 * share)
    sets = [frame | numbers(chance, 400 - 4 * share) for _ in range(3_000)]
    sets += [set(chance.sample(sorted(each), 395)) for each in sets[:100]]
    sketches, asked = sketches_of(sets), question("jaccard", 80)
    met = [each for each in find_candidates(sketches, asked) if isinstance(each, Some)]
    assert sum(each.smaller.size for each in met) < 10 * len(sets)
    pairs = Pairs.together([verified(sketches, each.smaller, each.larger, asked) for each in met])
    assert set(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True)) == {(at, 3_000 + at) for at in range(100)}


@pytest.mark.slow
def test_a_crowd_is_linked_without_all_its_pairs() -> None:
    """
    4,000 documents that are all alike hang together by about as many links, not by 8 million pairs.
    """
    chance = random.Random(4)
    page = numbers(chance, 300)
    sets = [page | numbers(chance, 5) for _ in range(4_000)] + [numbers(chance, 300) for _ in range(50)]
    sketches, asked = sketches_of(sets), question("jaccard", 80)
    assert any(isinstance(each, Crowd) for each in find_candidates(sketches, asked, crowds=True))
    firsts = np.arange(len(sets))
    pairs = find_pairs(
        sketches, firsts, asked, known=Pairs.together([]), is_known=np.zeros(len(sets), np.bool_), links_suffice=True
    )
    assert 3_999 <= len(pairs) < 20_000
    assert set(pairs.a.tolist()) | set(pairs.b.tolist()) == set(range(4_000))


@pytest.mark.parametrize("old", [0, 30, 55])
def test_a_crowd_of_chains_hangs_together_as_all_its_pairs_do(old: int) -> None:
    """
    Links leave no two apart that a chain of pairs connects: neither groups that two pivots joined, and that only pairs
    among the others connect, nor new documents and old ones that do not belong to the largest group.
    """
    asked = question("jaccard", 50, 100)
    for seed in range(40):
        chance = random.Random(seed)
        line = sorted(numbers(chance, 170))
        sketches = sketches_of([set(line[at : at + 10]) for at in (chance.randrange(160) for _ in range(60))])
        everything = verified(sketches, *np.triu_indices(60, 1), asked)
        truly = Components(60)
        truly.join(everything.a, everything.b)
        is_new = np.arange(60) >= old
        known = everything.only(~is_new[everything.a] & ~is_new[everything.b])
        links = _Links(sketches, asked)
        links.note(known)
        found = Pairs.together([known, *links.of(np.arange(60), is_new)])
        linked = Components(60)
        linked.join(found.a, found.b)
        assert linked.labels().tolist() == truly.labels().tolist()


def test_equal_documents_are_known_by_the_first() -> None:
    """
    Equal keys stand for equal sketches; documents without shingles are equal to none.
    """
    keys, sizes = np.array([7, 3, 7, 3, 9, 7, 3]), np.array([5, 0, 5, 0, 1, 5, 0])
    assert first_of_equals(keys, sizes).tolist() == [0, 1, 0, 3, 4, 0, 6]


def test_nothing_to_compare() -> None:
    """
    No documents, one, or documents without shingles make no pairs.
    """
    for sets in ([], [{1}], [set[int](), set[int]()]):
        assert not list(find_candidates(sketches_of(sets), question("jaccard", 80)))


def test_levels_are_those_of_the_scheme() -> None:
    """
    Levels of many sizes at once are those that the scheme gives one by one.
    """
    scheme = SketchScheme()
    sizes = np.array([0, 1, 1023, 1024, 1025, 2048, 2049, 8192, 8193, 131_072, 131_073, 10**7], np.int64)
    sketches = sketches_of([])
    told = Sketches(scheme, sketches.sizes, sketches.starts, sketches.counts, sketches.hashes).scheme_levels(sizes)
    assert told.tolist() == [scheme.level(size) for size in sizes.tolist()]
    assert level_beyond(sizes, 1024)[:4].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("wrong", [0, -1, Fraction(101, 100), Fraction(1, 10**7)])
def test_wrong_thresholds(wrong: Fraction) -> None:
    """
    A threshold outside its range is named.
    """
    with pytest.raises(ParameterError, match="threshold"):
        PairQuestion(threshold=Fraction(wrong))
