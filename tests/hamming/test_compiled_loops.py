"""The compiled loops, one by one, compared with numpy and Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("numba", reason="numba is not installed")

from whorl.hamming.compiled_loops import bucket_bounds, radix_sort, read_numbers, write_groups

codes_of_64_bits = st.lists(st.integers(0, 2**64 - 1), max_size=40).map(lambda codes: np.array(codes, np.uint64))


@given(codes_of_64_bits, st.integers(0, 64), st.data())
def test_radix_sort(codes: np.ndarray, low: int, data: st.DataObject) -> None:
    """
    The radix sort gives the same order as Python's stable sort by the given bits.
    """
    width = data.draw(st.integers(0, 64 - low))
    expected = sorted(codes.tolist(), key=lambda code: code >> low & (1 << width) - 1)
    radix_sort(codes, np.empty_like(codes), low, width, np.zeros(1 << 11, np.int64))
    assert codes.tolist() == expected


@given(codes_of_64_bits, st.integers(0, 58))
def test_bucket_bounds(codes: np.ndarray, low: int) -> None:
    """
    The bounds are the starts of the 64 buckets of six bits, and the end of the last.
    """
    values = np.sort(codes >> np.uint64(low) & np.uint64(63))
    ordered = values << np.uint64(low)
    bounds = np.empty(65, np.int32)
    bucket_bounds(ordered, low, 6, bounds)
    assert bounds.tolist() == np.searchsorted(values, np.arange(65)).tolist()


@given(st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=5), max_size=5))
def test_groups_are_lists_of_python(groups: list[list[int]]) -> None:
    """
    Groups are written as Python writes lists.
    """
    codes = np.array([code for group in groups for code in group], np.uint64)
    ends = np.cumsum([0, *map(len, groups)])
    text = np.empty(22 * codes.size + 3 * ends.size, np.uint8)
    written = write_groups(codes, ends, text)
    assert text[:written].tobytes().decode() == "".join(f"{group}\n" for group in groups)


@given(st.lists(st.integers(0, 2**65), max_size=10))
def test_numbers_are_read_up_to_the_first_that_is_too_large(numbers: list[int]) -> None:
    """
    The result is the count of the numbers before the first too large one, and the start of its line.
    """
    lines = [f" {number}\t\r\n" for number in numbers]
    good = next((at for at, number in enumerate(numbers) if number >= 2**64), len(numbers))
    codes = np.empty(len(numbers), np.uint64)
    count, end = read_numbers(np.frombuffer("".join(lines).encode(), np.uint8), codes)
    assert (count, end) == (good, len("".join(lines[:good])))
    assert codes[:count].tolist() == numbers[:good]
