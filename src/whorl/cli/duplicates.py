"""`whorl duplicates`: all near-duplicates of a store, of files or of folders."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whorl.cli.options import (
    BOILERPLATE,
    ID_COLUMN,
    IGNORE_COMMON,
    TEXT_COLUMN,
    boilerplate_texts,
    require_writable,
)
from whorl.errors import ParameterError, WhorlError, without_login

if TYPE_CHECKING:
    from whorl.duplicates.common import CommonQuestion
    from whorl.duplicates.gathering import Progress
    from whorl.duplicates.keep import Keep
    from whorl.duplicates.question import PairQuestion
    from whorl.duplicates.result import Duplicates
    from whorl.fingerprint.scheme import Scheme
    from whorl.ingest.files import Problem
    from whorl.ingest.rows.columns import Columns

_SUFFIXES = {".json": "json", ".jsonl": "json", ".ndjson": "json", ".csv": "csv", ".parquet": "parquet"}


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
@click.option("--complete", is_flag=True, help="Clusters in which any two members are duplicates; no chains.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["json", "csv", "table", "parquet"]),
    help="Default: by the name of FILE, otherwise table.",
)
@click.option("-o", "--output", metavar="FILE", help="Where to write.")
@click.option(
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Where to keep what this run learns; the next run continues there and looks only at new documents.",
)
@click.option("--new", "only_new", is_flag=True, help="With --state: only pairs and clusters with a new document.")
@click.option(
    "--keep",
    "keep_named",
    metavar="WHICH",
    help="Which of each complete cluster to keep: first, longest, newest, oldest, or newest:COLUMN, oldest:COLUMN, "
    "largest:COLUMN, smallest:COLUMN by a column, or by a property of a store. The others are compared with it.",
)
@click.option(
    "--delete-list",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With --keep: a file for the ids of the others, one per line. Nothing is ever deleted.",
)
@click.option(
    "--filtered",
    type=click.Path(path_type=Path),
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
    "date_column",
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
    keep_named: str | None,
    delete_list: Path | None,
    filtered: Path | None,
    annotated: Path | None,
    versions: bool,
    date_column: str | None,
    write_ids: bool,
    reference: tuple[str, ...],
    text_column: str | None,
    id_column: str | None,
    within: str | None,
    level: str,
    words: int | None,
    common_above: str | None,
    boilerplate_files: tuple[str, ...],
    ignore_common: bool,
    shingle: int | None,
    characters: bool,
    strict: bool,
    workers: int | None,
    engine: str,
) -> None:
    """Find all near-duplicates in a store, or among the documents in PATHs, without a store.

    Pairs come with three shares: how similar two documents are (Jaccard), how much of A is in B, and how much of B is
    in A. Clusters are documents linked by pairs, each with its similarity to the cluster's first. Chains of pairs can
    join documents that are not similar; --complete prevents that.

    JSON is one object per line. Documents with fewer words than a shingle are not compared. The exit status is 1 if
    more than one in a hundred documents, or a whole file of many documents, could not be read.
    """
    from whorl.cli.render.console import reading_bar
    from whorl.cli.render.duplicates import is_too_much_lost, rewrite, write_list
    from whorl.duplicates import ask_pairs, duplicates_among
    from whorl.duplicates.common import ask_common
    from whorl.duplicates.filtered import require_columns, require_room, require_texts
    from whorl.duplicates.keep import Keep
    from whorl.duplicates.levels import Level
    from whorl.duplicates.processes import worthwhile_workers
    from whorl.duplicates.reading import Reading
    from whorl.fingerprint.scheme import Scheme
    from whorl.fingerprint.words.tokenizer import CHARACTERS
    from whorl.ingest.rows.columns import Columns

    # Hundreds of thousands of small objects come and go, none of them in a circle.
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    if paths and store is not None:
        raise ParameterError("give PATHs or a --store, not both")
    if only_new and state is None:
        raise ParameterError("--new needs a --state FOLDER to compare with; give one")
    keep = None if keep_named is None else Keep.named(keep_named)
    if keep is None and delete_list is not None:
        raise ParameterError("--delete-list lists what is not kept; say which is, with --keep first for instance")
    if versions and not wants_clusters:
        raise ParameterError("--versions shows clusters; leave out --pairs")
    if keep is not None and keep in (Keep("newest"), Keep("oldest")):
        keep = Keep(keep.by, date_column or "")
    elif date_column is not None and not versions:
        raise ParameterError("--date goes with --versions, --keep newest or --keep oldest")
    if date_column is None and keep is not None and keep.is_by_date:
        date_column = keep.column or None
    if keep is not None and keep.is_by_value and not keep.column and not paths:
        raise ParameterError(
            f"--keep {keep} needs the field of the date where documents come from a store: --keep {keep}:FIELD"
        )
    pieces = None if level == "document" else level
    for option, value in {
        "--within-column": within, "--text-column": text_column, "--id-column": id_column,
        "--filtered": filtered, "--annotated": annotated, "--characters": characters or None,
        "--level": pieces,
    }.items():  # fmt: skip
        if value is not None and not paths:
            raise ParameterError(f"{option} is for PATHs; name some")
    if write_ids and (paths or only_new):
        raise ParameterError("--write-ids writes into a store; give no PATHs, and leave out --new")
    if reference and not paths:
        raise ParameterError("--reference is compared with PATHs; give some")
    if reference and state is not None:
        raise ParameterError(
            "--reference keeps no state; with --state FOLDER run SET as PATHs first, then the others with --new"
        )
    if pieces is not None:
        for option, value in {"--annotated": annotated, "--versions": versions or None}.items():
            if value is not None:
                raise ParameterError(f"{option} is for documents; leave it out, or --level {level}")
    if words is not None and level != "passage":
        raise ParameterError("--words sets the length of passages; add --level passage")
    if level == "passage":
        from whorl.cli.duplicates_passages import require_of_passages, write_passages

        require_of_passages(keep, state, common_above, boilerplate_files, shingle, characters=characters)
    if complete and not wants_clusters:
        raise ParameterError("--complete makes clusters; leave out --pairs")
    question = ask_pairs(metric, threshold, recall)
    boilerplate = tuple(boilerplate_texts(boilerplate_files, [*paths, *reference]))
    common = ask_common(common_above, boilerplate, ignore_common=ignore_common)
    if within and boilerplate:
        raise ParameterError("--boilerplate does not work with --within-column; leave out one of the two")
    columns = Columns(text_column or "text", id_column)
    scheme = Scheme(CHARACTERS, shingle or 9) if characters else Scheme(shingle_size=shingle or 5)
    if engine == "spark":
        local = {
            "--state": state, "--delete-list": delete_list, "--store": store, "--workers": workers,
            "--reference": reference or None,
            "--within-column": within, "--annotated": annotated, "--versions": versions or None,
            "--common-above": common_above, "--boilerplate": boilerplate or None,
            "--ignore-common": ignore_common or None, "--level": pieces,
        }  # fmt: skip
        kinds = {"wants_clusters": wants_clusters, "complete": complete, "strict": strict}
        _on_spark(paths, question, form, output, local, scheme, columns, keep, filtered, **kinds)
        return
    file = None if output is None else Path(output)
    if file is not None and delete_list is not None and file.absolute() == delete_list.absolute():
        raise ParameterError(f"--output and --delete-list are one file, {file}; name two")
    for target in (file, delete_list):
        if target is not None:
            require_writable(target, [*paths, *reference, *boilerplate_files])
    form = form or (_SUFFIXES.get(file.suffix.lower(), "table") if file else "table")
    if form == "parquet":
        if file is None:
            raise ParameterError("parquet is for a file; name it with --output FILE")
        if find_spec("pyarrow") is None:
            raise ParameterError("writing parquet needs more: pip install 'whorl[data]'")
    if filtered is not None and filtered == annotated:
        raise ParameterError(f"--filtered and --annotated are one folder, {filtered}; name two")
    folders = {each: each is annotated for each in (filtered, annotated) if each is not None}
    if folders and keep is None:
        keep = Keep("first")
    # What is not kept has to be a duplicate of what is.
    complete = complete or keep is not None or write_ids
    links_suffice = wants_clusters and not complete
    # What came before is the reference of what is new.
    only_new = only_new or bool(reference)
    reading = Reading(
        paths,
        reference=reference,
        columns=columns,
        keep=keep or Keep("first"),
        date_column=date_column,
        within=within,
        level=Level(level),
        lasts=state is not None,
        is_rewritten=bool(folders),
    )
    for folder in folders:
        require_room(reading, folder)
    if annotated is not None:
        require_columns(reading)
    if folders and pieces is not None:
        require_texts(reading)
    if level == "passage":
        documents = write_passages(
            reading,
            words,
            has_reference=bool(reference),
            within=within,
            workers=workers,
            form=form,
            output=file,
            wants_clusters=wants_clusters,
            delete_list=delete_list,
            filtered=filtered,
        )
        if is_too_much_lost(reading.problems, reading.count, strict=strict) or not documents:
            sys.exit(1)
        return
    has_begun = False
    with reading_bar(lambda: reading.share) as tell:

        def progress(doing: str, count: int) -> None:
            nonlocal has_begun
            has_begun = True
            tell(doing, count)

        if paths:
            search = duplicates_among(
                reading.documents(),
                question,
                scheme=scheme,
                reference=reading.reference() if reference else (),
                folder=state,
                dates=reading.dates,
                date_column=date_column,
                keep=keep or Keep("first"),
                within=within,
                kind=level,
                common=common,
                links_suffice=links_suffice,
                workers=workers or worthwhile_workers(reading.share[1]),
                texts=reading.texts,
                on_repeated=reading.note_repeated,
                progress=progress,
            )
        else:
            kept = keep or Keep("first")
            search = _in_store(
                store,
                question,
                state,
                kept,
                date_column,
                common,
                shingle,
                progress,
                links_suffice=links_suffice,
                marks=write_ids,
            )
        try:
            with search as found:
                progress("", 0)
                _write(
                    found,
                    form,
                    file,
                    keep,
                    wants_clusters=wants_clusters,
                    complete=complete,
                    only_new=only_new,
                    versions=versions,
                )
                if keep is not None and delete_list is not None:
                    write_list(found.clusters(complete=True, only_new=only_new), keep, delete_list)
                if keep is not None and folders:
                    rewrite(found.clusters(complete=True, only_new=only_new, keep=keep), reading, folders)
                if write_ids:
                    _write_ids(found, store, keep)
        except (WhorlError, KeyboardInterrupt) as error:
            # What was asked wrongly, or a folder that is none of ours, is no better the next time.
            if state is not None and has_begun and not isinstance(error, ParameterError):
                click.echo(f"stopped; run the same command again to go on from {state}", err=True)
            raise
    _tell(found, reading.problems)
    is_lost = is_too_much_lost(reading.problems, reading.count, strict=strict)
    if is_lost or (paths and not found.documents):
        sys.exit(1)


def _on_spark(
    paths: tuple[str, ...],
    question: PairQuestion,
    form: str | None,
    output: str | None,
    local: Mapping[str, object],
    scheme: Scheme,
    columns: Columns,
    keep: Keep | None,
    filtered: Path | None,
    *,
    wants_clusters: bool,
    complete: bool,
    strict: bool,
) -> None:
    for name, value in local.items():
        if value is not None:
            raise ParameterError(f"{name} is for --engine local")
    if not paths or output is None:
        raise ParameterError("--engine spark reads PATHs and writes the folder of --output; name both")
    from whorl.cli.render.duplicates import is_too_much_lost
    from whorl.duplicates.spark.job import run, summary_lines
    from whorl.ingest.files import Problem

    done = run(
        paths,
        question,
        output=output,
        clusters=wants_clusters,
        complete=complete,
        form=form or "json",
        keep=keep,
        filtered=None if filtered is None else str(filtered),
        scheme=scheme,
        id_column=columns.id_column,
        text_column=columns.text,
    )
    for line in summary_lines(done, output, clusters=wants_clusters):
        click.echo(line, err=True)
    if is_too_much_lost([Problem(output, "", done.unfit)], done.documents, strict=strict):
        sys.exit(1)


@contextmanager
def _in_store(
    store: str | None,
    question: PairQuestion,
    state: Path | None,
    keep: Keep,
    date_field: str | None,
    common: CommonQuestion | None,
    shingle: int | None,
    progress: Progress,
    *,
    links_suffice: bool,
    marks: bool,
) -> Iterator[Duplicates]:
    from whorl.duplicates import duplicates_in
    from whorl.opening import open_store
    from whorl.settings.settings import Settings

    settings = Settings.load()
    origin = without_login(store or settings.store)
    with open_store(store, settings, create=False) as opened:
        scheme = opened.engine.scheme
        if shingle not in (None, scheme.shingle_size):
            raise ParameterError(
                f"the store has shingles of {scheme.shingle_size} words ({scheme.name}), which --shingle {shingle} "
                "cannot change; leave it out, or compare files"
            )
        if marks:
            # Before hours of work.
            opened.engine.marks.prepare()
        with duplicates_in(
            opened.engine,
            question,
            origin=f"the store {origin}",
            folder=state,
            names=opened.names,
            date_field=date_field,
            keep=keep,
            common=common,
            links_suffice=links_suffice,
            progress=progress,
        ) as found:
            yield found


def _write(
    found: Duplicates,
    form: str,
    output: Path | None,
    keep: Keep | None,
    *,
    wants_clusters: bool,
    complete: bool,
    only_new: bool,
    versions: bool,
) -> None:
    from whorl.cli.render.duplicates import write_clusters_to, write_pairs_to
    from whorl.duplicates.result import with_words
    from whorl.wire.text import counted

    with_rest = found.rest is not None
    if wants_clusters:
        sought = found.clusters(complete=complete, only_new=only_new, keep=keep, with_versions=versions)
        if versions:
            sought = (with_words(cluster, found.read_texts, found.scheme) for cluster in sought)
        marks = keep is not None
        told = write_clusters_to(
            output, sought, form, found.kind, marks_principal=marks, with_versions=versions, with_rest=with_rest
        )
    else:
        told = write_pairs_to(output, found.pairs(only_new=only_new), form, with_rest=with_rest)
    click.echo(f"{told}, of {counted(found.documents, found.kind)} in all", err=True)


def _write_ids(found: Duplicates, store: str | None, keep: Keep | None) -> None:
    from whorl.cli.render.console import progress_bar
    from whorl.duplicates.marking import write_ids
    from whorl.opening import open_store
    from whorl.settings.settings import Settings
    from whorl.wire.duplicates import marked_line

    with open_store(store, Settings.load(), create=False) as opened, progress_bar("documents") as bar:
        task = bar.add_task("writing clusters", total=None)
        clusters = found.clusters(complete=True, keep=keep)
        done = write_ids(opened.engine, clusters, lambda count: bar.update(task, completed=count))
    click.echo(marked_line(done), err=True)


def _tell(found: Duplicates, problems: Sequence[Problem]) -> None:
    from whorl.cli.render.console import problem_lines
    from whorl.wire.duplicates import common_line, left_out

    if found.rest:
        click.echo(f"note: {common_line(found.rest)}", err=True)
    for line in left_out(found):
        click.echo(f"note: {line}", err=True)
    if found.without_sketch:
        click.echo("'whorl solr backfill' makes the sketches that are missing", err=True)
    for line in problem_lines(problems, "could not be read as they are"):
        click.echo(line, err=True)
