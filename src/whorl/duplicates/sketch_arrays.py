"""Holds the sketches of many documents in flat arrays, which may be memory-mapped from a file."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import IO, TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import indices_of_ranges
from whorl.errors import StoreError
from whorl.fingerprint.sketch.frac_minhash import Sketch, SketchScheme

Numbers: TypeAlias = npt.NDArray[np.int64]
Hashes: TypeAlias = npt.NDArray[np.uint64]
Bools: TypeAlias = npt.NDArray[np.bool_]
HASH = np.dtype("<u8")
#: The pages of a mapped file of up to `MAPPED_BYTES` bytes stay in memory. For many documents the limit is higher:
#: `_MAPPED_BYTES_PER_DOCUMENT` bytes for each document, up to `_MOST_MAPPED_BYTES`.
MAPPED_BYTES, _MOST_MAPPED_BYTES = 1 << 26, 1 << 28
_MAPPED_BYTES_PER_DOCUMENT = 1 << 11
#: A large file is read in at most about `_MOST_RANGES` ranges of at least `_RANGE_BYTES` bytes.
_RANGE_BYTES, _MOST_RANGES = 1 << 22, 256
#: Number of bytes that the operating system reads for one byte of a mapped file.
_READAHEAD_BYTES = 1 << 16
#: Limits of a batch of hashes copied from the file: 1 / `_COPIED_FRACTION` of all hashes, but at least `_LEAST_COPIED`
#: and at most `_MOST_COPIED`. In large batches, each page read from the file serves several documents.
_LEAST_COPIED, _MOST_COPIED, _COPIED_FRACTION = 1 << 20, 1 << 24, 16


@dataclass(frozen=True, slots=True, eq=False)
class Sketches:
    """Sketches of documents, addressed by index.

    Args:
        sizes: Number of distinct shingles of each document; int64 array of shape (documents,).
        starts, counts: Offset of each document's first hash, and number of its hashes; arrays like `sizes`.
        hashes: Hashes of all documents, grouped by document, ascending within each; uint64 array, or a mapped file.
    """

    scheme: SketchScheme
    sizes: Numbers
    starts: Numbers
    counts: Numbers
    hashes: Hashes

    def __len__(self) -> int:
        return self.sizes.size

    @classmethod
    def from_sketches(cls, sketches: Sequence[Sketch], scheme: SketchScheme) -> Sketches:
        sizes = np.array([sketch.size for sketch in sketches], np.int64)
        counts = np.array([sketch.hashes.size for sketch in sketches], np.int64)
        hashes = np.concatenate([np.empty(0, np.uint64), *(sketch.hashes for sketch in sketches)])
        return cls(scheme, sizes, np.cumsum(counts) - counts, counts, hashes)

    def select(self, indices: Numbers) -> Sketches:
        return replace(self, sizes=self.sizes[indices], starts=self.starts[indices], counts=self.counts[indices])

    def sketch(self, index: int) -> Sketch:
        start = int(self.starts[index])
        hashes = np.asarray(self.hashes[start : start + int(self.counts[index])])
        return Sketch(self.scheme, int(self.sizes[index]), hashes)

    def pair_batches(self, a: Numbers, b: Numbers) -> Iterator[tuple[slice, Hashes, Numbers, Numbers]]:
        """Yield pairs in batches, with their hashes in memory.

        A batch has a slice of the pairs, an array of hashes, and two arrays of offsets: where the hashes of each pair's
        first document, and of its second document, begin in the array. Hashes are copied in the order of the file,
        because reading a page takes longer than comparing two documents.
        """
        if not self.exceeds_memory:
            yield slice(0, a.size), self.hashes.view(np.ndarray), self.starts[a], self.starts[b]
            return
        if not a.size:
            return
        weights, most = np.cumsum(self.counts[a] + self.counts[b]), self.most_copied
        cuts = np.searchsorted(weights, np.arange(most, weights[-1], most), side="right")
        for begin, end in pairwise(np.unique([0, *cuts.tolist(), a.size]).tolist()):
            indices, inverse = np.unique(np.concatenate([a[begin:end], b[begin:end]]), return_inverse=True)
            starts = self.starts[indices]
            order = np.argsort(starts)
            hashes, ordered = self.copy_ranges(starts[order], (starts + self.counts[indices])[order])
            begins = np.empty_like(ordered)
            begins[order] = ordered
            yield slice(begin, end), hashes, begins[inverse[: end - begin]], begins[inverse[end - begin :]]

    @property
    def most_copied(self) -> int:
        return max(_LEAST_COPIED, min(_MOST_COPIED, self.hashes.size // _COPIED_FRACTION))

    def copy_ranges(self, starts: Numbers, ends: Numbers) -> tuple[Hashes, Numbers]:
        """Copy ascending ranges of the file into memory; return the copy and each range's offset in it.

        Raises:
            StoreError: The file has become shorter since it was mapped.
        """
        begins = np.append(0, np.cumsum(ends - starts))
        hashes = np.empty(begins[-1], np.uint64)
        if self._prefers_reading(starts):
            self._read(starts, begins, hashes)
            return hashes, begins[:-1]
        file = self.hashes.view(np.ndarray)
        for part in self.ranges(starts):
            parts = [file[start:end] for start, end in zip(starts[part].tolist(), ends[part].tolist(), strict=True)]
            if parts:
                np.concatenate(parts, out=hashes[begins[part.start] : begins[part.stop]])
        return hashes, begins[:-1]

    def _prefers_reading(self, starts: Numbers) -> bool:
        """Whether the ranges are far apart, so that reading them is faster than mapping the file."""
        if not (
            self.exceeds_memory and starts.size and hasattr(os, "preadv") and getattr(self.hashes, "filename", None)
        ):
            return False
        return starts.size * _READAHEAD_BYTES < int(starts[-1] - starts[0]) * self.hashes.itemsize

    def _read(self, starts: Numbers, begins: Numbers, hashes: Hashes) -> None:
        size, held = self.hashes.itemsize, hashes.view(np.uint8).data
        bounds = pairwise((begins * size).tolist())
        with open(self.hashes.filename, "rb", buffering=0) as file:  # type: ignore[attr-defined]
            number = file.fileno()
            for at, (begin, end) in zip((starts * size).tolist(), bounds, strict=True):
                # A read may return less than requested, so repeat it until the range is complete.
                while begin < end:
                    if not (count := os.preadv(number, [held[begin:end]], at)):
                        raise StoreError(f"{self.hashes.filename} ends before byte {at + end - begin:,}")  # type: ignore[attr-defined]
                    begin, at = begin + count, at + count

    def ranges(self, starts: Numbers) -> Iterator[slice]:
        """Divide ascending offsets into slices, one for each range of the file, to limit the memory.

        After each slice, the mapped pages that it has read are released.
        """
        cuts = [0]
        if self.exceeds_memory and starts.size:
            span = int(starts[-1] - starts[0]) + 1
            step = max(_RANGE_BYTES, self.hashes.nbytes // _MOST_RANGES) // self.hashes.itemsize
            # Offsets that are far apart touch few pages, so a slice may cover more of the file.
            step = max(step, step * span // (starts.size * _READAHEAD_BYTES // self.hashes.itemsize))
            cuts = np.unique(np.searchsorted(starts, np.arange(starts[0], starts[-1] + 1, step))).tolist()
        for begin, end in pairwise([*cuts, starts.size]):
            yield slice(begin, end)
            if self.exceeds_memory:
                self.hashes._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]

    @property
    def exceeds_memory(self) -> bool:
        """Whether the hashes are mapped from a file that is too large to keep in memory."""
        most = max(MAPPED_BYTES, min(_MOST_MAPPED_BYTES, _MAPPED_BYTES_PER_DOCUMENT * len(self)))
        return hasattr(self.hashes, "_mmap") and self.hashes.nbytes > most and hasattr(mmap, "MADV_DONTNEED")

    def count_upto(self, indices: Numbers, last: Hashes) -> Numbers:
        """Count the hashes of each document up to (and including) its limit in `last`."""
        counts, starts = np.empty(indices.size, np.int64), self.starts[indices]
        order = np.argsort(starts, kind="stable")
        for part in self.ranges(starts[order]):
            counts[order[part]] = self._bisect(indices[order[part]], last[order[part]])
        return counts

    def _bisect(self, indices: Numbers, last: Hashes) -> Numbers:
        first = low = self.starts[indices]
        high = low + self.counts[indices]
        while (is_open := low < high).any():
            middle = (low + high) >> 1
            is_within = is_open & (self.hashes[np.where(is_open, middle, 0)] <= last)
            low = np.where(is_within, middle + 1, low)
            high = np.where(is_open & ~is_within, middle, high)
        return low - first

    def count_at_level(self, indices: Numbers, levels: Numbers) -> Numbers:
        """Count the hashes of each document below the bound of its level in `levels`."""
        counts = self.counts[indices]
        above = np.flatnonzero(levels)
        if above.size:
            bounds = [self.scheme.bound(level) - 1 for level in range(int(levels.max()) + 1)]
            counts[above] = self.count_upto(indices[above], np.array(bounds, np.uint64)[levels[above]])
        return counts

    def copy_hashes(
        self, indices: Numbers, skipped: Numbers | int = 0, counts: Numbers | None = None
    ) -> tuple[Hashes, Numbers]:
        """Copy `counts` hashes of each document, after its `skipped` smallest ones; by default all hashes.

        Return the hashes, and the position in `indices` of each hash's document.
        """
        counts = self.counts[indices] if counts is None else counts
        owners = np.repeat(np.arange(indices.size), counts)
        return np.asarray(self.hashes[indices_of_ranges(self.starts[indices] + skipped, counts)]), owners


def map_hashes(file: Path | IO[bytes], count: int) -> Hashes:
    """Map a file of `count` hashes into memory; return an empty array for an empty file, which numpy cannot map."""
    return np.memmap(file, HASH, "r", shape=(count,)) if count else np.empty(0, HASH)
