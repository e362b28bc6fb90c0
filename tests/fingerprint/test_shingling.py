"""Murmur hashes of many slices at once, compared with those of mmh3."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any
from unittest import mock

import mmh3
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.errors import ParameterError
from whorl.fingerprint import shingling as hashing
from whorl.fingerprint.shingling import murmur3_x64_128

BUFFER = random.Random(1).randbytes(400_000)
#: No minimums and small chunks, so that all slices are hashed together.
ALL_TOGETHER: dict[str, Any] = {"FEWEST_IN_CHUNK": 1, "FEWEST_IN_STEP": 1, "CHUNK": 7}

slices = st.tuples(st.integers(0, 2000), st.integers(0, 500)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def one_by_one(buffer: bytes, places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return mmh3's hashes of the slices."""
    return [mmh3.hash64(buffer[start:end], 0, x64arch=True, signed=False) for start, end in places]


def together(buffer: bytes | npt.NDArray[np.uint8], places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the hashes of the slices, computed at once."""
    starts, ends = np.array(places, np.int64).reshape(-1, 2).T
    hashes = murmur3_x64_128(buffer, starts, ends)
    assert hashes.dtype == np.uint64
    assert hashes.shape == (len(places), 2)
    return list(map(tuple, hashes.tolist()))


@pytest.mark.slow
@pytest.mark.parametrize("stride", [1, 2, 16])
def test_every_length_at_every_offset(stride: int) -> None:
    """
    Slices of any number of blocks, any remainder and any offset have the right hashes, in any order.
    """
    places = [(start, start + size) for size in range(16 * hashing.MOST_BLOCKS + 40) for start in range(0, 48, stride)]
    random.Random(2).shuffle(places)
    assert together(BUFFER, places) == one_by_one(BUFFER, places)


@given(st.lists(slices, max_size=40))
def test_any_slices(places: list[tuple[int, int]]) -> None:
    """
    Slices may overlap, repeat, be empty, and have any order.
    """
    with mock.patch.multiple(hashing, **ALL_TOGETHER):
        assert together(BUFFER, places) == one_by_one(BUFFER, places)


@given(st.binary(max_size=300), st.data())
def test_up_to_the_end_of_the_buffer(buffer: bytes, data: st.DataObject) -> None:
    """
    Bytes after the buffer are never part of a hash.
    """
    start = data.draw(st.integers(0, len(buffer)))
    places = [(start, len(buffer)), (0, len(buffer)), (len(buffer), len(buffer))]
    with mock.patch.multiple(hashing, **ALL_TOGETHER):
        assert together(buffer, places) == one_by_one(buffer, places)


@pytest.mark.parametrize(
    "count", [hashing.FEWEST_IN_CHUNK - 1, hashing.CHUNK - 1, hashing.CHUNK, 2 * hashing.CHUNK + 5]
)
def test_overlapping_windows_as_a_text_has_them(count: int) -> None:
    """
    Windows of five words have the right hashes, in whole and partial chunks.
    """
    rng = random.Random(3)
    bounds = np.cumsum([0, *(2 * rng.randint(2, 11) for _ in range(count + 4))]).tolist()
    places = [(start, end - 2) for start, end in zip(bounds, bounds[5:], strict=False)]
    assert len(places) == count
    assert together(BUFFER, places) == one_by_one(BUFFER, places)


@pytest.mark.parametrize("longest", [20, 400, 20_000, len(BUFFER)])
@pytest.mark.parametrize("long_ones", [1, hashing.FEWEST_IN_STEP, 1000])
def test_long_slices_among_short_ones(long_ones: int, longest: int) -> None:
    """
    Long slices among short ones have the right hashes, at any distance in the buffer.
    """
    rng = random.Random(4)
    sizes = [rng.randint(0, 100) for _ in range(2000)] + [rng.randint(longest // 2, longest) for _ in range(long_ones)]
    rng.shuffle(sizes)
    places = [(start, start + size) for size in sizes for start in [rng.randint(0, len(BUFFER) - size)]]
    # mmh3 itself is slow for slices of 100 KB and more.
    places = places[:2100] if longest == len(BUFFER) else places
    assert together(BUFFER, places) == one_by_one(BUFFER, places)


def test_no_slices() -> None:
    """
    No slices give no hashes, also for an empty buffer.
    """
    assert together(b"", []) == []
    assert together(BUFFER, []) == []


def test_the_buffer_may_be_an_array() -> None:
    """
    The buffer may be an array of bytes.
    """
    places = [(start, start + 61) for start in range(0, 3 * hashing.FEWEST_IN_CHUNK, 3)]
    assert together(np.frombuffer(BUFFER, np.uint8), places) == one_by_one(BUFFER, places)


@pytest.mark.parametrize(
    ("starts", "ends"), [([-1], [2]), ([0], [4]), ([2], [1]), ([0, 4], [1, 4]), ([0], [1, 2]), (0, 1), ([[0]], [[1]])]
)
def test_what_is_no_slice_is_told(starts: object, ends: object) -> None:
    """
    An error refuses slices that exceed the buffer or end before their start, and arrays of other shapes.
    """
    with pytest.raises(ParameterError, match="slice"):
        murmur3_x64_128(b"abc", np.array(starts), np.array(ends))
