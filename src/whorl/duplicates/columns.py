"""Pairs and members of clusters in columns: of millions of them an object for each would take most of the time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whorl.duplicates.sketches import Numbers


@dataclass(frozen=True, slots=True, eq=False)
class PairColumns:
    """Pairs of documents all of whose shingles were compared.

    Args:
        ids: What the documents are known by; each document is there once.
        names: What people know them by, or "".
        sizes: Their distinct shingles; int64 array of shape (documents,).
        a: The first document of each pair, by its place in these; int64 array of shape (pairs,).
        b: The second.
        shared: Shingles that both have.
    """

    ids: list[str]
    names: list[str]
    sizes: Numbers
    a: Numbers
    b: Numbers
    shared: Numbers

    def shares(self) -> tuple[npt.NDArray[np.float64], ...]:
        """Return what the documents of each pair share, as `Shares` has it: jaccard, a_in_b and b_in_a."""
        sizes_a, sizes_b = self.sizes[self.a], self.sizes[self.b]
        # Nothing is shared where there is nothing.
        return tuple(self.shared / np.maximum(of, 1) for of in (sizes_a + sizes_b - self.shared, sizes_a, sizes_b))


@dataclass(frozen=True, slots=True, eq=False)
class ClusterColumns:
    """Clusters: the first document of each with each of its members, itself too.

    Args:
        counts: Members of each cluster, whose pairs stand together; int64 array of shape (clusters,).
        pairs: The first documents as A.
    """

    counts: Numbers
    pairs: PairColumns
