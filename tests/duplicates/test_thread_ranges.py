"""Tests of ranges of equal work and of their threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.duplicates.thread_ranges import run_in_threads, split_evenly


@given(st.lists(st.integers(0, 1 << 17), max_size=9), st.integers(1, 4))
def test_ranges_cover_all_items(amounts: list[int], most: int) -> None:
    """
    The ranges partition the items, none is empty except a single one, and each has at most its share and one item more.
    """
    actual = split_evenly(np.cumsum(np.array(amounts, np.int64)), most)
    assert [at for first, upto in actual for at in range(first, upto)] == list(range(len(amounts)))
    assert 1 <= len(actual) <= most
    assert all(first < upto for first, upto in actual) or actual == [(0, 0)]
    if len(actual) > 1:
        share = sum(amounts) / most
        assert all(sum(amounts[first:upto]) <= share + max(amounts) + 1 for first, upto in actual)


def test_each_range_runs_in_a_thread() -> None:
    """
    Each range runs in another thread, in order; errors are raised, and a single range runs in the calling thread.
    """
    assert run_in_threads(lambda first, upto: range(first, upto), [(0, 2), (2, 3)]) == [range(2), range(2, 3)]
    assert run_in_threads(lambda first, upto: threading.current_thread(), [(0, 5)]) == [threading.current_thread()]
    other, own = run_in_threads(lambda first, upto: threading.current_thread(), [(0, 5), (5, 9)])
    assert own == threading.current_thread() != other
    with pytest.raises(ZeroDivisionError):
        run_in_threads(lambda first, upto: upto // first, [(0, 2), (2, 3)])
    with pytest.raises(ZeroDivisionError):
        run_in_threads(lambda first, upto: upto // first, [(2, 3), (0, 2)])
