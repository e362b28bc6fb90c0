"""Compiled loops that assign numbers to shingles, and find the passages that two texts share.

The loops give the same results as the code in `fingerprint.compare_texts`, and are several times as fast.
"""

from __future__ import annotations

from typing import Any

from whorl.fingerprint.compiled.jit import cached, int64, loop, uint64

_FACTOR = 0x9E3779B97F4A7C15


@cached
def number_runs(
    items: Any, size: int, known: Any, known_runs: Any, known_slots: Any, distinct: int, slots: Any, runs: Any
) -> Any:
    """Number the runs of `size` consecutive items, so that equal runs have equal numbers; return the count of numbers.

    Args:
        known: Items of another sequence, whose runs already have numbers and keep them.
        known_runs: Number of each run of `known`, 0 to `distinct` - 1; new runs get the next numbers.
        known_slots: Hash table of the runs of `known`, filled by an earlier call.
        slots: Hash table to fill with the positions of distinct runs, -1 in empty slots; its size is a power of two
            above the number of runs.
        runs: The output.
    """
    for at in range(runs.size):
        key = uint64(0)
        for step in range(size):
            key = (key ^ uint64(items[at + step])) * uint64(_FACTOR)
            key ^= key >> uint64(29)
        slot = _slot_of(items, at, size, known, known_slots, key)
        if known_slots[slot] >= 0:
            runs[at] = known_runs[known_slots[slot]]
            continue
        slot = _slot_of(items, at, size, items, slots, key)
        if slots[slot] < 0:
            slots[slot] = at
            runs[at] = distinct
            distinct += 1
        else:
            runs[at] = runs[slots[slot]]
    return distinct


@loop
def _slot_of(items: Any, at: int, size: int, others: Any, slots: Any, key: int) -> Any:
    """Return the slot that holds a run of `others` equal to the run of `items` at `at`, or else an empty slot."""
    slot = int64(key & uint64(slots.size - 1))
    while slots[slot] >= 0:
        place, step = slots[slot], 0
        while step < size and items[at + step] == others[place + step]:
            step += 1
        if step == size:
            break
        slot = (slot + 1) & (slots.size - 1)
    return slot


@cached
def find_passages(a: Any, positions: Any, b: Any, candidates: int, first: Any, places: Any, found: Any) -> Any:
    """Find the passages of two sequences with the two rules of `fingerprint.compare_texts`; return their number.

    Args:
        positions: Position in the text of each item of `a`.
        candidates: Maximum number of positions that rule 2 tries, in addition to the first position.
        first: Receives the start of each number's range in `places`. It must contain only zeros, and have two elements
            more than the largest number in `a` and `b`.
        places: Receives the positions of each number in `b`, number after number.
        found: Receives the start in `a`, the start in `b` and the length of each passage; it has room for one passage
            per item of `a`. Passages of rule 1 come first, then passages of rule 2; each group is in the order of `a`.
    """
    _group(b, first, places)
    anchored = _find_anchored(a, b, first, places, found)
    return _find_nearest(a, positions, b, candidates, first, places, found, anchored)


@loop
def _group(numbers: Any, first: Any, places: Any) -> None:
    for at in range(numbers.size):
        first[numbers[at] + 1] += 1
    for number in range(1, first.size):
        first[number] += first[number - 1]
    for at in range(numbers.size):
        places[first[numbers[at]]] = at
        first[numbers[at]] += 1
    # The loop above has advanced each start to the start of the next range. Shift the elements by one index to restore
    # the starts.
    for number in range(first.size - 1, 0, -1):
        first[number] = first[number - 1]
    first[0] = 0


@loop
def _find_anchored(a: Any, b: Any, first: Any, places: Any, found: Any) -> Any:
    """Find the passages around items that occur once in `b` (rule 1); return their number."""
    count, at = 0, 0
    while at < a.size:
        if first[a[at] + 1] - first[a[at]] != 1:
            at += 1
            continue
        start, place = at, places[first[a[at]]]
        end = at + _common_prefix_length(a, at, b, place)
        while start and place and a[start - 1] == b[place - 1]:
            start -= 1
            place -= 1
        found[count, 0], found[count, 1], found[count, 2] = start, place, end - start
        count += 1
        at = end
    return count


@loop
def _find_nearest(
    a: Any, positions: Any, b: Any, candidates: int, first: Any, places: Any, found: Any, anchored: int
) -> Any:
    """Add passages by rule 2, for the shared items of `a` that no passage covers; return the number of all."""
    count, before, reach, shift, latest, at = anchored, 0, 0, 0, -1, 0
    while at < a.size:
        while before < anchored and found[before, 0] <= at:
            reach = max(reach, found[before, 0] + found[before, 2])
            before += 1
        if at < reach:
            at = reach
            continue
        low, high = first[a[at]], first[a[at] + 1]
        if low == high:
            at += 1
            continue
        if before and found[before - 1, 0] > latest:
            shift = found[before - 1, 1] - positions[found[before - 1, 0]]
        place, length = _longest(a, at, b, places, low, high, positions[at] + shift, candidates)
        found[count, 0], found[count, 1], found[count, 2] = at, place, length
        count += 1
        shift, latest = place - positions[at], at
        at += length
    return count


@loop
def _longest(a: Any, at: int, b: Any, places: Any, low: int, high: int, expected: int, candidates: int) -> Any:
    """Return the position in `b` with the longest run of items that agrees with `a` from `at` on, and the run's length.

    `places[low:high]` has the positions in `b` to choose from. Try the `candidates` positions nearest to `expected`,
    and the first position.
    """
    after, end = low, high
    while after < end:
        middle = (after + end) // 2
        if places[middle] < expected:
            after = middle + 1
        else:
            end = middle
    before, best, length = after - 1, places[low], 0
    for _ in range(candidates):
        if before >= low and (after == high or expected - places[before] <= places[after] - expected):
            place = places[before]
            before -= 1
        elif after < high:
            place = places[after]
            after += 1
        else:
            break
        own = _common_prefix_length(a, at, b, place)
        if own > length:
            best, length = place, own
    own = _common_prefix_length(a, at, b, places[low])
    if own > length:
        best, length = places[low], own
    return best, length


@loop
def _common_prefix_length(a: Any, at: int, b: Any, place: int) -> Any:
    length = 0
    while at + length < a.size and place + length < b.size and a[at + length] == b[place + length]:
        length += 1
    return length
