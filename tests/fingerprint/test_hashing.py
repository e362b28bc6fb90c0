"""Many slices hashed at once have the hashes that mmh3 gives them one by one."""

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
from whorl.fingerprint import hashing
from whorl.fingerprint.hashing import murmur3_x64_128

BUFFER = random.Random(1).randbytes(400_000)
#: Without thresholds: everything that can be hashed together is, however little, and in several chunks.
ALL_TOGETHER: dict[str, Any] = {"FEWEST_IN_CHUNK": 1, "FEWEST_IN_STEP": 1, "CHUNK": 7}

slices = st.tuples(st.integers(0, 2000), st.integers(0, 500)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def one_by_one(buffer: bytes, places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return mmh3's hashes of slices."""
    return [mmh3.hash64(buffer[start:end], 0, x64arch=True, signed=False) for start, end in places]


def together(buffer: bytes | npt.NDArray[np.uint8], places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the hashes of slices, made at once."""
    starts, ends = np.array(places, np.int64).reshape(-1, 2).T
    hashes = murmur3_x64_128(buffer, starts, ends)
    assert hashes.dtype == np.uint64
    assert hashes.shape == (len(places), 2)
    return list(map(tuple, hashes.tolist()))


@pytest.mark.slow
@pytest.mark.parametrize("stride", [1, 2, 16])
def test_every_length_at_every_offset(stride: int) -> None:
    """
    Any number of blocks and any rest, beginning anywhere in a block, in any order.
    """
    places = [(start, start + size) for size in range(16 * hashing.MOST_BLOCKS + 40) for start in range(0, 48, stride)]
    random.Random(2).shuffle(places)
    assert together(BUFFER, places) == one_by_one(BUFFER, places)


@given(st.lists(slices, max_size=40))
def test_any_slices(places: list[tuple[int, int]]) -> None:
    """
    Slices overlap, repeat, are empty, stand in any order.
    """
    with mock.patch.multiple(hashing, **ALL_TOGETHER):
        assert together(BUFFER, places) == one_by_one(BUFFER, places)


@given(st.binary(max_size=300), st.data())
def test_up_to_the_end_of_the_buffer(buffer: bytes, data: st.DataObject) -> None:
    """
    What lies behind the buffer is never part of a hash.
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
    Windows of five words, whole chunks of them and parts of one.
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
    However long some of the slices are, and however far apart they stand.
    """
    rng = random.Random(4)
    sizes = [rng.randint(0, 100) for _ in range(2000)] + [rng.randint(longest // 2, longest) for _ in range(long_ones)]
    rng.shuffle(sizes)
    places = [(start, start + size) for size in sizes for start in [rng.randint(0, len(BUFFER) - size)]]
    # Slices of 100 KB and more take mmh3 itself a while.
    places = places[:2100] if longest == len(BUFFER) else places
    assert together(BUFFER, places) == one_by_one(BUFFER, places)


def test_no_slices() -> None:
    """
    No slices have no hashes, be the buffer empty or not.
    """
    assert together(b"", []) == []
    assert together(BUFFER, []) == []


def test_the_buffer_may_be_an_array() -> None:
    """
    An array of bytes is as good as bytes.
    """
    places = [(start, start + 61) for start in range(0, 3 * hashing.FEWEST_IN_CHUNK, 3)]
    assert together(np.frombuffer(BUFFER, np.uint8), places) == one_by_one(BUFFER, places)


@pytest.mark.parametrize(
    ("starts", "ends"), [([-1], [2]), ([0], [4]), ([2], [1]), ([0, 4], [1, 4]), ([0], [1, 2]), (0, 1), ([[0]], [[1]])]
)
def test_what_is_no_slice_is_told(starts: object, ends: object) -> None:
    """
    A slice that reaches out of the buffer, one that ends before it starts, starts without ends.
    """
    with pytest.raises(ParameterError, match="slice"):
        murmur3_x64_128(b"abc", np.array(starts), np.array(ends))
