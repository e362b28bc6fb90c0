"""The job: texts in, files of pairs or clusters out. See `python -m whorl.duplicates.spark.job --help`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from whorl.duplicates.keep import Keep
from whorl.duplicates.question import PairQuestion, ask_pairs
from whorl.errors import EngineError, EngineUnavailableError, ParameterError, WhorlError
from whorl.fingerprint.scheme import Scheme

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: What is written, and the options of Spark's writers. CSV is quoted as everybody but Spark quotes it.
FORMATS: dict[str, dict[str, str]] = {"json": {}, "csv": {"header": "true", "escape": '"'}, "parquet": {}}
#: Rows that are no documents of which a reason is told.
_TOLD = 10
SETTINGS = {
    # Of a driver, which on one machine is all of Spark, little runs often enough to pay for Java's second compiler; of
    # executors of a cluster, which run for hours, it does. What others ask of Java comes after this.
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    # Tasks of a job get as even as can be, and a partition that is far larger than others is divided.
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.skewJoin.enabled": "true",
    # Spark writes out the plan of each query again and again; those of many rounds would fill the driver's memory.
    "spark.sql.maxPlanStringLength": "20000",
    "spark.python.daemon.module": "whorl.duplicates.spark.daemon",
}


@dataclass(frozen=True, slots=True)
class Summary:
    """What a job did.

    Args:
        documents: How many were read.
        too_short: Documents of fewer words than a shingle has, which are not compared.
        repeated: Ids that came more than once.
        unfit: Rows that are no documents.
        problems: Some of these, with what is wrong with them.
        written: Rows written: pairs, or documents in clusters.
        left: Rows of the files that are left without duplicates, where these were written.
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
    question: PairQuestion,
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
    """Find the near-duplicates among documents that Spark reads, and write them.

    Args:
        paths: Files and folders, in whatever the session can read from.
        question: What is to be found.
        output: Folder to write to; it may not be there.
        clusters: Whether clusters are written, else pairs; columns as in `search.SparkDuplicates`.
        complete: Whether any two members of a cluster are to be a pair.
        form: One of FORMATS; JSON is one object a line.
        kind: One of `documents.KINDS`, or None to tell it by the names.
        id_column: Of Parquet and JSON: the column of the ids.
        text_column: That of the texts.
        name_column: That of the names; need not be there.
        checkpoints: Folder for what has to outlive the loss of an executor; None for the executors' own disks.
        keep: What decides which document of each cluster, which then is complete, is kept; the others are compared with
            it.
        filtered: Folder for what is left of the files without the others; it may not be there.
        reference: Files and folders of documents that the others are compared with, but not with one another, and that
            stay whatever they are like; their ids begin with the path of their file.
        state: Folder in which each run leaves what the next one goes on from, when all else is written; not beside a
            reference.
        only_new: Whether only what has a new document is written; goes with a state.
        scheme: What words and shingles are.
        session: None for one that is started, or that runs already.

    Raises:
        ParameterError: PySpark is missing, an argument is outside its range, a path or a column is not there, or the
            output is already, or a state was found otherwise.
        StoreError: The folder of the state holds something else, or cannot be used.
        EngineError: Java is missing, or Spark failed.
    """
    if form not in FORMATS:
        raise ParameterError(f"Spark writes {', '.join(FORMATS)}, got {form!r}")
    if filtered is not None and not clusters:
        raise ParameterError("--filtered is what clusters leave; leave --pairs away")
    if only_new and state is None:
        raise ParameterError("--new needs a --state FOLDER to compare with; give one")
    # What is not kept has to be a duplicate of what is.
    complete = complete or keep is not None or filtered is not None
    kept = keep or Keep("first")
    if kept.is_by_value and not kept.column:
        raise ParameterError(f"--keep {kept} needs the column of the date on Spark: --keep {kept}:COLUMN")
    with _failures():
        from whorl.duplicates.spark.clusters import member_by_member, nested
        from whorl.duplicates.spark.documents import KINDS, Columns, read, require_rows, without
        from whorl.duplicates.spark.search import SparkDuplicates

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
        columns = Columns(id_column, text_column, name_column, kept.column or None)
        # Of those that stay anyway nobody asks which is the best.
        known = read(own, reference, kind, replace(columns, worth=None), is_reference=True) if reference else None
        # A file that is in both is of the reference.
        but = frozenset() if known is None else frozenset(known.inputFiles())
        texts = read(own, paths, kind, columns, but=but)
        links_suffice = clusters and not complete
        found = SparkDuplicates(
            texts,
            question,
            reference=known,
            scheme=scheme,
            keep=kept,
            links_suffice=links_suffice,
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
        # As `whorl duplicates` has it: in JSON a line for each cluster, and names of pairs in tables only.
        if clusters:
            rows = nested(rows) if form == "json" else member_by_member(rows).drop("stays")
        elif form == "json":
            rows = rows.drop("a_name", "b_name")
        written = _write(rows, form, output)
        documents, too_short = found.counts()
        unfit = found.unfit.count()
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
        # The workers are on this machine: what is installed here is what they need, whatever python3 is.
        session.sparkContext.pythonExec = sys.executable
    return session


def _require_absent(session: SparkSession, output: str) -> None:
    """Raise now what Spark would find out when all is done."""
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
    """Turn what PySpark raises into errors of our own."""
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
    help="Which of each complete cluster is kept: first, longest, newest:COLUMN, oldest:COLUMN, largest:COLUMN or "
    "smallest:COLUMN. The others are compared with it.",
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
        told = run(question=ask_pairs(metric, threshold, recall), keep=keep, **options)
    except WhorlError as error:
        raise click.ClickException(str(error)) from error
    for line in summary_lines(told, options["output"], clusters=options["clusters"]):
        click.echo(line, err=True)


def summary_lines(told: Summary, output: str, *, clusters: bool) -> list[str]:
    """Return what to tell people of a job."""
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
