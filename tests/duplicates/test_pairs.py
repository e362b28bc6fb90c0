"""Tests of pairs as arrays."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whorl.duplicates.pairs import ExactCopies, Pairs


def pairs_of(*rows: tuple[int, int, int]) -> Pairs:
    """
    Return pairs of documents with 10 and 20 shingles, from indices and shared shingles.
    """
    a, b, shared = np.array(rows, np.int64).reshape(-1, 3).T
    return Pairs(a, b, np.full_like(a, 10), np.full_like(a, 20), shared, shared, shared)


@given(st.lists(st.lists(st.tuples(st.integers(0, 4), st.integers(5, 9), st.integers(1, 9)), max_size=6), max_size=4))
def test_pairs_together(several: list[list[tuple[int, int, int]]]) -> None:
    """
    The union of pairs is ordered by documents and contains each pair once, the first occurrence.
    """
    expected: dict[tuple[int, int], int] = {}
    for a, b, shared in (row for rows in several for row in rows):
        expected.setdefault((a, b), shared)
    actual = Pairs.concatenate(pairs_of(*rows) for rows in several)
    rows = zip(actual.a.tolist(), actual.b.tolist(), actual.shared.tolist(), strict=True)
    assert list(rows) == [(a, b, shared) for (a, b), shared in sorted(expected.items())]


def test_pairs_are_renumbered() -> None:
    """
    Other indices may exchange the two documents of a pair with their sizes; the shared shingles stay.
    """
    actual = pairs_of((0, 1, 4), (0, 2, 5)).renumber(np.array([5, 7, 3]))
    columns = (actual.a, actual.b, actual.sizes_a, actual.sizes_b, actual.shared)
    assert [column.tolist() for column in columns] == [[5, 3], [7, 5], [10, 20], [20, 10], [4, 5]]
    assert actual.jaccard.tolist() == [4 / 26, 5 / 25]
    assert len(actual.select(np.array([False, True]))) == 1


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.integers(1, 7))
def test_pairs_of_texts_become_pairs_of_documents(texts: list[int], at_once: int) -> None:
    """
    A pair of texts gives all pairs of documents with these texts, and a pair of a text with itself the pairs among its
    copies, each pair once.
    """
    firsts = [texts.index(text) for text in texts]
    pairs = [*combinations(sorted(set(firsts)), 2)][::2]
    copies = ExactCopies(np.array(firsts))
    assert copies.copied.tolist() == sorted({first for first in firsts if firsts.count(first) > 1})
    a, b = np.array([*pairs, *((first, first) for first in copies.copied.tolist())], np.int64).reshape(-1, 2).T
    batches = list(copies.expand(a, b, at_once))
    rows = [row for batch in batches for row in zip(*(column.tolist() for column in batch), strict=True)]
    wanted = {frozenset(pair) for pair in zip(a.tolist(), b.tolist(), strict=True)}
    expected = [pair for pair in combinations(range(len(texts)), 2) if {firsts[index] for index in pair} in wanted]
    assert sorted((one, other) for one, other, _ in rows) == expected
    assert all({firsts[one], firsts[other]} == {a[at], b[at]} for one, other, at in rows)
    assert all(one.size <= at_once for one, *_ in batches)
