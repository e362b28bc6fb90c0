"""What a search for near-duplicates found: pairs and clusters, and which documents could be deleted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, repeat
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.arrays import batches, chunks
from whorl.duplicates.archive import Archived
from whorl.duplicates.clusters import Components, complete_labels, grouped, labels_beside_known
from whorl.duplicates.columns import ClusterColumns, PairColumns
from whorl.duplicates.common import Rest
from whorl.duplicates.keep import Keep
from whorl.duplicates.scratch import Gathered
from whorl.duplicates.sketches import Numbers
from whorl.duplicates.verify import Pairs, measured
from whorl.duplicates.versions import Own, in_order, told_apart
from whorl.errors import ParameterError
from whorl.fingerprint.passages import TextWords, words_of
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.statistics.metric import Shares

#: Pairs, and members of clusters, of which ids, names and hashes are looked up at once: some stand side by side then.
_PAIRS_AT_ONCE, _MEMBERS_AT_ONCE = 1 << 15, 1 << 18
#: Texts read at once to tell what versions add and lose.
_TEXTS_AT_ONCE = 32
#: Takes ids; returns the texts of documents, of those that have one at hand.
ReadTexts: TypeAlias = Callable[[Sequence[str]], Mapping[str, str]]
#: Takes ids; returns what documents are worth and their dates, see `Member`.
ReadProperties: TypeAlias = Callable[[Sequence[str]], Mapping[str, tuple[float | None, float | None]]]


@dataclass(frozen=True, slots=True)
class Member:
    """A document.

    Args:
        id: What it is known by.
        name: What people know it by, or "".
        size: Its distinct shingles.
        worth: What the column that decides which is kept says of it, the larger the better; None where it says nothing.
        date: Seconds since 1970 when it was made or changed; None where nobody knows.
        stays: Whether it is of those that the others are compared with, and so is never superfluous.
    """

    id: str
    name: str
    size: int
    worth: float | None = None
    date: float | None = None
    stays: bool = False


class Pair(NamedTuple):
    """Two documents that are alike.

    Args:
        a: The one that came first.
        b: The other.
        shares: What they share, or where sketches are compared the likeliest shares.
        low: The lower ends of their 95 % intervals; the shares themselves where all shingles were compared.
        high: The upper ends.
        rest: What they share without what is common, where that was asked for.
    """

    a: Member
    b: Member
    shares: Shares
    low: Shares
    high: Shares
    rest: Shares | None = None

    @property
    def is_exact(self) -> bool:
        """Whether all shingles were compared; else these are estimates from sketches."""
        return self.low is self.high or self.low == self.high

    @classmethod
    def of_counts(cls, a: Member, b: Member, shared: int, least: int, largest: int, rest: Shares | None = None) -> Pair:
        """Return a pair by how many shingles both have, and the ends of the interval of that number."""
        shares = Shares.of_counts(shared, a.size, b.size)
        if least == largest:
            return cls(a, b, shares, shares, shares, rest)
        low, high = (Shares.of_counts(end, a.size, b.size) for end in (least, largest))
        return cls(a, b, shares, low, high, rest)


@dataclass(frozen=True, slots=True)
class Version:
    """A document of a cluster, in the order of its versions.

    Args:
        member: The document.
        match: The version before as A, with this one as B; None for the first.
        added: What the text has that the one before has not; None where there is none before, or no texts.
        lost: What the one before has that this one has not; likewise.
    """

    member: Member
    match: Pair | None
    added: Own | None = None
    lost: Own | None = None


@dataclass(frozen=True, slots=True)
class Cluster:
    """Documents that hang together.

    Args:
        matches: The principal with each of them, itself too, in the order in which they came.
        pairs: Those among the members, as far as they were looked for, where they were asked for.
        versions: The members in the order of their versions, where that was asked for.
    """

    matches: tuple[Pair, ...]
    pairs: tuple[Pair, ...] = ()
    versions: tuple[Version, ...] = ()

    @property
    def members(self) -> tuple[Member, ...]:
        """The documents, in the order in which they came."""
        return tuple(match.b for match in self.matches)

    @property
    def principal(self) -> Member:
        """The document that stands for all: the first, or the one that is kept."""
        return self.matches[0].a


class Duplicates:
    """What was found. Documents are known by their places, in the order in which they came.

    Args:
        archive: What the documents are kept in, open.
        archived: All of them.
        pairs: The pairs among different documents.
        firsts: For each document the first one that is equal to it.
        is_new: Which documents were not compared before.
        scheme: What shingles are.
        properties: Returns the worths and dates of documents, by id, where the archive has none.
        rest: What is left of the documents without what is common, where that is told; if that is ignored, the pairs
            are those of the rest.
    """

    def __init__(
        self,
        archive: Gathered,
        archived: Archived,
        pairs: Pairs,
        firsts: Numbers,
        is_new: npt.NDArray[np.bool_],
        scheme: Scheme,
        properties: ReadProperties | None = None,
        rest: Rest | None = None,
    ) -> None:
        self._properties = properties
        self._archive, self._archived, self._pairs, self._firsts = archive, archived, pairs, firsts
        self._is_new, self.scheme, self.rest = is_new, scheme, rest
        #: Documents of a store that have no sketch, or no text where that is compared, and so are not among these.
        self.without_sketch = self.without_text = 0
        #: What they are called.
        self.kind = "document"
        #: Gives the texts of documents, of those that have one at hand.
        self.read_texts: ReadTexts = lambda ids: {}
        self.documents = len(archived.sketches)
        #: Documents of fewer words than a shingle has: nothing can be said of them.
        self.too_short = int(np.count_nonzero(archived.sketches.sizes == 0))
        inside = np.flatnonzero(np.bincount(firsts, minlength=1)[firsts] > 1)
        #: Documents that come several times, those of one text together, and where each text begins among them.
        self._copies = inside[np.argsort(firsts[inside], kind="stable")]
        self._copied, begins = np.unique(firsts[self._copies], return_index=True)
        self._begins = np.append(begins, self._copies.size)

    def count_pairs(self) -> int:
        """Return how many pairs there are, those of equal documents included."""
        sizes = np.bincount(self._firsts, minlength=self.documents)
        among_equal = int((sizes * (sizes - 1) // 2).sum())
        return among_equal + int((sizes[self._pairs.a] * sizes[self._pairs.b]).sum())

    def pairs(self, *, only_new: bool = False) -> Iterator[Pair]:
        """Yield all pairs, each once, the most similar first, equal ones in the order of their documents.

        Args:
            only_new: Leave out those of two documents that were compared before.
        """
        yield from self._told(self._pairs, self._copied, only_new=only_new)

    @property
    def is_counted(self) -> bool:
        """Whether all shingles of all documents are compared, and nothing else is told of pairs."""
        sketches = self._archived.sketches
        return self.rest is None and not sketches.scheme_levels(sketches.sizes).any()

    def pairs_in_columns(self, *, only_new: bool = False) -> Iterator[PairColumns]:
        """Yield what `pairs` does, many at once, where all `is_counted`."""
        for some in self._in_order(self._pairs, self._copied):
            for a, b, rows in self._expanded(some, only_new=only_new):
                yield self._in_columns(a, b, some.shared[rows])

    def _in_columns(self, a: Numbers, b: Numbers, shared: Numbers) -> PairColumns:
        places, which = np.unique(np.concatenate([a, b]), return_inverse=True)
        numbers = self._archived.numbers[places].tolist()
        known = self._archive.known(numbers)
        ids, names = [known[number][0] for number in numbers], [known[number][1] for number in numbers]
        return PairColumns(ids, names, self._archived.sketches.sizes[places], which[: a.size], which[a.size :], shared)

    def _in_order(self, pairs: Pairs, firsts: Numbers) -> Iterator[Pairs]:
        """Yield pairs of different documents, and of those that come several times with themselves, some at a time.

        The most similar come first, where what is common is ignored by what they share without it.
        """
        is_rest = self.rest is not None and self.rest.question.is_ignored
        compared = self.rest.sketches if self.rest is not None and is_rest else self._archived.sketches
        together = Pairs.together([pairs, measured(compared, firsts, firsts)])
        order = np.lexsort((together.b, together.a, -together.jaccard))
        for at in range(0, order.size, _PAIRS_AT_ONCE):
            some = together.only(order[at : at + _PAIRS_AT_ONCE])
            yield measured(self._archived.sketches, some.a, some.b) if is_rest else some

    def _told(self, pairs: Pairs, firsts: Numbers, *, only_new: bool = False) -> Iterator[Pair]:
        """Yield pairs of documents for pairs of different ones, and those among the ones that come several times."""
        for some in self._in_order(pairs, firsts):
            rests = self._rests(some.a, some.b)
            shared = [*zip(*(part.tolist() for part in (some.shared, some.low, some.high)), rests, strict=True)]
            for a, b, rows in self._expanded(some, only_new=only_new):
                known = self.members(np.unique(np.concatenate([a, b])).tolist())
                for one, other, row in zip(a.tolist(), b.tolist(), rows.tolist(), strict=True):
                    yield Pair.of_counts(known[one], known[other], *shared[row])

    def _rests(self, a: Numbers, b: Numbers) -> list[Shares | None]:
        """Return what pairs share without what is common."""
        if self.rest is None:
            return [None] * a.size
        found = measured(self.rest.sketches, a, b)
        counts = zip(found.shared.tolist(), found.sizes_a.tolist(), found.sizes_b.tolist(), strict=True)
        return [Shares.of_counts(*each) for each in counts]

    def _expanded(self, pairs: Pairs, *, only_new: bool) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
        """Yield the pairs of documents that pairs of different ones stand for, some at a time.

        Yields:
            The first documents, the second ones, and for which of the pairs each stands.
        """
        counts_b = self._copies_of(pairs.b)[1]
        counts = self._copies_of(pairs.a)[1] * counts_b
        ends = np.cumsum(counts)
        for begin in range(0, int(ends[-1]), _PAIRS_AT_ONCE):
            numbers = np.arange(begin, min(int(ends[-1]), begin + _PAIRS_AT_ONCE))
            rows = np.searchsorted(ends, numbers, side="right")
            of_a, of_b = np.divmod(numbers - (ends - counts)[rows], counts_b[rows])
            one, other = self._copy(pairs.a[rows], of_a), self._copy(pairs.b[rows], of_b)
            is_told = (pairs.a[rows] != pairs.b[rows]) | (one < other)
            if only_new:
                is_told &= self._is_new[one] | self._is_new[other]
            one, other, rows = one[is_told], other[is_told], rows[is_told]
            yield np.minimum(one, other), np.maximum(one, other), rows

    def _copy(self, places: Numbers, which: Numbers) -> Numbers:
        """Return one of the documents that are equal to each of some, by its number among these."""
        begins, counts = self._copies_of(places)
        found = places.copy()
        several = np.flatnonzero(counts > 1)
        found[several] = self._copies[(begins + which)[several]]
        return found

    def _copies_of(self, places: Numbers) -> tuple[Numbers, Numbers]:
        """Return where those that are equal to each of some documents begin among the copies, and how many they are."""
        at = np.searchsorted(self._copied, places)
        is_copied = np.append(self._copied, -1)[at] == places
        counts = np.diff(np.append(self._begins, self._begins[-1]))[at]
        return self._begins[at], np.where(is_copied, counts, 1)

    def clusters(
        self,
        *,
        complete: bool = False,
        only_new: bool = False,
        keep: Keep | None = None,
        with_pairs_up_to: int = 0,
        with_versions: bool = False,
    ) -> Iterator[Cluster]:
        """Yield the clusters, the largest first, equal ones by their first documents.

        Args:
            complete: Whether any two members are to be a pair; else a cluster is all that pairs hold together.
            only_new: Leave out those that no new document is in; what came before stays. In complete clusters each new
                document that is a duplicate of one that came before is with the most similar of these, of which all
                other members then are duplicates, and the rest are among themselves.
            keep: Which member is kept, with which the others then are measured; None for the first, kept or not.
            with_pairs_up_to: Members up to which clusters come with their pairs.
            with_versions: Whether they come with the order of their versions; `with_words` adds what texts tell.
        """
        labels, groups = self._groups(complete=complete, only_new=only_new)
        inside = np.flatnonzero(labels[self._pairs.a] == labels[self._pairs.b])
        inside = inside[np.argsort(labels[self._pairs.a[inside]], kind="stable")]
        of_pairs = labels[self._pairs.a[inside]]
        for some in chunks(groups, len, _MEMBERS_AT_ONCE):
            places = np.concatenate(some)
            members = self.members(places.tolist(), only_new=only_new)
            heads = [
                int(group[0 if keep is None else principal([members[place] for place in group.tolist()], keep)])
                for group in some
            ]
            firsts = np.repeat(heads, [group.size for group in some])
            told = measured(self._archived.sketches, firsts, places)
            # Each shares all with itself, however much its sketch holds.
            shared = (np.where(firsts == places, told.sizes_a, part) for part in (told.shared, told.low, told.high))
            counts = zip(*(part.tolist() for part in shared), self._rests(firsts, places), strict=True)
            versions = self._versions(some, members) if with_versions else repeat(())
            for head, group, ordered in zip(heads, some, versions, strict=False):
                here = group.tolist()
                pairs: Iterable[Pair] = ()
                if group.size <= with_pairs_up_to:
                    begin, end = np.searchsorted(of_pairs, [labels[here[0]], labels[here[0]] + 1])
                    several = group[self._copies_of(group)[1] > 1]
                    pairs = self._told(self._pairs.only(inside[begin:end]), several)
                matches = zip(here, islice(counts, len(here)), strict=True)
                told_pairs = (Pair.of_counts(members[head], members[place], *shared) for place, shared in matches)
                yield Cluster(tuple(told_pairs), tuple(pairs), ordered)

    def clusters_in_columns(self, *, complete: bool = False, only_new: bool = False) -> Iterator[ClusterColumns]:
        """Yield what `clusters` does, many at once, where all `is_counted`.

        Args:
            complete: As there.
            only_new: As there.
        """
        _, groups = self._groups(complete=complete, only_new=only_new)
        for some in chunks(groups, len, _MEMBERS_AT_ONCE):
            places, counts = np.concatenate(some), np.array([group.size for group in some], np.int64)
            firsts = np.repeat(places[np.cumsum(counts) - counts], counts)
            told = measured(self._archived.sketches, firsts, places)
            yield ClusterColumns(counts, self._in_columns(firsts, places, told.shared))

    def _groups(self, *, complete: bool, only_new: bool) -> tuple[Numbers, list[Numbers]]:
        """Return the cluster of each document, and the places of the members of each cluster that is told."""
        labels = self._labels_beside_known() if complete and only_new else self._labels(complete=complete)
        groups = grouped(labels)
        return labels, [group for group in groups if self._is_new[group].any()] if only_new else groups

    def _versions(self, groups: Sequence[Numbers], members: Mapping[int, Member]) -> Iterator[tuple[Version, ...]]:
        """Yield the members of each group in the order of their versions."""
        orders = []
        for group in groups:
            own = [members[place] for place in group.tolist()]
            orders.append(group[in_order([each.date for each in own], [each.size for each in own])])
        before, after = (np.concatenate([order[part] for order in orders]) for part in (np.s_[:-1], np.s_[1:]))
        told = measured(self._archived.sketches, before, after)
        parts = (part.tolist() for part in (before, after, told.shared, told.low, told.high))
        matches = zip(*parts, self._rests(before, after), strict=True)
        for order in orders:
            pairs = (
                Pair.of_counts(members[a], members[b], *counts) for a, b, *counts in islice(matches, len(order) - 1)
            )
            yield tuple(map(Version, (members[place] for place in order.tolist()), chain([None], pairs)))

    def _labels(self, *, complete: bool) -> Numbers:
        """Return the cluster of each document, known by the place of its first member."""
        if complete:
            return complete_labels(self.documents, self._pairs)[self._firsts]
        components = Components(self.documents)
        components.join(self._pairs.a, self._pairs.b)
        return components.labels()[self._firsts]

    def _labels_beside_known(self) -> Numbers:
        """Return the labels of complete clusters of new documents, and of stars around those that came before."""
        is_old = np.bincount(self._firsts, ~self._is_new, minlength=self.documents) > 0
        return labels_beside_known(self.documents, self._pairs, is_old)[self._firsts]

    def members(self, places: Sequence[int], *, only_new: bool = False) -> dict[int, Member]:
        """Return documents by their places.

        Args:
            places: Of the documents.
            only_new: Whether those that came before stay.
        """
        places = sorted(places)
        numbers = self._archived.numbers[np.array(places, np.int64)].tolist()
        known = self._archive.known(numbers)
        sizes = self._archived.sketches.sizes
        told = None if self._properties is None else self._properties([row[0] for row in known.values()])
        members = {}
        for place, number in zip(places, numbers, strict=True):
            document_id, name, worth, date = known[number]
            if told is not None:
                worth, date = told.get(document_id, (None, None))
            stays = only_new and not bool(self._is_new[place])
            members[place] = Member(document_id, name, int(sizes[place]), worth, date, stays)
        return members


def with_words(cluster: Cluster, read: ReadTexts, scheme: Scheme) -> Cluster:
    """Return a cluster whose versions tell what of their words is new and what is gone, as far as there are texts.

    Args:
        cluster: With its versions.
        read: Gives the texts.
        scheme: What shingles are.
    """
    versions: list[Version] = []
    before: tuple[str, TextWords] | None = None
    if scheme.unit != "words":
        return cluster
    for some in batches(cluster.versions, _TEXTS_AT_ONCE):
        texts = read([version.member.id for version in some])
        for version in some:
            text = texts.get(version.member.id)
            after = None if text is None else (text, words_of(text, scheme))
            if version.match is None or before is None or after is None:
                versions.append(version)
            else:
                found, lost, added = told_apart(before, after, scheme)
                a, b = version.match.a, version.match.b
                # What a store's documents were since they were compared is not told.
                if (found.a.shingles, found.b.shingles) == (a.size, b.size):
                    match = Pair.of_counts(a, b, found.shared_shingles, found.shared_shingles, found.shared_shingles)
                    versions.append(replace(version, match=match, added=added, lost=lost))
                else:
                    versions.append(version)
            before = after
    return replace(cluster, versions=tuple(versions))


def superfluous(clusters: Iterable[Cluster], keep: Keep | str) -> Iterator[Member]:
    """Yield all members of clusters but the one of each that is to be kept, or those that stay anyway.

    Args:
        clusters: Complete ones, so that each member is a duplicate of the one that is kept.
        keep: Which one that is.

    Raises:
        ParameterError: There is no such choice; or nobody knows what any member of a cluster is worth.
    """
    return _superfluous(clusters, Keep.named(keep) if isinstance(keep, str) else keep)


def _superfluous(clusters: Iterable[Cluster], keep: Keep) -> Iterator[Member]:
    for cluster in clusters:
        members = cluster.members
        kept = principal(members, keep)
        yield from (member for at, member in enumerate(members) if at != kept and not member.stays)


def principal(members: Sequence[Member], keep: Keep) -> int:
    """Return the place of the member that is kept: the first of those that stay anyway, if any does.

    Raises:
        ParameterError: Nobody knows what any of them is worth.
    """
    staying = next((at for at, member in enumerate(members) if member.stays), None)
    if staying is not None or keep.by == "first":
        return staying or 0
    worths = [_worth(member, keep) for member in members]
    if all(worth is None for worth in worths):
        raise ParameterError(
            f"nobody knows which is the {keep.by} of {members[0].id!r} and {len(members) - 1} more; name another "
            f"column (--keep {keep.by}:COLUMN), or keep the first or the longest"
        )
    known = [-math.inf if worth is None else worth for worth in worths]
    return known.index(max(known))


def _worth(member: Member, keep: Keep) -> float | None:
    if not keep.is_by_value:
        return member.size
    return member.worth if keep.column else keep.worth(member.date)
