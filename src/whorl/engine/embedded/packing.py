"""Bit-packing of integers of a fixed width, and checksums of blocks of packed bytes.

64 numbers of w bits fill w words of 64 bits, the first one from the lowest bit on. So a range that begins at a
multiple of 64 numbers begins at a word, and each number can be read on its own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
#: Numbers in a group; a group of numbers of w bits takes w words.
GROUP = 64
#: Bytes in a block; each block has one checksum.
BLOCK = 256
_WORD = np.dtype("<u8")
#: One factor for each word of a block: random, and odd, so that no bit of a word is lost.
_FACTORS = np.random.default_rng(0x77686F726C).integers(0, 1 << 63, BLOCK // 8, np.uint64) * np.uint64(2) + np.uint64(1)


def packed(numbers: Words, width: int) -> Words:
    """Pack numbers into words, padded with zeros to whole groups.

    Args:
        numbers: uint64 array of shape (n,), each below 2**width.
        width: Bits of each number, 1 to 64.

    Returns:
        uint64 array of shape (ceil(n / 64) * width,).
    """
    groups = -(-numbers.size // GROUP)
    lanes = np.zeros((GROUP, groups), np.uint64)
    whole = numbers.size // GROUP
    lanes[:, :whole] = numbers[: whole * GROUP].reshape(whole, GROUP).T
    lanes[: numbers.size - whole * GROUP, whole:] = numbers[whole * GROUP :, None]
    words = np.zeros((width, groups), np.uint64)
    for lane in range(GROUP):
        word, shift = divmod(lane * width, 64)
        words[word] |= lanes[lane] << np.uint64(shift)
        if shift + width > 64:
            words[word + 1] |= lanes[lane] >> np.uint64(64 - shift)
    return np.ascontiguousarray(words.T).ravel()


def unpacked(words: Words, width: int) -> Words:
    """Unpack the words of whole groups that `packed` wrote."""
    columns = np.ascontiguousarray(words.reshape(-1, width).T)
    numbers = np.empty((GROUP, columns.shape[1]), np.uint64)
    mask = np.uint64((1 << width) - 1)
    for lane in range(GROUP):
        word, shift = divmod(lane * width, 64)
        own = columns[word] >> np.uint64(shift)
        if shift + width > 64:
            own |= columns[word + 1] << np.uint64(64 - shift)
        np.bitwise_and(own, mask, out=numbers[lane])
    return np.ascontiguousarray(numbers.T).ravel()


def picked(raw: npt.NDArray[np.uint8], places: npt.NDArray[np.int64], width: int) -> Words:
    """Return packed numbers by index.

    Args:
        raw: The bytes of the words, little-endian, followed by at least 9 more bytes.
        places: Indices of the numbers; int64 array of shape (n,).
        width: Bits of each number.
    """
    bits = places * width
    at, shifts = bits >> 3, (bits & 7).astype(np.uint64)
    # A view with a stride of one byte reads unaligned words.
    everywhere: Words = np.ndarray((raw.size - 7,), _WORD, raw, 0, (1,))
    numbers: Words = everywhere[at] >> shifts
    if width > 57:
        # Two shifts, by one and by the remainder, because a shift by 64 is undefined.
        numbers |= (raw[at + 8].astype(np.uint64) << np.uint64(1)) << (np.uint64(63) - shifts)
    numbers &= np.uint64((1 << width) - 1)
    return numbers


def check_sums(blocks: Words) -> npt.NDArray[np.uint32]:
    """Return the checksum of each block.

    Args:
        blocks: uint64 array of shape (n, BLOCK / 8).

    Returns:
        uint32 array of shape (n,). A flipped bit nearly always changes it; other damage goes unnoticed once in 2**32.

    Source of the code: multilinear hashing, the upper half of a sum of products modulo 2**64.
    """
    sums: Words = np.einsum("ij,j->i", blocks, _FACTORS)
    return (sums >> np.uint64(32)).astype(np.uint32)
