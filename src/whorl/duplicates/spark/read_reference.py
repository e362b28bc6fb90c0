"""Reads the reference documents of a run on Spark: as a data frame, or on the driver by `InputReader`."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import PurePosixPath
from typing import IO
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from whorl.duplicates.input import InputReader
from whorl.duplicates.options import DuplicatesOptions
from whorl.duplicates.sketching import group_of
from whorl.duplicates.spark.read_files import DOT, LOCAL, ColumnNames, binary_files, escape_pattern, read
from whorl.errors import ParameterError
from whorl.ingest.files import FoundFile, OnProblem, Problems
from whorl.ingest.rows.row_format import RowColumns
from whorl.model import Document
from whorl.operations import DuplicatesOperation


@dataclass(frozen=True, slots=True)
class Reference:
    """The texts of the reference, for `reference_only`, or their data frame, for a search among all documents.

    Attributes:
        files: Files of the reference, as Spark names them.
        problems: Files and rows that the driver could not read.
    """

    texts: Sequence[Document] = ()
    frame: DataFrame | None = None
    files: frozenset[str] = frozenset()
    problems: Problems = field(default_factory=Problems)


def read_reference(
    session: SparkSession, operation: DuplicatesOperation, options: DuplicatesOptions, columns: ColumnNames
) -> Reference:
    """Read the files that `operation.reference` names.

    Raises:
        ParameterError: A column of texts is missing or empty, or the column `within` has other values than texts,
            numbers or dates.
    """
    if not operation.reference:
        return Reference()
    # Reference documents always stay, so they need no rank.
    if operation.reference_only or operation.reference_column:
        reader = InputReader(
            (),
            replace(options, keep=None, date=None, state=None),
            reference=operation.reference,
            reference_columns=operation.reference_column,
            columns=replace(RowColumns.from_names(operation.text_column, operation.id_column), name=columns.name),
            find=partial(_find_files, session),
        )
        texts = list(reader.reference())
        _require_comparable_values(texts, options.within)
        frame = None if operation.reference_only else _make_frame(session, texts, options.within)
        files = frozenset(binary_files(session, operation.reference).inputFiles())
        return Reference(texts, frame, files, reader.problems)
    frame = read(session, operation.reference, operation.input, replace(columns, rank=None), is_reference=True)
    if frame.where("length(trim(text)) > 0 or length(content) > 0").isEmpty():
        raise ParameterError(f"--reference has no text: {', '.join(operation.reference)}")
    return Reference(frame=frame, files=frozenset(frame.inputFiles()))


def _find_files(session: SparkSession, paths: Iterable[str], on_problem: OnProblem) -> Iterator[FoundFile]:
    for address in sorted(binary_files(session, list(paths)).inputFiles()):
        yield FoundFile(_SparkFile(session, unquote(address)), PurePosixPath(PurePosixPath(address).name))


class _SparkFile:
    """A file on any of Spark's file systems, which is read into memory."""

    def __init__(self, session: SparkSession, address: str) -> None:
        self._session, self._address = session, address

    @property
    def name(self) -> str:
        return PurePosixPath(self._address).name

    def as_posix(self) -> str:
        return re.sub(LOCAL, "", self._address)

    __str__ = as_posix

    def open(self, mode: str) -> IO[bytes]:
        return io.BytesIO(self._content)

    @cached_property
    def _content(self) -> bytes:
        (row,) = binary_files(self._session, [escape_pattern(self._address)]).select("content").collect()
        return bytes(row.content)


def _require_comparable_values(texts: Iterable[Document], within: str | None) -> None:
    """Raise ParameterError if a value of the column `within` has another form on the driver than on Spark."""
    if within is None:
        return
    for text in texts:
        value = text.properties.get(within)
        values = value if isinstance(value, tuple) else (value,)
        if len(values) != 1 or isinstance(values[0], bool):
            raise ParameterError(
                f"{text.id}: on Spark --within-column takes a column of texts, numbers or dates, and {within!r} has "
                "another value"
            )


def _make_frame(session: SparkSession, documents: Iterable[Document], within: str | None) -> DataFrame:
    """Return documents in the columns of `read`."""
    rows = [(document.id, document.name, document.text, group_of(document, within) or None) for document in documents]
    frame = session.createDataFrame(rows, "id string, name string, text string, group string")
    frame = frame.withColumn("content", f.lit(None).cast("binary"))
    return frame.withColumnRenamed("group", within.replace(".", DOT)) if within else frame.drop("group")
