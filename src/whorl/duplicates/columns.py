"""Pairs and clusters in columns: with millions of them, creating an object for each would take most of the time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whorl.duplicates.sketches import Numbers


@dataclass(frozen=True, slots=True, eq=False)
class PairColumns:
    """Pairs of documents all of whose shingles were compared.

    Args:
        ids: Ids of the documents, each document once.
        names: Names for display, or "".
        sizes: Distinct shingles of the documents; int64 array of shape (documents,).
        a: Index of the first document of each pair in these; int64 array of shape (pairs,).
        b: Index of the second document of each pair; int64 array of shape (pairs,).
        shared: Shared shingles of each pair; int64 array of shape (pairs,).
    """

    ids: list[str]
    names: list[str]
    sizes: Numbers
    a: Numbers
    b: Numbers
    shared: Numbers

    def shares(self) -> tuple[npt.NDArray[np.float64], ...]:
        """Return the shares of each pair, as in `Shares`: jaccard, a_in_b and b_in_a."""
        sizes_a, sizes_b = self.sizes[self.a], self.sizes[self.b]
        # The share of an empty text is 0.
        return tuple(self.shared / np.maximum(of, 1) for of in (sizes_a + sizes_b - self.shared, sizes_a, sizes_b))


@dataclass(frozen=True, slots=True, eq=False)
class ClusterColumns:
    """Clusters: the first document of each, paired with each member of the cluster, including itself.

    Args:
        counts: Members of each cluster, whose pairs are adjacent; int64 array of shape (clusters,).
        pairs: Pairs with the first document of the cluster as A.
    """

    counts: Numbers
    pairs: PairColumns
