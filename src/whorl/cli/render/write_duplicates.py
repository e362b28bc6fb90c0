"""Writes clusters, pairs and delete lists to files or standard output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from whorl.cli.flags import written_file
from whorl.duplicates import Keep, superfluous
from whorl.duplicates.contamination import ReferenceItem
from whorl.duplicates.result import Cluster, Duplicates, Pair
from whorl.output.duplicates import (
    ClusterPreview,
    write_cluster_lines,
    write_clusters,
    write_clusters_parquet,
    write_pair_lines,
    write_pairs,
    write_pairs_parquet,
    write_reference_table,
)
from whorl.output.formatting import counted, is_one_line


def write_clusters_to(
    output: Path | None,
    clusters: Iterable[Cluster],
    form: str,
    *,
    marks_principal: bool = False,
    versions: bool = False,
    with_residual: bool = False,
    preview: ClusterPreview | None = None,
) -> tuple[int, int]:
    more = {"versions": versions, "with_residual": with_residual}
    with written_file(output, is_binary=form == "parquet") as out:
        if form == "parquet":
            return write_clusters_parquet(clusters, out, **more)
        return write_clusters(clusters, form, out, marks_principal=marks_principal, preview=preview, **more)


def write_reference_table_to(
    output: Path | None, items: Sequence[ReferenceItem], preview: ClusterPreview | None
) -> None:
    with written_file(output) as out:
        write_reference_table(items, out, preview)


def write_pairs_to(
    output: Path | None, pairs: Iterable[Pair], form: str, *, with_residual: bool = False, with_spans: bool = False
) -> str:
    with written_file(output, is_binary=form == "parquet") as out:
        if form == "parquet":
            count = write_pairs_parquet(pairs, out, with_residual=with_residual, with_spans=with_spans)
        else:
            count = write_pairs(pairs, form, out, with_residual=with_residual, with_spans=with_spans)
    return counted(count, "pair")


def write_lines_to(output: Path | None, result: Duplicates, *, clusters: bool, complete: bool, new: bool) -> str:
    """Write pairs or clusters as JSON, and return a phrase with their number.

    `result.is_counted` must be true. With `complete`, any two members of a cluster are a pair. Writing whole columns is
    much faster than writing objects one by one.
    """
    with written_file(output) as out:
        if not clusters:
            return counted(write_pair_lines(result.pairs_in_columns(new=new), out), "pair")
        written = write_cluster_lines(result.clusters_in_columns(complete=complete, new=new), out)
    return clusters_line(written, result.kind)


def clusters_line(written: tuple[int, int], kind: str) -> str:
    return f"{counted(written[0], 'cluster')} with {counted(written[1], kind)}"


def write_list(clusters: Iterable[Cluster], keep: Keep, delete_list: Path) -> list[str]:
    with written_file(delete_list) as out:
        count = unlisted = 0
        for member in superfluous(clusters, keep):
            # A program that reads the list would split an id at a line break, and might delete other documents.
            if is_one_line(member.id):
                out.write(f"{member.id}\n")
                count += 1
            else:
                unlisted += 1
    lines = [f"{counted(count, 'id')} in {delete_list}; nothing was deleted"]
    if unlisted:
        lines.append(f"note: {counted(unlisted, 'id')} not listed, for the line breaks or control characters in them")
    return lines


def print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line, err=True)
