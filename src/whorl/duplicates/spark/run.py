"""Runs `whorl duplicates --engine spark`: reads texts with Spark, and writes pairs or clusters of near-duplicates."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whorl.duplicates.contamination import ReferenceCounts, ReferenceItem
from whorl.duplicates.input import ALL_IN_REFERENCE
from whorl.duplicates.options import DuplicatesOptions
from whorl.duplicates.retention import UnreadValues
from whorl.errors import DocumentError, EngineError, EngineUnavailableError, ParameterError
from whorl.operations import DuplicatesOperation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Output formats with their Spark writer options. With `escape`, Spark escapes quotes in CSV in the usual way.
FORMATS: dict[str, dict[str, str]] = {"json": {}, "csv": {"header": "true", "escape": '"'}, "parquet": {}}
_PROBLEMS_SHOWN = 10
#: Maximum number of reference items in the report, and of documents of each item.
_ITEMS_SHOWN, _DOCUMENTS_SHOWN = 20, 10
#: Maximum number of files to check for the text column after the job.
_FILES_CHECKED = 100
#: Name of Spark's folder for the files of an incomplete job.
_UNFINISHED = "_temporary"
#: Suffix of the hidden file next to an output folder that a run locks while it writes the folder.
_MARKER = ".whorl-unfinished"
SETTINGS = {
    # In local mode, the driver runs only briefly: Java's second compiler would cost more time than it saves. Spark
    # appends the user's own Java options.
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    # Divide oversized partitions, so that tasks take similar time.
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.skewJoin.enabled": "true",
    # Shorten the plans that Spark prints for queries: the plans of many rounds would fill the driver's memory.
    "spark.sql.maxPlanStringLength": "20000",
    # Write times as UTC. Parquet's older type for them, Spark's default, has no time zone.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.python.daemon.module": "whorl.duplicates.spark.worker_daemon",
}


@dataclass(frozen=True, slots=True)
class JobSummary:
    """Numbers of documents that a job read and wrote, for its final message.

    Args:
        documents, too_short: Documents read, and documents with fewer words than a shingle.
        repeated: Number of repeated ids.
        bad_rows: Number of rows that could not be read; `problems` has examples.
        written: Pairs, or documents in clusters, that were written.
        files: Files without the text column, each with a message.
        unread: Values that the retention policy cannot read as dates or numbers.
        copied: Number of rows in each folder of copies.
        listed: Number of ids in the delete list, and of ids left out of it; None without a list.
        reference, items: With `reference_only`: numbers for the report, and the items in most documents.
    """

    documents: int
    too_short: int
    repeated: int
    bad_rows: int
    problems: tuple[str, ...]
    written: int
    copied: Mapping[str, int] = field(default_factory=dict)
    listed: tuple[int, int] | None = None
    unread: Sequence[UnreadValues] = ()
    files: Sequence[tuple[str, str]] = ()
    reference: ReferenceCounts | None = None
    items: Sequence[ReferenceItem] = ()


def run(paths: Sequence[str], operation: DuplicatesOperation, session: SparkSession | None = None) -> JobSummary:
    """Find the near-duplicates among documents that Spark reads, and write them to a folder.

    Args:
        paths: Files and folders on any file system that the session reads.
        operation: `output`, `filtered`, `annotated` and `delete_list` are folders that do not exist yet, `state` and
            `checkpoints` any folders.
        session: None uses the running session, or starts one.

    Raises:
        ParameterError: PySpark is missing, an option is invalid, the output exists already, or the state was made with
            other parameters.
        DocumentError: A path does not exist, or the column of the ids or texts is missing.
        StoreError: The state folder holds other files, or is not usable.
        EngineError: Java is missing, or Spark failed.
    """
    options, form = DuplicatesOptions.from_options(operation), operation.format or "json"
    keep, named = options.keep, [(operation.filtered, False), (operation.annotated, True)]
    copies = [(folder, with_columns) for folder, with_columns in named if folder is not None]
    targets = _require_targets(operation, form)
    if keep is not None and keep.is_by_value and not keep.column:
        raise ParameterError(f"--keep {keep} needs the column of the date on Spark: --keep {keep}:COLUMN")
    with _convert_errors(), ExitStack() as locked:
        from whorl.duplicates.spark.clusters import member_by_member, nest_members
        from whorl.duplicates.spark.contamination import SparkReferenceMatches
        from whorl.duplicates.spark.duplicates import SparkDuplicates
        from whorl.duplicates.spark.read_files import (
            ColumnNames,
            copy_rows,
            find_file_problems,
            has_only_texts,
            read,
            require_free_columns,
            require_one_schema,
            require_rows,
            require_values,
        )
        from whorl.duplicates.spark.read_reference import read_reference

        if copies:
            require_rows(paths, operation.input)
        names = (operation.id_column, operation.text_column, operation.name_column)
        if any(names) and has_only_texts(paths, operation.input):
            raise ParameterError(
                f"{', '.join(paths)} would be read as texts, which have no columns; name the format of the rows with "
                "--input parquet or json; for CSV and other tables use --engine local"
            )
        own = session or _session()
        for target in targets:
            locked.enter_context(_lock_output(own, target))
            _require_new(own, target)
        if copies:
            require_one_schema(own, paths, operation.input)
        if operation.annotated is not None:
            require_free_columns(own, paths, operation.input)
        if operation.checkpoints is not None:
            own.sparkContext.setCheckpointDir(operation.checkpoints)
        columns = ColumnNames(
            operation.id_column or "id",
            operation.text_column or "text",
            operation.name_column or "name",
            None if keep is None else keep.column or None,
            options.within,
        )
        reference = read_reference(own, operation, options, columns)
        # A file that is both input and reference is read only as a reference file.
        documents = read(own, paths, operation.input, columns, excluded=reference.files)
        if reference.files and (own_files := documents.inputFiles()) and reference.files.issuperset(own_files):
            raise ParameterError(ALL_IN_REFERENCE)
        require_values(documents, options.within)
        search = (
            SparkReferenceMatches(documents, reference.texts, options)
            if operation.reference_only
            else SparkDuplicates(
                documents, options, reference=reference.frame, state=operation.state, new=operation.new
            )
        )
        copied, listed = dict[str, int](), None
        if copies or operation.delete_list:
            decisions = search.materialise(search.decisions())
        if operation.delete_list:
            listed = _write_list(decisions.where("not is_principal").select("id"), operation.delete_list)
        for folder, with_columns in copies:
            rows, copy_form = copy_rows(
                own, paths, operation.input, columns, decisions, excluded=reference.files, with_columns=with_columns
            )
            copied[folder] = _write(rows, copy_form, folder)
        # The output has the same format as without Spark: a cluster is one line of JSON, and a pair has no names.
        if operation.clusters:
            found = search.clusters_in_lists(complete=operation.is_complete)
            rows = nest_members(found) if form == "json" else member_by_member(found).drop("stays")
        else:
            rows = search.pairs().drop("a_name", "b_name") if form == "json" else search.pairs()
        written = _write(rows, form, targets[0])
        examples_in_reference = islice(map(str, reference.problems), _PROBLEMS_SHOWN)
        blank = search.problems.find_files_with_blank_rows(_FILES_CHECKED)
        summary = JobSummary(
            documents=search.documents,
            too_short=search.too_short,
            repeated=search.repeated,
            bad_rows=search.problems.count_bad_rows() + reference.problems.lost,
            problems=(*examples_in_reference, *search.problems.examples(_PROBLEMS_SHOWN)),
            written=written,
            copied=copied,
            listed=listed,
            unread=search.problems.unread_values(options.policy),
            files=find_file_problems(own, blank, operation.input, columns),
        )
        if isinstance(search, SparkReferenceMatches):
            shown = search.items(_ITEMS_SHOWN, _DOCUMENTS_SHOWN) if operation.clusters else []
            summary = replace(summary, reference=search.counts, items=shown)
        search.save_state()
        search.release()
        return summary


def _require_targets(operation: DuplicatesOperation, form: str) -> list[str]:
    """Return the folders to write, the output first; raise ParameterError if it is missing, or two are the same."""
    if operation.output is None:
        raise ParameterError("Spark writes to a folder; name it as output")
    if form not in FORMATS:
        raise ParameterError(f"Spark writes {', '.join(FORMATS)}, got {form!r}")
    others = (operation.filtered, operation.annotated, operation.delete_list)
    targets = [operation.output, *(folder for folder in others if folder is not None)]
    if len({*targets}) < len(targets):
        raise ParameterError(
            "--output, --filtered, --annotated and --delete-list write a folder each; name different ones"
        )
    return targets


def _session() -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("whorl duplicates")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    if (session.sparkContext.master or "").startswith("local"):
        # In local mode, workers must run the Python interpreter of this process; `python3` may be another one.
        session.sparkContext.pythonExec = sys.executable
    return session


@contextmanager
def _lock_output(session: SparkSession, target: str) -> Iterator[None]:
    """Lock an output folder while Spark writes it, and delete the unfinished folder of a run that was killed.

    If Spark is one process and writes to a local disk, a held lock means that another job is still writing. Otherwise
    nothing is locked or deleted, and `_require_new` refuses an unfinished folder.
    """
    from py4j.protocol import Py4JJavaError

    jvm: Any = session.sparkContext._jvm
    path = jvm.org.apache.hadoop.fs.Path(target)
    files = path.getFileSystem(session.sparkContext._jsc.hadoopConfiguration())
    folder = Path(files.makeQualified(path).toUri().getPath())
    if not (session.sparkContext.master or "").startswith("local") or files.getScheme() != "file" or not folder.name:
        yield
        return
    marker = folder.with_name(f".{folder.name}{_MARKER}")
    was_killed = marker.exists()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Java's process holds the lock, because it writes the folder, and may outlive this process.
        opened = jvm.java.io.RandomAccessFile(str(marker), "rw")
        lock = opened.getChannel().tryLock()
    except (OSError, Py4JJavaError) as error:
        # OverlappingFileLock means that another run of this session holds the lock. All other errors mean that nothing
        # can be locked or written here, so go on without a lock.
        if "OverlappingFileLock" not in str(error):
            yield
            return
        lock = None
    if lock is None:
        raise ParameterError(f"another run is writing {folder}; name another folder, or wait")
    try:
        if was_killed and (folder / _UNFINISHED).is_dir() and not (folder / "_SUCCESS").exists():
            shutil.rmtree(folder)
        yield
    finally:
        # After an error, Spark may still be writing. Without the marker, the next run does not delete the folder.
        marker.unlink(missing_ok=True)
        opened.close()


def _require_new(session: SparkSession, target: str) -> None:
    """Raise ParameterError if an output folder exists.

    Unfinished files are not deleted: another job may still be writing them, and would not notice the loss.
    """
    # The folder may be on any of Spark's file systems, so use its Java API.
    path = session.sparkContext._jvm.org.apache.hadoop.fs.Path(target)  # type: ignore[union-attr]
    files = path.getFileSystem(session.sparkContext._jsc.hadoopConfiguration())
    if not files.exists(path):
        return
    is_unfinished = [str(status.getPath().getName()) for status in files.listStatus(path)] == [_UNFINISHED]
    left = ", but is unfinished; if no job is writing it, delete it, or" if is_unfinished else " already;"
    raise ParameterError(f"{target} exists{left} name a folder that does not exist")


def _write(rows: DataFrame, form: str, output: str) -> int:
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    seen = Observation("written")
    count = f.coalesce(f.sum("documents"), f.lit(0)) if "members" in rows.columns else f.count(f.lit(1))
    rows.observe(seen, count.alias("rows")).write.format(form).options(**FORMATS.get(form, {})).save(output)
    return int(seen.get["rows"])


def _write_list(ids: DataFrame, folder: str) -> tuple[int, int]:
    """Write ids, one on each line; return the numbers of written ids, and of ids that have line breaks."""
    has_line_break = ids["id"].rlike("[\u2028\u2029]")
    return _write(ids.where(~has_line_break), "text", folder), ids.where(has_line_break).count()


@contextmanager
def _convert_errors() -> Iterator[None]:
    try:
        import pyarrow  # noqa: F401
        from pyspark.errors import PySparkException
    except ImportError as error:
        raise ParameterError("Spark needs more packages: pip install 'whorl[spark]'") from error
    from py4j.protocol import Py4JError

    try:
        yield
    except (PySparkException, Py4JError) as error:
        condition = error.getCondition() if isinstance(error, PySparkException) else ""
        if condition == "JAVA_GATEWAY_EXITED":
            raise EngineUnavailableError(
                "Spark did not start; it needs Java 17 or 21, named by JAVA_HOME or found as java"
            ) from error
        if condition in ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA"):
            raise DocumentError(_first_line(error)) from error
        raise EngineError(f"Spark failed: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def summary_lines(summary: JobSummary, output: str, *, clusters: bool) -> list[str]:
    rows = "documents in clusters" if clusters else "pairs"
    lines = [f"{summary.documents:,} documents, {summary.written:,} {rows} written to {output}"]
    lines += [f"{rows:,} rows written to {folder}" for folder, rows in summary.copied.items()]
    if summary.listed is not None:
        lines.append(f"{summary.listed[0]:,} ids listed, {summary.listed[1]:,} left out for their line breaks")
    if summary.too_short and summary.reference is None:
        lines.append(f"{summary.too_short:,} of fewer words than a shingle has were not compared")
    if summary.repeated:
        lines.append(f"{summary.repeated:,} ids came more than once; of each the largest document counts")
    if summary.bad_rows:
        lines.append(f"{summary.bad_rows:,} could not be read, among them:")
        lines += [f"  {problem}" for problem in summary.problems]
    lines += [f"{file}: {problem}" for file, problem in summary.files]
    return lines
