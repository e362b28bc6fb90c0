"""A set of codes, and what lies near a query in it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from whorl.errors import StoreError
from whorl.fingerprint.simhash.codes import BITS, LARGEST, Codes, CodesLike, as_code, as_codes
from whorl.hamming.codes import Groups, as_distance, without
from whorl.hamming.routes import loops
from whorl.hamming.tables import Layout, Tables, sort_codes

#: Codes that are inserted one by one before tables are made anew: so many at least, and this part of all.
_FEWEST_RECENT, _RECENT_PART = 4096, 8
#: A bulk operation on this part of the codes, or fewer, is done one by one: making the tables anew would take longer.
_SMALL_PART = 32
#: Buckets of the recent codes have numbers of this many bits at most.
_RECENT_WIDTH = 16
#: Seconds of the plain route for one query among them.
_PLAIN_RECENT = 4e-6
_NO_CODES, _NO_PLACES = np.empty(0, np.uint64), np.empty((0, 0), np.int32)


class FirstMatches(NamedTuple):
    """The first code found for each of several queries.

    Attributes:
        found: bool; whether any was.
        codes: uint64; the smallest code found, 0 where none was.
    """

    found: NDArray[np.bool_]
    codes: Codes


class HammingIndex:
    """A set of 64-bit codes; finds those that differ from a query in at most `distance` bits. Every one, each once.

    Codes are numbers from 0 to 2**64 - 1. Answers are in ascending order and depend on the set alone, not on how it
    came about. One thread at a time may use an index.

    Args:
        distance: Bits that may differ, 0 to 64. Few are searched with tables; where tables would not help, all codes
            are compared.
        codes: What is in the set at the beginning.

    Raises:
        ParameterError: Here and in all methods, a distance or a code outside its range.
    """

    def __init__(self, distance: int, codes: CodesLike = ()) -> None:
        self._distance = as_distance(distance)
        self._rebuild(sort_codes(as_codes(codes).copy()))

    def _rebuild(self, codes: Codes) -> None:
        """Make the tables of sorted codes, each once."""
        self._tables = Tables(codes, self._distance)
        self._recent = _Recent(self._tables.layout, max(_FEWEST_RECENT, codes.size // _RECENT_PART))
        self._removed: set[int] = set()

    def _settle(self) -> None:
        """Bring what was inserted and removed one by one into the tables."""
        if self._recent.size or self._removed:
            self._rebuild(self.codes())

    @property
    def distance(self) -> int:
        """Bits that may differ."""
        return self._distance

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the arrays take."""
        return self._tables.nbytes + self._recent.nbytes

    def __len__(self) -> int:
        return len(self._tables) + self._recent.size - len(self._removed)

    def __contains__(self, code: int) -> bool:
        code = as_code(code)
        return code not in self._removed and (code in self._tables or code in self._recent)

    def codes(self) -> Codes:
        """Return all codes, sorted; not to be changed."""
        codes = self._tables.codes
        if self._recent.size:
            codes = sort_codes(np.concatenate((codes, self._recent.codes)))
        if self._removed:
            codes = without(codes, sort_codes(as_codes(self._removed)))
        return codes

    def insert(self, code: int) -> None:
        """Add a code; nothing happens if it is there already."""
        code = as_code(code)
        if code in self._removed:
            self._removed.discard(code)
        elif code not in self._tables and code not in self._recent:
            if self._recent.is_full:
                self._settle()
            self._recent.add(code)

    def remove(self, code: int) -> None:
        """Take a code out; nothing happens if it is not there."""
        code = as_code(code)
        if code not in self._removed and (code in self._tables or code in self._recent):
            self._removed.add(code)
            if len(self._removed) > max(_FEWEST_RECENT, len(self._tables) // _RECENT_PART):
                self._settle()

    def find_all(self, query: int) -> list[int]:
        """Return the codes near one, in ascending order."""
        query = as_code(query)
        found = self._tables.find(query)
        if self._recent.size:
            recent = self._recent.find(query)
            if recent:
                found = sorted(found + recent)
        if self._removed and found:
            found = [code for code in found if code not in self._removed]
        return found

    def find_first(self, query: int) -> int | None:
        """Return the smallest code near one, or None."""
        found = self.find_all(query)
        return found[0] if found else None

    def _is_small(self, several: Codes) -> bool:
        return several.size * _SMALL_PART < len(self._tables)

    def insert_bulk(self, codes: CodesLike) -> None:
        """Add codes; if one of them is refused, all are."""
        codes = as_codes(codes)
        if self._is_small(codes):
            for code in codes.tolist():
                self.insert(code)
        else:
            self._rebuild(sort_codes(np.concatenate((self.codes(), codes))))

    def remove_bulk(self, codes: CodesLike) -> None:
        """Take codes out; if one of them is refused, all stay."""
        codes = as_codes(codes)
        if self._is_small(codes):
            for code in codes.tolist():
                self.remove(code)
        else:
            self._rebuild(without(self.codes(), sort_codes(codes.copy())))

    def find_all_bulk(self, queries: CodesLike) -> Groups:
        """Return the codes near each query, in ascending order; the answers are in the order of the queries."""
        queries = as_codes(queries)
        if (self._recent.size or self._removed) and self._is_small(queries):
            answers = [self.find_all(query) for query in queries.tolist()]
            ends = np.cumsum([0, *map(len, answers)], dtype=np.int64)
            return Groups(as_codes([code for answer in answers for code in answer]), ends)
        self._settle()
        return self._tables.find_all(queries)

    def find_first_bulk(self, queries: CodesLike) -> FirstMatches:
        """Return the smallest code near each query, and whether there is one."""
        answers = self.find_all_bulk(queries)
        found = answers.ends[1:] > answers.ends[:-1]
        codes = np.zeros(len(answers), np.uint64)
        codes[found] = answers.codes[answers.ends[:-1][found]]
        return FirstMatches(found, codes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the set into a file, in place of what was there: 8 bytes a code, in numpy's npz format.

        Raises:
            StoreError: It cannot be written; what was there is as it was.
        """
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
        """Return the set that `save` has written into a file.

        Raises:
            StoreError: It cannot be read, or holds something else.
        """
        try:
            with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                return cls(int(arrays["distance"]), arrays["codes"])
        except OSError as error:
            raise StoreError(f"cannot read {os.fspath(path)}: {error.strerror or error}") from error
        except Exception as error:
            # Of a damaged file, numpy lets through whatever zipfile and zlib raise: a dozen types.
            raise StoreError(f"{os.fspath(path)} is no index that was saved: {error}") from error


class _Recent:
    """Codes that came one by one: for each table chains of those that share a bucket.

    Inserting and finding take a few steps each, without anything being moved; after some thousand codes `Tables` are
    faster, and take less memory.

    Args:
        layout: That of the tables.
        capacity: How many there is room for.
    """

    def __init__(self, layout: Layout, capacity: int) -> None:
        # Within a radius there are too many buckets to look into: then all codes are looked at, which are few.
        is_chained = layout.radius == 0 and layout.width > 0
        self._distance, self._capacity, self.size = layout.distance, capacity if is_chained else _FEWEST_RECENT, 0
        width = min(layout.width, _RECENT_WIDTH)
        self._last = (1 << width) - 1
        lows = [low + layout.width - width for low in layout.lows] if is_chained else []
        self._lows = np.array(lows, np.int64)
        #: The codes; where each chain begins; what follows a code in it. -1 is the end. The last chains are those of
        #: codes with the same hash, which tell whether a code is there.
        self._codes, self._heads, self._nexts = _NO_CODES, _NO_PLACES, _NO_PLACES

    def _make_room(self) -> None:
        tables, capacity = self._lows.size, self._capacity
        self._codes = np.zeros(capacity, np.uint64)
        self._heads = np.full((tables + 1, 1 << _RECENT_WIDTH), -1, np.int32)
        self._nexts = np.zeros((tables + 1, capacity), np.int32)
        self._view = self._codes.data
        chains = [(heads.data, nexts.data) for heads, nexts in zip(self._heads, self._nexts, strict=True)]
        self._chains = [(int(low), *chain) for low, chain in zip(self._lows, chains[:-1], strict=True)]
        self._same_hash = chains[-1]
        numbers = np.array([self._distance, self._last], np.int64)
        self._query, self._found = np.zeros(1, np.uint64), np.zeros(64, np.uint64)
        self._call = self._query, self._codes, self._heads[:-1], self._nexts[:-1], self._lows, numbers

    @property
    def codes(self) -> Codes:
        """The codes, in the order in which they came."""
        return self._codes[: self.size]

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the arrays take."""
        return self._codes.nbytes + self._heads.nbytes + self._nexts.nbytes

    @property
    def is_full(self) -> bool:
        """Whether there is no room for more."""
        return self.size >= self._capacity

    def add(self, code: int) -> None:
        """Add a code that is not there."""
        if not self._codes.size:
            self._make_room()
        last, place = self._last, self.size
        self._view[place] = code
        for low, heads, nexts in self._chains:
            bucket = code >> low & last
            nexts[place] = heads[bucket]
            heads[bucket] = place
        heads, nexts = self._same_hash
        bucket = _hash(code)
        nexts[place] = heads[bucket]
        heads[bucket] = place
        self.size = place + 1

    def __contains__(self, code: int) -> bool:
        if not self.size:
            return False
        heads, nexts = self._same_hash
        place = heads[_hash(code)]
        while place >= 0:
            if self._view[place] == code:
                return True
            place = nexts[place]
        return False

    def find(self, query: int) -> list[int]:
        """Return the codes near one, in no order; there is at least one code."""
        if not self._chains:
            return list(self.codes[np.bitwise_count(self.codes ^ np.uint64(query)) <= self._distance].tolist())
        compiled = loops(_PLAIN_RECENT)
        if compiled is None:
            return self._find_plainly(query)
        self._query[0] = query
        while (count := compiled.find_recent(*self._call, self._found)) < 0:
            self._found = np.zeros(2 * self._found.size, np.uint64)
        return self._found[:count].tolist() if count else []

    def _find_plainly(self, query: int) -> list[int]:
        codes, distance, last = self._view, self._distance, self._last
        found: list[int] = []
        for low, heads, nexts in self._chains:
            place = heads[query >> low & last]
            while place >= 0:
                code = codes[place]
                if (code ^ query).bit_count() <= distance and code not in found:
                    found.append(code)
                place = nexts[place]
        return found


def _hash(code: int) -> int:
    """Return a number of _RECENT_WIDTH bits (Fibonacci hashing): codes that share many bits rarely share it."""
    return (code * 0x9E3779B97F4A7C15 & LARGEST) >> BITS - _RECENT_WIDTH
