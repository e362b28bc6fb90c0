"""Pairs of documents with their shared shingles, as columns of arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import run_starts
from whorl.duplicates.sketch_arrays import Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of documents in columns: int64 arrays of shape (pairs,).

    Args:
        a: Indices of the first documents; in verified pairs smaller than `b`.
        shared: Number of shared shingles: an exact count, or the most likely number, estimated from sketches.
        low, high: Limits of the confidence interval of `shared` (by default 95 %); equal if all shingles were compared.
    """

    a: Numbers
    b: Numbers
    sizes_a: Numbers
    sizes_b: Numbers
    shared: Numbers
    low: Numbers
    high: Numbers

    def __len__(self) -> int:
        return self.a.size

    @property
    def is_exact(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.low == self.high)

    @property
    def jaccard(self) -> npt.NDArray[np.float64]:
        return np.asarray(self.shared / np.maximum(1, self.sizes_a + self.sizes_b - self.shared))

    def select(self, which: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> Pairs:
        return Pairs(*(part[which] for part in self._columns()))

    def renumber(self, indices: Numbers) -> Pairs:
        """Replace each index i by `indices[i]`, and put the smaller index of each pair first."""
        a, b = indices[self.a], indices[self.b]
        is_turned = a > b
        sizes_a = np.where(is_turned, self.sizes_b, self.sizes_a)
        sizes_b = np.where(is_turned, self.sizes_a, self.sizes_b)
        return Pairs(np.minimum(a, b), np.maximum(a, b), sizes_a, sizes_b, self.shared, self.low, self.high)

    def _columns(self) -> tuple[Numbers, ...]:
        return self.a, self.b, self.sizes_a, self.sizes_b, self.shared, self.low, self.high

    @classmethod
    def concatenate(cls, several: Iterable[Pairs]) -> Pairs:
        """Join several collections of pairs into one, without repeated pairs, sorted by `a` and then `b`."""
        columns = [pairs._columns() for pairs in several] or [(np.empty(0, np.int64),) * 7]
        joined = cls(*(np.concatenate(parts) for parts in zip(*columns, strict=True)))
        order = np.lexsort((joined.b, joined.a))
        return joined.select(order[run_starts(joined.a[order], joined.b[order])])
