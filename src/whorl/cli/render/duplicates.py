"""What `whorl duplicates` writes: clusters, pairs, lists for deletion and files anew, and what could not be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import click

from whorl.cli.options import written_file
from whorl.duplicates import Keep, superfluous
from whorl.duplicates.filtered import decided, write_filtered
from whorl.duplicates.reading import Reading
from whorl.duplicates.result import Cluster, Duplicates, Pair
from whorl.ingest.files import Problem
from whorl.wire.duplicate_lines import write_cluster_lines, write_pair_lines
from whorl.wire.duplicates import write_clusters, write_clusters_parquet, write_pairs, write_pairs_parquet
from whorl.wire.text import counted, is_one_line

#: Share of the documents that may be lost before the command fails.
_MOST_LOST = 0.01


def write_clusters_to(
    output: Path | None,
    clusters: Iterable[Cluster],
    form: str,
    kind: str,
    *,
    marks_principal: bool = False,
    with_versions: bool = False,
    with_rest: bool = False,
) -> str:
    """Write clusters to a file, or for None to standard output, and return in words how many.

    Args:
        output: The file.
        clusters: What `wire.duplicates.write_clusters` takes; and so on.
        form: json, csv, parquet or table.
        kind: What their members are called.
        marks_principal: As there.
        with_versions: As there.
        with_rest: As there.
    """
    more = {"with_versions": with_versions, "with_rest": with_rest}
    with written_file(output, is_binary=form == "parquet") as out:
        if form == "parquet":
            written = write_clusters_parquet(clusters, out, **more)
        else:
            written = write_clusters(clusters, form, out, marks_principal=marks_principal, **more)
    return f"{counted(written[0], 'cluster')} with {counted(written[1], kind)}"


def write_pairs_to(output: Path | None, pairs: Iterable[Pair], form: str, *, with_rest: bool = False) -> str:
    """Write pairs to a file, or for None to standard output, and return in words how many."""
    with written_file(output, is_binary=form == "parquet") as out:
        if form == "parquet":
            count = write_pairs_parquet(pairs, out, with_rest=with_rest)
        else:
            count = write_pairs(pairs, form, out, with_rest=with_rest)
    return counted(count, "pair")


def write_lines_to(output: Path | None, found: Duplicates, *, clusters: bool, complete: bool, only_new: bool) -> str:
    """Write what the other two write as JSON, many at once, and return in words how many.

    Args:
        output: The file, None for standard output.
        found: What was found, all of which `is_counted`.
        clusters: Whether clusters are written, or pairs.
        complete: Whether any two members of a cluster are a pair.
        only_new: Whether only what a new document is in.
    """
    with written_file(output) as out:
        if not clusters:
            return counted(write_pair_lines(found.pairs_in_columns(only_new=only_new), out), "pair")
        written = write_cluster_lines(found.clusters_in_columns(complete=complete, only_new=only_new), out)
    return f"{counted(written[0], 'cluster')} with {counted(written[1], found.kind)}"


def write_list(clusters: Iterable[Cluster], keep: Keep, delete_list: Path) -> None:
    """Write the ids of what is not kept of complete clusters, one a line."""
    with written_file(delete_list) as out:
        count = unlisted = 0
        for member in superfluous(clusters, keep):
            # Whoever reads such an id from the list would delete other documents.
            if is_one_line(member.id):
                out.write(f"{member.id}\n")
                count += 1
            else:
                unlisted += 1
    click.echo(f"{counted(count, 'id')} in {delete_list}; nothing was deleted", err=True)
    if unlisted:
        click.echo(f"note: {counted(unlisted, 'id')} not listed, for the line breaks in them", err=True)


def rewrite(clusters: Iterable[Cluster], reading: Reading, folders: Mapping[Path, bool]) -> None:
    """Write the files anew into folders, each with or without columns that are added to all rows.

    Of files in which nothing could be read no folder appears: with the right column, the same command then works.
    """
    if reading.problems and not reading.count:
        return
    told = decided(clusters, with_columns=any(folders.values()))
    for folder, with_columns in folders.items():
        written, read = write_filtered(reading, told, folder, with_columns=with_columns)
        click.echo(f"{written:,} of {counted(read, 'document')} in {folder}", err=True)


def is_too_much_lost(problems: Sequence[Problem], count: int, *, strict: bool) -> bool:
    """Say how much could not be read, if that is too much to go unnoticed.

    Args:
        problems: What was lost.
        count: Documents that were read.
        strict: Whether anything is too much.
    """
    lost = sum(1 if each.documents is None else each.documents for each in problems)
    whole_files = sum(each.documents is None for each in problems)
    if not (whole_files or lost > _MOST_LOST * (count + lost) or (strict and lost)):
        return False
    told = f"{lost:,} of {count + lost:,} documents could not be read"
    if whole_files:
        told = f"{counted(whole_files, 'path')} could not be read, or not to the end"
        told += (
            f", and {lost - whole_files:,} of {count + lost - whole_files:,} documents" if lost > whole_files else ""
        )
    click.echo(f"failed: {told}; what was found is of the others", err=True)
    return True
