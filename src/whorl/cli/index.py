"""Command `whorl index`: stores files and folders."""

from __future__ import annotations

import sys
from collections.abc import Collection

import click

from whorl.cli.options import FOLLOW_LINKS, ID_COLUMN, STORE, TEXT_COLUMN
from whorl.cli.render.console import problem_lines, progress_bar, reported_progress
from whorl.errors import DocumentError, WhorlError
from whorl.fingerprint.statistics.metric import Metric, fraction_of, metric_named
from whorl.ingest.files import Problem, Problems, documents_in, places
from whorl.ingest.rows.rows import Columns
from whorl.model import Document, Indexed
from whorl.output.format import counted, percent
from whorl.output.search import repeats_lines
from whorl.search.novelty import RepeatSearch
from whorl.search.similar.options import METRICS
from whorl.store import open_store


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@STORE
@TEXT_COLUMN
@ID_COLUMN
@FOLLOW_LINKS
@click.option("--batch", default=256, show_default=True, type=click.IntRange(1, 10_000), help="Documents per batch.")
@click.option(
    "--all", "again", is_flag=True, help="Also index unchanged documents, for instance after a change of the schema."
)
@click.option(
    "--passages",
    is_flag=True,
    help="From now on, let the store find every passage of 20 words (see 'whorl sources'). It takes more space.",
)
@click.option(
    "--without-minhash",
    is_flag=True,
    help="From now on, keep no MINHASH tokens in the store (a folder): a fifth less space, but no FINGERPRINT.",
)
@click.option(
    "--warn",
    metavar="PERCENT",
    help="List the stored documents that repeat earlier ones by at least this share; a number up to 1 is a fraction.",
)
@click.option(
    "--metric",
    type=click.Choice(["jaccard", "a_in_b", "b_in_a", "similarity", "contains", "within"]),
    default="jaccard",
    show_default=True,
    help="What --warn is a share of: both texts (jaccard), the new one (a_in_b or contains), the other (b_in_a or "
    "within).",
)
def index(
    paths: tuple[str, ...],
    store: str | None,
    text_column: str | None,
    id_column: str | None,
    follow_links: bool,
    batch: int,
    again: bool,
    passages: bool,
    without_minhash: bool,
    warn: str | None,
    metric: str,
) -> None:
    """Put files and folders into a store.

    Reads text, Markdown, HTML, e-mail (.eml), JSON lines (.jsonl, .ndjson: one {"id", "text", …} per line, other keys
    become fields), with whorl[files] PDF, DOCX, PPTX and XLSX, with whorl[data] Parquet, Arrow and web archives, and
    with --text-column the rows of CSV and TSV. PATHs are files, folders, patterns ('data/*.parquet'), - for standard
    input, or addresses that fsspec knows (s3://…). A file's id is its path as given.

    Unchanged documents are skipped, so to complete an interrupted run, run it again. A document with the same id is
    replaced.
    """
    problems = Problems()
    columns = Columns(text_column or "text", id_column)
    with open_store(store, passages=passages, without_minhash=without_minhash) as opened:
        done = Indexed()
        # Report invalid options before anything is stored.
        repeats = None if warn is None else RepeatSearch(opened, warn, metric)
        stored: dict[str, None] = {}

        def keep(document: Document) -> None:
            stored[document.id] = None

        def note(so_far: Indexed) -> None:
            nonlocal done
            done = so_far

        def refused(document: Document, error: DocumentError) -> None:
            problems.append(Problem(document.id, str(error)))

        files = [place.file for place in places(paths, problems.append, follow_links=follow_links)]
        try:
            with progress_bar("files") as bar:
                read = bar.track(files, total=len(files), description="indexing")
                documents = (
                    document
                    for file in read
                    for document in documents_in(file, problems.append, columns, tables_are_text=text_column is None)
                )
                kept = keep if repeats else None
                opened.index(documents, batch=batch, again=again, progress=note, on_refused=refused, on_stored=kept)
        except (WhorlError, KeyboardInterrupt):
            click.echo(f"stopped: {_told(done)}. Run the same command again to complete it.")
            raise
        else:
            click.echo(f"{_told(done)}.")
            if repeats is not None:
                _warn(repeats, stored, warn or "", metric_named(metric, METRICS))
        finally:
            for line in problem_lines(problems, "could not be stored"):
                click.echo(line, err=True)
    is_empty = problems and not (done.stored or done.unchanged)
    if is_empty or problems.whole_files:
        sys.exit(1)


def _warn(repeats: RepeatSearch, stored: Collection[str], threshold: str, metric: Metric) -> None:
    """Print the stored documents that repeat others."""
    count = 0
    with reported_progress("documents"):
        for found in repeats.of_stored(stored):
            count += 1
            for line in repeats_lines(found, metric):
                click.echo(line)
    for note in repeats.notes:
        click.echo(f"note: {note}", err=True)
    about = percent(float(fraction_of("warn", threshold)))
    click.echo(f"{count:,} of {counted(len(stored), 'document')} stored repeat others by {about} or more.")


def _told(done: Indexed) -> str:
    unchanged = f", {done.unchanged:,} unchanged and left alone" if done.unchanged else ""
    return f"{counted(done.stored, 'document')} stored{unchanged}"
