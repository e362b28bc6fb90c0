"""Texts read by Spark, and their sketches."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import PurePath, PurePosixPath
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.storagelevel import StorageLevel

from whorl.duplicates.archive import sketch_key
from whorl.duplicates.spark.frames import AT_ONCE, BYTES_AT_ONCE, Batches, packed, settled, stepped
from whorl.errors import DocumentError, ParameterError
from whorl.fingerprint.batch import hashed
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import SketchScheme
from whorl.ingest.files import file_text
from whorl.model import Document

#: What is read, and the endings of names that tell.
KINDS = {"parquet": (".parquet",), "json": (".jsonl", ".ndjson", ".json"), "text": ()}
#: Endings of files that Spark unpacks by itself.
_PACKED = frozenset({".gz", ".bz2", ".zst", ".xz", ".lz4", ".snappy"})
_SAMPLES = "id string, name string, size long, key long, hashes binary, problem string"
_BROKEN = "whorl_broken_line"


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of columns, or of fields of JSON.

    Args:
        id: What a document is known by; whole numbers do as well as text.
        text: Its text.
        name: What people know it by; need not be there.
    """

    id: str = "id"
    text: str = "text"
    name: str = "name"


@dataclass(frozen=True, slots=True)
class Gathered:
    """Documents and their sketches.

    Args:
        members: Columns id, name, size and key, every id once; documents of one key are equal.
        documents: Columns key, size and hashes, every key once, without documents that have no shingles.
        unfit: Columns id and problem of rows that are no documents.
        repeated: Ids that came more than once; of each the largest document counts.
    """

    members: DataFrame
    documents: DataFrame
    unfit: DataFrame
    repeated: int


def read(
    session: SparkSession, paths: Sequence[str], kind: str | None = None, columns: Columns = Columns()
) -> DataFrame:
    """Return documents: columns id, name, text and content, of which one is null.

    Args:
        session: Reads them.
        paths: Of files and folders, in whatever Spark can read from; those of one kind are read together.
        kind: One of KINDS: Parquet; JSON lines; or one text or HTML file for each document, known by its path. None to
            tell each by its name, text if that does not.
        columns: Of Parquet and JSON.

    Raises:
        ParameterError: There are no paths, or a column is missing.
    """
    if not paths:
        raise ParameterError("name at least one file or folder to read")
    by_kind: dict[str, list[str]] = {}
    for path in paths:
        by_kind.setdefault(kind or _kind_of(path), []).append(path)
    frames = []
    for each, some in by_kind.items():
        if each == "parquet":
            frames.append(documents_of(session.read.parquet(*some), columns))
        else:
            frames.append(_json(session, some, columns) if each == "json" else _files(session, some))
    return reduce(DataFrame.unionByName, frames)


def _kind_of(path: str) -> str:
    name = PurePosixPath(path.rstrip("/"))
    suffix = PurePosixPath(name.stem).suffix if name.suffix.lower() in _PACKED else name.suffix
    return next((kind for kind, suffixes in KINDS.items() if suffix.lower() in suffixes), "text")


def documents_of(frame: DataFrame, columns: Columns = Columns()) -> DataFrame:
    """Return the documents of any data frame, in the columns that `read` gives.

    Raises:
        ParameterError: A column is missing.
    """
    missing = [each for each in (columns.id, columns.text) if each not in frame.columns]
    if missing:
        raise ParameterError(f"there is no column {', '.join(missing)}; those there are: {', '.join(frame.columns)}")
    name = frame[columns.name] if columns.name in frame.columns else f.lit(None)
    return frame.select(
        frame[columns.id].cast("string").alias("id"),
        name.cast("string").alias("name"),
        frame[columns.text].cast("string").alias("text"),
        f.lit(None).cast("binary").alias("content"),
    )


def _json(session: SparkSession, paths: Sequence[str], columns: Columns) -> DataFrame:
    names = list(dict.fromkeys([columns.id, columns.text, columns.name, _BROKEN]))
    schema = ", ".join(f"`{name.replace('`', '``')}` string" for name in names)
    lines = session.read.schema(schema).option("columnNameOfCorruptRecord", _BROKEN)
    return documents_of(lines.json(list(paths)), columns)


def _files(session: SparkSession, paths: Sequence[str]) -> DataFrame:
    files = session.read.format("binaryFile").option("recursiveFileLookup", "true").load(list(paths))
    # Of a local file the path is wanted as people write it.
    path = f.regexp_replace("path", "^file:(//)?", "")
    return files.select(
        path.alias("id"),
        f.regexp_extract("path", "[^/]*$", 0).alias("name"),
        f.lit(None).cast("string").alias("text"),
        "content",
    )


def gathered(documents: DataFrame, scheme: Scheme, sketches: SketchScheme) -> Gathered:
    """Return the sketches of documents.

    Args:
        documents: As `read` returns them.
        scheme: What words and shingles are.
        sketches: How much of each is kept.
    """
    step = partial(_sketched, scheme=scheme, sketches=sketches)
    # Kept on disk until it is divided into what is said of documents, and what they are compared by.
    rows = stepped(documents, step, _SAMPLES).persist(StorageLevel.DISK_ONLY)
    fit = rows.where(f.col("problem").isNull())
    by_id = settled(
        fit.groupBy("id").agg(
            f.max(f.struct("size", "key", f.coalesce("name", f.lit("")).alias("name"))).alias("one"),
            f.count("*").alias("times"),
        )
    )
    members = by_id.select("id", "one.name", "one.size", "one.key")
    kept = members.where("size > 0").select("key").distinct()
    sketches_of = fit.select("key", "size", "hashes").where("size > 0").join(kept, "key", "left_semi")
    unfit = settled(rows.where(f.col("problem").isNotNull()).select("id", "problem"))
    settled_sketches = settled(sketches_of.dropDuplicates(["key"]))
    rows.unpersist()
    return Gathered(members, settled_sketches, unfit, by_id.where("times > 1").count())


def _sketched(batches: Batches, scheme: Scheme, sketches: SketchScheme) -> Batches:
    """Yield the sketches of documents, or what is wrong with them."""
    waiting: deque[Document] = deque()
    rows: list[tuple[Any, ...]] = []
    size = 0

    def texts() -> Iterator[str]:
        for each in _rows(batches):
            try:
                document = _document(*each)
            except DocumentError as error:
                rows.append((each[0], None, None, None, None, str(error)))
                continue
            waiting.append(document)
            yield document.text

    for each in hashed(texts(), scheme, workers=1):
        document = waiting.popleft()
        sketch = each.sketch(sketches)
        key, kept = sketch_key(sketch), packed(sketch.hashes, sketches)
        rows.append((document.id, document.name, sketch.size, key, kept, None))
        size += len(kept)
        if len(rows) >= AT_ONCE or size > BYTES_AT_ONCE:
            yield _batch(rows)
            rows.clear()
            size = 0
    yield _batch(rows)


def _rows(batches: Batches) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from zip(*(batch[name].to_pylist() for name in ("id", "name", "text", "content")), strict=True)


def _document(document_id: str | None, name: str | None, text: str | None, content: bytes | None) -> Document:
    if content is not None and document_id is not None:
        text = file_text(content, PurePath(document_id))
    if document_id is None or text is None:
        raise DocumentError("a document has an id and a text, and a line of JSON is an object that has both")
    return Document(document_id, text, name or "")


def _batch(rows: Iterable[tuple[Any, ...]]) -> pa.RecordBatch:
    types = {"string": pa.string(), "long": pa.int64(), "binary": pa.binary()}
    schema = pa.schema([(part.split()[0], types[part.split()[1]]) for part in _SAMPLES.split(", ")])
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
