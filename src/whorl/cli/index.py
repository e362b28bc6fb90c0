"""`whorl index`: files and folders into a store."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from whorl.cli.options import STORE
from whorl.cli.render.console import problem_lines, progress_bar
from whorl.errors import DocumentError, WhorlError
from whorl.ingest.files import Problem, documents_in, files_under
from whorl.model import Document, Indexed
from whorl.opening import open_store
from whorl.wire.text import counted


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH…", type=click.Path(path_type=Path))
@STORE
@click.option("--batch", default=256, show_default=True, type=click.IntRange(1, 10_000), help="Documents at once.")
@click.option("--all", "again", is_flag=True, help="Also what is there unchanged, as after a change of the schema.")
def index(paths: tuple[Path, ...], store: str | None, batch: int, again: bool) -> None:
    """Put files and folders into a store.

    Reads text, Markdown, HTML, e-mail (.eml), JSON lines (.jsonl, .ndjson: one {"id", "text", …} a line, further keys
    become fields) and, with whorl[files], PDF, DOCX, PPTX and XLSX. A file's id is its path as given. What is there
    unchanged is left alone, so an interrupted run is completed by running it again; a document of the same id is
    replaced.
    """
    problems: list[Problem] = []
    with open_store(store) as opened:
        done = Indexed()

        def note(so_far: Indexed) -> None:
            nonlocal done
            done = so_far

        def refused(document: Document, error: DocumentError) -> None:
            problems.append(Problem(document.id, str(error)))

        files = list(files_under(paths, problems.append))
        try:
            with progress_bar("files") as bar:
                read = bar.track(files, total=len(files), description="indexing")
                documents = (document for file in read for document in documents_in(file, problems.append))
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
    if is_empty or not all(map(os.path.exists, paths)):
        sys.exit(1)


def _told(done: Indexed) -> str:
    unchanged = f", {done.unchanged:,} unchanged and left alone" if done.unchanged else ""
    return f"{counted(done.stored, 'document')} stored{unchanged}"
