"""How many hashes the sketches of pairs of documents have in common, at the level of the larger document of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whorl.duplicates.sketches import Numbers, Sketches
from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.sketch.sketch import compare

#: Fewer pairs are done by numpy before numba is imported.
LARGE = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class PairOverlaps:
    """What the sketches of pairs have in common; int64 arrays of shape (pairs,).

    Args:
        levels: The level at which two documents are compared.
        counts_a: Hashes of the first documents below the bound of that level.
        counts_b: Those of the second ones.
        shared: Those of both.
    """

    levels: Numbers
    counts_a: Numbers
    counts_b: Numbers
    shared: Numbers

    def only(self, which: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> PairOverlaps:
        """Return those of some of the pairs."""
        return PairOverlaps(self.levels[which], self.counts_a[which], self.counts_b[which], self.shared[which])


def overlaps(sketches: Sketches, a: Numbers, b: Numbers) -> PairOverlaps:
    """Return what pairs of documents have in common, by the fastest route that is at hand.

    Args:
        sketches: Of all documents.
        a: Places of the first documents; int64 array of shape (pairs,).
        b: Places of the second ones.
    """
    own = sketches.scheme_levels(sketches.sizes)
    levels = np.maximum(own[a], own[b])
    counts_a, counts_b = sketches.at_level(a, levels), sketches.at_level(b, levels)
    is_fast = kernel.is_available() and (a.size >= LARGE or kernel.is_loaded())
    shared = _merged(sketches, a, b, counts_a, counts_b) if is_fast else _looked_up(sketches, a, b)
    return PairOverlaps(levels, counts_a, counts_b, shared)


def _merged(sketches: Sketches, a: Numbers, b: Numbers, counts_a: Numbers, counts_b: Numbers) -> Numbers:
    from whorl.duplicates.compiled import count_shared

    shared = np.empty(a.size, np.int64)
    count_shared(sketches.hashes.view(np.ndarray), sketches.starts[a], counts_a, sketches.starts[b], counts_b, shared)
    return shared


def _looked_up(sketches: Sketches, a: Numbers, b: Numbers) -> Numbers:
    """Compare one document at a time with all that it is paired with."""
    shared = np.empty(a.size, np.int64)
    order = np.argsort(a, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(a[order])) + 1):
        if group.size:
            hits = [sketches.sketch(place) for place in b[group].tolist()]
            shared[group] = compare(sketches.sketch(int(a[group[0]])), hits).shared
    return shared
