"""`whorl duplicates`: all near-duplicates of a store, of files or of folders."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from whorl.errors import ParameterError, WhorlError

if TYPE_CHECKING:
    from whorl.duplicates.gathering import Progress
    from whorl.duplicates.question import PairQuestion
    from whorl.duplicates.result import Duplicates
    from whorl.model import Document

_SUFFIXES = {".json": "json", ".jsonl": "json", ".ndjson": "json", ".csv": "csv"}


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH…]")
@click.option(
    "--store", metavar="STORE", help="The store to look through where no PATH is named, as of other commands."
)
@click.option(
    "--metric",
    type=click.Choice(["jaccard", "containment", "similarity"]),
    default="jaccard",
    show_default=True,
    help="jaccard (or similarity): shared shingles of all that either has. containment: of the smaller one's.",
)
@click.option(
    "--threshold",
    default="80",
    show_default=True,
    metavar="PERCENT",
    help="What makes a duplicate; up to 1 a fraction.",
)
@click.option(
    "--recall", default="95", show_default=True, metavar="PERCENT", help="How many of those just at it are to be found."
)
@click.option("--clusters/--pairs", "wants_clusters", default=True, help="What to print.  [default: clusters]")
@click.option("--complete", is_flag=True, help="Clusters of which any two members are duplicates; no chains.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["json", "csv", "table", "parquet"]),
    help="Default: by the name of FILE, else table. parquet is Spark's.",
)
@click.option("-o", "--output", metavar="FILE", help="Where to write.")
@click.option(
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Where to keep what was learned: another run goes on from there, and looks at new documents only.",
)
@click.option("--new", "only_new", is_flag=True, help="With --state: only what involves a document that is new.")
@click.option(
    "--keep",
    type=click.Choice(["first", "longest", "newest"]),
    help="Which of each complete cluster to keep; the others go into the delete list.",
)
@click.option(
    "--delete-list",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With --keep: a file for the ids of the others, one a line. Nothing is ever deleted.",
)
@click.option(
    "--date", "date_field", metavar="FIELD", help="With --keep newest: the field of the date. Of files: when changed."
)
@click.option("--workers", type=click.IntRange(1), help="Threads that read PATHs; more help little.  [default: 1]")
@click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="spark: PATHs that Spark reads, and FILE is a folder that it writes.",
)
def duplicates(
    paths: tuple[str, ...],
    store: str | None,
    metric: str,
    threshold: str,
    recall: str,
    wants_clusters: bool,
    complete: bool,
    form: str | None,
    output: str | None,
    state: Path | None,
    only_new: bool,
    keep: str | None,
    delete_list: Path | None,
    date_field: str | None,
    workers: int | None,
    engine: str,
) -> None:
    """Find all near-duplicates of a store, or of the documents in PATHs, which take no store.

    Pairs come with three shares: how similar two documents are (Jaccard), how much of A is in B, how much of B is in
    A. Clusters are documents that pairs hold together, each with its similarity to the cluster's first; chains of
    pairs can glue unlike documents together, which --complete does not let happen.

    JSON is one object a line. Documents of fewer words than a shingle has, five, are not compared.
    """
    from whorl.duplicates import ask_pairs

    if paths and store is not None:
        raise ParameterError("name PATHs or a --store, not both")
    if only_new and state is None:
        raise ParameterError("--new says what is new beside what a --state FOLDER holds; name one")
    if (keep is None) != (delete_list is None):
        raise ParameterError(
            "--keep and --delete-list go together: one says which to keep, the other where to list the rest"
        )
    if date_field is not None and keep != "newest":
        raise ParameterError("--date goes with --keep newest")
    if complete and not wants_clusters:
        raise ParameterError("--complete is about clusters; leave --pairs away")
    question = ask_pairs(metric, threshold, recall)
    if engine == "spark":
        local = {"--state": state, "--keep": keep, "--store": store, "--workers": workers}
        _on_spark(paths, question, form, output, local, wants_clusters=wants_clusters, complete=complete)
        return
    if form == "parquet":
        raise ParameterError("parquet is what --engine spark writes; here it is json, csv or table")
    file = None if output is None else Path(output)
    for target in (file, delete_list):
        if target is not None and (not target.name or target.is_dir()):
            raise ParameterError(f"{target} is a folder; name a file to write to")
    if file is not None and delete_list is not None and file.absolute() == delete_list.absolute():
        raise ParameterError(f"--output and --delete-list are one file, {file}; name two")
    form = form or (_SUFFIXES.get(file.suffix.lower(), "table") if file else "table")
    links_suffice = wants_clusters and not complete and keep is None
    problems: list[Any] = []
    with _progress() as progress:
        if paths:
            search = _among(
                [Path(path) for path in paths],
                question,
                state,
                date_field,
                links_suffice,
                workers or 1,
                problems,
                progress,
            )
        else:
            search = _in_store(store, question, state, date_field, links_suffice, progress)
        try:
            with search as found:
                progress("", 0)
                _write(
                    found,
                    form,
                    file,
                    wants_clusters=wants_clusters,
                    complete=complete or keep is not None,
                    only_new=only_new,
                )
                if keep is not None and delete_list is not None:
                    _list(found, keep, delete_list, only_new=only_new)
        except (WhorlError, KeyboardInterrupt) as error:
            # What was asked wrongly, of another folder for instance, is no better the next time.
            if state is not None and not isinstance(error, ParameterError):
                click.echo(f"stopped; run the same command again to go on from {state}", err=True)
            raise
    _tell(found, problems)
    if paths and not (found.documents and all(map(os.path.exists, paths))):
        sys.exit(1)


def _on_spark(
    paths: tuple[str, ...],
    question: PairQuestion,
    form: str | None,
    output: str | None,
    local: Mapping[str, object],
    *,
    wants_clusters: bool,
    complete: bool,
) -> None:
    for name, value in local.items():
        if value is not None:
            raise ParameterError(f"{name} is for --engine local")
    if not paths or output is None:
        raise ParameterError("--engine spark reads PATHs and writes the folder of --output; name both")
    from whorl.duplicates.spark.job import run, summary_lines

    done = run(paths, question, output=output, clusters=wants_clusters, complete=complete, form=form or "json")
    for line in summary_lines(done, output, clusters=wants_clusters):
        click.echo(line, err=True)


def _among(
    paths: Sequence[Path],
    question: PairQuestion,
    state: Path | None,
    date_field: str | None,
    links_suffice: bool,
    workers: int,
    problems: list[Any],
    progress: Progress,
) -> AbstractContextManager[Duplicates]:
    from whorl.duplicates.gathering import duplicates_among, seconds_of
    from whorl.ingest.files import Problem, documents_in, files_under

    def date(document: Document) -> float | None:
        if date_field is not None:
            return seconds_of(document.properties.get(date_field))
        try:
            return os.stat(document.id).st_mtime
        except (OSError, ValueError):
            # A line of JSON has no date of its own.
            return None

    documents = (
        document for file in files_under(paths, problems.append) for document in documents_in(file, problems.append)
    )
    return duplicates_among(
        documents,
        question,
        folder=state,
        dates=date,
        links_suffice=links_suffice,
        workers=workers,
        on_repeated=lambda each: problems.append(Problem(each, "this id came before; the last document of it counts")),
        progress=progress,
    )


@contextmanager
def _in_store(
    store: str | None,
    question: PairQuestion,
    state: Path | None,
    date_field: str | None,
    links_suffice: bool,
    progress: Progress,
) -> Iterator[Duplicates]:
    from whorl.duplicates import duplicates_in
    from whorl.opening import open_store
    from whorl.settings.settings import Settings

    settings = Settings.load()
    origin = re.sub("//.*@", "//", store or settings.store, flags=re.DOTALL)
    with (
        open_store(store, settings, create=False) as opened,
        duplicates_in(
            opened.engine,
            question,
            origin=f"the store {origin}",
            folder=state,
            date_field=date_field,
            links_suffice=links_suffice,
            progress=progress,
        ) as found,
    ):
        yield found


def _write(
    found: Duplicates, form: str, output: Path | None, *, wants_clusters: bool, complete: bool, only_new: bool
) -> None:
    from whorl.wire.duplicates import write_clusters, write_pairs
    from whorl.wire.text import counted

    with _opened(output) as out:
        if wants_clusters:
            clusters, documents = write_clusters(found.clusters(complete=complete, only_new=only_new), form, out)
            told = f"{counted(clusters, 'cluster')} with {counted(documents, 'document')}"
        else:
            told = counted(write_pairs(found.pairs(only_new=only_new), form, out), "pair")
    click.echo(f"{told}, of {counted(found.documents, 'document')} in all", err=True)


def _list(found: Duplicates, keep: str, delete_list: Path, *, only_new: bool) -> None:
    from whorl.duplicates import superfluous
    from whorl.wire.text import counted

    with _opened(delete_list) as out:
        count = 0
        for member in superfluous(found.clusters(complete=True, only_new=only_new), keep):
            out.write(f"{member.id}\n")
            count += 1
    click.echo(f"{counted(count, 'id')} in {delete_list}; nothing was deleted", err=True)


def _tell(found: Duplicates, problems: list[Any]) -> None:
    from whorl.cli.render.console import problem_lines
    from whorl.wire.duplicates import left_out

    for line in left_out(found):
        click.echo(f"note: {line}", err=True)
    if found.without_sketch:
        click.echo("'whorl solr backfill' makes the sketches that are missing", err=True)
    for line in problem_lines(problems, "could not be read as they are"):
        click.echo(line, err=True)


@contextmanager
def _opened(output: Path | None) -> Iterator[TextIO]:
    """Open what is written to; a file is in its place once it is complete."""
    if output is None:
        yield sys.stdout
        return
    # A device or a pipe is written to as it is, and never replaced.
    is_file = output.is_file() or not output.exists()
    partial = output.with_name(f"{output.name}.part") if is_file else output
    try:
        with partial.open("w", encoding="utf-8", newline="\n") as out:
            yield out
        if is_file:
            partial.replace(output)
    except OSError as error:
        raise ParameterError(f"{output} cannot be written: {error.strerror or error}") from error


@contextmanager
def _progress() -> Iterator[Progress]:
    """Show what is being done on a terminal, nothing elsewhere."""
    from whorl.cli.render.console import progress_bar

    with progress_bar() as bar:
        task = bar.add_task("reading", total=None)

        def tell(doing: str, count: int) -> None:
            if doing:
                bar.update(task, description=doing, completed=count)
            else:
                bar.stop()

        yield tell
