"""Tests of complete clusters and stars, against plain definitions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whorl.duplicates.clusters import (
    complete_labels,
    groups_by_label,
    labels_around_kept,
)
from whorl.duplicates.pairs import Pairs

PLACES = 14
EDGES = st.lists(st.tuples(st.integers(0, PLACES - 1), st.integers(0, PLACES - 1), st.integers(1, 10)), max_size=50)


def pairs_of(edges: list[tuple[int, int, int]]) -> Pairs:
    edges_by_pair = {(min(a, b), max(a, b)): shared for a, b, shared in edges if a != b}
    columns = np.array([(a, b, shared) for (a, b), shared in sorted(edges_by_pair.items())], np.int64).reshape(-1, 3).T
    sizes = np.full(columns.shape[1], 10)
    return Pairs(columns[0], columns[1], sizes, sizes, columns[2], columns[2], columns[2])


@given(EDGES)
def test_complete_clusters_are_cliques_that_cannot_be_joined(edges: list[tuple[int, int, int]]) -> None:
    """
    Any two members of a complete cluster are a pair, and no two clusters could be joined.
    """
    pairs = pairs_of(edges)
    there = set(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True))
    labels = complete_labels(PLACES, pairs).tolist()
    groups = [[at for at in range(PLACES) if labels[at] == label] for label in sorted(set(labels))]
    assert all(group[0] == label for group, label in zip(groups, sorted(set(labels)), strict=True))
    for group in groups:
        assert all(pair in there for pair in combinations(group, 2))
    for one, other in combinations(groups, 2):
        assert not all((min(a, b), max(a, b)) in there for a in one for b in other)


def test_the_most_similar_pair_is_joined_first() -> None:
    """
    In the chain 0 - 1 - 2 with the more similar pair 1 - 2, the clusters are {1, 2} and {0}.
    """
    assert complete_labels(3, pairs_of([(0, 1, 8), (1, 2, 9)])).tolist() == [0, 1, 1]


@given(EDGES, st.permutations(range(PLACES)), st.integers(0, PLACES))
def test_no_two_kept_documents_are_a_pair(edges: list[tuple[int, int, int]], order: list[int], old: int) -> None:
    """
    No two kept documents are a pair, except earlier documents. Each other document is in the cluster of the most
    similar document kept before it, ties to the first.
    """
    pairs = pairs_of(edges)
    shared = dict(zip(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True), pairs.shared.tolist(), strict=True))
    shared |= {(b, a): count for (a, b), count in shared.items()}
    retained: list[int] = []
    expected = {}
    for at, place in enumerate(order):
        if at < old:
            retained.append(place)
            expected[place] = place
            continue
        near = [other for other in retained if (place, other) in shared]
        best = [other for other in near if other in order[:old]] or near
        expected[place] = max(best, key=lambda other: (shared[place, other], -order.index(other)), default=place)
        retained += [] if near else [place]
    stays = np.zeros(PLACES, np.bool_)
    stays[order[:old]] = True
    labels = labels_around_kept(PLACES, pairs, np.array(order), stays).tolist()
    assert labels == [expected[place] for place in range(PLACES)]
    assert not any(a in retained and b in retained and not (stays[a] and stays[b]) for a, b in shared)


def test_groups_come_largest_first() -> None:
    """
    Groups are ordered by size, then by first index; a single document is not a group.
    """
    groups = groups_by_label(np.array([0, 1, 0, 3, 1, 5, 1, 3]))
    assert [group.tolist() for group in groups] == [[1, 4, 6], [0, 2], [3, 7]]
