"""Command `whorl duplicates`: finds all near-duplicates in a store, or among files."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whorl.cli.options import BOILERPLATE, FOLLOW_LINKS, ID_COLUMN, IGNORE_COMMON, TEXT_COLUMN
from whorl.cli.termination import terminable
from whorl.context import report_progress, reporting
from whorl.errors import ParameterError, WhorlError, without_login

if TYPE_CHECKING:
    from whorl.cli.duplicates_asked import Asked
    from whorl.duplicates.input import InputReader
    from whorl.duplicates.options import Keep
    from whorl.duplicates.result import Duplicates
    from whorl.ingest.files import Problems


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH…]")
@click.option("--store", metavar="STORE", help="The store to search if no PATH is given, as in other commands.")
@click.option(
    "--metric",
    type=click.Choice(["jaccard", "containment", "similarity"]),
    default="jaccard",
    show_default=True,
    help="Shared shingles as a share of those in either (jaccard or similarity), or in the smaller one (containment).",
)
@click.option(
    "--threshold",
    default="80",
    show_default=True,
    metavar="PERCENT",
    help="Share from which two are duplicates; a number up to 1 is a fraction.",
)
@click.option(
    "--recall", default="95", show_default=True, metavar="PERCENT", help="How many pairs just at the threshold to find."
)
@click.option("--clusters/--pairs", "wants_clusters", default=True, help="What to print.  [default: clusters]")
@click.option(
    "--complete",
    is_flag=True,
    help="Clusters in which any two members are duplicates; no chains. "
    "With --keep, those around the documents that stay.",
)
@click.option(
    "--format",
    "form_named",
    type=click.Choice(["json", "csv", "table", "parquet"]),
    help="Default: by the name of FILE, otherwise table.",
)
@click.option("-o", "--output", metavar="FILE", help="Where to write; - is standard output.")
@click.option(
    "--state",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Where to keep what this run learns; the next run continues there and looks only at new documents.",
)
@click.option("--new", "only_new", is_flag=True, help="With --state: only pairs and clusters with a new document.")
@click.option(
    "--keep",
    "keep_named",
    metavar="WHICH",
    help="Which documents to keep, each with its duplicates: first, longest, newest, oldest, or newest:COLUMN, "
    "oldest:COLUMN, largest:COLUMN, smallest:COLUMN by a column, or by a property of a store. No two that stay are "
    "duplicates.",
)
@click.option(
    "--delete-list",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With --keep: a file for the ids of the others, one per line. Nothing is ever deleted.",
)
@click.option(
    "--filtered",
    type=click.Path(),
    metavar="DIR",
    help="A new folder for the files of PATHs without their duplicates, in the same formats and columns.",
)
@click.option(
    "--annotated",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A new folder for the files of PATHs, with all rows and the columns cluster, is_principal and similarity.",
)
@click.option(
    "--versions",
    is_flag=True,
    help="Show each cluster's versions in order, and what each adds and loses compared with the one before.",
)
@click.option(
    "--date",
    "date_named",
    metavar="COLUMN",
    help="The column, or property of a store, with the dates for --versions, --keep newest and --keep oldest.",
)
@click.option(
    "--reference",
    multiple=True,
    metavar="SET",
    help="Files or folders to compare PATHs with; not compared with each other, and never listed for deletion.",
)
@TEXT_COLUMN
@ID_COLUMN
@FOLLOW_LINKS
@click.option(
    "--within-column",
    "within",
    metavar="COLUMN",
    help="Compare only documents with the same value in this column, for instance a language or a source.",
)
@click.option(
    "--level",
    type=click.Choice(["document", "paragraph", "line", "passage"]),
    default="document",
    show_default=True,
    help="What is compared; --filtered then removes it from the texts. Paragraphs end at empty lines; "
    "passages are runs of words that are repeated word for word.",
)
@click.option(
    "--words",
    type=click.IntRange(2, 999),
    metavar="N",
    help="With --level passage: words in the shortest passage.  [default: 50]",
)
@click.option(
    "--common-above",
    metavar="LINE",
    help="Text in more documents than this is common: a number (50) or a share (1%). Shows shares without it too.",
)
@BOILERPLATE
@IGNORE_COMMON
@click.option(
    "--shingle",
    type=click.IntRange(1, 999),
    metavar="N",
    help="Words in a shingle; 1 compares sets of words.  [default: 5, or the store's; 9 characters]",
)
@click.option("--characters", is_flag=True, help="Shingles are made of characters, not of words.")
@click.option(
    "--write-ids",
    is_flag=True,
    help="Write into the store which complete cluster each document is in, so that searches can show one of each.",
)
@click.option("--strict", is_flag=True, help="Fail if anything could not be read, not only if more than 1 in 100.")
@click.option(
    "--workers",
    type=click.IntRange(1),
    help="How many processes read and hash PATHs; the results are the same. With --state it is always one.  "
    "[default: one for each processor, for small PATHs 1]",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="With spark, Spark reads PATHs and writes to FILE, which is a folder.",
)
def duplicates(**options: Any) -> None:
    """Find all near-duplicates in a store, or among the documents in PATHs, without a store.

    Pairs come with three shares: how similar two documents are (Jaccard), how much of A is in B, and how much of B is
    in A. Clusters are documents linked by pairs, each with its similarity to the cluster's first. Chains of pairs can
    join documents that are not similar; --complete prevents that.

    JSON is one object per line. Documents with fewer words than a shingle are not compared. The exit status is 1 if
    more than one in a hundred documents, or a whole file of many documents, could not be read.
    """
    from whorl.cli.duplicates_asked import Asked
    from whorl.cli.duplicates_passages import require_of_passages, write_passages
    from whorl.cli.render.duplicates import is_too_much_lost

    # The search creates hundreds of thousands of small objects without reference cycles, so collect garbage rarely.
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    asked = Asked(**options)
    asked.require_consistent()
    if asked.level == "passage":
        require_of_passages(asked)
    if asked.engine == "spark":
        _on_spark(asked)
        return
    asked.require_targets()
    reading = asked.reading()
    with terminable():
        documents = write_passages(asked, reading) if asked.level == "passage" else _write_duplicates(asked, reading)
    is_lost = is_too_much_lost(reading.problems, reading.count, strict=asked.strict)
    if is_lost or (asked.paths and not documents):
        sys.exit(1)


def _on_spark(asked: Asked) -> None:
    from whorl.cli.render.duplicates import is_too_much_lost
    from whorl.duplicates.spark.job import run, summary_lines
    from whorl.ingest.files import Problem, Problems

    output = asked.output_of_spark()
    done = run(
        asked.paths,
        asked.question,
        output=output,
        clusters=asked.wants_clusters,
        complete=asked.complete,
        form=asked.form_named or "json",
        keep=asked.keep,
        filtered=asked.filtered,
        reference=asked.reference,
        state=asked.state,
        only_new=asked.only_new,
        scheme=asked.scheme,
        id_column=asked.columns.id_column,
        text_column=asked.columns.text,
    )
    for line in (*asked.question.notes, *summary_lines(done, output, clusters=asked.wants_clusters)):
        click.echo(line, err=True)
    if is_too_much_lost(Problems([Problem(output, "", done.unfit)]), done.documents, strict=asked.strict):
        sys.exit(1)


def _write_duplicates(asked: Asked, reading: InputReader) -> int:
    """Find near-duplicates, write the requested output, and return the number of documents compared."""
    from whorl.cli.render.console import reading_bar
    from whorl.cli.render.duplicates import print_lines

    has_begun = False
    with reading_bar(lambda: reading.share) as show:

        def progress(step: str, done: int, total: int | None) -> None:
            nonlocal has_begun
            has_begun = True
            show(step, done, total)

        try:
            with reporting(progress), _found(asked, reading) as found:
                report_progress("", 0)
                # Write files before printing: the reader of standard output may be gone.
                lines = _write_beside(found, asked, reading)
                try:
                    lines.insert(0, _write(found, asked))
                finally:
                    print_lines([*lines, *_notes(asked, found, reading.problems)])
        except (WhorlError, KeyboardInterrupt) as error:
            # After an invalid option or folder, repeating the same command would not help.
            if asked.state is not None and has_begun and not isinstance(error, ParameterError):
                click.echo(f"stopped; run the same command again to go on from {asked.state}", err=True)
            raise
    return found.documents


def _write_beside(found: Duplicates, asked: Asked, reading: InputReader) -> list[str]:
    """Write delete lists, files and cluster labels, and return the lines to print about them."""
    from whorl.cli.render.duplicates import rewrite, write_list

    keep, only_new = asked.keep, asked.shows_only_new
    lines = []
    if keep is not None and asked.delete_list is not None:
        lines += write_list(found.clusters(complete=True, only_new=only_new, keep=keep), keep, asked.delete_list)
    if asked.folders:
        lines += rewrite(found.clusters(complete=True, only_new=only_new, keep=keep), reading, asked.folders)
    if asked.write_ids:
        lines.append(_write_ids(found, asked.store, keep))
    return lines


def _found(asked: Asked, reading: InputReader) -> AbstractContextManager[Duplicates]:
    from whorl.duplicates import duplicates_among
    from whorl.duplicates.worker_pool import worthwhile_workers

    if not asked.paths:
        return _found_in_store(asked)
    return duplicates_among(
        reading.documents(),
        replace(asked.options, workers=asked.workers or worthwhile_workers(reading.share[1])),
        reference=reading.reference() if asked.reference else (),
        dates=reading.dates,
        texts=reading.texts,
        on_repeated=reading.note_repeated,
    )


@contextmanager
def _found_in_store(asked: Asked) -> Iterator[Duplicates]:
    from whorl.duplicates import duplicates_in
    from whorl.settings.settings import Settings
    from whorl.store import open_store

    settings = Settings.load()
    origin = without_login(asked.store or settings.store)
    with open_store(asked.store, settings, create=False) as opened:
        scheme = opened.engine.scheme
        if asked.shingle not in (None, scheme.shingle_size):
            raise ParameterError(
                f"the store has shingles of {scheme.shingle_size} words ({scheme.name}), which --shingle "
                f"{asked.shingle} cannot change; leave it out, or compare files"
            )
        if asked.write_ids:
            # Prepare the store before hours of work.
            opened.engine.labels.prepare()
        with duplicates_in(
            opened.engine,
            asked.options,
            origin=f"the store {origin}",
            names=opened.names,
        ) as found:
            yield found


def _write(found: Duplicates, asked: Asked) -> str:
    """Write the pairs or clusters, and return their number in words."""
    from whorl.cli.render.duplicates import write_clusters_to, write_lines_to, write_pairs_to
    from whorl.duplicates.result import with_words
    from whorl.output.format import counted

    keep, versions, only_new, with_rest = asked.keep, asked.versions, asked.shows_only_new, found.rest is not None
    is_plain = not asked.wants_clusters or (keep is None and not versions)
    if asked.form == "json" and is_plain and found.is_counted:
        is_complete = asked.needs_complete
        told = write_lines_to(asked.file, found, clusters=asked.wants_clusters, complete=is_complete, only_new=only_new)
    elif asked.wants_clusters:
        sought = found.clusters(complete=asked.needs_complete, only_new=only_new, keep=keep, with_versions=versions)
        if versions:
            sought = (with_words(cluster, found.read_texts, found.scheme) for cluster in sought)
        told = write_clusters_to(
            asked.file,
            sought,
            asked.form,
            found.kind,
            marks_principal=keep is not None,
            with_versions=versions,
            with_rest=with_rest,
        )
    else:
        told = write_pairs_to(asked.file, found.pairs(only_new=only_new), asked.form, with_rest=with_rest)
    return f"{told}, of {counted(found.documents, found.kind)} in all"


def _write_ids(found: Duplicates, store: str | None, keep: Keep | None) -> str:
    from whorl.cli.render.console import reported_progress
    from whorl.duplicates.output import write_ids
    from whorl.output.duplicates import marked_line
    from whorl.settings.settings import Settings
    from whorl.store import open_store

    with open_store(store, Settings.load(), create=False) as opened, reported_progress("documents"):
        done = write_ids(opened.engine, found.clusters(complete=True, keep=keep))
    return marked_line(done)


def _notes(asked: Asked, found: Duplicates, problems: Problems) -> Iterator[str]:
    from whorl.cli.render.console import problem_lines
    from whorl.output.duplicates import common_line, left_out

    if found.rest:
        yield f"note: {common_line(found.rest)}"
    for line in (*asked.question.notes, *left_out(found)):
        yield f"note: {line}"
    if found.without_sketch:
        yield "'whorl solr backfill' makes the sketches that are missing"
    yield from problem_lines(problems, "could not be read as they are")
