"""Bob Jenkins' lookup3 hash of many byte strings at once, with numpy.

Source: Bob Jenkins, lookup3.c (May 2006, public domain), the function hashlittle2. It adds a string to three 32-bit
    numbers, twelve bytes at a time, and mixes them after each block; here, strings with equal numbers of blocks are
    processed together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_BLOCK = 12  # bytes
_START = 0xDEADBEEF
_MOST = 0xFFFFFFFF
#: Mixing steps of lookup3.c: the indexes of two numbers, and the rotation of the second in bits.
_MIX = ((0, 2, 4), (1, 0, 6), (2, 1, 8), (0, 2, 16), (1, 0, 19), (2, 1, 4))
_FINAL = ((2, 1, 14), (0, 2, 11), (1, 0, 25), (2, 1, 16), (0, 2, 4), (1, 0, 14), (2, 1, 24))

_Halves = npt.NDArray[np.uint32]


def lookup3(strings: Sequence[bytes], primary: int = 0, secondary: int = 0) -> npt.NDArray[np.uint64]:
    """Return the 64-bit hash of each string.

    Args:
        strings: Byte strings, of any lengths.
        primary: The first seed, 32 bits.
        secondary: The second seed, 32 bits.

    Returns:
        uint64 array of shape (strings,): hashlittle2's ``*pc`` in the high half, ``*pb`` in the low half.

    >>> f"{lookup3([b'Four score and seven years ago'])[0]:016x}"
    '17770551ce7226e6'
    """
    lengths = np.array([len(each) for each in strings], np.int64)
    # The last block is not mixed in the loop, even if it is complete.
    blocks = (lengths + _BLOCK - 1) // _BLOCK
    hashes = np.empty(len(strings), np.uint64)
    for count in np.unique(blocks).tolist():
        places = np.flatnonzero(blocks == count)
        # The last block is padded with zeros.
        raw = b"".join([strings[place].ljust(count * _BLOCK, b"\0") for place in places.tolist()])
        words = np.frombuffer(raw, "<u4").astype(np.uint32).reshape(places.size, count, 3)
        state = np.empty((3, places.size), np.uint32)
        state[:] = ((lengths[places] + (_START + primary)) & _MOST).astype(np.uint32)
        state[2] += np.uint32(secondary)
        for block in range(count):
            state += words[:, block].T
            (_finish if block == count - 1 else _mix)(state)
        hashes[places] = (state[2].astype(np.uint64) << np.uint64(32)) | state[1]
    return hashes


def _rotated(halves: _Halves, bits: int) -> _Halves:
    return (halves << np.uint32(bits)) | (halves >> np.uint32(32 - bits))


def _mix(state: _Halves) -> None:
    """Mix the three numbers in place, reversibly; shape (3, n)."""
    for to, by, bits in _MIX:
        state[to] -= state[by]
        state[to] ^= _rotated(state[by], bits)
        state[by] += state[3 - to - by]


def _finish(state: _Halves) -> None:
    """Apply the final mixing to the three numbers in place; shape (3, n)."""
    for to, by, bits in _FINAL:
        state[to] ^= state[by]
        state[to] -= _rotated(state[by], bits)
