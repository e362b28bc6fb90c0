"""Candidate pairs of the similarity join: prefix filter over the rarest hashes of small sketches.

Documents are compared level by level. At the level of the larger document, both keep their hashes below the same bound,
a few tens of them (`aim`), whatever their sizes. If a partner contains the share c of a document's shingles, its sketch
has at least m = quantile(Binomial(k, c), 1 - recall) of the document's k hashes, with the wanted recall (the exact
hypergeometric law has a smaller spread and gives no fewer). Two sketches that share m hashes share one among
the first k - m + 1 of each, in any order applied to both: the prefix filter. The order is rarest first, so a hash of
only one document costs nothing, and a hash of a hundred thousand documents (a licence, a menu, a footer) is used only
for documents that contain little else.

These may still produce too many pairs. A hash that produces more than `most` pairs is deferred: its documents go
through another round with four times the hashes, which separate documents above the threshold from those just below,
and so on until the sketches are exhausted. If a hash still produces too many pairs then, these are mostly true
duplicates; they are returned as one block (`Crowd`).

Sources: S. Chaudhuri, V. Ganti, R. Kaushik, A primitive operator for similarity joins in data cleaning (ICDE 2006); R.
Bayardo, Y. Ma, R. Srikant, Scaling up all pairs similarity search (WWW 2007), for the prefix filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from whorl.arrays import run_starts, spread
from whorl.context import require_time
from whorl.duplicates.options import PairQuestion
from whorl.duplicates.rounds import MOST_PAIRS, Looked, Round, rounds
from whorl.duplicates.sketches import Numbers, Sketches
from whorl.duplicates.token_index import Bools, Entries, Hashes, Members, Met, meeting, owners_of
from whorl.duplicates.verify import is_fast

#: Approximate number of pairs yielded at once; bounds the memory.
AT_ONCE = 1 << 22


class Some(NamedTuple):
    """A batch of candidate pairs.

    Attributes:
        smaller: Indices of the smaller documents; int64 array of shape (pairs,).
        larger: Indices of the larger documents; int64 array of shape (pairs,).
    """

    smaller: Numbers
    larger: Numbers


class Crowd(NamedTuple):
    """High-frequency block: documents that share a hash and that no further hash separates; any two are candidates.

    Attributes:
        places: Indices of the documents, smaller documents first; int64 array of shape (documents,).
    """

    places: Numbers


def find_candidates(
    sketches: Sketches,
    question: PairQuestion,
    *,
    crowds: bool = False,
    hang_together: Callable[[Numbers], bool] = lambda places: False,
    most: int = MOST_PAIRS,
    to_look: Sequence[Round] | None = None,
    workers: int = 1,
) -> Iterator[Some | Crowd]:
    """Yield the pairs that may reach the threshold; a few come more than once.

    Args:
        sketches: Sketches of the documents; documents without shingles make no pairs.
        question: Options of the search.
        crowds: Whether to yield blocks, in which any two documents are candidates, instead of their pairs.
        hang_together: Called with the indices of a block before more of its hashes are used; returns whether the
            block's pairs are already decided, so that it need not be yielded.
        most: Pairs that one hash may produce in a round; in the last round a hash with more pairs becomes a block.
        to_look: Rounds to run, if earlier rounds ran elsewhere; None for all.
        workers: Threads for the compiled loops.
    """
    places = np.flatnonzero(sketches.sizes > 0)
    for one in rounds(question, int(sketches.counts.max(initial=1))) if to_look is None else to_look:
        search = _Search(sketches, one, most, workers, hang_together, gives_crowds=crowds)
        yield from search.run(places)
        places = search.put_off()
        if not places.size:
            return


class _Search:
    """One round of the prefix filter."""

    def __init__(
        self,
        sketches: Sketches,
        one: Round,
        most: int,
        workers: int,
        hang_together: Callable[[Numbers], bool],
        *,
        gives_crowds: bool,
    ) -> None:
        self._sketches, self._round, self._most, self._gives_crowds = sketches, one, most, gives_crowds
        self._hang_together, self._workers = hang_together, workers
        self._question = one.question
        self._put_off: list[Numbers] = []

    def put_off(self) -> Numbers:
        """Return the indices of the documents deferred to the next round."""
        return np.unique(np.concatenate([np.empty(0, np.int64), *self._put_off]))

    def run(self, places: Numbers) -> Iterator[Some | Crowd]:
        """Yield the candidates among documents with the given ascending indices."""
        sizes = self._sketches.sizes[places]
        # numpy sorts small integer types with a radix sort.
        places = places[np.argsort(sizes.astype(np.min_scalar_type(sizes.max(initial=0))), kind="stable")]
        levels = self._round.home_levels(self._sketches, self._sketches.sizes[places])
        for level in np.unique(levels).tolist():
            yield from self._compare(*self._taking_part(places, levels, level), level)

    def _taking_part(self, places: Numbers, levels: Numbers, level: int) -> tuple[Numbers, Bools]:
        """Return the indices of the documents compared at a level, and whether it is the home level of each."""
        is_home, sizes = levels == level, self._sketches.sizes[places]
        takes_part = self._round.taking_part(sizes, levels, level, int(sizes[is_home].min()))
        return places[takes_part], is_home[takes_part]

    def _compare(self, places: Numbers, is_home: Bools, level: int) -> Iterator[Some | Crowd]:
        if places.size < 2:
            return
        members = self._members(places, is_home, level)
        member_bits = max(1, (places.size - 1).bit_length())
        met = meeting(self._sketches, members, level, member_bits, self._workers)
        found_by, asked = self._rarest(members, met, member_bits)
        del met
        yield from self._pairs(members, found_by, asked, member_bits)

    def _members(self, places: Numbers, is_home: Bools, level: int) -> Members:
        sizes = self._sketches.sizes[places]
        looked = self._round.looked(self._sketches, places, level)
        return Members(
            places=places,
            looked=looked,
            is_larger=is_home,
            first=np.searchsorted(sizes, self._question.smallest_partner(sizes)),
        )

    def _rarest(self, members: Members, met: Met, member_bits: int) -> tuple[Hashes, Hashes]:
        """Return the keys that the prefix filter keeps, as index prefixes and as probe prefixes."""
        entries = met.entries
        found_by, asks = members.looked.prefixes(members.is_larger, met.counts, met.offered)
        if is_fast(entries.keys.size):
            is_found_by, is_asked = _rarest_fast(entries, met.counts, found_by, asks, member_bits)
        else:
            is_found_by, is_asked = _rarest(entries, found_by, asks, member_bits)
        return entries.keys[is_found_by], entries.keys[is_asked]

    def _pairs(self, members: Members, found_by: Hashes, asked: Hashes, member_bits: int) -> Iterator[Some | Crowd]:
        larger = owners_of(asked, member_bits)
        hashes = asked - larger.astype(np.uint64)
        # Members are numbered by size, so the smaller documents with the same hash are a contiguous range.
        low = np.searchsorted(found_by, hashes | members.first[larger].astype(np.uint64))
        counts = np.maximum(0, np.searchsorted(found_by, asked) - low)
        is_left = counts > 0
        for group in crowded(hashes, counts, self._most):
            there = owners_of(found_by[low[group].min() : (low[group] + counts[group]).max()], member_bits)
            together = np.unique(np.concatenate([larger[group], there]))
            if not self._round.is_last and self._can_be_told(members, together):
                if not self._hang_together(members.places[together]):
                    self._put_off.append(members.places[together])
            elif self._gives_crowds:
                yield Crowd(members.places[together])
            else:
                continue
            is_left[group] = False
        # Handle all partners of one larger document at once, so that no pair comes twice.
        left = np.flatnonzero(is_left)
        left = left[np.argsort(larger[left], kind="stable")]
        ends = np.cumsum(counts[left])
        first = np.flatnonzero(np.diff(larger[left], prepend=-1))
        # The last document may have more pairs than the portion has room for.
        after = np.searchsorted(ends[first], np.arange(AT_ONCE, ends[-1] if ends.size else 0, AT_ONCE))
        cuts = np.append(first, left.size)[after]
        for portion in np.split(left, np.unique(cuts)):
            require_time()
            if portion.size:
                yield _some(members, found_by, low[portion], counts[portion], larger[portion], member_bits)

    def _can_be_told(self, members: Members, which: Numbers) -> bool:
        """Return whether the sketches hold further hashes of these members."""
        looked = Looked(*(column[which] for column in members.looked))
        return bool(self._round.can_tell_more(self._sketches, members.places[which], looked).any())


def crowded(groups: npt.NDArray[Any], counts: Numbers, most: int) -> list[Numbers]:
    """Return the entries that produce pairs, for each group with too many pairs; entries of a group are adjacent.

    Args:
        groups: Group of each entry; array of shape (entries,).
        counts: Number of pairs of each entry.
        most: Pairs that a group may produce.

    >>> [group.tolist() for group in crowded(np.array([4, 4, 4, 6, 6]), np.array([3, 0, 2, 1, 1]), most=2)]
    [[0, 2]]
    """
    if not groups.size:
        return []
    starts = run_starts(groups)
    ends = np.append(starts[1:], groups.size)
    crowds = np.flatnonzero(np.add.reduceat(counts, starts) > most)
    return [np.flatnonzero(counts[starts[at] : ends[at]]) + starts[at] for at in crowds.tolist()]


def _some(members: Members, found_by: Hashes, low: Numbers, counts: Numbers, larger: Numbers, member_bits: int) -> Some:
    """Return the pairs of larger documents with the owners of their ranges of entries, each pair once."""
    smaller = owners_of(found_by[spread(low, counts)], member_bits)
    half = np.uint64(32)
    pairs = np.sort((smaller.astype(np.uint64) << half) | np.repeat(larger, counts).astype(np.uint64))
    pairs = pairs[run_starts(pairs)]
    return Some(
        members.places[(pairs >> half).astype(np.int64)],
        members.places[(pairs & np.uint64((1 << 32) - 1)).astype(np.int64)],
    )


def rarest(
    owners: Numbers, frequency: npt.NDArray[Any], is_offered: Bools, found_by: Numbers, asks: Numbers
) -> tuple[Bools, Bools]:
    """Return two masks of entries: index prefixes and probe prefixes of the members, rarest first, ties by hash.

    Args:
        owners: Member of each entry; the entries of a member are in the order of their hashes. Array of shape
            (entries,).
        frequency: Number of members with the entry's hash.
        is_offered: Whether the entry may be in the member's index prefix, as the smaller document.
        found_by: Length of each member's index prefix, in offered entries; array of shape (members,).
        asks: Length of each member's probe prefix; array of shape (members,).
    """
    is_found_by, is_asked = np.zeros(owners.size, np.bool_), np.zeros(owners.size, np.bool_)
    which = np.flatnonzero((found_by[owners] > 0) & is_offered | (asks[owners] > 0))
    # The sort is stable, so ties stay in the order of their hashes.
    which = which[np.lexsort((frequency[which], owners[which]))]
    ranked, offered = owners[which], is_offered[which]
    is_found_by[which] = offered & (_ranks(ranked, offered) < found_by[ranked])
    is_asked[which] = _ranks(ranked, np.ones(which.size, np.bool_)) < asks[ranked]
    return is_found_by, is_asked


def _rarest(entries: Entries, found_by: Numbers, asks: Numbers, member_bits: int) -> tuple[Bools, Bools]:
    """Return the masks of `rarest` for ascending entries."""
    return rarest(owners_of(entries.keys, member_bits), entries.frequency, entries.is_offered, found_by, asks)


def _rarest_fast(
    entries: Entries, met: Numbers, found_by: Numbers, asks: Numbers, member_bits: int
) -> tuple[Bools, Bools]:
    """Return the masks of `_rarest` with the compiled loop; `met` is the number of entries of each member."""
    from whorl.duplicates.compiled import rarest

    count = entries.keys.size
    is_found_by, is_asked = np.empty(count, np.bool_), np.empty(count, np.bool_)
    begins, slots = np.cumsum(met) - met, np.empty(count, np.uint32 if count < 1 << 32 else np.int64)
    aside = np.empty(int(met.max(initial=0)), np.uint64)
    rarest(
        entries.keys, entries.frequency, entries.is_offered, member_bits, found_by, asks, begins, slots, aside,
        is_found_by, is_asked,
    )  # fmt: skip
    return is_found_by, is_asked


def _ranks(groups: Numbers, counts: Bools) -> Numbers:
    """Return the number of counted entries before each entry within its group; entries of a group are adjacent."""
    if not groups.size:
        return groups
    before: Numbers = np.cumsum(counts) - counts
    starts = run_starts(groups)
    return before - np.repeat(before[starts], np.diff(np.append(starts, groups.size)))
