"""Splits the items of an array into ranges of about equal work, and processes the ranges in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np

from whorl.duplicates.sketch_arrays import Numbers

Result = TypeVar("Result")
#: Minimum amount of work, in hashes, to divide among several threads.
_LEAST_THREAD_WORK = 1 << 20


def split_evenly(cumulative_work: Numbers, most: int) -> list[tuple[int, int]]:
    """Divide items into at most `most` half-open ranges of about equal work; do not divide a small amount of work.

    `cumulative_work` has the work up to and including each item.

    >>> split_evenly(np.array([10, 20, 1_000_000, 2_000_000]), 2)
    [(0, 3), (3, 4)]
    """
    count = cumulative_work.size
    if not count or most < 2 or cumulative_work[-1] < _LEAST_THREAD_WORK:
        return [(0, count)]
    cuts = np.searchsorted(cumulative_work, [int(cumulative_work[-1]) * part // most for part in range(1, most)]) + 1
    return list(pairwise(np.unique([0, *np.minimum(cuts, count).tolist(), count]).tolist()))


def run_in_threads(work: Callable[..., Result], argument_tuples: Iterable[tuple[object, ...]]) -> list[Result]:
    """Call `work` with each tuple of arguments, in parallel; return the results in order.

    The last call runs in the current thread, each other in a new one. An error is raised after all calls have ended.
    """
    *others, last = argument_tuples
    if not others:
        return [work(*last)]
    with ThreadPoolExecutor(len(others), "whorl-duplicates") as pool:
        futures = [pool.submit(work, *arguments) for arguments in others]
        own = work(*last)
        return [*(future.result() for future in futures), own]
