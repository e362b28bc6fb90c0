"""Indexes the hashes that several documents share, and drops documents that cannot reach the threshold.

Level L has the hashes in the lowest fraction 2**-L of the hash space; the members of a level are the documents that are
compared by these hashes. An entry is one hash of one member. The hash values are divided into ranges, and each pass
over the members reads the hashes of the next range. Between passes, members and their entries are pruned: a member is
dropped if it could not reach the threshold even if all of its unread hashes were shared. Most members are pruned after
a quarter of their hashes. All members use the same frequency of a hash, so pruning does not change the pairs that the
prefix filter finds. Members are read in file order, so that only a small part of the file must be in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import run_starts
from whorl.duplicates.prefix_lengths import PrefixLengths, Round
from whorl.duplicates.sketch_arrays import Numbers, Sketches
from whorl.duplicates.verify_sketches import is_fast, run_in_threads, split_evenly
from whorl.request_context import require_time

Hashes = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]

#: Approximate number of hashes to read in one range; limits the memory.
AT_ONCE = 1 << 22
#: Minimum and maximum number of ranges of hash values. Each range is read in one pass over the remaining members.
#: Members are pruned `_PRUNINGS` times, at even intervals between the passes.
_LEAST_RANGES, _MOST_RANGES, _PRUNINGS = 8, 32, 8
#: Binary logarithm of the number of entries to sort at a time; this number of entries fits into the processor cache.
_PART_BITS = 12
_HEAD_BITS = 16
#: Number of entries that the compiled loop writes into one buffer.
_BUFFER_ENTRIES = 1 << 19


@dataclass(frozen=True, slots=True, eq=False)
class LevelMembers:
    """Documents that are compared at one level (its members), ordered by size. A member's position is its number.

    Attributes:
        indices: Index of each member among all documents.
        lengths: Numbers of hashes that determine each member's prefixes.
        is_larger: Whether this is the member's home level, at which it may be the larger document of a pair.
        first: For each member, the number of the smallest member that is large enough for a pair with it.
    """

    indices: Numbers
    lengths: PrefixLengths
    is_larger: Bools
    first: Numbers

    @classmethod
    def choose(
        cls, sketches: Sketches, current_round: Round, indices: Numbers, home_levels: Numbers, level: int
    ) -> LevelMembers:
        """Choose the members of a level among documents that are ordered by size, given their home levels."""
        is_home, sizes = home_levels == level, sketches.sizes[indices]
        chosen = current_round.participants(sizes, home_levels, level, int(sizes[is_home].min()))
        sizes, first = sizes[chosen], current_round.pair_options.smallest_partner(sizes[chosen])
        lengths = current_round.prefix_lengths(sketches, indices[chosen], level)
        return cls(indices[chosen], lengths, is_home[chosen], np.searchsorted(sizes, first))


class TokenEntries(NamedTuple):
    """Entries of the index, one for each hash of a member.

    Attributes:
        keys: Hash and member number in one uint64, the hash in the upper bits; ascending.
        frequency: Number of members with the entry's hash.
        is_indexable: Whether the hash may be in the member's index prefix, as the smaller document.
    """

    keys: Hashes
    frequency: npt.NDArray[np.int32]
    is_indexable: Bools


class IndexedTokens(NamedTuple):
    """The entries of all hashes that can lead to a pair, without entries of pruned members.

    Args:
        counts: Number of each member's entries.
        indexable: Number of each member's indexable entries.
    """

    entries: TokenEntries
    counts: Numbers
    indexable: Numbers


def index_tokens(
    sketches: Sketches, members: LevelMembers, level: int, member_bits: int, workers: int
) -> IndexedTokens:
    """Index the hashes of members that can lead to a pair; leave out the entries of pruned members.

    A hash can lead to a pair if at least two members have it, one of them may have it in its index prefix, and one of
    them may be the larger document of a pair.
    """
    total = int(members.lengths.count_used_hashes(members.is_larger).sum())
    ranges = min(_MOST_RANGES, max(_LEAST_RANGES, -(-total // AT_ONCE)))
    sweep = _TokenSweep(sketches, members, level, member_bits, workers, fast=is_fast(total))
    portions: list[TokenEntries] = []
    for number in range(1, ranges + 1):
        require_time()
        portions += sweep.read_upto(np.uint64(sketches.scheme.bound(level) * number // ranges - 1))
        if number * _PRUNINGS // ranges > (number - 1) * _PRUNINGS // ranges:
            is_open = sweep.prune()
            for at, portion in enumerate(portions):
                is_left = is_open[owners_of(portion.keys, member_bits)]
                portions[at] = TokenEntries._make(column[is_left] for column in portion)
    return IndexedTokens(_join_entries(portions), sweep.shared, sweep.shared_indexable)


class _TokenSweep:
    """Reads the members' hashes range by range, and counts the hashes that each member shares with others."""

    def __init__(
        self, sketches: Sketches, members: LevelMembers, level: int, member_bits: int, workers: int, *, fast: bool
    ) -> None:
        self._sketches, self._members, self._workers, self._is_fast = sketches, members, workers, fast
        self._hashes, self._is_in_file = sketches.hashes.view(np.ndarray), sketches.exceeds_memory
        self._shift = max(0, sketches.scheme.bits - level + member_bits - 64)
        self._member_bits = member_bits
        lead = max(0, 64 - (sketches.scheme.bits - level - self._shift + member_bits))
        self._bits = np.array([self._shift, member_bits, lead], np.int64)
        self._counts = counts = members.lengths.count_used_hashes(members.is_larger)
        starts = sketches.starts[members.indices]
        numbers = np.argsort(starts)
        numbers = numbers[counts[numbers] > 0]
        self._numbers, self._cursors = numbers, starts[numbers]
        self._ends = self._cursors + counts[numbers]
        self.shared, self.shared_indexable = np.zeros(counts.size, np.int64), np.zeros(counts.size, np.int64)
        self._last_indexable = self._largest_indexable(starts, numbers) >> np.uint64(self._shift)
        self._load_if_small()

    def _largest_indexable(self, starts: Numbers, numbers: Numbers) -> Hashes:
        """Return each member's largest indexable hash. All smaller hashes of the member are also indexable."""
        lengths, indexable = self._members.lengths, self._members.lengths.indexable
        if indexable is lengths.counts:
            # All hashes are indexable, so do not read the file.
            return np.full(indexable.size, np.uint64(0xFFFFFFFFFFFFFFFF))
        last = np.zeros(indexable.size, np.uint64)
        numbers = numbers[indexable[numbers] > 0]
        ends = starts[numbers] + indexable[numbers] - 1
        for part in self._sketches.ranges(ends):
            last[numbers[part]] = self._hashes[ends[part]]
        return last

    def read_upto(self, last: np.uint64) -> list[TokenEntries]:
        portions = self._fast(last) if self._is_fast else [self._plain(last)]
        for entries in portions:
            owners = owners_of(entries.keys, self._member_bits)
            self.shared += np.bincount(owners, minlength=self.shared.size)
            self.shared_indexable += np.bincount(owners[entries.is_indexable], minlength=self.shared.size)
        return portions

    def prune(self) -> Bools:
        """Drop members that can no longer reach the threshold; return a mask of the members to keep."""
        members, at = self._members, self._numbers
        own = PrefixLengths._make(column[at] for column in members.lengths)
        is_open = np.zeros(self.shared.size, np.bool_)
        left = self._ends - self._cursors
        left_indexable = np.maximum(0, own.indexable - (self._counts[at] - left))
        most, most_indexable = self.shared[at] + left, self.shared_indexable[at] + left_indexable
        stays = own.can_reach_threshold(members.is_larger[at], most, most_indexable)
        self._numbers, self._cursors, self._ends = at[stays], self._cursors[stays], self._ends[stays]
        self._load_if_small()
        is_open[self._numbers] = True
        self.shared[~is_open] = self.shared_indexable[~is_open] = 0
        return is_open

    def _load_if_small(self) -> None:
        """Copy the remaining hashes into memory if they fit; otherwise, each pass reads them from the file."""
        left, most = int((self._ends - self._cursors).sum()), self._sketches.most_copied
        if self._is_fast and self._is_in_file and left <= most:
            self._hashes, begins = self._sketches.copy_ranges(self._cursors, self._ends)
            self._cursors, self._ends = begins, begins + (self._ends - self._cursors)
            self._is_in_file = False

    def _plain(self, last: np.uint64) -> TokenEntries:
        indices = self._members.indices[self._numbers]
        starts = self._sketches.starts[indices]
        upto = np.minimum(self._ends, starts + self._sketches.count_upto(indices, np.full(indices.shape, last)))
        hashes, owners = self._sketches.copy_hashes(indices, self._cursors - starts, upto - self._cursors)
        self._cursors = upto
        keys = (hashes >> np.uint64(self._shift)) << np.uint64(self._member_bits)
        keys |= self._numbers[owners].astype(np.uint64)
        keys.sort()
        return _select_entries(keys, self._members, self._last_indexable, self._member_bits)

    def _fast(self, last: np.uint64) -> list[TokenEntries]:
        ranges = split_evenly(np.cumsum(self._ends - self._cursors), self._workers)
        taken, parts = zip(*run_in_threads(partial(self._read_range, last), ranges), strict=True)
        counts = np.stack(parts)
        ends = np.cumsum(counts.sum(axis=0))
        total = int(ends[-1])
        entries = np.empty(total, np.uint64)
        # Within a part, entries are in the order of the ranges of members.
        before = np.cumsum(counts, axis=0) - counts
        begins = ends + np.concatenate([before[:, 1:], before[:, :1]], axis=1)
        run_in_threads(partial(self._distribute, entries), zip(taken, begins, strict=True))
        del taken
        ends = np.append(ends[1:], 0)
        columns = TokenEntries(np.empty(total, np.uint64), np.empty(total, np.int32), np.empty(total, np.bool_))
        return run_in_threads(
            partial(self._select_entries, entries, ends, columns), split_evenly(ends[:-1], self._workers)
        )

    def _read_range(self, last: np.uint64, first: int, upto: int) -> tuple[list[Hashes], Numbers]:
        """Read the entries of the members at the indices from `first` to `upto`.

        Return the entries in blocks, and the number of entries of each part i, at index i + 1.
        """
        from whorl.duplicates.compiled_prefix_filter import take

        counts = np.zeros((1 << max(1, AT_ONCE.bit_length() - _PART_BITS)) + 1, np.int64)
        blocks: list[Hashes] = []
        cursors = self._cursors[first:upto]
        for part in self._sketches.ranges(cursors) if self._is_in_file else [slice(0, cursors.size)]:
            state = np.array([first + part.start, 0])
            while state[0] < first + part.stop:
                block, state[1] = np.empty(_BUFFER_ENTRIES, np.uint64), 0
                take(
                    self._hashes, self._numbers, self._cursors, self._ends, state, first + part.stop, last, self._bits,
                    counts, block,
                )  # fmt: skip
                blocks.append(block[: state[1]])
        return blocks, counts

    def _distribute(self, entries: Hashes, blocks: list[Hashes], begins: Numbers) -> None:
        from whorl.duplicates.compiled_prefix_filter import distribute

        for block in blocks:
            distribute(block, self._bits, begins, entries)

    def _select_entries(
        self, entries: Hashes, ends: Numbers, columns: TokenEntries, first: int, upto: int
    ) -> TokenEntries:
        from whorl.duplicates.compiled_prefix_filter import select_shared

        heads = np.empty((1 << _HEAD_BITS) + 1, np.int64)
        begin = int(ends[first - 1]) if first else 0
        is_larger = self._members.is_larger
        count = select_shared(entries, self._bits, ends, first, upto, self._last_indexable, is_larger, heads, *columns)
        # Copy, to release the larger buffers.
        return TokenEntries._make(column[begin : begin + count].copy() for column in columns)


def _select_entries(keys: Hashes, members: LevelMembers, last_indexable: Hashes, member_bits: int) -> TokenEntries:
    """Select the entries of hashes that can lead to a pair, as `index_tokens` describes; `keys` must ascend."""
    tokens = keys >> np.uint64(member_bits)
    frequency = np.diff(run_starts(tokens), append=keys.size)
    is_several = np.repeat(frequency > 1, frequency)
    keys, tokens = keys[is_several], tokens[is_several]
    frequency = frequency[frequency > 1]
    owners = owners_of(keys, member_bits)
    is_indexable = tokens <= last_indexable[owners]
    starts = np.cumsum(frequency) - frequency
    # A pair needs a member that may index the hash, and a member that may be the larger document.
    can_pair = (np.add.reduceat(is_indexable, starts, dtype=np.int64) > 0) & (
        np.add.reduceat(members.is_larger[owners], starts, dtype=np.int64) > 0
    )
    is_selected = np.repeat(can_pair, frequency)
    return TokenEntries(
        keys[is_selected], np.repeat(frequency, frequency)[is_selected].astype(np.int32), is_indexable[is_selected]
    )


def _join_entries(portions: list[TokenEntries]) -> TokenEntries:
    """Concatenate the entries of at least one batch.

    The function empties the list of batches, so that memory holds few copies.
    """
    columns = [list(column) for column in zip(*portions, strict=True)]
    portions.clear()
    return TokenEntries._make(map(_concatenate, columns))


def _concatenate(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    joined, at = np.empty(sum(part.size for part in parts), parts[0].dtype), 0
    parts.reverse()
    while parts:
        part = parts.pop()
        joined[at : at + part.size] = part
        at += part.size
    return joined


def owners_of(keys: Hashes, member_bits: int) -> Numbers:
    return (keys & np.uint64((1 << member_bits) - 1)).astype(np.int64)
