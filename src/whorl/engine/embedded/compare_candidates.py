"""Counts the hashes that candidates in an embedded store share with the source, from the token index or from sketches.

A source can have thousands of near-copies, and reading their records would take most of the time of a search. The index
holds every hash of a short document. So if the sketch of the source is complete, the index gives the number of hashes
shared with each short candidate. Records are read only for other candidates and for the documents on a page.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import batches
from whorl.engine.embedded.database import Records
from whorl.engine.embedded.folder_and_sqlite import IndexBrokenError
from whorl.engine.embedded.segmented_token_index import TokenSnapshot
from whorl.engine.embedded.segments import SKETCH, Numbers
from whorl.engine.embedded.shared_tokens import ScoredDocuments, shared_counts
from whorl.engine.protocol import Candidates
from whorl.fingerprint.sketch.frac_minhash import Overlaps, Sketch, compare
from whorl.model import Hit
from whorl.query.plan.nodes import BoundPlan, SketchTokens

#: For up to this number of candidates, reading their records is as fast as looking up the source's hashes.
FEW = 32
_SKETCHES_AT_ONCE = 256


class StoredCandidates(Candidates):
    """Candidates of a search in an embedded store, sorted by document number.

    Args:
        found: Numbers of the candidates, ascending, with their scores.
        changed: Numbers of the documents that changed after the snapshot of the index.
        require_deleted: Raises StoreError if any of the given documents is missing but was not deleted.
    """

    def __init__(
        self,
        records: Records,
        snapshot: TokenSnapshot,
        plan: BoundPlan,
        found: ScoredDocuments,
        total: int,
        changed: Collection[int],
        require_deleted: Callable[[Sequence[int]], None],
    ) -> None:
        self._records, self._snapshot, self._plan, self._found = records, snapshot, plan, found
        self.total, self.warnings = total, plan.warnings
        self._changed, self._require_deleted = changed, require_deleted

    def __len__(self) -> int:
        return self._found.numbers.size

    def compare(self, source: Sketch, left_out: Collection[str]) -> tuple[list[int], Overlaps]:
        numbers, left_out_numbers = self._found.numbers, self._records.numbers(left_out)
        positions = np.flatnonzero(~np.isin(numbers, left_out_numbers, kind="sort"))
        sizes = self._snapshot.sizes(numbers)
        is_compared = self._is_indexed(source, sizes)
        shared = np.zeros_like(sizes)
        # If the index is damaged, compare the records of all candidates instead.
        try:
            shared[is_compared] = self._shared(source, is_compared)
        except IndexBrokenError:
            is_compared[:] = False
        overlaps = Overlaps.of_complete(source.size, sizes, shared)
        for batch in batches(positions[~is_compared[positions]].tolist(), _SKETCHES_AT_ONCE):
            sketches = self._records.sketches_by_number(numbers[batch].tolist())
            present = [position for position in batch if numbers[position] in sketches]
            overlaps.put(present, compare(source, [sketches[int(numbers[position])] for position in present]))
            is_compared[present] = True
        compared = positions[is_compared[positions]]
        return compared.tolist(), overlaps.select(compared)

    def _is_indexed(self, source: Sketch, sizes: Numbers) -> npt.NDArray[np.bool_]:
        """Return a mask of the candidates that the index can compare exactly."""
        # If the source repeats a hash, the index cannot compare it: the index counts the hash once, but a sketch counts
        # every repetition.
        if not source.is_complete or (source.hashes[1:] == source.hashes[:-1]).any():
            return np.zeros(sizes.size, np.bool_)
        is_short = (sizes > 0) & (sizes <= source.scheme.largest_at(0))
        if self._changed:
            is_short &= ~np.isin(self._found.numbers, list(self._changed))
        return is_short if np.count_nonzero(is_short) > FEW else np.zeros_like(is_short)

    def _shared(self, source: Sketch, which: npt.NDArray[np.bool_]) -> Numbers:
        """Return the number of hashes that each candidate in the mask `which` shares with the source."""
        root = self._plan.root
        if isinstance(root, SketchTokens) and root.is_whole:
            return self._found.scores[which].astype(np.int64)
        if not which.any():
            return np.empty(0, np.int64)
        return shared_counts(self._snapshot, SKETCH, source.hashes, self._found.numbers[which])

    def ids(self, positions: Sequence[int]) -> list[str]:
        numbers = self._found.numbers[list(positions)].tolist()
        ids = self._records.ids(numbers)
        return [ids.get(number, "") for number in numbers]

    def fetch_hits(self, positions: Sequence[int]) -> dict[int, Hit]:
        ids = dict(zip(positions, self.ids(positions), strict=True))
        names = self._records.names(list(ids.values()))
        self._require_deleted([int(self._found.numbers[at]) for at, own in ids.items() if own not in names])
        return {at: Hit(own, names[own], 0.0) for at, own in ids.items() if own in names}
