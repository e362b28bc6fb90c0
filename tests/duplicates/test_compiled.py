"""The compiled merge of ascending hashes, against plain sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.fingerprint.compiled import kernel

pytestmark = pytest.mark.skipif(not kernel.is_available(), reason="numba is not installed (whorl[fast])")


@given(
    st.lists(st.sets(st.one_of(st.integers(0, 12), st.integers(2**64 - 3, 2**64 - 1))), min_size=1, max_size=5),
    st.lists(st.tuples(*[st.integers(0, 4)] * 4), max_size=10),
)
def test_counts_are_those_of_sets(sets: list[set[int]], wanted: list[tuple[int, int, int, int]]) -> None:
    """
    Of any two documents, also of one with itself, and of as many of their hashes as are asked for.
    """
    from whorl.duplicates.compiled import count_shared

    lists = [sorted(each) for each in sets]
    hashes = np.array([hash_ for each in lists for hash_ in each], np.uint64)
    starts = np.cumsum([0, *map(len, lists)])[:-1]
    pairs = [(a % len(sets), b % len(sets), less_a, less_b) for a, b, less_a, less_b in wanted]
    counts = [(max(0, len(lists[a]) - less_a), max(0, len(lists[b]) - less_b)) for a, b, less_a, less_b in pairs]
    a, b = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    counts_a, counts_b = (np.array([count[side] for count in counts], np.int64) for side in (0, 1))
    shared = np.empty(len(pairs), np.int64)
    count_shared(hashes, starts[a], counts_a, starts[b], counts_b, shared)
    expected = [
        len(set(lists[one][:first]) & set(lists[other][:second]))
        for (one, other, *_), (first, second) in zip(pairs, counts, strict=True)
    ]
    assert shared.tolist() == expected
