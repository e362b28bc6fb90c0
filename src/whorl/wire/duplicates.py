"""Duplicates as JSON lines, CSV or a table for people: pairs and clusters, written one at a time."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from typing import Any, TextIO

from whorl.duplicates.result import Cluster, Duplicates, Pair
from whorl.fingerprint.statistics.metric import Shares
from whorl.wire.numbers import percent, shares_values
from whorl.wire.text import counted, printable

FORMATS = ("json", "csv", "table")
_SHARES = (*Shares.NAMES, "exact")
_PAIR_COLUMNS = ("a", "b", *_SHARES, "a_name", "b_name")
_CLUSTER_COLUMNS = ("cluster", "documents", "id", "name", "shingles", *_SHARES)


def pair_values(pair: Pair) -> dict[str, Any]:
    """Return a pair as JSON values."""
    return {"a": pair.a.id, "b": pair.b.id, **_shares(pair)}


def cluster_values(cluster: Cluster) -> dict[str, Any]:
    """Return a cluster as JSON values: how many documents, and each with what it (B) shares with the first (A)."""
    return {
        "documents": len(cluster.matches),
        "members": [
            {"id": match.b.id, "name": match.b.name, "shingles": match.b.size, **_shares(match)}
            for match in cluster.matches
        ],
    }


def left_out(found: Duplicates) -> list[str]:
    """Say which documents were not compared."""
    lacks = (
        (found.too_short, f"of fewer than {found.shingle_size} words"),
        (found.without_sketch, "without a sketch"),
    )
    return [
        f"{counted(number, 'document')} {lack} {'was' if number == 1 else 'were'} not compared"
        for number, lack in lacks
        if number
    ]


def write_pairs(pairs: Iterable[Pair], form: str, out: TextIO) -> int:
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
            rows.writerow([pair.a.id, pair.b.id, *_cells(pair), pair.a.name, pair.b.name])
        else:
            shares = "".join(f"{_percent(pair, name):>10}" for name in Shares.NAMES)
            out.write(f"{shares}  {printable(pair.a.id)} | {printable(pair.b.id)}\n")
    return count


def write_clusters(clusters: Iterable[Cluster], form: str, out: TextIO) -> tuple[int, int]:
    """Write clusters, and return how many they were, and how many documents are in them.

    Args:
        clusters: Taken one by one.
        form: One of FORMATS.
        out: Where to.
    """
    count = documents = 0
    rows = csv.writer(out, lineterminator="\n")
    if form == "csv":
        rows.writerow(_CLUSTER_COLUMNS)
    for count, cluster in enumerate(clusters, start=1):
        size = len(cluster.matches)
        documents += size
        if form == "json":
            out.write(_line({"cluster": count, **cluster_values(cluster)}))
            continue
        if form == "table":
            out.write(f"{chr(10) if count > 1 else ''}cluster {count:,}: {counted(size, 'document')}\n")
        for match in cluster.matches:
            member = match.b
            if form == "csv":
                rows.writerow([count, size, member.id, member.name, member.size, *_cells(match)])
            else:
                name = f"  {printable(member.name)}" if member.name and member.name != member.id else ""
                out.write(f"{_percent(match, 'jaccard'):>8}  {printable(member.id)}{name}\n")
    return count, documents


def _shares(pair: Pair) -> dict[str, object]:
    return shares_values(pair.shares, pair.low, pair.high, is_exact=pair.is_exact)


def _cells(pair: Pair) -> list[object]:
    """Return the shares as the cells of a row; the ends of intervals have no room there."""
    values = _shares(pair)
    return [*(values[name] for name in Shares.NAMES), str(pair.is_exact).lower()]


def _percent(pair: Pair, name: str) -> str:
    """Return a share in percent; `~` marks an estimate."""
    return f"{'' if pair.is_exact else '~'}{percent(getattr(pair.shares, name))}"


def _line(values: dict[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False) + "\n"
