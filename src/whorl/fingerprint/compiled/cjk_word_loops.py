"""Compiled loop that splits Chinese and Japanese text into words.

The loop gives the same result as `split_by_dictionary.LeastCost`, and reads ICU's serialized dictionary. It leaves
three kinds of rare characters to the Python code: characters that compatibility normalization changes, characters
beyond the first Unicode plane, and characters that need another dictionary.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.compiled.jit import cached, get, inlined, int64, loop
from whorl.fingerprint.compiled.unicode_tables import DIVIDED_WORD, ENGINE, NEEDS_DICTIONARY, RARE
from whorl.fingerprint.words.split_by_dictionary import (
    CJK,
    HANGUL,
    KATAKANA_COST_LONG,
    KATAKANA_COSTS,
    KATAKANA_LIMIT,
    LONGEST_WORD,
    UNKNOWN_COST,
    is_katakana,
)

_COSTS = np.array(KATAKANA_COSTS, np.int64)
_UNREACHED = 1 << 31
#: Value in the first cache for a unit (a 16-bit number of UTF-16) that has not been looked up yet.
_UNKNOWN = -2
#: Binary logarithm of the number of slots in the cache for pairs of units.
PAIR_BITS = 15


def make_caches() -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Allocate empty caches of dictionary look-ups.

    The dictionary is a trie of UTF-16 units. For each first unit of a word, the first cache has the result of
    `_advance` from the root. The second cache has the result for some pairs of a first and a second unit.
    """
    # -1 marks an empty slot: as a pair of units, it is U+FFFF twice, which no word contains.
    return np.full((1 << 16, 4), _UNKNOWN, np.int32), np.full((1 << PAIR_BITS, 4), -1, np.int32)


@inlined
def _number(trie: Any, place: int, lead: int, two: int, three: int) -> Any:
    """Decode a number of one to three units whose first unit is `lead`; return the number and the position after it.

    `place` is the position after the first unit. `two` and `three` are the smallest first units of numbers of two and
    of three units.
    """
    if lead < two:
        return lead, place
    if lead < three:
        return (lead - two) << 16 | int64(get(trie, place)), place + 1
    return int64(get(trie, place)) << 16 | int64(get(trie, place + 1)), place + 2


@loop
def _branch(trie: Any, place: int, size: int, unit: int) -> Any:
    """Return the position of a unit's child in a branch node of `size` children, or -1 if it has no such child."""
    while size > 5:
        split = int64(get(trie, place))
        delta, after = _number(trie, place + 2, int64(get(trie, place + 1)), 0xFC00, 0xFFFF)
        if unit < split:
            place, size = after + delta, size >> 1
        else:
            place, size = after, size - (size >> 1)
    while size > 1:
        lead = int64(get(trie, place + 1))
        delta, after = _number(trie, place + 2, lead & 0x7FFF, 0x4000, 0x7FFF)
        if int64(get(trie, place)) == unit:
            return place + 1 if lead & 0x8000 else after + delta
        place, size = after, size - 1
    return place + 1 if int64(get(trie, place)) == unit else -1


@loop
def _advance(trie: Any, place: int, units_left: int, unit: int) -> Any:
    """Advance by one unit in the trie, from a node or within a linear run that has `units_left` units left.

    Returns:
        Value of the word that ends after the unit, or -1; next position, or -1; and number of units left in a linear
        run.
    """
    if not units_left:
        lead = int64(get(trie, place))
        place += 1
        if lead >= 0x40:  # skip the value at this node: the previous call has returned the word that ends here
            high = lead & 0x7FC0
            lead &= 0x3F
            place += 0 if high < 0x4040 else 1 if high < 0x7FC0 else 2
        if lead >= 0x30:
            units_left = lead - 0x2F
        else:
            if lead == 0:
                lead = int64(get(trie, place))
                place += 1
            place = _branch(trie, place, lead + 1, unit)
            if place < 0:
                return -1, -1, 0
    if units_left:
        if int64(get(trie, place)) != unit:
            return -1, -1, 0
        place += 1
        units_left -= 1
        if units_left:
            return -1, place, units_left
    lead = int64(get(trie, place))
    if lead < 0x40:
        return -1, place, 0
    if lead & 0x8000:
        value, _ = _number(trie, place + 1, lead & 0x7FFF, 0x4000, 0x7FFF)
        return value, -1, 0
    high = lead & 0x7FC0
    if high < 0x4040:
        value = (high >> 6) - 1
    elif high < 0x7FC0:
        value = (high - 0x4040) << 10 | int64(get(trie, place + 1))
    else:
        value = int64(get(trie, place + 1)) << 16 | int64(get(trie, place + 2))
    return value, place, 0


@inlined
def _record_word(cost: Any, before: Any, start: int, length: int, value: int) -> None:
    """Record a word if it lowers the cost of the text up to the word's end; `value` is its cost, or -1 for no word."""
    if value >= 0 and cost[start] + value < cost[start + length]:
        cost[start + length] = cost[start] + value
        before[start + length] = start


@inlined
def _record_words_at(
    units: Any, at: int, start: int, longest: int, trie: Any, known: Any, cost: Any, before: Any
) -> Any:
    """Record all dictionary words that begin at `start`; return whether the first unit alone is a word.

    The root of the trie has 20,000 children, so look-ups from the root are slow. The caches in `known` have the results
    for first units, and for pairs of a first and a second unit.
    """
    ones, pairs = known
    first = int64(get(units, at))
    if ones[first, 1] == _UNKNOWN:
        value, place, units_left = _advance(trie, 0, 0, first)
        ones[first, 0], ones[first, 1], ones[first, 2] = value, place, units_left
    single, place, units_left = int64(ones[first, 0]), int64(ones[first, 1]), int64(ones[first, 2])
    _record_word(cost, before, start, 1, single)
    if place < 0 or longest < 2:
        return single >= 0
    second = int64(get(units, at + 1))
    pair = np.uint32(first << 16 | second)
    slot = int64(np.uint32(pair * np.uint32(0x9E3779B1)) >> np.uint32(32 - PAIR_BITS))
    if pairs[slot, 3] != np.int32(pair):
        value, place, units_left = _advance(trie, place, units_left, second)
        pairs[slot, 0], pairs[slot, 1], pairs[slot, 2], pairs[slot, 3] = value, place, units_left, np.int32(pair)
    value, place, units_left = int64(pairs[slot, 0]), int64(pairs[slot, 1]), int64(pairs[slot, 2])
    _record_word(cost, before, start, 2, value)
    length = 3
    while place >= 0 and length <= longest:
        value, place, units_left = _advance(trie, place, units_left, int64(get(units, at + length - 1)))
        _record_word(cost, before, start, length, value)
        length += 1
    return single >= 0


_is_katakana = inlined(is_katakana)


@loop
def _least_cost(units: Any, origin: int, limit: int, trie: Any, known: Any, cost: Any, before: Any) -> None:
    """Find the cheapest segmentation of a span: element i of `before` receives the start of the word that ends at i.

    The span has `limit` units, starting at units[origin]; positions in `before` and `cost` are relative to it.
    """
    cost[0] = 0
    for place in range(1, limit + 1):
        cost[place] = _UNREACHED
    after_katakana = False
    for start in range(limit):
        if cost[start] == _UNREACHED:
            continue
        longest = min(LONGEST_WORD, limit - start)
        has_single = _record_words_at(units, origin + start, start, longest, trie, known, cost, before)
        if not has_single and cost[start] + UNKNOWN_COST < cost[start + 1]:
            cost[start + 1] = cost[start] + UNKNOWN_COST
            before[start + 1] = start
        katakana = _is_katakana(int64(units[origin + start]))
        if katakana and not after_katakana:
            run = 1
            while run < KATAKANA_LIMIT and start + run < limit and _is_katakana(int64(units[origin + start + run])):
                run += 1
            if run < KATAKANA_LIMIT:
                value = _COSTS[run] if run < _COSTS.size else KATAKANA_COST_LONG
                if cost[start] + value < cost[start + run]:
                    cost[start + run] = cost[start] + value
                    before[start + run] = start
        after_katakana = katakana


@loop
def _divide_one(units: Any, start: int, stop: int, engines: Any, trie: Any, work: Any, ends: Any, count: int) -> Any:
    """Write the ends of the words of one segment, like `Dictionaries.divide`.

    Return the number of word ends written so far, or -1 if the Python code must divide the segment.
    """
    place = start
    while place < stop:
        kind = int64(get(engines, int64(get(units, place))))
        if kind & RARE:
            return -1
        if not kind & NEEDS_DICTIONARY:
            place += 1
            continue
        end = place + 1
        while end < stop:
            other = int64(get(engines, int64(get(units, end))))
            if other & RARE:
                return -1
            if (other ^ kind) & ENGINE:
                break
            end += 1
        if kind & ENGINE == CJK:
            _least_cost(units, place, end - place, trie, work.known, work.cost, work.before)
            # Write only the word ends inside the span: characters before the span belong to the span's first word, and
            # characters after the span to its last word.
            inner, at = 0, int64(work.before[end - place])
            while at > 0:
                inner += 1
                at = int64(work.before[at])
            count += inner
            slot, at = count, int64(work.before[end - place])
            while at > 0:
                slot -= 1
                ends[slot] = place + at
                at = int64(work.before[at])
        elif kind & ENGINE != HANGUL:
            return -1
        place = end
    ends[count] = stop
    return count + 1


@cached
def divide(units: Any, slow: Any, engines: Any, trie: Any, work: Any, ends: Any, counts: Any) -> Any:
    """Divide Chinese and Japanese segments into words; leave all other segments to the Python code.

    `slow` has the segments from `word_loops.scan`. `ends` receives the word ends of the divided segments. `counts`
    receives the number of words of each segment, or -1 for a segment that is left to the Python code.

    Returns:
        Number of words, number of their units, and number of segments that are left to the Python code.
    """
    written, size, left = 0, 0, slow.shape[0]
    for segment in range(slow.shape[0]):
        counts[segment] = -1
        if slow[segment, 3] == DIVIDED_WORD:
            start, stop = int64(slow[segment, 1]), int64(slow[segment, 2])
            count = _divide_one(units, start, stop, engines, trie, work, ends, written)
            if count >= 0:
                counts[segment] = count - written
                written = count
                size += stop - start
                left -= 1
    return written, size, left
