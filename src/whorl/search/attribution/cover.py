"""Greedy set cover of a text by documents, and operations on ranges of words.

The greedy cover is at most 1 + ln(n) times as large as the smallest cover of the same n words (the classical bound of
greedy set cover: Johnson 1974, Lovász 1975, Chvátal 1979); finding the smallest is NP-hard.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from whorl.context import require_time

Numbers = npt.NDArray[np.int64]


def joined(starts: Numbers, ends: Numbers) -> Numbers:
    """Merge overlapping and adjacent ranges; return them ascending.

    Args:
        starts: Starts of the ranges; int64 array of shape (n,).
        ends: Exclusive ends of the ranges, each above its start; int64 array of the same shape.

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


def marked(ranges: Numbers, words: int) -> npt.NDArray[np.bool_]:
    """Return the mask of the words in ranges; bool array of shape (words,)."""
    edges = np.bincount(ranges[:, 0], minlength=words + 1) - np.bincount(ranges[:, 1], minlength=words + 1)
    is_marked: npt.NDArray[np.bool_] = np.cumsum(edges[:-1]) > 0
    return is_marked


def ranges_of(is_marked: npt.NDArray[np.bool_]) -> Numbers:
    """Return the runs of marked words as ranges, ascending and neither overlapping nor adjacent.

    >>> ranges_of(np.array([True, True, False, True])).tolist()
    [[0, 2], [3, 4]]
    """
    edges = np.flatnonzero(np.diff(np.concatenate(([False], is_marked, [False]))))
    return edges.reshape(-1, 2)


def marked_rows(ranges: Sequence[Numbers], words: int) -> npt.NDArray[np.bool_]:
    """Return the mask of the words in each document's ranges; bool array of shape (documents, words)."""
    rows = np.repeat(np.arange(len(ranges)), [len(each) for each in ranges]) * (words + 1)
    every = np.concatenate([np.empty((0, 2), np.int64), *ranges])
    cells = len(ranges) * (words + 1)
    edges = np.bincount(rows + every[:, 0], minlength=cells) - np.bincount(rows + every[:, 1], minlength=cells)
    is_marked: npt.NDArray[np.bool_] = (np.cumsum(edges) > 0).reshape(len(ranges), words + 1)[:, :words]
    return is_marked


def row_ranges(is_marked: npt.NDArray[np.bool_]) -> list[Numbers]:
    """Return the runs of marked words of each document as ranges.

    Args:
        is_marked: bool array of shape (documents, words).
    """
    documents, words = is_marked.shape
    # A column of unmarked words keeps the rows apart.
    every = ranges_of(np.pad(is_marked, ((0, 0), (0, 1))).ravel())
    rows = every[:, 0] // (words + 1)
    return np.split(every - rows[:, None] * (words + 1), np.searchsorted(rows, np.arange(1, documents)))


def common_ranges(one: Numbers, other: Numbers, words: int) -> Numbers:
    """Return the intersection of two lists of ranges; the ranges of each list must not overlap."""
    return ranges_of(marked(one, words) & marked(other, words))


def words_in(ranges: Numbers, is_counted: npt.NDArray[np.bool_]) -> Numbers:
    """Return the number of counted words in each range.

    Args:
        ranges: int64 array of shape (n, 2), half-open.
        is_counted: Mask of the counted words of the text.
    """
    before = np.append(0, np.cumsum(is_counted, dtype=np.int64))
    counts: Numbers = before[ranges[:, 1]] - before[ranges[:, 0]]
    return counts


def greedy_cover(covers: Sequence[Numbers], is_counted: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the greedy cover of a text: the document that adds most counted words first.

    Ties go to the document that covers more of the text, then to the first given.

    Args:
        covers: The ranges that each document covers, as `joined` returns them.
        is_counted: Mask of the words to cover; bool array of shape (words,).

    Returns:
        Indices in `covers`, each with the number of words that it adds to the ones before it, at least 1. Together they
        cover every counted word that any document covers.

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
        require_time()
        gains = np.bincount(owners, words_in(ranges, is_open), len(covers)).astype(np.int64)
        best = int(np.lexsort((-totals, -gains))[0])
        if not gains[best]:
            return chosen
        chosen.append((best, int(gains[best])))
        for start, end in covers[best].tolist():
            is_open[start:end] = False


def covered_once(covers: Sequence[Numbers], words: int) -> npt.NDArray[np.bool_]:
    """Return the mask of the words that exactly one document covers; bool array of shape (words,)."""
    ranges = np.concatenate([np.empty((0, 2), np.int64), *covers])
    edges = np.bincount(ranges[:, 0], minlength=words + 1) - np.bincount(ranges[:, 1], minlength=words + 1)
    once: npt.NDArray[np.bool_] = np.cumsum(edges[:-1]) == 1
    return once
