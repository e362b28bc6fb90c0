"""Lucene's 128-bit shingle hashes: MurmurHash3 of many slices of one buffer at once, with numpy.

Sources: org.apache.lucene.analysis.minhash.MinHashFilter (identical in Lucene 8, 9 and 10): MurmurHash3_x64_128 with
    seed 0 of the shingle's UTF-16LE bytes, combined with the hash of the hash function's number. Austin Appleby's
    MurmurHash3_x64_128 (public domain) reads 16-byte blocks as two 64-bit lanes; here block i of all slices is read in
    one step.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise

import mmh3
import numpy as np
import numpy.typing as npt

from whorl.errors import ParameterError

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_MULTIPLIER = np.uint64(37)
_BLANK = np.uint16(0x20)
_ENCODED_BLANK = np.array([0x20, 0], np.uint8)

#: Number of slices at a time: small enough that the data of one step stays in the processor's cache, large enough that
#: numpy's start-up cost does not dominate.
CHUNK = 8192
#: Slices with more blocks are left to mmh3, which hashes a whole one faster than numpy does block by block.
MOST_BLOCKS = 20
#: Below these numbers of slices, calling mmh3 for each is faster than one step or a whole chunk with numpy.
FEWEST_IN_STEP, FEWEST_IN_CHUNK = 80, 1200
#: From this number of offsets on, numbers are read on demand instead of copied for all offsets (which takes 1 MB).
_MANY_OFFSETS = 1 << 17
_BLOCK, _LANE = 16, 8  # bytes

_Bytes = npt.NDArray[np.uint8]
_Numbers = npt.NDArray[np.uint64]
_Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class JoinedWords:
    """Folded words, joined by single blanks, in UTF-16LE.

    Args:
        encoded: uint8 array of shape (bytes,), U+FFFD for each lone surrogate.
        starts: int64 array of shape (words + 1,): the offset of each word and of a hypothetical next word, in bytes. A
            word ends 2 bytes, a blank, before the next one starts.
    """

    encoded: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.int64]

    def words(self) -> list[str]:
        """Return the words as strings."""
        text = self.encoded.tobytes().decode("utf-16-le")
        if text.count(" ") == len(self.starts) - 2:
            return text.split(" ")
        raw, ends = self.encoded.tobytes(), self.starts.tolist()
        return [raw[start : end - 2].decode("utf-16-le") for start, end in pairwise(ends)]

    def followed_by(self, others: JoinedWords) -> JoinedWords:
        """Return the concatenation of these words and others."""
        if len(self.starts) == 1 or len(others.starts) == 1:
            return others if len(self.starts) == 1 else self
        encoded = np.concatenate((self.encoded, _ENCODED_BLANK, others.encoded))
        return JoinedWords(encoded, np.concatenate((self.starts[:-1], others.starts + self.starts[-1])))

    def last(self, count: int) -> JoinedWords:
        """Return the last `count` words, or all words if there are fewer."""
        starts = self.starts[-count - 1 :]
        return JoinedWords(self.encoded[starts[0] :], starts - starts[0])


def join(words: Sequence[str]) -> JoinedWords:
    """Join words."""
    # All words are encoded once; a shingle is a slice from the start of one word to the end of another.
    encoded = java_utf16(" ".join(words))
    return JoinedWords(np.frombuffer(encoded, np.uint8), _starts(words, encoded))


def numbered(murmur: npt.NDArray[np.uint64], number: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return the hashes of one of several hash functions, computed from murmur's halves.

    Lucene folds the number into each hash (combineOrdered), even if number 0 is the only one.

    Returns:
        Two uint64 arrays of shape (shingles,): the leading half, whose top bits are the bucket, and the half that
        breaks ties.
    """
    first, second = hash_of_number(number).tolist()
    high, low = murmur[:, 1] * _MULTIPLIER, murmur[:, 0] * _MULTIPLIER
    high += np.uint64(second)
    low += np.uint64(first)
    return high, low


@cache
def hash_of_number(number: int) -> npt.NDArray[np.uint64]:
    """Return murmur's halves of a hash function's number, hashed as four big-endian bytes."""
    return np.frombuffer(mmh3.mmh3_x64_128_digest(number.to_bytes(4, "big"), 0), dtype="<u8")


def _starts(words: Sequence[str], encoded: bytes) -> npt.NDArray[np.int64]:
    """Return the byte offset of each word in the joined words, and of a hypothetical next word."""
    if not words:
        return np.zeros(1, np.int64)
    blanks = np.flatnonzero(np.frombuffer(encoded, "<u2") == _BLANK)
    if len(blanks) == len(words) - 1:
        return np.concatenate(([0], 2 * (blanks + 1), [len(encoded) + 2]))
    # Folding puts blanks into some words, for instance Arabic ligatures.
    sizes = (len(java_utf16(word)) + 2 for word in words)
    return np.fromiter(accumulate(sizes, initial=0), np.int64, len(words) + 1)


def java_utf16(text: str) -> bytes:
    """Encode as Java's UTF-16LE encoder does: no byte-order mark, U+FFFD for each lone surrogate."""
    try:
        return text.encode("utf-16-le")
    except UnicodeEncodeError:
        return well_formed(text).encode("utf-16-le")


def well_formed(text: str) -> str:
    """Join surrogate pairs and replace each lone surrogate by U+FFFD, as every UTF-8 writer of Lucene does."""
    # Nearly all texts are well-formed, and checking is much faster than converting.
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        pass
    else:
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _LONE_SURROGATE.sub("\ufffd", joined)


def murmur3_x64_128(buffer: bytes | _Bytes, starts: npt.ArrayLike, ends: npt.ArrayLike) -> _Numbers:
    """Return the MurmurHash3_x64_128 hash of each slice of a buffer, with seed 0.

    Args:
        buffer: Bytes, or a uint8 array of shape (bytes,).
        starts: Offset of each slice, in bytes, of shape (n,). Slices may overlap and come in any order; short slices
            that are neighbours both in the array and in the buffer are hashed fastest.
        ends: End of each slice, in bytes, of shape (n,).

    Returns:
        uint64 array of shape (n, 2): h1 and h2, mmh3's digest read as two little-endian numbers.

    Raises:
        ParameterError: `starts` and `ends` differ in shape, or a slice exceeds the buffer.

    >>> murmur3_x64_128(b"to be or not to be", [0, 13], [5, 18])
    array([[9518442475791453575, 8680147493025265281],
           [9518442475791453575, 8680147493025265281]], dtype=uint64)
    """
    first, limit = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
    if first.ndim != 1 or first.shape != limit.shape:
        raise ParameterError(f"every slice needs one start and one end, got shapes {first.shape} and {limit.shape}")
    if first.size and not (first.min() >= 0 and limit.max() <= len(buffer) and (first <= limit).all()):
        raise ParameterError(f"a slice of {len(buffer)} bytes must have 0 <= start <= end <= {len(buffer)}")
    # Padding, because whole blocks are read even at the end of the buffer.
    padded = bytes(buffer) + bytes(_BLOCK)
    hashes = np.empty((first.size, 2), np.uint64)
    for at in range(0, first.size, CHUNK):
        some = slice(at, at + CHUNK)
        _hash_chunk(padded, first[some], limit[some], hashes[some])
    return hashes


def _hash_chunk(padded: bytes, starts: _Places, ends: _Places, hashes: _Numbers) -> None:
    """Write the hashes of n slices into an array of shape (n, 2)."""
    if starts.size < FEWEST_IN_CHUNK:
        hashes[:] = _hash_each(padded, starts, ends)
        return
    blocks = np.minimum((ends - starts) // _BLOCK, MOST_BLOCKS + 1).astype(np.uint8)
    # reaching[i] is the number of slices with a block i.
    reaching = blocks.size - np.bincount(blocks, minlength=MOST_BLOCKS + 2).cumsum()
    steps = int(np.count_nonzero(reaching - reaching[MOST_BLOCKS] >= FEWEST_IN_STEP))
    # Sort by decreasing number of blocks, so that the slices of each step are a prefix of the slices of the step
    # before.
    order = np.argsort(np.uint8(MOST_BLOCKS + 1) - blocks, kind="stable")
    each, together = order[: reaching[steps]], order[reaching[steps] :]
    if each.size:
        hashes[each] = _hash_each(padded, starts[each], ends[each])
    if together.size:
        counts = (reaching[:steps] - each.size).tolist()
        hashes[together, 0], hashes[together, 1] = _hash_together(padded, starts[together], ends[together], counts)


def _hash_each(padded: bytes, starts: _Places, ends: _Places) -> _Numbers:
    """Return the hashes of slices, shape (n, 2), with one call of mmh3 each."""
    digest, places = mmh3.mmh3_x64_128_digest, zip(starts.tolist(), ends.tolist(), strict=True)
    return np.frombuffer(b"".join([digest(padded[start:end], 0) for start, end in places]), "<u8").reshape(-1, 2)


def _hash_together(padded: bytes, starts: _Places, ends: _Places, counts: list[int]) -> tuple[_Numbers, _Numbers]:
    """Return h1 and h2, each of shape (n,), of slices in order of decreasing numbers of blocks.

    Args:
        padded: The buffer, with at least one block's bytes after the last slice.
        starts: Offsets in bytes, of shape (n,).
        ends: End offsets in bytes, of shape (n,).
        counts: counts[i] is the number of slices with a block i; its length is the largest number of blocks.
    """
    # UTF-16 words have even offsets, so only every other number is needed.
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
    """Return the little-endian 64-bit number at every stride-th offset from the lowest to the highest."""
    numbers: _Numbers = np.ndarray(((highest - lowest) // stride + 1,), "<u8", padded, lowest, (stride,))
    # numpy gathers aligned numbers several times faster, and overlapping slices gather each number repeatedly.
    return numbers.astype(np.uint64) if numbers.size <= _MANY_OFFSETS else numbers


def _number(value: int) -> _Numbers:
    """Return a number as a 0-dimensional array, which numpy handles faster than a scalar."""
    return np.array(value, np.uint64)


# Constants of the algorithm. A rotation is a pair of shifts, left and right.
_C1, _C2 = _number(0x87C37B91114253D5), _number(0x4CF5AD432745937F)
#: For each lane of a block: the factor before the rotation, the rotation, and the factor after it.
_LANES = ((_C1, (_number(31), _number(33)), _C2), (_C2, (_number(33), _number(31)), _C1))
_H1_TURN, _H2_TURN = (_number(27), _number(37)), (_number(31), _number(33))
_FIVE, _H1_ADDED, _H2_ADDED = _number(5), _number(0x52DCE729), _number(0x38495AB5)
_FINAL_SHIFT, _FINAL_FACTORS = _number(33), (_number(0xFF51AFD7ED558CCD), _number(0xC4CEB9FE1A85EC53))
#: Masks of the bits of each lane that belong to a last block of 0 to 15 bytes: shape (2, 16).
_TAIL_MASKS = np.array(
    [[(1 << 8 * min(max(size - lane, 0), _LANE)) - 1 for size in range(_BLOCK)] for lane in (0, _LANE)], np.uint64
)


def _mixed(numbers: _Numbers, lane: tuple[_Numbers, tuple[_Numbers, _Numbers], _Numbers]) -> _Numbers:
    """Mix one lane of a block, in place, before it is combined with the hash."""
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
    """Finalise hashes in place, so that each bit depends on every other bit."""
    h1 += h2
    h2 += h1
    for half in (h1, h2):
        for factor in _FINAL_FACTORS:
            half ^= half >> _FINAL_SHIFT
            half *= factor
        half ^= half >> _FINAL_SHIFT
    h1 += h2
    h2 += h1
