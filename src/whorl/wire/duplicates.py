"""What is written of duplicates: pairs and clusters, as JSON lines, CSV or for people to read; one at a time."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable
from typing import Any, TextIO

from whorl.duplicates.result import Cluster, Pair
from whorl.wire.text import counted, printable

FORMATS = ("json", "csv", "table")
_PAIR_COLUMNS = ("a", "b", "similarity", "a_in_b", "b_in_a", "exact", "a_name", "b_name")
_CLUSTER_COLUMNS = ("cluster", "documents", "id", "name", "shingles", "similarity", "exact")


def pair_values(pair: Pair) -> dict[str, Any]:
    """Return a pair as JSON values; shares are fractions."""
    return {
        "a": pair.a.id,
        "b": pair.b.id,
        "similarity": round(pair.similarity, 6),
        "a_in_b": round(pair.a_in_b, 6),
        "b_in_a": round(pair.b_in_a, 6),
        "exact": pair.is_exact,
    }


def cluster_values(cluster: Cluster) -> dict[str, Any]:
    """Return a cluster as JSON values: its size in documents, and these with their sizes in distinct shingles.

    Similarities are those to the first member.
    """
    return {
        "size": len(cluster.members),
        "members": [
            {
                "id": member.id,
                "name": member.name,
                "size": member.size,
                "similarity": round(share, 6),
                "exact": is_exact,
            }
            for member, share, is_exact in zip(cluster.members, cluster.similarities, cluster.are_exact, strict=True)
        ],
    }


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
        out.write("similarity    A in B    B in A  A | B\n")
    for count, pair in enumerate(pairs, start=1):  # noqa: B007 - the last one is returned
        told = pair_values(pair)
        if form == "json":
            out.write(_line(told))
        elif form == "csv":
            told["exact"] = str(pair.is_exact).lower()
            rows.writerow([*told.values(), pair.a.name, pair.b.name])
        else:
            shares = (_percent(share, pair.is_exact) for share in (pair.similarity, pair.a_in_b, pair.b_in_a))
            out.write("{:>10}{:>10}{:>10}".format(*shares) + f"  {printable(pair.a.id)} | {printable(pair.b.id)}\n")
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
        documents += len(cluster.members)
        if form == "json":
            out.write(_line({"cluster": count, **cluster_values(cluster)}))
            continue
        if form == "table":
            out.write(f"{chr(10) if count > 1 else ''}cluster {count:,}: {counted(len(cluster.members), 'document')}\n")
        for member, share, is_exact in zip(cluster.members, cluster.similarities, cluster.are_exact, strict=True):
            if form == "csv":
                size = len(cluster.members)
                told_exact = str(is_exact).lower()
                rows.writerow([count, size, member.id, member.name, member.size, round(share, 6), told_exact])
            else:
                name = f"  {printable(member.name)}" if member.name and member.name != member.id else ""
                out.write(f"{_percent(share, is_exact):>8}  {printable(member.id)}{name}\n")
    return count, documents


def _line(told: dict[str, Any]) -> str:
    return json.dumps(told, ensure_ascii=False) + "\n"


def _percent(share: float, is_exact: bool = True) -> str:
    """Return a share in percent, rounded down, so that only all of something is 100 %; `~` marks an estimate."""
    return f"{'' if is_exact else '~'}{math.floor(share * 1000 + 1e-9) / 10:.1f}%"
