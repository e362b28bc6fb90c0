"""What a search for near-duplicates found: pairs and clusters, and which documents could be deleted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice, repeat
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.arrays import batches, chunks
from whorl.duplicates.archive import Archived
from whorl.duplicates.clusters import Components, complete_labels, grouped, labels_beside_known
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

    def _told(self, pairs: Pairs, firsts: Numbers, *, only_new: bool = False) -> Iterator[Pair]:
        """Yield pairs of documents for pairs of different ones, and those among the ones that come several times."""
        is_rest = self.rest is not None and self.rest.question.is_ignored
        compared = self.rest.sketches if self.rest is not None and is_rest else self._archived.sketches
        together = Pairs.together([pairs, measured(compared, firsts, firsts)])
        order = np.lexsort((together.b, together.a, -together.jaccard))
        for at in range(0, order.size, _PAIRS_AT_ONCE):
            some = together.only(order[at : at + _PAIRS_AT_ONCE])
            rests = self._rests(some.a, some.b)
            some = measured(self._archived.sketches, some.a, some.b) if is_rest else some
            counts = (part.tolist() for part in (some.a, some.b, some.shared, some.low, some.high))
            rows = zip(*counts, rests, strict=True)
            known = self.members(
                [each for place in {*some.a.tolist(), *some.b.tolist()} for each in self._equal_to(place)]
            )
            for a, b, *shared in rows:
                is_plain = not only_new and a not in self._copied_at and b not in self._copied_at
                for one, other in ((a, b),) if is_plain else self._expanded(a, b, only_new=only_new):
                    yield Pair.of_counts(known[min(one, other)], known[max(one, other)], *shared)

    def _rests(self, a: Numbers, b: Numbers) -> list[Shares | None]:
        """Return what pairs share without what is common."""
        if self.rest is None:
            return [None] * a.size
        found = measured(self.rest.sketches, a, b)
        counts = zip(found.shared.tolist(), found.sizes_a.tolist(), found.sizes_b.tolist(), strict=True)
        return [Shares.of_counts(*each) for each in counts]

    def _expanded(self, a: int, b: int, *, only_new: bool) -> Iterator[tuple[int, int]]:
        """Yield the pairs of documents that a pair of different ones stands for."""
        alike_a, alike_b = self._equal_to(a), self._equal_to(b)
        for number, one in enumerate(alike_a):
            for other in alike_b[number + 1 :] if a == b else alike_b:
                if not only_new or self._is_new[one] or self._is_new[other]:
                    yield one, other

    @cached_property
    def _copied_at(self) -> dict[int, int]:
        """Where texts that several documents have stand among these; of millions of documents, only pairs need it."""
        return {place: at for at, place in enumerate(self._copied.tolist())}

    def _equal_to(self, place: int) -> list[int]:
        at = self._copied_at.get(place)
        if at is None:
            return [place]
        copies: list[int] = self._copies[self._begins[at] : self._begins[at + 1]].tolist()
        return copies

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
        labels = self._labels_beside_known() if complete and only_new else self._labels(complete=complete)
        inside = np.flatnonzero(labels[self._pairs.a] == labels[self._pairs.b])
        inside = inside[np.argsort(labels[self._pairs.a[inside]], kind="stable")]
        of_pairs = labels[self._pairs.a[inside]]
        groups = grouped(labels)
        if only_new:
            groups = [group for group in groups if self._is_new[group].any()]
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
                    several = group[[len(self._equal_to(place)) > 1 for place in here]]
                    pairs = self._told(self._pairs.only(inside[begin:end]), several)
                matches = zip(here, islice(counts, len(here)), strict=True)
                told_pairs = (Pair.of_counts(members[head], members[place], *shared) for place, shared in matches)
                yield Cluster(tuple(told_pairs), tuple(pairs), ordered)

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
