"""Checks codes and distances, removes codes from sorted arrays, and permutes or splits the bits of codes."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from numbers import Integral
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from whorl.arrays_and_batches import find_sorted
from whorl.errors import CodeRangeError, CodeTypeError, ParameterError

BITS: int = 64
LARGEST: int = 2**BITS - 1

#: Remedy in errors about signed codes, which Java and many databases have.
_SIGNED = "; signed numbers of 64 bits become codes by numpy.asarray(numbers, 'int64').view('uint64')"

Codes = NDArray[np.uint64]
CodesLike = Codes | NDArray[np.integer] | Iterable[int]
_Code = TypeVar("_Code", int, Codes)


def as_distance(distance: int) -> int:
    if isinstance(distance, bool) or not isinstance(distance, Integral) or not 0 <= distance <= BITS:
        raise ParameterError(f"distance is a number of bits from 0 to {BITS}, got {distance!r}")
    return int(distance)


def remove_codes(codes: Codes, removed: Codes) -> Codes:
    """Return the codes that are not in `removed`; both arrays are sorted."""
    positions, is_found = find_sorted(codes, removed)
    return np.delete(codes, positions[is_found])


def bits_of(mask: int) -> list[int]:
    return [bit for bit in reversed(range(BITS)) if mask >> bit & 1]


def blocks_of(mask: int, count: int) -> list[int]:
    """Split the set bits of a mask into `count` masks of nearly equal size, beginning with the lowest bits.

    For a mask of all 64 bits, these are the blocks of simhash-py and simhash-cpp, which cut at ``i * 64 // count``.
    """
    bits = bits_of(mask)[::-1]
    cuts = [i * len(bits) // count for i in range(count + 1)]
    return [sum(1 << bit for bit in bits[start:end]) for start, end in pairwise(cuts)]


class Permutation:
    """Permutation of the 64 bits of a code.

    `order` lists the old position of each bit, beginning with the bit that becomes the highest.
    """

    def __init__(self, order: Sequence[int]) -> None:
        moved = sorted((place - source, source) for place, source in zip(range(BITS - 1, -1, -1), order, strict=True))
        #: Groups of bits that move by the same distance, each as (mask, distance).
        self._moves = [
            (sum(1 << source for _, source in moves), by) for by, moves in groupby(moved, key=lambda move: move[0])
        ]

    def apply(self, code: _Code) -> _Code:
        moved: _Code = sum((code & mask) << by if by >= 0 else (code & mask) >> -by for mask, by in self._moves)
        return moved

    def undo(self, code: _Code) -> _Code:
        moved: _Code = sum(code >> by & mask if by >= 0 else code << -by & mask for mask, by in self._moves)
        return moved


def as_codes(values: CodesLike, called: str = "codes") -> Codes:
    """Convert integers to an array of codes; return a uint64 array unchanged.

    Args:
        called: Word for the values in error messages.

    Raises:
        CodeTypeError: A value is not an integer.
        CodeRangeError: A number is not in the range 0 to 2**64 - 1.
    """
    allowed = f"{called} are whole numbers from 0 to 2**64 - 1"
    if isinstance(values, np.ndarray):
        if values.ndim != 1 or values.dtype.kind not in "ui":
            raise CodeTypeError(f"{allowed}, in an array of one dimension; got {values.dtype} of shape {values.shape}")
        if values.dtype.kind == "i" and values.size and values.min() < 0:
            raise CodeRangeError(f"{allowed}, got {values.min()}{_SIGNED}")
        # Do not import numpy.ma, which takes 10 ms.
        if np.any(getattr(values, "mask", False)):
            raise CodeTypeError(f"{allowed}, without masked values; give the array's compressed()")
        return np.ascontiguousarray(values, np.uint64)
    if isinstance(values, bytes | bytearray) or (isinstance(values, memoryview) and values.itemsize == 1):
        raise CodeTypeError(f"{allowed}, got bytes; numpy.frombuffer(values, 'uint64') makes numbers of them")
    try:
        # `array` is faster than numpy for a list, and accepts only unsigned 64-bit integers.
        return np.frombuffer(array("Q", values), np.uint64)
    except TypeError as problem:
        raise CodeTypeError(f"{allowed}: {problem}") from problem
    except OverflowError as problem:
        raise CodeRangeError(f"{allowed}: {problem}{_SIGNED}") from problem


def as_code(code: int) -> int:
    if type(code) is int and 0 <= code <= LARGEST:
        return code
    allowed = "a code is a whole number from 0 to 2**64 - 1"
    if isinstance(code, bool) or not hasattr(code, "__index__"):
        raise CodeTypeError(f"{allowed}, got {code!r:.80}")
    number = code.__index__()
    if not 0 <= number <= LARGEST:
        raise CodeRangeError(f"{allowed}, got {number}; a signed number of 64 bits becomes one by number & 2**64 - 1")
    return number
