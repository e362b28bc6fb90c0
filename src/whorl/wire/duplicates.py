"""Duplicates as JSON lines, CSV, Parquet or a table for people: pairs and clusters, written one at a time."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import IO, Any

from whorl.duplicates.result import Cluster, Duplicates, Pair
from whorl.fingerprint.statistics.metric import Shares
from whorl.wire.numbers import percent, shares_values
from whorl.wire.text import counted, printable

FORMATS = ("json", "csv", "table")
#: Rows that Parquet keeps in one group.
_GROUP = 1 << 16
_SHARES = (*Shares.NAMES, "exact")
_PAIR_COLUMNS = ("a", "b", *_SHARES, "a_name", "b_name")
_CLUSTER_COLUMNS = ("cluster", "documents", "id", "name", "shingles", "is_principal", *_SHARES)


def pair_values(pair: Pair) -> dict[str, Any]:
    """Return a pair as JSON values."""
    return {"a": pair.a.id, "b": pair.b.id, **_shares(pair)}


def cluster_values(cluster: Cluster) -> dict[str, Any]:
    """Return a cluster as JSON values: its first document's id, how many it has, each as B with the principal as A."""
    return {
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


def left_out(found: Duplicates) -> list[str]:
    """Say which documents were not compared."""
    lacks = (
        (found.too_short, f"of fewer than {found.scheme.shingle_size} {found.scheme.unit}"),
        (found.without_sketch, "without a sketch"),
    )
    return [
        f"{counted(number, 'document')} {lack} {'was' if number == 1 else 'were'} not compared"
        for number, lack in lacks
        if number
    ]


def write_pairs(pairs: Iterable[Pair], form: str, out: IO[str]) -> int:
    """Write pairs, and return how many they were.

    Args:
        pairs: Taken one by one.
        form: One of FORMATS.
        out: Where to.
    """
    count = 0
    rows = csv.writer(out, lineterminator="\n")
    if form == "csv":
        rows.writerow(_PAIR_COLUMNS)
    if form == "table":
        out.write("   jaccard    A in B    B in A  A | B\n")
    for count, pair in enumerate(pairs, start=1):  # noqa: B007 - the last one is returned
        if form == "json":
            out.write(_line(pair_values(pair)))
        elif form == "csv":
            rows.writerow(_csv(_pair_row(pair)))
        else:
            shares = "".join(f"{_percent(pair, name):>10}" for name in Shares.NAMES)
            out.write(f"{shares}  {printable(pair.a.id)} | {printable(pair.b.id)}\n")
    return count


def write_clusters(
    clusters: Iterable[Cluster], form: str, out: IO[str], *, marks_principal: bool = False
) -> tuple[int, int]:
    """Write clusters, and return how many they were, and how many documents are in them.

    Args:
        clusters: Taken one by one.
        form: One of FORMATS.
        out: Where to.
        marks_principal: Whether a table says which one is kept; the other formats always do.
    """
    count = documents = 0
    rows = csv.writer(out, lineterminator="\n")
    if form == "csv":
        rows.writerow(_CLUSTER_COLUMNS)
    for count, cluster in enumerate(clusters, start=1):
        size = len(cluster.matches)
        documents += size
        if form == "json":
            out.write(_line(cluster_values(cluster)))
        elif form == "csv":
            rows.writerows(map(_csv, _cluster_rows(cluster)))
        else:
            out.write(f"{chr(10) if count > 1 else ''}cluster {count:,}: {counted(size, 'document')}\n")
            for match in cluster.matches:
                member = match.b
                name = f"  {printable(member.name)}" if member.name and member.name != member.id else ""
                kept = "  (kept)" if marks_principal and member == cluster.principal else ""
                out.write(f"{_percent(match, 'jaccard'):>8}  {printable(member.id)}{name}{kept}\n")
    return count, documents


def write_pairs_parquet(pairs: Iterable[Pair], out: IO[bytes]) -> int:
    """Write pairs as Parquet, and return how many they were."""
    return _write_parquet(_PAIR_COLUMNS, map(_pair_row, pairs), out)


def write_clusters_parquet(clusters: Iterable[Cluster], out: IO[bytes]) -> tuple[int, int]:
    """Write clusters as Parquet, a row for each document, and return how many they were, and how many documents."""
    count = 0

    def rows() -> Iterator[list[object]]:
        nonlocal count
        for cluster in clusters:
            count += 1
            yield from _cluster_rows(cluster)

    documents = _write_parquet(_CLUSTER_COLUMNS, rows(), out)
    return count, documents


def _write_parquet(columns: tuple[str, ...], rows: Iterable[list[object]], out: IO[bytes]) -> int:
    import pyarrow as pa
    from pyarrow import parquet

    others = {
        "documents": pa.int64(),
        "shingles": pa.int64(),
        **dict.fromkeys(("exact", "is_principal"), pa.bool_()),
        **dict.fromkeys(Shares.NAMES, pa.float64()),
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
    """Return a pair in _PAIR_COLUMNS."""
    return [pair.a.id, pair.b.id, *_cells(pair), pair.a.name, pair.b.name]


def _cluster_rows(cluster: Cluster) -> Iterator[list[object]]:
    """Yield the documents of a cluster in _CLUSTER_COLUMNS."""
    name, size = _name(cluster), len(cluster.matches)
    for match in cluster.matches:
        is_principal = match.b == cluster.principal
        yield [name, size, match.b.id, match.b.name, match.b.size, is_principal, *_cells(match)]


def _name(cluster: Cluster) -> str:
    """Return what a cluster is called: the id of its first document, which is the same in every format and engine."""
    return cluster.matches[0].b.id


def _csv(row: list[object]) -> list[object]:
    return [str(value).lower() if isinstance(value, bool) else value for value in row]


def _shares(pair: Pair) -> dict[str, object]:
    return shares_values(pair.shares, pair.low, pair.high, is_exact=pair.is_exact)


def _cells(pair: Pair) -> list[object]:
    """Return the shares as the cells of a row; the ends of intervals have no room there."""
    values = _shares(pair)
    return [*(values[name] for name in Shares.NAMES), pair.is_exact]


def _percent(pair: Pair, name: str) -> str:
    """Return a share in percent; `~` marks an estimate."""
    return f"{'' if pair.is_exact else '~'}{percent(getattr(pair.shares, name))}"


def _line(values: dict[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False) + "\n"
