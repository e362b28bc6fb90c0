"""Index of the hashes that several documents share, as input of the prefix filter.

Hashes are read in ranges, in ascending order, and a hash of several documents becomes one entry for each. Documents
that could not reach the threshold even if all remaining hashes matched are pruned with their entries; most are, after a
quarter of their hashes. A hash is never counted less often than the remaining documents share it, and all of them see
the same count, so the prefix filter returns the same pairs as with all entries.

Documents are read in the order of the file of hashes, so that little of it must be in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from whorl.arrays import run_starts
from whorl.context import require_time
from whorl.duplicates.rounds import Looked
from whorl.duplicates.sketches import Numbers, Sketches
from whorl.duplicates.verify import even_stretches, in_threads, is_fast

Hashes = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]

#: Approximate number of hashes read in one range; bounds the memory.
AT_ONCE = 1 << 22
#: Smallest and largest number of ranges (each range visits all remaining documents), and the number of prunings.
_LEAST_STRETCHES, _MOST_STRETCHES, _PRUNINGS = 8, 32, 8
#: Entries sorted together, as a power of two: they fit into the processor's cache.
_PART_BITS = 12
_HEAD_BITS = 16
#: Entries per memory block.
_ROOM = 1 << 19


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """The documents compared at one level, ordered by size, then by index.

    Attributes:
        places: Indices of the documents; like all others an array of shape (members,).
        looked: Numbers of hashes to use of each document.
        is_larger: Whether this is the document's home level, so that it may be the larger document of a pair.
        first: The first member large enough to be the smaller document of a pair with this one.
    """

    places: Numbers
    looked: Looked
    is_larger: Bools
    first: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """Hashes of members, one entry per hash and member: arrays of shape (entries,).

    Attributes:
        keys: Hash and member number in one uint64, the hash in the upper bits; ascending.
        frequency: Number of members with the hash.
        is_offered: Whether the hash may be in the member's index prefix, as the smaller document.
    """

    keys: Hashes
    frequency: npt.NDArray[np.int32]
    is_offered: Bools

    def only(self, which: Bools) -> Entries:
        """Return the selected entries."""
        return Entries(self.keys[which], self.frequency[which], self.is_offered[which])


class Met(NamedTuple):
    """Entries of the members that may make a pair, with their numbers per member.

    Attributes:
        entries: All entries.
        counts: Entries of each member; int64 array of shape (members,).
        offered: Offered entries of each member; int64 array of shape (members,).
    """

    entries: Entries
    counts: Numbers
    offered: Numbers


_NO_ENTRIES = Entries(np.empty(0, np.uint64), np.empty(0, np.int32), np.empty(0, np.bool_))


def meeting(sketches: Sketches, members: Members, level: int, member_bits: int, workers: int) -> Met:
    """Return the entries of all hashes that a smaller document offers and a larger one has, without pruned members.

    Args:
        sketches: Sketches of all documents.
        members: The compared documents.
        level: Level at which they are compared.
        member_bits: Bits of a member number.
        workers: Threads for the compiled loops.
    """
    total = int(members.looked.counted(members.is_larger).sum())
    stretches = min(_MOST_STRETCHES, max(_LEAST_STRETCHES, -(-total // AT_ONCE)))
    sweep = _Sweep(sketches, members, level, member_bits, workers, fast=is_fast(total))
    kept: list[Entries] = []
    for number in range(1, stretches + 1):
        require_time()
        kept += sweep.upto(np.uint64(sketches.scheme.bound(level) * number // stretches - 1))
        if number * _PRUNINGS // stretches > (number - 1) * _PRUNINGS // stretches:
            is_open = sweep.leave_out()
            for at, each in enumerate(kept):
                kept[at] = each.only(is_open[owners_of(each.keys, member_bits)])
    keys, frequency = [each.keys for each in kept], [each.frequency for each in kept]
    is_offered = [each.is_offered for each in kept]
    del kept
    entries = Entries(_joined(keys, np.uint64), _joined(frequency, np.int32), _joined(is_offered, np.bool_))
    return Met(entries, sweep.met, sweep.met_offered)


class _Sweep:
    """Cursor over the remaining hashes of the members, in the order of the file.

    Args:
        sketches: As in `meeting`.
        members: As in `meeting`.
        level: As in `meeting`.
        member_bits: As in `meeting`.
        workers: As in `meeting`.
        fast: Whether to use the compiled loops.

    Attributes:
        met: Entries of each member so far; int64 array of shape (members,).
        met_offered: Offered entries of each member so far; int64 array of shape (members,).
    """

    def __init__(
        self, sketches: Sketches, members: Members, level: int, member_bits: int, workers: int, *, fast: bool
    ) -> None:
        self._sketches, self._members, self._workers, self._is_fast = sketches, members, workers, fast
        self._hashes, self._is_in_file = sketches.hashes.view(np.ndarray), sketches.is_much
        self._shift = max(0, sketches.scheme.bits - level + member_bits - 64)
        self._member_bits = member_bits
        lead = max(0, 64 - (sketches.scheme.bits - level - self._shift + member_bits))
        self._bits = np.array([self._shift, member_bits, lead], np.int64)
        self._counts = counts = members.looked.counted(members.is_larger)
        starts = sketches.starts[members.places]
        numbers = np.argsort(starts)
        numbers = numbers[counts[numbers] > 0]
        self._numbers, self._cursors = numbers, starts[numbers]
        self._ends = self._cursors + counts[numbers]
        self.met, self.met_offered = np.zeros(counts.size, np.int64), np.zeros(counts.size, np.int64)
        self._offers = self._last_offered(starts, numbers) >> np.uint64(self._shift)
        self._bring_together()

    def _last_offered(self, starts: Numbers, numbers: Numbers) -> Hashes:
        """Return the largest hash that each member offers; a member offers all of its hashes up to that one."""
        looked, offered = self._members.looked, self._members.looked.offered
        if offered is looked.counts:
            # All hashes are offered, so the file need not be read.
            return np.full(offered.size, np.uint64(0xFFFFFFFFFFFFFFFF))
        last = np.zeros(offered.size, np.uint64)
        numbers = numbers[offered[numbers] > 0]
        ends = starts[numbers] + offered[numbers] - 1
        for some in self._sketches.ranges(ends):
            last[numbers[some]] = self._hashes[ends[some]]
        return last

    def upto(self, last: np.uint64) -> list[Entries]:
        """Return the entries of the unread hashes up to a given one."""
        found = self._fast(last) if self._is_fast else [self._plain(last)]
        for each in found:
            self._count(each)
        return found

    def leave_out(self) -> Bools:
        """Prune members that can make no pair any more; return a mask of the remaining ones, of shape (members,)."""
        members, at, looked = self._members, self._numbers, self._members.looked
        counts, is_open = self._counts, np.zeros(self.met.size, np.bool_)
        if self._is_fast:
            from whorl.duplicates.compiled import leave_out

            count = leave_out(
                at, self._cursors, self._ends, counts, looked.offered, looked.least_offered, looked.least_shared,
                members.is_larger, self.met, self.met_offered, is_open,
            )  # fmt: skip
            self._numbers, self._cursors, self._ends = at[:count], self._cursors[:count], self._ends[:count]
            self._bring_together()
            return is_open
        left = self._ends - self._cursors
        left_offered = np.maximum(0, looked.offered[at] - (counts[at] - left))
        is_found = (looked.offered[at] > 0) & (self.met_offered[at] + left_offered >= looked.least_offered[at])
        stays = is_found | (members.is_larger[at] & (self.met[at] + left >= looked.least_shared[at]))
        self._numbers, self._cursors, self._ends = at[stays], self._cursors[stays], self._ends[stays]
        is_open[self._numbers] = True
        self.met[~is_open] = self.met_offered[~is_open] = 0
        return is_open

    def _bring_together(self) -> None:
        """Copy the remaining hashes into memory once they fit: each range passes over the whole file."""
        left, most = int((self._ends - self._cursors).sum()), self._sketches.together_at_most
        if self._is_fast and self._is_in_file and left <= most:
            self._hashes, begins = self._sketches.together(self._cursors, self._ends)
            self._cursors, self._ends = begins, begins + (self._ends - self._cursors)
            self._is_in_file = False

    def _count(self, found: Entries) -> None:
        if self._is_fast:
            from whorl.duplicates.compiled import count_entries

            count_entries(found.keys, found.is_offered, self._member_bits, self.met, self.met_offered)
            return
        owners = owners_of(found.keys, self._member_bits)
        self.met += np.bincount(owners, minlength=self.met.size)
        self.met_offered += np.bincount(owners[found.is_offered], minlength=self.met.size)

    def _plain(self, last: np.uint64) -> Entries:
        places = self._members.places[self._numbers]
        starts = self._sketches.starts[places]
        upto = np.minimum(self._ends, starts + self._sketches.upto(places, np.full(places.shape, last)))
        hashes, owners = self._sketches.gathered(places, self._cursors - starts, upto - self._cursors)
        self._cursors = upto
        keys = (hashes >> np.uint64(self._shift)) << np.uint64(self._member_bits)
        keys |= self._numbers[owners].astype(np.uint64)
        keys.sort()
        return _met(keys, self._members, self._offers, self._member_bits)

    def _fast(self, last: np.uint64) -> list[Entries]:
        stretches = even_stretches(np.cumsum(self._ends - self._cursors), self._workers)
        taken, several = zip(*in_threads(partial(self._taken, last), stretches), strict=True)
        counts = np.stack(several)
        ends = np.cumsum(counts.sum(axis=0))
        total = int(ends[-1])
        entries = np.empty(total, np.uint64)
        # Within each part, the entries of the first range of members come first.
        before = np.cumsum(counts, axis=0) - counts
        begins = ends + np.concatenate([before[:, 1:], before[:, :1]], axis=1)
        in_threads(partial(self._put, entries), zip(taken, begins, strict=True))
        del taken
        keys = np.empty(total, np.uint64)
        ends = np.append(ends[1:], 0)
        columns = keys, np.empty(total, np.int32), np.empty(total, np.bool_)
        return in_threads(partial(self._met, entries, ends, columns), even_stretches(ends[:-1], self._workers))

    def _taken(self, last: np.uint64, first: int, upto: int) -> tuple[list[Hashes], Numbers]:
        """Return the entries of a range of members, and the number of entries of each part, shifted by one part."""
        from whorl.duplicates.compiled import take

        counts = np.zeros((1 << max(1, AT_ONCE.bit_length() - _PART_BITS)) + 1, np.int64)
        found: list[Hashes] = []
        cursors = self._cursors[first:upto]
        for some in self._sketches.ranges(cursors) if self._is_in_file else [slice(0, cursors.size)]:
            state = np.array([first + some.start, 0])
            while state[0] < first + some.stop:
                room, state[1] = np.empty(_ROOM, np.uint64), 0
                take(
                    self._hashes, self._numbers, self._cursors, self._ends, state, first + some.stop, last, self._bits,
                    counts, room,
                )  # fmt: skip
                found.append(room[: state[1]])
        return found, counts

    def _put(self, entries: Hashes, taken: list[Hashes], begins: Numbers) -> None:
        from whorl.duplicates.compiled import put_in_parts

        for some in taken:
            put_in_parts(some, self._bits, begins, entries)

    def _met(
        self,
        entries: Hashes,
        ends: Numbers,
        columns: tuple[Hashes, npt.NDArray[np.int32], Bools],
        first: int,
        upto: int,
    ) -> Entries:
        from whorl.duplicates.compiled import meeting

        heads = np.empty((1 << _HEAD_BITS) + 1, np.int64)
        begin = int(ends[first - 1]) if first else 0
        is_larger = self._members.is_larger
        count = meeting(entries, self._bits, ends, first, upto, self._offers, is_larger, heads, *columns)
        there = slice(begin, begin + count)
        keys, frequencies, offered = columns
        # Copy, to release the larger buffers.
        return Entries(keys[there].copy(), frequencies[there].copy(), offered[there].copy())


def _met(keys: Hashes, members: Members, offers: Hashes, member_bits: int) -> Entries:
    """Return the entries, given ascending, of hashes that some member offers and a larger member has."""
    tokens = keys >> np.uint64(member_bits)
    frequency = np.diff(np.append(run_starts(tokens), keys.size))
    is_several = np.repeat(frequency > 1, frequency)
    keys, tokens = keys[is_several], tokens[is_several]
    frequency = frequency[frequency > 1]
    if not keys.size:
        return _NO_ENTRIES
    owners = owners_of(keys, member_bits)
    is_offered = tokens <= offers[owners]
    starts = np.cumsum(frequency) - frequency
    # The members of a hash ascend by size; a pair needs a member that may be the larger document.
    meets = (np.add.reduceat(is_offered, starts, dtype=np.int64) > 0) & (
        np.add.reduceat(members.is_larger[owners], starts, dtype=np.int64) > 0
    )
    kept = np.repeat(meets, frequency)
    return Entries(keys[kept], np.repeat(frequency, frequency)[kept].astype(np.int32), is_offered[kept])


def _joined(parts: list[npt.NDArray[Any]], of: type[np.generic]) -> npt.NDArray[Any]:
    """Return the concatenation of arrays, releasing each once it is copied."""
    joined, at = np.empty(sum(part.size for part in parts), of), 0
    parts.reverse()
    while parts:
        part = parts.pop()
        joined[at : at + part.size] = part
        at += part.size
    return joined


def owners_of(keys: Hashes, member_bits: int) -> Numbers:
    """Return the member numbers of entries."""
    return (keys & np.uint64((1 << member_bits) - 1)).astype(np.int64)
