"""Pairs of documents that may be alike, found by the rarest hashes of small sketches.

Documents are compared level by level. At the level of the larger document both keep their hashes below the same
bound, a few tens of them (`aim`), whatever their sizes. Of k hashes of a document whose partner has the share c of
its shingles, at least m = quantile(Binomial(k, c), 1 - recall) are in the partner's sketch with the wanted recall
(the hypergeometric law, whose spread is smaller, gives no fewer). Two sketches that share m hashes share one among
the k - m + 1 of each that come first, in whatever order both are put: the prefix filter. The order is rarest first,
so a hash that stands in one document only needs no look at all, and one that stands in a hundred thousand (a licence,
a menu, a footer) is looked at only for documents that are made of little else.

Those may still be too many to be paired. A hash that makes more than `most` pairs is put off: its documents go
through another round with four times the hashes, which tell documents above the threshold from those just below,
and so on until the sketches are used up. What is many pairs then is many duplicates, and comes as a crowd.

Sources: S. Chaudhuri, V. Ganti, R. Kaushik, A primitive operator for similarity joins in data cleaning (ICDE 2006);
R. Bayardo, Y. Ma, R. Srikant, Scaling up all pairs similarity search (WWW 2007), for the prefix filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from whorl.arrays import run_starts
from whorl.context import require_time
from whorl.duplicates.question import PairQuestion
from whorl.duplicates.schedule import MOST_PAIRS, Looked, Round, rounds
from whorl.duplicates.sketches import Numbers, Sketches
from whorl.duplicates.threads import Stretch, even_stretches, in_threads
from whorl.duplicates.verify import is_fast

#: Hashes that are sorted at once, and pairs that are given out at once, about: what bounds the memory.
AT_ONCE = 1 << 22

#: Entries that are put in order together, as a power of two: they stay in the processor's cache.
_PART_BITS = 12
_HEAD_BITS = 16
#: Stretches of hashes that are looked at one after the other: each takes a look at every document.
_MOST_PARTS = 16

_Hashes = npt.NDArray[np.uint64]
_Bools = npt.NDArray[np.bool_]


class Some(NamedTuple):
    """Candidates.

    Attributes:
        smaller: Places of the smaller documents; int64 array of shape (pairs,).
        larger: Places of those they are to be compared with.
    """

    smaller: Numbers
    larger: Numbers


class Crowd(NamedTuple):
    """Documents that share a hash and cannot be told apart by more of them: any two are candidates.

    Attributes:
        places: int64 array of shape (documents,), smaller documents first.
    """

    places: Numbers


def find_candidates(
    sketches: Sketches,
    question: PairQuestion,
    *,
    crowds: bool = False,
    hang_together: Callable[[Numbers], bool] = lambda places: False,
    most: int = MOST_PAIRS,
    workers: int = 1,
) -> Iterator[Some | Crowd]:
    """Yield the pairs that may be above a threshold; a few come more than once.

    Args:
        sketches: The documents; those without shingles make no pairs.
        question: What is to be found.
        crowds: Whether documents of which any two are candidates come together, and not as pairs.
        hang_together: Takes the places of a crowd before more of its hashes are looked at; tells whether its pairs are
            decided, so that it need not come at all.
        most: Pairs that one hash may make in a round; at the end such a hash makes a crowd.
        workers: Threads that look for hashes that meet, where the compiled loops do.
    """
    places = np.flatnonzero(sketches.sizes > 0)
    for one in rounds(question, int(sketches.counts.max(initial=1))):
        search = _Search(sketches, one, most, workers, hang_together, gives_crowds=crowds)
        yield from search.run(places)
        places = search.put_off()
        if not places.size:
            return


@dataclass(frozen=True, slots=True, eq=False)
class _Members:
    """The documents that are compared at one level, smaller ones first, equal ones by their places.

    Attributes:
        places: Which ones they are; this and all others are arrays of shape (members,).
        looked: What is looked at of them.
        is_larger: Whether they are at home at this level, and so may be the larger document of a pair.
        first: The first member that is large enough to be the smaller document of a pair with this one.
    """

    places: Numbers
    looked: Looked
    is_larger: _Bools
    first: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class _Entries:
    """Hashes that members have: arrays of shape (entries,).

    Attributes:
        keys: The hash and the member's number in one uint64, the hash in the upper bits; ascending.
        frequency: How many members have the hash.
        is_offered: Whether the member is found by it as the smaller document.
    """

    keys: _Hashes
    frequency: npt.NDArray[np.int32]
    is_offered: _Bools


_NO_ENTRIES = _Entries(np.empty(0, np.uint64), np.empty(0, np.int32), np.empty(0, np.bool_))


class _Search:
    """One round."""

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
        """Return the places of the documents that need another round."""
        return np.unique(np.concatenate([np.empty(0, np.int64), *self._put_off]))

    def run(self, places: Numbers) -> Iterator[Some | Crowd]:
        """Yield the candidates among some documents."""
        places = places[np.lexsort((places, self._sketches.sizes[places]))]
        levels = self._round.home_levels(self._sketches, self._sketches.sizes[places])
        for level in np.unique(levels).tolist():
            yield from self._compare(*self._taking_part(places, levels, level), level)

    def _taking_part(self, places: Numbers, levels: Numbers, level: int) -> tuple[Numbers, _Bools]:
        """Return which documents are compared at a level, and which of them are at home there."""
        is_home, sizes = levels == level, self._sketches.sizes[places]
        takes_part = self._round.taking_part(sizes, levels, level, int(sizes[is_home].min()))
        return places[takes_part], is_home[takes_part]

    def _compare(self, places: Numbers, is_home: _Bools, level: int) -> Iterator[Some | Crowd]:
        if places.size < 2:
            return
        members = self._members(places, is_home, level)
        member_bits = max(1, (places.size - 1).bit_length())
        entries = self._rarest(members, self._shared_entries(members, level, member_bits), member_bits)
        yield from self._pairs(members, *entries, member_bits)

    def _members(self, places: Numbers, is_home: _Bools, level: int) -> _Members:
        sizes = self._sketches.sizes[places]
        looked = self._round.looked(self._sketches, places, level)
        return _Members(
            places=places,
            looked=looked,
            is_larger=is_home,
            first=np.searchsorted(sizes, self._question.smallest_partner(sizes)),
        )

    def _shared_entries(self, members: _Members, level: int, member_bits: int) -> _Entries:
        """Return the hashes by which a smaller document may meet a larger one."""
        scheme = self._sketches.scheme
        shift = max(0, scheme.bits - level + member_bits - 64)
        parts = min(_MOST_PARTS, -(-int(members.looked.counts.sum()) // AT_ONCE))
        offers = self._offers(members) >> np.uint64(shift)
        bounds = [np.uint64(scheme.bound(level) * part // parts - 1) for part in range(1, parts + 1)]
        bits = shift, member_bits, level
        if is_fast(int(members.looked.counts.sum())):
            meeting = _Meeting(self._sketches, members, offers, bits, self._workers)
            found: Iterator[_Entries] = chain.from_iterable(map(meeting.upto, bounds))
        else:
            found = _meeting(self._sketches, members, offers, bounds, bits)
        columns: list[list[npt.NDArray[Any]]] = [[], [], []]
        for each in found:
            require_time()
            columns[0].append(each.keys)
            columns[1].append(each.frequency)
            columns[2].append(each.is_offered)
        return _Entries(*map(_joined, columns, (np.uint64, np.int32, np.bool_)))

    def _offers(self, members: _Members) -> _Hashes:
        """Return the last of the hashes that each member offers: a hash is offered if it is no larger."""
        ends = self._sketches.starts[members.places] + np.maximum(members.looked.offered - 1, 0)
        last = np.empty(ends.size, np.uint64)
        for some in self._sketches.walks(ends.size):
            last[some] = self._sketches.hashes[np.minimum(ends[some], max(0, self._sketches.hashes.size - 1))]
        last[members.looked.offered <= 0] = 0
        return last

    def _rarest(self, members: _Members, entries: _Entries, member_bits: int) -> tuple[_Hashes, _Hashes]:
        """Return the keys that the prefix filter lets through: those of smaller documents, and those of larger ones."""
        met = _entries_of_each(entries.keys, members.places.size, member_bits)
        met_offered = _entries_of_each(entries.keys, met.size, member_bits, entries.is_offered)
        found_by, asks = members.looked.prefixes(members.is_larger, met, met_offered)
        if is_fast(entries.keys.size):
            is_found_by, is_asked = _rarest_fast(entries, met, found_by, asks, member_bits)
        else:
            is_found_by, is_asked = _rarest(entries, found_by, asks, member_bits)
        return entries.keys[is_found_by], entries.keys[is_asked]

    def _pairs(self, members: _Members, found_by: _Hashes, asked: _Hashes, member_bits: int) -> Iterator[Some | Crowd]:
        larger = _owners(asked, member_bits)
        hashes = asked - larger.astype(np.uint64)
        # Members are numbered by size, so the smaller documents with the same hash stand in one range.
        low = np.searchsorted(found_by, hashes | members.first[larger].astype(np.uint64))
        counts = np.maximum(0, np.searchsorted(found_by, asked) - low)
        is_left = counts > 0
        for group in self._crowded(hashes, counts):
            there = _owners(found_by[low[group].min() : (low[group] + counts[group]).max()], member_bits)
            together = np.unique(np.concatenate([larger[group], there]))
            if not self._round.is_last and self._can_be_told(members, together):
                if not self._hang_together(members.places[together]):
                    self._put_off.append(members.places[together])
            elif self._gives_crowds:
                yield Crowd(members.places[together])
            else:
                continue
            is_left[group] = False
        # All that one larger document meets at once, so that no pair comes twice.
        left = np.flatnonzero(is_left)
        left = left[np.argsort(larger[left], kind="stable")]
        ends = np.cumsum(counts[left])
        first = np.flatnonzero(np.diff(larger[left], prepend=-1))
        cuts = first[np.searchsorted(ends[first], np.arange(AT_ONCE, ends[-1] if ends.size else 0, AT_ONCE))]
        for portion in np.split(left, np.unique(cuts)):
            require_time()
            if portion.size:
                yield _some(members, found_by, low[portion], counts[portion], larger[portion], member_bits)

    def _crowded(self, hashes: _Hashes, counts: Numbers) -> list[Numbers]:
        """Return the entries of each hash that makes too many pairs."""
        if not hashes.size:
            return []
        starts = run_starts(hashes)
        ends = np.append(starts[1:], hashes.size)
        crowds = np.flatnonzero(np.add.reduceat(counts, starts) > self._most)
        return [np.flatnonzero(counts[starts[at] : ends[at]]) + starts[at] for at in crowds.tolist()]

    def _can_be_told(self, members: _Members, which: Numbers) -> bool:
        """Return whether more hashes of these members are to be had."""
        return bool(self._round.can_tell_more(self._sketches, members.places, members.looked)[which].any())


def _some(
    members: _Members, found_by: _Hashes, low: Numbers, counts: Numbers, larger: Numbers, member_bits: int
) -> Some:
    """Return the pairs of larger documents with those found by a range of entries each, every pair once."""
    which = np.repeat(np.arange(low.size), counts)
    within = np.arange(which.size) - np.repeat(np.cumsum(counts) - counts, counts)
    smaller = _owners(found_by[low[which] + within], member_bits)
    half = np.uint64(32)
    pairs = np.sort((smaller.astype(np.uint64) << half) | larger[which].astype(np.uint64))
    pairs = pairs[run_starts(pairs)]
    return Some(
        members.places[(pairs >> half).astype(np.int64)],
        members.places[(pairs & np.uint64((1 << 32) - 1)).astype(np.int64)],
    )


def _meeting(
    sketches: Sketches, members: _Members, offers: _Hashes, bounds: Sequence[np.uint64], bits: tuple[int, int, int]
) -> Iterator[_Entries]:
    """Yield the entries of hashes that some member offers and a larger one has.

    Args:
        sketches: Of all documents.
        members: Those that are compared.
        offers: The largest hash that each offers, shifted; uint64 array of shape (members,).
        bounds: Up to which hashes to go at once.
        bits: By how much to shift hashes, how many bits a member's number has, and the level.
    """
    shift, member_bits, _ = bits
    counted, taken = members.looked.counted(members.is_larger), np.zeros_like(members.looked.counts)
    for bound in bounds:
        require_time()
        upto = np.minimum(counted, sketches.upto(members.places, np.full(taken.shape, bound)))
        hashes, owners = sketches.gathered(members.places, taken, upto - taken)
        taken = upto
        keys = ((hashes >> np.uint64(shift)) << np.uint64(member_bits)) | owners.astype(np.uint64)
        keys.sort()
        yield _met(keys, members, offers, member_bits)


def _met(keys: _Hashes, members: _Members, offers: _Hashes, member_bits: int) -> _Entries:
    """Return those of ascending entries."""
    tokens = keys >> np.uint64(member_bits)
    frequency = np.diff(np.append(run_starts(tokens), keys.size))
    is_several = np.repeat(frequency > 1, frequency)
    keys, tokens = keys[is_several], tokens[is_several]
    frequency = frequency[frequency > 1]
    if not keys.size:
        return _NO_ENTRIES
    owners = _owners(keys, member_bits)
    is_offered = tokens <= offers[owners]
    starts = np.cumsum(frequency) - frequency
    # The largest member comes last: it has to be one that may be the larger document, or there is no pair.
    meets = (np.add.reduceat(is_offered, starts, dtype=np.int64) > 0) & (
        np.add.reduceat(members.is_larger[owners], starts, dtype=np.int64) > 0
    )
    kept = np.repeat(meets, frequency)
    return _Entries(keys[kept], np.repeat(frequency, frequency)[kept].astype(np.int32), is_offered[kept])


def _joined(parts: list[npt.NDArray[Any]], of: type[np.generic]) -> npt.NDArray[Any]:
    """Return arrays joined, and let go of each as soon as it is copied."""
    joined, at = np.empty(sum(part.size for part in parts), of), 0
    parts.reverse()
    while parts:
        part = parts.pop()
        joined[at : at + part.size] = part
        at += part.size
    return joined


class _Meeting:
    """What yields the entries that `_meeting` does, by the compiled loops, in threads.

    Args:
        sketches: As there.
        members: As there.
        offers: As there.
        bits: As there.
        workers: Threads.
    """

    def __init__(
        self, sketches: Sketches, members: _Members, offers: _Hashes, bits: tuple[int, int, int], workers: int
    ) -> None:
        self._sketches, self._offers, self._workers = sketches, offers, workers
        self._hashes = sketches.hashes.view(np.ndarray)
        self._is_larger = members.is_larger
        shift, member_bits, level = bits
        lead = max(0, 64 - (sketches.scheme.bits - level - shift + member_bits))
        self._bits = np.array([shift, member_bits, lead], np.int64)
        counts = members.looked.counted(members.is_larger)
        self._stretches = even_stretches(np.cumsum(counts), workers)
        self._cursors = sketches.starts[members.places]
        self._ends = self._cursors + counts

    def upto(self, last: np.uint64) -> Iterator[_Entries]:
        """Yield the entries of hashes up to one that were not looked at yet."""
        counts = np.stack(in_threads(partial(self._counted, last), self._stretches))
        ends = np.cumsum(counts.sum(axis=0))
        total = int(ends[-1])
        entries, keys = np.empty(total, np.uint64), np.empty(total, np.uint64)
        # In each part those of the first stretch stand first.
        before = np.cumsum(counts, axis=0) - counts
        begins = ends + np.concatenate([before[:, 1:], before[:, :1]], axis=1)
        in_threads(partial(self._put, last, entries), self._stretches, begins)
        ends = np.append(ends[1:], 0)
        columns = keys, np.empty(total, np.int32), np.empty(total, np.bool_)
        yield from in_threads(partial(self._met, entries, ends, columns), even_stretches(ends[:-1], self._workers))

    def _counted(self, last: np.uint64, first: int, upto: int) -> Numbers:
        from whorl.duplicates.compiled import count_parts

        counts = np.zeros((1 << max(1, AT_ONCE.bit_length() - _PART_BITS)) + 1, np.int64)
        for begin, end in self._walks(first, upto):
            count_parts(self._hashes, self._cursors, self._ends, begin, end, last, self._bits, counts)
        return counts

    def _put(self, last: np.uint64, entries: _Hashes, first: int, upto: int, begins: Numbers) -> None:
        from whorl.duplicates.compiled import put_in_parts

        for begin, end in self._walks(first, upto):
            put_in_parts(self._hashes, self._cursors, self._ends, begin, end, last, self._bits, begins, entries)

    def _walks(self, first: int, upto: int) -> Iterator[Stretch]:
        for some in self._sketches.walks(upto - first):
            yield first + some.start, min(upto, first + some.stop)

    def _met(
        self,
        entries: _Hashes,
        ends: Numbers,
        columns: tuple[_Hashes, npt.NDArray[np.int32], _Bools],
        first: int,
        upto: int,
    ) -> _Entries:
        from whorl.duplicates.compiled import meeting

        heads = np.empty((1 << _HEAD_BITS) + 1, np.int64)
        begin = int(ends[first - 1]) if first else 0
        count = meeting(entries, self._bits, ends, first, upto, self._offers, self._is_larger, heads, *columns)
        there = slice(begin, begin + count)
        keys, frequencies, offered = columns
        # Copies, so that the room is given back.
        return _Entries(keys[there].copy(), frequencies[there].copy(), offered[there].copy())


def rarest(
    owners: Numbers, frequency: npt.NDArray[Any], is_offered: _Bools, found_by: Numbers, asks: Numbers
) -> tuple[_Bools, _Bools]:
    """Return of which entries members are found, and of which they ask: the first by frequency, equal ones by hash.

    Args:
        owners: Whose each entry is; those of a member in the order of their hashes. Array of shape (entries,).
        frequency: How many members have its hash.
        is_offered: Whether the member is found by it as the smaller document.
        found_by: By how many of the offered entries each member is found; array of shape (members,).
        asks: Of how many entries each asks.
    """
    is_found_by, is_asked = np.zeros(owners.size, np.bool_), np.zeros(owners.size, np.bool_)
    which = np.flatnonzero((found_by[owners] > 0) & is_offered | (asks[owners] > 0))
    # Equal ones stay in the order of their hashes.
    which = which[np.lexsort((frequency[which], owners[which]))]
    ranked, offered = owners[which], is_offered[which]
    is_found_by[which] = offered & (_ranks(ranked, offered) < found_by[ranked])
    is_asked[which] = _ranks(ranked, np.ones(which.size, np.bool_)) < asks[ranked]
    return is_found_by, is_asked


def _rarest(entries: _Entries, found_by: Numbers, asks: Numbers, member_bits: int) -> tuple[_Bools, _Bools]:
    """Return what `rarest` does, of ascending entries."""
    return rarest(_owners(entries.keys, member_bits), entries.frequency, entries.is_offered, found_by, asks)


def _rarest_fast(
    entries: _Entries, met: Numbers, found_by: Numbers, asks: Numbers, member_bits: int
) -> tuple[_Bools, _Bools]:
    """Return what `_rarest` does, by the compiled loop; `met` is how many entries each member has."""
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


def _entries_of_each(keys: _Hashes, members: int, member_bits: int, which: _Bools | None = None) -> Numbers:
    """Return how many entries each member has, of all or of some of them, in little memory."""
    counts = np.zeros(members, np.int64)
    for at in range(0, keys.size, AT_ONCE):
        owners = _owners(keys[at : at + AT_ONCE], member_bits)
        counts += np.bincount(owners if which is None else owners[which[at : at + AT_ONCE]], minlength=members)
    return counts


def _owners(keys: _Hashes, member_bits: int) -> Numbers:
    return (keys & np.uint64((1 << member_bits) - 1)).astype(np.int64)


def _ranks(groups: Numbers, counts: _Bools) -> Numbers:
    """Return how many entries that count stand before each one in its group; groups stand together."""
    if not groups.size:
        return groups
    before: Numbers = np.cumsum(counts) - counts
    starts = run_starts(groups)
    return before - np.repeat(before[starts], np.diff(np.append(starts, groups.size)))
