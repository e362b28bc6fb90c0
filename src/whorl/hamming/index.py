"""An updatable set of 64-bit codes that finds the codes within a Hamming distance of a query."""

from __future__ import annotations

import os
from array import array
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from whorl.arrays_and_batches import sort_distinct
from whorl.errors import StoreError
from whorl.hamming.codes import Codes, CodesLike, as_code, as_codes, as_distance, remove_codes
from whorl.hamming.groups import Groups
from whorl.hamming.lookup_tables import Layout, Tables

#: Maximum numbers of codes that are inserted one by one, and of codes that are removed one by one, before they are
#: merged into the tables: the larger of `_FEWEST_RECENT` and 1 / `_RECENT_PART` of the set. Without hash chains (see
#: `_Recent`), the maximum number of inserted codes is `_FEWEST_RECENT`.
_FEWEST_RECENT, _RECENT_PART = 4096, 8
#: A bulk operation rebuilds the tables if it gets at least 1 / `_SMALL_PART` as many codes as the set has.
_SMALL_PART = 32
#: Maximum number of bits of a bucket number in the chains of recent codes (`_Recent`).
_RECENT_WIDTH = 16
#: Attributes that `HammingIndex._rebuild` computes from the codes; a pickled index has the codes instead.
_MADE_OF_CODES = frozenset({"_tables", "_recent", "_removed"})


class FirstMatches(NamedTuple):
    """Results of several queries: for each query, the smallest of the codes that are near the query.

    A code is near if it differs from the query in at most `HammingIndex.distance` bits.

    Attributes:
        found: For each query, whether any code is near; bool.
        codes: For each query, the smallest near code, or 0 if no code is near; uint64.
    """

    found: NDArray[np.bool_]
    codes: Codes


class HammingIndex:
    """A set of 64-bit codes that finds all codes within `distance` bits of a query, each exactly once.

    Results are sorted. They depend only on the codes in the set, not on the order of changes. Only one thread at a time
    may use an index.

    Args:
        distance: Maximum number of differing bits, 0 to 64; for large distances, searches compare all codes.

    Raises:
        ParameterError: The distance or a code is out of range; methods raise this error too.
    """

    def __init__(self, distance: int, codes: CodesLike = ()) -> None:
        self._distance = as_distance(distance)
        self._rebuild(sort_distinct([as_codes(codes)]))

    def __getstate__(self) -> dict[str, Any]:
        # Pickle the codes: they are smaller than the tables, whose memoryviews cannot be pickled.
        attributes = {name: value for name, value in vars(self).items() if name not in _MADE_OF_CODES}
        return {**attributes, "codes": self.codes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        codes = state.pop("codes")
        vars(self).update(state)
        self._rebuild(codes)

    def _rebuild(self, codes: Codes) -> None:
        """Build the tables from sorted distinct codes; clear the recent and removed codes."""
        self._tables = Tables(codes, self._distance)
        self._recent = _Recent(self._tables.layout, max(_FEWEST_RECENT, codes.size // _RECENT_PART))
        self._removed: set[int] = set()

    def _merge_recent(self) -> None:
        if self._recent.known or self._removed:
            self._rebuild(self.codes())

    @property
    def distance(self) -> int:
        return self._distance

    @property
    def nbytes(self) -> int:
        """Size of the arrays in memory, in bytes."""
        return self._tables.nbytes + self._recent.nbytes

    def __len__(self) -> int:
        return len(self._tables) + len(self._recent.known) - len(self._removed)

    def __contains__(self, code: int) -> bool:
        code = as_code(code)
        return code not in self._removed and (code in self._tables or code in self._recent.known)

    def codes(self) -> Codes:
        """Return all codes, sorted; do not modify the array."""
        codes = self._tables.codes
        if self._recent.known:
            codes = sort_distinct([codes, self._recent.codes])
        if self._removed:
            codes = remove_codes(codes, sort_distinct([as_codes(self._removed)]))
        return codes

    def insert(self, code: int) -> None:
        """Add a code unless it is present."""
        code = as_code(code)
        if code in self._removed:
            self._removed.discard(code)
        elif code not in self._tables and code not in self._recent.known:
            if len(self._recent.known) >= self._recent.capacity:
                self._merge_recent()
            self._recent.add(code)

    def remove(self, code: int) -> None:
        """Remove a code if it is present."""
        code = as_code(code)
        if code in self:
            self._removed.add(code)
            if len(self._removed) > max(_FEWEST_RECENT, len(self._tables) // _RECENT_PART):
                self._merge_recent()

    def find_all(self, query: int) -> list[int]:
        """Return the codes near a query, in ascending order."""
        query = as_code(query)
        near = self._tables.find(query)
        if self._recent.known and (recent := self._recent.find(query)):
            near = sorted(near + recent)
        return [code for code in near if code not in self._removed] if self._removed else near

    def find_first(self, query: int) -> int | None:
        """Return the smallest code near a query, or None if no code is near."""
        return next(iter(self.find_all(query)), None)

    def _is_small(self, codes: Codes) -> bool:
        return codes.size * _SMALL_PART < len(self._tables)

    def insert_bulk(self, codes: CodesLike) -> None:
        """Add codes; if a code is invalid, add no code."""
        codes = as_codes(codes)
        if self._is_small(codes):
            for code in codes.tolist():
                self.insert(code)
        else:
            self._rebuild(sort_distinct([self.codes(), codes]))

    def remove_bulk(self, codes: CodesLike) -> None:
        """Remove codes; if a code is invalid, remove no code."""
        codes = as_codes(codes)
        if self._is_small(codes):
            for code in codes.tolist():
                self.remove(code)
        else:
            self._rebuild(remove_codes(self.codes(), sort_distinct([codes])))

    def find_all_bulk(self, queries: CodesLike) -> Groups:
        """Return the codes near each query as a group, in ascending order."""
        queries = as_codes(queries)
        if (self._recent.known or self._removed) and self._is_small(queries):
            answers = [self.find_all(query) for query in queries.tolist()]
            ends = np.cumsum([0, *map(len, answers)], dtype=np.int64)
            return Groups(as_codes([code for answer in answers for code in answer]), ends)
        self._merge_recent()
        return self._tables.find_all(queries)

    def find_first_bulk(self, queries: CodesLike) -> FirstMatches:
        """Find the smallest code near each query."""
        answers = self.find_all_bulk(queries)
        has_match = answers.ends[1:] > answers.ends[:-1]
        codes = np.zeros(len(answers), np.uint64)
        codes[has_match] = answers.codes[answers.ends[:-1][has_match]]
        return FirstMatches(has_match, codes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the set to a file in numpy's npz format, with 8 bytes per code; replace an existing file.

        Raises:
            StoreError: The file cannot be written; its previous content is unchanged.
        """
        if Path(path).exists() and not Path(path).is_file():
            raise StoreError(f"cannot write {os.fspath(path)}: it is a folder, pipe or device, not a file")
        beside = Path(f"{os.fspath(path)}.{os.getpid()}.part")
        try:
            with beside.open("wb") as file:
                np.savez(file, distance=np.int64(self._distance), codes=self.codes())
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except OSError as error:
            beside.unlink(missing_ok=True)
            raise StoreError(f"cannot write {os.fspath(path)}: {error.strerror or error}") from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a set written by `save`.

        Raises:
            StoreError: The file is unreadable, or has other content.
        """
        try:
            with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                return cls(int(arrays["distance"]), arrays["codes"])
        except OSError as error:
            raise StoreError(f"cannot read {os.fspath(path)}: {error.strerror or error}") from error
        except Exception as error:
            # For damaged files, numpy raises a dozen different exceptions, so all of them are caught.
            raise StoreError(f"{os.fspath(path)} is damaged, or was not written by HammingIndex.save") from error


class _Recent:
    """Codes inserted one by one since the tables were built, in one set of hash chains for each table.

    An insertion does not move other codes. For many thousand codes, `Tables` are faster and smaller.
    """

    def __init__(self, layout: Layout, capacity: int) -> None:
        # With a radius above 0, a search would visit too many chains, so it compares all recent codes instead.
        lows = layout.lows if layout.radius == 0 and layout.width > 0 else ()
        self._distance, self.capacity = layout.distance, capacity if lows else _FEWEST_RECENT
        width = min(layout.width, _RECENT_WIDTH)
        self._last = (1 << width) - 1
        self._codes = array("Q")
        self.known: set[int] = set()
        #: For each table, the lowest bit of the bucket number, the index of each chain's first code, and the index of
        #: the code after each code in its chain; -1 ends a chain.
        self._chains = [(low + layout.width - width, array("i", [-1]) * (self._last + 1), array("i")) for low in lows]

    @property
    def codes(self) -> Codes:
        return np.frombuffer(self._codes, np.uint64)

    @property
    def nbytes(self) -> int:
        return 8 * len(self._codes) + sum(4 * (len(heads) + len(nexts)) for _, heads, nexts in self._chains)

    def add(self, code: int) -> None:
        index = len(self._codes)
        for low, heads, nexts in self._chains:
            bucket = code >> low & self._last
            nexts.append(heads[bucket])
            heads[bucket] = index
        self._codes.append(code)
        self.known.add(code)

    def find(self, query: int) -> list[int]:
        if not self._chains:
            return list(self.codes[np.bitwise_count(self.codes ^ np.uint64(query)) <= self._distance].tolist())
        codes, distance, last = self._codes, self._distance, self._last
        near: list[int] = []
        for low, heads, nexts in self._chains:
            index = heads[query >> low & last]
            while index >= 0:
                code = codes[index]
                if (code ^ query).bit_count() <= distance and code not in near:
                    near.append(code)
                index = nexts[index]
        return near
