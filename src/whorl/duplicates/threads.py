"""Compiled loops in several threads; the loops release the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeAlias, TypeVar

import numpy as np

from whorl.duplicates.sketches import Numbers

Result = TypeVar("Result")
#: Half-open range of items: the first index, and the index after the last.
Stretch: TypeAlias = tuple[int, int]
#: Smallest amount of work for a thread: starting one takes some milliseconds on busy processors.
_LEAST = 1 << 20


def even_stretches(totals: Numbers, most: int) -> list[Stretch]:
    """Return ranges that partition the items, each with about the same amount of work.

    Args:
        totals: Cumulative amount of work up to and including each item; ascending int64 array of shape (items,).
        most: Largest number of ranges; a small amount of work stays in one range.

    >>> even_stretches(np.array([10, 20, 100_000, 200_000]), 2)
    [(0, 3), (3, 4)]
    """
    count = totals.size
    if not count or most < 2 or totals[-1] < _LEAST:
        return [(0, count)]
    cuts = np.searchsorted(totals, [int(totals[-1]) * part // most for part in range(1, most)]) + 1
    return list(pairwise(np.unique([0, *np.minimum(cuts, count).tolist(), count]).tolist()))


def in_threads(work: Callable[..., Result], given: Iterable[tuple[object, ...]]) -> list[Result]:
    """Return the results of several calls of a function, the last in this thread, the others in one thread each.

    Args:
        work: Function to call, safe in several threads.
        given: Arguments of each call, for instance a range of items; the ranges must not overlap.

    Raises:
        Exception: The error of a call, after all calls have ended.
    """
    *others, last = given
    if not others:
        return [work(*last)]
    with ThreadPoolExecutor(len(others), "whorl-duplicates") as pool:
        futures = [pool.submit(work, *each) for each in others]
        own = work(*last)
        return [*(future.result() for future in futures), own]
