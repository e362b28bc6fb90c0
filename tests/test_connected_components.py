"""Tests of connected components by union-find, against a plain definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.connected_components import Links, UnionFind, stars_of

PLACES = 14
EDGES = st.lists(st.tuples(st.integers(0, PLACES - 1), st.integers(0, PLACES - 1)), max_size=50)


def plain_labels(edges: list[tuple[int, int]]) -> list[int]:
    labels = list(range(PLACES))
    changed = True
    while changed:
        changed = False
        for a, b in edges:
            if labels[a] != labels[b]:
                labels[a] = labels[b] = min(labels[a], labels[b])
                changed = True
    return labels


def links_of(edges: list[tuple[int, int]], dtype: type[np.integer] = np.int64) -> Links:
    ends = np.array(edges, dtype).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]


@given(EDGES)
def test_components_equal_plain_connected_components(edges: list[tuple[int, int]]) -> None:
    """
    Labels are the smallest reachable nodes, whether links are joined at once or one by one.
    """
    at_once, one_by_one = UnionFind(PLACES), UnionFind(PLACES)
    at_once.join(*links_of(edges))
    for edge in edges:
        one_by_one.join(*links_of([edge]))
    assert at_once.labels().tolist() == one_by_one.labels().tolist() == plain_labels(edges)


def test_a_long_chain_is_one_component() -> None:
    """
    A chain of 100,000 nodes in random order is one component.
    """
    order = np.random.default_rng(2).permutation(100_000)
    components = UnionFind(100_000)
    components.join(order[:-1], order[1:])
    assert not components.labels().any()


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
@given(edges=EDGES, in_batch=st.integers(1, 60), at_once=st.integers(0, 60))
def test_stars_link_nodes_to_their_smallest_node(
    dtype: type[np.integer], edges: list[tuple[int, int]], in_batch: int, at_once: int
) -> None:
    """
    Stars hold each node that is not the smallest of its component, whatever the sizes of batches.
    """
    batches = [links_of(edges[at : at + in_batch], dtype) for at in range(0, len(edges), in_batch)]
    nodes, smallest = stars_of(batches, at_once, dtype)
    expected = [(node, label) for node, label in enumerate(plain_labels(edges)) if node != label]
    assert list(zip(nodes.tolist(), smallest.tolist(), strict=True)) == expected
    assert nodes.dtype == smallest.dtype == dtype
