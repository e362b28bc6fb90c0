"""Command `whorl index`: stores files and folders."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection
from pathlib import Path

import click

from whorl.cli.render.terminal import print_notes, print_problems, progress_bar, show_progress
from whorl.cli.shared.flags import STORE, PassagesCommand, operation_options, store_flag, store_place
from whorl.cli.shared.open_store_and_documents import file_documents, read_if_file, table_notes
from whorl.errors import WhorlError, shorten_repr
from whorl.fingerprint.statistics.metric import SIMILAR_METRICS, fraction_of, metric_named
from whorl.ingest.files import Problem, Problems, find_files
from whorl.ingest.rows.row_format import RowColumns
from whorl.ingest.store_documents import SeenIds
from whorl.model import Document, Indexed
from whorl.operations import IndexOperation
from whorl.output.formatting import percent, plural
from whorl.output.search import repeats_lines
from whorl.search.document_references import file_id
from whorl.search.repeats_of_new_documents import RepeatSearch
from whorl.store import Store, open_store

_NOT_STORED = "could not be stored"


@click.command(cls=PassagesCommand)
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@STORE
@operation_options(IndexOperation)
def index(paths: tuple[str, ...], store: str | None, options: IndexOperation) -> None:
    """Put files and folders into a store.

    Reads text, Markdown, HTML, TEI, ALTO, e-mail (.eml, .mbox), notebooks (.ipynb), OpenDocument (.odt), JSON lines
    (.jsonl, .ndjson: one {"id", "text", …} per line, other keys become fields), with whorl[files] PDF, DOCX, PPTX,
    XLSX, with whorl[data] Parquet, Arrow and web archives, and with --text-column the rows of CSV and TSV. PATHs are
    files, folders, patterns ('data/*.parquet'), - for standard input, or addresses that fsspec knows (s3://…). Files
    and folders whose names begin with a dot, such as .git, are left out; --exclude leaves out others.

    The id of a file is its path relative to the folder where the store was first filled, wherever you are now.
    For a file outside that folder, the id is its absolute path.

    Unchanged documents are skipped, so to complete an interrupted run, run it again. A document with the same id is
    replaced. Documents of files that you have deleted since stay in the store; 'whorl delete' removes them.

    The exit status is 1 if nothing could be stored, if a PATH does not exist, or if a file of many documents could not
    be read to its end. Other unreadable files and rows are only reported; with --strict, the status is then 1 too.
    """
    problems = Problems()
    text_tables: list[str] = []
    left_out = set[str]()
    columns = RowColumns.from_names(options.text_column, options.id_column, left_out=left_out)
    files = [
        found.file
        for found in find_files(paths, problems.append, follow_links=options.follow_links, exclude=options.exclude)
    ]
    if problems and not files:
        # A mistyped path must not create a store.
        print_problems(problems, _NOT_STORED)
        sys.exit(1)
    with open_store(
        store,
        passages=options.passages or False,
        without_minhash=options.without_minhash,
        short_minhash=options.short_minhash,
        no_text=options.no_text,
    ) as opened:
        done, seen = Indexed(), SeenIds()
        outdated: list[str] = []
        # Report invalid options before anything is stored.
        repeats = None if options.warn is None else RepeatSearch(opened, options.warn, options.metric)
        stored: dict[str, None] = {}
        large = dict[str, None]()
        first = ""

        def remember(document: Document) -> None:
            nonlocal first
            first = first or document.id
            large.update(dict.fromkeys(document.fields_with_large_integers()))
            if repeats:
                stored[document.id] = None

        def note(so_far: Indexed) -> None:
            nonlocal done
            done = so_far
            bar.update(task, description=f"indexing, {plural(done.stored + done.unchanged, 'document')} done")

        opened.read_files(Path.cwd(), read_if_file)
        try:
            with progress_bar("files") as bar:
                task = bar.add_task("indexing", total=len(files))
                read = bar.track(files, task_id=task)
                documents = file_documents(opened, read, problems.append, columns, text_tables.append)
                opened.index(
                    documents,
                    batch=options.batch,
                    again=options.again,
                    progress=note,
                    on_refused=lambda document, error: problems.append(Problem(document.id, str(error))),
                    on_stored=remember,
                    seen=seen,
                )
        except (WhorlError, KeyboardInterrupt):
            click.echo(f"stopped: {_counts(done)}. Run the same command again to complete it.")
            raise
        else:
            click.echo(f"{_counts(done, store_place(store))}.")
            outdated = _outdated_notes(opened, problems)
            keeps_texts = opened.engine.keeps_texts
            if repeats is not None:
                _print_repeats(repeats, stored, options)
                if done.unchanged:
                    skipped = plural(done.unchanged, "unchanged document")
                    print_notes([f"{skipped} not compared; with --all, they are stored and compared again"])
        finally:
            print_notes(table_notes(text_tables, left_out))
            print_notes(
                f"whole numbers of field {field!r:.80} above 2^63 - 1 or below -2^63 are stored as text: their digits "
                "find them, a range of numbers does not"
                for field in large
            )
            print_problems(problems, _NOT_STORED)
            print_notes(outdated)
            if seen.first_repeated is not None:
                have = "has the id of an earlier one" if done.repeated == 1 else "have the ids of earlier ones"
                repeated = f"{plural(done.repeated, 'document')} {have}, such as {shorten_repr(seen.first_repeated)}"
                print_notes([f"{repeated}; only the last document of each id is stored"])
    if first and keeps_texts:
        command = f"whorl similar{store_flag(store)} {shlex.quote(first)}"
        click.echo(f"Documents like one of them: {command}", err=True)
    is_empty = problems and not (done.stored or done.unchanged)
    if is_empty or problems.whole_files or (options.strict and (problems or done.repeated)):
        sys.exit(1)


def _print_repeats(repeats: RepeatSearch, stored: Collection[str], options: IndexOperation) -> None:
    metric, count = metric_named(options.metric, SIMILAR_METRICS), 0
    with show_progress("documents"):
        for repeated in repeats.find_for_stored(stored):
            count += 1
            for line in repeats_lines(repeated, metric):
                click.echo(line)
    print_notes(repeats.notes)
    about = percent(float(fraction_of("warn", options.warn or 0)))
    click.echo(f"{count:,} of {plural(len(stored), 'document')} stored repeat others by {about} or more.")


def _outdated_notes(store: Store, problems: Problems) -> list[str]:
    """Return a note about documents whose files could not be stored again, or nothing."""
    # Do not count an unreadable part of an e-mail as a lost document: the other parts were stored again.
    names = [problem.where for problem in problems if problem.documents != 0]
    ids = [*names, *(file_id(name, store.references.base_for(name)) for name in names)]
    kept = sorted(store.engine.digests(ids))
    if not kept:
        return []
    have = "has its" if len(kept) == 1 else "have their"
    return [
        f"{plural(len(kept), 'document')} of these, such as {shorten_repr(kept[0])}, still {have} earlier text in the "
        "store; 'whorl delete' removes it"
    ]


def _counts(done: Indexed, found: str = "") -> str:
    unchanged = f", {done.unchanged:,} unchanged and left alone" if done.unchanged else ""
    return f"{plural(done.stored, 'document')} stored{found and f' in {found}'}{unchanged}"
