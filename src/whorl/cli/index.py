"""`whorl index`: files and folders into a store."""

from __future__ import annotations

import sys

import click

from whorl.cli.options import ID_COLUMN, STORE, TEXT_COLUMN
from whorl.cli.render.console import problem_lines, progress_bar
from whorl.errors import DocumentError, WhorlError
from whorl.ingest.files import Problem, documents_in
from whorl.ingest.places import places
from whorl.ingest.rows.columns import Columns
from whorl.model import Document, Indexed
from whorl.opening import open_store
from whorl.wire.text import counted


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@STORE
@TEXT_COLUMN
@ID_COLUMN
@click.option("--batch", default=256, show_default=True, type=click.IntRange(1, 10_000), help="Documents at once.")
@click.option("--all", "again", is_flag=True, help="Also what is there unchanged, as after a change of the schema.")
@click.option(
    "--passages",
    is_flag=True,
    help="Have the store find every passage of 20 words, from now on (see 'whorl sources'). It takes some more room.",
)
def index(
    paths: tuple[str, ...],
    store: str | None,
    text_column: str | None,
    id_column: str | None,
    batch: int,
    again: bool,
    passages: bool,
) -> None:
    """Put files and folders into a store.

    Reads text, Markdown, HTML, e-mail (.eml), JSON lines (.jsonl, .ndjson: one {"id", "text", …} a line, further keys
    become fields), with whorl[files] PDF, DOCX, PPTX and XLSX, with whorl[data] Parquet, Arrow and web archives, and
    with --text-column the rows of CSV and TSV. PATHs are files, folders, patterns ('data/*.parquet'), - for standard
    input, or addresses that fsspec knows (s3://…). A file's id is its path as given.

    What is there unchanged is left alone, so an interrupted run is completed by running it again; a document of the
    same id is replaced.
    """
    problems: list[Problem] = []
    columns = Columns(text_column or "text", id_column)
    with open_store(store, passages=passages) as opened:
        done = Indexed()

        def note(so_far: Indexed) -> None:
            nonlocal done
            done = so_far

        def refused(document: Document, error: DocumentError) -> None:
            problems.append(Problem(document.id, str(error)))

        files = [place.file for place in places(paths, problems.append)]
        try:
            with progress_bar("files") as bar:
                read = bar.track(files, total=len(files), description="indexing")
                documents = (
                    document
                    for file in read
                    for document in documents_in(file, problems.append, columns, tables_are_text=text_column is None)
                )
                opened.index(documents, batch=batch, again=again, progress=note, on_refused=refused)
        except (WhorlError, KeyboardInterrupt):
            click.echo(f"stopped: {_told(done)}. Run the same command again to complete it.")
            raise
        else:
            click.echo(f"{_told(done)}.")
        finally:
            for line in problem_lines(problems, "could not be stored"):
                click.echo(line, err=True)
    is_empty = problems and not (done.stored or done.unchanged)
    if is_empty or any(each.documents is None for each in problems):
        sys.exit(1)


def _told(done: Indexed) -> str:
    unchanged = f", {done.unchanged:,} unchanged and left alone" if done.unchanged else ""
    return f"{counted(done.stored, 'document')} stored{unchanged}"
