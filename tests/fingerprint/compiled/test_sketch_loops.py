"""The compiled loops of sketches, compared with plain sets and bytes.

`tests/fingerprint/sketch` compares both with independent results.
"""

from __future__ import annotations

from threading import Event
from unittest.mock import patch
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fingerprint.compiled.scripts import needs_numba
from whorl.errors import SchemeMismatchError, StoreError
from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.compiled.kernel import Kernel
from whorl.fingerprint.sketch.frac_minhash import SketchScheme, decode_all, encode, sketch_of_distinct

pytestmark = needs_numba


@pytest.fixture(scope="module", autouse=True)
def _loops() -> None:
    """Load the loops, as in a process that has read much text."""
    Kernel()
    assert kernel.loops_if_loaded() is not None


@given(
    st.lists(st.sets(st.one_of(st.integers(0, 12), st.integers(2**64 - 3, 2**64 - 1))), min_size=1, max_size=5),
    st.lists(st.tuples(*[st.integers(0, 4)] * 4), max_size=10),
)
def test_counts_equal_plain_sets(sets: list[set[int]], wanted: list[tuple[int, int, int, int]]) -> None:
    """
    Shared hashes are counted for any two documents, for a document with itself, and for any number of their hashes.
    """
    from whorl.fingerprint.compiled.sketch_loops import count_shared

    lists = [sorted(members) for members in sets]
    hashes = np.array([hash_ for hash_list in lists for hash_ in hash_list], np.uint64)
    starts = np.cumsum([0, *map(len, lists)])[:-1]
    pairs = [(a % len(sets), b % len(sets), less_a, less_b) for a, b, less_a, less_b in wanted]
    counts = [(max(0, len(lists[a]) - less_a), max(0, len(lists[b]) - less_b)) for a, b, less_a, less_b in pairs]
    a, b = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    counts_a, counts_b = (np.array([count[side] for count in counts], np.int64) for side in (0, 1))
    shared = np.empty(len(pairs), np.int64)
    count_shared(hashes, starts[a], counts_a, starts[b], counts_b, np.zeros_like(shared), shared)
    expected = [
        len(set(lists[one][:first]) & set(lists[other][:second]))
        for (one, other, *_), (first, second) in zip(pairs, counts, strict=True)
    ]
    assert shared.tolist() == expected
    least = np.array([one[2] * 3 for one in pairs], np.int64)
    count_shared(hashes, starts[a], counts_a, starts[b], counts_b, least, shared)
    for count, full, wanted_count in zip(shared.tolist(), expected, least.tolist(), strict=True):
        assert count == full if full >= wanted_count else count < wanted_count


@given(st.integers(0, 2**32), st.lists(st.integers(0, 4000), min_size=1, max_size=5), st.integers(0, 30), st.data())
def test_both_routes_treat_inconsistent_sketches_equally(
    seed: int, sizes: list[int], at: int, data: st.DataObject
) -> None:
    """
    Bytes with a valid check sum but inconsistent parts are refused or decoded in the same way by both routes.
    """
    chance, scheme = np.random.default_rng(seed), SketchScheme()
    raws = [
        encode(sketch_of_distinct(np.unique(chance.integers(0, 1 << 64, size, np.uint64)), scheme)) for size in sizes
    ]
    broken = bytearray(raws[-1][:-4])
    place = max(0, len(broken) - 1 - at) if data.draw(st.booleans()) else at % len(broken)
    broken[place] ^= 1 << data.draw(st.integers(0, 7))
    del broken[len(broken) - data.draw(st.integers(0, 3)) :]
    raws[-1] = bytes(broken) + crc32(broken).to_bytes(4, "little")
    outcomes: list[object] = []
    for compiled in (kernel._compiled, Event()):
        with patch.object(kernel, "_compiled", compiled):
            try:
                outcomes.append([(sketch.size, sketch.hashes.tolist()) for sketch in decode_all(raws, scheme)])
            except (StoreError, SchemeMismatchError) as error:
                outcomes.append((type(error), str(error)))
    assert outcomes[0] == outcomes[1]
