"""Derives results of a duplicate search: sorted pairs, clusters, versions, and the document to keep in each cluster."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, islice, repeat, zip_longest
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import batches, chunks, ranges_of
from whorl.connected_components import UnionFind
from whorl.duplicates.clusters import groups_by_label, labels_around_earlier, labels_around_kept
from whorl.duplicates.pairs import ExactCopies, Pairs
from whorl.duplicates.remove_common_shingles import ResidualSketches
from whorl.duplicates.retention import Keep, UnreadValues, unknown_rank
from whorl.duplicates.sketch_arrays import Bools, Numbers
from whorl.duplicates.sketch_store import SketchStore, StoredSketches
from whorl.duplicates.verify_by_sketches import measure_pairs
from whorl.fingerprint.compare_texts import Comparison, Passage, TextWords, compare_words, words_of
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.statistics.metric import Intervals, Shares

#: Number of pairs, and of members of clusters, to convert to objects or columns at a time.
_PAIRS_AT_ONCE, _MEMBERS_AT_ONCE = 1 << 15, 1 << 18
#: Number of texts to read at a time, to find the words that each version adds and loses.
_TEXTS_AT_ONCE = 32
#: Function that reads texts by id; it omits documents without a text.
ReadTexts: TypeAlias = Callable[[Sequence[str]], Mapping[str, str]]
#: Function that returns the rank and date of each document, given their ids; see `Member`.
ReadProperties: TypeAlias = Callable[[Sequence[str]], Mapping[str, tuple[float | None, float | None]]]


@dataclass(frozen=True, slots=True)
class Member:
    """A document in a pair or cluster.

    Args:
        name: Name for display, or "".
        size: Number of distinct shingles.
        rank: Rank according to the column of the retention policy; larger is better; None if unknown.
        date: Time of creation or change in seconds since 1970; None if unknown.
        stays: Whether the document is always kept: a reference document, or a document of an earlier run.
    """

    id: str
    name: str
    size: int
    rank: float | None = None
    date: float | None = None
    stays: bool = False


class Pair(NamedTuple):
    """Two near-duplicate documents.

    Args:
        a: The earlier document, or the document that represents a cluster (its principal).
        shares: Shared shingles as fractions (Jaccard, A in B, B in A); estimates if a sketch is incomplete.
        low, high: Limits of the 95 % confidence intervals of the shares; equal to the shares if all shingles were
            compared.
        residual: Shares of the texts without boilerplate, if the options define boilerplate.
        spans: Half-open character ranges of the longest shared passage in A and in B, if the search looked for it.
        passage: Beginning of the longest shared passage.
    """

    a: Member
    b: Member
    shares: Shares
    low: Shares
    high: Shares
    residual: Shares | None = None
    spans: tuple[tuple[int, int], tuple[int, int]] | None = None
    passage: str = ""

    @property
    def is_exact(self) -> bool:
        return self.low is self.high or self.low == self.high

    @property
    def intervals(self) -> Intervals | None:
        return None if self.is_exact else Intervals.between(self.low, self.high)

    @classmethod
    def of_counts(
        cls, a: Member, b: Member, shared: int, least: int, largest: int, residual: Shares | None = None
    ) -> Pair:
        """Return the pair, given its number of shared shingles and the limits of this number's confidence interval."""
        shares = Shares.of_counts(shared, a.size, b.size)
        if least == largest:
            return cls(a, b, shares, shares, shares, residual)
        low, high = (Shares.of_counts(end, a.size, b.size) for end in (least, largest))
        return cls(a, b, shares, low, high, residual)


@dataclass(frozen=True, slots=True)
class UnsharedText:
    """The words of a text that are in no shingle shared with the other text of a comparison.

    Args:
        words: Number of words.
        spans: Character ranges of the runs of consecutive words, ascending.
        passages: Text of each range.
    """

    words: int = 0
    spans: tuple[tuple[int, int], ...] = ()
    passages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Version:
    """A document of a cluster, seen as a version of one text that changes over time.

    Args:
        match: Pair of the previous version (A) and this version (B); None for the first version.
        added: Words that the previous version lacks; None if there is no previous version, or its text is not
            available.
        lost: Words of the previous version that this text lacks; None in the same cases as `added`.
    """

    member: Member
    match: Pair | None
    added: UnsharedText | None = None
    lost: UnsharedText | None = None


@dataclass(frozen=True, slots=True)
class Cluster:
    """Documents connected by pairs.

    Args:
        matches: Pairs of the principal (A) with each member (B), also with itself, in the order of the documents.
        pairs: Pairs among the members, if the caller asked for them and the search found them.
        versions: Members in the order of their versions, if requested.
    """

    matches: tuple[Pair, ...]
    pairs: tuple[Pair, ...] = ()
    versions: tuple[Version, ...] = ()

    @property
    def members(self) -> tuple[Member, ...]:
        """The documents of the cluster, in the order of the input."""
        return tuple(match.b for match in self.matches)

    @property
    def principal(self) -> Member:
        """The document that represents the cluster: the first, or with a retention policy the document to keep."""
        return self.matches[0].a


class Duplicates:
    """Results of a search: pairs, clusters and counts. Documents are numbered in the order of the input."""

    def __init__(
        self,
        store: SketchStore,
        stored: StoredSketches,
        pairs: Pairs,
        firsts: Numbers,
        scheme: Scheme,
        properties: ReadProperties | None = None,
        residual: ResidualSketches | None = None,
    ) -> None:
        self._properties = properties
        #: Cache: options and result of the last call of `_groups`.
        self._grouped: tuple[tuple[bool, bool, Keep | None], tuple[Numbers, list[Numbers]]] | None = None
        self._store, self._stored, self._pairs, self._firsts = store, stored, pairs, firsts
        self._is_new, self.scheme, self.residual = stored.is_new, scheme, residual
        #: Number of documents that the search left out: those without a sketch, and those without a text.
        self.without_sketch = self.without_text = 0
        #: Number of documents of earlier runs that this run replaced, and number of documents that only interrupted
        #: runs have read.
        self.replaced = self.unfinished = 0
        #: Warnings about documents that a scan of the store misses.
        self.gaps: tuple[str, ...] = ()
        #: Name of the unit that was compared: document, paragraph, line or passage.
        self.kind = "document"
        #: Function that returns the values that could not be read as a rank or date so far; in a store, only values of
        #: cluster members are read.
        self.find_unread_values: Callable[[], Sequence[UnreadValues]] = tuple
        #: Function that reads texts by id; the default finds no texts.
        self.read_texts: ReadTexts = lambda ids: {}
        self.documents = len(stored.sketches)
        #: Number of documents that no earlier run has compared and reported.
        self.new_documents = int(np.count_nonzero(stored.is_new))
        #: Number of documents with fewer words than a shingle, which cannot be compared.
        self.too_short = int(np.count_nonzero(stored.sketches.sizes == 0))

    @cached_property
    def _copies(self) -> ExactCopies:
        return ExactCopies(self._firsts)

    def count_pairs(self) -> int:
        """Return the number of pairs, including pairs of equal documents."""
        sizes = np.bincount(self._firsts, minlength=self.documents)
        among_equal = int((sizes * (sizes - 1) // 2).sum())
        return among_equal + int((sizes[self._pairs.a] * sizes[self._pairs.b]).sum())

    def pairs(self, *, new: bool = False) -> Iterator[Pair]:
        """Yield each pair once, the most similar first; with `new`, omit pairs of two documents of earlier runs.

        Ties are in the order of the documents.
        """
        yield from self._describe_pairs(self._pairs, self._copies.copied, new=new)

    @property
    def is_counted(self) -> bool:
        """Whether all counts of shared shingles are exact, and no shares without boilerplate were requested."""
        sketches = self._stored.sketches
        return self.residual is None and not sketches.scheme.levels(sketches.sizes).any()

    def pairs_in_columns(self, *, new: bool = False) -> Iterator[PairColumns]:
        """Yield the pairs as columns, in batches; faster than `pairs`. `is_counted` must be true."""
        for batch in self._sort_by_similarity(self._pairs, self._copies.copied):
            for a, b, rows in self._expand_copies(batch, new=new):
                yield self._make_columns(a, b, batch.shared[rows])

    def _make_columns(self, a: Numbers, b: Numbers, shared: Numbers) -> PairColumns:
        indices, inverse = np.unique(np.concatenate([a, b]), return_inverse=True)
        numbers = self._stored.numbers[indices].tolist()
        known = self._store.describe(numbers)
        ids, names = [known[number][0] for number in numbers], [known[number][1] for number in numbers]
        of_a, of_b = np.split(inverse, 2)
        return PairColumns(ids, names, self._stored.sketches.sizes[indices], of_a, of_b, shared)

    def _sort_by_similarity(self, pairs: Pairs, firsts: Numbers) -> Iterator[Pairs]:
        """Yield batches of pairs, the most similar first; add a pair of each document of `firsts` with itself.

        This pair represents the pairs among the document's exact copies. Similarity ignores boilerplate if the search
        did.
        """
        whole = compared = self._stored.sketches
        if self.residual is not None and self.residual.options.is_ignored:
            compared = self.residual.sketches
        together = Pairs.concatenate([pairs, measure_pairs(compared, firsts, firsts)])
        order = np.lexsort((together.b, together.a, -together.jaccard))
        for at in range(0, order.size, _PAIRS_AT_ONCE):
            batch = together.select(order[at : at + _PAIRS_AT_ONCE])
            yield batch if compared is whole else measure_pairs(whole, batch.a, batch.b)

    def _describe_pairs(self, pairs: Pairs, firsts: Numbers, *, new: bool = False) -> Iterator[Pair]:
        for batch in self._sort_by_similarity(pairs, firsts):
            residual_shares = self._residual_shares(batch.a, batch.b)
            shared, low, high = (column.tolist() for column in (batch.shared, batch.low, batch.high))
            for a, b, rows in self._expand_copies(batch, new=new):
                known = self.members(np.unique(np.concatenate([a, b])).tolist())
                # If a copy of B comes before the copy of A in the input, A and B are swapped.
                is_swapped = self._firsts[a] != batch.a[rows]
                columns = (a.tolist(), b.tolist(), rows.tolist(), is_swapped.tolist())
                for one, other, row, swap in zip(*columns, strict=True):
                    residual = residual_shares[row]
                    if residual is not None and swap:
                        residual = residual.swapped()
                    yield Pair.of_counts(known[one], known[other], shared[row], low[row], high[row], residual)

    def _residual_shares(self, a: Numbers, b: Numbers) -> list[Shares | None]:
        if self.residual is None:
            return [None] * a.size
        measured = measure_pairs(self.residual.sketches, a, b)
        counts = zip(measured.shared.tolist(), measured.sizes_a.tolist(), measured.sizes_b.tolist(), strict=True)
        return [Shares.of_counts(*pair_counts) for pair_counts in counts]

    def _expand_copies(self, pairs: Pairs, *, new: bool) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
        """Yield the pairs of all exact copies (see `ExactCopies.expand`); with `new`, only pairs of a new document."""
        for one, other, rows in self._copies.expand(pairs.a, pairs.b, _PAIRS_AT_ONCE):
            is_reported = self._is_new[one] | self._is_new[other] | (not new)
            yield one[is_reported], other[is_reported], rows[is_reported]

    def clusters(
        self,
        *,
        complete: bool = False,
        new: bool = False,
        keep: Keep | None = None,
        with_pairs_up_to: int = 0,
        versions: bool = False,
    ) -> Iterator[Cluster]:
        """Yield the clusters, the largest first; ties are in the order of their first documents.

        Args:
            complete: Build clusters in which any two members are a pair; otherwise, clusters are connected components.
                With `keep`, complete clusters are stars: every member is a duplicate of the kept document, and no two
                kept documents are a pair.
            new: Leave out clusters without a new document, and keep all earlier documents. With `complete`, a new
                document joins the most similar earlier document that it duplicates; the other new documents form
                complete clusters.
            keep: Retention policy. Members are compared with the kept document. Without a policy, they are compared
                with the first document.
            with_pairs_up_to: Include the pairs of each cluster with at most this number of members.
            versions: Include the members in the order of their versions; `with_words` adds the words that changed.
        """
        labels, groups = self._groups(complete=complete, new=new, keep=keep)
        inside = np.flatnonzero(labels[self._pairs.a] == labels[self._pairs.b])
        inside = inside[np.argsort(labels[self._pairs.a[inside]], kind="stable")]
        of_pairs = labels[self._pairs.a[inside]]
        for batch in chunks(groups, len, _MEMBERS_AT_ONCE):
            indices = np.concatenate(batch)
            members = self.members(indices.tolist(), new=new)
            heads = [
                int(group[0 if keep is None else principal([members[index] for index in group.tolist()], keep)])
                for group in batch
            ]
            matches = self._compare(np.repeat(heads, [group.size for group in batch]), indices, members)
            in_order = self._versions(batch, members) if versions else repeat(())
            for group, ordered in zip(batch, in_order, strict=False):
                pairs: Iterable[Pair] = ()
                if group.size <= with_pairs_up_to:
                    begin, end = np.searchsorted(of_pairs, [labels[group[0]], labels[group[0]] + 1])
                    copied = group[self._copies.counts[group] > 1]
                    pairs = self._describe_pairs(self._pairs.select(inside[begin:end]), copied)
                yield Cluster(tuple(islice(matches, group.size)), tuple(pairs), ordered)

    def _compare(self, a: Numbers, b: Numbers, members: Mapping[int, Member]) -> Iterator[Pair]:
        measured = measure_pairs(self._stored.sketches, a, b)
        # A document shares all shingles with itself, even if its sketch is a sample.
        shared = (np.where(a == b, measured.sizes_a, own) for own in (measured.shared, measured.low, measured.high))
        counts = zip(*(column.tolist() for column in (a, b, *shared)), self._residual_shares(a, b), strict=True)
        return (Pair.of_counts(members[one], members[other], *own) for one, other, *own in counts)

    def clusters_in_columns(self, *, complete: bool = False, new: bool = False) -> Iterator[ClusterColumns]:
        """Yield the clusters as columns, in batches; faster than `clusters`. `is_counted` must be true."""
        _, groups = self._groups(complete=complete, new=new)
        for batch in chunks(groups, len, _MEMBERS_AT_ONCE):
            indices, counts = np.concatenate(batch), np.array([group.size for group in batch], np.int64)
            firsts = np.repeat(indices[np.cumsum(counts) - counts], counts)
            measured = measure_pairs(self._stored.sketches, firsts, indices)
            yield ClusterColumns(counts, self._make_columns(firsts, indices, measured.shared))

    def redundancy(self, *, complete: bool = False, keep: Keep | None = None) -> tuple[int, float]:
        """Return the number of documents that could be deleted, and their share of all shingles as a fraction."""
        labels, groups = self._groups(complete=complete, new=False, keep=keep)
        members = np.concatenate([np.empty(0, np.int64), *groups])
        sizes = self._stored.sketches.sizes
        # The label of a cluster is the document to keep, so all other members are removed.
        removed = members[labels[members] != members]
        return removed.size, float(sizes[removed].sum() / max(1, sizes.sum()))

    def _groups(self, *, complete: bool, new: bool, keep: Keep | None = None) -> tuple[Numbers, list[Numbers]]:
        """Return each document's cluster label (the index of a member), and the documents of each cluster."""
        options = complete, new, keep
        if self._grouped is None or self._grouped[0] != options:
            labels = self._labels(complete=complete, new=new, keep=keep)
            groups = groups_by_label(labels)
            if new:
                groups = [group for group in groups if self._is_new[group].any()]
            self._grouped = options, (labels, groups)
        return self._grouped[1]

    def _versions(self, groups: Sequence[Numbers], members: Mapping[int, Member]) -> Iterator[tuple[Version, ...]]:
        orders = []
        for group in groups:
            documents = [members[index] for index in group.tolist()]
            dates, sizes = [member.date for member in documents], [member.size for member in documents]
            orders.append(group[version_order(dates, sizes)])
        before, after = (np.concatenate([order[part] for order in orders]) for part in (np.s_[:-1], np.s_[1:]))
        pairs = self._compare(before, after, members)
        for order in orders:
            own = [None, *islice(pairs, order.size - 1)]
            yield tuple(map(Version, (members[index] for index in order.tolist()), own))

    def _labels(self, *, complete: bool, new: bool, keep: Keep | None) -> Numbers:
        if complete and keep is not None:
            return self._labels_around_kept(keep, new=new)
        if complete:
            return labels_around_earlier(self.documents, self._pairs, self._is_earlier(new=new))[self._firsts]
        components = UnionFind(self.documents)
        components.join(self._pairs.a, self._pairs.b)
        return components.labels()[self._firsts]

    def _is_earlier(self, *, new: bool) -> Bools:
        """Mark each text of an earlier run, at the first document with this text; if `new` is false, mark no text."""
        return np.bincount(self._firsts, ~self._is_new & new, minlength=self.documents) > 0

    def _labels_around_kept(self, keep: Keep, *, new: bool) -> Numbers:
        """Label each document with the document to keep in its place; with `new`, keep all earlier documents."""
        stays = self._is_earlier(new=new)
        is_paired = np.zeros(self.documents, np.bool_)
        is_paired[self._pairs.a] = is_paired[self._pairs.b] = True
        indices = np.flatnonzero(is_paired[self._firsts])
        losses = np.zeros(indices.size)
        if keep.by != "first":
            for begin in range(0, indices.size, _MEMBERS_AT_ONCE):
                portion = indices[begin : begin + _MEMBERS_AT_ONCE].tolist()
                members = self.members(portion)
                losses[begin : begin + len(portion)] = [-_rank(members[index], keep) for index in portion]
        if new:
            losses[~self._is_new[indices]] = -math.inf
        # Only a text's first position in `firsts` counts, so a text with several copies gets the rank of the best copy.
        firsts = self._firsts[indices[np.argsort(losses, kind="stable")]]
        return labels_around_kept(self.documents, self._pairs, firsts, stays)[self._firsts]

    def members(self, indices: Sequence[int], *, new: bool = False) -> dict[int, Member]:
        """Return the `Member` of each document, by index. With `new`, `stays` is true for earlier documents."""
        indices = sorted(indices)
        numbers = self._stored.numbers[np.array(indices, np.int64)].tolist()
        known = self._store.describe(numbers)
        sizes = self._stored.sketches.sizes
        properties = None if self._properties is None else self._properties([row[0] for row in known.values()])
        members = {}
        for index, number in zip(indices, numbers, strict=True):
            document_id, name, rank, date = known[number]
            if properties is not None:
                rank, date = properties.get(document_id, (None, None))
            stays = new and not bool(self._is_new[index])
            members[index] = Member(document_id, name, int(sizes[index]), rank, date, stays)
        return members


def arrays_of(duplicates: Duplicates) -> tuple[Pairs, Numbers, Numbers, Numbers]:
    """Return the pairs of different texts, and three arrays with a number for each document.

    The arrays have the first document with the same text, the number of shingles, and the number of shingles without
    ignored boilerplate. This number is 1 instead of 0 for a document with only boilerplate, because such a document
    still forms a pair with its copies.
    """
    # Not a method, because `Duplicates` is public and `Pairs` is not.
    sizes = np.array(duplicates._stored.sketches.sizes)
    residual = duplicates.residual
    compared = sizes if residual is None else np.maximum(residual.sketches.sizes, sizes > 0)
    return duplicates._pairs, duplicates._firsts, sizes, compared


def with_words(cluster: Cluster, read: ReadTexts, scheme: Scheme) -> Cluster:
    """Fill in the added and lost words of each version of a cluster, if `read` returns the texts."""
    versions: list[Version] = []
    before: tuple[str, TextWords] | None = None
    if scheme.unit != "words":
        return cluster
    for batch in batches(cluster.versions, _TEXTS_AT_ONCE):
        texts = read([version.member.id for version in batch])
        for version in batch:
            text = texts.get(version.member.id)
            after = None if text is None else (text, words_of(text, scheme))
            if version.match is not None and before is not None and after is not None:
                comparison, lost, added = compare_versions(before, after, scheme)
                a, b = version.match.a, version.match.b
                # If a document of a store has changed since the search, do not compare its versions by words.
                if (comparison.a.shingles, comparison.b.shingles) == (a.size, b.size):
                    shared = comparison.shared_shingles
                    match = Pair.of_counts(a, b, shared, shared, shared)
                    version = replace(version, match=match, added=added, lost=lost)
            versions.append(version)
            before = after
    return replace(cluster, versions=tuple(versions))


def version_order(dates: Sequence[float | None], sizes: Sequence[int]) -> list[int]:
    """Return the indices of documents in the order of their versions, oldest first; ties by index.

    A document without a date goes before the first document that has more shingles, because texts usually grow.

    >>> version_order([2.0, 1.0, None], [10, 30, 20])
    [2, 1, 0]
    """
    dated = [at for _, at in sorted((date, at) for at, date in enumerate(dates) if date is not None)]
    largest = list(accumulate((sizes[at] for at in dated), max))
    undated: list[list[int]] = [[] for _ in range(len(dated) + 1)]
    for at in sorted((at for at, date in enumerate(dates) if date is None), key=lambda at: sizes[at]):
        undated[bisect_right(largest, sizes[at])].append(at)
    return [at for before, own in zip_longest(undated, dated) for at in (*before, *([] if own is None else [own]))]


def compare_versions(
    before: tuple[str, TextWords], after: tuple[str, TextWords], scheme: Scheme
) -> tuple[Comparison, UnsharedText, UnsharedText]:
    """Compare two versions of a text.

    Return the comparison, the words that only the old version has, and the words that only the new version has.
    """
    # A comparison may miss repetitions in its second text, so compare in both directions.
    forward = compare_words(before[1], after[1], scheme)
    backward = compare_words(after[1], before[1], scheme)
    return forward, _unshared_text(*before, forward.passages), _unshared_text(*after, backward.passages)


def _unshared_text(text: str, words: TextWords, shared: Sequence[Passage]) -> UnsharedText:
    is_unshared = np.ones(len(words.words), np.bool_)
    firsts = np.searchsorted(words.spans[:, 0], [passage.a[0] for passage in shared])
    for first, passage in zip(firsts.tolist(), shared, strict=True):
        is_unshared[first : first + passage.words] = False
    starts, ends = ranges_of(is_unshared).T
    spans = tuple(zip(words.spans[starts, 0].tolist(), words.spans[ends - 1, 1].tolist(), strict=True))
    return UnsharedText(int(is_unshared.sum()), spans, tuple(text[start:end] for start, end in spans))


def documents_to_remove(clusters: Iterable[Cluster], keep: Keep | str) -> Iterator[Member]:
    """Yield the documents in clusters that can be removed: all except kept, earlier and reference documents.

    Args:
        clusters: Complete clusters found with the same policy, so each member is a duplicate of the kept document.

    Raises:
        ParameterError: The policy is unknown, or no member of a cluster has a rank.
    """
    policy = Keep.parse(keep) if isinstance(keep, str) else keep
    return (
        member
        for cluster in clusters
        for kept in [principal(cluster.members, policy)]
        for at, member in enumerate(cluster.members)
        if at != kept and not member.stays
    )


def principal(members: Sequence[Member], keep: Keep) -> int:
    """Return the index of the member to keep: the first member that stays, or else the member with the best rank.

    Raises:
        ParameterError: No member has a rank.
    """
    staying = next((at for at, member in enumerate(members) if member.stays), None)
    if staying is not None or keep.by == "first":
        return staying or 0
    ranks = [_rank(member, keep) for member in members]
    if max(ranks) == -math.inf:
        raise unknown_rank(keep, members[0].id, len(members) - 1)
    return ranks.index(max(ranks))


def _rank(member: Member, keep: Keep) -> float:
    """Return the rank of a document in a cluster: larger is better, and minus infinity if it is unknown."""
    if not keep.is_by_value:
        return member.size
    rank = member.rank if keep.column else keep.rank_of(member.date)
    return -math.inf if rank is None else rank


@dataclass(frozen=True, slots=True, eq=False)
class PairColumns:
    """Pairs of documents in columns, with exact counts of shingles.

    Args:
        ids: Id of each document.
        sizes: Number of distinct shingles of each document; int64 array of shape (documents,).
        a, b: Indices in `ids` of the documents of each pair; int64 arrays of shape (pairs,), like `shared`.
    """

    ids: list[str]
    names: list[str]
    sizes: Numbers
    a: Numbers
    b: Numbers
    shared: Numbers

    def shares(self) -> tuple[npt.NDArray[np.float64], ...]:
        sizes_a, sizes_b = self.sizes[self.a], self.sizes[self.b]
        # The share of an empty text is 0.
        return tuple(self.shared / np.maximum(of, 1) for of in (sizes_a + sizes_b - self.shared, sizes_a, sizes_b))


@dataclass(frozen=True, slots=True, eq=False)
class ClusterColumns:
    """Clusters in columns: the first document of each cluster is paired with every member, including itself.

    Args:
        counts: Number of members of each cluster; int64 array of shape (clusters,). Pairs of one cluster are adjacent.
        pairs: Pairs with the first document of the cluster as A.
    """

    counts: Numbers
    pairs: PairColumns
