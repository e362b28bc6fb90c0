"""Compiled loops that put evenly spread numbers in order."""

from __future__ import annotations

from typing import Any

from whorl.fingerprint.compiled.jit import get, inlined, int64, loop, uint64

#: Of a number that is put in its place among others: more of them, and somebody chose what is hashed.
_MOST_MOVES = 64


@loop
def put_in_order(numbers: Any, first: int, count: int, lead: int, out: Any, at: int, heads: Any) -> None:
    """Write numbers[first : first + count] to out[at:] in ascending order, equal ones as they come.

    They are spread evenly, so each is put near its place at once (a bucket for each), and moved by a few.

    Args:
        numbers: uint64 array.
        first: Where to begin.
        count: How many there are.
        lead: The upper bits that all of them share.
        out: Another uint64 array.
        at: Where to write.
        heads: int64 array, which is written on; it takes longer where it is not of more than `count`.
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
    """Put numbers[at : at + count] in ascending order, soonest where they are few or nearly so already."""
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
    """Put numbers[at : at + count] in ascending order, whatever they are."""
    for end in range(count + count // 2, 0, -1):
        # First every number is sunk into a heap, the largest on top; then the largest goes to the end, one by one.
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
