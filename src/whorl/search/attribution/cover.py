"""Chooses a small set of documents that together cover a text (greedy set cover).

The greedy cover is at most 1 + ln(n) times as large as the smallest cover of the same n words (Johnson 1974, Lovász
1975, Chvátal 1979); finding the smallest is NP-hard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heapreplace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import indices_of_ranges
from whorl.request_context import require_time

Numbers = npt.NDArray[np.int64]
NO_RANGES: Numbers = np.empty((0, 2), np.int64)


def merge_ranges(starts: Numbers, ends: Numbers) -> Numbers:
    """Merge overlapping and adjacent half-open ranges; return them ascending, as int64 array of shape (ranges, 2).

    `starts` and `ends` are int64 arrays of the same length; each end is above its start.

    >>> merge_ranges(np.array([7, 0, 2]), np.array([9, 3, 5])).tolist()
    [[0, 5], [7, 9]]
    """
    order = np.argsort(starts, kind="stable")
    return ranges_by_owner(np.zeros_like(starts), starts[order], np.maximum.accumulate(ends[order]), 1)[0]


def ranges_by_owner(owners: Numbers, starts: Numbers, ends: Numbers, documents: int) -> list[Numbers]:
    """Merge each document's overlapping and adjacent ranges; return an array of ranges for each document.

    Args:
        owners: Document of each range, from 0 to `documents` - 1; ascending.
        starts, ends: Ranges, ascending for each document.

    >>> a, b = ranges_by_owner(np.array([0, 0, 1]), np.array([1, 2, 5]), np.array([3, 6, 9]), 2)
    >>> a.tolist(), b.tolist()
    ([[1, 6]], [[5, 9]])
    """
    is_first = np.ones(starts.size, np.bool_)
    is_first[1:] = (owners[1:] != owners[:-1]) | (starts[1:] > ends[:-1])
    is_last = np.append(is_first[1:], True)[: starts.size]
    merged = np.stack((starts[is_first], ends[is_last]), axis=1)
    bounds = np.searchsorted(owners[is_first], np.arange(documents + 1)).tolist()
    return [merged[start:end] for start, end in pairwise(bounds)]


def concatenate_ranges(ranges: Iterable[Numbers]) -> Numbers:
    return np.concatenate([NO_RANGES, *ranges])


def word_indices(ranges: Numbers) -> Numbers:
    """Return the indices of the words in the ranges, one range after the other; int64 array."""
    return indices_of_ranges(ranges[:, 0], ranges[:, 1] - ranges[:, 0])


def array_of_each_range(ranges: Sequence[Numbers]) -> Numbers:
    """Return, for each range of all arrays in turn, the index in `ranges` of the array that contains it."""
    return np.repeat(np.arange(len(ranges)), np.fromiter(map(len, ranges), np.int64, len(ranges)))


def cumulate_counted(is_counted: npt.NDArray[np.bool_]) -> Numbers:
    """Return the number of counted words before each word, then the total; int64 array of shape (words + 1,)."""
    return np.append(0, np.cumsum(is_counted, dtype=np.int64))


def count_words_in(ranges: Numbers, before: Numbers) -> Numbers:
    """Return the number of counted words in each half-open range; `before` is a result of `cumulate_counted`."""
    counts: Numbers = before[ranges[:, 1]] - before[ranges[:, 0]]
    return counts


def greedy_cover(covers: Sequence[Numbers], is_counted: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yield the greedy cover of a text: the index of a document in `covers`, and the number of words that it adds.

    The document that adds most words comes first; ties go to the document that covers more of the text, then to the
    first document. Each document adds at least one word. Together, the documents of the greedy cover have every counted
    word that any document covers.

    Args:
        covers: Ranges that each document covers, as `merge_ranges` returns them.
        is_counted: Mask of the words to cover.

    >>> [*greedy_cover([np.array([[0, 4]]), np.array([[3, 9]]), np.array([[5, 9]])], np.full(10, True))]
    [(1, 6), (0, 3)]
    """
    ranges, owners, is_open = concatenate_ranges(covers), array_of_each_range(covers), is_counted.copy()
    before = cumulate_counted(is_open)
    counts = count_words_in(ranges, before), ranges[:, 1] - ranges[:, 0]
    gains, totals = (np.bincount(owners, weights, len(covers)).astype(np.int64).tolist() for weights in counts)
    # Heap with the best document on top. The number of words that a document adds can only decrease, so recount only
    # the document on top.
    heap = [(-gain, -total, at) for at, (gain, total) in enumerate(zip(gains, totals, strict=True)) if gain]
    heapify(heap)
    while heap:
        require_time()
        known, total, at = heap[0]
        gain = int(count_words_in(covers[at], before).sum())
        if gain == -known:
            is_open[word_indices(covers[at])] = False
            before = cumulate_counted(is_open)
            yield at, gain
        if gain == -known or not gain:
            heappop(heap)
        else:
            heapreplace(heap, (-gain, total, at))
