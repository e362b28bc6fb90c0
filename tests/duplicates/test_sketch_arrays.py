"""Tests of sketches in flat arrays, against single sketches."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.duplicates.sets import SMALL, numbers, sketches_of
from tests.plain import sketch_of
from whorl.duplicates.sketch_arrays import Sketches
from whorl.errors import StoreError
from whorl.fingerprint.sketch.frac_minhash import SketchScheme, level_for_count


def test_levels_of_many_sizes_equal_those_of_single_sizes() -> None:
    """
    The levels of many sizes equal the scheme's levels of single sizes.
    """
    scheme = SketchScheme()
    sizes = np.array([0, 1, 1023, 1024, 1025, 2048, 2049, 8192, 8193, 131_072, 131_073, 10**7], np.int64)
    assert scheme.levels(sizes).tolist() == [scheme.level(size) for size in sizes.tolist()]
    assert level_for_count(sizes, 1024)[:4].tolist() == [0, 0, 0, 0]


def test_sketches_survive_flat_arrays() -> None:
    """
    Each sketch comes back unchanged from the flat arrays, also without any shingles.
    """
    chance = random.Random(1)
    made = [sketch_of(np.array(sorted(numbers(chance, count)), np.uint64), SMALL) for count in (0, 5, 900, 0, 70)]
    together = Sketches.from_sketches(made, SMALL)
    assert [together.sketch(place) for place in range(len(together))] == made
    assert len(Sketches.from_sketches([], SMALL)) == 0


@given(st.lists(st.integers(0, 300), min_size=1, max_size=6), st.integers(0, 2**32), st.data())
def test_hashes_are_counted_and_gathered(sizes: list[int], seed: int, data: st.DataObject) -> None:
    """
    Counts of hashes up to a limit, counts below a level's bound, and ranges of hashes equal those of plain lists.
    """
    chance = random.Random(seed)
    sketches = sketches_of([numbers(chance, size) for size in sizes], SMALL)
    every = [sketches.sketch(place).hashes.tolist() for place in range(len(sizes))]
    places = np.array(data.draw(st.lists(st.integers(0, len(sizes) - 1), max_size=8)), np.int64)
    last = np.array([chance.choice(every[place] or [7]) for place in places], np.uint64)
    within = [
        sum(number <= bound for number in every[place]) for place, bound in zip(places, last.tolist(), strict=True)
    ]
    assert sketches.count_upto(places, last).tolist() == within
    levels = np.array([chance.randrange(6) for _ in places], np.int64)
    below = [
        sum(number < SMALL.bound(level) for number in every[place])
        for place, level in zip(places, levels.tolist(), strict=True)
    ]
    assert sketches.count_at_level(places, levels).tolist() == below
    skipped = np.array([chance.randrange(len(every[place]) + 1) for place in places], np.int64)
    counts = np.array(
        [chance.randrange(len(every[place]) - skip + 1) for place, skip in zip(places, skipped, strict=True)], np.int64
    )
    expected = [
        (hash_, owner)
        for owner, (place, skip, count) in enumerate(zip(places, skipped, counts, strict=True))
        for hash_ in every[place][skip : skip + count]
    ]
    hashes, owners = sketches.copy_hashes(places, skipped, counts)
    assert list(zip(hashes.tolist(), owners.tolist(), strict=True)) == expected


@pytest.mark.skipif(not hasattr(os, "preadv"), reason="this system maps files only")
def test_partial_reads_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Partial reads are repeated, and a file that has become shorter raises an error.
    """
    whole = np.arange(4096, dtype=np.uint64)
    whole.tofile(tmp_path / "hashes")
    monkeypatch.setattr("whorl.duplicates.sketch_arrays.MAPPED_BYTES", 0)
    monkeypatch.setattr("whorl.duplicates.sketch_arrays._MOST_MAPPED_BYTES", 0)
    monkeypatch.setattr("whorl.duplicates.sketch_arrays._READAHEAD_BYTES", 1)
    few = sketches_of([])
    sketches = Sketches(SMALL, few.sizes, few.starts, few.counts, np.memmap(tmp_path / "hashes", np.uint64, "r"))
    read = os.preadv
    monkeypatch.setattr(os, "preadv", lambda number, held, at: read(number, [held[0][:20]], at))
    starts, ends = np.array([3, 700, 4000]), np.array([10, 700, 4096])
    hashes, begins = sketches.copy_ranges(starts, ends)
    assert hashes.tolist() == [*range(3, 10), *range(4000, 4096)]
    assert begins.tolist() == [0, 7, 7]
    os.truncate(tmp_path / "hashes", 8 * 4090)
    with pytest.raises(StoreError, match=r"ends before byte 32,768"):
        sketches.copy_ranges(starts, ends)


@given(st.lists(st.integers(0, 1 << 40), max_size=8), st.integers(1, 5000))
def test_levels_beyond(sizes: list[int], most: int) -> None:
    """
    The level is the number of halvings needed to get a size down to the limit, in exact integers.
    """
    levels = level_for_count(np.array(sizes, np.int64), most).tolist()
    for size, level in zip(sizes, levels, strict=True):
        assert size <= most << level
        assert level == 0 or size > most << (level - 1)
