"""Finds the connected components of graphs by union-find."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

_Numbers = npt.NDArray[np.int64]
#: Links (pairs of nodes) in columns: the first nodes, and the second nodes. Both arrays have the same integer type.
Links = tuple[npt.NDArray[Any], npt.NDArray[Any]]


class UnionFind:
    """Finds connected components of the nodes 0 to `count` - 1. The root of a component is its smallest node."""

    def __init__(self, count: int) -> None:
        self._parents = np.arange(count)

    def find(self, nodes: _Numbers) -> _Numbers:
        roots = self._parents[nodes]
        while (is_open := self._parents[roots] != roots).any():
            roots = np.where(is_open, self._parents[roots], roots)
            # Store the result of each step: this halves long chains, which would otherwise take quadratic time.
            self._parents[nodes] = roots
        return roots

    def join(self, a: _Numbers, b: _Numbers) -> None:
        while a.size:
            roots_a, roots_b = self.find(a), self.find(b)
            is_apart = roots_a != roots_b
            a, b, roots_a, roots_b = a[is_apart], b[is_apart], roots_a[is_apart], roots_b[is_apart]
            np.minimum.at(self._parents, np.maximum(roots_a, roots_b), np.minimum(roots_a, roots_b))

    def labels(self) -> _Numbers:
        return self.find(np.arange(self._parents.size))


def stars_of(links: Iterable[Links], at_once: int, dtype: npt.DTypeLike = np.int64) -> Links:
    """Link each node of a graph to the smallest node of its connected component.

    Args:
        links: Links of the graph, in any number of batches.
        at_once: Number of links to merge at a time. Memory holds about this number of links, and one link per node.
        dtype: Type of the nodes' numbers.

    Returns:
        All nodes except the smallest node of each component, ascending; and for each of these nodes, the smallest node
            of its component.
    """
    nothing = np.empty(0, dtype)
    waiting, size = [(nothing, nothing)], 0
    for batch in links:
        waiting.append(batch)
        size += batch[0].size
        if size > max(at_once, waiting[0][0].size):
            waiting, size = [_stars(waiting)], 0
    return _stars(waiting)


def _stars(links: list[Links]) -> Links:
    nodes, indices = np.unique(
        np.concatenate([end for side in zip(*links, strict=True) for end in side]), return_inverse=True
    )
    forest = UnionFind(nodes.size)
    forest.join(*np.split(indices, 2))
    labels = forest.labels()
    is_leaf = labels != np.arange(nodes.size)
    return nodes[is_leaf], nodes[labels[is_leaf]]
