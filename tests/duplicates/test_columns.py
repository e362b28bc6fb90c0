"""Tests of pairs in columns, against single pairs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whorl.duplicates.columns import PairColumns
from whorl.fingerprint.statistics.metric import Shares

counts = st.integers(0, 1 << 20)


@given(st.lists(st.tuples(counts, counts, st.floats(0, 1)), max_size=20))
def test_shares_are_those_of_one_pair(drawn: list[tuple[int, int, float]]) -> None:
    """
    The shares in columns equal those of single pairs to the last bit, also for documents without shingles.
    """
    shared = np.array([int(share * min(a, b)) for a, b, share in drawn], np.int64)
    sizes = np.array([size for a, b, _ in drawn for size in (a, b)], np.int64)
    places = np.arange(sizes.size)
    names = list(map(str, places))
    found = PairColumns(names, names, sizes, places[::2], places[1::2], shared).shares()
    expected = [Shares.of_counts(number, a, b) for number, (a, b, _) in zip(shared.tolist(), drawn, strict=True)]
    assert [column.tolist() for column in found] == [
        [each.jaccard for each in expected], [each.a_in_b for each in expected], [each.b_in_a for each in expected]
    ]  # fmt: skip
