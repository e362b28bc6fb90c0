"""Finds the words that differ between two compared texts, outside their shared passages."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise, zip_longest
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.compare_texts import Comparison, TextWords, rejoin_pair, words_of
from whorl.request_context import require_time, timely

#: Maximum number of words of each text between two shared passages. In longer parts, all words count as different,
#: because the time to match equal words grows with the product of both numbers.
MATCHED = 500

_Numbers = npt.NDArray[np.int64]


class TextDifference(NamedTuple):
    """Words of A, and the words of B that replace them, as ranges of characters.

    A range is empty if its text has no such words; its position is then the end of the word before.
    """

    a: tuple[int, int]
    b: tuple[int, int]


def find_differences(text_a: str, text_b: str, comparison: Comparison) -> list[TextDifference]:
    """Return the differences of two compared texts, in their order.

    Shared passages in the same order in both texts divide the texts into parts; the words of a part differ unless they
    are equal and in the same order. Words of other shared passages, which were moved, are not differences. But if
    only one text repeats a passage, the repetition is a difference.

    >>> from whorl.fingerprint.compare_texts import compare
    >>> a, b = "we shall pay the rent on the first day of May", "we shall pay the rent on the third day of May"
    >>> [(a[slice(*found.a)], b[slice(*found.b)]) for found in find_differences(a, b, compare(a, b))]
    [('first', 'third')]
    """
    of_a, of_b = rejoin_pair(words_of(text_a, comparison.scheme), words_of(text_b, comparison.scheme))
    starts_a, _, starts_b, _, words = comparison.passages.numbers.T
    firsts = np.searchsorted(of_a.spans[:, 0], starts_a), np.searchsorted(of_b.spans[:, 0], starts_b)
    passages = np.stack((*firsts, words), axis=1).tolist()
    in_order = _passages_in_order(passages)
    is_left_a, is_left_b = np.ones(len(of_a.words), np.bool_), np.ones(len(of_b.words), np.bool_)
    for a, b, length in timely([*in_order, *passages]):
        own_a, own_b = slice(a, a + length), slice(b, b + length)
        # Match each word with at most one word of the other text, so that the second copy of a passage is a difference.
        is_new = is_left_a[own_a] & is_left_b[own_b]
        is_left_a[own_a] &= ~is_new
        is_left_b[own_b] &= ~is_new
    found: list[TextDifference] = []
    for before, after in pairwise([(0, 0, 0), *in_order, (len(of_a.words), len(of_b.words), 0)]):
        require_time()
        starts = before[0] + before[2], before[1] + before[2]
        left_a = starts[0] + np.flatnonzero(is_left_a[starts[0] : after[0]])
        left_b = starts[1] + np.flatnonzero(is_left_b[starts[1] : after[1]])
        found += _differences_between((of_a, of_b), starts, (left_a, left_b))
    return found


def _passages_in_order(passages: list[list[int]]) -> list[tuple[int, int, int]]:
    """Return passages that follow each other in both texts, preferring the first ones given.

    A passage is the index of its first word in A and in B, and its number of words. The start of a passage that
    overlaps the one before is cut off.
    """
    chosen: list[tuple[int, int, int]] = []
    for a, b, length in timely(passages):
        place = bisect_left(chosen, (a,))
        if (not place or chosen[place - 1][1] < b) and (place == len(chosen) or b < chosen[place][1]):
            chosen.insert(place, (a, b, length))
    in_order, end_a, end_b = list[tuple[int, int, int]](), 0, 0
    for a, b, length in chosen:
        cut = max(end_a - a, end_b - b, 0)
        if cut < length:
            in_order.append((a + cut, b + cut, length - cut))
            end_a, end_b = a + length, b + length
    return in_order


def _differences_between(
    texts: tuple[TextWords, TextWords], starts: tuple[int, int], left: tuple[_Numbers, _Numbers]
) -> Iterator[TextDifference]:
    """Yield the differences in the words between two shared passages.

    `starts` has the index of the first word in each text, `left` the indices of the words that no passage matches.
    """
    words = [[text.words[at] for at in indices.tolist()] for text, indices in zip(texts, left, strict=True)]
    ends = [0 if start == 0 else int(text.spans[start - 1, 1]) for text, start in zip(texts, starts, strict=True)]
    before = (-1, -1)
    for equal in [*_common_subsequence(*words), (len(words[0]), len(words[1]))]:
        sides = [
            _ranges(text, indices[first + 1 : last])
            for text, indices, first, last in zip(texts, left, before, equal, strict=True)
        ]
        for pair in zip_longest(*sides):
            a, b = (place or (end, end) for place, end in zip(pair, ends, strict=True))
            yield TextDifference(a, b)
            ends = [a[1], b[1]]
        if equal[0] < len(words[0]):
            ends = [int(text.spans[own[at], 1]) for text, own, at in zip(texts, left, equal, strict=True)]
        before = equal


def _ranges(text: TextWords, indices: _Numbers) -> list[tuple[int, int]]:
    """Return the runs of consecutive words as ranges of characters."""
    runs = np.split(indices, np.flatnonzero(np.diff(indices) != 1) + 1) if indices.size else []
    return [(int(text.spans[run[0], 0]), int(text.spans[run[-1], 1])) for run in runs]


def _common_subsequence(a: list[str], b: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the indices of the words of a longest common subsequence; yield nothing if a list is too long.

    >>> [*_common_subsequence("the first and last day".split(), "a first or last".split())]
    [(1, 1), (3, 3)]
    """
    if not a or not b or max(len(a), len(b)) > MATCHED:
        return
    numbers: dict[str, int] = {}
    own = np.array([numbers.setdefault(word, len(numbers)) for word in a])
    other = np.array([numbers.get(word, -1) for word in b])
    # lengths[i, j] is the length of the longest common subsequence of a[i:] and b[j:].
    lengths = np.zeros((len(a) + 1, len(b) + 1), np.int16)
    for i in reversed(range(len(a))):
        best = np.maximum(lengths[i + 1, :-1], lengths[i + 1, 1:] + (other == own[i]))
        lengths[i, :-1] = np.maximum.accumulate(best[::-1])[::-1]
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            yield i, j
            i, j = i + 1, j + 1
        elif lengths[i + 1, j] >= lengths[i, j + 1]:
            i += 1
        else:
            j += 1
