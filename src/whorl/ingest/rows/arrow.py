"""Reads the rows of Parquet and Arrow files in batches, and writes copies of such files with some of the rows."""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import repeat
from typing import IO, Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from whorl.errors import DocumentError
from whorl.ingest.rows.compression import ExpansionLimit
from whorl.ingest.rows.row_format import (
    GROUP_BYTES,
    ROWS_AT_ONCE,
    Added,
    Decide,
    FileSpan,
    Row,
    RowColumns,
    RowFormat,
    UncopiedRowsError,
    UnreadRowsError,
)

_TYPES = {str: pa.string(), int: pa.int64(), bool: pa.bool_(), float: pa.float64()}
_CONVERSIONS: Mapping[pa.DataType, Callable[[Any], object]] = {pa.string(): str, pa.int64(): int}
#: The binary type with the same layout for each of Arrow's string types.
_AS_BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}
_ROW_GROUP_BYTES = 64_000_000
#: Maximum size in bytes of a dictionary whose unused values stay: programs may rely on the positions of its values.
_SMALL_DICTIONARY_BYTES = 1 << 16
_BUFFER = 1 << 20
#: Number of bytes before the first message of an Arrow file, and the names of Arrow's codecs by number.
_FILE_HEAD_BYTES, _CODECS = 8, {0: "lz4", 1: "zstd"}
#: Bytes to count for a row in addition to its values: in a file, many nulls or repeated values take almost no space.
_ROW_BYTES = 256
#: Memory in bytes of one value of a list or record after conversion to a Python object.
_VALUE_BYTES = 40
#: Maximum number of rows of a file with fewer bytes than rows. Indexing these rows takes only minutes.
_MOST_SMALL_ROWS = 250_000


#: The number of rows before a group of rows, and the group. If all columns have primitive types or plain text, the
#: group is an Arrow stream, because sending it to another process is faster. Otherwise it is a list of objects: their
#: memory is counted, and can be much larger than the stream (a dictionary stores a repeated value once).
Group: TypeAlias = tuple[int, "bytes | list[Row]"]


class _ColumnarFormat(RowFormat):
    """Base class of the formats Parquet and Arrow, which store columns and are read in batches of rows."""

    name: str

    def rows(self, opened: IO[bytes], columns: RowColumns, span: FileSpan | None = None) -> Iterator[Row]:
        for group in self.groups(opened, columns, span):
            yield from rows_of(group)

    def groups(self, opened: IO[bytes], columns: RowColumns, span: FileSpan | None = None) -> Iterator[Group]:
        """Yield the rows in groups small enough to be converted to objects at once."""
        with _convert_errors(self.name):
            expansion, before = ExpansionLimit(_size(opened)), 0 if span is None else span.before
            for batch in self._batches(opened, columns, span):
                is_flat = all(map(_is_flat, batch.schema.types))
                nested = 0 if is_flat else _VALUE_BYTES * sum(map(_count_nested_values, batch.columns))
                most = max(1, batch.num_rows * GROUP_BYTES // max(batch.nbytes if is_flat else nested, 1))
                for at in range(0, batch.num_rows, most):
                    part = batch.slice(at, most)
                    rows = _stream(part) if is_flat else list(_rows(part, before + at))
                    yield before + at, rows
                    size = part.nbytes if isinstance(rows, bytes) else sum(row.weight for row in rows)
                    expansion.add(_ROW_BYTES * part.num_rows + size)
                expansion.add(nested)
                before += batch.num_rows

    def _batches(self, opened: IO[bytes], columns: RowColumns, span: FileSpan | None) -> Iterator[pa.RecordBatch]:
        raise NotImplementedError


class ParquetFormat(_ColumnarFormat):
    """Format of Parquet files, which are read page by page: the memory does not depend on the size of row groups."""

    name = "Parquet"

    def spans(self, opened: IO[bytes], columns: RowColumns) -> Iterator[FileSpan | None]:
        with _convert_errors(self.name):
            file, before = self._open(opened), 0
            _select(columns, file.schema_arrow)
            metadata = file.metadata
            for group in range(metadata.num_row_groups):
                yield FileSpan(group, group + 1, before)
                before += metadata.row_group(group).num_rows

    def _batches(self, opened: IO[bytes], columns: RowColumns, span: FileSpan | None) -> Iterator[pa.RecordBatch]:
        file = self._open(opened)
        wanted = _select(columns, file.schema_arrow)
        groups = None if span is None else range(span.begin, span.end)
        # For such small batches, threads would double the processor time.
        return file.iter_batches(ROWS_AT_ONCE, row_groups=groups, columns=wanted, use_threads=False)  # type: ignore[no-any-return]

    def rewrite(self, opened: IO[bytes], out: IO[bytes], columns: RowColumns, decide: Decide, added: Added) -> None:
        with _convert_errors("Parquet"):
            file = self._open(opened)
            schema = _add_columns(file.schema_arrow, added, columns)
            with pq.ParquetWriter(out, schema, compression=_codecs(file.metadata, schema)) as writer:
                group = _RowGroup(writer, schema)
                batches = file.iter_batches(ROWS_AT_ONCE, use_threads=False)
                try:
                    for batch in _retain_rows(batches, columns, decide, added, schema):
                        group.add(batch)
                finally:
                    # If a batch cannot be read, the rows before it are still written.
                    group.write()

    @staticmethod
    def _open(opened: IO[bytes]) -> pq.ParquetFile:
        size = _size(opened)
        file = pq.ParquetFile(opened, pre_buffer=False, buffer_size=_BUFFER)
        _require_space(file.metadata.num_rows, size())
        return file


def _codecs(metadata: pq.FileMetaData, schema: pa.Schema) -> str | dict[str, str]:
    """Return the codec for each column of a copy: as in the file, or for a new column the most frequent codec."""
    if not metadata.num_row_groups:
        return "SNAPPY"
    group = metadata.row_group(0)
    own = {column.path_in_schema: column.compression for column in map(group.column, range(group.num_columns))}
    ((most, _),) = Counter(own.values()).most_common(1)
    # For paths that the file lacks, take the codec of the whole column: fields within lists may have other names in
    # pyarrow.
    by_name = {path.partition(".")[0]: codec for path, codec in own.items()}
    out = io.BytesIO()
    pq.write_table(schema.empty_table(), out)
    written = pq.ParquetFile(out).schema
    paths = [written.column(at).path for at in range(len(written))]
    codecs = {path: own.get(path) or by_name.get(path.partition(".")[0], most) for path in paths}
    return {path: "NONE" if codec == "UNCOMPRESSED" else codec for path, codec in codecs.items()}


class _RowGroup:
    """Collects batches, and writes them as row groups of about `_ROW_GROUP_BYTES`.

    Each batch from pyarrow has the whole dictionary of a column, so equal dictionaries are counted and stored once.
    """

    def __init__(self, writer: pq.ParquetWriter, schema: pa.Schema) -> None:
        self._writer, self._schema = writer, schema
        self._encoded = [at for at, field in enumerate(schema) if pa.types.is_dictionary(field.type)]
        self._dictionaries: dict[int, pa.Array] = {}
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0

    def add(self, batch: pa.RecordBatch) -> None:
        columns = batch.columns
        known = self._dictionaries
        new = [at for at in self._encoded if at not in known or not known[at].equals(columns[at].dictionary)]
        # A row group merges the different dictionaries of a column, which changes the order of the values and adds
        # values. So begin a new row group if the order has a meaning, or if short indices may overflow.
        kinds = [columns[at].type for at in new if at in known]
        if any(kind.ordered or kind.index_type.bit_width < 32 for kind in kinds):
            self.write()
            new = self._encoded
        self._dictionaries.update({at: columns[at].dictionary for at in new})
        for at in self._encoded:
            columns[at] = _encode(columns[at].indices, self._dictionaries[at], columns[at].type)
        self._batches.append(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        self._bytes += sum(
            column.indices.nbytes if at in self._encoded else column.nbytes for at, column in enumerate(columns)
        )
        self._bytes += sum(self._dictionaries[at].nbytes for at in new)
        if self._bytes >= _ROW_GROUP_BYTES:
            self.write()

    def write(self) -> None:
        table = pa.Table.from_batches(self._batches, self._schema)
        for at in self._encoded:
            column = _without_unused(table.column(at).combine_chunks())
            table = table.set_column(at, self._schema.field(at), column)
        self._writer.write_table(table)
        self._batches, self._bytes = [], 0
        self._dictionaries.clear()


def _encode(indices: pa.Array, dictionary: pa.Array, kind: pa.DictionaryType) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(indices, dictionary, ordered=kind.ordered, safe=False)


def _without_unused(column: pa.DictionaryArray) -> pa.DictionaryArray:
    """Remove unused values from a large dictionary; keep the order of the other values."""
    if column.dictionary.nbytes <= _SMALL_DICTIONARY_BYTES:
        return column
    used = pc.unique(column.indices.drop_null()).sort()
    if len(used) == len(column.dictionary):
        return column
    indices = pc.index_in(column.indices, value_set=used).cast(column.type.index_type)
    return _encode(indices, column.dictionary.take(used), column.type)


class ArrowFormat(_ColumnarFormat):
    """Format of Arrow files and streams (without an index at the end), such as Hugging Face's data sets on disk."""

    name = "Arrow"

    def __init__(self, *, is_stream: bool) -> None:
        self._is_stream = is_stream

    def _batches(self, opened: IO[bytes], columns: RowColumns, span: FileSpan | None) -> Iterator[pa.RecordBatch]:
        schema, batches = self._open(opened)
        wanted = _select(columns, schema)
        return (batch.select(wanted) for batch in batches)

    def rewrite(self, opened: IO[bytes], out: IO[bytes], columns: RowColumns, decide: Decide, added: Added) -> None:
        with _convert_errors("Arrow"):
            options = pa.ipc.IpcWriteOptions(compression=self._find_codec(opened))
            schema, batches = self._open(opened)
            schema = _add_columns(schema, added, columns)
            writer: Callable[..., Any] = pa.ipc.new_stream if self._is_stream else pa.ipc.new_file
            with writer(out, schema, options=options) as written:
                for batch in _retain_rows(batches, columns, decide, added, schema):
                    written.write_batch(batch)

    def _find_codec(self, opened: IO[bytes]) -> str | None:
        """Return the codec of the first batch of rows; None if it is uncompressed, or if the whole file is packed."""
        if not opened.seekable():
            return None
        begin = opened.tell()
        try:
            # After its first bytes, a file has the same messages as a stream, so read it as a stream.
            opened.seek(begin if self._is_stream else begin + _FILE_HEAD_BYTES)
            messages = pa.ipc.MessageReader.open_stream(opened)
            while (message := messages.read_next_message()).type != "record batch":
                pass
            return _codec_of(message.metadata.to_pybytes())
        except StopIteration:
            return None
        finally:
            opened.seek(begin)

    def _open(self, opened: IO[bytes]) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        size = _size(opened)
        if self._is_stream:
            stream = pa.ipc.open_stream(opened)
            return stream.schema, _portions(stream, size)
        file = pa.ipc.open_file(opened)
        return file.schema, _portions(map(file.get_batch, range(file.num_record_batches)), size)


def _codec_of(message: bytes) -> str | None:
    """Return the codec of a batch of rows from its message, because pyarrow does not expose it.

    A message is a table of FlatBuffers (`Message.fbs`): field 2 is the batch, whose field 3 is the table
    BodyCompression, whose field 0 is the codec, by default LZ4.
    """

    def number(at: int, size: int = 4, *, is_signed: bool = False) -> int:
        return int.from_bytes(message[at : at + size], "little", signed=is_signed)

    def find(table: int, field: int) -> int | None:
        """Return the position of a field of a table; None if the field has its default."""
        offsets = table - number(table, is_signed=True)
        entry = 4 + 2 * field
        offset = number(offsets + entry, 2) if entry < number(offsets, 2) else 0
        return table + offset if offset else None

    table = number(0)
    for field in (2, 3):
        at = find(table, field)
        if at is None:
            return None
        table = at + number(at)
    codec = find(table, 0)
    return _CODECS.get(0 if codec is None else number(codec, 1))


def _size(opened: IO[bytes]) -> Callable[[], int]:
    if not opened.seekable():
        return opened.tell
    position = opened.tell()
    size = opened.seek(0, os.SEEK_END)
    opened.seek(position)
    return lambda: size


def _require_space(rows: int, size: int) -> None:
    """Raise UnreadRowsError if a file claims far more rows than it has bytes."""
    if rows > max(_MOST_SMALL_ROWS, size):
        raise UnreadRowsError(
            f"it has {rows:,} rows in {size:,} bytes; a file of more than {_MOST_SMALL_ROWS:,} rows needs at least one "
            "byte for each row"
        )


def _validate(batch: pa.RecordBatch) -> None:
    """Raise ArrowInvalid if a value lies outside the batch's buffers, because pyarrow would crash."""
    for column in batch.columns:
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            # Invalid UTF-8 makes only the values that have it unreadable, so do not refuse the whole batch: validate a
            # column of strings again as bytes.
            if column.type not in _AS_BYTES:
                raise
            column.view(_AS_BYTES[column.type]).validate(full=True)


def _portions(batches: Iterable[pa.RecordBatch], size: Callable[[], int]) -> Iterator[pa.RecordBatch]:
    rows = 0
    for batch in batches:
        rows += batch.num_rows
        _require_space(rows, size())
        _validate(batch)
        for at in range(0, batch.num_rows, ROWS_AT_ONCE):
            yield batch.slice(at, ROWS_AT_ONCE)


def rows_of(group: Group) -> Iterator[Row]:
    before, rows = group
    if isinstance(rows, bytes):
        yield from _rows(pa.ipc.open_stream(rows).read_next_batch(), before)
    else:
        yield from rows


def _is_flat(kind: pa.DataType) -> bool:
    return pa.types.is_primitive(kind) or kind in (*_AS_BYTES, *_AS_BYTES.values())


def _is_list(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.ListType | pa.LargeListType | pa.FixedSizeListType)


def _count_nested_values(column: pa.Array) -> int:
    types, kind = pa.types, column.type
    if types.is_struct(kind):
        return sum(len(field) + _count_nested_values(field) for field in column.flatten())
    if _is_list(kind) or types.is_map(kind):
        values = column.items if types.is_map(kind) else column.flatten()
        return len(values) + _count_nested_values(values)
    return 0


def _select(columns: RowColumns, schema: pa.Schema) -> list[str]:
    return columns.select(schema.names, {field.name: _example(field.type) for field in schema})


def _example(kind: pa.DataType) -> object:
    """Return an example value of a type with all nested fields: 0 for numbers, booleans and times, else None."""
    if pa.types.is_struct(kind):
        return {field.name: _example(field.type) for field in kind}
    if _is_list(kind):
        return [_example(kind.value_type)]
    return 0 if pa.types.is_primitive(kind) or pa.types.is_decimal(kind) else None


def _stream(batch: pa.RecordBatch) -> bytes:
    out = io.BytesIO()
    with pa.ipc.new_stream(out, batch.schema) as writer:
        writer.write_batch(batch)
    return out.getvalue()


def _rows(batch: pa.RecordBatch, before: int) -> Iterator[Row]:
    names = batch.schema.names
    for number, values in enumerate(zip(*map(_values, batch.columns), strict=True), before + 1):
        problem = next((value for value in values if isinstance(value, DocumentError)), None)
        weight = sum([len(value) for value in values if type(value) is str or type(value) is bytes])
        yield Row(number, "row", problem or dict(zip(names, values, strict=True)), weight)


def _values(column: pa.Array) -> list[object]:
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except (UnicodeDecodeError, ValueError, OverflowError):
        return [_value(scalar) for scalar in column]


def _value(scalar: pa.Scalar) -> object:
    try:
        return scalar.as_py()
    except (UnicodeDecodeError, ValueError, OverflowError) as error:
        return DocumentError(f"a value cannot be read: {error}")


def _retain_rows(
    batches: Iterator[pa.RecordBatch], columns: RowColumns, decide: Decide, added: Added, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    before = 0
    for batch in batches:
        names = batch.schema.names
        wanted = _select(columns, batch.schema)
        decisions = decide(list(_rows(batch.select(wanted), before)))
        before += batch.num_rows
        mask = pa.array([decision is not None for decision in decisions], pa.bool_())
        more = [decision for decision in decisions if decision is not None]
        try:
            remaining = pa.RecordBatch.from_arrays([_filter(column, mask) for column in batch.columns], names=names)
            # Several columns may have the same name, so find them by position.
            own = [at for at, name in enumerate(names) if name not in added or name == columns.text]
            arrays = [
                remaining.column(own[at])
                if field.name not in added
                else _change_column(remaining, field, more, columns)
                for at, field in enumerate(schema)
            ]
            copied = pa.RecordBatch.from_arrays(arrays, schema=schema)
        except Exception as error:
            raise UncopiedRowsError(f"this cannot be copied: {_first_line(error)}") from error
        yield copied


def _filter(column: pa.Array, mask: pa.BooleanArray) -> pa.Array:
    try:
        return column.filter(mask)
    except pa.ArrowNotImplementedError:
        # Arrow cannot filter some types, such as `string_view`. Build the new column from Python objects: slices would
        # keep all bytes of the old column.
        return pa.array(
            [value for value, is_kept in zip(column.to_pylist(), mask.to_pylist(), strict=True) if is_kept], column.type
        )


def _change_column(
    batch: pa.RecordBatch, field: pa.Field, more: Sequence[Mapping[str, object]], columns: RowColumns
) -> pa.Array:
    """Return the values of an added or changed column; a row without a new text keeps its old text."""
    before = batch.column(field.name).to_pylist() if field.name == columns.text else repeat(None)
    changed = (values.get(field.name, own) for values, own in zip(more, before, strict=False))
    if convert := _CONVERSIONS.get(field.type):
        changed = (None if value is None else convert(value) for value in changed)
    return pa.array(list(changed), field.type)


def _add_columns(schema: pa.Schema, added: Added, columns: RowColumns) -> pa.Schema:
    """Add columns to a schema; a new text column takes the position of the old one.

    This drops Hugging Face's list of columns, which would make `datasets` refuse the file. If a column is replaced, it
    drops all metadata, because they may describe the old column.
    """
    new_columns = {name: kind for name, kind in added.items() if name != columns.text}
    if not new_columns:
        return schema
    at = schema.get_field_index(columns.id_column)
    # pandas stores whole numbers as floats if some are missing.
    if at < 0 or not (pa.types.is_integer(schema.field(at).type) or pa.types.is_floating(schema.field(at).type)):
        new_columns = {name: str if kind is int else kind for name, kind in new_columns.items()}
    own = [field for field in schema if field.name not in new_columns]
    metadata = {name: value for name, value in (schema.metadata or {}).items() if name != b"huggingface"}
    new = [pa.field(name, _TYPES[kind]) for name, kind in new_columns.items()]
    return pa.schema([*own, *new], metadata=metadata if len(own) == len(schema) else None)


@contextmanager
def _convert_errors(name: str) -> Iterator[None]:
    try:
        yield
    except MemoryError as error:
        # A damaged file may declare a wrong length, and pyarrow allocates memory for this length. So an error of memory
        # is an error of the file.
        raise UnreadRowsError(
            f"this {name} cannot be read, or not completely: it asks for more memory than a file may take (setting "
            "file_memory_bytes)"
        ) from error
    except DocumentError:
        raise
    except Exception as error:
        # pyarrow raises errors of its own, but also Python's, so catch all errors.
        raise UnreadRowsError(f"this {name} cannot be read, or not completely: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().partition("\n")[0] or type(error).__name__)[:200]
