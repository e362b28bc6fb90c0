"""Sketches of one run, which nobody keeps: numbers in columns, and the hashes in a file that goes away with it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.duplicates.archive import HASH, Archive, Archived, Entry, Known, sketch_key, write_all
from whorl.duplicates.sketches import Numbers, Sketches
from whorl.duplicates.sketching import Sketched, number_or_none
from whorl.duplicates.verify import Pairs
from whorl.errors import StoreError
from whorl.fingerprint.sketch.sketch import SketchScheme

_FIRST_LOOK = 1 << 14


class Scratch:
    """What an `Archive` is, for one run.

    Documents cost some tens of bytes each beside their ids; a dictionary of ids would cost several times as much.

    Args:
        path: A folder of its own.
        scheme: What the sketches depend on.
    """

    def __init__(self, path: Path, scheme: SketchScheme) -> None:
        self.scheme = scheme
        self.hashes_path = path / "hashes.u64"
        with self._failures():
            self._file = os.open(self.hashes_path, os.O_RDWR | os.O_CREAT, 0o600)
        self._count = self._compared = 0
        #: Hashes in the file.
        self.end = 0
        self._numbers: list[Numbers] = []
        self._values: list[npt.NDArray[np.float64]] = [np.empty((2, 0))]
        self._identities: list[Numbers] = []
        self._ids, self._names = _Strings(), _Strings()
        self._looked_upto, self._look_at = 0, _FIRST_LOOK

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, some: Sketched) -> list[str]:
        """Take documents, and return the ids of which it is known by now that they came before, each once a time.

        That is looked for now and then; `repeated` returns the rest.
        """
        offset = some.offset
        if offset is None:
            offset = self.end
            with self._failures():
                write_all(self._file, some.hashes)
            self.end += some.hashes.size
        self._numbers.append(np.stack([some.sizes, some.starts + offset, some.counts, some.keys]))
        self._values.append(np.stack([some.worths, some.dates]))
        # Strings of this process alone have this hash.
        self._identities.append(np.fromiter(map(hash, some.ids), np.int64, len(some.ids)))
        self._ids.extend(some.ids)
        self._names.extend(some.names)
        self._count += len(some.ids)
        if self._count < self._look_at:
            return []
        self._look_at = 2 * self._count
        return self.repeated()

    def put(self, entries: Sequence[Entry], mark: str | None = None) -> list[str]:
        """Take documents whose sketches are made."""
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
        """Return the ids of documents that came before, each once a time, of those that were not looked at yet."""
        later = self._later()
        places = later[later >= self._looked_upto].tolist()
        self._looked_upto = self._count
        return [self._ids[place] for place in places]

    def _later(self) -> Numbers:
        """Return the places of documents of ids that came before."""
        identities = np.concatenate([np.empty(0, np.int64), *self._identities])
        order = np.argsort(identities, kind="stable")
        ascending = identities[order]
        is_again = np.zeros(order.size, np.bool_)
        is_again[1:] = ascending[1:] == ascending[:-1]
        if not is_again.any():
            return np.empty(0, np.int64)
        # Those of one hash are looked at as they are, since hashes may be equal by chance.
        is_again[:-1] |= is_again[1:]
        seen: set[str] = set()
        later = []
        for place in np.sort(order[is_again]).tolist():
            document_id = self._ids[place]
            if document_id in seen:
                later.append(place)
            seen.add(document_id)
        return np.array(later, np.int64)

    def count(self) -> int:
        """Return how many documents came."""
        return self._count

    def take_as_compared(self) -> None:
        """Take all documents there are as compared with one another; no pairs among them are to be found."""
        self._compared = self._count

    def archived(self) -> Archived:
        """Return all documents, of each id the last."""
        is_last = np.ones(self._count, np.bool_)
        if (later := self._later()).size:
            places = {self._ids[place]: place for place in later.tolist()}
            # In the order in which they came, so the last one of each id stays in the dictionary.
            is_last[self._places_of(places.keys())] = False
            is_last[list(places.values())] = True
        numbers = np.flatnonzero(is_last)
        columns = np.concatenate([np.empty((4, 0), np.int64), *self._numbers], axis=1)[:, numbers]
        sizes, starts, counts, keys = (np.ascontiguousarray(column) for column in columns)
        # numpy maps no empty file.
        hashes = np.memmap(self.hashes_path, HASH, "r", shape=(self.end,)) if self.end else np.empty(0, np.uint64)
        is_paired = numbers < self._compared
        return Archived(numbers, Sketches(self.scheme, sizes, starts, counts, hashes), keys, is_paired, ~is_paired)

    def _places_of(self, ids: Collection[str]) -> Numbers:
        """Return all places of some ids."""
        identities = np.concatenate(self._identities)
        there = np.flatnonzero(np.isin(identities, np.fromiter(map(hash, ids), np.int64, len(ids))))
        return np.array([place for place in there.tolist() if self._ids[place] in ids], np.int64)

    def known(self, numbers: Collection[int]) -> dict[int, Known]:
        """Return id, name, worth and date of documents, by their numbers."""
        if len(self._values) > 1:
            self._values = [np.concatenate(self._values, axis=1)]
        worths, dates = (column.tolist() for column in self._values[0][:, list(numbers)])
        return {
            number: (self._ids[number], self._names[number], number_or_none(worth), number_or_none(date))
            for number, worth, date in zip(numbers, worths, dates, strict=True)
        }

    # What an archive keeps for the next run.

    def ask(self, question: str, *, links_suffice: bool = False) -> None:
        """Keep nothing."""

    def begin_scan(self) -> str:
        """Begin to read everything there is."""
        return ""

    def end_scan(self) -> int:
        """Forget nothing."""
        return 0

    def unchanged(self, documents: Sequence[tuple[str, bytes, str, float | None, float | None]]) -> dict[str, bool]:
        """Return nothing: no document was here before."""
        return {}

    def tell_apart(self, keys: Sequence[tuple[int, int]]) -> None:
        """Keep nothing."""

    def pairs(self, archived: Archived) -> Pairs:
        """Return no pairs."""
        return Pairs.together([])

    def keep_pairs(self, pairs: Pairs, numbers: Numbers) -> None:
        """Keep nothing."""

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(f"the folder {self.hashes_path.parent} cannot be used: {error}") from error


#: What holds the sketches of a run.
Gathered: TypeAlias = Archive | Scratch


class _Strings:
    """Many strings, one after the other in one piece of memory."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self.ends: list[npt.NDArray[np.int64]] = [np.zeros(1, np.int64)]

    def extend(self, strings: Sequence[str]) -> None:
        together = "".join(strings)
        if together.isascii():
            lengths = map(len, strings)
            encoded = together.encode()
        else:
            each = [string.encode() for string in strings]
            lengths, encoded = map(len, each), b"".join(each)
        ends = np.cumsum(np.fromiter(lengths, np.int64, len(strings)))
        self.ends.append(ends + len(self._bytes))
        self._bytes += encoded

    def __getitem__(self, at: int) -> str:
        if len(self.ends) > 1:
            self.ends = [np.concatenate(self.ends)]
        ends = self.ends[0]
        return self._bytes[ends[at] : ends[at + 1]].decode()
