"""Where words stand in a field, and how far words are from each other: what Lucene's queries say, of words at hand."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from whorl.context import require_time

#: What Solr's types of text leave between two values of a field (positionIncrementGap).
GAP = 100


def positions(values: Sequence[Sequence[str]]) -> list[tuple[int, str]]:
    """Return the words of a field's values with their places: one after another, with a gap between values."""
    placed, at = [], 0
    for words in values:
        placed += list(enumerate(words, at))
        at += len(words) + GAP
    return placed


def is_sloppy_phrase(values: Sequence[Sequence[str]], wanted: Sequence[str], slop: int) -> bool:
    """Say whether words stand in a field as in a phrase, moved by at most `slop` places.

    Each word of the phrase has a place of its own; its shift is how far that is from where it would stand after the
    phrase's beginning. The shifts differ by at most the slop.

    Source: Lucene's SloppyPhraseMatcher.
    """
    places: dict[str, list[int]] = {word: [] for word in wanted}
    for at, word in positions(values):
        if word in places:
            places[word].append(at)

    def fits(least: int) -> bool:
        """Say whether all words have places, with shifts from the least one to as much more as the slop."""
        # A word that comes again may stand in a later span only, so its first free place is always the best.
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
