"""MurmurHash3 of many slices of one buffer at once, with numpy alone.

Source: Austin Appleby's MurmurHash3_x64_128 (public domain). It reads 16 bytes after 16 bytes, each such block as two
64-bit lanes; here block i of all slices is read in one step.
"""

from __future__ import annotations

import mmh3
import numpy as np
import numpy.typing as npt

from whorl.errors import ParameterError

#: Slices at a time: so few that what one step reads and writes stays in the processor's cache, so many that numpy does
#: not spend its time on starting.
CHUNK = 8192
#: Slices of more blocks are left to mmh3, which takes less for a whole one than numpy for its blocks.
MOST_BLOCKS = 20
#: For fewer slices than these, one step or a whole chunk takes longer than to call mmh3 for each of them.
FEWEST_IN_STEP, FEWEST_IN_CHUNK = 80, 1200
#: From how many offsets numbers are read as they are needed, not for all offsets beforehand (which takes 1 MB).
_MANY_OFFSETS = 1 << 17
_BLOCK, _LANE = 16, 8  # bytes

_Bytes = npt.NDArray[np.uint8]
_Numbers = npt.NDArray[np.uint64]
_Places = npt.NDArray[np.int64]


def murmur3_x64_128(buffer: bytes | _Bytes, starts: npt.ArrayLike, ends: npt.ArrayLike) -> _Numbers:
    """Return the hash of every slice of a buffer, with seed 0.

    Args:
        buffer: Bytes, or a uint8 array of shape (bytes,).
        starts: Where each slice starts, in bytes, of shape (n,). Slices may overlap and come in any order; fastest are
            short ones of which neighbours in the array are neighbours in the buffer.
        ends: Where each slice ends, in bytes, of shape (n,).

    Returns:
        uint64 array of shape (n, 2): h1 and h2, mmh3's digest read as two little-endian numbers.

    Raises:
        ParameterError: `starts` and `ends` differ in shape, or a slice reaches out of the buffer.

    >>> murmur3_x64_128(b"to be or not to be", [0, 13], [5, 18])
    array([[9518442475791453575, 8680147493025265281],
           [9518442475791453575, 8680147493025265281]], dtype=uint64)
    """
    first, limit = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
    if first.ndim != 1 or first.shape != limit.shape:
        raise ParameterError(f"every slice needs one start and one end, got shapes {first.shape} and {limit.shape}")
    if first.size and not (first.min() >= 0 and limit.max() <= len(buffer) and (first <= limit).all()):
        raise ParameterError(f"a slice of {len(buffer)} bytes must have 0 <= start <= end <= {len(buffer)}")
    # Whole blocks are read, also where a slice ends before the block does.
    padded = bytes(buffer) + bytes(_BLOCK)
    hashes = np.empty((first.size, 2), np.uint64)
    for at in range(0, first.size, CHUNK):
        some = slice(at, at + CHUNK)
        _hash_chunk(padded, first[some], limit[some], hashes[some])
    return hashes


def _hash_chunk(padded: bytes, starts: _Places, ends: _Places, hashes: _Numbers) -> None:
    """Fill an array of shape (n, 2) with the hashes of n slices."""
    if starts.size < FEWEST_IN_CHUNK:
        hashes[:] = _hash_each(padded, starts, ends)
        return
    blocks = np.minimum((ends - starts) // _BLOCK, MOST_BLOCKS + 1).astype(np.uint8)
    # At i, how many slices have a block i.
    reaching = blocks.size - np.bincount(blocks, minlength=MOST_BLOCKS + 2).cumsum()
    steps = int(np.count_nonzero(reaching - reaching[MOST_BLOCKS] >= FEWEST_IN_STEP))
    # The most blocks first: the slices that take part in a step are then the first of those in the step before.
    order = np.argsort(np.uint8(MOST_BLOCKS + 1) - blocks, kind="stable")
    each, together = order[: reaching[steps]], order[reaching[steps] :]
    if each.size:
        hashes[each] = _hash_each(padded, starts[each], ends[each])
    if together.size:
        counts = (reaching[:steps] - each.size).tolist()
        hashes[together, 0], hashes[together, 1] = _hash_together(padded, starts[together], ends[together], counts)


def _hash_each(padded: bytes, starts: _Places, ends: _Places) -> _Numbers:
    """Return the hashes of slices, shape (n, 2), from one call of mmh3 for each."""
    digest, places = mmh3.mmh3_x64_128_digest, zip(starts.tolist(), ends.tolist(), strict=True)
    return np.frombuffer(b"".join([digest(padded[start:end], 0) for start, end in places]), "<u8").reshape(-1, 2)


def _hash_together(padded: bytes, starts: _Places, ends: _Places, counts: list[int]) -> tuple[_Numbers, _Numbers]:
    """Return h1 and h2, each of shape (n,), of slices that stand in order of decreasing numbers of blocks.

    Args:
        padded: The buffer, and at least a block's bytes behind the last slice.
        starts: Shape (n,), in bytes.
        ends: Shape (n,), in bytes.
        counts: At i, how many slices have a block i; as long as the first slice has blocks.
    """
    # Words in UTF-16 have even offsets; then only every other number is needed.
    stride = 1 if np.bitwise_or.reduce(starts) & 1 else 2
    lowest = int(starts.min())
    numbers = _numbers_at(padded, lowest, int(ends.max()) + _LANE, stride)
    places = (starts - lowest) // stride
    first, second = np.zeros((2, starts.size), np.uint64)
    for count in counts:
        place, h1, h2 = places[:count], first[:count], second[:count]
        h1 ^= _mixed(numbers[place], _LANES[0])
        _rotate(h1, *_H1_TURN)
        h1 += h2
        h1 *= _FIVE
        h1 += _H1_ADDED
        place += _LANE // stride
        h2 ^= _mixed(numbers[place], _LANES[1])
        _rotate(h2, *_H2_TURN)
        h2 += h1
        h2 *= _FIVE
        h2 += _H2_ADDED
        place += _LANE // stride
    sizes = ends - starts
    tails = sizes % _BLOCK
    for half, masks, lane in zip((first, second), _TAIL_MASKS, _LANES, strict=True):
        half ^= _mixed(numbers[places] & masks[tails], lane)
        half ^= sizes.view(np.uint64)
        places += _LANE // stride
    _finish(first, second)
    return first, second


def _numbers_at(padded: bytes, lowest: int, highest: int, stride: int) -> _Numbers:
    """Return the 64-bit number, little-endian, at every stride-th offset from the lowest to the highest."""
    numbers: _Numbers = np.ndarray(((highest - lowest) // stride + 1,), "<u8", padded, lowest, (stride,))
    # Numpy picks numbers several times as fast where they stand aligned, and slices that overlap pick each repeatedly.
    return numbers.astype(np.uint64) if numbers.size <= _MANY_OFFSETS else numbers


def _number(value: int) -> _Numbers:
    """Return a number as an array without dimensions, which numpy takes faster than a scalar."""
    return np.array(value, np.uint64)


# The constants of the algorithm. A turn is the bits to the left and those to the right that make a rotation of it.
_C1, _C2 = _number(0x87C37B91114253D5), _number(0x4CF5AD432745937F)
#: For each lane of a block: the factor before the turn, the turn, the factor after it.
_LANES = ((_C1, (_number(31), _number(33)), _C2), (_C2, (_number(33), _number(31)), _C1))
_H1_TURN, _H2_TURN = (_number(27), _number(37)), (_number(31), _number(33))
_FIVE, _H1_ADDED, _H2_ADDED = _number(5), _number(0x52DCE729), _number(0x38495AB5)
_FINAL_SHIFT, _FINAL_FACTORS = _number(33), (_number(0xFF51AFD7ED558CCD), _number(0xC4CEB9FE1A85EC53))
#: Which bits of each lane belong to a last block of 0 to 15 bytes: shape (2, 16).
_TAIL_MASKS = np.array(
    [[(1 << 8 * min(max(size - lane, 0), _LANE)) - 1 for size in range(_BLOCK)] for lane in (0, _LANE)], np.uint64
)


def _mixed(numbers: _Numbers, lane: tuple[_Numbers, tuple[_Numbers, _Numbers], _Numbers]) -> _Numbers:
    """Mix a lane of a block, in place, before it goes into the hash."""
    before, turn, after = lane
    numbers *= before
    _rotate(numbers, *turn)
    numbers *= after
    return numbers


def _rotate(numbers: _Numbers, left: _Numbers, right: _Numbers) -> None:
    """Rotate the bits of numbers, in place."""
    low = numbers >> right
    numbers <<= left
    numbers |= low


def _finish(h1: _Numbers, h2: _Numbers) -> None:
    """Make every bit of a hash depend on every other, in place: what comes after the last block."""
    h1 += h2
    h2 += h1
    for half in (h1, h2):
        for factor in _FINAL_FACTORS:
            half ^= half >> _FINAL_SHIFT
            half *= factor
        half ^= half >> _FINAL_SHIFT
    h1 += h2
    h2 += h1
