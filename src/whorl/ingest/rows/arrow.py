"""Parquet and Arrow: columns in batches, with types that stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from whorl.errors import DocumentError
from whorl.ingest.rows.columns import Columns, UnreadRowsError
from whorl.ingest.rows.row import AT_ONCE, Added, Decide, Row, Span

_TYPES = {str: pa.string(), bool: pa.bool_(), float: pa.float64()}
#: Bytes of rows that Parquet keeps in one group, about.
_GROUP_BYTES = 64_000_000
#: Bytes of a Parquet file that are read at once.
_BUFFER = 1 << 20


class Parquet:
    """Parquet, read page by page, so that a large row group takes no more memory than a small one."""

    takes_columns = True

    def spans(self, opened: IO[bytes]) -> Iterator[Span | None]:
        with _failures("Parquet"):
            metadata, before = self._open(opened).metadata, 0
            for group in range(metadata.num_row_groups):
                yield Span(group, group + 1, before)
                before += metadata.row_group(group).num_rows

    def rows(self, opened: IO[bytes], columns: Columns, span: Span | None = None) -> Iterator[Row]:
        with _failures("Parquet"):
            file = self._open(opened)
            wanted = columns.wanted(file.schema_arrow.names)
            groups = None if span is None else range(span.begin, span.end)
            before = 0 if span is None else span.before
            yield from _rows(file.iter_batches(AT_ONCE, row_groups=groups, columns=wanted), wanted, before)

    def rewrite(self, opened: IO[bytes], out: IO[bytes], columns: Columns, decide: Decide, added: Added) -> None:
        with _failures("Parquet"):
            file = self._open(opened)
            metadata = file.metadata
            packing = metadata.row_group(0).column(0).compression if metadata.num_row_groups else "SNAPPY"
            schema = _with(file.schema_arrow, added, columns)
            with pq.ParquetWriter(out, schema, compression="NONE" if packing == "UNCOMPRESSED" else packing) as writer:
                waiting: list[pa.RecordBatch] = []
                for batch in _kept(file.iter_batches(AT_ONCE), columns, decide, added, schema):
                    waiting.append(batch)
                    if sum(each.nbytes for each in waiting) >= _GROUP_BYTES:
                        writer.write_table(pa.Table.from_batches(waiting))
                        waiting.clear()
                writer.write_table(pa.Table.from_batches(waiting, schema))

    @staticmethod
    def _open(opened: IO[bytes]) -> pq.ParquetFile:
        return pq.ParquetFile(opened, pre_buffer=False, buffer_size=_BUFFER)


class Arrow:
    """Arrow's files and streams, in which data sets of Hugging Face lie on disk.

    Args:
        is_stream: Whether it has no index at its end.
    """

    takes_columns = True

    def __init__(self, *, is_stream: bool) -> None:
        self._is_stream = is_stream

    def spans(self, opened: IO[bytes]) -> Iterator[Span | None]:
        yield None

    def rows(self, opened: IO[bytes], columns: Columns, span: Span | None = None) -> Iterator[Row]:
        with _failures("Arrow"):
            schema, batches = self._open(opened)
            wanted = columns.wanted(schema.names)
            yield from _rows((each.select(wanted) for each in batches), wanted)

    def rewrite(self, opened: IO[bytes], out: IO[bytes], columns: Columns, decide: Decide, added: Added) -> None:
        with _failures("Arrow"):
            schema, batches = self._open(opened)
            schema = _with(schema, added, columns)
            writer: Callable[..., Any] = pa.ipc.new_stream if self._is_stream else pa.ipc.new_file
            with writer(out, schema) as written:
                for batch in _kept(batches, columns, decide, added, schema):
                    written.write_batch(batch)

    def _open(self, opened: IO[bytes]) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        if self._is_stream:
            stream = pa.ipc.open_stream(opened)
            return stream.schema, _portions(map(_sound, stream))
        file = pa.ipc.open_file(opened)
        return file.schema, _portions(_sound(file.get_batch(at)) for at in range(file.num_record_batches))


def _sound(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch whose values lie within it: pyarrow would end the process at the first one of a damaged file.

    Raises:
        pa.ArrowInvalid: They do not.
    """
    for column in batch.columns:
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            # Text that is no UTF-8 can be read up to the value that holds it.
            if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
                raise
            column.view(pa.large_binary() if pa.types.is_large_string(column.type) else pa.binary()).validate(full=True)
    return batch


def _portions(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for at in range(0, batch.num_rows, AT_ONCE):
            yield batch.slice(at, AT_ONCE)


def _rows(batches: Iterator[pa.RecordBatch], names: list[str], before: int = 0) -> Iterator[Row]:
    for batch in batches:
        columns = [_values(column) for column in batch.columns]
        for values in zip(*columns, strict=True):
            before += 1
            problem = next((value for value in values if isinstance(value, DocumentError)), None)
            yield Row(before, "row", problem or dict(zip(names, values, strict=True)))


def _values(column: pa.Array) -> list[object]:
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except (UnicodeDecodeError, ValueError, OverflowError):
        return [_value(each) for each in column]


def _value(scalar: pa.Scalar) -> object:
    try:
        return scalar.as_py()
    except (UnicodeDecodeError, ValueError, OverflowError) as error:
        return DocumentError(f"a value cannot be read: {error}")


def _kept(
    batches: Iterator[pa.RecordBatch], columns: Columns, decide: Decide, added: Added, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield what stays of batches, in the columns of the schema."""
    before = 0
    for batch in batches:
        wanted = columns.wanted(batch.schema.names)
        told = decide(list(_rows(iter([batch.select(wanted)]), wanted, before)))
        before += batch.num_rows
        mask = pa.array([each is not None for each in told], pa.bool_())
        more = [each for each in told if each is not None]
        kept = batch.filter(mask)
        arrays = [
            pa.array([each.get(field.name) for each in more], field.type)
            if field.name in added
            else kept.column(field.name)
            for field in schema
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _with(schema: pa.Schema, added: Added, columns: Columns) -> pa.Schema:
    """Return a schema with further columns, and without what it says of those that it had; a text keeps its place."""
    further = {name: kind for name, kind in added.items() if name != columns.text}
    if not further:
        return schema
    own = [field for field in schema if field.name not in further]
    return pa.schema([*own, *(pa.field(name, _TYPES[kind]) for name, kind in further.items())])


@contextmanager
def _failures(name: str) -> Iterator[None]:
    try:
        yield
    except MemoryError as error:
        # pyarrow makes room for what a length says before it finds out that the file has less.
        raise UnreadRowsError(
            f"this {name} cannot be read, or not completely: a length in it asks for more memory than there is, so it "
            "is damaged, or made for a larger machine"
        ) from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        told = str(error).strip().partition("\n")[0] or type(error).__name__
        raise UnreadRowsError(f"this {name} cannot be read, or not completely: {told:.200}") from error
