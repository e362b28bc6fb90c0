"""Checks 64-bit codes, makes SimHash codes from votes, permutes their bits, groups results, and loads compiled loops.

In SimHash, each hash votes with its weight for or against every bit of the code. The codes of two texts differ in a bit
with probability t / pi; t is the angle between their weighted feature vectors. `loops` chooses between numpy and the
loops compiled by numba. Both give the same results.

Source: M. Charikar, Similarity estimation techniques from rounding algorithms (STOC 2002); G. Manku, A. Jain and A. Das
Sarma, Detecting near-duplicates for web crawling (WWW 2007).
"""

from __future__ import annotations

import gc
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby, pairwise
from numbers import Integral
from operator import or_
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whorl.errors import CodeRangeError, CodeTypeError, ParameterError

BITS: int = 64
LARGEST: int = 2**BITS - 1

Codes = NDArray[np.uint64]
CodesLike = Codes | NDArray[np.integer] | Iterable[int]
_Code = TypeVar("_Code", int, Codes)


def as_distance(distance: int) -> int:
    """Return the distance as an int; raise ParameterError unless it is an integer (of Python or numpy) from 0 to 64."""
    if isinstance(distance, bool) or not isinstance(distance, Integral) or not 0 <= distance <= BITS:
        raise ParameterError(f"distance is a number of bits from 0 to {BITS}, got {distance!r}")
    return int(distance)


def remove_codes(ascending: Codes, gone: Codes) -> Codes:
    """Return the codes of `ascending` that are not in `gone`; both arrays are sorted."""
    indices = np.searchsorted(ascending, gone)
    inside = indices < ascending.size
    indices = indices[inside]
    is_kept = np.ones(ascending.size, np.bool_)
    is_kept[indices[ascending[indices] == gone[inside]]] = False
    return ascending[is_kept]


def bits_of(mask: int) -> list[int]:
    return [bit for bit in reversed(range(BITS)) if mask >> bit & 1]


def blocks_of(mask: int, count: int) -> list[int]:
    """Split the set bits of a mask into blocks of nearly equal size.

    Return the masks of the blocks, beginning with the lowest bits. If all 64 bits are set, the blocks are those of
    simhash-py and simhash-cpp, which cut at ``i * 64 // count``.
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

    @classmethod
    def with_leading(cls, mask: int) -> Permutation:
        """Return a permutation that moves the masked bits to the top.

        The other bits keep their cyclic order, so that many of them move by the same distance.
        """
        top = bits_of(mask)
        last = top[-1] if top else BITS
        following = [bit % BITS for bit in range(last - 1, last - 1 - BITS, -1)]
        return cls([*top, *(bit for bit in following if not mask >> bit & 1)])

    def apply(self, code: _Code) -> _Code:
        moved: _Code = reduce(
            or_, ((code & mask) << by if by >= 0 else (code & mask) >> -by for mask, by in self._moves)
        )
        return moved

    def undo(self, code: _Code) -> _Code:
        moved: _Code = reduce(or_, (code >> by & mask if by >= 0 else code << -by & mask for mask, by in self._moves))
        return moved


#: If Python has created more objects than this since the last garbage collection, mark them as old.
_MANY_OBJECTS = 10_000


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Suspend the garbage collector, which would scan many new lists again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            # Counting the frozen objects visits all of them, so check their number last.
            if gc.get_count()[0] > _MANY_OBJECTS and not gc.get_freeze_count():
                # Mark the new objects as old, so that the next collection does not scan them.
                gc.freeze()
                gc.unfreeze()
            gc.enable()


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Groups of codes: results of several queries, or clusters.

    Args:
        codes: All groups, concatenated; uint64.
        ends: int64 array with the start of each group, and the end of the last group.
    """

    codes: Codes
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return self.ends.size - 1

    def __getitem__(self, number: int) -> Codes:
        number = range(len(self))[number]  # Resolves a negative number, or raises IndexError.
        return self.codes[self.ends[number] : self.ends[number + 1]]

    def __iter__(self) -> Iterator[Codes]:
        return (self.codes[start:end] for start, end in pairwise(self.ends.tolist()))

    def to_lists(self) -> list[list[int]]:
        with without_garbage_collection():
            codes = self.codes.tolist()
            return [codes[start:end] for start, end in pairwise(self.ends.tolist())]


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
            raise CodeRangeError(f"{allowed}, got {values.min()}")
        return np.ascontiguousarray(values, np.uint64)
    if isinstance(values, bytes | bytearray):
        raise CodeTypeError(f"{allowed}, got bytes; numpy.frombuffer(values, 'uint64') makes numbers of them")
    try:
        # `array` is faster than numpy for a list, and rejects all values except unsigned 64-bit integers.
        return np.frombuffer(array("Q", values), np.uint64)
    except TypeError as problem:
        raise CodeTypeError(f"{allowed}: {problem}") from problem
    except OverflowError as problem:
        raise CodeRangeError(f"{allowed}: {problem}") from problem


def as_code(code: int) -> int:
    if type(code) is int and 0 <= code <= LARGEST:
        return code
    if isinstance(code, bool) or not hasattr(code, "__index__"):
        raise CodeTypeError(f"a code is a whole number from 0 to 2**64 - 1, got {code!r:.80}")
    number = code.__index__()
    if not 0 <= number <= LARGEST:
        raise CodeRangeError(f"a code is a whole number from 0 to 2**64 - 1, got {number}")
    return number


Hashes = NDArray[np.uint64]
Tally = NDArray[np.int64]

#: Bits of each byte value, the lowest bit first; shape (256, 8).
_BITS_OF_BYTE = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.float64)


def count_votes(hashes: Hashes, sizes: ArrayLike, weights: ArrayLike | None = None) -> Tally:
    """Return, for each text, the votes for each bit minus the votes against it; shape (texts, 64), lowest bit first.

    The hashes are grouped by text; `sizes` has the number of hashes of each text. Each hash has one vote or an integer
    weight. The total of all votes must be at most 2**53.
    """
    counts = np.asarray(sizes, np.int64)
    shares = None if weights is None else np.asarray(weights, np.float64)
    rows = np.repeat(np.arange(counts.size) * 256, counts)
    values = np.ascontiguousarray(hashes, "<u8").view(np.uint8).reshape(-1, 8)
    votes = np.empty((counts.size, 8, 8), np.float64)
    # Count byte values, and compute the frequencies of the bits from them.
    for byte in range(8):
        histogram = np.bincount(rows + values[:, byte], shares, counts.size * 256)
        votes[:, byte] = histogram.reshape(-1, 256) @ _BITS_OF_BYTE
    cast = counts if shares is None else np.bincount(rows // 256, shares, counts.size)
    return (2 * votes.reshape(-1, BITS) - cast[:, None]).astype(np.int64)


def codes_from_votes(votes: Tally) -> Hashes:
    """Convert votes to codes: a bit is set if the votes for it exceed the votes against it."""
    return np.packbits(votes > 0, axis=1, bitorder="little").view("<u8").astype(np.uint64).ravel()


#: Time in seconds to import numba and load the compiled loops, once per process.
LOADING_SECONDS = 0.6

_LOOPS = "whorl.hamming.compiled_loops"
_spent_seconds = 0.0


def loops(plain_seconds: float) -> Any:
    """Return the module of compiled loops, or None to use numpy.

    `plain_seconds` is the estimated time of the current work with numpy. The loops are loaded once the process has
    spent as much time in numpy as loading takes. So a process takes at most twice as long as with the better choice.
    """
    global _spent_seconds
    if loaded := sys.modules.get(_LOOPS):
        return loaded
    _spent_seconds += plain_seconds
    if _spent_seconds < LOADING_SECONDS or find_spec("numba") is None:
        return None
    module = import_module(_LOOPS)
    module.warm_up()
    return module
