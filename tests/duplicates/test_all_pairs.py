"""Tests of the all-pairs search: equal documents, high-frequency blocks, and independence of the order of input."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from tests.duplicates.sets import numbers, pair_options, sketches_of
from tests.plain import sketch_of
from whorl.connected_components import UnionFind
from whorl.duplicates import all_pairs
from whorl.duplicates.all_pairs import _SpanningPairs, find_pairs, first_of_equals
from whorl.duplicates.options import PairOptions
from whorl.duplicates.pairs import Pairs
from whorl.duplicates.prefix_filter import HashBlock, find_candidates
from whorl.duplicates.prefix_lengths import JoinOptions
from whorl.duplicates.sketch_arrays import Numbers, Sketches
from whorl.duplicates.sketching import sketch_key
from whorl.duplicates.verify_by_sketches import verify_pairs
from whorl.fingerprint.sketch.frac_minhash import SketchScheme
from whorl.fingerprint.statistics.metric import Metric

SCHEME = SketchScheme(k=64, floor_level=1, cap=128, lookup_k=64)


def test_the_order_of_documents_does_not_matter() -> None:
    """
    Pairs and their numbers do not depend on the order of documents with equal sizes, even with a low recall and small
    sketches, where chance decides much.
    """
    chance = random.Random(3)
    sets = []
    for _ in range(60):
        base = [chance.getrandbits(64) for _ in range(500)]
        sets += [set(base[:400]) | {chance.getrandbits(64) for _ in range(100)} for _ in range(4)]
    options = PairOptions(Metric.JACCARD, Fraction(66, 100), Fraction(30, 100))
    results = []
    for _ in range(3):
        order = chance.sample(range(len(sets)), len(sets))
        sketches = [sketch_of(np.array(list(sets[at]), np.uint64), SCHEME) for at in order]
        keys, together = np.array([sketch_key(sketch) for sketch in sketches]), Sketches.from_sketches(sketches, SCHEME)
        pairs = find_pairs(
            together,
            first_of_equals(keys, together.sizes),
            JoinOptions(options),
            known=Pairs.concatenate([]),
            is_known=np.zeros(len(sets), np.bool_),
            keys=keys,
        )
        numbers = zip(pairs.a.tolist(), pairs.b.tolist(), pairs.shared.tolist(), pairs.low.tolist(), strict=True)
        results.append({(frozenset((order[a], order[b])), shared, low) for a, b, shared, low in numbers})
    assert 50 < len(results[0]) < 360
    assert results[0] == results[1] == results[2]


@pytest.mark.slow
def test_a_crowd_is_connected_without_all_its_pairs() -> None:
    """
    A block of 4,000 near-copies is connected by about as many pairs as documents, not by 8 million.
    """
    chance = random.Random(4)
    page = numbers(chance, 300)
    sets = [page | numbers(chance, 5) for _ in range(4_000)] + [numbers(chance, 300) for _ in range(50)]
    sketches, options = sketches_of(sets), pair_options("jaccard", 80)
    assert any(
        isinstance(candidate, HashBlock)
        for candidate in find_candidates(sketches, JoinOptions(options, spanning_only=True))
    )
    firsts = np.arange(len(sets))
    pairs = find_pairs(
        sketches,
        firsts,
        JoinOptions(options, spanning_only=True),
        known=Pairs.concatenate([]),
        is_known=np.zeros(len(sets), np.bool_),
    )
    assert 3_999 <= len(pairs) < 20_000
    assert set(pairs.a.tolist()) | set(pairs.b.tolist()) == set(range(4_000))


def test_connected_documents_are_not_compared_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    With spanning pairs only, families too small for a block take about as many comparisons as they have members, and
    have the components of all their pairs. The same holds for chains and for documents of an earlier run.
    """
    compared = 0

    def counting(own: Sketches, a: Numbers, *more: object) -> object:
        nonlocal compared
        compared += a.size
        return verify_pairs(own, a, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(all_pairs, "verify_pairs", counting)
    chance = random.Random(11)
    sets = []
    for size in (150, 40, 2, 1):
        page = numbers(chance, 60)
        sets += [page | numbers(chance, 3) for _ in range(size)]
    line = sorted(numbers(chance, 100))
    sets += [set(line[at : at + 30]) for at in range(0, 70, 2)]
    sketches, question = sketches_of(sets), pair_options("jaccard", 80)
    for old in (0, 100):
        labels, counts = [], []
        is_known = np.arange(len(sets)) < old
        known = Pairs.concatenate([])
        for spanning_everywhere in (False, True):
            compared = 0
            options = JoinOptions(question, spanning_only=True, spanning_everywhere=spanning_everywhere)
            pairs = find_pairs(sketches, np.arange(len(sets)), options, known=known, is_known=is_known)
            components = UnionFind(len(sets))
            components.join(pairs.a, pairs.b)
            labels.append(components.labels().tolist())
            counts.append(compared)
        assert labels[0] == labels[1]
        assert len(set(labels[0])) == 5
        assert counts[0] > 5_000
        assert counts[1] < 3 * len(sets)


@pytest.mark.parametrize("strangers", [0, 12])
def test_a_family_needs_few_hashes(monkeypatch: pytest.MonkeyPatch, strangers: int) -> None:
    """
    Hundreds of near-copies are connected in the first round, which looks up at most 64 hashes of each, not all 300.
    """
    looked_up = 0
    copy_hashes = Sketches.copy_hashes

    def counting(own: Sketches, places: Numbers, skipped: Numbers, counts: Numbers) -> object:
        nonlocal looked_up
        looked_up += int(counts.sum())
        return copy_hashes(own, places, skipped, counts)

    monkeypatch.setattr(Sketches, "copy_hashes", counting)
    chance = random.Random(7)
    page = numbers(chance, 300)
    # Outliers share half of the page, too little for a pair.
    sets = [page | numbers(chance, 5) for _ in range(300)]
    sets += [set(sorted(page)[:150]) | numbers(chance, 100) for _ in range(strangers)]
    pairs = find_pairs(
        sketches_of(sets),
        np.arange(len(sets)),
        JoinOptions(pair_options("jaccard", 80), spanning_only=True),
        known=Pairs.concatenate([]),
        is_known=np.zeros(len(sets), np.bool_),
    )
    assert looked_up <= 64 * len(sets)
    components = UnionFind(len(sets))
    components.join(pairs.a, pairs.b)
    assert components.labels().tolist() == [0] * 300 + list(range(300, len(sets)))


@pytest.mark.slow
@pytest.mark.parametrize("old", [0, 30, 55])
def test_a_crowd_of_chains_has_the_components_of_all_pairs(old: int) -> None:
    """
    Spanning pairs connect all documents that chains of pairs connect. This includes groups joined by two pivots, groups
    connected only by pairs of other documents, and new and old documents outside the largest group.
    """
    options = pair_options("jaccard", 50, 100)
    for seed in range(40):
        chance = random.Random(seed)
        line = sorted(numbers(chance, 170))
        sketches = sketches_of([set(line[at : at + 10]) for at in (chance.randrange(160) for _ in range(60))])
        everything = verify_pairs(sketches, *np.triu_indices(60, 1), options)
        truly = UnionFind(60)
        truly.join(everything.a, everything.b)
        is_new = np.arange(60) >= old
        known = everything.select(~is_new[everything.a] & ~is_new[everything.b])
        links = _SpanningPairs(sketches, options, is_new)
        links.add(known)
        # Test with and without a first attempt to connect the block by probing it.
        early = links.probe_block(np.arange(60))[0] if seed % 2 else []
        results = Pairs.concatenate([known, *early, *links.within_block(np.arange(60))])
        linked = UnionFind(60)
        linked.join(results.a, results.b)
        assert linked.labels().tolist() == truly.labels().tolist()


def test_copies_are_represented_by_the_first() -> None:
    """
    Documents with equal keys have equal sketches; a document without shingles equals only itself.
    """
    keys, sizes = np.array([7, 3, 7, 3, 9, 7, 3]), np.array([5, 0, 5, 0, 1, 5, 0])
    assert first_of_equals(keys, sizes).tolist() == [0, 1, 0, 3, 4, 0, 6]
