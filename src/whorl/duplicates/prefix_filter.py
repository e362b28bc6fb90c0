"""Finds candidate pairs: documents whose sketches share one of their rarest hashes (prefix filter).

Documents are compared level by level. Level L has the hashes in the lowest fraction 2**-L of the hash space, so each
level has half of the hashes of the level below it. A pair is compared at the level of its larger document, by the few
tens of hashes that each document has at this level (`Round.aim`).

A document has k hashes at a level, and its partner contains the share c of the document's shingles. With probability
`recall`, the partner then has at least m = quantile(Binomial(k, c), 1 - recall) of these k hashes. (The exact
distribution is hypergeometric; it is narrower, so its m is at least as large.) If two sketches share m hashes, then for
any order of the hashes, the first k - m + 1 hashes of each sketch have one in common. This is the prefix filter: the
smaller document is indexed under its first hashes (index prefix), and the larger one looks up its own first hashes
(probe prefix). The rarest hashes come first. A hash that only one document has costs nothing. A hash that a hundred
thousand documents share (a licence, a menu, a footer) is used only for documents that contain little else.

If a hash still produces more than `JoinOptions.most` pairs, its documents are deferred to another round with four times
the hashes. More hashes separate documents above the threshold from documents just below it. After the last round, the
documents that share a frequent hash are mostly true duplicates; they form one block (`HashBlock`).

Sources: S. Chaudhuri, V. Ganti, R. Kaushik, A primitive operator for similarity joins in data cleaning (ICDE 2006); R.
Bayardo, Y. Ma, R. Srikant, Scaling up all pairs similarity search (WWW 2007), for the prefix filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import run_starts, spread
from whorl.duplicates.prefix_lengths import JoinOptions, PrefixLengths, Round, rounds
from whorl.duplicates.sketch_arrays import Numbers, Sketches
from whorl.duplicates.token_index import (
    Bools,
    Hashes,
    IndexedTokens,
    LevelMembers,
    index_tokens,
    owners_of,
)
from whorl.duplicates.verify_sketches import is_fast
from whorl.request_context import require_time

#: Approximate number of candidate pairs to yield at a time; limits the memory.
AT_ONCE = 1 << 22


class CandidatePairs(NamedTuple):
    """Pairs that may be near-duplicates, as two arrays: indices of the smaller and larger documents."""

    smaller: Numbers
    larger: Numbers


class HashBlock(NamedTuple):
    """Documents, sorted by size, that share a frequent hash; their other hashes cannot separate them.

    Any two of them are a candidate pair.
    """

    indices: Numbers


def find_candidates(
    sketches: Sketches, options: JoinOptions, connect_block: Callable[[Numbers], bool] = lambda indices: False
) -> Iterator[CandidatePairs | HashBlock]:
    """Yield the candidate pairs, which may reach the threshold, in batches. A few pairs occur several times.

    With `options.spanning_only`, the caller needs only enough pairs to connect each cluster. If a hash still has too
    many pairs in the last round, its documents are yielded as one block instead of all their pairs, and the caller
    connects them. In an earlier round, `connect_block` gets the documents of this hash. It returns True if it has
    connected the documents; otherwise the next round compares them by more of their hashes.
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
    """Finds the candidate pairs of one round, level by level; defers the documents that share too frequent hashes."""

    sketches: Sketches
    round: Round
    options: JoinOptions
    connect_block: Callable[[Numbers], bool]
    #: Groups of documents that share a too frequent hash. The next round compares them.
    deferred: list[Numbers] = field(default_factory=list)

    def run(self, indices: Numbers) -> Iterator[CandidatePairs | HashBlock]:
        sizes = self.sketches.sizes[indices]
        # Convert the sizes to a small integer type, which numpy sorts with a fast radix sort.
        order = np.argsort(sizes.astype(np.min_scalar_type(sizes.max(initial=0))), kind="stable")
        indices, sizes = indices[order], sizes[order]
        levels = self.round.home_levels(self.sketches, sizes)
        for level in np.unique(levels).tolist():
            members = LevelMembers.choose(self.sketches, self.round, indices, levels, level)
            if members.indices.size > 1:
                yield from self._compare(members, level)

    def _compare(self, members: LevelMembers, level: int) -> Iterator[CandidatePairs | HashBlock]:
        member_bits = max(1, (members.indices.size - 1).bit_length())
        tokens = index_tokens(self.sketches, members, level, member_bits, self.options.workers)
        prefixes = members.lengths.prefixes(members.is_larger, tokens.counts, tokens.indexable)
        index_keys, probe_keys = _prefix_keys(tokens, prefixes, member_bits)
        # Release the memory of the other entries.
        del tokens
        yield from self._pairs(members, index_keys, probe_keys, member_bits)

    def _pairs(
        self, members: LevelMembers, index_keys: Hashes, probe_keys: Hashes, member_bits: int
    ) -> Iterator[CandidatePairs | HashBlock]:
        """Yield the pairs of a level.

        If a hash makes too many pairs, yield a block or defer its documents to the next round.
        """
        larger = owners_of(probe_keys, member_bits)
        hashes = probe_keys - larger.astype(np.uint64)
        # Members are numbered by size, so the smaller partners under one hash are a contiguous range.
        low = np.searchsorted(index_keys, hashes | members.first[larger].astype(np.uint64))
        counts = np.maximum(0, np.searchsorted(index_keys, probe_keys) - low)
        is_left = counts > 0
        for group in find_oversized_groups(hashes, counts, self.options.most):
            smaller = owners_of(index_keys[low[group].min() : (low[group] + counts[group]).max()], member_bits)
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
        # Put all partners of a larger document into one batch, so that the batch can drop repeated pairs.
        left = np.flatnonzero(is_left)
        left = left[np.argsort(larger[left], kind="stable")]
        ends = np.cumsum(counts[left])
        first = np.flatnonzero(np.diff(larger[left], prepend=-1))
        # Cut batches only between documents, even if one document has more than `AT_ONCE` pairs.
        after = np.searchsorted(ends[first], np.arange(AT_ONCE, ends[-1] if ends.size else 0, AT_ONCE))
        cuts = np.append(first, left.size)[after]
        for portion in np.split(left, np.unique(cuts)):
            require_time()
            if portion.size:
                yield _candidate_pairs(members, index_keys, low[portion], counts[portion], larger[portion], member_bits)


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


def _candidate_pairs(
    members: LevelMembers, index_keys: Hashes, low: Numbers, counts: Numbers, larger: Numbers, member_bits: int
) -> CandidatePairs:
    """Pair each larger document with the members in its ranges of index entries; return each pair once.

    Each range of `index_keys` has its start in `low`, its length in `counts`, and the member to pair with it in
    `larger`.
    """
    smaller = owners_of(index_keys[spread(low, counts)], member_bits)
    half = np.uint64(32)
    pairs = np.sort((smaller.astype(np.uint64) << half) | np.repeat(larger, counts).astype(np.uint64))
    pairs = pairs[run_starts(pairs)]
    return CandidatePairs(
        members.indices[(pairs >> half).astype(np.int64)],
        members.indices[(pairs & np.uint64((1 << 32) - 1)).astype(np.int64)],
    )


def mark_prefixes(
    owners: Numbers, frequency: npt.NDArray[Any], is_indexable: Bools, index_lengths: Numbers, probe_lengths: Numbers
) -> tuple[Bools, Bools]:
    """Return two masks of entries (hashes of members): in the member's index prefix, and in its probe prefix.

    A prefix has a member's entries with the rarest hashes. Among equally rare hashes, the smaller hash comes first.

    Args:
        owners: Member of each entry; the entries of a member are in the order of their hashes.
        frequency: Number of members with the entry's hash.
        is_indexable: Whether the entry may be in the index prefix, for pairs whose smaller document is the member.
        index_lengths, probe_lengths: Lengths of each member's prefixes. The length of an index prefix counts only
            indexable entries.
    """
    is_indexed, is_probed = np.zeros(owners.size, np.bool_), np.zeros(owners.size, np.bool_)
    entries = np.flatnonzero((index_lengths[owners] > 0) & is_indexable | (probe_lengths[owners] > 0))
    # The sort is stable, so ties stay in the order of their hashes.
    entries = entries[np.lexsort((frequency[entries], owners[entries]))]
    ranked, indexable = owners[entries], is_indexable[entries]
    is_indexed[entries] = indexable & (_ranks(ranked, indexable) < index_lengths[ranked])
    is_probed[entries] = _ranks(ranked, np.ones(entries.size, np.bool_)) < probe_lengths[ranked]
    return is_indexed, is_probed


def _prefix_keys(tokens: IndexedTokens, prefixes: tuple[Numbers, Numbers], member_bits: int) -> tuple[Hashes, Hashes]:
    """Return the keys (see `TokenEntries`) in all index prefixes, and in all probe prefixes, given their lengths."""
    keys, frequency, is_indexable = tokens.entries
    if is_fast(keys.size):
        from whorl.duplicates import compiled_prefix_filter

        is_indexed, is_probed = np.empty(keys.size, np.bool_), np.empty(keys.size, np.bool_)
        slots = np.empty(keys.size, np.uint32 if keys.size < 1 << 32 else np.int64)
        scratch = np.cumsum(tokens.counts) - tokens.counts, slots, np.empty(tokens.counts.max(initial=0), np.uint64)
        compiled_prefix_filter.mark_prefixes(*tokens.entries, member_bits, *prefixes, *scratch, is_indexed, is_probed)
    else:
        is_indexed, is_probed = mark_prefixes(owners_of(keys, member_bits), frequency, is_indexable, *prefixes)
    return keys[is_indexed], keys[is_probed]


def _ranks(groups: Numbers, counts: Bools) -> Numbers:
    """Count, for each entry, the earlier entries of its group that are marked in `counts`.

    The entries of a group are adjacent.
    """
    if not groups.size:
        return groups
    before: Numbers = np.cumsum(counts) - counts
    starts = run_starts(groups)
    return before - np.repeat(before[starts], np.diff(starts, append=groups.size))
