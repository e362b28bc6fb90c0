"""Finds candidate pairs: documents whose sketches share one of their rarest hashes (prefix filter).

Documents are compared level by level. Level L has the hashes in the lowest fraction 2**-L of the hash space, so each
level has half of the hashes of the level below it. A pair is compared at the level of its larger document, with the few
tens of hashes that each document has at this level (`RoundParameters.aim`).

A document has k hashes at a level, and its partner contains the share c of the document's shingles. With probability
`recall`, the partner then has at least m = quantile(Binomial(k, c), 1 - recall) of these k hashes. (The exact
distribution is hypergeometric; it is narrower, so its m is at least as large.)

If two sketches share m hashes, then for any order of the hashes, the first k - m + 1 hashes of the two sketches have a
hash in common. This is the prefix filter: the smaller document is indexed under its first hashes (index prefix), and
the larger document looks up its own first hashes (probe prefix). The rarest hashes come first. A hash that only one
document has costs nothing. A hash that a hundred thousand documents share (a licence, a menu, a footer) is used only
for documents that contain little else.

If a hash still produces more than `JoinOptions.most_pairs` pairs, its documents are deferred to another round with four
times the hashes. More hashes separate documents above the threshold from documents just below it. After the last round,
the documents that share a frequent hash are mostly true duplicates; they form one block (`HashBlock`).

Before the prefixes are chosen, the filter indexes the hashes that several documents share. The members of a level are
the documents that are compared at this level; an entry is one hash of one member. The hash values are divided into
ranges, and each pass over the members reads the hashes of the next range. Between passes, a member and its entries are
dropped if the member could not reach the threshold even if all of its unread hashes were shared. Most members are
dropped after a quarter of their hashes. Members are read in file order, so that only a small part of the file must be
in memory.

A prefix filter requires that all members order their hashes in the same way. This is still true after pruning, because
all members use the same frequency for a hash. So pruning does not change the pairs that are found.

Sources: S. Chaudhuri, V. Ganti, R. Kaushik, A primitive operator for similarity joins in data cleaning (ICDE 2006); R.
Bayardo, Y. Ma, R. Srikant, Scaling up all pairs similarity search (WWW 2007), for the prefix filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import expand_ranges, run_starts
from whorl.duplicates.prefix_lengths import JoinOptions, PrefixLengths, RoundParameters, rounds
from whorl.duplicates.sketch_arrays import Bools, Hashes, Numbers, Sketches
from whorl.duplicates.thread_ranges import run_in_threads, split_evenly
from whorl.duplicates.verify_by_sketches import is_compiled_faster
from whorl.request_context import require_time

#: Approximate number of candidate pairs to yield at a time; limits the memory.
PAIRS_AT_ONCE = 1 << 22
#: Approximate number of hashes to read in one range; limits the memory.
HASHES_AT_ONCE = 1 << 22
#: Minimum and maximum number of ranges of hash values. Each range is read in one pass over the remaining members.
#: Members are pruned `_PRUNINGS` times, at even intervals between the passes.
_LEAST_RANGES, _MOST_RANGES, _PRUNINGS = 8, 32, 8
#: Binary logarithm of the number of entries to sort at a time; this number of entries fits into the processor cache.
_PART_BITS = 12
_HEAD_BITS = 16
_BUFFER_ENTRIES = 1 << 19


class CandidatePairs(NamedTuple):
    """Pairs that may be near-duplicates, as two arrays: indices of the smaller and larger documents."""

    smaller: Numbers
    larger: Numbers


class HashBlock(NamedTuple):
    """Documents, sorted by size, that share a frequent hash; any two of them are a candidate pair."""

    indices: Numbers


def find_candidates(
    sketches: Sketches, options: JoinOptions, connect_block: Callable[[Numbers], bool] = lambda indices: False
) -> Iterator[CandidatePairs | HashBlock]:
    """Yield batches of candidate pairs, which may reach the threshold. A few pairs occur several times.

    If a hash has too many pairs, the next round compares its documents by more of their hashes. If this is the last
    round, or the documents have no more hashes, yield their pairs anyway. But with `options.spanning_only`, the caller
    needs only enough pairs to connect each cluster, so yield the documents as one block.

    Args:
        connect_block: Called with the documents of a hash before they are left to the next round. Returns whether it
            has connected them, so that the next round need not compare them.
    """
    indices, rounds_left = np.flatnonzero(sketches.sizes > 0), options.rounds
    if rounds_left is None:
        rounds_left = rounds(options.pairs, int(sketches.counts.max(initial=1)))
    for current_round in rounds_left:
        search = _FilterRound(sketches, current_round, options, connect_block)
        yield from search.run(indices)
        if not search.deferred:
            return
        indices = np.unique(np.concatenate(search.deferred))


@dataclass(frozen=True, slots=True, eq=False)
class _FilterRound:
    """Finds the candidate pairs of one round, level by level; defers the documents of hashes with too many pairs."""

    sketches: Sketches
    round: RoundParameters
    options: JoinOptions
    connect_block: Callable[[Numbers], bool]
    deferred: list[Numbers] = field(default_factory=list)

    def run(self, indices: Numbers) -> Iterator[CandidatePairs | HashBlock]:
        sizes = self.sketches.sizes[indices]
        # Convert the sizes to a small integer type, which numpy sorts with a fast radix sort.
        order = np.argsort(sizes.astype(np.min_scalar_type(sizes.max(initial=0))), kind="stable")
        indices, sizes = indices[order], sizes[order]
        levels = self.round.home_levels(self.sketches.scheme, sizes)
        for level in np.unique(levels).tolist():
            members = LevelMembers.choose(self.sketches, self.round, indices, levels, level)
            if members.indices.size > 1:
                yield from self._compare(members, level)

    def _compare(self, members: LevelMembers, level: int) -> Iterator[CandidatePairs | HashBlock]:
        member_bits = max(1, (members.indices.size - 1).bit_length())
        shared = collect_shared_hashes(self.sketches, members, level, member_bits, self.options.workers)
        prefixes = members.lengths.prefixes(members.is_larger, shared.counts, shared.indexable)
        index_keys, probe_keys = _prefix_keys(shared, prefixes, member_bits)
        # Only the prefixes are needed from here on, so release the other entries.
        del shared
        yield from self._pairs(members, index_keys, probe_keys, member_bits)

    def _pairs(
        self, members: LevelMembers, index_keys: Hashes, probe_keys: Hashes, member_bits: int
    ) -> Iterator[CandidatePairs | HashBlock]:
        """Yield the pairs of a level. If a hash has too many pairs, defer its documents or yield them as a block."""
        larger = members_of_keys(probe_keys, member_bits)
        hashes = probe_keys - larger.astype(np.uint64)
        # Members are numbered by size, so the smaller partners under one hash are a contiguous range.
        low = np.searchsorted(index_keys, hashes | members.first[larger].astype(np.uint64))
        counts = np.maximum(0, np.searchsorted(index_keys, probe_keys) - low)
        is_left = counts > 0
        for group in find_oversized_groups(hashes, counts, self.options.most_pairs):
            smaller = members_of_keys(index_keys[low[group].min() : (low[group] + counts[group]).max()], member_bits)
            block = np.unique(np.concatenate([larger[group], smaller]))
            lengths = PrefixLengths(*(column[block] for column in members.lengths))
            has_more_hashes = self.round.has_more_hashes(self.sketches, members.indices[block], lengths)
            if not self.round.is_last and has_more_hashes.any():
                if not self.connect_block(members.indices[block]):
                    self.deferred.append(members.indices[block])
            elif self.options.spanning_only:
                yield HashBlock(members.indices[block])
            else:
                continue
            is_left[group] = False
        # Put all partners of a larger document together, so that a batch can drop repeated pairs.
        left = np.flatnonzero(is_left)
        left = left[np.argsort(larger[left], kind="stable")]
        for owners, entries in expand_ranges(low[left], low[left] + counts[left], PAIRS_AT_ONCE):
            require_time()
            smaller = members_of_keys(index_keys[entries], member_bits)
            yield _candidate_pairs(members, smaller, larger[left[owners]])


def find_oversized_groups(hashes: npt.NDArray[Any], counts: Numbers, most: int) -> list[Numbers]:
    """Return, for each hash with more than `most` pairs, the indices of its entries that have pairs.

    `hashes` has the hash of each entry; entries of a hash are adjacent. `counts` has the number of pairs of each entry.

    >>> groups = find_oversized_groups(np.array([4, 4, 4, 6, 6]), np.array([3, 0, 2, 1, 1]), most=2)
    >>> [group.tolist() for group in groups]
    [[0, 2]]
    """
    if not hashes.size:
        return []
    starts = run_starts(hashes)
    ends = np.append(starts[1:], hashes.size)
    oversized = np.flatnonzero(np.add.reduceat(counts, starts) > most)
    return [np.flatnonzero(counts[starts[at] : ends[at]]) + starts[at] for at in oversized.tolist()]


def _candidate_pairs(members: LevelMembers, smaller: Numbers, larger: Numbers) -> CandidatePairs:
    """Convert pairs of member numbers to pairs of document indices, and drop repeated pairs."""
    half = np.uint64(32)
    pairs = np.sort((smaller.astype(np.uint64) << half) | larger.astype(np.uint64))
    pairs = pairs[run_starts(pairs)]
    return CandidatePairs(
        members.indices[(pairs >> half).astype(np.int64)],
        members.indices[(pairs & np.uint64((1 << 32) - 1)).astype(np.int64)],
    )


def mark_prefixes(
    owners: Numbers, frequency: npt.NDArray[Any], is_indexable: Bools, index_lengths: Numbers, probe_lengths: Numbers
) -> tuple[Bools, Bools]:
    """Return two masks of entries (hashes of members): entries in index prefixes, and entries in probe prefixes.

    A prefix has a member's entries with the rarest hashes; ties go to the smaller hash.

    Args:
        owners: Member of each entry; the entries of a member are in the order of their hashes.
        frequency: Number of members with the entry's hash.
        is_indexable: Whether the member's index prefix may contain the entry (see `PrefixLengths.indexable`).
        index_lengths, probe_lengths: Lengths of each member's prefixes; an index prefix counts only indexable entries.
    """
    is_indexed, is_probed = np.zeros(owners.size, np.bool_), np.zeros(owners.size, np.bool_)
    entries = np.flatnonzero((index_lengths[owners] > 0) & is_indexable | (probe_lengths[owners] > 0))
    entries = entries[np.lexsort((frequency[entries], owners[entries]))]
    ranked, indexable = owners[entries], is_indexable[entries]
    is_indexed[entries] = indexable & (_ranks(ranked, indexable) < index_lengths[ranked])
    is_probed[entries] = _ranks(ranked, np.ones(entries.size, np.bool_)) < probe_lengths[ranked]
    return is_indexed, is_probed


def _prefix_keys(shared: SharedHashes, prefixes: tuple[Numbers, Numbers], member_bits: int) -> tuple[Hashes, Hashes]:
    """Return the keys (see `HashEntries`) in all index prefixes and in all probe prefixes, given the prefix lengths."""
    keys, frequency, is_indexable = shared.entries
    if is_compiled_faster(keys.size):
        from whorl.duplicates import compiled_prefix_filter

        is_indexed, is_probed = np.empty(keys.size, np.bool_), np.empty(keys.size, np.bool_)
        slots = np.empty(keys.size, np.uint32 if keys.size < 1 << 32 else np.int64)
        scratch = np.cumsum(shared.counts) - shared.counts, slots, np.empty(shared.counts.max(initial=0), np.uint64)
        compiled_prefix_filter.mark_prefixes(*shared.entries, member_bits, *prefixes, *scratch, is_indexed, is_probed)
    else:
        is_indexed, is_probed = mark_prefixes(members_of_keys(keys, member_bits), frequency, is_indexable, *prefixes)
    return keys[is_indexed], keys[is_probed]


def _ranks(groups: Numbers, is_counted: Bools) -> Numbers:
    """Count, for each entry, the earlier counted entries of its group; the entries of a group are adjacent."""
    if not groups.size:
        return groups
    before: Numbers = np.cumsum(is_counted) - is_counted
    starts = run_starts(groups)
    return before - np.repeat(before[starts], np.diff(starts, append=groups.size))


@dataclass(frozen=True, slots=True, eq=False)
class LevelMembers:
    """Documents that are compared at one level (its members), ordered by size. Members are numbered in this order.

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
        cls, sketches: Sketches, current_round: RoundParameters, indices: Numbers, home_levels: Numbers, level: int
    ) -> LevelMembers:
        """Choose the documents to compare at a level, among those of `indices`, which are ordered by size."""
        is_home, sizes = home_levels == level, sketches.sizes[indices]
        chosen = current_round.participants(sizes, home_levels, level, int(sizes[is_home].min()))
        sizes, first = sizes[chosen], current_round.pair_options.smallest_partner(sizes[chosen])
        lengths = current_round.prefix_lengths(sketches, indices[chosen], level)
        return cls(indices[chosen], lengths, is_home[chosen], np.searchsorted(sizes, first))


class HashEntries(NamedTuple):
    """Entries of the index, one for each hash of a member.

    Attributes:
        keys: Hash and member number in one uint64, the hash in the upper bits; ascending.
        frequency: Number of members with the entry's hash.
        is_indexable: Whether the member's index prefix may contain the hash (see `PrefixLengths.indexable`).
    """

    keys: Hashes
    frequency: npt.NDArray[np.int32]
    is_indexable: Bools


class SharedHashes(NamedTuple):
    """The entries (a hash and a member) of all hashes that can lead to a pair, without entries of pruned members.

    `counts` has the number of each member's entries, `indexable` the number of entries that the index may contain.
    """

    entries: HashEntries
    counts: Numbers
    indexable: Numbers


def collect_shared_hashes(
    sketches: Sketches, members: LevelMembers, level: int, member_bits: int, workers: int
) -> SharedHashes:
    """Index the hashes that can lead to a pair; leave out the entries of pruned members.

    A hash can lead to a pair if at least two members have it, one of them may have it in its index prefix, and one of
    them may be the larger document of a pair. `member_bits` is the width in bits of a member number in a key.
    """
    total = int(members.lengths.count_used_hashes(members.is_larger).sum())
    ranges = min(_MOST_RANGES, max(_LEAST_RANGES, -(-total // HASHES_AT_ONCE)))
    sweep = _HashSweep(sketches, members, level, member_bits, workers, fast=is_compiled_faster(total))
    portions: list[HashEntries] = []
    for number in range(1, ranges + 1):
        require_time()
        portions += sweep.read_upto(np.uint64(sketches.scheme.bound(level) * number // ranges - 1))
        if number * _PRUNINGS // ranges > (number - 1) * _PRUNINGS // ranges:
            is_open = sweep.prune()
            for at, portion in enumerate(portions):
                is_left = is_open[members_of_keys(portion.keys, member_bits)]
                portions[at] = HashEntries._make(column[is_left] for column in portion)
    return SharedHashes(_join_entries(portions), sweep.shared, sweep.shared_indexable)


class _HashSweep:
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

    def read_upto(self, last: np.uint64) -> list[HashEntries]:
        portions = self._read_compiled(last) if self._is_fast else [self._read_with_numpy(last)]
        for entries in portions:
            owners = members_of_keys(entries.keys, self._member_bits)
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

    def _read_with_numpy(self, last: np.uint64) -> HashEntries:
        indices = self._members.indices[self._numbers]
        starts = self._sketches.starts[indices]
        upto = np.minimum(self._ends, starts + self._sketches.count_upto(indices, np.full(indices.shape, last)))
        hashes, owners = self._sketches.copy_hashes(indices, self._cursors - starts, upto - self._cursors)
        self._cursors = upto
        keys = (hashes >> np.uint64(self._shift)) << np.uint64(self._member_bits)
        keys |= self._numbers[owners].astype(np.uint64)
        keys.sort()
        return _select_with_numpy(keys, self._members, self._last_indexable, self._member_bits)

    def _read_compiled(self, last: np.uint64) -> list[HashEntries]:
        ranges = split_evenly(np.cumsum(self._ends - self._cursors), self._workers)
        taken, parts = zip(*run_in_threads(partial(self._read_range, last), ranges), strict=True)
        counts = np.stack(parts)
        ends = np.cumsum(counts.sum(axis=0))
        total = int(ends[-1])
        entries = np.empty(total, np.uint64)
        # `entries` is grouped by part, and each part by thread, so that no two threads write to the same element.
        # `begins` has, for each thread, the offset of its first entry of each part.
        before = np.cumsum(counts, axis=0) - counts
        begins = ends + np.roll(before, -1, axis=1)
        run_in_threads(partial(self._distribute, entries), zip(taken, begins, strict=True))
        del taken
        ends = np.append(ends[1:], 0)
        columns = HashEntries(np.empty(total, np.uint64), np.empty(total, np.int32), np.empty(total, np.bool_))
        return run_in_threads(
            partial(self._select_compiled, entries, ends, columns), split_evenly(ends[:-1], self._workers)
        )

    def _read_range(self, last: np.uint64, first: int, upto: int) -> tuple[list[Hashes], Numbers]:
        """Read the entries of the members `first` to `upto` in blocks.

        Also return the number of entries in each part: a part has the entries whose leading bits are equal. Element 0
        is 0, and element i + 1 counts the entries of part i.
        """
        from whorl.duplicates.compiled_prefix_filter import make_entries

        counts = np.zeros((1 << max(1, HASHES_AT_ONCE.bit_length() - _PART_BITS)) + 1, np.int64)
        blocks: list[Hashes] = []
        cursors = self._cursors[first:upto]
        for part in self._sketches.ranges(cursors) if self._is_in_file else [slice(0, cursors.size)]:
            state = np.array([first + part.start, 0])
            while state[0] < first + part.stop:
                block, state[1] = np.empty(_BUFFER_ENTRIES, np.uint64), 0
                make_entries(
                    self._hashes, self._numbers, self._cursors, self._ends, state, first + part.stop, last, self._bits,
                    counts, block,
                )  # fmt: skip
                blocks.append(block[: state[1]])
        return blocks, counts

    def _distribute(self, entries: Hashes, blocks: list[Hashes], begins: Numbers) -> None:
        from whorl.duplicates.compiled_prefix_filter import distribute_entries

        for block in blocks:
            distribute_entries(block, self._bits, begins, entries)

    def _select_compiled(
        self, entries: Hashes, ends: Numbers, columns: HashEntries, first: int, upto: int
    ) -> HashEntries:
        from whorl.duplicates.compiled_prefix_filter import select_shared

        heads = np.empty((1 << _HEAD_BITS) + 1, np.int64)
        begin = int(ends[first - 1]) if first else 0
        is_larger = self._members.is_larger
        count = select_shared(entries, self._bits, ends, first, upto, self._last_indexable, is_larger, heads, *columns)
        # Copy, to release the larger buffers.
        return HashEntries._make(column[begin : begin + count].copy() for column in columns)


def _select_with_numpy(keys: Hashes, members: LevelMembers, last_indexable: Hashes, member_bits: int) -> HashEntries:
    """Select the entries of hashes that can lead to a pair (see `collect_shared_hashes`); `keys` must ascend."""
    hashes, owners = keys >> np.uint64(member_bits), members_of_keys(keys, member_bits)
    starts = run_starts(hashes)
    frequency, is_indexable = np.diff(starts, append=keys.size), hashes <= last_indexable[owners]
    can_pair = (frequency > 1) & np.logical_or.reduceat(is_indexable, starts)
    can_pair &= np.logical_or.reduceat(members.is_larger[owners], starts)
    is_selected, frequency = np.repeat(can_pair, frequency), np.repeat(frequency, frequency)
    return HashEntries(keys[is_selected], frequency[is_selected].astype(np.int32), is_indexable[is_selected])


def _join_entries(portions: list[HashEntries]) -> HashEntries:
    """Concatenate the entries of at least one batch; empty the list on the way, to release the copied arrays."""
    columns = [list(column) for column in zip(*portions, strict=True)]
    portions.clear()
    return HashEntries._make(map(_concatenate, columns))


def _concatenate(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    joined, at = np.empty(sum(part.size for part in parts), parts[0].dtype), 0
    parts.reverse()
    while parts:
        part = parts.pop()
        joined[at : at + part.size] = part
        at += part.size
    return joined


def members_of_keys(keys: Hashes, member_bits: int) -> Numbers:
    return (keys & np.uint64((1 << member_bits) - 1)).astype(np.int64)
