"""Codes, their permutations and blocks, and groups of them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hamming.hamming_routes_fixture import route  # noqa: F401  # a fixture
from tests.hamming.reference_search import MOST
from tests.sampling import thorough
from whorl.errors import CodeRangeError, CodeTypeError, ParameterError
from whorl.hamming import Groups, codes_and_groups
from whorl.hamming.codes_and_groups import (
    BITS,
    LARGEST,
    Permutation,
    as_code,
    as_codes,
    as_distance,
    blocks_of,
    codes_from_votes,
    count_votes,
)


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
    assert permutation.apply(code) == permutation.apply(codes)[0] == expected
    assert permutation.undo(expected) == permutation.undo(permutation.apply(codes))[0] == code


def test_blocks() -> None:
    """
    64 bits in five blocks are 12, 13, 13, 13 and 13 bits, from the lowest on.
    """
    assert [mask.bit_count() for mask in blocks_of(MOST, 5)] == [12, 13, 13, 13, 13]
    assert blocks_of(0b1011_0000, 2) == [0b0001_0000, 0b1010_0000]


@given(st.lists(st.integers(0, LARGEST)))
def test_integers_of_any_type_are_codes(numbers: list[int]) -> None:
    """
    Lists, iterators and arrays of any integer type give the same codes; an array of codes is not copied.
    """
    codes = as_codes(numbers)
    assert codes.dtype == np.uint64
    assert codes.tolist() == numbers
    assert as_codes(iter(numbers)).tolist() == [as_code(number) for number in numbers] == numbers
    small = np.array(numbers, np.uint64) >> np.uint64(1)
    assert as_codes(small.astype(np.int64)).tolist() == small.tolist()
    assert as_codes(small) is small


@pytest.mark.parametrize("wrong", [-1, LARGEST + 1, np.int8(-1)])
def test_numbers_out_of_range(wrong: Any) -> None:
    """
    A number out of range is an error, alone and among others.
    """
    with pytest.raises(CodeRangeError, match=r"a code is .* got"):
        as_code(wrong)
    with pytest.raises(CodeRangeError, match=r"^hashes are whole numbers from 0 to 2\*\*64 - 1"):
        as_codes([0, wrong], "hashes")


def test_truth_values_are_no_codes() -> None:
    """
    True is an error, although Python takes it for 1.
    """
    with pytest.raises(CodeTypeError, match="got True"):
        as_code(True)


@pytest.mark.parametrize("wrong", [1.5, "1", None])
def test_values_that_are_no_integers_are_refused(wrong: Any) -> None:
    """
    Other types are an error; they are neither rounded nor parsed.
    """
    with pytest.raises(CodeTypeError, match="got"):
        as_code(wrong)
    with pytest.raises(CodeTypeError, match="codes are"):
        as_codes([wrong])


def test_arrays_of_another_shape() -> None:
    """
    An array of rows is an error.
    """
    with pytest.raises(CodeTypeError, match=r"uint64 of shape \(2, 2\)"):
        as_codes(np.zeros((2, 2), np.uint64))


votes = st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(1, 1000)), max_size=8)


@given(st.lists(votes, max_size=4))
def test_votes_are_counted_for_each_bit(texts: list[list[tuple[int, int]]]) -> None:
    """
    The tally of a bit is the weight of hashes with it minus that of hashes without it; a positive tally sets the bit.
    """
    hashes = np.array([code for text in texts for code, _ in text], np.uint64)
    weights = [weight for text in texts for _, weight in text]
    counted = count_votes(hashes, [len(text) for text in texts], weights)
    expected = [[sum(w if code >> bit & 1 else -w for code, w in text) for bit in range(BITS)] for text in texts]
    assert counted.tolist() == expected
    codes = [sum(1 << bit for bit, more in enumerate(row) if more > 0) for row in expected]
    assert codes_from_votes(counted).tolist() == codes


def test_one_vote_each_without_weights() -> None:
    """
    0b011 and 0b010 agree on the second bit, tie on the first, and lack all others.
    """
    counted = count_votes(np.array([0b011, 0b010], np.uint64), [2])
    assert counted.tolist() == [[0, 2] + [-2] * 62]
    assert codes_from_votes(counted).tolist() == [0b010]


pytest.importorskip("numba", reason="numba is not installed")


@thorough
def test_loops_are_loaded_when_loading_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The loops are loaded once the plain route would have taken as long as loading them, summed over all calls, and then
    stay.
    """
    monkeypatch.delitem(sys.modules, "whorl.hamming.compiled_loops", raising=False)
    monkeypatch.setattr(codes_and_groups, "_spent_seconds", 0.0)
    half = codes_and_groups.LOADING_SECONDS / 2
    assert codes_and_groups.loops(half) is None
    loaded = codes_and_groups.loops(half)
    assert loaded.__name__ == "whorl.hamming.compiled_loops"
    assert codes_and_groups.loops(0.0) is loaded


def test_without_numba_numpy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Without numba the loops are never loaded, whatever the amount of work.
    """
    monkeypatch.delitem(sys.modules, "whorl.hamming.compiled_loops", raising=False)
    monkeypatch.setattr(codes_and_groups, "find_spec", lambda name: None)
    assert codes_and_groups.loops(1e9) is None


@pytest.mark.parametrize("kind", [int, np.int64, np.uint8, np.int32])
def test_distances(kind: Any) -> None:
    """
    Integers of numpy are distances, too; they become integers of Python.
    """
    assert [(as_distance(kind(bits)), type(as_distance(kind(bits)))) for bits in (0, 3, 64)] == [
        (bits, int) for bits in (0, 3, 64)
    ]


@pytest.mark.parametrize("wrong", [-1, 65, 3.0, np.float64(3), True, "3", None, np.int64(65)])
def test_wrong_distances(wrong: Any) -> None:
    """
    A distance is an integer from 0 to 64.
    """
    with pytest.raises(ParameterError, match="distance is a number of bits from 0 to 64, got"):
        as_distance(wrong)
