"""Connected components and complete clusters against plain definitions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whorl.duplicates.clusters import Components, complete_labels, grouped
from whorl.duplicates.verify import Pairs

PLACES = 14
EDGES = st.lists(st.tuples(st.integers(0, PLACES - 1), st.integers(0, PLACES - 1), st.integers(1, 10)), max_size=50)


def pairs_of(edges: list[tuple[int, int, int]]) -> Pairs:
    kept = {(min(a, b), max(a, b)): shared for a, b, shared in edges if a != b}
    columns = np.array([(a, b, shared) for (a, b), shared in sorted(kept.items())], np.int64).reshape(-1, 3).T
    sizes = np.full(columns.shape[1], 10)
    return Pairs(columns[0], columns[1], sizes, sizes, columns[2], columns[2], columns[2])


def plain_labels(pairs: Pairs) -> list[int]:
    labels = list(range(PLACES))
    changed = True
    while changed:
        changed = False
        for a, b in zip(pairs.a.tolist(), pairs.b.tolist(), strict=True):
            if labels[a] != labels[b]:
                labels[a] = labels[b] = min(labels[a], labels[b])
                changed = True
    return labels


@given(EDGES)
def test_components_are_what_hangs_together(edges: list[tuple[int, int, int]]) -> None:
    """
    Labels are the smallest places that can be reached, whether links come at once or one by one.
    """
    pairs = pairs_of(edges)
    at_once, one_by_one = Components(PLACES), Components(PLACES)
    at_once.join(pairs.a, pairs.b)
    for at in range(len(pairs)):
        one_by_one.join(pairs.a[at : at + 1], pairs.b[at : at + 1])
    assert at_once.labels().tolist() == one_by_one.labels().tolist() == plain_labels(pairs)


def test_a_long_chain_is_one_component() -> None:
    """
    100,000 documents, each linked to the next, in an order that hooks long chains.
    """
    order = np.random.default_rng(2).permutation(100_000)
    components = Components(100_000)
    components.join(order[:-1], order[1:])
    assert not components.labels().any()


@given(EDGES)
def test_complete_clusters_are_cliques_that_cannot_grow_together(edges: list[tuple[int, int, int]]) -> None:
    """
    Any two members are a pair, and of no two clusters all members are pairs.
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


def test_the_most_similar_come_together_first() -> None:
    """
    A chain 0 - 1 - 2 of which 1 - 2 is closer becomes {1, 2}, and 0 stays alone.
    """
    assert complete_labels(3, pairs_of([(0, 1, 8), (1, 2, 9)])).tolist() == [0, 1, 1]


def test_groups_come_largest_first() -> None:
    """
    Then by their first places; what stands alone is no group.
    """
    groups = grouped(np.array([0, 1, 0, 3, 1, 5, 1, 3]))
    assert [group.tolist() for group in groups] == [[1, 4, 6], [0, 2], [3, 7]]
