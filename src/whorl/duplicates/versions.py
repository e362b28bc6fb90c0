"""Versions in a cluster: their order, and the words that each adds and loses.

Dates determine the order. A document without a date is placed by containment: if two documents with a and b shingles
share I, the first contains more of the second, I / b > I / a, if and only if it has more shingles. So a document
without a date comes before the first document with more shingles.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest

import numpy as np

from whorl.fingerprint.compare import Comparison, Passage, TextWords, compare_words
from whorl.fingerprint.scheme import Scheme


@dataclass(frozen=True, slots=True)
class Own:
    """Words of a text that are in no shingle of another text.

    Args:
        words: Number of words.
        places: Character ranges of runs of these words: half-open, ascending.
        passages: Text of each range.
    """

    words: int = 0
    places: tuple[tuple[int, int], ...] = ()
    passages: tuple[str, ...] = ()


def in_order(dates: Sequence[float | None], sizes: Sequence[int]) -> list[int]:
    """Return the indices of documents in the order of their versions; ties go to the first in the input.

    Args:
        dates: Date of each document in seconds since 1970; None if unknown.
        sizes: Distinct shingles of each document.

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
    """Return the comparison of two texts, the words of the first text alone, and the words of the second text alone.

    Args:
        before: First text, and its words.
        after: Second text, and its words.
        scheme: Scheme with the shingle size to use.
    """
    # Passages cover the first text of a comparison only, so compare in both directions.
    there = compare_words(before[1], after[1], scheme)
    back = compare_words(after[1], before[1], scheme)
    return there, _own(*before, there.passages), _own(*after, back.passages)


def _own(text: str, words: TextWords, shared: Sequence[Passage]) -> Own:
    """Return the parts of a text outside the passages that another text shares."""
    is_own = np.ones(len(words.words) + 1, np.bool_)
    is_own[-1] = False
    firsts = np.searchsorted(words.spans[:, 0], [passage.a[0] for passage in shared])
    for first, passage in zip(firsts.tolist(), shared, strict=True):
        is_own[first : first + passage.words] = False
    edges = np.flatnonzero(np.diff(is_own, prepend=False)).reshape(-1, 2)
    starts, ends = words.spans[edges[:, 0], 0].tolist(), words.spans[edges[:, 1] - 1, 1].tolist()
    places = tuple(zip(starts, ends, strict=True))
    return Own(int(is_own.sum()), places, tuple(text[start:end] for start, end in places))
