"""Candidates and verified pairs, compared with plain sets; boilerplate with few candidates; the shared hashes."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.duplicates.sets import SMALL, families, numbers, pair_options, sketches_of, truth
from whorl.duplicates import prefix_filter
from whorl.duplicates.options import PairOptions
from whorl.duplicates.pairs import Pairs
from whorl.duplicates.prefix_filter import CandidatePairs, LevelMembers, SharedHashes, find_candidates
from whorl.duplicates.prefix_lengths import MOST_PAIRS, JoinOptions, rounds
from whorl.duplicates.sketch_arrays import Sketches
from whorl.duplicates.verify_by_sketches import verify_pairs
from whorl.fingerprint.compiled import kernel


def verified_pairs(sketches: Sketches, probe_keys: PairOptions, most: int = MOST_PAIRS) -> Pairs:
    candidates = [
        candidate
        for candidate in find_candidates(sketches, JoinOptions(probe_keys, most_pairs=most))
        if isinstance(candidate, CandidatePairs)
    ]
    return Pairs.concatenate([verify_pairs(sketches, part.smaller, part.larger, probe_keys) for part in candidates])


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["jaccard", "containment"])
@pytest.mark.parametrize("percent", [5, 20, 50, 80, 90, 100])
def test_complete_sketches_give_all_pairs_and_no_others(metric: str, percent: int) -> None:
    """
    With complete sketches, recall 100 gives the pairs of plain sets; recall 95 gives no wrong pair, and at least 95 of
    100.
    """
    sets = families(random.Random(percent), 150, 1500)
    sketches, expected = sketches_of(sets), truth(sets, pair_options(metric, percent))
    assert len(expected) > 10
    for recall in (100, 95):
        pairs = verified_pairs(sketches, pair_options(metric, percent, recall))
        there = set(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True))
        assert there <= expected
        assert len(there) >= recall / 100 * len(expected)
        for a, b, jaccard, shared in zip(pairs.a.tolist(), pairs.b.tolist(), pairs.jaccard, pairs.shared, strict=True):
            common = len(sets[a] & sets[b])
            assert shared == common
            assert jaccard == pytest.approx(common / (len(sets[a]) + len(sets[b]) - common))
        assert pairs.is_exact.all()


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["jaccard", "containment"])
def test_partial_sketches_reach_the_recall(metric: str) -> None:
    """
    With partial sketches and a recall of 90 %, at least 90 % of the pairs at 80 % are found.
    """
    chance, sets = random.Random(5), []
    for _ in range(400):
        size = chance.randrange(300, 1500)
        shared = numbers(chance, round(size * (2 * 0.81 / 1.81 if metric == "jaccard" else 0.81)))
        sets += [shared | numbers(chance, size - len(shared)) for _ in range(2)]
    pairs = verified_pairs(sketches_of(sets, SMALL), pair_options(metric, 80, 90))
    there = set(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True))
    wanted = {(at, at + 1) for at in range(0, 800, 2)}
    # The pairs are just above the threshold; allow four standard deviations below the recall.
    assert len(there & wanted) >= 400 * (0.9 - 4 * (0.09 / 400) ** 0.5)
    assert not pairs.is_exact.all()
    is_near = pairs.jaccard[~pairs.is_exact] > (0.6 if metric == "jaccard" else 0.5)
    assert is_near.all()


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32), st.sampled_from(["jaccard", "containment"]), st.integers(1, 100))
def test_rounds_and_portions_do_not_change_the_pairs(seed: int, metric: str, percent: int) -> None:
    """
    The pairs do not depend on the number of pairs that one hash may produce before its documents are deferred.
    """
    # Use random hashes: the simplified numbers of hypothesis are not distributed like hashes.
    sets = families(random.Random(seed), 12, 200)
    sketches, probe_keys = sketches_of(sets), pair_options(metric, percent, 100)
    expected = truth(sets, probe_keys)
    for most in (1, 5, 10**6):
        pairs = verified_pairs(sketches, probe_keys, most=most)
        assert set(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True)) == expected


def test_a_hash_of_all_documents_makes_no_pairs() -> None:
    """
    5,000 documents that share one hash and have 60 hashes of their own produce no candidates.
    """
    chance = random.Random(8)
    one = numbers(chance, 1)
    sketches = sketches_of([one | numbers(chance, 60) for _ in range(5_000)])
    for metric in ("jaccard", "containment"):
        assert not list(find_candidates(sketches, JoinOptions(pair_options(metric, 80))))


@pytest.mark.slow
@pytest.mark.parametrize("share", [30, 60, 75])
def test_boilerplate_makes_few_candidates(share: int) -> None:
    """
    3,000 documents that share 30, 60 or 75 % of their shingles with one page frame (J up to 60 %) produce few
    candidates at a threshold of 80 %, although any two share the frame: 4.5 million pairs.
    """
    chance = random.Random(share)
    frame = numbers(chance, 4 * share)
    sets = [frame | numbers(chance, 400 - 4 * share) for _ in range(3_000)]
    sets += [set(chance.sample(sorted(members), 395)) for members in sets[:100]]
    sketches, probe_keys = sketches_of(sets), pair_options("jaccard", 80)
    candidates = [
        candidate
        for candidate in find_candidates(sketches, JoinOptions(probe_keys))
        if isinstance(candidate, CandidatePairs)
    ]
    assert sum(part.smaller.size for part in candidates) < 10 * len(sets)
    pairs = Pairs.concatenate([verify_pairs(sketches, part.smaller, part.larger, probe_keys) for part in candidates])
    assert set(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True)) == {(at, 3_000 + at) for at in range(100)}


def test_nothing_to_compare() -> None:
    """
    No documents, one document, or documents without shingles make no pairs.
    """
    for sets in ([], [{1}], [set[int](), set[int]()]):
        assert not list(find_candidates(sketches_of(sets), JoinOptions(pair_options("jaccard", 80))))


def test_a_document_with_more_pairs_than_one_portion(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Candidates come in batches, even those of one larger document. A batch has no pair twice.
    """
    monkeypatch.setattr(prefix_filter, "PAIRS_AT_ONCE", 5)
    chance = random.Random(5)
    page = numbers(chance, 40)
    sketches = sketches_of([page | numbers(chance, 2) for _ in range(12)])
    candidates = [
        candidate
        for candidate in find_candidates(sketches, JoinOptions(pair_options("jaccard", 80)))
        if isinstance(candidate, CandidatePairs)
    ]
    batches = [[*zip(part.smaller.tolist(), part.larger.tolist(), strict=True)] for part in candidates]
    assert all(len(set(batch)) == len(batch) for batch in batches)
    assert {frozenset(pair) for batch in batches for pair in batch} == set(map(frozenset, combinations(range(12), 2)))
    assert len(candidates) > 20


def indexed_tokens(
    sketches: Sketches, pair_options: PairOptions, level: int = 0
) -> tuple[LevelMembers, SharedHashes, int]:
    """Return the members of the first round, their shared hashes, and the bits of a member number."""
    one = rounds(pair_options, int(sketches.counts.max()))[0]
    places = np.lexsort((np.arange(len(sketches)), sketches.sizes))
    homes = one.home_levels(sketches.scheme, sketches.sizes[places])
    members = LevelMembers.choose(sketches, one, places, homes, level)
    member_bits = max(1, (members.indices.size - 1).bit_length())
    return members, prefix_filter.collect_shared_hashes(sketches, members, level, member_bits, 1), member_bits


@given(st.integers(0, 2**32), st.sampled_from(["jaccard", "containment"]), st.sampled_from([20, 50, 80, 95]))
def test_possible_pairs_keep_all_shared_hashes(seed: int, metric: str, percent: int) -> None:
    """
    Two documents that share enough hashes for a pair have an entry for each of these, and the counts are those of the
    entries.
    """
    sketches = sketches_of(families(random.Random(seed), 8, 60))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefix_filter, "HASHES_AT_ONCE", 50)
        members, shared_tokens, member_bits = indexed_tokens(sketches, pair_options(metric, percent))
    owners = prefix_filter.members_of_keys(shared_tokens.entries.keys, member_bits)
    tokens = (shared_tokens.entries.keys >> np.uint64(member_bits)).tolist()
    entries = set(zip(owners.tolist(), tokens, strict=True))
    assert shared_tokens.counts.tolist() == np.bincount(owners, minlength=members.indices.size).tolist()
    assert (
        shared_tokens.indexable.tolist()
        == np.bincount(owners[shared_tokens.entries.is_indexable], minlength=members.indices.size).tolist()
    )
    hashes = [sketches.sketch(place).hashes.tolist() for place in members.indices.tolist()]
    counts, indexable, min_indexable_shared, min_shared = (column.tolist() for column in members.lengths)
    for larger in np.flatnonzero(members.is_larger).tolist():
        for smaller in range(int(members.first[larger]), larger):
            shared = set(hashes[larger][: counts[larger]]) & set(hashes[smaller][: indexable[smaller]])
            if len(shared) >= max(min_indexable_shared[smaller], min_shared[larger]):
                assert {(member, token) for member in (smaller, larger) for token in shared} <= entries


def test_documents_that_share_too_little_are_pruned(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Documents that share a third make no pair at 80 %: only a part of their hashes is looked up, and no entry remains.
    """
    looked_up = 0
    copy_hashes = Sketches.copy_hashes

    def counting(own: Sketches, *given: np.ndarray) -> object:
        nonlocal looked_up
        looked_up += int(given[-1].sum())
        return copy_hashes(own, *given)

    monkeypatch.setattr(Sketches, "copy_hashes", counting)
    monkeypatch.setattr(prefix_filter, "is_compiled_faster", lambda amount: False)
    chance = random.Random(3)
    common = numbers(chance, 20)
    sketches = sketches_of([common | numbers(chance, 40) for _ in range(200)])
    _, shared_tokens, _ = indexed_tokens(sketches, pair_options("jaccard", 80))
    assert shared_tokens.entries.keys.size == shared_tokens.counts.sum() == 0
    assert looked_up < 0.7 * sketches.counts.sum()


@pytest.mark.slow
def test_a_mapped_file_gives_the_same_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The compiled loops find the same entries in a mapped file, wherever they start to copy the remaining hashes into
    memory.
    """
    if not kernel.is_available():
        pytest.skip("numba is not installed (whorl[fast])")
    monkeypatch.setattr(prefix_filter, "is_compiled_faster", lambda amount: True)
    monkeypatch.setattr(prefix_filter, "HASHES_AT_ONCE", 200)
    in_memory = sketches_of(families(random.Random(8), 60, 60))
    in_memory.hashes.tofile(tmp_path / "hashes")
    mapped = replace(in_memory, hashes=np.memmap(tmp_path / "hashes", np.uint64, "r"))
    _, expected, _ = indexed_tokens(in_memory, pair_options("jaccard", 80))
    for name in ("MAPPED_BYTES", "_RANGE_BYTES"):
        monkeypatch.setattr(f"whorl.duplicates.sketch_arrays.{name}", 800)
    monkeypatch.setattr("whorl.duplicates.sketch_arrays._MAPPED_BYTES_PER_DOCUMENT", 0)
    assert mapped.exceeds_memory
    for together in (0, 500, 1 << 24):
        for name in ("_LEAST_COPIED", "_MOST_COPIED"):
            monkeypatch.setattr(f"whorl.duplicates.sketch_arrays.{name}", together)
        _, actual_tokens, _ = indexed_tokens(mapped, pair_options("jaccard", 80))
        assert actual_tokens.counts.tolist() == expected.counts.tolist()
        for name in ("keys", "frequency", "is_indexable"):
            assert np.array_equal(getattr(actual_tokens.entries, name), getattr(expected.entries, name))
    assert expected.entries.keys.size > 100
