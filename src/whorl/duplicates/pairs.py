"""Stores pairs of documents and their numbers of shared shingles in arrays; adds the pairs of exact copies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import run_starts
from whorl.duplicates.sketch_arrays import Bools, Numbers


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
    def is_exact(self) -> Bools:
        return np.asarray(self.low == self.high)

    @property
    def jaccard(self) -> npt.NDArray[np.float64]:
        return np.asarray(self.shared / np.maximum(1, self.sizes_a + self.sizes_b - self.shared))

    def select(self, which: Bools | npt.NDArray[np.intp]) -> Pairs:
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
        """Join collections of pairs into one, without repeated pairs, sorted by `a` and then `b`."""
        columns = [pairs._columns() for pairs in several] or [(np.empty(0, np.int64),) * 7]
        joined = cls(*(np.concatenate(parts) for parts in zip(*columns, strict=True)))
        order = np.lexsort((joined.b, joined.a))
        return joined.select(order[run_starts(joined.a[order], joined.b[order])])


class ExactCopies:
    """Expands pairs of texts to the pairs of all documents with these texts.

    Args:
        firsts: For each document, the first document with the same text. The pairs to expand have only first documents.

    Attributes:
        counts: For each first document, the number of documents with its text; 0 for other documents.
        copied: First document of each text that several documents have, ascending.
    """

    def __init__(self, firsts: Numbers) -> None:
        #: All documents grouped by text; `_begins` has the start of each first document's group.
        self._grouped = np.argsort(firsts, kind="stable")
        self.counts = np.bincount(firsts, minlength=firsts.size)
        self._begins = np.cumsum(self.counts) - self.counts
        self.copied = np.flatnonzero(self.counts > 1)

    def expand(self, a: Numbers, b: Numbers, at_once: int) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
        """Yield the pairs of all exact copies of `a` and `b`, in batches of at most `at_once`.

        The pairs of texts are (a[i], b[i]). A pair of a text with itself stands for the pairs among its copies. A batch
        has three arrays with an element for each pair of documents: the smaller document, the larger document, and i.
        """
        counts_b = self.counts[b]
        counts = self.counts[a] * counts_b
        ends = np.cumsum(counts)
        for begin in range(0, int(counts.sum()), at_once):
            numbers = np.arange(begin, min(int(ends[-1]), begin + at_once))
            rows = np.searchsorted(ends, numbers, side="right")
            of_a, of_b = np.divmod(numbers - (ends - counts)[rows], counts_b[rows])
            one, other = self._grouped[self._begins[a[rows]] + of_a], self._grouped[self._begins[b[rows]] + of_b]
            is_once = (a[rows] != b[rows]) | (one < other)
            one, other, rows = one[is_once], other[is_once], rows[is_once]
            yield np.minimum(one, other), np.maximum(one, other), rows
