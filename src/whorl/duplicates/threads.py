"""Compiled loops in several threads: they let go of the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeAlias, TypeVar

import numpy as np

from whorl.duplicates.sketches import Numbers

Result = TypeVar("Result")
#: The first item, and the one behind the last.
Stretch: TypeAlias = tuple[int, int]
#: Less than that is not worth a thread's beginning, which takes some milliseconds where processors are busy.
_LEAST = 1 << 20


def even_stretches(totals: Numbers, most: int) -> list[Stretch]:
    """Return stretches of items that make up all of them, each with about as much to do.

    Args:
        totals: How much there is to do up to and with each item; ascending int64 array of shape (items,).
        most: How many stretches there are at most; of little to do there is one.

    >>> even_stretches(np.array([10, 20, 100_000, 200_000]), 2)
    [(0, 3), (3, 4)]
    """
    count = totals.size
    if not count or most < 2 or totals[-1] < _LEAST:
        return [(0, count)]
    cuts = np.searchsorted(totals, [int(totals[-1]) * part // most for part in range(1, most)]) + 1
    return list(pairwise(np.unique([0, *np.minimum(cuts, count).tolist(), count]).tolist()))


def in_threads(work: Callable[..., Result], given: Iterable[tuple[object, ...]]) -> list[Result]:
    """Return what is made of several things, the last in this thread and each other in one of its own.

    Args:
        work: Takes what is given at once.
        given: For each thread what it takes, a stretch for instance; nothing is to be done twice.

    Raises:
        Exception: What went wrong in one of them, once all have ended.
    """
    *others, last = given
    if not others:
        return [work(*last)]
    with ThreadPoolExecutor(len(others), "whorl-duplicates") as pool:
        futures = [pool.submit(work, *each) for each in others]
        own = work(*last)
        return [*(future.result() for future in futures), own]
