"""Codes, their permutations and blocks, and groups of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hamming.hamming_routes_fixture import route  # noqa: F401  # a fixture
from tests.hamming.plain import MOST
from whorl.hamming import Groups
from whorl.hamming.codes import Permutation, blocks_of


def test_groups_are_counted_from_both_ends() -> None:
    """
    Groups have the indices of a list, also negative ones.
    """
    groups = Groups(np.array([1, 2, 3], np.uint64), np.array([0, 2, 2, 3]))
    assert [groups[0].tolist(), groups[1].tolist(), groups[-1].tolist()] == [[1, 2], [], [3]]
    assert len(groups) == 3
    with pytest.raises(IndexError):
        _ = groups[3]


@given(order=st.permutations(range(64)), code=st.integers(0, MOST))
def test_permutations(order: list[int], code: int) -> None:
    """
    Permutations move each bit as specified, for one code or many, and can be undone.
    """
    permutation = Permutation(order)
    expected = sum((code >> source & 1) << place for place, source in zip(range(63, -1, -1), order, strict=True))
    codes = np.array([code], np.uint64)
    assert permutation.apply(code) == permutation.apply_all(codes)[0] == expected
    assert permutation.undo(expected) == permutation.undo_all(permutation.apply_all(codes))[0] == code


def test_blocks() -> None:
    """
    64 bits in five blocks are 12, 13, 13, 13 and 13 bits, from the lowest on.
    """
    assert [mask.bit_count() for mask in blocks_of(MOST, 5)] == [12, 13, 13, 13, 13]
    assert blocks_of(0b1011_0000, 2) == [0b0001_0000, 0b1010_0000]
