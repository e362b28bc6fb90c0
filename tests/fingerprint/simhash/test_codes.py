"""64-bit codes as callers give them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.errors import CodeRangeError, CodeTypeError
from whorl.fingerprint.simhash.codes import LARGEST, as_code, as_codes


@given(st.lists(st.integers(0, LARGEST)))
def test_numbers_of_any_kind(numbers: list[int]) -> None:
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


@pytest.mark.parametrize("wrong", [1.5, "1", None])
def test_what_is_no_number(wrong: Any) -> None:
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
