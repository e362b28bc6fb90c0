"""Near-duplicates as JSON lines, CSV, Parquet or a table: writers for pairs and clusters, one at a time."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice, pairwise
from typing import IO, NotRequired

import numpy as np
import numpy.typing as npt
from typing_extensions import TypedDict

from whorl.duplicates.boilerplate import Residual
from whorl.duplicates.clusters import Own
from whorl.duplicates.output import Marked
from whorl.duplicates.result import Cluster, ClusterColumns, Duplicates, Member, Pair, PairColumns, Version
from whorl.fingerprint.statistics.metric import Shares
from whorl.output.format import (
    Fractions,
    SharesValues,
    cell,
    counted,
    fraction,
    fractions,
    percent,
    printable,
    shares_values,
    titled,
    without_controls,
)

FORMATS = ("json", "csv", "table")
_as_json = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
#: Rows of a Parquet row group.
_GROUP = 1 << 16
_SHARES = (*Shares.NAMES, "exact")
_PAIR_COLUMNS = ("a", "b", *_SHARES, "a_name", "b_name")
_CLUSTER_COLUMNS = ("cluster", "documents", "id", "name", "shingles", "is_principal", *_SHARES)
#: Columns added after the others if common text is treated separately.
_REST_COLUMNS = tuple(f"{name}_without_common" for name in Shares.NAMES)


#: Maximum number of a version's passages in JSON, the longest first, and of characters of each.
_PASSAGES, _CHARACTERS = 10, 300
#: Maximum number of a version's passages in a table, and of characters of each.
_SHOWN, _WIDTH = 3, 100
_VERSION_COLUMNS = ("version", "date", "adds", "loses", "adds_words", "loses_words")


class PairShares(SharesValues):
    """The shares of two documents; `without_common` is present if common text is treated separately."""

    without_common: NotRequired[Fractions]


class PairValues(PairShares):
    """Two documents by their ids, with their shares."""

    a: str
    b: str


class MemberValues(PairShares):
    """A document of a cluster, as B with the principal as A; `shingles` is its number of distinct shingles."""

    id: str
    name: str
    shingles: int
    is_principal: bool


class OwnPassage(TypedDict):
    """A passage that only one of two versions has, with its beginning."""

    start: int
    end: int
    text: str


class OwnValues(TypedDict):
    """The part that only one of two versions has; words and passages are null if its text is not stored."""

    share: float
    words: int | None
    passages: list[OwnPassage] | None


class ChangeValues(PairShares):
    """The changes of a version, as B, from the previous one, as A."""

    before: str
    adds: OwnValues
    loses: OwnValues


class VersionValues(TypedDict):
    """A version of a document; `change` is null for the first version."""

    id: str
    name: str
    date: str | None
    is_principal: bool
    change: ChangeValues | None


class ClusterValues(TypedDict):
    """A cluster; `cluster` is the id of its first document, `versions` is present if requested."""

    cluster: str
    documents: int
    members: list[MemberValues]
    versions: NotRequired[list[VersionValues]]


def pair_values(pair: Pair) -> PairValues:
    """Return a pair as JSON values."""
    return {"a": pair.a.id, "b": pair.b.id, **_shares(pair)}


def cluster_values(cluster: Cluster) -> ClusterValues:
    """Return a cluster as JSON values: its first document's id, its size, and each member as B with the principal as A.

    With versions, each has its additions and losses compared with the previous one.
    """
    values: ClusterValues = {
        "cluster": _name(cluster),
        "documents": len(cluster.matches),
        "members": [
            {
                "id": match.b.id,
                "name": match.b.name,
                "shingles": match.b.size,
                "is_principal": match.b == cluster.principal,
                **_shares(match),
            }
            for match in cluster.matches
        ],
    }
    if cluster.versions:
        values["versions"] = [_version_values(each, cluster) for each in cluster.versions]
    return values


def _version_values(version: Version, cluster: Cluster) -> VersionValues:
    match, member = version.match, version.member
    return {
        "id": member.id,
        "name": member.name,
        "date": _date(member),
        "is_principal": member == cluster.principal,
        "change": None
        if match is None
        else {
            "before": match.a.id,
            **_shares(match),
            "adds": _own_values(1 - match.shares.b_in_a, version.added),
            "loses": _own_values(1 - match.shares.a_in_b, version.lost),
        },
    }


def _own_values(share: float, own: Own | None) -> OwnValues:
    """Return the part that only one version has as JSON values; its words are unknown without texts."""
    if own is None:
        return {"share": fraction(share), "words": None, "passages": None}
    return {
        "share": fraction(share),
        "words": own.words,
        "passages": [
            {"start": start, "end": end, "text": text[:_CHARACTERS]} for (start, end), text in _longest(own, _PASSAGES)
        ],
    }


def _longest(own: Own, most: int) -> list[tuple[tuple[int, int], str]]:
    """Return the longest passages with their positions, in the order of the text."""
    return sorted(sorted(zip(own.places, own.passages, strict=True), key=lambda each: -len(each[1]))[:most])


def _date(member: Member) -> str | None:
    """Return the date of a document, in UTC to the second."""
    if member.date is None:
        return None
    try:
        return f"{datetime.fromtimestamp(math.floor(member.date), UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (OverflowError, ValueError, OSError):
        return None


def common_line(rest: Residual) -> str:
    """Return a line with the definition of common text and its share of the documents."""
    where = [] if rest.above is None else [f"in more than {counted(rest.above, 'different document')}"]
    where += ["in what was named as boilerplate"] if rest.options.boilerplate else []
    line = f"{counted(rest.shingles, 'shingle')} {' or '.join(where)}, {percent(rest.share)} of all text, are common"
    if rest.options.is_ignored and rest.bare:
        line += f"; nothing else is in {counted(rest.bare, 'document')}, duplicates of equal ones alone"
    return line


def marked_line(done: Marked) -> str:
    """Return a line with the numbers of cluster labels written into a store."""
    told = f"{counted(done.documents, 'document')} of {counted(done.clusters, 'cluster')} say so in the store"
    left = f"; {done.left:,} changed meanwhile: run the same command again" if done.left else ""
    return f"{told}: {done.written:,} changed, {done.cleared:,} that are in none any more cleared{left}"


def left_out(found: Duplicates) -> list[str]:
    """Return lines with the numbers of documents that were not compared, and the reasons."""
    lacks = (
        (found.too_short, f"of fewer than {found.scheme.shingle_size} {found.scheme.unit}"),
        (found.without_sketch, "without a sketch"),
        (found.without_text, "without a text"),
    )
    return [not_compared_line(number, found.kind, lack) for number, lack in lacks if number]


def not_compared_line(number: int, kind: str, lack: str) -> str:
    """Return a line with the number of documents that were not compared, and the reason."""
    return f"{counted(number, kind)} {lack} {'was' if number == 1 else 'were'} not compared"


def write_pairs(pairs: Iterable[Pair], form: str, out: IO[str], *, with_rest: bool = False) -> int:
    """Write pairs, and return their number.

    Args:
        pairs: Pairs, read one by one.
        form: One of FORMATS.
        out: The file.
        with_rest: Whether to write the shares without common text, too.
    """
    count, width = 0, 20 if with_rest else 10
    rows = csv.writer(out, lineterminator="\n")
    if form == "csv":
        rows.writerow(_columns(_PAIR_COLUMNS, with_rest=with_rest))
    if form == "table":
        heads = "".join(f"{name:>{width}}" for name in ("jaccard", "A in B", "B in A"))
        out.write(f"{heads}  A | B\n")
    for count, pair in enumerate(pairs, start=1):  # noqa: B007 - the last one is returned
        if form == "json":
            out.write(_pair_line(pair))
        elif form == "csv":
            rows.writerow(_csv(_pair_row(pair)))
        else:
            shares = "".join(f"{_percent(pair, name):>{width}}" for name in Shares.NAMES)
            out.write(f"{shares}  {printable(pair.a.id)} | {printable(pair.b.id)}\n")
    return count


def write_clusters(
    clusters: Iterable[Cluster],
    form: str,
    out: IO[str],
    *,
    marks_principal: bool = False,
    with_versions: bool = False,
    with_rest: bool = False,
) -> tuple[int, int]:
    """Write clusters, and return the numbers of clusters and of documents in them.

    Args:
        clusters: Clusters, read one by one.
        form: One of FORMATS.
        out: The file.
        marks_principal: Whether a table marks the document to keep; the other formats always do.
        with_versions: Whether clusters have versions; documents are then in the order of their versions.
        with_rest: As in `write_pairs`.
    """
    count = documents = 0
    width = 16 if with_rest else 8
    rows = csv.writer(out, lineterminator="\n")
    if form == "csv":
        rows.writerow(_columns(_CLUSTER_COLUMNS, with_versions=with_versions, with_rest=with_rest))
    for count, cluster in enumerate(clusters, start=1):
        size = len(cluster.matches)
        documents += size
        if form == "json":
            out.write(_line(cluster_values(cluster)))
        elif form == "csv":
            rows.writerows(map(_csv, _cluster_rows(cluster)))
        else:
            out.write(f"{chr(10) if count > 1 else ''}cluster {count:,}: {counted(size, 'document')}\n")
            if with_versions:
                out.writelines(_version_lines(cluster))
                continue
            for match in cluster.matches:
                member = match.b
                kept = "  (kept)" if marks_principal and member == cluster.principal else ""
                out.write(f"{_percent(match, 'jaccard'):>{width}}  {titled(member.id, member.name)}{kept}\n")
    return count, documents


def write_pairs_parquet(pairs: Iterable[Pair], out: IO[bytes], *, with_rest: bool = False) -> int:
    """Write pairs as Parquet, and return their number."""
    return _write_parquet(_columns(_PAIR_COLUMNS, with_rest=with_rest), map(_pair_row, pairs), out)


def write_clusters_parquet(
    clusters: Iterable[Cluster], out: IO[bytes], *, with_versions: bool = False, with_rest: bool = False
) -> tuple[int, int]:
    """Write clusters as Parquet, one row per document, and return the numbers of clusters and documents."""
    count = 0

    def rows() -> Iterator[list[object]]:
        nonlocal count
        for cluster in clusters:
            count += 1
            yield from _cluster_rows(cluster)

    columns = _columns(_CLUSTER_COLUMNS, with_versions=with_versions, with_rest=with_rest)
    documents = _write_parquet(columns, rows(), out)
    return count, documents


def _write_parquet(columns: tuple[str, ...], rows: Iterable[list[object]], out: IO[bytes]) -> int:
    import pyarrow as pa
    from pyarrow import parquet

    others = {
        **dict.fromkeys(("documents", "shingles", "version", "adds_words", "loses_words"), pa.int64()),
        **dict.fromkeys(("exact", "is_principal"), pa.bool_()),
        **dict.fromkeys((*Shares.NAMES, *_REST_COLUMNS, "adds", "loses"), pa.float64()),
    }
    schema = pa.schema([(name, others.get(name, pa.string())) for name in columns])
    count, left = 0, iter(rows)
    with parquet.ParquetWriter(out, schema) as writer:
        while some := list(islice(left, _GROUP)):
            arrays = [
                pa.array(column, field.type) for column, field in zip(zip(*some, strict=True), schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            count += len(some)
    return count


def _pair_row(pair: Pair) -> list[object]:
    """Return a pair as a row of _PAIR_COLUMNS."""
    return [pair.a.id, pair.b.id, *_cells(pair), pair.a.name, pair.b.name, *_without_common_cells(pair)]


def _cluster_rows(cluster: Cluster) -> Iterator[list[object]]:
    """Yield the documents of a cluster as rows of _CLUSTER_COLUMNS, in the order of their versions if it has some."""
    name, size = _name(cluster), len(cluster.matches)
    matches = {match.b.id: match for match in cluster.matches}
    versions = {each.member.id: _version_cells(at, each) for at, each in enumerate(cluster.versions, start=1)}
    for match in (matches[each] for each in (versions or matches)):
        member, is_principal = match.b, match.b == cluster.principal
        own = [*versions.get(member.id, []), *_without_common_cells(match)]
        yield [name, size, member.id, member.name, member.size, is_principal, *_cells(match), *own]


def _version_cells(number: int, version: Version) -> list[object]:
    """Return a version as cells of _VERSION_COLUMNS."""
    match = version.match
    shares = [None, None] if match is None else [1 - match.shares.b_in_a, 1 - match.shares.a_in_b]
    words = [None if own is None else own.words for own in (version.added, version.lost)]
    return [number, _date(version.member), *(None if share is None else fraction(share) for share in shares), *words]


def _version_lines(cluster: Cluster) -> Iterator[str]:
    """Yield the lines of a cluster's versions for a table, with the additions (+) and losses (-) of each."""
    for number, version in enumerate(cluster.versions, start=1):
        member, match = version.member, version.match
        date, kept = _date(member), "  (principal)" if member == cluster.principal else ""
        yield f"{number:>4}  {titled(member.id, member.name)}{'' if date is None else f'  {date}'}{kept}\n"
        if match is None:
            continue
        for sign, share, own in (
            ("+", 1 - match.shares.b_in_a, version.added),
            ("-", 1 - match.shares.a_in_b, version.lost),
        ):
            if not share and not (own and own.words):
                continue
            words = "" if own is None else f", {counted(own.words, 'word')}"
            yield f"      {sign} {percent(share, is_exact=match.is_exact)}{words}\n"
            for _, text in () if own is None else _longest(own, _SHOWN):
                yield f"        {sign} {printable(' '.join(text.split()))[:_WIDTH]}\n"
        if match.shares.jaccard == 1:
            yield "      the same\n"


def _name(cluster: Cluster) -> str:
    """Return a cluster's name: the id of its first document, which is the same in every format and engine."""
    return cluster.matches[0].b.id


def _csv(row: list[object]) -> list[object]:
    return [cell(value) for value in row]


def _shares(pair: Pair) -> PairShares:
    """Return the shares of two documents, with those without common text if known."""
    told = shares_values(pair.shares, pair.low, pair.high, is_exact=pair.is_exact)
    if pair.rest is None:
        return {**told}  # type: ignore[typeddict-item]  # without_common is no part of it
    return {**told, "without_common": fractions(pair.rest)}


def _cells(pair: Pair) -> list[object]:
    """Return the shares as the cells of a row, without intervals."""
    return [*fractions(pair.shares).values(), pair.is_exact]


def _columns(columns: tuple[str, ...], *, with_rest: bool, with_versions: bool = False) -> tuple[str, ...]:
    return columns + (_VERSION_COLUMNS if with_versions else ()) + (_REST_COLUMNS if with_rest else ())


def _without_common_cells(pair: Pair) -> list[object]:
    return [*fractions(pair.rest).values()] if pair.rest else []


def _percent(pair: Pair, name: str) -> str:
    """Return a share in percent, followed by the share without common text in brackets; `~` marks an estimate."""
    rest = f" ({percent(getattr(pair.rest, name))})" if pair.rest else ""
    return f"{percent(getattr(pair.shares, name), is_exact=pair.is_exact)}{rest}"


def _pair_line(pair: Pair) -> str:
    """Return the line of a pair; most pairs are exact and are formatted directly, for speed."""
    if pair.rest is not None or not pair.is_exact:
        return _line(pair_values(pair))
    shares = pair.shares
    return (
        f'{{"a": {_json_text(pair.a.id)}, "b": {_json_text(pair.b.id)}, "jaccard": {fraction(shares.jaccard)!r}, '
        f'"a_in_b": {fraction(shares.a_in_b)!r}, "b_in_a": {fraction(shares.b_in_a)!r}, "exact": true}}\n'
    )


def _json_text(text: str) -> str:
    return without_controls(json.encoder.encode_basestring(text))


def _line(values: PairValues | ClusterValues) -> str:
    return without_controls(_as_json(values)) + "\n"


def write_pair_lines(several: Iterable[PairColumns], out: IO[str]) -> int:
    """Write a line for each pair, as `write_pairs` does, and return the number of pairs."""
    count = 0
    for some in several:
        ids, shares = list(map(_json_text, some.ids)), map(_fraction_texts, some.shares())
        out.write(
            "".join(
                [
                    f'{{"a": {ids[a]}, "b": {ids[b]}, "jaccard": {jaccard}, "a_in_b": {a_in_b}, "b_in_a": {b_in_a}, '
                    '"exact": true}\n'
                    for a, b, jaccard, a_in_b, b_in_a in zip(some.a.tolist(), some.b.tolist(), *shares, strict=True)
                ]
            )
        )
        count += some.a.size
    return count


def write_cluster_lines(several: Iterable[ClusterColumns], out: IO[str]) -> tuple[int, int]:
    """Write a line for each cluster, as `write_clusters` does; return the numbers of clusters and documents."""
    count = documents = 0
    for some in several:
        ids, members = list(map(_json_text, some.pairs.ids)), _members(some.pairs)
        ends = [0, *np.cumsum(some.counts).tolist()]
        firsts = some.pairs.b[ends[:-1]].tolist()
        for first, (begin, end) in zip(firsts, pairwise(ends), strict=True):
            told = ", ".join(members[begin:end])
            out.write(f'{{"cluster": {ids[first]}, "documents": {end - begin}, "members": [{told}]}}\n')
        count += some.counts.size
        documents += len(members)
    return count, documents


def _members(pairs: PairColumns) -> list[str]:
    """Return the JSON of each pair's second document, as a member of a cluster whose principal is the first."""
    ids, names, sizes = list(map(_json_text, pairs.ids)), list(map(_json_text, pairs.names)), pairs.sizes.tolist()
    return [
        f'{{"id": {ids[b]}, "name": {names[b]}, "shingles": {sizes[b]}, "is_principal": {"true" if a == b else "false"}'
        f', "jaccard": {jaccard}, "a_in_b": {a_in_b}, "b_in_a": {b_in_a}, "exact": true}}'
        for a, b, jaccard, a_in_b, b_in_a in zip(
            pairs.a.tolist(), pairs.b.tolist(), *map(_fraction_texts, pairs.shares()), strict=True
        )
    ]


def _fraction_texts(shares: npt.NDArray[np.float64]) -> list[str]:
    """Return shares as JSON numbers; equal shares are converted once, because most are equal."""
    several = shares.tolist()
    texts = {share: repr(fraction(share)) for share in set(several)}
    return [texts[share] for share in several]
