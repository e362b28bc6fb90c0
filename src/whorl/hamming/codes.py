"""Arrays of 64-bit codes: distance checks, bit blocks, bit permutations, and groups of codes."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray

from whorl.errors import ParameterError
from whorl.fingerprint.simhash.codes import BITS, Codes


def as_distance(distance: int) -> int:
    """Check a distance and return it.

    Raises:
        ParameterError: The distance is not an integer from 0 to 64.
    """
    if isinstance(distance, bool) or not isinstance(distance, int) or not 0 <= distance <= BITS:
        raise ParameterError(f"distance is a number of bits from 0 to {BITS}, got {distance!r}")
    return distance


def without(ascending: Codes, gone: Codes) -> Codes:
    """Return sorted codes without the codes in `gone`, which is sorted, too."""
    places = np.searchsorted(ascending, gone)
    inside = places < ascending.size
    places = places[inside]
    kept = np.ones(ascending.size, np.bool_)
    kept[places[ascending[places] == gone[inside]]] = False
    return ascending[kept]


def bits_of(mask: int) -> list[int]:
    """Return the indexes of set bits, the highest first."""
    return [bit for bit in reversed(range(BITS)) if mask >> bit & 1]


def blocks_of(mask: int, count: int) -> list[int]:
    """Split set bits into blocks of nearly equal size, as masks, the block of the lowest bits first.

    Source: simhash-py and simhash-cpp cut 64 bits at ``i * 64 // count``; with all bits set, these are their blocks.
    """
    bits = bits_of(mask)[::-1]
    cuts = [i * len(bits) // count for i in range(count + 1)]
    return [sum(1 << bit for bit in bits[start:end]) for start, end in pairwise(cuts)]


class Permutation:
    """A permutation of the 64 bits.

    Args:
        order: Source of each bit, from the highest bit down.
    """

    def __init__(self, order: Sequence[int]) -> None:
        moved = sorted((place - source, source) for place, source in zip(range(BITS - 1, -1, -1), order, strict=True))
        #: Groups of bits that move by the same distance, as (mask, distance).
        self._moves = [
            (sum(1 << source for _, source in several), by) for by, several in groupby(moved, key=lambda move: move[0])
        ]

    @classmethod
    def leading(cls, mask: int) -> Permutation:
        """Move some bits to the top; the others follow as in a rotation, which takes fewer steps."""
        top = bits_of(mask)
        last = top[-1] if top else BITS
        rest = [bit % BITS for bit in range(last - 1, last - 1 - BITS, -1)]
        return cls([*top, *(bit for bit in rest if not mask >> bit & 1)])

    def apply(self, code: int) -> int:
        """Permute a code."""
        return sum((code & mask) << by if by >= 0 else (code & mask) >> -by for mask, by in self._moves)

    def undo(self, code: int) -> int:
        """Invert `apply`."""
        return sum(code >> by & mask if by >= 0 else code << -by & mask for mask, by in self._moves)

    def apply_all(self, codes: Codes) -> Codes:
        """Permute codes."""
        made = np.zeros_like(codes)
        for mask, by in self._moves:
            part = codes & np.uint64(mask)
            made |= part << np.uint64(by) if by >= 0 else part >> np.uint64(-by)
        return made

    def undo_all(self, codes: Codes) -> Codes:
        """Invert `apply_all`."""
        made = np.zeros_like(codes)
        for mask, by in self._moves:
            made |= (codes >> np.uint64(by) if by >= 0 else codes << np.uint64(-by)) & np.uint64(mask)
        return made


#: New objects that make it worthwhile to mark them as old.
_MANY_OBJECTS = 10_000


@contextmanager
def uncollected() -> Iterator[None]:
    """Suspend the garbage collector, which would scan many new lists repeatedly."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            # Counting frozen objects visits all of them.
            if gc.get_count()[0] > _MANY_OBJECTS and not gc.get_freeze_count():
                # Mark the new objects as old immediately; otherwise the next collection would scan them.
                gc.freeze()
                gc.unfreeze()
            gc.enable()


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Codes in groups: the answers to several queries, or clusters.

    Args:
        codes: uint64, all groups concatenated.
        ends: int64, one element more than groups: the start of each group, and the end of the last.
    """

    codes: Codes
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return self.ends.size - 1

    def __getitem__(self, number: int) -> Codes:
        number = range(len(self))[number]  # supports negative numbers and raises IndexError
        return self.codes[self.ends[number] : self.ends[number + 1]]

    def __iter__(self) -> Iterator[Codes]:
        return (self.codes[start:end] for start, end in pairwise(self.ends.tolist()))

    def to_lists(self) -> list[list[int]]:
        """Return the groups as lists of ints."""
        with uncollected():
            codes = self.codes.tolist()
            return [codes[start:end] for start, end in pairwise(self.ends.tolist())]


def in_ranges(
    starts: NDArray[np.int64], ends: NDArray[np.int64], at_once: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the elements of ranges of an array as two arrays: range number and index.

    Args:
        starts: First index of each range.
        ends: End index of each range, exclusive; a range may be empty.
        at_once: Approximate number of elements to yield together.
    """
    live = np.flatnonzero(starts < ends)
    starts, sizes = starts[live], ends[live] - starts[live]
    before = np.concatenate(([0], np.cumsum(sizes)))
    first = 0
    while first < live.size:
        last = max(first + 1, int(np.searchsorted(before, before[first] + at_once, "right")) - 1)
        several = sizes[first:last]
        owners = np.repeat(np.arange(first, last), several)
        places = np.arange(before[first], before[last]) + (starts - before[:-1])[owners]
        yield live[owners], places
        first = last
