"""The sketches of many documents in flat arrays, which may lie in a file that is larger than the memory."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.errors import StoreError
from whorl.fingerprint.sketch.sketch import Sketch, SketchScheme

Numbers: TypeAlias = npt.NDArray[np.int64]
#: Bytes of a mapped file that may as well stay in memory; and of short documents, of which all is looked at.
MUCH, _MUCH_OF_SHORT = 1 << 26, 1 << 28
#: Bytes of a document, on average, that make it a long one.
_LONG = 1 << 11
#: Bytes of one that are mapped at a time, at the least; and into how many ranges it is divided at the most.
_RANGE, _MOST_RANGES = 1 << 22, 256
#: Bytes that are mapped with the first that is looked at of them.
_WITH_A_PAGE = 1 << 16
#: Hashes that are copied from the file at once, at the least and at the most; and which share of all hashes between.
#: Of pairs they are so many that several come from one page of it.
_LEAST_TOGETHER, _MOST_TOGETHER, _OF_ALL = 1 << 20, 1 << 24, 16


@dataclass(frozen=True, slots=True, eq=False)
class Sketches:
    """Sketches, each known by its place.

    Args:
        scheme: What all of them depend on.
        sizes: Distinct shingles of each document; int64 array of shape (documents,).
        starts: Where each one's hashes begin; int64 array of shape (documents,).
        counts: How many there are; int64 array of shape (documents,).
        hashes: uint64 array of all hashes, those of one document together and ascending; numpy may map it from a file.
    """

    scheme: SketchScheme
    sizes: Numbers
    starts: Numbers
    counts: Numbers
    hashes: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return self.sizes.size

    @classmethod
    def of(cls, sketches: Sequence[Sketch], scheme: SketchScheme) -> Sketches:
        """Return sketches of one scheme, put together."""
        sizes = np.array([sketch.size for sketch in sketches], np.int64)
        counts = np.array([sketch.hashes.size for sketch in sketches], np.int64)
        hashes = np.concatenate([np.empty(0, np.uint64), *(sketch.hashes for sketch in sketches)])
        return cls(scheme, sizes, np.cumsum(counts) - counts, counts, hashes)

    def sketch(self, place: int) -> Sketch:
        """Return one of them."""
        start = int(self.starts[place])
        hashes = np.asarray(self.hashes[start : start + int(self.counts[place])])
        return Sketch(self.scheme, int(self.sizes[place]), hashes)

    def scheme_levels(self, sizes: Numbers) -> Numbers:
        """Return the levels of documents of these sizes, as `SketchScheme.level` has them; int64 array."""
        levels, floor = level_beyond(sizes, self.scheme.k), self.scheme.floor_level
        return np.where(levels <= floor, levels, np.maximum(floor, level_beyond(sizes, self.scheme.cap)))

    def portions(self, a: Numbers, b: Numbers) -> Iterator[tuple[slice, npt.NDArray[np.uint64], Numbers, Numbers]]:
        """Yield pairs of documents, in whatever order, in portions whose hashes are at hand.

        Two documents of a pair are anywhere in the file, and mapping the page that one is in takes longer than
        comparing them. So those of many pairs are copied in the order of the file.

        Args:
            a: Places of the first documents; int64 array of shape (pairs,).
            b: Places of the second ones.

        Yields:
            Which pairs, some hashes, and where among these those of the first and of the second documents begin.
        """
        if not self.is_much:
            yield slice(0, a.size), self.hashes.view(np.ndarray), self.starts[a], self.starts[b]
            return
        if not a.size:
            return
        weights, most = np.cumsum(self.counts[a] + self.counts[b]), self.together_at_most
        cuts = np.searchsorted(weights, np.arange(most, weights[-1], most), side="right")
        for begin, end in pairwise(np.unique([0, *cuts.tolist(), a.size]).tolist()):
            places, which = np.unique(np.concatenate([a[begin:end], b[begin:end]]), return_inverse=True)
            starts = self.starts[places]
            order = np.argsort(starts)
            hashes, ordered = self.together(starts[order], (starts + self.counts[places])[order])
            begins = np.empty_like(ordered)
            begins[order] = ordered
            yield slice(begin, end), hashes, begins[which[: end - begin]], begins[which[end - begin :]]

    @property
    def together_at_most(self) -> int:
        """How many hashes are copied from the file at once, about."""
        return max(_LEAST_TOGETHER, min(_MOST_TOGETHER, self.hashes.size // _OF_ALL))

    def together(self, starts: Numbers, ends: Numbers) -> tuple[npt.NDArray[np.uint64], Numbers]:
        """Return stretches of the file in memory.

        Args:
            starts: Where they begin, ascending; int64 array of shape (stretches,).
            ends: Where they end.

        Returns:
            Their hashes, and where among these each stretch begins.

        Raises:
            StoreError: The file has become shorter.
        """
        begins = np.append(0, np.cumsum(ends - starts))
        hashes = np.empty(begins[-1], np.uint64)
        if self._is_read(starts):
            self._read(starts, begins, hashes)
            return hashes, begins[:-1]
        file = self.hashes.view(np.ndarray)
        for some in self.ranges(starts):
            parts = [file[start:end] for start, end in zip(starts[some].tolist(), ends[some].tolist(), strict=True)]
            if parts:
                np.concatenate(parts, out=hashes[begins[some.start] : begins[some.stop]])
        return hashes, begins[:-1]

    def _is_read(self, starts: Numbers) -> bool:
        """Return whether stretches of the file stand so far apart that to read each takes less than to map it."""
        if not (self.is_much and starts.size and hasattr(os, "preadv") and getattr(self.hashes, "filename", None)):
            return False
        return starts.size * _WITH_A_PAGE < int(starts[-1] - starts[0]) * self.hashes.itemsize

    def _read(self, starts: Numbers, begins: Numbers, hashes: npt.NDArray[np.uint64]) -> None:
        size, held = self.hashes.itemsize, hashes.view(np.uint8).data
        bounds = pairwise((begins * size).tolist())
        with open(self.hashes.filename, "rb", buffering=0) as file:  # type: ignore[attr-defined]
            number = file.fileno()
            for at, (begin, end) in zip((starts * size).tolist(), bounds, strict=True):
                # Mostly all comes at once; not from each file system, nor of gigabytes.
                while begin < end:
                    if not (count := os.preadv(number, [held[begin:end]], at)):
                        raise StoreError(f"{self.hashes.filename} ends before byte {at + end - begin:,}")  # type: ignore[attr-defined]
                    begin, at = begin + count, at + count

    def ranges(self, starts: Numbers) -> Iterator[slice]:
        """Yield places in the file, which ascend, in ranges: of each part of the file those in it.

        Of a file that is mapped the system keeps in memory what was looked at, and what stands around it. It is let go
        after each range; what is looked at again is mapped again.
        """
        cuts = [0]
        if self.is_much and starts.size:
            span = int(starts[-1] - starts[0]) + 1
            step = max(_RANGE, self.hashes.nbytes // _MOST_RANGES) // self.hashes.itemsize
            # Of what stands far apart no more is mapped than comes with each page.
            step = max(step, step * span // (starts.size * _WITH_A_PAGE // self.hashes.itemsize))
            cuts = np.unique(np.searchsorted(starts, np.arange(starts[0], starts[-1] + 1, step))).tolist()
        for begin, end in pairwise([*cuts, starts.size]):
            yield slice(begin, end)
            if self.is_much:
                self.hashes._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]

    @property
    def is_much(self) -> bool:
        """Whether the hashes are mapped from a file too large to stay in memory."""
        most = max(MUCH, min(_MUCH_OF_SHORT, _LONG * len(self)))
        return hasattr(self.hashes, "_mmap") and self.hashes.nbytes > most and hasattr(mmap, "MADV_DONTNEED")

    def upto(self, places: Numbers, last: npt.NDArray[np.uint64]) -> Numbers:
        """Return how many hashes of some documents are no larger than given ones.

        Args:
            places: Of the documents; int64 array of shape (n,).
            last: One hash for each; uint64 array of shape (n,).
        """
        found = np.empty(places.size, np.int64)
        starts = self.starts[places]
        if self.is_much:
            order = np.argsort(starts, kind="stable")
            for some in self.ranges(starts[order]):
                found[order[some]] = self._upto(places[order[some]], last[order[some]])
        else:
            found[:] = self._upto(places, last)
        return found

    def _upto(self, places: Numbers, last: npt.NDArray[np.uint64]) -> Numbers:
        first = low = self.starts[places]
        high = low + self.counts[places]
        # All of them at once, bisected.
        while (is_open := low < high).any():
            middle = (low + high) >> 1
            is_within = is_open & (self.hashes[np.where(is_open, middle, 0)] <= last)
            low = np.where(is_within, middle + 1, low)
            high = np.where(is_open & ~is_within, middle, high)
        return low - first

    def at_level(self, places: Numbers, levels: Numbers) -> Numbers:
        """Return how many hashes of some documents are below the bounds of levels, one for each document."""
        counts = self.counts[places]
        above = np.flatnonzero(levels)
        if above.size:
            bounds = [self.scheme.bound(level) - 1 for level in range(int(levels.max()) + 1)]
            counts[above] = self.upto(places[above], np.array(bounds, np.uint64)[levels[above]])
        return counts

    def gathered(self, places: Numbers, skipped: Numbers, counts: Numbers) -> tuple[npt.NDArray[np.uint64], Numbers]:
        """Return some hashes of some documents, one document after the other.

        Args:
            places: Of the documents; int64 array of shape (n,).
            skipped: How many of each one's hashes, the smallest, to leave out; int64 array of shape (n,).
            counts: How many of each to return; int64 array of shape (n,).

        Returns:
            uint64 array of all hashes, and int64 array that has, for each of them, which of the n documents it is of.
        """
        owners = np.repeat(np.arange(places.size), counts)
        within = np.arange(owners.size) - (np.cumsum(counts) - counts)[owners]
        return np.asarray(self.hashes[(self.starts[places] + skipped)[owners] + within]), owners


def level_beyond(sizes: Numbers, most: int) -> Numbers:
    """Return ceil(log2(sizes / most)), and 0 up to `most`, in whole numbers; int64 array of the shape of `sizes`."""
    levels = np.zeros(sizes.shape, np.int64)
    limit = most
    while (is_beyond := sizes > limit).any():
        levels += is_beyond
        limit *= 2
    return levels
