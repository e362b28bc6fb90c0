"""Tests of the index of shared hashes, and of pruning."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.duplicates.sets import families, numbers, pair_options, sketches_of
from whorl.duplicates import token_index
from whorl.duplicates.options import PairOptions
from whorl.duplicates.prefix_lengths import rounds
from whorl.duplicates.sketch_arrays import Sketches
from whorl.duplicates.token_index import IndexedTokens, LevelMembers
from whorl.fingerprint.compiled import kernel


def indexed_tokens(
    sketches: Sketches, pair_options: PairOptions, level: int = 0
) -> tuple[LevelMembers, IndexedTokens, int]:
    """Return the members of the first round, their shared hashes, and the bits of a member number."""
    one = rounds(pair_options, int(sketches.counts.max()))[0]
    places = np.lexsort((np.arange(len(sketches)), sketches.sizes))
    homes = one.home_levels(sketches, sketches.sizes[places])
    members = LevelMembers.choose(sketches, one, places, homes, level)
    member_bits = max(1, (members.indices.size - 1).bit_length())
    return members, token_index.index_tokens(sketches, members, level, member_bits, 1), member_bits


@given(st.integers(0, 2**32), st.sampled_from(["jaccard", "containment"]), st.sampled_from([20, 50, 80, 95]))
def test_possible_pairs_keep_all_shared_hashes(seed: int, metric: str, percent: int) -> None:
    """
    Two documents that share enough hashes for a pair have an entry for each of these, and the counts are those of the
    entries.
    """
    sketches = sketches_of(families(random.Random(seed), 8, 60))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_index, "AT_ONCE", 50)
        members, shared_tokens, member_bits = indexed_tokens(sketches, pair_options(metric, percent))
    owners = token_index.owners_of(shared_tokens.entries.keys, member_bits)
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
    monkeypatch.setattr(token_index, "is_fast", lambda amount: False)
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
    monkeypatch.setattr(token_index, "is_fast", lambda amount: True)
    monkeypatch.setattr(token_index, "AT_ONCE", 200)
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
