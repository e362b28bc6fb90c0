"""The Spark job: reads texts and writes pairs or clusters. See `python -m whorl.duplicates.spark.job --help`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from whorl.duplicates.options import Keep, PairOptions, ask_pairs
from whorl.errors import EngineError, EngineUnavailableError, ParameterError, WhorlError
from whorl.fingerprint.scheme import Scheme

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Output formats with the options of Spark's writers. By default Spark escapes quotes in CSV in its own way.
FORMATS: dict[str, dict[str, str]] = {"json": {}, "csv": {"header": "true", "escape": '"'}, "parquet": {}}
#: Maximum number of bad rows that are reported with a reason.
_TOLD = 10
SETTINGS = {
    # The driver, which in local mode is all of Spark, runs too little code often enough to pay for Java's second
    # compiler; executors of a cluster run for hours, so they keep it. Users' own Java options come after these.
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    # Divide oversized partitions, so that tasks take about the same time.
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.skewJoin.enabled": "true",
    # Spark writes out the plan of each query repeatedly; the plans of many rounds would fill the driver's memory.
    "spark.sql.maxPlanStringLength": "20000",
    "spark.python.daemon.module": "whorl.duplicates.spark.deploy",
}


@dataclass(frozen=True, slots=True)
class Summary:
    """Statistics of a job.

    Args:
        documents: Number of documents read.
        too_short: Documents of fewer words than a shingle has, which are not compared.
        repeated: Number of ids that came more than once.
        unfit: Number of rows that could not be converted to documents.
        problems: Ids and problems of some of these rows.
        written: Rows written: pairs, or documents in clusters.
        left: Rows of the files that remain without duplicates, None if they were not written.
    """

    documents: int
    too_short: int
    repeated: int
    unfit: int
    problems: tuple[str, ...]
    written: int
    left: int | None = None


def run(
    paths: Sequence[str],
    pair_options: PairOptions,
    *,
    output: str,
    clusters: bool = True,
    complete: bool = False,
    form: str = "json",
    kind: str | None = None,
    id_column: str = "id",
    text_column: str = "text",
    name_column: str = "name",
    checkpoints: str | None = None,
    keep: Keep | None = None,
    filtered: str | None = None,
    reference: Sequence[str] = (),
    state: str | None = None,
    only_new: bool = False,
    scheme: Scheme = Scheme(),  # noqa: B008 - frozen
    session: SparkSession | None = None,
) -> Summary:
    """Find the near-duplicates among documents that Spark reads, and write them to a folder.

    Args:
        paths: Files and folders on any file system that the session reads.
        pair_options: Metric, threshold and recall.
        output: Folder to write to; must not exist yet.
        clusters: Whether to write clusters instead of pairs; columns as in `search.SparkDuplicates`.
        complete: Whether any two members of a cluster have to be a pair.
        form: One of FORMATS; JSON is one object a line.
        kind: One of `documents.KINDS`, None to choose by file name.
        id_column: Id column of Parquet and JSON.
        text_column: Text column of Parquet and JSON.
        name_column: Name column of Parquet and JSON; may be missing.
        checkpoints: Folder for intermediate results that outlive an executor; None for the executors' own disks.
        keep: Retention policy. Each cluster then consists of the retained document and its duplicates, which are
            compared with it.
        filtered: Folder for the rows of the files without the documents that are not retained; must not exist yet.
        reference: Files and folders of documents that the others are compared with, but that are not compared with each
            other and never removed; their ids begin with the path of their file.
        state: Folder that each run updates for the next one after all else is written; excludes a reference.
        only_new: Whether to write only pairs and clusters with a new document; needs a state.
        scheme: Tokens and shingles.
        session: Spark session, None to start one or to use the running one.

    Raises:
        ParameterError: PySpark is missing, an argument is out of range, a path or a column does not exist, the output
            exists already, or the state was made with other parameters.
        StoreError: The state folder holds something else, or cannot be used.
        EngineError: Java is missing, or Spark failed.
    """
    if form not in FORMATS:
        raise ParameterError(f"Spark writes {', '.join(FORMATS)}, got {form!r}")
    if filtered is not None and not clusters:
        raise ParameterError("--filtered is what clusters leave; leave --pairs away")
    if only_new and state is None:
        raise ParameterError("--new needs a --state FOLDER to compare with; give one")
    if keep is None and filtered is not None:
        keep = Keep("first")
    # A document that is removed has to be a duplicate of the retained document itself, not of another duplicate.
    complete = complete or keep is not None
    if keep is not None and keep.is_by_value and not keep.column:
        raise ParameterError(f"--keep {keep} needs the column of the date on Spark: --keep {keep}:COLUMN")
    with _failures():
        from whorl.duplicates.spark.clusters import member_by_member, nested
        from whorl.duplicates.spark.documents import KINDS, ColumnNames, read, require_rows, without
        from whorl.duplicates.spark.duplicates import SparkDuplicates

        if kind is not None and kind not in KINDS:
            raise ParameterError(f"Spark reads {', '.join(KINDS)}, got {kind!r}")
        if filtered is not None:
            require_rows(paths, kind)
        own = session or _session()
        for target in (output, filtered):
            if target is not None:
                _require_absent(own, target)
        if checkpoints is not None:
            own.sparkContext.setCheckpointDir(checkpoints)
        columns = ColumnNames(id_column, text_column, name_column, None if keep is None else keep.column or None)
        # The policy does not rank reference documents, which always stay, so they need no value.
        known = read(own, reference, kind, replace(columns, worth=None), is_reference=True) if reference else None
        # A file in both sets counts as reference.
        but = frozenset() if known is None else frozenset(known.inputFiles())
        texts = read(own, paths, kind, columns, but=but)
        spanning_only = clusters and not complete
        found = SparkDuplicates(
            texts,
            pair_options,
            reference=known,
            scheme=scheme,
            keep=keep,
            spanning_only=spanning_only,
            state=state,
            only_new=only_new,
        )
        rows = found.clusters_in_lists(complete=complete) if clusters else found.pairs()
        left = None
        if filtered is not None:
            rows = found.kept(rows)
            superfluous = member_by_member(rows).where("not is_principal and not stays").select("id")
            rest = without(own, paths, kind, columns, superfluous, but=but)
            left = _write(rest.rows, rest.form, filtered)
        # Same form as `whorl duplicates`: a line per cluster in JSON; names of pairs only in tables.
        if clusters:
            rows = nested(rows) if form == "json" else member_by_member(rows).drop("stays")
        elif form == "json":
            rows = rows.drop("a_name", "b_name")
        written = _write(rows, form, output)
        documents, too_short = found.counts()
        unfit = found.count_unfit()
        some = found.unfit.limit(_TOLD).collect() if unfit else []
        problems = tuple(f"{row.id}: {row.problem}" for row in some)
        found.remember()
        found.release()
        return Summary(documents, too_short, found.repeated, unfit, problems, written, left)


def _session() -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("whorl duplicates")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    if (session.sparkContext.master or "").startswith("local"):
        # In local mode the workers need this interpreter, which `python3` on the path may not be.
        session.sparkContext.pythonExec = sys.executable
    return session


def _require_absent(session: SparkSession, output: str) -> None:
    """Refuse an existing output folder now; Spark would do so only after all work."""
    context = session.sparkContext
    path = context._jvm.org.apache.hadoop.fs.Path(output)  # type: ignore[union-attr]
    if path.getFileSystem(context._jsc.hadoopConfiguration()).exists(path):
        raise ParameterError(f"{output} is there already; name a folder that is not")


def _write(rows: DataFrame, form: str, output: str) -> int:
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    seen = Observation("written")
    count = f.coalesce(f.sum("documents"), f.lit(0)) if "members" in rows.columns else f.count(f.lit(1))
    rows.observe(seen, count.alias("rows")).write.format(form).options(**FORMATS.get(form, {})).save(output)
    return int(seen.get["rows"])


@contextmanager
def _failures() -> Iterator[None]:
    """Convert PySpark's exceptions to whorl's errors."""
    try:
        import pyarrow  # noqa: F401
        from pyspark.errors import AnalysisException, PySparkException, PySparkRuntimeError
    except ImportError as error:
        raise ParameterError("Spark needs more packages: pip install 'whorl[spark]'") from error
    from py4j.protocol import Py4JError

    try:
        yield
    except PySparkRuntimeError as error:
        if error.getCondition() != "JAVA_GATEWAY_EXITED":
            raise EngineError(f"Spark failed: {_first_line(error)}") from error
        raise EngineUnavailableError(
            "Spark did not start; it needs Java 17 or 21, named by JAVA_HOME or found as java"
        ) from error
    except AnalysisException as error:
        if error.getCondition() in ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA"):
            raise ParameterError(_first_line(error)) from error
        raise EngineError(f"Spark failed: {_first_line(error)}") from error
    except (PySparkException, Py4JError) as error:
        raise EngineError(f"Spark failed: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("-o", "--output", required=True, metavar="FOLDER", help="Where to write; it may not be there.")
@click.option(
    "--input", "kind", type=click.Choice(["parquet", "json", "text"]), help="Default: by the names, else text."
)
@click.option("--id-column", default="id", show_default=True, help="Of Parquet and JSON.")
@click.option("--text-column", default="text", show_default=True, help="Of Parquet and JSON.")
@click.option("--name-column", default="name", show_default=True, help="Of Parquet and JSON; need not be there.")
@click.option(
    "--metric", type=click.Choice(["jaccard", "containment", "similarity"]), default="jaccard", show_default=True
)
@click.option("--threshold", default="80", show_default=True, metavar="PERCENT", help="What makes a duplicate.")
@click.option(
    "--recall", default="95", show_default=True, metavar="PERCENT", help="How many of those just at it are to be found."
)
@click.option("--clusters/--pairs", default=True, help="What to write.  [default: clusters]")
@click.option("--complete", is_flag=True, help="Clusters of which any two members are duplicates; no chains.")
@click.option(
    "--keep",
    "keep_named",
    metavar="WHICH",
    help="Which documents are kept, each with its duplicates: first, longest, newest:COLUMN, oldest:COLUMN, "
    "largest:COLUMN or smallest:COLUMN. No two that are kept are duplicates.",
)
@click.option(
    "--filtered", metavar="FOLDER", help="Where to write what is left of Parquet or JSON lines without the others."
)
@click.option(
    "--reference",
    multiple=True,
    metavar="SET",
    help="What PATHs are compared with; not compared with itself, and never left out.",
)
@click.option(
    "--state",
    metavar="FOLDER",
    help="Where to keep what this run learns; the next run continues there and looks only at new documents.",
)
@click.option("--new", "only_new", is_flag=True, help="With --state: only pairs and clusters with a new document.")
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="json", show_default=True)
@click.option("--checkpoints", metavar="FOLDER", help="For what has to outlive an executor; all of them must reach it.")
def main(metric: str, threshold: str, recall: str, keep_named: str | None, **options: Any) -> None:
    """Find all near-duplicates among the documents in PATHs, on Spark, and write them to a folder.

    Pairs and clusters are those that 'whorl duplicates' finds. PATHs are Parquet or JSON lines with columns id and
    text, or text files, each of them a document known by its path; they may lie wherever Spark reads from.
    """
    try:
        if options["complete"] and not options["clusters"]:
            raise ParameterError("--complete makes clusters; leave out --pairs")
        keep = None if keep_named is None else Keep.named(keep_named)
        pair_options = ask_pairs(metric, threshold, recall)
        told = run(pair_options=pair_options, keep=keep, **options)
    except WhorlError as error:
        raise click.ClickException(str(error)) from error
    for line in (*pair_options.notes, *summary_lines(told, options["output"], clusters=options["clusters"])):
        click.echo(line, err=True)


def summary_lines(told: Summary, output: str, *, clusters: bool) -> list[str]:
    """Return the lines that report a job to the user."""
    rows = "documents in clusters" if clusters else "pairs"
    lines = [f"{told.documents:,} documents, {told.written:,} {rows} written to {output}"]
    if told.left is not None:
        lines.append(f"{told.left:,} rows are left without duplicates")
    if told.too_short:
        lines.append(f"{told.too_short:,} of fewer words than a shingle has were not compared")
    if told.repeated:
        lines.append(f"{told.repeated:,} ids came more than once; of each the largest document counts")
    if told.unfit:
        lines.append(f"{told.unfit:,} could not be read, among them:")
        lines += [f"  {problem}" for problem in told.problems]
    return lines


if __name__ == "__main__":
    main()
