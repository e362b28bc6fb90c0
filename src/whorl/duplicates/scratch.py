"""Temporary sketch store of one run: numbers in columns in memory, hashes and strings in files deleted afterwards."""

from __future__ import annotations

import mmap
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.duplicates.archive import HASH, Archive, Archived, Entry, Known, sketch_key, write_all
from whorl.duplicates.sketches import MUCH, Numbers, Sketches
from whorl.duplicates.sketching import Sketched, number_or_none
from whorl.duplicates.verify import Pairs
from whorl.errors import StoreError
from whorl.fingerprint.sketch.sketch import SketchScheme

_FIRST_LOOK = 1 << 14


class Scratch:
    """Temporary sketch store with the interface of `Archive`.

    A document takes some tens of bytes of memory besides its id; a dictionary of ids would take several times as much.

    Args:
        path: A folder for the files of this store alone.
        scheme: Scheme of the sketches.
    """

    def __init__(self, path: Path, scheme: SketchScheme) -> None:
        self.scheme = scheme
        self.hashes_path = path / "hashes.u64"
        with self._failures():
            self._file = os.open(self.hashes_path, os.O_RDWR | os.O_CREAT, 0o600)
            self._ids, self._names = _Strings(path / "ids"), _Strings(path / "names")
        self._count = self._compared = 0
        #: Number of hashes in the file.
        self.end = 0
        self._numbers: list[Numbers] = []
        self._values: list[npt.NDArray[np.float64]] = []
        self._identities: list[Numbers] = []
        self._looked_upto, self._look_at = 0, _FIRST_LOOK

    def close(self) -> None:
        """Close the files."""
        os.close(self._file)
        self._ids.close()
        self._names.close()

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, some: Sketched) -> list[str]:
        """Add documents, and return the repeated ids found so far, once for each repetition.

        The search for them is run at growing intervals; `repeated` returns the remaining ones.
        """
        offset = some.offset
        if offset is None:
            offset = self.end
            with self._failures():
                write_all(self._file, some.hashes)
            self.end += some.hashes.size
        self._numbers.append(np.stack([some.sizes, some.starts + offset, some.counts, some.keys]))
        values = np.stack([some.worths, some.dates])
        # Mostly all values are NaN; then they take no memory.
        self._values.append(np.broadcast_to(np.nan, values.shape) if np.isnan(values).all() else values)
        # The built-in hash of strings is valid in this process only, as these columns are.
        self._identities.append(np.fromiter(map(hash, some.ids), np.int64, len(some.ids)))
        with self._failures():
            self._ids.extend(some.ids)
            self._names.extend(some.names)
        self._count += len(some.ids)
        if self._count < self._look_at:
            return []
        self._look_at = 2 * self._count
        return self.repeated()

    def put(self, entries: Sequence[Entry], mark: str | None = None) -> list[str]:
        """Add documents with their sketches."""
        sketches = [entry.sketch for entry in entries]
        together = Sketches.of(sketches, self.scheme)
        return self.add(
            Sketched(
                ids=[entry.id for entry in entries],
                names=[entry.name for entry in entries],
                worths=np.array([entry.worth for entry in entries], np.float64),
                dates=np.array([entry.date for entry in entries], np.float64),
                sizes=together.sizes,
                starts=together.starts,
                counts=together.counts,
                keys=np.array([sketch_key(sketch) for sketch in sketches], np.int64),
                hashes=together.hashes,
            )
        )

    def repeated(self) -> list[str]:
        """Return the repeated ids since the last search for them, once for each repetition."""
        later = self._later()
        places = later[later >= self._looked_upto].tolist()
        self._looked_upto = self._count
        return self._ids.at(places)

    def _later(self) -> Numbers:
        """Return the indices of documents whose ids came before."""
        identities = np.concatenate([np.empty(0, np.int64), *self._identities])
        ascending = np.sort(identities)
        several = ascending[1:][ascending[1:] == ascending[:-1]]
        if not several.size:
            return np.empty(0, np.int64)
        # Compare the ids themselves where hashes are equal, since equal hashes may be chance.
        is_again = several[np.minimum(np.searchsorted(several, identities), several.size - 1)] == identities
        seen: set[str] = set()
        later = []
        again = np.flatnonzero(is_again).tolist()
        for place, document_id in zip(again, self._ids.at(again), strict=True):
            if document_id in seen:
                later.append(place)
            seen.add(document_id)
        return np.array(later, np.int64)

    def count(self) -> int:
        """Return the number of documents, repeated ids included."""
        return self._count

    def take_as_compared(self) -> None:
        """Mark all documents so far as reference: they are not compared with each other."""
        self._compared = self._count

    def archived(self) -> Archived:
        """Return all documents, the last one of each id."""
        is_last = np.ones(self._count, np.bool_)
        if (later := self._later()).size:
            places = dict(zip(self._ids.at(later.tolist()), later.tolist(), strict=True))
            # In order of arrival, so that the dictionary keeps the last document of each id.
            is_last[self._places_of(places.keys())] = False
            is_last[list(places.values())] = True
        numbers = np.flatnonzero(is_last)
        columns = np.concatenate([np.empty((4, 0), np.int64), *self._numbers], axis=1)
        # Release the pieces, which would double the memory.
        self._numbers = [columns]
        sizes, starts, counts, keys = columns if is_last.all() else columns[:, numbers]
        # numpy cannot map an empty file.
        hashes = np.memmap(self.hashes_path, HASH, "r", shape=(self.end,)) if self.end else np.empty(0, np.uint64)
        is_paired = numbers < self._compared
        return Archived(numbers, Sketches(self.scheme, sizes, starts, counts, hashes), keys, is_paired, ~is_paired)

    def _places_of(self, ids: Collection[str]) -> Numbers:
        """Return the indices of all documents with the given ids."""
        identities = np.concatenate(self._identities)
        there = np.flatnonzero(np.isin(identities, np.fromiter(map(hash, ids), np.int64, len(ids))))
        known = zip(there.tolist(), self._ids.at(there.tolist()), strict=True)
        return np.array([place for place, document_id in known if document_id in ids], np.int64)

    def known(self, numbers: Collection[int]) -> dict[int, Known]:
        """Return id, name, rank and date of documents, by their numbers."""
        if len(self._values) != 1:
            is_any = any(values.strides[-1] for values in self._values)
            joined = np.concatenate(self._values, axis=1) if is_any else np.broadcast_to(np.nan, (2, self._count))
            self._values = [joined]
        worths, dates = (column.tolist() for column in self._values[0][:, list(numbers)])
        columns = self._ids.at(numbers), self._names.at(numbers), worths, dates
        return {
            number: (document_id, name, number_or_none(worth), number_or_none(date))
            for number, document_id, name, worth, date in zip(numbers, *columns, strict=True)
        }

    # Methods of `Archive` that a temporary store does not need.

    def ask(self, question: str, *, links_suffice: bool = False) -> None:
        """Do nothing: a temporary store keeps no pairs."""

    def begin_scan(self) -> str:
        """Begin a full scan; return "", the mark of its beginning."""
        return ""

    def end_scan(self) -> int:
        """Delete nothing, return 0: a temporary store has no earlier documents."""
        return 0

    def unchanged(self, documents: Sequence[tuple[str, bytes, str, float | None, float | None]]) -> dict[str, bool]:
        """Return no documents: a temporary store has no earlier documents."""
        return {}

    def tell_apart(self, keys: Sequence[tuple[int, int]]) -> None:
        """Do nothing: a temporary store keeps no keys."""

    def pairs(self, archived: Archived) -> Pairs:
        """Return no pairs."""
        return Pairs.together([])

    def keep_pairs(self, pairs: Pairs, numbers: Numbers) -> None:
        """Do nothing: a temporary store keeps no pairs."""

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(f"the folder {self.hashes_path.parent} cannot be used: {error}") from error


#: A sketch store, persistent or temporary.
Gathered: TypeAlias = Archive | Scratch


class _Strings:
    """Strings one after the other in a file, with their ends in memory.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("w+b")
        self._size = 0
        self._ends: list[npt.NDArray[np.int64]] = [np.zeros(1, np.int64)]
        self._mapped: mmap.mmap | None = None

    def close(self) -> None:
        """Close the file."""
        self._let_go()
        self._file.close()

    def extend(self, strings: Sequence[str]) -> None:
        """Append strings, which ends the current mapping of the file."""
        self._let_go()
        together = "".join(strings)
        if together.isascii():
            lengths = map(len, strings)
            encoded = together.encode()
        else:
            each = [string.encode() for string in strings]
            lengths, encoded = map(len, each), b"".join(each)
        self._ends.append(np.cumsum(np.fromiter(lengths, np.int64, len(strings))) + self._size)
        self._file.write(encoded)
        self._size += len(encoded)

    def at(self, places: Iterable[int]) -> list[str]:
        """Return strings by index."""
        if len(self._ends) > 1:
            self._ends = [np.concatenate(self._ends)]
        ends, several = self._ends[0], np.fromiter(places, np.int64)
        if self._mapped is None and self._size:
            self._file.flush()
            self._mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        held = self._mapped or b""
        found = [
            held[begin:end].decode()
            for begin, end in zip(ends[several].tolist(), ends[several + 1].tolist(), strict=True)
        ]
        if self._mapped is not None and self._size > MUCH and hasattr(mmap, "MADV_DONTNEED"):
            self._mapped.madvise(mmap.MADV_DONTNEED)
        return found

    def _let_go(self) -> None:
        if self._mapped is not None:
            self._mapped.close()
            self._mapped = None
