"""Counts exactly how much documents share, on all of their shingles."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whorl import Document
from whorl.fingerprint.minhash.signature_and_tokens import minima_of
from whorl.fingerprint.shingling import Scheme, lucene_hashes, murmur_pieces, pieces
from whorl.fingerprint.statistics.metric import Metric, Percent, least_overlap
from whorl.search.similar.options import make_criteria

SCHEME = Scheme()

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Hashed:
    """Hashes of a document.

    Args:
        hashes: 64-bit hashes of its distinct shingles, ascending.
        minima: Its stock tokens as 512 numbers in the order of the buckets, or none; see `minhash.signature`.
    """

    hashes: Hashes
    minima: Hashes


def hashed(text: str) -> Hashed:
    murmur = list(murmur_pieces(pieces(text, SCHEME.profile), SCHEME.shingle_size))
    highs = [lucene_hashes(piece, 0)[0] for piece in murmur]
    return Hashed(np.unique(np.concatenate([np.empty(0, np.uint64), *highs])), minima_of(murmur, SCHEME)[:, 0])


def all_hashed(documents: Sequence[Document], progress: Callable[[int], None]) -> list[Hashed]:
    """Return the hashes of documents, computed by all processors."""
    signatures = []
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        for one in pool.imap(hashed, (document.text for document in documents), chunksize=32):
            signatures.append(one)
            progress(len(signatures))
    return signatures


class Postings:
    """Inverted lists: the documents that have a number.

    Args:
        sets: Distinct numbers of each document.
    """

    def __init__(self, sets: Iterable[Hashes]) -> None:
        sets = list(sets)
        self.count = len(sets)
        numbers = np.concatenate([np.empty(0, np.uint64), *sets])
        owners = np.repeat(np.arange(self.count, dtype=np.int32), [hashes.size for hashes in sets])
        order = np.argsort(numbers, kind="stable")
        numbers, self._owners = numbers[order], owners[order]
        is_first = np.append(True, numbers[1:] != numbers[:-1]) if numbers.size else np.empty(0, np.bool_)
        starts = np.flatnonzero(is_first)
        self._numbers, self._bounds = numbers[starts], np.append(starts, numbers.size)

    def pairs(self, wanted: Hashes) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int32]]:
        """Return each match as an index into `wanted` and a document number."""
        if not self._numbers.size:
            return np.empty(0, np.intp), np.empty(0, np.int32)
        at = np.minimum(np.searchsorted(self._numbers, wanted), self._numbers.size - 1)
        is_there = self._numbers[at] == wanted
        places, at = np.flatnonzero(is_there), at[is_there]
        lengths = self._bounds[at + 1] - self._bounds[at]
        # All ranges [start, start + length), concatenated.
        offsets = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return np.repeat(places, lengths), self._owners[np.repeat(self._bounds[at], lengths) + offsets]

    def shared(self, wanted: Hashes) -> npt.NDArray[np.int64]:
        """Count the occurrences of the numbers in each document; int64 array of shape (documents,)."""
        return np.bincount(self.pairs(wanted)[1], minlength=self.count)


class Truth:
    """Exact overlaps of the documents of a collection."""

    def __init__(self, documents: Sequence[Hashed]) -> None:
        self.sizes = np.array([document.hashes.size for document in documents], dtype=np.int64)
        self._documents = documents
        self._postings = Postings(document.hashes for document in documents)

    def overlaps(self, source: int) -> npt.NDArray[np.int64]:
        """Return the number of shingles that each document shares with a source; 0 for the source itself."""
        shared = self._postings.shared(self._documents[source].hashes)
        shared[source] = 0
        return shared

    def hits(self, source: int, overlaps: npt.NDArray[np.int64], metric: Metric, threshold: Percent) -> frozenset[int]:
        """Return the documents that reach a threshold in percent."""
        fraction = make_criteria(metric, threshold, 95).threshold
        size = int(self.sizes[source])
        at = np.flatnonzero(overlaps)
        needed = np.array([least_overlap(metric, fraction, size, other) for other in self.sizes[at].tolist()], np.int64)
        return frozenset(at[overlaps[at] >= needed].tolist())
