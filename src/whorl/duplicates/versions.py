"""The versions of a document that a cluster holds: in which order they came, and what each has alone.

Dates say the order. Where a document has none, what contains what says it: of two documents with I shingles in common,
a in the one and b in the other, the one holds more of the other, I / b > I / a, if and only if it has more shingles. So
a document without a date stands before the first that has more of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest

import numpy as np

from whorl.fingerprint.passages import Comparison, Passage, TextWords, compare_words
from whorl.fingerprint.scheme import Scheme


@dataclass(frozen=True, slots=True)
class Own:
    """What a text has that another has not: words that stand in no shingle of the other.

    Args:
        words: How many.
        places: Where they stand, words in a row together: half-open ranges in characters, ascending.
        passages: The text there.
    """

    words: int = 0
    places: tuple[tuple[int, int], ...] = ()
    passages: tuple[str, ...] = ()


def in_order(dates: Sequence[float | None], sizes: Sequence[int]) -> list[int]:
    """Return the places of documents in the order of their versions; of equals the first to come is first.

    Args:
        dates: Of each document, in seconds since 1970; None where nobody knows.
        sizes: Its distinct shingles.

    >>> in_order([2.0, 1.0, None], [10, 30, 20])
    [2, 1, 0]
    """
    dated = [at for _, at in sorted((date, at) for at, date in enumerate(dates) if date is not None)]
    largest = list(accumulate((sizes[at] for at in dated), max))
    undated: list[list[int]] = [[] for _ in range(len(dated) + 1)]
    for at in sorted((at for at, date in enumerate(dates) if date is None), key=lambda at: sizes[at]):
        undated[bisect_right(largest, sizes[at])].append(at)
    return [at for before, own in zip_longest(undated, dated) for at in (*before, *([] if own is None else [own]))]


def told_apart(
    before: tuple[str, TextWords], after: tuple[str, TextWords], scheme: Scheme
) -> tuple[Comparison, Own, Own]:
    """Return how two texts compare, what only the first has, and what only the second has.

    Args:
        before: The first text, and its words.
        after: The second.
        scheme: Its shingle size is what counts here.
    """
    # Passages are those of the first text: what the second repeats and the first does not would be missing.
    there = compare_words(before[1], after[1], scheme)
    back = compare_words(after[1], before[1], scheme)
    return there, _own(*before, there.passages), _own(*after, back.passages)


def _own(text: str, words: TextWords, shared: Sequence[Passage]) -> Own:
    """Return what of a text is in no passage that another has as well."""
    is_own = np.ones(len(words.words) + 1, np.bool_)
    is_own[-1] = False
    firsts = np.searchsorted(words.spans[:, 0], [passage.a[0] for passage in shared])
    for first, passage in zip(firsts.tolist(), shared, strict=True):
        is_own[first : first + passage.words] = False
    edges = np.flatnonzero(np.diff(is_own, prepend=False)).reshape(-1, 2)
    starts, ends = words.spans[edges[:, 0], 0].tolist(), words.spans[edges[:, 1] - 1, 1].tolist()
    places = tuple(zip(starts, ends, strict=True))
    return Own(int(is_own.sum()), places, tuple(text[start:end] for start, end in places))
