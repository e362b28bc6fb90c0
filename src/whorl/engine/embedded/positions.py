"""Where words stand in a field, and how far words are from each other: what Lucene's queries say, of words at hand."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

#: What Solr's types of text leave between two values of a field (positionIncrementGap).
GAP = 100


def positions(values: Sequence[Sequence[str]]) -> list[tuple[int, str]]:
    """Return the words of a field's values with their places: one after another, with a gap between values."""
    placed, at = [], 0
    for words in values:
        placed += list(enumerate(words, at))
        at += len(words) + GAP
    return placed


def is_within(values: Sequence[Sequence[str]], wanted: Sequence[str], slop: int) -> bool:
    """Say whether words stand in a field as in a phrase, moved by at most `slop` places.

    Each word of the phrase has a place of its own; its shift is how far that is from where it would stand after the
    phrase's beginning. The shifts differ by at most the slop.

    Source: Lucene's SloppyPhraseMatcher.
    """
    places: dict[str, list[int]] = {word: [] for word in wanted}
    for at, word in positions(values):
        if word in places:
            places[word].append(at)
    shifts = [[at - number for at in places[word]] for number, word in enumerate(wanted)]

    def fits(number: int, least: int, taken: frozenset[int]) -> bool:
        """Say whether the words from a number on have places, with shifts from the least one on."""
        if number == len(wanted):
            return True
        own = shifts[number]
        for shift in own[bisect_left(own, least) :]:
            if shift > least + slop:
                return False
            at = shift + number
            # Only words that are the same can want the same place.
            if at not in taken and fits(number + 1, least, taken | {at}):
                return True
        return False

    return any(fits(0, least, frozenset()) for least in sorted({shift for own in shifts for shift in own}))


def is_in_order(values: Sequence[Sequence[str]], wanted: Sequence[re.Pattern[str]], slop: int) -> bool:
    """Say whether words that look like some patterns stand in a field in their order, with at most `slop` others among.

    Source: Lucene's NearSpansOrdered.
    """
    placed = positions(values)
    places = [[at for at, word in placed if pattern.fullmatch(word)] for pattern in wanted]
    for first in places[0]:
        at: int | None = first
        for own in places[1:]:
            # The nearest that follows: none further away could be better.
            following = bisect_left(own, (at or 0) + 1)
            at = own[following] if following < len(own) else None
            if at is None:
                return False
        if at is not None and at - first - (len(wanted) - 1) <= slop:
            return True
    return False


def distance(one: str, other: str) -> int:
    """Return how many insertions, deletions, changes and swaps of neighbours make one word of another.

    No character is edited twice, as in Lucene's automata.

    >>> distance("roam", "foams"), distance("form", "from")
    (2, 1)
    """
    rows = [list(range(len(other) + 1))]
    for at, letter in enumerate(one, 1):
        above, row = rows[-1], [at]
        for there, wanted in enumerate(other, 1):
            best = min(above[there] + 1, row[there - 1] + 1, above[there - 1] + (letter != wanted))
            if at > 1 and there > 1 and (letter, one[at - 2]) == (other[there - 2], wanted):
                best = min(best, rows[-2][there - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]
