"""Runs `whorl duplicates`: checks its flags, finds duplicates, writes files and prints results."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import IO, Any

import click
from click.exceptions import Exit

from whorl.cli.render.terminal import print_notes, problem_lines, reading_bar, show_progress
from whorl.cli.shared.flags import require_default, with_boilerplate_texts
from whorl.cli.shared.output_files import open_output, require_writable
from whorl.duplicates.contamination import count_matches, find_in_documents
from whorl.duplicates.input import InputReader
from whorl.duplicates.options import DuplicatesOptions
from whorl.duplicates.repeated_passages import WORDS, passages_among
from whorl.duplicates.results import Cluster, Duplicates, documents_to_remove, with_words
from whorl.duplicates.retention import Keep, require_property
from whorl.duplicates.run import duplicates_among, duplicates_in
from whorl.duplicates.worker_pool import worthwhile_workers
from whorl.duplicates.write_cluster_labels import write_ids
from whorl.duplicates.write_copies_of_files import (
    ADDED,
    decide_retention,
    require_columns,
    require_room,
    require_texts,
    write_copies,
)
from whorl.errors import ParameterError, WhorlError, without_login
from whorl.fingerprint.statistics.metric import Metric
from whorl.ingest.files import Problem, Problems, find_files
from whorl.ingest.rows.row_format import RowColumns
from whorl.operations import DuplicatesOperation
from whorl.output.duplicates import (
    ClusterPreview,
    common_line,
    format_label_counts,
    not_compared_line,
    not_compared_lines,
    redundancy_line,
    reference_lines,
    unread_line,
    write_cluster_lines,
    write_clusters,
    write_pair_lines,
    write_pairs,
    write_reference_table,
)
from whorl.output.formatting import is_one_line, plural, printable
from whorl.request_context import report_progress, reporting

#: Exit code after SIGTERM, as in shells.
_EXIT_CODE = 128 + signal.SIGTERM
#: Largest share of unreadable documents at which the command still succeeds.
_MOST_LOST = 0.01
_UNREADABLE = "could not be read as they are"
_FORMATS = {".json": "json", ".jsonl": "json", ".ndjson": "json", ".csv": "csv", ".parquet": "parquet"}
#: Suffixes of output files that are written as a text table.
_TABLES = ("", ".txt", ".log", ".out")
#: As output file, `-` is standard output; among the PATHs, it is standard input.
_STANDARD_OUTPUT = "-"


@dataclass(frozen=True, kw_only=True)
class DuplicatesCommand(DuplicatesOperation):
    """Options of `whorl duplicates`, with the inputs that the command line names."""

    paths: tuple[str, ...]
    store: str | None

    @cached_property
    def search(self) -> DuplicatesOptions:
        return DuplicatesOptions.from_options(with_boilerplate_texts(self, [*self.paths, *self.reference]))

    @property
    def shows_only_new(self) -> bool:
        """Whether to show only pairs and clusters with a new document; always true with reference documents."""
        return self.new or bool(self.reference)

    @property
    def file(self) -> Path | None:
        return None if self.output is None or self.output == _STANDARD_OUTPUT else Path(self.output)

    @property
    def delete_file(self) -> Path | None:
        return None if self.delete_list is None else Path(self.delete_list)

    @property
    def form(self) -> str:
        """Output format: the requested format, or else the format for the suffix of the output file."""
        by_name = "table" if self.file is None else _FORMATS.get(self.file.suffix.lower(), "table")
        return self.format or by_name

    @property
    def is_preview(self) -> bool:
        """Whether the output is a table with only the largest clusters."""
        return self.form == "table" and self.file is None and not self.show_all

    def open_output(self) -> AbstractContextManager[IO[Any]]:
        return open_output(self.file, is_binary=self.form == "parquet")

    @property
    def folders(self) -> Mapping[Path, bool]:
        """Folders for copies of the input files, mapped to whether the copies get additional columns."""
        named = {self.filtered: False, self.annotated: True}
        return {Path(folder): has_columns for folder, has_columns in named.items() if folder is not None}

    def without_existing_files(self) -> DuplicatesCommand:
        """Return a copy of the command without the output file and the delete list that already exist."""
        output = os.devnull if self.file is not None and self.file.is_file() else self.output
        delete_list = None if self.delete_file is not None and self.delete_file.is_file() else self.delete_list
        return replace(self, output=output, delete_list=delete_list)

    def keep_files_if_nothing_read(self, reader: InputReader) -> DuplicatesCommand:
        """Return this command; if no document in PATHs could be read, return a copy that keeps existing files."""
        return self if reader.count_in_paths or not self.paths else self.without_existing_files()

    def _refuse(self, run: str, reason: str, *more: str) -> None:
        require_default(self, (*self.REFUSED[run].split(), *more), reason)

    def require_consistent(self) -> None:
        """Raise ParameterError for flags that cannot be combined, or for an invalid value."""
        if self.paths and self.store is not None:
            raise ParameterError("give PATHs or a --store, not both")
        if self.new and self.state is None:
            raise ParameterError("--new needs a --state FOLDER to compare with; give one")
        if self.keep is None and not self.folders and self.delete_list is not None:
            raise ParameterError("--delete-list lists what is not kept; say which is, with --keep first for instance")
        if self.delete_list == _STANDARD_OUTPUT:
            raise ParameterError("--delete-list writes a file, because standard output has the clusters; name a file")
        for flag, folder in (("--filtered", self.filtered), ("--annotated", self.annotated)):
            if folder == _STANDARD_OUTPUT:
                raise ParameterError(f"{flag} writes a folder, which standard output cannot hold; name a folder")
        if self.versions and not self.clusters:
            raise ParameterError("--versions shows clusters; leave out --pairs")
        if self.complete and not self.clusters:
            raise ParameterError("--complete makes clusters; leave out --pairs")
        if self.write_ids and (self.paths or self.new):
            raise ParameterError("--write-ids writes into a store; give no PATHs, and leave out --new")
        if not self.paths:
            self._refuse("store", "is for PATHs; name some")
            require_default(self, ["reference"], "is compared with PATHs; give some")
        if self.reference and self.state is not None:
            raise ParameterError(
                "--reference keeps no state; with --state FOLDER run SET as PATHs first, then the others with --new"
            )
        if not self.reference:
            require_default(
                self, ["reference_only", "reference_column"], "is about a reference; name it with --reference"
            )
        if self.reference_only and self.level != "passage":
            self._refuse("reference_only", "is not for --reference-only; leave one of the two out")
            if self.keep not in (None, "first"):
                raise ParameterError(f"--keep {self.keep} chooses among PATHs, which --reference-only does not compare")
        if self.engine == "local":
            self._refuse("local", "is for --engine spark")
        if self.words is not None and self.level != "passage":
            raise ParameterError("--words sets the length of passages; add --level passage")
        if self.level != "document":
            self._refuse("parts", f"is for documents; leave it out, or --level {self.level}")
        if self.level == "passage":
            reason = (
                "is not for passages: they are equal word for word, the first stays, and --words N says how long they "
                "are"
            )
            self._refuse("passages", reason, *(() if self.keep == "first" else ("keep",)))
        # Check percentages, limits and policies before reading any input.
        search = self.search
        if not self.paths:
            require_property(search.keep)
        if self.within and search.common and search.common.boilerplate:
            raise ParameterError("--boilerplate does not work with --within-column; leave out one of the two")

    def output_of_spark(self) -> str:
        """Return the output folder for Spark; raise ParameterError if it is missing, or an option is not supported."""
        reason = "is for --engine local"
        self._refuse("spark", reason)
        if self.store is not None:
            raise ParameterError(f"--store {reason}")
        if not self.paths or self.output is None or self.output == _STANDARD_OUTPUT:
            raise ParameterError("--engine spark reads PATHs and writes the folder of --output; name both")
        return self.output

    def require_targets(self) -> None:
        """Raise ParameterError if the output cannot be written, so that a long run does not fail at its end."""
        output, delete_list = self.file, self.delete_file
        suffix = "" if self.format or output is None else output.suffix.lower()
        if suffix not in (*_FORMATS, *_TABLES):
            raise ParameterError(
                f"--output {output}: {suffix} is not a format of this command; choose {', '.join(_FORMATS)}, .txt or "
                "give --format table, json, csv or parquet"
            )
        if output is not None and delete_list is not None and output.absolute() == delete_list.absolute():
            raise ParameterError(f"--output and --delete-list are one file, {output}; name two")
        for folder, place in itertools.product(self.folders, (self.output, self.delete_list, self.state)):
            if place is not None and _is_within(place, folder):
                raise ParameterError(f"{place} would be in {folder}, which holds only copies; name another place")
        for target in (output, delete_list):
            if target is not None:
                require_writable(target, [*self.paths, *self.reference, *self.boilerplate])
        if self.form == "parquet" and self.file is None:
            raise ParameterError("parquet is for a file; name it with --output FILE")
        if self.form == "parquet" and find_spec("pyarrow") is None:
            raise ParameterError("writing parquet needs more: pip install 'whorl[data]'")
        for folder, path in itertools.product(self.folders, self.paths):
            if os.path.isdir(path) and _is_within(folder, path):
                raise ParameterError(f"{folder} would be in {path}, so the next run would read it; name another folder")
        if self.filtered is not None and self.annotated is not None:
            one, other = self.filtered, self.annotated
            if _is_within(one, other) or _is_within(other, one):
                raise ParameterError(
                    f"--filtered {one} and --annotated {other} are one folder, or one in the other; name two"
                )

    def make_reader(self) -> InputReader:
        """Return a reader for the input files; raise ParameterError if requested copies cannot be written."""
        reader = InputReader(
            self.paths,
            self.search,
            reference=self.reference,
            reference_columns=self.reference_column,
            columns=RowColumns.from_names(self.text_column, self.id_column),
            is_rewritten=bool(self.folders),
            find=partial(find_files, follow_links=self.follow_links, exclude=self.exclude),
        )
        for folder in self.folders:
            require_room(reader, folder)
        if self.annotated is not None:
            reader.added = frozenset(ADDED)
            require_columns(reader)
        if self.folders and self.level != "document":
            require_texts(reader)
        return reader


def run(command: DuplicatesCommand) -> None:
    """Run the command; exit with status 1 if too many documents could not be read, or if none was compared."""
    command.require_consistent()
    if command.engine == "spark":
        _run_on_spark(command)
        return
    command.require_targets()
    reader = command.make_reader()
    with terminable():
        write = _write_duplicates
        if command.level == "passage":
            write = _write_passages
        elif command.reference_only:
            write = _write_reference_matches
        documents = write(command, reader)
    if reader.in_reference:
        shared = plural(reader.in_reference, "file")
        click.echo(f"note: PATHs and --reference have {shared} in common, compared as reference only", err=True)
    is_lost = report_unread_documents(reader.problems, reader.count, reader.repeated, strict=command.strict)
    if command.paths and not (documents or is_lost):
        is_lost = True
        click.echo(
            f"failed: {', '.join(command.paths)} {'has' if len(command.paths) == 1 else 'have'} no documents", err=True
        )
    if report_unread_values(reader.unread_values, strict=command.strict) or is_lost:
        sys.exit(1)


def _run_on_spark(command: DuplicatesCommand) -> None:
    from whorl.duplicates.spark.run import run, summary_lines

    output = command.output_of_spark()
    summary = run(command.paths, command)
    if command.reference_only and command.clusters:
        write_reference_table(summary.items, sys.stdout, ClusterPreview(lambda ids: {}), command.level)
    lines = map(printable, summary_lines(summary, output, clusters=command.clusters))
    if summary.reference is None:
        print_lines([*command.search.pairs.notes, *lines])
    else:
        print_lines([*reference_lines(summary.reference, command.search), *lines])
    print_notes(unread_line(values, "document") for values in summary.unread)
    problems = Problems([Problem(output, "", summary.bad_rows), *(Problem(*file, None) for file in summary.files)])
    is_lost = report_unread_documents(problems, summary.documents, summary.repeated, strict=command.strict)
    unread = sum(values.count for values in summary.unread)
    if report_unread_values(unread, strict=command.strict) or is_lost or not summary.documents:
        sys.exit(1)


def _write_duplicates(command: DuplicatesCommand, reader: InputReader) -> int:
    has_begun = False
    with reading_bar(lambda: reader.byte_progress) as show:

        def progress(step: str, done: int, total: int | None) -> None:
            nonlocal has_begun
            has_begun = True
            show(step, done, total)

        try:
            with reporting(progress), _find_duplicates(command, reader) as result:
                report_progress("", 0)
                command = command.keep_files_if_nothing_read(reader)
                if command.new and not result.new_documents:
                    # An earlier run has listed the duplicates, so do not replace its files by empty ones.
                    command = command.without_existing_files()
                _write_outputs(result, command, reader)
                reader.unread_values = sum(unread.count for unread in result.find_unread_values())
        except (WhorlError, KeyboardInterrupt) as error:
            # Do not advise to repeat a command with an invalid option or folder.
            if command.state is not None and has_begun and not isinstance(error, ParameterError):
                click.echo(f"stopped; run the same command again to go on from {command.state}", err=True)
            raise
    return result.documents


def _write_outputs(result: Duplicates, command: DuplicatesCommand, reader: InputReader) -> None:
    find_clusters = partial(result.clusters, complete=True, new=command.shows_only_new, keep=command.search.keep)
    with _open_outputs(command, reader, find_clusters) as (out, lines):
        if command.write_ids:
            lines.append(_write_ids(result, command))
        try:
            lines[:0] = _write(result, command, reader, out)
        finally:
            lines += _notes(command, result, reader.problems)


@contextmanager
def _open_outputs(
    command: DuplicatesCommand,
    reader: InputReader,
    clusters: Callable[[], Iterable[Cluster]],
    metric: Metric = Metric.JACCARD,
) -> Iterator[tuple[IO[Any], list[str]]]:
    """Write the copies of the files and the delete list, open the output, and print the yielded lines at the end.

    The copies have temporary names until the output file is complete, so an interrupted command can be repeated. If the
    output is standard output, rename the copies before printing, because printing fails if the reader has closed the
    pipe. `metric` defines the similarity in annotated copies.
    """
    lines, copied = list[str](), list[str]()
    try:
        with ExitStack() as outputs:
            # Without readable input, create no folder, so that the user can correct the command and repeat it.
            if command.folders and (reader.count_in_paths or not reader.problems):
                retention = decide_retention(clusters(), with_columns=any(command.folders.values()), metric=metric)
                for folder, with_columns in command.folders.items():
                    written, read = outputs.enter_context(
                        write_copies(reader, retention, folder, with_columns=with_columns)
                    )
                    copied.append(f"{written:,} of {plural(read, 'document')} in {folder}")
            lines += copied
            if command.delete_file is not None:
                lines += write_list(clusters(), command.search.keep or "first", command.delete_file)
            if command.file is None:
                outputs.close()
                copied.clear()
            yield outputs.enter_context(command.open_output()), lines
    except BaseException:
        # After an error, no copies remain, so do not print their lines, only the other notes.
        lines[:] = [line for line in lines if line not in copied]
        raise
    finally:
        print_lines(lines)


def _search_options(command: DuplicatesCommand, reader: InputReader) -> DuplicatesOptions:
    return replace(command.search, workers=command.workers or worthwhile_workers(reader.byte_progress[1]))


def _find_duplicates(command: DuplicatesCommand, reader: InputReader) -> AbstractContextManager[Duplicates]:
    if not command.paths:
        return _find_in_store(command)
    return duplicates_among(
        reader.documents(),
        _search_options(command, reader),
        reference=reader.reference() if command.reference else (),
        dates=reader.dates,
        texts=reader.texts,
        on_repeated=reader.note_repeated,
    )


@contextmanager
def _find_in_store(command: DuplicatesCommand) -> Iterator[Duplicates]:
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
            # Otherwise a long search might fail at its end.
            opened.engine.labels.prepare()
        with duplicates_in(opened.engine, command.search, origin=f"the store {origin}", names=opened.names) as result:
            yield result


def _write(result: Duplicates, command: DuplicatesCommand, reader: InputReader, out: IO[Any]) -> list[str]:
    # Exact results can be written from whole columns, without an object for each result, which is much faster.
    is_fast, shown = command.form == "json" and result.is_counted, list[str]()
    if command.clusters:
        preview = ClusterPreview(partial(_texts, result, reader)) if command.is_preview else None
        written = _write_clusters(result, command, preview, out, is_fast=is_fast)
        summary = clusters_line(written, result.kind)
        if preview is not None and written[0] > preview.clusters:
            shown = [f"the {preview.clusters} largest are shown; --all shows all, --output FILE.jsonl writes them"]
    elif is_fast:
        summary = plural(write_pair_lines(result.pairs_in_columns(new=command.shows_only_new), out), "pair")
    else:
        pairs, with_residual = result.pairs(new=command.shows_only_new), result.residual is not None
        summary = plural(write_pairs(pairs, command.form, out, with_residual=with_residual), "pair")
    # If standard output is closed, flushing raises an error, so the summary is not printed.
    out.flush()
    lines = [f"{summary}, of {plural(result.documents, result.kind)} in all"]
    if command.clusters and not command.shows_only_new and result.count_pairs():
        # The sizes of the files of earlier runs are unknown, so leave out the size in bytes.
        size = 0 if command.state is not None and result.documents > reader.count else reader.byte_progress[1]
        lines.append(redundancy_line(result, size, complete=command.is_complete, keep=command.search.keep))
    return lines + shown


def _write_clusters(
    result: Duplicates, command: DuplicatesCommand, preview: ClusterPreview | None, out: IO[Any], *, is_fast: bool
) -> tuple[int, int]:
    keep, versions, new, complete = command.search.keep, command.versions, command.shows_only_new, command.is_complete
    if is_fast and keep is None and not versions:
        return write_cluster_lines(result.clusters_in_columns(complete=complete, new=new), out)
    sought = result.clusters(complete=complete, new=new, keep=keep, versions=versions)
    if versions:
        sought = (with_words(cluster, result.read_texts, result.scheme) for cluster in sought)
    return write_clusters(
        sought,
        command.form,
        out,
        marks_principal=keep is not None,
        versions=versions,
        with_residual=result.residual is not None,
        preview=preview,
    )


def _texts(result: Duplicates, reader: InputReader, ids: Sequence[str]) -> Mapping[str, str]:
    """Return the texts of documents for snippets: from a store, from whole files, or from rows of small files."""
    texts = result.read_texts(ids)
    missing = [document_id for document_id in ids if document_id not in texts]
    return {**texts, **reader.row_texts(missing)} if missing else texts


def _write_ids(result: Duplicates, command: DuplicatesCommand) -> str:
    from whorl.store import open_store

    with open_store(command.store, create=False) as opened, show_progress("documents"):
        return format_label_counts(write_ids(opened.engine, result.clusters(complete=True, keep=command.search.keep)))


def _notes(command: DuplicatesCommand, result: Duplicates, problems: Problems) -> Iterator[str]:
    if result.residual:
        yield f"note: {common_line(result.residual)}"
    for line in (*command.search.pairs.notes, *not_compared_lines(result)):
        yield f"note: {line}"
    if command.new and result.documents and not result.new_documents:
        yield (
            f"note: --new: no document is new to {command.state}; an earlier run listed their duplicates, and existing "
            "files stay as they are"
        )
    if result.replaced:
        yield (
            f"note: replaced {plural(result.replaced, result.kind)} of earlier runs by new ones with the same id; rows "
            "without an id are named by file and line"
        )
    if result.unfinished:
        yield (
            f"note: also compared with {plural(result.unfinished, result.kind)} that an interrupted run read and PATHs "
            "do not have; run that command again, or begin another --state"
        )
    if result.without_sketch:
        yield "'whorl solr backfill' makes the sketches that are missing"
    yield from problem_lines(problems, _UNREADABLE)


def _write_passages(command: DuplicatesCommand, reader: InputReader) -> int:
    words = command.words or WORDS
    search = _search_options(command, reader)
    with (
        reading_bar(lambda: reader.byte_progress) as show,
        reporting(show),
        passages_among(
            reader.documents(),
            words,
            search,
            reference=reader.reference() if command.reference else (),
            on_repeated=reader.note_repeated,
        ) as result,
    ):
        report_progress("", 0)
        command = command.keep_files_if_nothing_read(reader)
        with _open_outputs(command, reader, result.clusters) as (out, lines):
            if result.too_short:
                lines.append(f"note: {not_compared_line(result.too_short, 'document', f'of fewer than {words} words')}")
            lines += problem_lines(reader.problems, _UNREADABLE)
            if command.clusters:
                marks = command.filtered is not None
                preview = ClusterPreview(lambda ids: {}) if command.is_preview else None
                written = write_clusters(result.clusters(), command.form, out, marks_principal=marks, preview=preview)
                summary = clusters_line(written, "passage")
                if preview is not None and written[0] > preview.clusters:
                    lines.insert(0, f"the {preview.clusters} largest are shown; --all shows all")
            else:
                summary = plural(write_pairs(result.pairs(), command.form, out, with_spans=True), "pair")
            out.flush()
            lines.insert(0, f"{summary}, of {plural(result.documents, 'document')} in all")
    return result.documents


def _write_reference_matches(command: DuplicatesCommand, reader: InputReader) -> int:
    search = _search_options(command, reader)
    with reading_bar(lambda: reader.byte_progress) as show, reporting(show):
        result = find_in_documents(reader.documents(), reader.reference(), search, on_repeated=reader.note_repeated)
        report_progress("", 0)
    command = command.keep_files_if_nothing_read(reader)
    items = result.items()
    preview = ClusterPreview(lambda ids: {}) if command.is_preview else None
    with _open_outputs(command, reader, result.clusters_by_document, search.pairs.metric) as (out, lines):
        lines[:0] = reference_lines(count_matches(result), search)
        if command.clusters and preview is not None and len(items) > preview.clusters:
            lines.append(f"the {preview.clusters} in most documents are shown; --all shows all")
        lines += problem_lines(reader.problems, _UNREADABLE)
        if not command.clusters:
            write_pairs(result.pairs(), command.form, out, with_spans=True)
        elif command.form == "table":
            write_reference_table(items, out, preview, search.granularity.value)
        else:
            write_clusters(result.clusters(), command.form, out)
    return result.documents


def report_unread_documents(problems: Problems, count: int, repeated: int = 0, *, strict: bool) -> bool:
    """Print a message if too many documents could not be read; return whether it was printed.

    With `strict`, one unreadable document or one repeated id is too many.
    """
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
        if lost > whole_files:
            reason += f", and {lost - whole_files:,} of {count + lost - whole_files:,} documents"
    click.echo(f"failed: {reason}; the results cover only the others", err=True)
    return True


def report_unread_values(unread: int, *, strict: bool) -> bool:
    """With `strict`, print a message if any date or number was unreadable; return whether it was printed."""
    if strict and unread:
        click.echo(f"failed: {plural(unread, 'value')} could not be read as a date or number", err=True)
    return strict and unread > 0


class _TerminatedError(KeyboardInterrupt):
    """The process has received SIGTERM, which is handled like Ctrl-C."""


@contextmanager
def terminable() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C, so that temporary files are deleted. Child processes must reset it to its default."""
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


def _is_within(inner: str | Path, outer: str | Path) -> bool:
    # `os.path.realpath` also works for links in a circle; `Path.resolve` raises an error.
    return Path(os.path.realpath(inner)).is_relative_to(os.path.realpath(outer))


def _terminate(number: int, frame: FrameType | None) -> None:
    # A second signal would interrupt the cleanup.
    signal.signal(number, signal.SIG_IGN)
    raise _TerminatedError


def clusters_line(written: tuple[int, int], kind: str) -> str:
    return f"{plural(written[0], 'cluster')} with {plural(written[1], kind)}"


def write_list(clusters: Iterable[Cluster], keep: Keep | str, delete_list: Path) -> list[str]:
    with open_output(delete_list) as out:
        count = unlisted = 0
        for member in documents_to_remove(clusters, keep):
            # A program that reads the list would split this id at a line break, and might delete other documents.
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
