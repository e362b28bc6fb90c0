"""64-bit codes in arrays: sorted, cut into blocks of bits, put into groups."""

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
    """Return a number of bits.

    Raises:
        ParameterError: It is not a whole number from 0 to 64.
    """
    if isinstance(distance, bool) or not isinstance(distance, int) or not 0 <= distance <= BITS:
        raise ParameterError(f"distance is a number of bits from 0 to {BITS}, got {distance!r}")
    return distance


def without(ascending: Codes, gone: Codes) -> Codes:
    """Return sorted codes without those that are in `gone`, which is sorted, too."""
    places = np.searchsorted(ascending, gone)
    inside = places < ascending.size
    places = places[inside]
    kept = np.ones(ascending.size, np.bool_)
    kept[places[ascending[places] == gone[inside]]] = False
    return ascending[kept]


def bits_of(mask: int) -> list[int]:
    """Return the places of set bits, the highest first."""
    return [bit for bit in reversed(range(BITS)) if mask >> bit & 1]


def blocks_of(mask: int, count: int) -> list[int]:
    """Cut set bits into blocks of nearly equal size, as masks, that of the lowest bits first.

    Source: simhash-py and simhash-cpp cut 64 bits at ``i * 64 // count``; with all bits set these are their blocks.
    """
    bits = bits_of(mask)[::-1]
    cuts = [i * len(bits) // count for i in range(count + 1)]
    return [sum(1 << bit for bit in bits[start:end]) for start, end in pairwise(cuts)]


class Permutation:
    """An order of the 64 bits.

    Args:
        order: Where the bits come from, that of the highest bit first.
    """

    def __init__(self, order: Sequence[int]) -> None:
        moved = sorted((place - source, source) for place, source in zip(range(BITS - 1, -1, -1), order, strict=True))
        #: Bits that move by the same distance, as (mask, distance); they move together.
        self._moves = [
            (sum(1 << source for _, source in several), by) for by, several in groupby(moved, key=lambda move: move[0])
        ]

    @classmethod
    def leading(cls, mask: int) -> Permutation:
        """Put some bits on top; the others follow as a rotation would have them, which takes fewer steps."""
        top = bits_of(mask)
        last = top[-1] if top else BITS
        rest = [bit % BITS for bit in range(last - 1, last - 1 - BITS, -1)]
        return cls([*top, *(bit for bit in rest if not mask >> bit & 1)])

    def apply(self, code: int) -> int:
        """Permute a code."""
        return sum((code & mask) << by if by >= 0 else (code & mask) >> -by for mask, by in self._moves)

    def undo(self, code: int) -> int:
        """Return the code that `apply` made this one of."""
        return sum(code >> by & mask if by >= 0 else code << -by & mask for mask, by in self._moves)

    def apply_all(self, codes: Codes) -> Codes:
        """Permute codes."""
        made = np.zeros_like(codes)
        for mask, by in self._moves:
            part = codes & np.uint64(mask)
            made |= part << np.uint64(by) if by >= 0 else part >> np.uint64(-by)
        return made

    def undo_all(self, codes: Codes) -> Codes:
        """Return the codes that `apply_all` made these of."""
        made = np.zeros_like(codes)
        for mask, by in self._moves:
            made |= (codes >> np.uint64(by) if by >= 0 else codes << np.uint64(-by)) & np.uint64(mask)
        return made


@contextmanager
def uncollected() -> Iterator[None]:
    """Make many lists without the garbage collector, which would look through them again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if not gc.get_freeze_count():
                # What was made is not garbage: it counts as old at once, or the next collection would look through it.
                gc.freeze()
                gc.unfreeze()
            gc.enable()


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Codes in groups: the answers to several queries, or clusters.

    Args:
        codes: uint64, all groups behind each other.
        ends: int64, one more than there are groups: where each group begins, and the end of the last.
    """

    codes: Codes
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return self.ends.size - 1

    def __getitem__(self, number: int) -> Codes:
        number = range(len(self))[number]  # negative ones count from the end, and there is an end
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
    """Yield what stands in ranges of an array, as two arrays: number of the range, and place.

    Args:
        starts: First place of each range.
        ends: Behind the last place of each; a range may be empty.
        at_once: How many to yield together, roughly.
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
