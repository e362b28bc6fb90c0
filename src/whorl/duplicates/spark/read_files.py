"""Reads documents for Spark from Parquet, JSON lines and text files, and makes the rows of their copies."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import PurePath, PurePosixPath
from urllib.parse import unquote

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    FractionalType,
    IntegralType,
    NullType,
    NumericType,
    StringType,
    StructType,
)

from whorl.duplicates.input import require_free_columns as require_free_names
from whorl.duplicates.spark.arrow_blocks import Batches, Partitioning, arrow_schema, map_batches
from whorl.duplicates.write_copies_of_files import ADDED
from whorl.errors import DocumentError, ParameterError
from whorl.ingest.files import text_from_bytes
from whorl.ingest.rows.row_format import SUFFIXES, Row, RowColumns, column_paths, find_text, find_value, has_column
from whorl.ingest.rows.text_rows import JsonLinesFormat
from whorl.model import Document
from whorl.model import documents_of as documents_of_columns

INPUT_FORMATS = {"parquet": (".parquet",), "json": (*SUFFIXES["json"], ".json"), "text": ()}
#: Suffixes of compressed files that Spark unpacks.
_COMPRESSED_SUFFIXES = frozenset({".gz", ".bz2", ".zst", ".xz", ".lz4", ".snappy"})
#: Suffixes of tables that only the local engine reads row by row.
_TABLES = {*SUFFIXES["csv"], *SUFFIXES["arrow"]} - {".parquet"}
#: Column that says where a bad row is: its position if it has no id, its file if it has no text.
_PLACE = "whorl_place"
#: Maximum number of characters of a line or text that a position quotes.
_QUOTED = 60
#: Columns of a document, and the column of its position. All other columns are properties.
_COLUMNS = ("id", "name", "text", "content", _PLACE)
_BROKEN = "whorl_broken_line"
#: Replacement for dots in names of columns, because Spark cannot send columns with dots to Python.
DOT = "\x1f"
#: Maximum number of JSON lines to read to find out whether a column has texts.
_EXAMPLES = 100
#: Schema of lines of JSON.
_LINE = "value string"
#: Prefix of local paths in Spark.
LOCAL = "^file:(//)?"


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """Names of the input's columns or JSON fields; a nested field is named by its path (see `find_value`).

    `rank` is the column of the retention policy. Documents are compared if they have the same value in the column
    `within`.
    """

    id: str = "id"
    text: str = "text"
    name: str = "name"
    rank: str | None = None
    within: str | None = None

    @property
    def properties(self) -> list[str]:
        return list(dict.fromkeys(filter(None, (self.rank, self.within))))


def read(
    session: SparkSession,
    paths: Sequence[str],
    form: str | None = None,
    columns: ColumnNames = ColumnNames(),
    *,
    excluded: frozenset[str] = frozenset(),
    is_reference: bool = False,
) -> DataFrame:
    """Read documents into the columns id, name, text and content; either text or content is null.

    Args:
        paths: Files and folders on any file system that Spark reads.
        form: Format in INPUT_FORMATS: Parquet, JSON lines, or text and HTML files; if None, the suffix of each path
            decides. A text file is one document, with its path as the id.
        excluded: Files to leave out.
        is_reference: Whether the ids of rows begin with their file's path, so that they differ from other ids.

    Raises:
        ParameterError: No paths are given; or `form` is None, and a folder of texts also has files of rows.
        DocumentError: The column of the ids is missing, or one of the paths lacks the column of the texts.
    """
    if not paths:
        raise ParameterError("name at least one file or folder to read")
    by_format: dict[str, list[str]] = {}
    for path in paths:
        by_format.setdefault(form or _format_of(path), []).append(path)
    frames = []
    for form_of_paths, own in by_format.items():
        if form_of_paths == "text":
            if form is None:
                _require_texts(session, own)
            frames.append(_files(session, own, excluded))
            continue
        for path in own:
            if problem := _text_problem(session, path, form_of_paths, columns.text):
                raise DocumentError(f"{path}: {problem}")
        is_parquet = form_of_paths == "parquet"
        for rows in _parquet(session, own, columns) if is_parquet else [_json(session, own, columns)]:
            documents = documents_of(_add_places(_without_files(rows, excluded), columns), columns)
            with_path = documents.withColumn("id", f.concat(_path(), f.lit(":"), "id")) if is_reference else documents
            frames.append(with_path)
    return reduce(partial(DataFrame.unionByName, allowMissingColumns=True), _with_one_type(frames, columns.rank))


def _with_one_type(frames: Sequence[DataFrame], path: str | None) -> Sequence[DataFrame]:
    """Cast the column of the retention policy to a string if its types differ between frames."""
    name = (path or "").replace(".", DOT)
    if len({frame.schema[name].dataType for frame in frames if name in frame.columns}) < 2:
        return frames
    return [frame.withColumn(name, f.col(name).cast("string")) if name in frame.columns else frame for frame in frames]


def _merged_parquet(session: SparkSession, paths: Sequence[str]) -> DataFrame | None:
    """Return the rows of Parquet files with the columns of all files; None if a column has several types."""
    try:
        return session.read.option("mergeSchema", "true").parquet(*paths)
    except Py4JJavaError as error:
        if "CANNOT_MERGE_SCHEMAS" not in str(error):
            raise
        return None


def _parquet(session: SparkSession, paths: Sequence[str], columns: ColumnNames) -> list[DataFrame]:
    """Return the rows of Parquet files as one frame, or as a frame for each schema if columns have several types."""
    merged = _merged_parquet(session, paths)
    if merged is not None:
        return [merged]
    frames = []
    for path in paths:
        by_schema: dict[str, list[str]] = {}
        for file, schema in _schemas_of_files(session, path):
            by_schema.setdefault(schema.json(), []).append(file)
        # With `basePath`, Spark also reads columns from the names of the folders in `path`, such as `year=2024`.
        is_folder = not re.search(r"[*?\[{]", path) and sum(map(len, by_schema.values())) > 1
        reader = session.read.option("basePath", path) if is_folder else session.read
        frames += [reader.parquet(*map(escape_pattern, files)) for files in by_schema.values()]
    for name in (columns.id, columns.text, *columns.properties):
        lacking = [not has_column(_example_row(frame.schema), name) for frame in frames]
        if not all(lacking):
            frames = [
                frame.withColumn(name, f.lit(None).cast("string")) if is_lacking else frame
                for frame, is_lacking in zip(frames, lacking, strict=True)
            ]
    return frames


def _schemas_of_files(session: SparkSession, path: str) -> Iterator[tuple[str, StructType]]:
    """Yield the path and the schema of each Parquet file at `path`, which is a file, a folder or a pattern."""
    for file in sorted(map(unquote, session.read.parquet(path).inputFiles())):
        yield file, session.read.parquet(escape_pattern(file)).schema


def escape_pattern(path: str) -> str:
    """Escape a path, because Spark reads paths as patterns."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)


def require_one_schema(session: SparkSession, paths: Sequence[str], form: str | None) -> None:
    """Raise DocumentError if Parquet files cannot be copied into one folder, because types of a column differ."""
    if not _has_parquet(paths, form) or _merged_parquet(session, paths) is not None:
        return
    seen: list[tuple[str, StructType]] = []
    for path in paths:
        for file, schema in _schemas_of_files(session, path):
            for other, known in seen:
                if found := _find_difference(known, schema):
                    column, *types = found
                    names = [re.sub(LOCAL, "", name) for name in (other, file)]
                    raise DocumentError(
                        f"column {column} is {types[0]} in {names[0]} and {types[1]} in {names[1]}; Spark's copies "
                        "(--filtered, --annotated) need one type for each column: use --engine local, which copies "
                        "each file with its own types, or name the files of each type in a run of their own"
                    )
            if all(schema != known for _, known in seen):
                seen.append((file, schema))


def _find_difference(one: DataType, other: DataType, path: str = "") -> tuple[str, str, str] | None:
    """Return the path of the first column with different types, and both types; None if there is no such column."""
    if isinstance(one, ArrayType) and isinstance(other, ArrayType):
        return _find_difference(one.elementType, other.elementType, path)
    if isinstance(one, StructType) and isinstance(other, StructType):
        shared = (name for name in one.names if name in other.names)
        inner = (_find_difference(one[name].dataType, other[name].dataType, f"{path}.{name}") for name in shared)
        return next(filter(None, inner), None)
    types = one.simpleString(), other.simpleString()
    return None if types[0] == types[1] else (path.removeprefix("."), *types)


def _add_places(rows: DataFrame, columns: ColumnNames) -> DataFrame:
    """Add a column that locates bad rows: the position if the id is missing, the file if only the text is missing.

    A position is the file and the number of the row (Parquet), or the file and the start of the row's line or text.
    """
    if not has_column(_example_row(rows.schema), columns.id):
        return rows
    if _BROKEN in rows.columns:
        line = f.coalesce(_BROKEN, _column(rows, columns.text))
        at = f.concat(f.lit(": "), f.substring(f.coalesce(line, f.lit("a row without text")), 1, _QUOTED))
    else:
        at = f.concat(f.lit(", row "), f.col("_metadata.row_index") + 1)
    place = f.when(_column(rows, columns.id).isNull(), f.concat(_path(), at))
    if has_column(_example_row(rows.schema), columns.text):
        text = _text_column(rows, columns.text)
        place = place.when(text.isNull() | (text == ""), _path())
    return rows.withColumn(_PLACE, place)


def _without_files(frame: DataFrame, excluded: frozenset[str]) -> DataFrame:
    shared = excluded.intersection(frame.inputFiles()) if excluded else ()
    return frame.where(~f.input_file_name().isin(*shared)) if shared else frame


def _path() -> Column:
    """Return each row's file path, without URL encoding and without Spark's prefix for local files."""
    # URL decoding turns plus signs into blanks, so escape them first.
    address = f.replace(f.input_file_name(), f.lit("+"), f.lit("%2B"))
    return f.regexp_replace(f.url_decode(address), LOCAL, "")


def _format_of(path: str) -> str:
    name = PurePosixPath(path.rstrip("/"))
    suffix = PurePosixPath(name.stem).suffix if name.suffix.lower() in _COMPRESSED_SUFFIXES else name.suffix
    return next((form for form, suffixes in INPUT_FORMATS.items() if suffix.lower() in suffixes), "text")


def _require_texts(session: SparkSession, paths: Sequence[str]) -> None:
    """Raise ParameterError if the suffix of a file shows that it has rows, because Spark would read it as one text."""
    # Ignore `.json`: in folders of texts, it is often a single object, which has no rows.
    ending = {suffix: suffix for suffixes in (*INPUT_FORMATS.values(), _TABLES) for suffix in suffixes}
    del ending[".json"]
    ending |= {suffix + packed: suffix for suffix in ending for packed in _COMPRESSED_SUFFIXES}
    files = session.read.format("binaryFile").option("recursiveFileLookup", "true")
    found = files.option("pathGlobFilter", f"*{{{','.join(sorted(ending))}}}").load(list(paths)).inputFiles()
    if not found:
        return
    file = re.sub(LOCAL, "", unquote(min(found)))
    form = _format_of(file)
    if form == "text":
        raise ParameterError(
            f"{file} is a table, which Spark would read as one text; use --engine local, which reads its rows, or "
            "add --input text to read each file as one text"
        )
    raise ParameterError(
        f"{file} has rows, but would be read as one text; name the format of the files with --input {form}"
    )


def documents_of(frame: DataFrame, columns: ColumnNames = ColumnNames()) -> DataFrame:
    """Return the documents of a data frame, in the same columns as `read`."""
    row = _example_row(frame.schema)
    missing = [path for path in (columns.id, columns.text, *columns.properties) if not has_column(row, path)]
    if missing:
        error = ParameterError if {*missing} <= {*columns.properties} else DocumentError
        known = [path for path in column_paths(row) if path not in (_PLACE, _BROKEN)]
        raise error(f"there is no column {', '.join(missing)}; those there are: {', '.join(known)}")
    RowColumns(columns.text).require_text(row)
    name = _column(frame, columns.name) if has_column(row, columns.name) else f.lit(None)
    return frame.select(
        _column(frame, columns.id).cast("string").alias("id"),
        name.cast("string").alias("name"),
        _text_column(frame, columns.text).alias("text"),
        f.lit(None).cast("binary").alias("content"),
        *([_cast_rank(frame, columns.rank)] if columns.rank else []),
        *([_cast_group(frame, columns.within)] if columns.within and columns.within != columns.rank else []),
        *([frame[_PLACE]] if _PLACE in frame.columns else []),
    )


def _example_row(schema: StructType) -> dict[str, object]:
    """Return a row with all columns of a schema, for functions that check the columns of a row.

    A struct has all of its fields, and a list has one element. Texts are None, and other values 0.
    """

    def value(kind: DataType) -> object:
        if isinstance(kind, ArrayType):
            return [value(kind.elementType)]
        if isinstance(kind, StructType):
            return _example_row(kind)
        return None if isinstance(kind, StringType | BinaryType | NullType) else 0

    return {field.name: value(field.dataType) for field in schema}


def _column(frame: DataFrame, path: str) -> Column:
    """Return a column of a data frame, or a nested field named by its path."""
    return frame[_quote(path)] if path in frame.columns else frame[".".join(map(_quote, path.split(".")))]


def _quote(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _text_column(frame: DataFrame, path: str) -> Column:
    """Return a column of texts; if the path contains a list, join the texts of its elements with blank lines."""
    name, *names = [path] if path in frame.columns else path.split(".")
    if not names and not isinstance(frame.schema[name].dataType, ArrayType):
        return _column(frame, path).cast("string")
    return f.array_join(_nested_texts(frame[_quote(name)], frame.schema[name].dataType, names), "\n\n")


def _nested_texts(value: Column, kind: DataType, names: Sequence[str]) -> Column:
    """Return an array of the values at the path `names` in a nested column, with one value for each list element."""
    if isinstance(kind, ArrayType):
        inner = f.transform(value, lambda item: _nested_texts(item, kind.elementType, names))
        return f.flatten(f.coalesce(inner, f.array()))
    if names and isinstance(kind, StructType):
        return _nested_texts(value[names[0]], kind[names[0]].dataType, names[1:])
    return f.array(value.cast("string"))


def _cast_rank(frame: DataFrame, path: str) -> Column:
    """Cast a column for comparisons: dates to strings, numbers to floats."""
    column = _column(frame, path)
    kind = frame.select(column).schema[0].dataType.typeName()
    return column.cast("string" if kind in ("string", "date") else "double").alias(path.replace(".", DOT))


def _cast_group(frame: DataFrame, path: str) -> Column:
    """Cast a column to strings; a whole float counts as an integer, as in `group_of`."""
    column = _column(frame, path)
    kind = frame.select(column).schema[0].dataType
    if not isinstance(kind, StringType | NumericType | DateType):
        raise ParameterError(
            f"column {path!r} has values of the type {kind.simpleString()}; on Spark --within-column takes a column of "
            "texts, numbers or dates"
        )
    text = column.cast("string")
    if _BROKEN in frame.columns:
        # JSON: Spark reads the number 17.0 as this text.
        text = f.regexp_replace(text, r"^(-?\d+)\.0$", "$1")
    if isinstance(kind, FractionalType):
        whole = column.try_cast("decimal(38, 0)")
        text = f.when(whole == column, whole.cast("string")).otherwise(f.nullif(text, f.lit("NaN")))
    return text.alias(path.replace(".", DOT))


def _json(session: SparkSession, paths: Sequence[str], columns: ColumnNames) -> DataFrame:
    names = [columns.id, columns.text, columns.name, *columns.properties]
    read = session.read.schema(_json_schema([*names, _BROKEN])).option("columnNameOfCorruptRecord", _BROKEN)
    rows = read.json(list(paths))
    for name in dict.fromkeys(names):
        rows = rows.withColumn(name, _json_value(partial(_column, rows), name))
    return rows


def find_file_problems(
    session: SparkSession, files: Sequence[str], form: str | None, columns: ColumnNames
) -> list[tuple[str, str]]:
    """Return the files that lack the text column, each with a message."""
    problems = (
        (file, _text_problem(session, escape_pattern(file), form or _format_of(file), columns.text)) for file in files
    )
    return [(file, problem) for file, problem in problems if problem]


def _text_problem(session: SparkSession, path: str, form: str, column: str) -> str:
    """Return a message if a file or folder lacks the text column, so that its rows would have no text; else ""."""
    if form == "parquet":
        merged = _merged_parquet(session, [path])
        schemas = [merged.schema] if merged is not None else [schema for _, schema in _schemas_of_files(session, path)]
        row = {name: value for schema in schemas for name, value in _example_row(schema).items()}
    else:
        rows = _json(session, [path], ColumnNames(text=column))
        has_values = not rows.where(_column(rows, column).isNotNull()).isEmpty()
        # Spark reads JSON with single quotes, but Python does not, so let `get_json_object` write double quotes.
        lines = session.read.text(path).where(f.json_object_keys("value").isNotNull())
        objects = lines.select(f.get_json_object("value", "$").alias("object"))
        examples = [json.loads(line.object) for line in objects.take(_EXAMPLES if has_values else 1)]
        if has_values:
            examples = [row for row in examples if find_value(row, column) is not None]
        with_text = [row for row in examples if RowColumns(column).has_text(row)]
        if any(isinstance(row.get(column), list) for row in with_text):
            return f"column {column!r} has lists, which Spark joins in Parquet only; use --engine local"
        if with_text or not examples:
            return ""
        row = examples[0]
    try:
        RowColumns(column).require_text(row)
    except DocumentError as error:
        return str(error)
    return ""


def _json_schema(paths: Sequence[str]) -> str:
    """Return a schema with two columns for each path: the path itself, and its beginning up to the first dot."""
    names = dict.fromkeys(name for path in paths for name in (path, path.partition(".")[0]))
    return ", ".join(f"{_quote(name)} string" for name in names)


def _json_value(column: Callable[[str], Column], path: str) -> Column:
    """Return the value of a column of JSON, or of a nested field named by its path."""
    name, dot, _ = path.partition(".")
    # Spark warns if a function has annotations that it does not know, so pass it a lambda.
    nested = f.udf(lambda value: _nested_json_value(value, path), "string")
    return f.coalesce(column(path), nested(column(name))) if dot else column(path)


def _nested_json_value(value: str | None, path: str) -> str | None:
    """Return the value of a nested field as text, given the JSON of the column that contains it."""
    try:
        found = find_text({path.partition(".")[0]: json.loads(value or "null")}, path)
    except json.JSONDecodeError:
        return None
    return found if found is None or isinstance(found, str) else json.dumps(found)


def binary_files(session: SparkSession, paths: Sequence[str]) -> DataFrame:
    return session.read.format("binaryFile").option("recursiveFileLookup", "true").load(list(paths))


def _files(session: SparkSession, paths: Sequence[str], excluded: frozenset[str]) -> DataFrame:
    return _without_files(binary_files(session, paths), excluded).select(
        f.regexp_replace("path", LOCAL, "").alias("id"),
        f.regexp_extract("path", "[^/]*$", 0).alias("name"),
        f.lit(None).cast("string").alias("text"),
        "content",
    )


def require_values(documents: DataFrame, within: str | None) -> None:
    """Raise ParameterError if no document of `read` has a value in the column `within`: all would be compared."""
    if within is None:
        return
    name = within.replace(".", DOT)
    if name not in documents.columns or documents.where(documents[_quote(name)].isNotNull()).isEmpty():
        raise ParameterError(
            f"no document has a value in the column {within!r}; name another one (--within-column COLUMN)"
        )


def require_rows(paths: Sequence[str], form: str | None) -> None:
    """Raise ParameterError if the files are texts, which have no rows to remove, or have several formats."""
    forms = {form or _format_of(path) for path in paths}
    if len(forms) > 1 or "text" in forms:
        raise ParameterError(
            "--filtered and --annotated write Parquet or JSON lines; name PATHs of one of these; --input names the "
            "format of a folder"
        )


def has_only_texts(paths: Sequence[str], form: str | None) -> bool:
    return all((form or _format_of(path)) == "text" for path in paths)


def require_free_columns(session: SparkSession, paths: Sequence[str], form: str | None) -> None:
    """Raise ParameterError if a row has a column that --annotated adds, so that a copy would have it twice."""
    if _has_parquet(paths, form):
        require_free_names(", ".join(paths), session.read.option("mergeSchema", "true").parquet(*paths).columns, ADDED)
        return
    names = f.json_object_keys("value")
    rows = session.read.text(list(paths)).where(f.arrays_overlap(names, f.array(*map(f.lit, ADDED))))
    for row in rows.select(_path().alias("file"), names.alias("names")).take(1):
        require_free_names(row.file, row.names, ADDED)


def _has_parquet(paths: Sequence[str], form: str | None) -> bool:
    return "parquet" in {form or _format_of(path) for path in paths}


def copy_rows(
    session: SparkSession,
    paths: Sequence[str],
    form: str | None,
    columns: ColumnNames,
    decisions: DataFrame,
    *,
    excluded: frozenset[str] = frozenset(),
    with_columns: bool = False,
) -> tuple[DataFrame, str]:
    """Return the rows of files without the documents to remove, and the format to write them in.

    The format is "parquet", or "text" for unchanged lines of JSON. All paths have one format.

    Args:
        decisions: Documents in clusters: the id, and the columns of ADDED.
        with_columns: Return all rows, with the columns of ADDED.
    """
    if _has_parquet(paths, form):
        rows = session.read.option("mergeSchema", "true").parquet(*paths)
        id_column = _column(rows, columns.id)
    else:
        # Keep the \r of lines that end in \r\n.
        rows = session.read.option("lineSep", "\n").text(list(paths))
        members = f.from_json("value", _json_schema([columns.id]))
        id_column = _json_value(lambda name: members[name], columns.id)
    rows, decided = _without_files(rows, excluded), decisions.withColumnRenamed("id", "whorl_id")
    written, has_id = "text" if rows.columns == ["value"] else "parquet", id_column.cast("string") == f.col("whorl_id")
    if not with_columns:
        return rows.join(decided.where("not is_principal").select("whorl_id"), has_id, "left_anti"), written
    # As without Spark, ids of clusters are numbers if the ids of the rows are.
    number = f.expr("try_cast(cluster as long)")
    has_numbers = decided.where(~f.coalesce(number.cast("string") == f.col("cluster"), f.lit(False))).isEmpty()
    is_integer = isinstance(rows.select(id_column).schema[0].dataType, IntegralType)
    if has_numbers and is_integer:
        decided = decided.withColumn("cluster", number)
    joined = rows.join(decided, has_id, "left").withColumn("is_principal", f.coalesce("is_principal", f.lit(True)))
    annotated = joined.select(*rows.columns, *ADDED)
    if written == "parquet":
        return annotated, written
    return map_batches(annotated, partial(_add_members, id_column=columns.id, has_numbers=has_numbers), _LINE), written


def _add_members(batches: Batches, id_column: str, *, has_numbers: bool) -> Batches:
    """Add the columns of ADDED to lines of JSON objects, as a copy without Spark does; leave out other lines."""
    for batch in batches:
        lines, added = batch["value"].to_pylist(), batch.select([*ADDED]).to_pylist()

        def decide(rows: Sequence[Row], added: Sequence[dict[str, object]] = added) -> Sequence[Mapping[str, object]]:
            of_rows = [added[row.number - 1] for row in rows]
            for row, values in zip(rows, of_rows, strict=True):
                is_text = isinstance(row.values, DocumentError) or isinstance(find_value(row.values, id_column), str)
                if has_numbers and not is_text and values["cluster"] is not None:
                    values["cluster"] = int(str(values["cluster"]))
            return of_rows

        out = io.BytesIO()
        JsonLinesFormat().rewrite(io.BytesIO("\n".join(lines).encode()), out, RowColumns(), decide, ADDED)
        yield pa.RecordBatch.from_pydict({"value": out.getvalue().decode().split("\n")[:-1]}, arrow_schema(_LINE))


def parts_of(*frames: DataFrame) -> Partitioning:
    """Choose the number of parts: the frames' partitions, or Spark's default or configured parallelism, if larger."""
    context = frames[0].sparkSession.sparkContext
    wanted = context.getConf().get("spark.sql.shuffle.partitions", None)
    return Partitioning.with_count(
        max(sum(frame.rdd.getNumPartitions() for frame in frames), context.defaultParallelism, int(wanted or 1))
    )


def documents_in(batch: pa.RecordBatch, note: Callable[[str | None, str], None], blank: set[str]) -> list[Document]:
    """Convert rows of `read` to documents; add the files of rows without a text to `blank`.

    For each bad row, `note` is called with the row's id or position, and with the problem.
    """
    columns = {name: batch[name].to_numpy(zero_copy_only=False).tolist() for name in batch.schema.names}
    ids, texts, names = columns["id"], columns["text"], [name or "" for name in columns["name"]]
    places = columns.get(_PLACE)
    if places is not None and any(places):
        blank.update(place for place, document_id in zip(places, ids, strict=True) if place and document_id is not None)
    own = {name.replace(DOT, "."): values for name, values in columns.items() if name not in _COLUMNS}
    properties = [
        {name: value for name, value in zip(own, values, strict=True) if value is not None and value == value}
        for values in zip(*own.values(), strict=True)
    ]
    if None not in ids and (made := documents_of_columns(ids, texts, names, properties)) is not None:
        return made
    documents = []
    for at, (document_id, text, name, content) in enumerate(zip(ids, texts, names, columns["content"], strict=True)):
        try:
            if document_id is None:
                raise DocumentError("a document has an id, and a line of JSON is an object that has one")
            text = text if content is None else text_from_bytes(content, PurePath(document_id))
            documents.append(Document(document_id, text or "", name, properties[at] if properties else {}))
        except DocumentError as error:
            note(document_id if places is None or places[at] is None else places[at], str(error))
    return documents
