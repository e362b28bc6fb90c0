"""The fewest documents that cover the most of a text, greedily: each is the one that covers the most of what is left.

The cover of greatest gain first is at most 1 + ln(n) times as large as the smallest that covers the same n words (the
classical bound of greedy set cover: Johnson 1974, Lovász 1975, Chvátal 1979); to find the smallest is NP-hard.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


def joined(starts: Numbers, ends: Numbers) -> Numbers:
    """Return ranges as few as can be: ascending, and with something between them.

    Args:
        starts: First words; int64 array of shape (n,).
        ends: The words behind the last ones, each beyond its start; int64 array of the same shape.

    Returns:
        int64 array of shape (m, 2), half-open ranges, m <= n.

    >>> joined(np.array([7, 0, 2]), np.array([9, 3, 5])).tolist()
    [[0, 5], [7, 9]]
    """
    order = np.argsort(starts, kind="stable")
    starts, reach = starts[order], np.maximum.accumulate(ends[order])
    is_first = np.ones(len(starts), np.bool_)
    is_first[1:] = starts[1:] > reach[:-1]
    is_last = np.append(is_first[1:], True)[: len(starts)]
    return np.stack((starts[is_first], reach[is_last]), axis=1)


def words_in(ranges: Numbers, is_counted: npt.NDArray[np.bool_]) -> Numbers:
    """Return how many of the words in each range are counted.

    Args:
        ranges: int64 array of shape (n, 2), half-open.
        is_counted: Which words of the text are.
    """
    before = np.append(0, np.cumsum(is_counted, dtype=np.int64))
    counts: Numbers = before[ranges[:, 1]] - before[ranges[:, 0]]
    return counts


def greedy_cover(covers: Sequence[Numbers], is_counted: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return which documents cover a text, in the order of what each adds to those before it.

    Of documents that add as much, the one that covers more of the text comes first, of such the first given.

    Args:
        covers: What each document covers, as `joined` returns it.
        is_counted: Which words of the text are to be covered; bool array of shape (words,).

    Returns:
        Places in `covers`, each with how many words it covers that none before it does, at least 1. Together they cover
        whatever any does.

    >>> greedy_cover([np.array([[0, 4]]), np.array([[3, 9]]), np.array([[5, 9]])], np.full(10, True))
    [(1, 6), (0, 3)]
    """
    if not covers:
        return []
    ranges = np.concatenate(covers)
    owners = np.repeat(np.arange(len(covers)), [len(each) for each in covers])
    totals = np.bincount(owners, ranges[:, 1] - ranges[:, 0], len(covers)).astype(np.int64)
    is_open = is_counted.copy()
    chosen: list[tuple[int, int]] = []
    while True:
        gains = np.bincount(owners, words_in(ranges, is_open), len(covers)).astype(np.int64)
        best = int(np.lexsort((-totals, -gains))[0])
        if not gains[best]:
            return chosen
        chosen.append((best, int(gains[best])))
        for start, end in covers[best].tolist():
            is_open[start:end] = False


def covered_once(covers: Sequence[Numbers], words: int) -> npt.NDArray[np.bool_]:
    """Return which words of a text are covered by just one of some documents; bool array of shape (words,)."""
    edges = np.zeros(words + 1, np.int64)
    for each in covers:
        # Ranges of one document are apart, so no place comes twice.
        edges[each[:, 0]] += 1
        edges[each[:, 1]] -= 1
    once: npt.NDArray[np.bool_] = np.cumsum(edges[:-1]) == 1
    return once
