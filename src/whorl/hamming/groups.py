"""Holds groups of codes, such as clusters, as arrays; suspends garbage collection while they are converted to lists."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from whorl.hamming.codes import Codes

#: Mark objects as old if more than this number were created since the last garbage collection.
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
            # Counting the frozen objects visits all of them, so count them only if many new ones exist.
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
        # A range counts a negative number from the end, and raises IndexError if the number is too large.
        number = range(len(self))[number]
        return self.codes[self.ends[number] : self.ends[number + 1]]

    def __iter__(self) -> Iterator[Codes]:
        return (self.codes[start:end] for start, end in pairwise(self.ends.tolist()))

    def to_lists(self) -> list[list[int]]:
        with without_garbage_collection():
            codes = self.codes.tolist()
            return [codes[start:end] for start, end in pairwise(self.ends.tolist())]
