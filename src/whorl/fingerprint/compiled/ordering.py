"""Compiled sorting of evenly distributed numbers."""

from __future__ import annotations

from typing import Any

from whorl.fingerprint.compiled.jit import get, inlined, int64, loop, uint64

#: Moves per number in the insertion sort before heap sort takes over; more occur only for crafted input.
_MOST_MOVES = 64


@loop
def put_in_order(numbers: Any, first: int, count: int, lead: int, out: Any, at: int, heads: Any) -> None:
    """Write numbers[first : first + count] to out[at:] in ascending order.

    Numbers are evenly distributed, so bucket sort puts each near its place, and insertion sort completes the order.

    Args:
        numbers: uint64 array.
        first: First index.
        count: Number of elements.
        lead: Number of upper bits that all numbers share.
        out: Output; uint64 array.
        at: First index in the output.
        heads: Scratch array; int64, slower with fewer than `count` + 1 elements.
    """
    buckets = min(count, heads.size - 1)
    for i in range(buckets + 1):
        heads[uint64(i)] = 0
    for i in range(count):
        heads[uint64(_bucket(get(numbers, first + i), lead, buckets) + 1)] += 1
    for i in range(buckets):
        heads[uint64(i + 1)] += heads[uint64(i)]
    for i in range(count):
        number = get(numbers, first + i)
        bucket = uint64(_bucket(number, lead, buckets))
        out[uint64(at + heads[bucket])] = number
        heads[bucket] += 1
    sort(out, at, count)


@loop
def sort(numbers: Any, at: int, count: int) -> None:
    """Sort numbers[at : at + count] in place; fastest for few or nearly sorted numbers."""
    moves = count * _MOST_MOVES
    for i in range(at + 1, at + count):
        number, place = get(numbers, i), i
        while place > at and get(numbers, place - 1) > number:
            numbers[uint64(place)] = get(numbers, place - 1)
            place -= 1
        numbers[uint64(place)] = number
        moves -= i - place
        if moves < 0:
            _heap_sort(numbers, at, count)
            break


@inlined
def _bucket(number: Any, lead: int, count: int) -> Any:
    return int64((((number << uint64(lead)) >> uint64(32)) * uint64(count)) >> uint64(32))


@loop
def _heap_sort(numbers: Any, at: int, count: int) -> None:
    """Sort numbers[at : at + count] in place by heap sort, for any input."""
    for end in range(count + count // 2, 0, -1):
        # First build a heap with the largest number on top; then move the largest to the end, one by one.
        root, size = (end - count - 1, count) if end > count else (0, end - 1)
        if end <= count:
            numbers[at], numbers[at + end - 1] = numbers[at + end - 1], numbers[at]
        child = 2 * root + 1
        while child < size:
            if child + 1 < size and numbers[at + child + 1] > numbers[at + child]:
                child += 1
            if numbers[at + root] >= numbers[at + child]:
                break
            numbers[at + root], numbers[at + child] = numbers[at + child], numbers[at + root]
            root, child = child, 2 * child + 1
