"""All near-duplicates of a store or of documents that are in none: what is gathered, and what is found among them."""

from __future__ import annotations

import hashlib
import math
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whorl.arrays import ascending_distinct
from whorl.duplicates.archive import Archive, Archived, Entry, sketch_digest
from whorl.duplicates.clusters import Components, complete_labels, grouped
from whorl.duplicates.question import METRICS, PairQuestion
from whorl.duplicates.search import find_pairs, first_of_equals
from whorl.duplicates.sketches import Numbers
from whorl.duplicates.verify import Pairs, measured
from whorl.duplicates.whole_text import ReadHashes, settled, told_apart
from whorl.engine.protocol import Engine, Scanned
from whorl.errors import ParameterError, SchemaError
from whorl.fingerprint.batch import hashed
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import SketchScheme
from whorl.fingerprint.statistics.metric import Metric, Shares, metric_named
from whorl.model import Document
from whorl.planning.dates import DateError, read_date
from whorl.similar.by_sketch import Percent, fraction_of

#: Of documents that are in no store whole sets of hashes are kept, up to so many shingles: those are compared exactly.
FILES_SCHEME = SketchScheme(k=1 << 20, floor_level=0, cap=1 << 20)
#: Documents put into an archive at once, and looked for in it.
_AT_ONCE = 512
#: Pairs, or members of clusters, of which ids and names are looked up at once.
_TOLD_AT_ONCE = 4096

Progress = Callable[[str, int], None]


def ask_pairs(metric: Metric | str, threshold: Percent, recall: Percent) -> PairQuestion:
    """Return the question of numbers as people give them.

    Args:
        metric: "jaccard" (or "similarity"), or "containment" (how much of the smaller document the larger one has).
        threshold: In percent, above 0, at most 100.
        recall: In percent, above 0, at most 100.

    Raises:
        ParameterError: There is no such metric, or a number is no percentage above 0.
    """
    chosen = metric_named(metric, METRICS)
    return PairQuestion(chosen, fraction_of("threshold", threshold), fraction_of("recall", recall))


@dataclass(frozen=True, slots=True)
class Member:
    """A document.

    Args:
        id: What it is known by.
        name: What people know it by, or "".
        size: Its distinct shingles.
        date: Seconds since 1970 when it was made or changed, None where that is not known.
    """

    id: str
    name: str
    size: int
    date: float | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two documents that are alike.

    Args:
        a: The one that came first.
        b: The other.
        shares: What they share, or where sketches are compared the likeliest shares.
        low: The lower ends of their 95 % intervals; the shares themselves where all shingles were compared.
        high: The upper ends.
    """

    a: Member
    b: Member
    shares: Shares
    low: Shares
    high: Shares

    @property
    def is_exact(self) -> bool:
        """Whether all shingles were compared; else these are estimates from sketches."""
        return self.low == self.high

    @classmethod
    def of_counts(cls, a: Member, b: Member, shared: int, least: int, largest: int) -> Pair:
        """Return a pair by how many shingles both have, and the ends of the interval of that number."""
        shares = Shares.of_counts(shared, a.size, b.size)
        if least == largest:
            return cls(a, b, shares, shares, shares)
        return cls(a, b, shares, *(Shares.of_counts(end, a.size, b.size) for end in (least, largest)))


@dataclass(frozen=True, slots=True)
class Cluster:
    """Documents that hang together.

    Args:
        matches: The first document to come with each of them, itself first, in the order in which they came.
        pairs: Those among the members, as far as they were looked for, where they were asked for.
    """

    matches: tuple[Pair, ...]
    pairs: tuple[Pair, ...] = ()

    @property
    def members(self) -> tuple[Member, ...]:
        """The documents, in the order in which they came."""
        return tuple(match.b for match in self.matches)


class Duplicates:
    """What was found. Documents are known by their places, in the order in which they came.

    Args:
        archive: What the documents are kept in, open.
        archived: All of them.
        pairs: The pairs among different documents.
        firsts: For each document the first one that is equal to it.
        is_new: Which documents were not compared before.
    """

    def __init__(
        self,
        archive: Archive,
        archived: Archived,
        pairs: Pairs,
        firsts: Numbers,
        is_new: npt.NDArray[np.bool_],
    ) -> None:
        self._archive, self._archived, self._pairs, self._firsts = archive, archived, pairs, firsts
        self._is_new = is_new
        #: Documents of a store that have no sketch, and so are not among these.
        self.without_sketch = 0
        self.documents = len(archived.sketches)
        #: Documents of fewer words than a shingle has: nothing can be said of them.
        self.too_short = int(np.count_nonzero(archived.sketches.sizes == 0))
        equal = np.flatnonzero(np.bincount(firsts, minlength=1) > 1)
        order = np.argsort(firsts, kind="stable")
        begins = np.searchsorted(firsts[order], equal)
        ends = np.searchsorted(firsts[order], equal, side="right")
        self._copies = {first: order[begin:end] for first, begin, end in zip(equal.tolist(), begins, ends, strict=True)}

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
        yield from self._told(self._pairs, list(self._copies), only_new=only_new)

    def _told(self, pairs: Pairs, several: Sequence[int], *, only_new: bool = False) -> Iterator[Pair]:
        """Yield pairs of documents for pairs of different ones, and those among the ones that come several times."""
        firsts = np.array(several, np.int64)
        together = Pairs.together([pairs, measured(self._archived.sketches, firsts, firsts)])
        order = np.lexsort((together.b, together.a, -together.jaccard))
        for at in range(0, order.size, _TOLD_AT_ONCE):
            some = together.only(order[at : at + _TOLD_AT_ONCE])
            rows = zip(*(part.tolist() for part in (some.a, some.b, some.shared, some.low, some.high)), strict=True)
            known = self.members(
                [each for place in {*some.a.tolist(), *some.b.tolist()} for each in self._equal_to(place)]
            )
            for a, b, *shared in rows:
                for one, other in self._expanded(a, b, only_new=only_new):
                    yield Pair.of_counts(known[min(one, other)], known[max(one, other)], *shared)

    def _expanded(self, a: int, b: int, *, only_new: bool) -> Iterator[tuple[int, int]]:
        """Yield the pairs of documents that a pair of different ones stands for."""
        alike_a, alike_b = self._equal_to(a), self._equal_to(b)
        for number, one in enumerate(alike_a):
            for other in alike_b[number + 1 :] if a == b else alike_b:
                if not only_new or self._is_new[one] or self._is_new[other]:
                    yield one, other

    def _equal_to(self, place: int) -> list[int]:
        return self._copies[place].tolist() if place in self._copies else [place]

    def clusters(
        self, *, complete: bool = False, only_new: bool = False, with_pairs_up_to: int = 0
    ) -> Iterator[Cluster]:
        """Yield the clusters, the largest first, equal ones by their first documents.

        Args:
            complete: Whether any two members are to be a pair; else a cluster is all that pairs hold together.
            only_new: Leave out those that no new document is in.
            with_pairs_up_to: Members up to which clusters come with their pairs.
        """
        labels = self._labels(complete=complete)
        inside = np.flatnonzero(labels[self._pairs.a] == labels[self._pairs.b])
        inside = inside[np.argsort(labels[self._pairs.a[inside]], kind="stable")]
        of_pairs = labels[self._pairs.a[inside]]
        groups = grouped(labels)
        if only_new:
            groups = [group for group in groups if self._is_new[group].any()]
        for some in _together(groups):
            places = np.concatenate(some)
            members = self.members(places.tolist())
            firsts = np.repeat([group[0] for group in some], [group.size for group in some])
            told = measured(self._archived.sketches, firsts, places)
            # Each shares all with itself, however much its sketch holds.
            shared = (np.where(firsts == places, told.sizes_a, part) for part in (told.shared, told.low, told.high))
            counts = zip(*(part.tolist() for part in shared), strict=True)
            for group in some:
                here = group.tolist()
                pairs: Iterable[Pair] = ()
                if group.size <= with_pairs_up_to:
                    begin, end = np.searchsorted(of_pairs, [labels[here[0]], labels[here[0]] + 1])
                    several = [place for place in here if place in self._copies]
                    pairs = self._told(self._pairs.only(inside[begin:end]), several)
                matches = zip(here, islice(counts, len(here)), strict=True)
                first = members[here[0]]
                yield Cluster(
                    tuple(Pair.of_counts(first, members[place], *shared) for place, shared in matches), tuple(pairs)
                )

    def _labels(self, *, complete: bool) -> Numbers:
        """Return the cluster of each document, known by the place of its first member."""
        if complete:
            return complete_labels(self.documents, self._pairs)[self._firsts]
        components = Components(self.documents)
        components.join(self._pairs.a, self._pairs.b)
        return components.labels()[self._firsts]

    def members(self, places: Sequence[int]) -> dict[int, Member]:
        """Return documents by their places."""
        numbers = self._archived.numbers[np.array(places, np.int64)].tolist()
        known = self._archive.known(numbers)
        sizes = self._archived.sketches.sizes
        return {
            place: Member(known[number][0], known[number][1], int(sizes[place]), known[number][2])
            for place, number in zip(places, numbers, strict=True)
        }


def _together(groups: Iterable[Numbers]) -> Iterator[list[Numbers]]:
    """Yield several small clusters at once, so that what is known of their members is looked up together."""
    waiting: list[Numbers] = []
    members = 0
    for group in groups:
        waiting.append(group)
        members += group.size
        if members >= _TOLD_AT_ONCE:
            yield waiting
            waiting, members = [], 0
    if waiting:
        yield waiting


@contextmanager
def duplicates_among(
    documents: Iterable[Document],
    question: PairQuestion,
    *,
    scheme: Scheme = Scheme(),  # noqa: B008 - frozen
    folder: Path | None = None,
    dates: Callable[[Document], float | None] = lambda document: None,
    links_suffice: bool = False,
    workers: int | None = None,
    on_repeated: Callable[[str], None] = lambda document_id: None,
    progress: Progress = lambda doing, count: None,
) -> Iterator[Duplicates]:
    """Find the near-duplicates among documents that need be in no store.

    Args:
        documents: Read as they are needed; of several with one id the last counts.
        question: What is to be found.
        scheme: What words and shingles are.
        folder: Where what is learned of them stays, so that another run goes on from there: a run that was stopped is
            completed, and further documents are compared with all that came before. None for a temporary one.
        dates: Seconds since 1970 when a document was made or changed, None where nobody knows.
        links_suffice: Whether only clusters are wanted: of a crowd that is all alike not all pairs are looked for.
        workers: As in `fingerprint.bulk.signatures_of`.
        on_repeated: Called with an id that comes again in this run.
        progress: Called with what is being done, and how much of it is.

    Raises:
        StoreError: The folder cannot be used.
        ParameterError: The folder is of something else.
    """
    with ExitStack() as opened:
        archive = opened.enter_context(_archive(opened, folder, f"files, under {scheme.name}", FILES_SCHEME))
        archive.begin_reading()
        _gather(archive, documents, scheme, dates, workers, on_repeated, progress)
        yield _found(archive, question, None, links_suffice=links_suffice, progress=progress)


@contextmanager
def duplicates_in(
    engine: Engine,
    question: PairQuestion,
    *,
    origin: str = "a store",
    folder: Path | None = None,
    date_field: str | None = None,
    links_suffice: bool = False,
    progress: Progress = lambda doing, count: None,
) -> Iterator[Duplicates]:
    """Find the near-duplicates in a store, from the sketches that it keeps, and its texts where these leave a doubt.

    Args:
        engine: Where the documents are.
        question: What is to be found.
        origin: What to call the store.
        folder: As in `duplicates_among`; what is gone from the store is forgotten.
        date_field: The field that says when a document was made or changed, where dates are wanted.
        links_suffice: As in `duplicates_among`.
        progress: As in `duplicates_among`.

    Raises:
        SchemaError: The documents of the store have no sketches.
        StoreError: The folder cannot be used.
        ParameterError: The folder is of something else.
    """
    scheme = engine.sketch_scheme
    if scheme is None and engine.count():
        raise SchemaError(
            "the documents of this store have no sketches, from which duplicates are found; 'whorl solr init URL' and "
            "then 'whorl solr backfill URL' add them"
        )
    with ExitStack() as opened:
        archive = opened.enter_context(
            _archive(opened, folder, f"{origin}, under {engine.scheme.name}", scheme or SketchScheme())
        )
        without = 0
        # What was read without its dates would go without them.
        for portion in engine.scan(archive.begin_scan(anew=date_field is not None)):
            dates = _dates(engine, portion, date_field)
            entries = [
                Entry(document_id, sketch_digest(sketch), sketch, name, dates.get(document_id))
                for document_id, name, sketch in portion.documents
                if sketch is not None
            ]
            without += len(portion.documents) - len(entries)
            same = archive.unchanged([(entry.id, entry.digest, entry.name, entry.date) for entry in entries])
            archive.put([entry for entry in entries if entry.id not in same], portion.mark)
            progress("reading", archive.count())
        archive.end_scan()

        def read(ids: Sequence[str]) -> Mapping[str, npt.NDArray[np.uint64]]:
            texts = engine.texts(ids)
            shift = np.uint64(64 - archive.scheme.sketch_bits)
            return {
                each: ascending_distinct(found.hashes >> shift)
                for each, found in zip(texts, hashed(texts.values(), engine.scheme, workers=1), strict=True)
            }

        found = _found(archive, question, read, links_suffice=links_suffice, progress=progress)
        found.without_sketch = without
        yield found


def _dates(engine: Engine, portion: Scanned, field: str | None) -> dict[str, float | None]:
    if field is None:
        return {}
    stored = engine.documents([document_id for document_id, _, _ in portion.documents])
    return {document_id: date_of(each.properties.get(field)) for document_id, each in stored.items()}


def date_of(value: object) -> float | None:
    """Return the moment that a field's value, or the first of several, tells: seconds since 1970, None if it is none.

    Args:
        value: A date as queries write it, or a number of seconds; in a list or tuple or alone.
    """
    first = value[0] if isinstance(value, list | tuple) and value else value
    if isinstance(first, int | float):
        return float(first)
    if not isinstance(first, str):
        return None
    try:
        return read_date(first, datetime.now(UTC)).first / 1000
    except DateError:
        return None


def superfluous(clusters: Iterable[Cluster], keep: str) -> Iterator[Member]:
    """Yield all members of clusters but the one of each that is to be kept.

    Args:
        clusters: Complete ones, so that each member is a duplicate of the one that is kept.
        keep: "first", "longest" (with most distinct shingles) or "newest"; of several such, the first.

    Raises:
        ParameterError: The newest is to be kept, and no member of a cluster has a date.
    """
    for cluster in clusters:
        members = cluster.members
        if keep == "newest" and all(member.date is None for member in members):
            raise ParameterError(
                f"nobody knows which is the newest of {members[0].id!r} and {len(members) - 1} more; name the field "
                "of the date (--date FIELD), or keep another"
            )
        worths = [_worth(member, keep) for member in members]
        kept = worths.index(max(worths))
        yield from (member for at, member in enumerate(members) if at != kept)


def _worth(member: Member, keep: str) -> float:
    if keep == "longest":
        return member.size
    if keep == "newest" and member.date is not None:
        return member.date
    return -math.inf


def _archive(opened: ExitStack, folder: Path | None, origin: str, scheme: SketchScheme) -> Archive:
    if folder is not None:
        return Archive(folder, origin, scheme)
    # What is mapped may not be deleted everywhere before the process ends.
    temporary = tempfile.TemporaryDirectory(prefix="whorl-duplicates-", ignore_cleanup_errors=True)
    return Archive(Path(opened.enter_context(temporary)), origin, scheme, lasts=False)


def _gather(
    archive: Archive,
    documents: Iterable[Document],
    scheme: Scheme,
    dates: Callable[[Document], float | None],
    workers: int | None,
    on_repeated: Callable[[str], None],
    progress: Progress,
) -> None:
    """Put documents into an archive, except those that are in it unchanged."""
    waiting: deque[tuple[str, str, float | None, bytes]] = deque()
    fresh: dict[str, Entry] = {}
    remaining = iter(documents)
    seen = archive.count()
    is_empty = not seen

    def texts() -> Iterator[str]:
        while some := list(islice(remaining, _AT_ONCE)):
            digests = [_digest(each.text) if archive.lasts else b"" for each in some]
            moments = [dates(each) for each in some]
            # What came before in this run and is still to be put is not known by what the archive has under its id.
            ahead = {document_id for document_id, *_ in waiting} | fresh.keys()
            known = [
                (each.id, digest, each.name, moment)
                for each, digest, moment in zip(some, digests, moments, strict=True)
                if each.id not in ahead
            ]
            same = set() if is_empty else archive.unchanged(known)
            for document, digest, moment in zip(some, digests, moments, strict=True):
                if document.id not in same:
                    waiting.append((document.id, document.name, moment, digest))
                    yield document.text

    for each in hashed(texts(), scheme, workers=workers):
        document_id, name, moment, digest = waiting.popleft()
        if document_id in fresh:
            on_repeated(document_id)
        fresh[document_id] = Entry(document_id, digest, each.sketch(archive.scheme), name, moment)
        if len(fresh) == _AT_ONCE:
            seen += _put(archive, fresh, on_repeated)
            progress("reading", seen)
    seen += _put(archive, fresh, on_repeated)
    progress("reading", seen)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _put(archive: Archive, fresh: dict[str, Entry], on_repeated: Callable[[str], None]) -> int:
    count = len(fresh)
    for document_id in archive.put(list(fresh.values())):
        on_repeated(document_id)
    fresh.clear()
    return count


def _found(
    archive: Archive,
    question: PairQuestion,
    read: ReadHashes | None,
    *,
    links_suffice: bool,
    progress: Progress,
) -> Duplicates:
    told = f"{question.metric.value} {question.threshold} with recall {question.recall}"
    archive.ask(told, links_suffice=links_suffice)
    archived = archive.archived()
    if read is not None:
        archived = told_apart(archive, archived, question, read)
    firsts = first_of_equals(archived.keys, archived.sketches.sizes)
    known = archive.pairs(archived)
    pairs = find_pairs(
        archived.sketches,
        firsts,
        question,
        known=known,
        is_known=archived.is_paired,
        keys=archived.keys,
        links_suffice=links_suffice,
        progress=lambda count: progress("comparing", count),
    )
    if read is not None:
        pairs = settled(archive, archived, pairs, question, read, lambda count: progress("reading whole", count))
    archive.keep_pairs(pairs, archived.numbers)
    return Duplicates(archive, archived, pairs, firsts, archived.is_new)
