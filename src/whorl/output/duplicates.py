"""Finds the near-duplicates in a store; writes clusters and pairs as JSON lines, CSV, Parquet or a table."""

from __future__ import annotations

import csv
import json
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import chain, islice, pairwise
from typing import IO, TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.duplicates import DuplicatesOptions, duplicates_in
from whorl.duplicates.contamination import ReferenceCounts, ReferenceItem
from whorl.duplicates.remove_common_shingles import ResidualSketches
from whorl.duplicates.results import (
    Cluster,
    ClusterColumns,
    Duplicates,
    Member,
    Pair,
    PairColumns,
    ReadTexts,
    UnsharedText,
    Version,
    with_words,
)
from whorl.duplicates.retention import Keep, UnreadValues
from whorl.duplicates.split_documents import span_of
from whorl.duplicates.write_cluster_labels import LabelCounts, write_ids
from whorl.fingerprint.statistics.metric import Share, Shares, round_down
from whorl.operations import DuplicatesOperation
from whorl.output.formatting import RESIDUAL_COLUMNS, cell, percent, plural, printable, title_of, without_controls
from whorl.output.json_conversion import values
from whorl.request_context import report_progress

if TYPE_CHECKING:
    # `whorl duplicates` of files opens no store, and starts faster without these modules.
    from whorl.store import Store

#: Maximum age in seconds of a result that is returned again for an equal request.
SECONDS_FRESH = 60.0
FORMATS = ("json", "csv", "table")
_as_json = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
_GROUP = 1 << 16
#: Columns of CSV and Parquet files, with the types of their values.
_Columns: TypeAlias = Mapping[str, type]
_SHARES: _Columns = {**dict.fromkeys(Shares.NAMES, float), "exact": bool}
_PAIR_COLUMNS: _Columns = {"a": str, "b": str, **_SHARES, "a_name": str, "b_name": str}
_MEMBER: _Columns = {"id": str, "name": str, "shingles": int, "is_principal": bool}
_CLUSTER_COLUMNS: _Columns = {"cluster": str, "documents": int, **_MEMBER, **_SHARES}
#: Columns for passages: documents, and half-open ranges of characters in them.
_SPAN_COLUMNS = {"a_document": str, "a_start": int, "a_end": int, "b_document": str, "b_start": int, "b_end": int}
#: Columns that are written only if the options define common text (boilerplate).
_RESIDUAL_COLUMNS = dict.fromkeys(RESIDUAL_COLUMNS.values(), float)
#: In JSON: maximum number of passages per version, the longest first, and of characters per passage.
_PASSAGES, _CHARACTERS = 10, 300
#: In a table: maximum number of passages per version, and of characters per passage.
_SHOWN, _WIDTH = 3, 100
#: Maximum number of characters of a cluster's snippet.
_SNIPPET = 70
_VERSION_COLUMNS = {"version": int, "date": str, "adds": float, "loses": float, "adds_words": int, "loses_words": int}


@dataclass(frozen=True, slots=True)
class MatchShares:
    """Shares of two documents; `without_common` is present only if the options define common text (boilerplate)."""

    JSON_FIELDS: ClassVar[tuple[str, ...]] = (
        *("*match.shares", "exact=match.is_exact", "intervals?=match.intervals", "without_common?=match.residual"),
    )

    match: Pair


@dataclass(frozen=True, slots=True)
class MatchedPair(MatchShares):
    """Ids and shares of two near-duplicate documents."""

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("a=match.a.id", "b=match.b.id", *MatchShares.JSON_FIELDS)


@dataclass(frozen=True, slots=True)
class ClusterMember(MatchShares):
    """A document of a cluster (B), compared with the principal (A); `shingles` counts distinct shingles."""

    JSON_FIELDS: ClassVar[tuple[str, ...]] = (
        *("id=match.b.id", "name=match.b.name", "shingles=match.b.size", "is_principal"),
        *MatchShares.JSON_FIELDS,
    )

    is_principal: bool


@dataclass(frozen=True, slots=True)
class OwnPassage:
    """A passage that only one of two versions has: its range of characters, and the beginning of its text."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class OwnPart:
    """Part of a version that the other version lacks; words and passages are null if the texts are not stored.

    `share` is a share of the version's shingles, `words` a number of words. Only the longest passages are listed.
    """

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("share", "words=unshared.words", "passages")

    share: Share
    unshared: UnsharedText | None

    @property
    def passages(self) -> list[OwnPassage] | None:
        if self.unshared is None:
            return None
        return [OwnPassage(*span, text[:_CHARACTERS]) for span, text in _longest(self.unshared, _PASSAGES)]


@dataclass(frozen=True, slots=True)
class VersionChange(MatchShares):
    """Changes from one version (A) to the next (B): their shares, and the words that B adds and drops."""

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("before=match.a.id", *MatchShares.JSON_FIELDS, "adds", "loses")

    adds: OwnPart
    loses: OwnPart


@dataclass(frozen=True, slots=True)
class DatedVersion:
    """A document in a cluster of versions; `change` is null for the first version."""

    JSON_FIELDS: ClassVar[tuple[str, ...]] = (
        *("id=version.member.id", "name=version.member.name", "date", "is_principal", "change"),
    )

    version: Version
    is_principal: bool

    @property
    def date(self) -> str | None:
        return _date(self.version.member)

    @property
    def change(self) -> VersionChange | None:
        version, match = self.version, self.version.match
        if match is None:
            return None
        adds, loses = OwnPart(1 - match.shares.b_in_a, version.added), OwnPart(1 - match.shares.a_in_b, version.lost)
        return VersionChange(match, adds, loses)


@dataclass(frozen=True, slots=True)
class DescribedCluster:
    """A cluster, named by the id of its first document; `versions` is present only if requested."""

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("cluster=name", "documents", "members", "versions?")

    source: Cluster

    @property
    def name(self) -> str:
        """Name of the cluster in every format and engine: the id of its first document."""
        return self.source.matches[0].b.id

    @property
    def documents(self) -> int:
        return len(self.source.matches)

    @property
    def members(self) -> list[ClusterMember]:
        return [ClusterMember(match, match.b == self.source.principal) for match in self.source.matches]

    @property
    def versions(self) -> list[DatedVersion] | None:
        versions, principal = self.source.versions, self.source.principal
        return [DatedVersion(version, version.member == principal) for version in versions] or None


@dataclass(frozen=True, slots=True)
class StoreDuplicates:
    """Result of a search for near-duplicates among all documents of a store."""

    options: DuplicatesOperation
    at: float
    documents: int
    pairs: int
    clusters: tuple[Cluster, ...]
    #: Hash of the ids and digests of the documents in clusters (`_versions`).
    versions: int
    warnings: tuple[str, ...]
    #: Returns a cluster of versions with the words and passages that each version gains and loses.
    add_words: Callable[[Cluster], Cluster]
    #: Numbers of the written cluster labels; None if the request did not ask for labels.
    label_counts: LabelCounts | None

    def answers(self, options: DuplicatesOperation, store: Store) -> bool:
        """Check whether this result answers a request: it has equal options, is recent, and no document has changed."""
        return (
            self.options == options
            and not options.write_ids
            and time.monotonic() - self.at <= SECONDS_FRESH
            and self.versions == _versions(store, self.clusters)
        )


def find_in_store(
    store: Store,
    options: DuplicatesOperation,
    search: DuplicatesOptions,
    last: StoreDuplicates | None,
    *,
    with_pairs_up_to: int = 0,
) -> StoreDuplicates:
    """Find the near-duplicates in a store, or return the `last` result if it answers the request.

    Args:
        search: The same options, checked and converted for the search.
        with_pairs_up_to: Include the pairs of each cluster with at most this number of members.
    """
    if last is not None and last.answers(options, store):
        return last
    with duplicates_in(store.engine, search, origin="the store", names=store.names) as duplicates:
        clusters = []
        for cluster in duplicates.clusters(
            complete=options.is_complete,
            keep=search.keep,
            with_pairs_up_to=with_pairs_up_to,
            versions=options.versions,
        ):
            clusters.append(cluster)
            if len(clusters) % 256 == 0:
                report_progress("clustering", len(clusters))
        pairs = duplicates.count_pairs()
        common = [common_line(duplicates.residual)] if duplicates.residual else []
        return StoreDuplicates(
            options,
            at=time.monotonic(),
            documents=duplicates.documents,
            pairs=pairs,
            clusters=tuple(clusters),
            versions=_versions(store, clusters),
            warnings=(*search.pairs.notes, *common, *not_compared_lines(duplicates)),
            add_words=partial(with_words, read=duplicates.read_texts, scheme=duplicates.scheme),
            label_counts=write_ids(store.engine, clusters) if options.write_ids else None,
        )


def _versions(store: Store, clusters: Iterable[Cluster]) -> int:
    ids = {match.b.id for cluster in clusters for match in cluster.matches}
    return hash((frozenset(store.engine.names(ids)), frozenset(store.engine.digests(ids).items())))


def _longest(unshared: UnsharedText, most: int) -> list[tuple[tuple[int, int], str]]:
    return sorted(
        sorted(zip(unshared.spans, unshared.passages, strict=True), key=lambda passage: -len(passage[1]))[:most]
    )


def _date(member: Member) -> str | None:
    if member.date is None:
        return None
    try:
        return f"{datetime.fromtimestamp(math.floor(member.date), UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (OverflowError, ValueError, OSError):
        return None


def common_line(residual: ResidualSketches) -> str:
    where = [] if residual.above is None else [f"in more than {plural(residual.above, 'different document')}"]
    where += ["in what was named as boilerplate"] if residual.options.boilerplate else []
    shingles, share = plural(residual.shingles, "shingle"), percent(residual.share)
    line = f"{shingles} {' or '.join(where)}, {share} of all text, are common"
    if residual.options.is_ignored and residual.only_common:
        line += f"; nothing else is in {plural(residual.only_common, 'document')}, duplicates of equal ones alone"
    return line


def format_label_counts(done: LabelCounts) -> str:
    labelled = f"{plural(done.documents, 'document')} of {plural(done.clusters, 'cluster')} say so in the store"
    left = f"; {done.left:,} changed meanwhile: run the same command again" if done.left else ""
    return f"{labelled}: {done.written:,} changed, {done.cleared:,} that are in none any more cleared{left}"


def not_compared_lines(duplicates: Duplicates) -> list[str]:
    """Return the notes on documents that were not compared, or have values that the search could not use."""
    lacks = (
        (duplicates.too_short, f"of fewer than {duplicates.scheme.shingle_size} {duplicates.scheme.unit}"),
        (duplicates.without_sketch, "without a sketch"),
        (duplicates.without_text, "without a text"),
    )
    return [
        *(not_compared_line(number, duplicates.kind, lack) for number, lack in lacks if number),
        *(unread_line(unread, duplicates.kind) for unread in duplicates.find_unread_values()),
        *duplicates.gaps,
    ]


def unread_line(unread: UnreadValues, kind: str) -> str:
    has, counts = ("has", "counts") if unread.count == 1 else ("have", "count")
    return (
        f"{plural(unread.count, kind)} {has} no {unread.needed_type} that can be read {unread}, and {counts} as "
        f"without a {unread.needed_type}"
    )


def not_compared_line(number: int, kind: str, lack: str) -> str:
    return f"{plural(number, kind)} {lack} {'was' if number == 1 else 'were'} not compared"


def write_pairs(
    pairs: Iterable[Pair], form: str, out: IO[Any], *, with_residual: bool = False, with_spans: bool = False
) -> int:
    """Write pairs one by one, and return their number; `out` is a binary file for Parquet, otherwise a text file.

    `with_residual` also writes the shares without common text, `with_spans` the ranges of passages, except in a table.
    """
    count, width = 0, 20 if with_residual else 10
    columns = _columns(_PAIR_COLUMNS, with_residual=with_residual, with_spans=with_spans)
    if form in ("csv", "parquet"):
        return _write_rows(columns, (_pair_row(pair, with_spans=with_spans) for pair in pairs), form, out)
    if form == "table":
        heads = "".join(f"{name:>{width}}" for name in ("jaccard", "A in B", "B in A"))
        out.write(f"{heads}  A | B\n")
    for count, pair in enumerate(pairs, start=1):  # noqa: B007 - the last one is returned
        if form == "json":
            spans = zip(_SPAN_COLUMNS, _spans(pair), strict=True) if with_spans else ()
            out.write(_line(values(MatchedPair(pair)) | dict(spans)))
        else:
            shares = "".join(f"{_percent(pair, name):>{width}}" for name in Shares.NAMES)
            out.write(f"{shares}  {printable(pair.a.id)} | {printable(pair.b.id)}\n")
    return count


@dataclass(frozen=True, slots=True)
class ClusterPreview:
    """Limits for a table of some clusters: how many to show, how many members of each, and a reader for snippets."""

    texts: ReadTexts
    clusters: int = 20
    members: int = 10


def write_clusters(
    clusters: Iterable[Cluster],
    form: str,
    out: IO[Any],
    *,
    marks_principal: bool = False,
    versions: bool = False,
    with_residual: bool = False,
    preview: ClusterPreview | None = None,
) -> tuple[int, int]:
    """Write clusters one by one; return the numbers of clusters and of their documents.

    `out` is a binary file for Parquet, otherwise a text file. A table marks documents to keep only with
    `marks_principal`. With `versions`, documents are in the order of their versions.
    """
    count = documents = 0

    def counted() -> Iterator[Cluster]:
        nonlocal count, documents
        for cluster in clusters:
            count, documents = count + 1, documents + len(cluster.matches)
            yield cluster

    written = counted()
    if form in ("csv", "parquet"):
        columns = _columns(_CLUSTER_COLUMNS, versions=versions, with_residual=with_residual)
        _write_rows(columns, chain.from_iterable(map(_cluster_rows, written)), form, out)
    elif form == "json":
        out.writelines(_line(values(DescribedCluster(cluster))) for cluster in written)
    else:
        shown = written if preview is None else list(islice(written, preview.clusters))
        texts = {} if preview is None else preview.texts([cluster.principal.id for cluster in shown])
        most, width = None if preview is None else preview.members, 16 if with_residual else 8
        for number, cluster in enumerate(shown, start=1):
            size, snippet = plural(len(cluster.matches), "document"), _snippet(texts.get(cluster.principal.id, ""))
            out.write(f"{chr(10) if number > 1 else ''}cluster {number:,}: {size}{snippet}\n")
            members = _member_lines(cluster, most, width, marks_principal=marks_principal)
            out.writelines(_version_lines(cluster) if versions else members)
        # Count the other clusters.
        deque(written, 0)
    return count, documents


def _member_lines(cluster: Cluster, most: int | None, width: int, *, marks_principal: bool) -> Iterator[str]:
    shown = cluster.matches[:most]
    for match in shown:
        mark = "  (kept)" if marks_principal and match.b == cluster.principal else ""
        yield f"{_percent(match, 'jaccard'):>{width}}  {title_of(match.b.id, match.b.name)}{mark}\n"
    if hidden := len(cluster.matches) - len(shown):
        yield f"{'':>{width}}  … and {hidden:,} more\n"


def write_reference_table(
    items: Sequence[ReferenceItem], out: IO[str], preview: ClusterPreview | None, kind: str
) -> None:
    """Write each reference item with the documents that contain it; `kind` is the noun for a document."""
    for count, item in enumerate(items if preview is None else items[: preview.clusters]):
        size, shown = item.size, item.size if preview is None else preview.members
        out.write(f"{chr(10) if count else ''}{printable(item.id)} is in {plural(size, kind)}\n")
        for pairs in item.documents[:shown]:
            document = title_of(pairs[0].b.id, pairs[0].b.name)
            # A text of the item can also contain the document. Show such a text only if the document contains no text.
            shown_pairs = [pair for pair in pairs if not _is_within(pair)] or pairs[:1]
            shares = ", ".join(_larger_share(pair, kind) for pair in shown_pairs)
            out.write(f"  {document}: {shares}{_snippet(pairs[0].passage)}\n")
        if size > shown:
            out.write(f"  … and {size - shown:,} more\n")


def _larger_share(pair: Pair, kind: str) -> str:
    if _is_within(pair):
        return f"{_percent(pair, 'b_in_a')} of the {kind}"
    return f"{_percent(pair, 'a_in_b')} of {printable(pair.a.name) or 'it'}"


def _is_within(pair: Pair) -> bool:
    return pair.shares.b_in_a > pair.shares.a_in_b


def reference_lines(counts: ReferenceCounts, options: DuplicatesOptions) -> list[str]:
    """Return the lines of the report after the items: how many were found, and how many texts were not compared."""
    kind, lack = options.granularity.value, f"of fewer than {options.scheme.shingle_size} words"
    too_short = (counts.too_short_references, "reference text"), (counts.too_short, kind)
    return [
        f"{counts.items:,} of {plural(counts.items_in_all, 'item')} of the reference in {counts.containing:,} of "
        f"{plural(counts.documents, kind)}",
        *(f"note: {line}" for line in options.pairs.notes),
        *(f"note: {not_compared_line(count, lacking, lack)}" for count, lacking in too_short if count),
    ]


def _snippet(text: str) -> str:
    words = printable(" ".join(text[: 10 * _SNIPPET].split()))
    if not words:
        return ""
    return f'  "{words}"' if len(words) <= _SNIPPET else f'  "{words[:_SNIPPET].rstrip()}…"'


def redundancy_line(result: Duplicates, size: int, *, complete: bool, keep: Keep | None = None) -> str:
    """Return a line with the number of redundant documents; `size` is the input's size in bytes, 0 if unknown."""
    removed, text_share = result.redundancy(complete=complete, keep=keep)
    line = f"keeping one of each removes {plural(removed, result.kind)} ({percent(removed / max(result.documents, 1))})"
    line += f" with {percent(text_share)} of the text"
    unit, name = (1e6, "MB") if size >= 1e6 else (1e3, "kB")
    return line + (f", about {text_share * size / unit:,.1f} of {size / unit:,.1f} {name}" if size else "")


def _write_rows(columns: _Columns, rows: Iterable[list[object]], form: str, out: IO[Any]) -> int:
    if form == "csv":
        table, count = csv.writer(out, lineterminator="\n"), 0
        table.writerow(columns)
        for count, row in enumerate(rows, start=1):  # noqa: B007 - the last one is returned
            table.writerow(map(cell, row))
        return count
    import pyarrow as pa
    from pyarrow import parquet

    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    schema = pa.schema([(name, types[kind]) for name, kind in columns.items()])
    count, left = 0, iter(rows)
    with parquet.ParquetWriter(out, schema) as writer:
        while batch := list(islice(left, _GROUP)):
            arrays = [
                pa.array(column, field.type) for column, field in zip(zip(*batch, strict=True), schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            count += len(batch)
    return count


def _pair_row(pair: Pair, *, with_spans: bool = False) -> list[object]:
    spans = _spans(pair) if with_spans else ()
    return [pair.a.id, pair.b.id, *_cells(pair), pair.a.name, pair.b.name, *_share_cells(pair.residual), *spans]


def _spans(pair: Pair) -> tuple[str | int, ...]:
    if pair.spans is not None:
        return (pair.a.id, *pair.spans[0], pair.b.id, *pair.spans[1])
    return (*span_of(pair.a.id), *span_of(pair.b.id))


def _cluster_rows(cluster: Cluster) -> Iterator[list[object]]:
    """Yield a cluster's documents as rows of _CLUSTER_COLUMNS, in the order of versions if the cluster has them."""
    name, size = DescribedCluster(cluster).name, len(cluster.matches)
    matches = {match.b.id: match for match in cluster.matches}
    versions = {version.member.id: _version_cells(at, version) for at, version in enumerate(cluster.versions, start=1)}
    for match in (matches[document_id] for document_id in (versions or matches)):
        member, is_principal = match.b, match.b == cluster.principal
        own = [*versions.get(member.id, []), *_share_cells(match.residual)]
        yield [name, size, member.id, member.name, member.size, is_principal, *_cells(match), *own]


def _version_cells(number: int, version: Version) -> list[object]:
    change = DatedVersion(version, is_principal=False).change
    shares = (None, None) if change is None else (round_down(change.adds.share), round_down(change.loses.share))
    words = (None if own is None else own.words for own in (version.added, version.lost))
    return [number, _date(version.member), *shares, *words]


def _version_lines(cluster: Cluster) -> Iterator[str]:
    for number, version in enumerate(cluster.versions, start=1):
        member, change = version.member, DatedVersion(version, is_principal=False).change
        date, mark = _date(member), "  (principal)" if member == cluster.principal else ""
        yield f"{number:>4}  {title_of(member.id, member.name)}{'' if date is None else f'  {date}'}{mark}\n"
        if change is not None:
            yield from _change_lines(change)


def _change_lines(change: VersionChange) -> Iterator[str]:
    for sign, part in (("+", change.adds), ("-", change.loses)):
        own = part.unshared
        if part.share or (own and own.words):
            words = "" if own is None else f", {plural(own.words, 'word')}"
            yield f"      {sign} {percent(part.share, is_exact=change.match.is_exact)}{words}\n"
            for _, text in () if own is None else _longest(own, _SHOWN):
                yield f"        {sign} {printable(' '.join(text.split()))[:_WIDTH]}\n"
    if change.match.shares.jaccard == 1:
        yield "      the same\n"


def _cells(pair: Pair) -> list[object]:
    return [*_share_cells(pair.shares), pair.is_exact]


def _share_cells(shares: Shares | None) -> list[object]:
    return [] if shares is None else [round_down(getattr(shares, name)) for name in Shares.NAMES]


def _columns(columns: _Columns, *, with_residual: bool, versions: bool = False, with_spans: bool = False) -> _Columns:
    added = (_VERSION_COLUMNS, versions), (_RESIDUAL_COLUMNS, with_residual), (_SPAN_COLUMNS, with_spans)
    return dict(chain(columns.items(), *(more.items() for more, is_added in added if is_added)))


def _percent(pair: Pair, name: str) -> str:
    """Format a share in percent: `~` marks an estimate, and the share without common text is in brackets."""
    residual = f" ({percent(getattr(pair.residual, name))})" if pair.residual else ""
    return f"{percent(getattr(pair.shares, name), is_exact=pair.is_exact)}{residual}"


def _json_texts(texts: Iterable[str]) -> list[str]:
    return [without_controls(json.encoder.encode_basestring(text)) for text in texts]


def _line(answer: dict[str, Any]) -> str:
    return without_controls(_as_json(answer)) + "\n"


def write_pair_lines(batches: Iterable[PairColumns], out: IO[str]) -> int:
    count = 0
    for batch in batches:
        ids, shares = _json_texts(batch.ids), map(_fraction_texts, batch.shares())
        out.writelines(
            f'{{"a": {ids[a]}, "b": {ids[b]}, "jaccard": {jaccard}, "a_in_b": {a_in_b}, "b_in_a": {b_in_a}, '
            '"exact": true}\n'
            for a, b, jaccard, a_in_b, b_in_a in zip(batch.a.tolist(), batch.b.tolist(), *shares, strict=True)
        )
        count += batch.a.size
    return count


def write_cluster_lines(batches: Iterable[ClusterColumns], out: IO[str]) -> tuple[int, int]:
    """Write a line for each cluster; return the numbers of clusters and documents."""
    count = documents = 0
    for batch in batches:
        ids = _json_texts(batch.pairs.ids)
        members = _members(batch.pairs, ids)
        ends = [0, *np.cumsum(batch.counts).tolist()]
        firsts = batch.pairs.b[ends[:-1]].tolist()
        for first, (begin, end) in zip(firsts, pairwise(ends), strict=True):
            members_json = ", ".join(members[begin:end])
            out.write(f'{{"cluster": {ids[first]}, "documents": {end - begin}, "members": [{members_json}]}}\n')
        count += batch.counts.size
        documents += len(members)
    return count, documents


def _members(pairs: PairColumns, ids: Sequence[str]) -> list[str]:
    """Return the second document of each pair as a cluster member in JSON; `ids` has ids as JSON."""
    names, sizes = _json_texts(pairs.names), pairs.sizes.tolist()
    return [
        f'{{"id": {ids[b]}, "name": {names[b]}, "shingles": {sizes[b]}, "is_principal": {"true" if a == b else "false"}'
        f', "jaccard": {jaccard}, "a_in_b": {a_in_b}, "b_in_a": {b_in_a}, "exact": true}}'
        for a, b, jaccard, a_in_b, b_in_a in zip(
            pairs.a.tolist(), pairs.b.tolist(), *map(_fraction_texts, pairs.shares()), strict=True
        )
    ]


def _fraction_texts(shares: npt.NDArray[np.float64]) -> list[str]:
    numbers = shares.tolist()
    texts = {share: repr(round_down(share)) for share in set(numbers)}
    return [texts[share] for share in numbers]
