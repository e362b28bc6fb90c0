"""The two indexes of datasketch beside the others: made for each threshold, as its documentation says.

They are given the same shingles, by the lower 32 bits of their hashes, which is what datasketch's own hash has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from datasketch import MinHash, MinHashLSH, MinHashLSHEnsemble

from accuracy_methods import Answer, Asked
from accuracy_truth import Hashed, Hashes
from whorl.fingerprint.metrics import Metric

#: Twice as many as datasketch takes by itself.
PERMUTATIONS = 256
#: Ranges of sizes of the ensemble, as in datasketch's example.
PARTITIONS = 32
#: Shingles hashed at once: 16 MB of values.
_AT_ONCE = 1 << 14


class Sketches:
    """MinHash sketches of documents, None of one without shingles."""

    def __init__(self, documents: Sequence[Hashed]) -> None:
        self.sizes = [document.hashes.size for document in documents]
        self.all = [_sketch(document.hashes) if document.hashes.size else None for document in documents]


def _sketch(hashes: Hashes) -> MinHash:
    sketch = MinHash(num_perm=PERMUTATIONS, hashfunc=int)
    numbers = (hashes & 0xFFFFFFFF).tolist()
    for start in range(0, len(numbers), _AT_ONCE):
        sketch.update_batch(numbers[start : start + _AT_ONCE])
    return sketch


class Lsh:
    """MinHashLSH, for similarity."""

    name = "datasketch LSH"

    def __init__(self, sketches: Sketches) -> None:
        self._sketches = sketches
        self._threshold, self._index = 0, None

    def answers(self, source: int, asked: Asked) -> Answer | None:
        sketch = self._sketches.all[source]
        if asked.metric is not Metric.SIMILARITY or sketch is None:
            return None
        if asked.threshold != self._threshold or self._index is None:
            self._threshold, self._index = asked.threshold, self._made(asked.threshold / 100)
        return _answer(source, self._index.query(sketch))

    def _made(self, threshold: float) -> MinHashLSH:
        index = MinHashLSH(threshold=threshold, num_perm=PERMUTATIONS)
        for number, sketch in enumerate(self._sketches.all):
            if sketch is not None:
                index.insert(number, sketch, check_duplication=False)
        return index


class Ensemble:
    """MinHashLSHEnsemble, for containment."""

    name = "datasketch Ensemble"

    def __init__(self, sketches: Sketches) -> None:
        self._sketches = sketches
        self._threshold, self._index = 0, None

    def answers(self, source: int, asked: Asked) -> Answer | None:
        sketch = self._sketches.all[source]
        if asked.metric is not Metric.CONTAINS or sketch is None:
            return None
        if asked.threshold != self._threshold or self._index is None:
            self._threshold, self._index = asked.threshold, self._made(asked.threshold / 100)
        return _answer(source, self._index.query(sketch, self._sketches.sizes[source]))

    def _made(self, threshold: float) -> MinHashLSHEnsemble:
        index = MinHashLSHEnsemble(threshold=threshold, num_perm=PERMUTATIONS, num_part=PARTITIONS)
        both = zip(self._sketches.all, self._sketches.sizes, strict=True)
        index.index([(number, sketch, size) for number, (sketch, size) in enumerate(both) if sketch is not None])
        return index


def _answer(source: int, found: Iterable[int]) -> Answer:
    return Answer(frozenset(found) - {source}, look_ups=PERMUTATIONS)
