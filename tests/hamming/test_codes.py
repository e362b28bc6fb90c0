"""Codes and distances, permutations and blocks of bits."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hamming.hamming_routes_fixture import route  # noqa: F401  # a fixture
from tests.hamming.reference_search import MOST
from whorl.errors import CodeRangeError, CodeTypeError, ParameterError
from whorl.hamming.codes import LARGEST, Permutation, as_code, as_codes, as_distance, blocks_of


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
    with pytest.raises(CodeRangeError, match=r"a code is .* got .* by number & 2\*\*64 - 1"):
        as_code(wrong)
    with pytest.raises(CodeRangeError, match=r"^hashes are whole numbers from 0 to 2\*\*64 - 1"):
        as_codes([0, wrong], "hashes")


def test_signed_codes() -> None:
    """
    Errors about negative numbers say how signed numbers become codes, and the documented ways give equal codes.
    """
    signed = [-1, -(2**63), 5]
    numbers = np.array(signed)
    for wrong in (signed, numbers):
        with pytest.raises(CodeRangeError, match=r"numpy\.asarray\(numbers, 'int64'\)\.view\('uint64'\)"):
            as_codes(wrong)
    expected = [2**64 - 1, 2**63, 5]
    assert as_codes(np.asarray(signed, "int64").view("uint64")).tolist() == expected
    assert as_codes([number & 2**64 - 1 for number in signed]).tolist() == expected


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_bytes_are_no_codes(kind: Any) -> None:
    """
    Bytes are an error; each of them would be a code.
    """
    with pytest.raises(CodeTypeError, match=r"numpy\.frombuffer"):
        as_codes(kind(b"12345678"))


def test_views_of_numbers_are_codes() -> None:
    """
    The items of a memoryview are codes, if they are larger than bytes.
    """
    assert as_codes(memoryview(array("Q", [7, 2**64 - 1]))).tolist() == [7, 2**64 - 1]


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


def test_masked_arrays() -> None:
    """
    A masked array is an error if an item is masked.
    """
    assert as_codes(np.ma.array([1, 2], mask=[False, False])).tolist() == [1, 2]
    with pytest.raises(CodeTypeError, match=r"without masked values; give the array's compressed\(\)"):
        as_codes(np.ma.array([1, 2], mask=[False, True]))


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
