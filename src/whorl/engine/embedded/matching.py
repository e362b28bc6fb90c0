"""Phrase and span matching on the words of a field, with the semantics of Lucene's queries."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from whorl.context import require_time

#: Positions between two values of a field in Solr's text types (positionIncrementGap).
GAP = 100


def positions(values: Sequence[Sequence[str]]) -> list[tuple[int, str]]:
    """Return the words of a field's values with their positions, with a gap between values."""
    placed, at = [], 0
    for words in values:
        placed += list(enumerate(words, at))
        at += len(words) + GAP
    return placed


def is_sloppy_phrase(values: Sequence[Sequence[str]], wanted: Sequence[str], slop: int) -> bool:
    """Check whether a field contains a phrase with a slop.

    Each word of the phrase takes a position of its own; its shift is that position minus its index in the phrase. The
    shifts differ by at most the slop.

    Source: Lucene's SloppyPhraseMatcher.
    """
    places: dict[str, list[int]] = {word: [] for word in wanted}
    for at, word in positions(values):
        if word in places:
            places[word].append(at)

    def fits(least: int) -> bool:
        """Check whether all words have positions with shifts from `least` to `least + slop`."""
        # A repeated word can only take a later position, so its first free position is always the best.
        taken = dict.fromkeys(places, 0)
        for number, word in enumerate(wanted):
            own = places[word]
            at = bisect_left(own, least + number, lo=taken[word])
            if at == len(own) or own[at] > least + slop + number:
                return False
            taken[word] = at + 1
        return True

    shifts = sorted({at - number for number, word in enumerate(wanted) for at in places[word]})
    for least in shifts:
        require_time()
        if fits(least):
            return True
    return False


def is_ordered_span(values: Sequence[Sequence[str]], wanted: Sequence[re.Pattern[str]], slop: int) -> bool:
    """Check whether a field has words that match patterns in their order, with at most `slop` words between them.

    Source: Lucene's NearSpansOrdered.
    """
    placed = positions(values)
    places = [[at for at, word in placed if pattern.fullmatch(word)] for pattern in wanted]
    for first in places[0]:
        at: int | None = first
        for own in places[1:]:
            # The nearest following word: no later one could be better.
            following = bisect_left(own, (at or 0) + 1)
            at = own[following] if following < len(own) else None
            if at is None:
                return False
        if at is not None and at - first - (len(wanted) - 1) <= slop:
            return True
    return False
