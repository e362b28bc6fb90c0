"""Tests of the compiled loops of the all-pairs search, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.duplicates import prefix_filter, thread_ranges
from whorl.duplicates.options import parse_pair_options
from whorl.duplicates.prefix_filter import LevelMembers
from whorl.duplicates.prefix_lengths import rounds
from whorl.duplicates.sketch_arrays import Sketches
from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.sketch.frac_minhash import Sketch, SketchScheme

pytestmark = pytest.mark.skipif(not kernel.is_available(), reason="numba is not installed (whorl[fast])")


@given(st.integers(0, 2**32), st.integers(24, 40), st.sampled_from(["jaccard", "containment"]), st.integers(1, 3))
def test_compiled_loops_equal_the_plain_index(seed: int, bits: int, metric: str, spread: int) -> None:
    """
    The compiled loops return the entries of numpy, in one thread and in three, for common, rare and equal hashes.
    """
    chance = np.random.default_rng(seed)
    scheme = SketchScheme(k=64, floor_level=2, cap=128, lookup_k=64, bits=bits)
    pool = np.unique(chance.integers(0, 1 << bits, 400).astype(np.uint64) >> np.uint64(8 * (spread - 1)))
    several = [
        Sketch(scheme, int(size), np.sort(chance.choice(pool, min(pool.size, int(size)), replace=False)))
        for size in chance.integers(1, 64, int(chance.integers(1, 60)))
    ]
    sketches = Sketches.from_sketches(several, scheme)
    one = rounds(parse_pair_options(metric, 60, 95), 64)[0]
    places = np.lexsort((np.arange(len(several)), sketches.sizes))
    members = LevelMembers.choose(sketches, one, places, np.arange(1, places.size + 1) % 3 - 1, 0)
    member_bits = max(1, (places.size - 1).bit_length())
    actual = []
    for is_fast, least in ((False, 0), (True, 1 << 60), (True, 0)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(thread_ranges, "_LEAST_THREAD_WORK", least)
            patch.setattr(prefix_filter, "is_compiled_faster", lambda amount, answer=is_fast: answer)
            patch.setattr(prefix_filter, "_PART_BITS", 4)
            patch.setattr(prefix_filter, "_BUFFER_ENTRIES", 7)
            patch.setattr(prefix_filter, "HASHES_AT_ONCE", 200)
            actual.append(prefix_filter.collect_shared_hashes(sketches, members, 0, member_bits, 3))
    plain, *several_fast = actual
    for fast in several_fast:
        assert fast.entries.keys.tolist() == plain.entries.keys.tolist()
        assert fast.entries.frequency.tolist() == plain.entries.frequency.tolist()
        assert fast.entries.is_indexable.tolist() == plain.entries.is_indexable.tolist()
        assert fast.counts.tolist() == plain.counts.tolist()
        assert fast.indexable.tolist() == plain.indexable.tolist()
    lengths = tuple(chance.integers(-1, 6, (2, places.size)))
    keys = []
    for is_fast in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(prefix_filter, "is_compiled_faster", lambda amount, answer=is_fast: answer)
            keys.append([part.tolist() for part in prefix_filter._prefix_keys(fast, lengths, member_bits)])
    assert keys[0] == keys[1]
