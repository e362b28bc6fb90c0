"""The greedy cover, compared with one over plain sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.checks import Checks
from tests.sampling import thorough
from whorl.arrays_and_batches import count_covers, ranges_of
from whorl.request_context import new_request
from whorl.search.attribution.cover import (
    Numbers,
    concatenate_ranges,
    count_words_in,
    cumulate_counted,
    greedy_cover,
    merge_ranges,
)

WORDS = 40
RANGES = st.lists(
    st.tuples(st.integers(0, WORDS - 1), st.integers(1, 12)).map(lambda run: (run[0], min(sum(run), WORDS))),
    min_size=1,
    max_size=6,
)
DOCUMENTS = st.lists(RANGES, max_size=7)


def numbers(ranges: list[tuple[int, int]]) -> Numbers:
    starts, ends = np.array(ranges, np.int64).T
    return merge_ranges(starts, ends)


def words(ranges: list[tuple[int, int]]) -> set[int]:
    return {word for start, end in ranges for word in range(start, end)}


def plain_cover(documents: list[set[int]]) -> list[tuple[int, int]]:
    """Repeatedly choose the document that adds the most words; among equals the largest, then the first."""
    covered: set[int] = set()
    chosen: list[tuple[int, int]] = []
    while True:
        gain, _, place = max(
            ((len(document - covered), len(document), -at) for at, document in enumerate(documents)), default=(0, 0, 0)
        )
        if not gain:
            return chosen
        chosen.append((-place, gain))
        covered |= documents[-place]


def test_by_hand() -> None:
    """
    Ten words. A has 0-5, B 4-8, C 6-9, D 0-2: A adds six words, then C four; B and D add none, although B has five.
    """
    covers = [numbers([cover]) for cover in [(0, 6), (4, 9), (6, 10), (0, 3)]]
    assert [*greedy_cover(covers, np.full(10, True))] == [(0, 6), (2, 4)]
    # Only A has 3, and only C has 9; D also has 0 to 2, and B has 4 to 8.
    assert np.flatnonzero(count_covers(concatenate_ranges(covers), 10) == 1).tolist() == [3, 9]


def test_of_equals_the_larger_then_the_first() -> None:
    """
    After A (0-3) both B (2-6) and C (4-6) add three words: B is larger, with five. Of twins the first is chosen.
    """
    covers = [numbers([cover]) for cover in [(0, 4), (4, 7), (2, 7)]]
    assert [*greedy_cover(covers, np.full(8, True))] == [(2, 5), (0, 2)]
    assert [*greedy_cover([numbers([(0, 4)]), numbers([(0, 4)])], np.full(4, True))] == [(0, 4)]


def test_nothing_to_choose() -> None:
    """
    No documents or no words give an empty cover.
    """
    assert [*greedy_cover([], np.full(0, True))] == [*greedy_cover([], np.full(10, True))] == []
    assert count_covers(concatenate_ranges([]), 3).tolist() == [0] * 3


@given(RANGES)
def test_joined_ranges_hold_the_same_words(ranges: list[tuple[int, int]]) -> None:
    """
    Joined ranges are sorted, do not touch, and contain exactly the same words.
    """
    numbers_covered = numbers(ranges)
    assert words([(start, end) for start, end in numbers_covered.tolist()]) == words(ranges)
    assert (numbers_covered[1:, 0] > numbers_covered[:-1, 1]).all()
    odd = np.arange(WORDS) % 2 == 1
    assert count_words_in(numbers_covered, cumulate_counted(odd)).sum() == sum(word % 2 for word in words(ranges))


@given(DOCUMENTS)
def test_the_same_as_with_plain_sets(documents: list[list[tuple[int, int]]]) -> None:
    """
    The cover has the same documents in the same order, with the same gains.
    """
    covers, plain = [numbers(document) for document in documents], [words(document) for document in documents]
    assert [*greedy_cover(covers, np.full(WORDS, True))] == plain_cover(plain)
    times = [sum(word in document for document in plain) for word in range(WORDS)]
    assert (count_covers(concatenate_ranges(covers), WORDS) == 1).tolist() == [time == 1 for time in times]


@thorough
@given(st.lists(st.lists(st.booleans(), min_size=300, max_size=300), min_size=1, max_size=4))
def test_many_ranges(masks: list[list[bool]]) -> None:
    """
    Documents with more than a hundred ranges give the same cover as plain sets.
    """
    masks = [[own and place % 2 == 0 for place, own in enumerate(mask)] for mask in masks] + [[True, False] * 150]
    covers = [ranges_of(np.array(mask)) for mask in masks]
    assert [*greedy_cover(covers, np.full(300, True))] == plain_cover([set(np.flatnonzero(mask)) for mask in masks])


@given(DOCUMENTS)
def test_laws(documents: list[list[tuple[int, int]]]) -> None:
    """
    Each document adds at least one word and no more than the one before; together they cover the union of all.
    """
    chosen = [*greedy_cover([numbers(document) for document in documents], np.full(WORDS, True))]
    gains = [gain for _, gain in chosen]
    assert all(gain > 0 for gain in gains)
    assert gains == sorted(gains, reverse=True)
    assert sum(gains) == len(set().union(*map(words, documents))) if documents else not gains


def test_a_cover_checks_for_each_choice() -> None:
    """
    Choosing checks for cancellation before each choice, so a long text with many sources can be interrupted.
    """
    checks = Checks()
    with new_request("", checks):
        chosen = [*greedy_cover([np.array([[at, at + 1]]) for at in range(50)], np.full(50, True))]
    assert len(chosen) == 50
    assert checks.count >= 50
