"""Runs and distinct numbers in arrays; things put together until they are enough."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Item = TypeVar("Item")
Made = TypeVar("Made")


def run_starts(together: npt.NDArray[Any], *others: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return where each run of equal rows begins, where equal ones stand together; int64 array of shape (runs,).

    Args:
        together: A column of numbers.
        others: Further columns; rows are equal if they are in each.

    >>> run_starts(np.array([5, 5, 5, 7]), np.array([1, 2, 2, 2])).tolist()
    [0, 1, 3]
    """
    is_first = np.ones(together.size, np.bool_)
    np.not_equal(together[1:], together[:-1], out=is_first[1:])
    for column in others:
        is_first[1:] |= column[1:] != column[:-1]
    return is_first.nonzero()[0]


def spread(starts: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the numbers from each start on, as many as its count says, one after the other.

    >>> spread(np.array([5, 20]), np.array([3, 2])).tolist()
    [5, 6, 7, 20, 21]
    """
    ends = np.cumsum(counts)
    return np.repeat(starts - ends + counts, counts) + np.arange(ends[-1] if ends.size else 0)


def order_of(numbers: npt.NDArray[np.uint64], bits: int) -> npt.NDArray[np.int64]:
    """Return the places of numbers in ascending order, equal ones as they come.

    Numbers that have their places beside them are sorted twice as fast as places by their numbers.

    Args:
        numbers: uint64 array of shape (numbers,).
        bits: How many bits they have at most.

    >>> order_of(np.array([5, 2, 5, 1], np.uint64), 3).tolist()
    [3, 1, 0, 2]
    """
    places = numbers.size.bit_length()
    if bits + places > 64:
        return np.argsort(numbers, kind="stable")
    together = (numbers << np.uint64(places)) | np.arange(numbers.size, dtype=np.uint64)
    together.sort()
    return (together & np.uint64((1 << places) - 1)).astype(np.int64)


def sorted_distinct(parts: Iterable[npt.NDArray[np.uint64]]) -> npt.NDArray[np.uint64]:
    """Return the different numbers of some uint64 arrays, ascending; takes 16 bytes a number.

    Sorting is many times as fast as the hash table that `np.unique` has become.
    """
    everything = np.concatenate([np.empty(0, np.uint64), *parts])
    everything.sort()
    return ascending_distinct(everything)


def ascending_distinct(ascending: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the different numbers of an ascending array, which it may be itself."""
    is_new = np.ones(ascending.size, np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=is_new[1:])
    return ascending if is_new.all() else ascending[is_new]


def chunks(
    items: Iterable[Item], weight: Callable[[Item], int], heaviest: int, most: int | None = None
) -> Iterator[list[Item]]:
    """Yield items in order, several at once.

    Args:
        items: Any number, taken as the lists are.
        weight: Of an item, 0 or more.
        heaviest: What those of a list weigh together at most; an item that is heavier comes alone.
        most: How many there are in a list at most; None for any number.

    >>> list(chunks([3, 1, 1, 9, 1], int, heaviest=4))
    [[3, 1], [1], [9], [1]]
    """
    some: list[Item] = []
    total = 0
    for item in items:
        own = weight(item)
        if some and (total + own > heaviest or len(some) == most):
            yield some
            some, total = [], 0
        some.append(item)
        total += own
    if some:
        yield some


def batches(items: Iterable[Item], most: int) -> Iterator[list[Item]]:
    """Yield items in order, so many at once.

    >>> list(batches("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    left = iter(items)
    while some := list(islice(left, most)):
        yield some


def with_made(items: Iterable[Item], make: Callable[[Iterator[Item]], Iterable[Made]]) -> Iterator[tuple[Item, Made]]:
    """Yield each item with what is made of it.

    No more items are held than `make` has taken ahead; `itertools.tee` would hold them 57 at a time.

    Args:
        items: Any number.
        make: Takes them, some of them ahead, and returns one thing for each, in their order.

    >>> list(with_made("ab", lambda ahead: map(str.upper, ahead)))
    [('a', 'A'), ('b', 'B')]
    """
    taken: deque[Item] = deque()

    def ahead() -> Iterator[Item]:
        for item in items:
            taken.append(item)
            yield item

    for made in make(ahead()):
        yield taken.popleft(), made
