"""Functions for numpy arrays (runs, groups, distinct numbers, sort orders), batches of items, and work in threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from itertools import islice, pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Item = TypeVar("Item")
Made = TypeVar("Made")
#: Size of the table of a `HashLookup`: for n hashes, at least 2**_LEAST_TABLE_BITS elements, and about 2**_SPARE_BITS
#: elements for each hash.
_LEAST_TABLE_BITS, _SPARE_BITS = 16, 3


def run_starts(together: npt.NDArray[Any], *others: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the start of each run of equal rows; int64 array of shape (runs,).

    Each array is a column of the rows. Equal numbers in the first array, `together`, must be adjacent.

    >>> run_starts(np.array([5, 5, 5, 7]), np.array([1, 2, 2, 2])).tolist()
    [0, 1, 3]
    """
    is_first = np.ones(together.size, np.bool_)
    np.not_equal(together[1:], together[:-1], out=is_first[1:])
    for column in others:
        is_first[1:] |= column[1:] != column[:-1]
    return is_first.nonzero()[0]


def group_equals(values: npt.NDArray[Any]) -> list[npt.NDArray[np.int64]]:
    """Return an array of ascending indices for each distinct value; the arrays are in the order of the values.

    >>> [group.tolist() for group in group_equals(np.array([7, 2, 7]))]
    [[1], [0, 2]]
    """
    order = np.argsort(values, kind="stable")
    # Slice in a loop: for many small groups, np.split takes ten times as long.
    bounds = [*run_starts(values[order]).tolist(), order.size]
    return [order[begin:end] for begin, end in pairwise(bounds)]


def ranges_of(is_marked: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the runs of True elements as ascending half-open ranges of indices; int64 array of shape (runs, 2).

    >>> ranges_of(np.array([True, True, False, True])).tolist()
    [[0, 2], [3, 4]]
    """
    return np.diff(is_marked, prepend=False, append=False).nonzero()[0].reshape(-1, 2)


def find_sorted(
    ascending: npt.NDArray[Any], wanted: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Look up numbers in an ascending array: return their positions, and a mask of the numbers that the array has.

    >>> positions, is_found = find_sorted(np.array([2, 5, 7]), np.array([7, 6, 9]))
    >>> positions[is_found].tolist(), is_found.tolist()
    ([2], [True, False, False])
    """
    positions = np.searchsorted(ascending, wanted)
    if not ascending.size:
        return positions, np.zeros(positions.shape, np.bool_)
    np.minimum(positions, ascending.size - 1, out=positions)
    return positions, ascending[positions] == wanted


class HashLookup:
    """Looks up hashes of at most `bits` bits in an ascending array of distinct hashes.

    A table of booleans, at most 2**`most_table_bits` bytes, has an element for each value of a hash's upper bits. It is
    True if a hash of the array has these upper bits. The table excludes most other hashes faster than a binary search.
    """

    def __init__(self, ascending: npt.NDArray[np.uint64], bits: int = 64, most_table_bits: int = 28) -> None:
        table_bits = min(max(_LEAST_TABLE_BITS, ascending.size.bit_length() + _SPARE_BITS), most_table_bits, bits)
        self._hashes, self._shift = ascending, np.uint64(bits - table_bits)
        self._table = np.zeros(1 << table_bits, np.bool_)
        self._table[self._slots(ascending)] = True

    def _slots(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        return (hashes >> self._shift).view(np.int64)

    def find(self, hashes: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the indices of the hashes that the array has, and their positions in the array.

        >>> [part.tolist() for part in HashLookup(np.array([2, 5], np.uint64)).find(np.array([5, 6, 2], np.uint64))]
        [[0, 2], [1, 0]]
        """
        indices = np.flatnonzero(self._table[self._slots(hashes)])
        positions, is_there = find_sorted(self._hashes, hashes[indices])
        return indices[is_there], positions[is_there]


def count_covers(ranges: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """Return the number of half-open ranges that contain each index below `size`; int64 array of shape (size,)."""
    return np.cumsum(np.bincount(ranges[:, 0], minlength=size + 1) - np.bincount(ranges[:, 1], minlength=size + 1))[:-1]


def mask_ranges(ranges: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.bool_]:
    """Return a mask of the indices in half-open ranges; bool array of shape (size,)."""
    return count_covers(ranges, size) > 0


def indices_of_ranges(starts: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the indices in ranges, concatenated. The ranges are given by their starts and lengths.

    >>> indices_of_ranges(np.array([5, 20]), np.array([3, 2])).tolist()
    [5, 6, 7, 20, 21]
    """
    ends = np.cumsum(counts)
    return np.repeat(starts - ends + counts, counts) + np.arange(ends[-1] if ends.size else 0)


def is_first_of_group(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return a mask of the first element of each group, for consecutive groups of these sizes.

    >>> is_first_of_group(np.array([2, 0, 1])).tolist()
    [True, False, True]
    """
    ends = np.cumsum(sizes)
    is_first = np.zeros(ends[-1] if ends.size else 0, np.bool_)
    is_first[(ends - sizes)[sizes > 0]] = True
    return is_first


def counts_in_groups(is_marked: npt.NDArray[np.bool_], sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the number of True elements in each group, for consecutive groups of these sizes.

    >>> counts_in_groups(np.array([True, False, True]), np.array([2, 0, 1])).tolist()
    [1, 0, 1]
    """
    before = np.concatenate([[0], np.cumsum(is_marked)])
    ends = np.cumsum(sizes)
    counts: npt.NDArray[np.int64] = before[ends] - before[ends - sizes]
    return counts


def sorting_order(numbers: npt.NDArray[np.uint64], bits: int) -> npt.NDArray[np.int64]:
    """Return the indices that sort numbers of at most `bits` bits; equal numbers keep their order.

    Sorting numbers packed with their positions takes half the time of argsort.

    >>> sorting_order(np.array([5, 2, 5, 1], np.uint64), 3).tolist()
    [3, 1, 0, 2]
    """
    places = numbers.size.bit_length()
    if bits + places > 64:
        return np.argsort(numbers, kind="stable")
    together = (numbers << np.uint64(places)) | np.arange(numbers.size, dtype=np.uint64)
    together.sort()
    return (together & np.uint64((1 << places) - 1)).astype(np.int64)


def expand_ranges(
    starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], at_once: int
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Yield the indices in half-open ranges, in batches of at most `at_once`; a larger range is a batch of its own.

    A range that ends before its start is empty. A batch has two arrays of the same length: for each index, the position
    of its range in `starts`, and the index itself. No batch is empty.
    """
    sizes = np.maximum(ends - starts, 0)
    before = sizes.cumsum() - sizes
    first = 0
    while first < sizes.size:
        last = sizes.size
        if before[-1] + sizes[-1] - before[first] > at_once:
            last = max(first + 1, int(np.searchsorted(before + sizes, before[first] + at_once, "right")))
        owners = np.arange(first, last).repeat(sizes[first:last])
        if owners.size:
            yield owners, (starts - before)[owners] + np.arange(before[first], before[first] + owners.size)
        first = last


def sort_distinct(parts: Iterable[npt.NDArray[np.uint64]]) -> npt.NDArray[np.uint64]:
    """Return the distinct numbers of uint64 arrays in ascending order; uses 16 bytes of memory per number.

    Sorting is much faster than the hash table of recent versions of `np.unique`.
    """
    everything = np.concatenate([np.empty(0, np.uint64), *parts])
    everything.sort()
    return ascending_distinct(everything)


def ascending_distinct(ascending: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the distinct numbers of an ascending array; the result may be the array itself."""
    is_new = np.ones(ascending.size, np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=is_new[1:])
    return ascending if is_new.all() else ascending[is_new]


def chunks(
    items: Iterable[Item], weight: Callable[[Item], int], heaviest: int, most: int | None = None
) -> Iterator[list[Item]]:
    """Yield items in order, in lists of limited total weight.

    The total weight of a list is at most `heaviest`, and a list has at most `most` items (None: any number). An item
    that is heavier than `heaviest` gets a list of its own.

    >>> list(chunks([3, 1, 1, 9, 1], int, heaviest=4))
    [[3, 1], [1], [9], [1]]
    """
    chunk: list[Item] = []
    total = 0
    for item in items:
        own = weight(item)
        if chunk and (total + own > heaviest or len(chunk) == most):
            yield chunk
            chunk, total = [], 0
        chunk.append(item)
        total += own
    if chunk:
        yield chunk


def batches(items: Iterable[Item], most: int) -> Iterator[list[Item]]:
    """Yield items in order, in lists of `most` items; the last list may be shorter.

    >>> list(batches("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    left = iter(items)
    while batch := list(islice(left, most)):
        yield batch


def map_in_threads(
    work: Callable[[Item], Made], portions: Iterable[Item], workers: int, ahead: int, name: str
) -> Iterator[Made]:
    """Yield the result of `work` for each portion, in order; several threads compute the results.

    The caller's thread reads the portions, and waits for the oldest result while `ahead` portions are pending. The
    threads have the caller's context: the request's deadline and trace. After an error, the threads start no further
    portion.

    Args:
        name: First part of the threads' names.
    """
    # Few commands need threads, so import this only here, to start the other commands faster.
    from concurrent.futures import Future, ThreadPoolExecutor

    waiting: deque[Future[Made]] = deque()
    with ThreadPoolExecutor(workers, name) as pool:
        try:
            for portion in portions:
                waiting.append(pool.submit(copy_context().run, work, portion))
                if len(waiting) >= ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def zip_with_results(
    items: Iterable[Item], make: Callable[[Iterator[Item]], Iterable[Made]]
) -> Iterator[tuple[Item, Made]]:
    """Yield each item together with its result from `make`.

    `make` returns one result for each item, in order. It may read ahead; an item stays in memory only from the time
    that `make` reads it until its result is yielded. `itertools.tee` would keep blocks of 57 items.

    >>> list(zip_with_results("ab", lambda ahead: map(str.upper, ahead)))
    [('a', 'A'), ('b', 'B')]
    """
    taken: deque[Item] = deque()

    def ahead() -> Iterator[Item]:
        for item in items:
            taken.append(item)
            yield item

    for made in make(ahead()):
        yield taken.popleft(), made
