"""Command `whorl duplicates`: finds all near-duplicates in a store or among files."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from whorl.cli.flags import operation_options
from whorl.cli.output_files import open_output
from whorl.errors import ParameterError, WhorlError, without_login
from whorl.operations import DuplicatesOperation
from whorl.request_context import report_progress, reporting

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.cli.check_duplicates_flags import DuplicatesCommand
    from whorl.duplicates.input import InputReader
    from whorl.duplicates.options import DuplicatesOptions, Keep
    from whorl.duplicates.results_and_retention import Cluster, Duplicates, Pair
    from whorl.fingerprint.statistics.metric import Metric
    from whorl.ingest.find_and_read_files import Problems
    from whorl.output.duplicates import ClusterPreview

#: Exit code after SIGTERM, as in shells.
_EXIT_CODE = 128 + signal.SIGTERM
#: Largest share of unreadable documents at which the command still succeeds.
_MOST_LOST = 0.01


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH…]")
@click.option("--store", metavar="STORE", help="The store to search if no PATH is given, as in other commands.")
@operation_options(DuplicatesOperation)
def duplicates(paths: tuple[str, ...], store: str | None, options: DuplicatesOperation) -> None:
    """Find all near-duplicates in a store, or among the documents in PATHs, without a store.

    Pairs come with three shares: how similar two documents are (Jaccard), how much of A is in B, and how much of B is
    in A. Clusters are documents linked by pairs, each with its similarity to the cluster's first. Chains of pairs can
    join documents that are not similar; --complete prevents that.

    JSON is one object per line. Documents with fewer words than a shingle are not compared. The exit status is 1 if
    more than one in a hundred documents, or a whole file of many documents, could not be read. If documents have
    the same id, only the last one is compared, and a note names the id; with --strict, the exit status is then 1.
    """
    from whorl.cli.check_duplicates_flags import DuplicatesCommand

    command = DuplicatesCommand(**vars(options), paths=paths, store=store)
    command.require_consistent()
    if command.engine == "spark":
        _run_on_spark(command)
        return
    command.require_targets()
    reading = command.make_reader()
    with terminable():
        write = _write_duplicates
        if command.level == "passage":
            write = _write_passages
        elif command.reference_only:
            write = _write_reference_matches
        documents = write(command, reading)
    is_lost = is_too_much_lost(reading.problems, reading.count, reading.repeated, strict=command.strict)
    if is_lost or (command.paths and not documents):
        sys.exit(1)


def _run_on_spark(command: DuplicatesCommand) -> None:
    from whorl.duplicates.spark.run import run, summary_lines
    from whorl.ingest.find_and_read_files import Problem, Problems
    from whorl.output.formatting import printable

    output = command.output_of_spark()
    summary = run(command.paths, command)
    lines = map(printable, summary_lines(summary, output, clusters=command.clusters))
    print_lines([*command.search.pairs.notes, *lines])
    problems = Problems([Problem(output, "", summary.unfit)])
    is_lost = is_too_much_lost(problems, summary.documents, summary.repeated, strict=command.strict)
    if is_lost or not summary.documents:
        sys.exit(1)


def _write_duplicates(command: DuplicatesCommand, reading: InputReader) -> int:
    """Find duplicates, write them as requested, and return the number of compared documents."""
    from whorl.cli.render.plans_and_progress import reading_bar

    has_begun = False
    with reading_bar(lambda: reading.share) as show:

        def progress(step: str, done: int, total: int | None) -> None:
            nonlocal has_begun
            has_begun = True
            show(step, done, total)

        try:
            with reporting(progress), _find_duplicates(command, reading) as result:
                report_progress("", 0)
                # Write files before printing, because the reader of standard output may have closed it.
                lines = _write_beside(command, reading, partial(_retained_clusters, result, command))
                if command.write_ids:
                    lines.append(_write_ids(result, command.store, command.keep_policy))
                try:
                    lines[:0] = _write(result, command, reading)
                finally:
                    print_lines([*lines, *_notes(command, result, reading.problems)])
        except (WhorlError, KeyboardInterrupt) as error:
            # If an option or folder is invalid, do not suggest repeating the command.
            if command.state is not None and has_begun and not isinstance(error, ParameterError):
                click.echo(f"stopped; run the same command again to go on from {command.state}", err=True)
            raise
    return result.documents


def _retained_clusters(result: Duplicates, command: DuplicatesCommand) -> Iterator[Cluster]:
    return result.clusters(complete=True, new=command.shows_only_new, keep=command.keep_policy)


def _write_beside(
    command: DuplicatesCommand,
    reading: InputReader,
    clusters: Callable[[], Iterable[Cluster]],
    metric: Metric | None = None,
) -> list[str]:
    """Write the delete list and the copies of the files, as requested; return lines to print.

    `metric` defines the similarity in annotated copies; None means Jaccard.
    """
    lines = []
    if command.delete_file is not None:
        lines += write_list(clusters(), command.keep_policy or "first", command.delete_file)
    if command.folders:
        lines += _rewrite(clusters(), reading, command.folders, metric)
    return lines


def _search_options(command: DuplicatesCommand, reading: InputReader) -> DuplicatesOptions:
    """Return the options for a search of files, with a number of processes that suits the size of the files."""
    from whorl.duplicates.worker_pool import worthwhile_workers

    return replace(command.search, workers=command.workers or worthwhile_workers(reading.share[1]))


def _find_duplicates(command: DuplicatesCommand, reading: InputReader) -> AbstractContextManager[Duplicates]:
    from whorl.duplicates import duplicates_among

    if not command.paths:
        return _find_in_store(command)
    return duplicates_among(
        reading.documents(),
        _search_options(command, reading),
        reference=reading.reference() if command.reference else (),
        dates=reading.dates,
        texts=reading.texts,
        on_repeated=reading.note_repeated,
    )


@contextmanager
def _find_in_store(command: DuplicatesCommand) -> Iterator[Duplicates]:
    from whorl.duplicates import duplicates_in
    from whorl.settings.settings import Settings
    from whorl.store import open_store

    settings = Settings.load()
    origin = without_login(command.store or settings.store)
    with open_store(command.store, settings, create=False) as opened:
        scheme = opened.engine.scheme
        if command.shingle not in (None, scheme.shingle_size):
            raise ParameterError(
                f"the store has shingles of {scheme.shingle_size} words ({scheme.name}), which --shingle "
                f"{command.shingle} cannot change; leave it out, or compare files"
            )
        if command.write_ids:
            # Prepare the store now: otherwise a long search might fail at its end.
            opened.engine.labels.prepare()
        with duplicates_in(opened.engine, command.search, origin=f"the store {origin}", names=opened.names) as result:
            yield result


def _write(result: Duplicates, command: DuplicatesCommand, reading: InputReader) -> list[str]:
    """Write clusters or pairs to the output; return lines to print, a summary first."""
    from whorl.duplicates.results_and_retention import with_words
    from whorl.output.duplicates import ClusterPreview, redundancy_line
    from whorl.output.formatting import plural

    keep, versions, new = command.keep_policy, command.versions, command.shows_only_new
    with_residual = result.residual is not None
    is_plain = not command.clusters or (keep is None and not versions)
    lines = []
    if command.form == "json" and is_plain and result.is_counted:
        is_complete = command.is_complete
        summary = write_lines_to(command.file, result, clusters=command.clusters, complete=is_complete, new=new)
    elif command.clusters:
        sought = result.clusters(complete=command.is_complete, new=new, keep=keep, versions=versions)
        if versions:
            sought = (with_words(cluster, result.read_texts, result.scheme) for cluster in sought)
        preview = ClusterPreview(partial(_texts, result, reading)) if command.is_preview else None
        written = write_clusters_to(
            command.file,
            sought,
            command.form,
            marks_principal=keep is not None,
            versions=versions,
            with_residual=with_residual,
            preview=preview,
        )
        summary = clusters_line(written, result.kind)
        if preview is not None and written[0] > preview.clusters:
            lines.append(f"the {preview.clusters} largest are shown; --all shows all, --output FILE.jsonl writes them")
    else:
        summary = write_pairs_to(command.file, result.pairs(new=new), command.form, with_residual=with_residual)
    if command.clusters and not new and result.count_pairs():
        lines.insert(0, redundancy_line(result, reading.share[1], complete=command.is_complete, keep=keep))
    return [f"{summary}, of {plural(result.documents, result.kind)} in all", *lines]


def _texts(result: Duplicates, reading: InputReader, ids: Sequence[str]) -> Mapping[str, str]:
    """Return the texts of documents for snippets: from a store, from whole files, or from rows of small files."""
    texts = result.read_texts(ids)
    missing = [document_id for document_id in ids if document_id not in texts]
    return {**texts, **reading.row_texts(missing)} if missing else texts


def _write_ids(result: Duplicates, store: str | None, keep: Keep | None) -> str:
    from whorl.cli.render.plans_and_progress import show_progress
    from whorl.duplicates.write_cluster_labels import write_ids
    from whorl.output.duplicates import format_label_counts
    from whorl.settings.settings import Settings
    from whorl.store import open_store

    with open_store(store, Settings.load(), create=False) as opened, show_progress("documents"):
        done = write_ids(opened.engine, result.clusters(complete=True, keep=keep))
    return format_label_counts(done)


def _notes(command: DuplicatesCommand, result: Duplicates, problems: Problems) -> Iterator[str]:
    from whorl.cli.render.plans_and_progress import problem_lines
    from whorl.output.duplicates import common_line, not_compared_lines

    if result.residual:
        yield f"note: {common_line(result.residual)}"
    for line in (*command.search.pairs.notes, *not_compared_lines(result)):
        yield f"note: {line}"
    if result.without_sketch:
        yield "'whorl solr backfill' makes the sketches that are missing"
    yield from problem_lines(problems, "could not be read as they are")


def _write_passages(command: DuplicatesCommand, reading: InputReader) -> int:
    """Find passages that documents share, write them as requested, and return the number of compared documents."""
    from whorl.cli.render.plans_and_progress import problem_lines, reading_bar
    from whorl.duplicates import passages_among
    from whorl.duplicates.repeated_passages import WORDS
    from whorl.output.duplicates import ClusterPreview, not_compared_line
    from whorl.output.formatting import plural

    words = command.words or WORDS
    search = _search_options(command, reading)
    with (
        reading_bar(lambda: reading.share) as show,
        reporting(show),
        passages_among(
            reading.documents(),
            words,
            search,
            reference=reading.reference() if command.reference else (),
            on_repeated=reading.note_repeated,
        ) as result,
    ):
        report_progress("", 0)
        # Write files before printing, because the reader of standard output may have closed it.
        lines = _write_beside(command, reading, result.clusters)
        if result.too_short:
            lines.append(f"note: {not_compared_line(result.too_short, 'document', f'of fewer than {words} words')}")
        lines += problem_lines(reading.problems, "could not be read as they are")
        try:
            if command.clusters:
                marks = command.filtered is not None
                preview = ClusterPreview(lambda ids: {}) if command.is_preview else None
                written = write_clusters_to(
                    command.file, result.clusters(), command.form, marks_principal=marks, preview=preview
                )
                summary = clusters_line(written, "passage")
                if preview is not None and written[0] > preview.clusters:
                    lines.insert(0, f"the {preview.clusters} largest are shown; --all shows all")
            else:
                summary = write_pairs_to(command.file, result.pairs(), command.form, with_spans=True)
            lines.insert(0, f"{summary}, of {plural(result.documents, 'document')} in all")
        finally:
            print_lines(lines)
    return result.documents


def _write_reference_matches(command: DuplicatesCommand, reading: InputReader) -> int:
    """Find reference texts in documents, write the matches as requested, and return the number of documents."""
    from whorl.cli.render.plans_and_progress import problem_lines, reading_bar
    from whorl.duplicates import find_in_documents
    from whorl.output.duplicates import ClusterPreview, not_compared_line, reference_line, write_reference_table

    search = _search_options(command, reading)
    with reading_bar(lambda: reading.share) as show, reporting(show):
        result = find_in_documents(reading.documents(), reading.reference(), search, on_repeated=reading.note_repeated)
        report_progress("", 0)
    items = result.items()
    lines = [reference_line(result, items), *(f"note: {line}" for line in search.pairs.notes)]
    # Write files before printing, because the reader of standard output may have closed it.
    lines += _write_beside(command, reading, result.clusters_by_document, search.pairs.metric)
    lack = f"of fewer than {search.scheme.shingle_size} words"
    for count, kind in ((result.too_short_references, "reference text"), (result.too_short, search.level.value)):
        if count:
            lines.append(f"note: {not_compared_line(count, kind, lack)}")
    try:
        if not command.clusters:
            write_pairs_to(command.file, result.pairs(), command.form, with_spans=True)
        elif command.form == "table":
            preview = ClusterPreview(lambda ids: {}) if command.is_preview else None
            with open_output(command.file) as out:
                write_reference_table(items, out, preview)
            if preview is not None and len(items) > preview.clusters:
                lines.append(f"the {preview.clusters} in most documents are shown; --all shows all")
        else:
            write_clusters_to(command.file, result.clusters(), command.form)
    finally:
        print_lines([*lines, *problem_lines(reading.problems, "could not be read as they are")])
    return result.documents


def _rewrite(
    clusters: Iterable[Cluster], reading: InputReader, folders: Mapping[Path, bool], metric: Metric | None = None
) -> list[str]:
    """Write copies of the input files into new folders, without deleted documents or with added columns.

    Returns lines to print. The added similarity uses `metric`, by default Jaccard. If no input is readable, no folder
    is created, so that the user can correct the command and repeat it.
    """
    from whorl.duplicates.write_copies_of_files import decide_retention, write_filtered
    from whorl.fingerprint.statistics.metric import Metric
    from whorl.output.formatting import plural

    if reading.problems and not reading.count:
        return []
    retention = decide_retention(clusters, with_columns=any(folders.values()), metric=metric or Metric.JACCARD)
    lines = []
    for folder, with_columns in folders.items():
        written, read = write_filtered(reading, retention, folder, with_columns=with_columns)
        lines.append(f"{written:,} of {plural(read, 'document')} in {folder}")
    return lines


def is_too_much_lost(problems: Problems, count: int, repeated: int = 0, *, strict: bool) -> bool:
    """Check whether too many documents could not be read; if so, print a message.

    With `strict`, one unreadable document, or one repeated id, is too many; `repeated` is the number of repeated ids.
    """
    from whorl.output.formatting import plural

    lost, whole_files = problems.lost, problems.whole_files
    if strict and repeated:
        click.echo(
            f"failed: {plural(repeated, 'repetition')} of ids; only one document of each id was compared", err=True
        )
    if not (whole_files or lost > _MOST_LOST * (count + lost) or (strict and lost)):
        return strict and repeated > 0
    reason = f"{lost:,} of {count + lost:,} documents could not be read"
    if whole_files:
        reason = f"{plural(whole_files, 'path')} could not be read, or not to the end"
        reason += (
            f", and {lost - whole_files:,} of {count + lost - whole_files:,} documents" if lost > whole_files else ""
        )
    click.echo(f"failed: {reason}; what was found is of the others", err=True)
    return True


class _TerminatedError(KeyboardInterrupt):
    """The process has received SIGTERM, which is handled like Ctrl-C."""


@contextmanager
def terminable() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C, so that temporary and unfinished files are deleted. The exit code is 143.

    Child processes must reset SIGTERM to its default.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    except _TerminatedError:
        raise Exit(_EXIT_CODE) from None
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _terminate(number: int, frame: FrameType | None) -> None:
    # A second signal would interrupt the cleanup.
    signal.signal(number, signal.SIG_IGN)
    raise _TerminatedError


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
    from whorl.output.duplicates import write_clusters

    with open_output(output, is_binary=form == "parquet") as out:
        return write_clusters(
            clusters,
            form,
            out,
            marks_principal=marks_principal,
            versions=versions,
            with_residual=with_residual,
            preview=preview,
        )


def write_pairs_to(
    output: Path | None, pairs: Iterable[Pair], form: str, *, with_residual: bool = False, with_spans: bool = False
) -> str:
    from whorl.output.duplicates import write_pairs
    from whorl.output.formatting import plural

    with open_output(output, is_binary=form == "parquet") as out:
        return plural(write_pairs(pairs, form, out, with_residual=with_residual, with_spans=with_spans), "pair")


def write_lines_to(output: Path | None, result: Duplicates, *, clusters: bool, complete: bool, new: bool) -> str:
    """Write pairs or clusters as JSON; return their number with its noun: `12 pairs`.

    `result.is_counted` must be true. With `complete`, any two members of a cluster are a pair. Writing whole columns is
    much faster than writing objects one by one.
    """
    from whorl.output.duplicates import write_cluster_lines, write_pair_lines
    from whorl.output.formatting import plural

    with open_output(output) as out:
        if not clusters:
            return plural(write_pair_lines(result.pairs_in_columns(new=new), out), "pair")
        written = write_cluster_lines(result.clusters_in_columns(complete=complete, new=new), out)
    return clusters_line(written, result.kind)


def clusters_line(written: tuple[int, int], kind: str) -> str:
    from whorl.output.formatting import plural

    return f"{plural(written[0], 'cluster')} with {plural(written[1], kind)}"


def write_list(clusters: Iterable[Cluster], keep: Keep | str, delete_list: Path) -> list[str]:
    from whorl.duplicates import superfluous
    from whorl.output.formatting import is_one_line, plural

    with open_output(delete_list) as out:
        count = unlisted = 0
        for member in superfluous(clusters, keep):
            # A program that reads the list would split an id at a line break, and might delete other documents.
            if is_one_line(member.id):
                out.write(f"{member.id}\n")
                count += 1
            else:
                unlisted += 1
    lines = [f"{plural(count, 'id')} in {delete_list}; nothing was deleted"]
    if unlisted:
        lines.append(f"note: {plural(unlisted, 'id')} not listed, for the line breaks or control characters in them")
    return lines


def print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line, err=True)
