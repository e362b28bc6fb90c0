"""Builds datasketch's two indexes for each threshold, as its documentation recommends.

They index the same shingles by the lower 32 bits of their hashes, the size of datasketch's own hash.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from datasketch import MinHash, MinHashLSH, MinHashLSHEnsemble

from accuracy_methods import Answer, Question
from accuracy_truth import Hashed, Hashes
from whorl.fingerprint.statistics.metric import Metric

#: Number of permutations: twice datasketch's default.
PERMUTATIONS = 256
#: Number of size partitions of the ensemble, as in datasketch's example.
PARTITIONS = 32
#: Number of shingles to hash at a time; their values take 16 MB.
_AT_ONCE = 1 << 14


class Sketches:
    """MinHash sketches of documents; None for a document without shingles."""

    def __init__(self, documents: Sequence[Hashed]) -> None:
        self.sizes = [document.hashes.size for document in documents]
        self.all = [_sketch(document.hashes) if document.hashes.size else None for document in documents]


def _sketch(hashes: Hashes) -> MinHash:
    sketch = MinHash(num_perm=PERMUTATIONS, hashfunc=int)
    numbers = (hashes & 0xFFFFFFFF).tolist()
    for start in range(0, len(numbers), _AT_ONCE):
        sketch.update_batch(numbers[start : start + _AT_ONCE])
    return sketch


class _Peer(ABC):
    """Base of the two indexes; it keeps the index for the last threshold."""

    metric: Metric

    def __init__(self, sketches: Sketches) -> None:
        self._sketches = sketches
        self._made: tuple[int, Any] | None = None

    def answers(self, source: int, question: Question) -> Answer | None:
        sketch = self._sketches.all[source]
        if question.metric is not self.metric or sketch is None:
            return None
        if self._made is None or self._made[0] != question.threshold:
            self._made = None
            self._made = question.threshold, self._index(question.threshold / 100)
        numbers = self._hits(self._made[1], sketch, self._sketches.sizes[source])
        return Answer(frozenset(numbers) - {source}, look_ups=PERMUTATIONS)

    @abstractmethod
    def _index(self, threshold: float) -> Any:
        """Return the index of all documents for a threshold."""

    @abstractmethod
    def _hits(self, index: Any, sketch: MinHash, size: int) -> Iterable[int]:
        """Return the index's hits."""


class Lsh(_Peer):
    name, metric = "datasketch LSH", Metric.JACCARD

    def _index(self, threshold: float) -> MinHashLSH:
        index = MinHashLSH(threshold=threshold, num_perm=PERMUTATIONS)
        for number, sketch in enumerate(self._sketches.all):
            if sketch is not None:
                index.insert(number, sketch, check_duplication=False)
        return index

    def _hits(self, index: MinHashLSH, sketch: MinHash, size: int) -> Iterable[int]:
        hits: list[int] = index.query(sketch)
        return hits


class Ensemble(_Peer):
    name, metric = "datasketch Ensemble", Metric.A_IN_B

    def _index(self, threshold: float) -> MinHashLSHEnsemble:
        index = MinHashLSHEnsemble(threshold=threshold, num_perm=PERMUTATIONS, num_part=PARTITIONS)
        both = zip(self._sketches.all, self._sketches.sizes, strict=True)
        index.index([(number, sketch, size) for number, (sketch, size) in enumerate(both) if sketch is not None])
        return index

    def _hits(self, index: MinHashLSHEnsemble, sketch: MinHash, size: int) -> Iterable[int]:
        hits: Iterable[int] = index.query(sketch, size)
        return hits
