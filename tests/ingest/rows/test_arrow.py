"""Parquet and Arrow: kept types, bounded memory, and unreadable values."""

from __future__ import annotations

import gzip
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.sampling import thorough
from whorl.errors import DocumentError
from whorl.ingest.rows.arrow import ArrowFormat, ParquetFormat, _count_nested_values
from whorl.ingest.rows.compression import open_compressed
from whorl.ingest.rows.row_format import RowColumns, UnreadRowsError

SCHEMA = pa.schema(
    [
        pa.field("text", pa.large_string(), nullable=False),
        pa.field("when", pa.timestamp("ns", "UTC")),
        pa.field("lang", pa.dictionary(pa.int8(), pa.string())),
        pa.field("tags", pa.list_(pa.struct([("a", pa.int16())]))),
    ],
    metadata={"of": "somebody"},
)
TABLE = pa.table(
    {
        "text": [f"text {at}" for at in range(3000)],
        "when": pa.array(
            [at * 10**18 for at in range(3000 % 9)] + [None] * (3000 - 3000 % 9), SCHEMA.field("when").type
        ),
        "lang": pa.array(["de", "en", None] * 1000).dictionary_encode().cast(SCHEMA.field("lang").type),
        "tags": [[{"a": 1}, {"a": None}], None, []] * 1000,
    },
    schema=SCHEMA,
)


def dictionary_column(indices: Sequence[int | None], values: Sequence[str], *, ordered: bool) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(values), ordered=ordered)


@pytest.mark.parametrize("ordered", [False, True])
def test_a_large_dictionary_is_written_once(ordered: bool) -> None:
    """
    A rewritten file has as many row groups as the input, and the values of kept rows only, in the order of the input.
    """
    values = [f"{at} {at * 7919 % 9973:0100}" for at in range(9_000)]
    table = pa.table({"text": dictionary_column([*range(8_999, -1, -1)], values, ordered=ordered)})
    source, out = io.BytesIO(), io.BytesIO()
    pq.write_table(table, source)
    size = source.tell()
    source.seek(0)
    ParquetFormat().rewrite(
        source, out, RowColumns(), lambda rows: [{} if row.number % 2 else None for row in rows], {}
    )
    written = pq.ParquetFile(io.BytesIO(out.getvalue()))
    assert (written.metadata.num_row_groups, written.schema_arrow) == (1, pq.ParquetFile(source).schema_arrow)
    assert out.tell() < size * 0.7
    column = written.read().column("text").combine_chunks()
    assert column.to_pylist() == values[::-2]
    assert column.dictionary.to_pylist() == values[1::2]


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("index", [pa.int8(), pa.int32()])
def test_dictionaries_of_row_groups_differ(ordered: bool, index: pa.DataType) -> None:
    """
    A rewritten file has the values and types of the input, and the order of ordered categories.
    """
    kind = pa.dictionary(index, pa.string(), ordered=ordered)
    source, out = io.BytesIO(), io.BytesIO()
    with pq.ParquetWriter(source, pa.schema([("text", kind)])) as writer:
        for begin in (0, 100, 50):
            texts = [f"text {at}" for at in range(begin, begin + 100)]
            column = dictionary_column([*range(99, -1, -1), *[None] * 5], texts, ordered=ordered)
            writer.write_table(pa.table({"text": column.cast(kind)}))
    source.seek(0)
    ParquetFormat().rewrite(source, out, RowColumns(), lambda rows: [{} for row in rows], {})
    read, written = pq.ParquetFile(source), pq.ParquetFile(io.BytesIO(out.getvalue()))
    assert written.schema_arrow == read.schema_arrow
    assert written.read().to_pylist() == read.read().to_pylist()
    if ordered:
        assert [written.read_row_group(at).column(0).chunk(0).dictionary for at in range(3)] == [
            read.read_row_group(at).column(0).chunk(0).dictionary for at in range(3)
        ]


def test_small_dictionaries_stay_whole() -> None:
    """
    Categories without a row keep their places, because programs may use the numbers of categories.
    """
    source, out = io.BytesIO(), io.BytesIO()
    pq.write_table(pa.table({"text": dictionary_column([0, 2], ["a", "b", "c"], ordered=False)}), source)
    source.seek(0)
    ParquetFormat().rewrite(source, out, RowColumns(), lambda rows: [None, {}], {})
    assert pq.ParquetFile(out).read().column("text").chunk(0).dictionary.to_pylist() == ["a", "b", "c"]


@pytest.mark.parametrize("compression", ["zstd", "snappy", "none"])
def test_types_stay(compression: str) -> None:
    """
    A rewritten file has the schema, metadata and compression of the input, and all values of the kept rows.
    """
    source, out = io.BytesIO(), io.BytesIO()
    pq.write_table(TABLE, source, compression=compression, row_group_size=700)
    source.seek(0)
    columns = RowColumns(properties=frozenset())
    ParquetFormat().rewrite(source, out, columns, lambda rows: [{} if row.number % 2 else None for row in rows], {})
    written = pq.ParquetFile(io.BytesIO(out.getvalue()))
    assert written.schema_arrow.equals(pq.ParquetFile(source).schema_arrow, check_metadata=True)
    assert written.metadata.row_group(0).column(0).compression == {"none": "UNCOMPRESSED"}.get(
        compression, compression.upper()
    )
    assert written.metadata.num_row_groups == 1
    assert written.read().to_pylist() == TABLE.to_pylist()[::2]


@pytest.mark.parametrize("is_compliant", [False, True])
def test_compression_of_each_column(is_compliant: bool) -> None:
    """
    Each column of a rewritten Parquet file has the codec that it has in the input, and a new one the most frequent.
    """
    source, out = io.BytesIO(), io.BytesIO()
    codecs = {"text": "ZSTD", "when": "NONE", "tags": "GZIP", "lang": "LZ4", "a.b": "ZSTD"}
    inner = "tags.list.element.a" if is_compliant else "tags.list.item.a"
    table = TABLE.append_column("a.b", pa.nulls(3000, pa.int8()))
    given = {inner if name == "tags" else name: codec for name, codec in codecs.items()}
    pq.write_table(table, source, compression=given, use_compliant_nested_type=is_compliant)
    source.seek(0)
    ParquetFormat().rewrite(
        source, out, RowColumns(), lambda rows: [{"cluster": "x"} for row in rows], {"cluster": str}
    )
    group = pq.ParquetFile(io.BytesIO(out.getvalue())).metadata.row_group(0)
    columns = [group.column(at) for at in range(group.num_columns)]
    actual = {
        ("a.b" if column.path_in_schema == "a.b" else column.path_in_schema.partition(".")[0]): column.compression
        for column in columns
    }
    assert actual == {**codecs, "when": "UNCOMPRESSED", "cluster": "ZSTD"}


@pytest.mark.parametrize("compression", ["zstd", "lz4", None])
@pytest.mark.parametrize("is_stream", [False, True])
def test_compression_of_arrow(is_stream: bool, compression: str | None) -> None:
    """
    Rewritten Arrow files and streams are compressed like the input.
    """
    new = pa.ipc.new_stream if is_stream else pa.ipc.new_file

    def written(compression: str | None) -> io.BytesIO:
        out = io.BytesIO()
        with new(out, SCHEMA, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
            writer.write_table(TABLE)
        out.seek(0)
        return out

    out = io.BytesIO()
    form = ArrowFormat(is_stream=is_stream)
    form.rewrite(written(compression), out, RowColumns(), lambda rows: [{} for row in rows], {})
    begins = {"zstd": b"\x28\xb5\x2f\xfd", "lz4": b"\x04\x22\x4d\x18"}
    for file in (written(compression), out):
        assert [codec for codec, begin in begins.items() if begin in file.getvalue()] == [compression] * bool(
            compression
        )
    out.seek(0)
    read = pa.ipc.open_stream(out) if is_stream else pa.ipc.open_file(out)
    assert read.read_all().to_pylist() == TABLE.to_pylist()
    empty, out = io.BytesIO(), io.BytesIO()
    with new(empty, SCHEMA):
        pass
    empty.seek(0)
    form.rewrite(empty, out, RowColumns(), lambda rows: [], {})
    assert out.getvalue() == empty.getvalue()


def test_columns_are_added_behind() -> None:
    """
    A new column replaces one of the same name; the metadata about the columns is dropped.
    """
    source, out = io.BytesIO(), io.BytesIO()
    with pa.ipc.new_stream(source, SCHEMA) as writer:
        writer.write_table(TABLE)
    source.seek(0)
    ArrowFormat(is_stream=True).rewrite(
        source, out, RowColumns(), lambda rows: [{"lang": str(row.number)} for row in rows], {"lang": str}
    )
    table = pa.ipc.open_stream(io.BytesIO(out.getvalue())).read_all()
    assert (table.schema.names, table.schema.metadata) == (["text", "when", "tags", "lang"], None)
    assert table["lang"].to_pylist() == [str(at) for at in range(1, 3001)]


def test_added_columns_keep_the_index_of_pandas() -> None:
    """
    The metadata of pandas names its index; the list of columns of Hugging Face's datasets is dropped.
    """
    metadata = {b"pandas": b'{"index_columns": ["id"]}', b"huggingface": b'{"info": {"features": {}}}'}
    source, out = io.BytesIO(), io.BytesIO()
    pq.write_table(pa.table({"id": ["a"], "text": ["b"]}).replace_schema_metadata(metadata), source)
    source.seek(0)
    ParquetFormat().rewrite(source, out, RowColumns(), lambda rows: [{"cluster": "a"} for _ in rows], {"cluster": str})
    schema = pq.ParquetFile(out).schema_arrow
    assert schema.names == ["id", "text", "cluster"]
    assert schema.metadata == {b"pandas": metadata[b"pandas"]}


def test_a_value_that_is_no_text_costs_its_row() -> None:
    """
    Only the row is lost if a string column contains invalid UTF-8.
    """
    broken = pa.array([b"fine", b"\xff\xfe", b"fine"]).view(pa.string())
    source = io.BytesIO()
    pq.write_table(pa.table({"text": broken}), source)
    source.seek(0)
    rows = [row.values for row in ParquetFormat().rows(source, RowColumns())]
    assert rows[0] == rows[2] == {"text": "fine"}
    assert isinstance(rows[1], DocumentError)


def test_a_file_that_is_broken_within() -> None:
    """
    Rows before the damage are read, and the rest is reported once.
    """
    source = io.BytesIO()
    pq.write_table(TABLE, source, row_group_size=600, compression="zstd", use_dictionary=False)
    at = pq.ParquetFile(source).metadata.row_group(4).column(0).data_page_offset
    raw = bytearray(source.getvalue())
    raw[at : at + 60] = b"\xff" * 60
    numbers: list[int] = []
    with pytest.raises(UnreadRowsError, match="this Parquet cannot be read, or not completely"):
        numbers.extend(
            row.number for row in ParquetFormat().rows(io.BytesIO(bytes(raw)), RowColumns(properties=frozenset()))
        )


@pytest.mark.slow
def test_a_large_group_takes_little_memory() -> None:
    """
    Reading a row group of 60 MB takes less than a quarter of its size in memory.
    """
    source = io.BytesIO()
    table = pa.table({"text": [f"{at} " * 400 for at in range(30_000)]})
    pq.write_table(table, source, use_dictionary=False, compression="none", data_page_size=1 << 16)
    size = table.nbytes
    del table
    before, most = pa.total_allocated_bytes(), 0
    for _ in ParquetFormat().rows(source, RowColumns()):
        most = max(most, pa.total_allocated_bytes() - before)
    assert size > 50_000_000
    assert most < size / 4


@pytest.mark.parametrize("is_stream", [False, True])
def test_values_that_lie_outside_of_their_batch(is_stream: bool) -> None:
    """
    A damaged file, here a text that ends before it begins, is an error and does not crash the process.
    """
    offsets = pa.py_buffer(np.array([0, 2_000_000_000, 5], np.int32))
    damaged = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"words"))
    out, schema = io.BytesIO(), pa.schema([("id", pa.string()), ("text", pa.string())])
    with (pa.ipc.new_stream if is_stream else pa.ipc.new_file)(out, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays([pa.array(["a", "b"]), damaged], schema=schema))
    with pytest.raises(UnreadRowsError, match="this Arrow cannot be read"):
        list(ArrowFormat(is_stream=is_stream).rows(io.BytesIO(out.getvalue()), RowColumns()))


def test_text_of_another_encoding_in_a_sound_file() -> None:
    """
    Invalid UTF-8 makes only its row unreadable, not the file.
    """
    offsets = pa.py_buffer(np.array([0, 2, 4], np.int32))
    texts = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"ok\xff\xfe"))
    out, schema = io.BytesIO(), pa.schema([("text", pa.string())])
    with pa.ipc.new_stream(out, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays([texts], schema=schema))
    rows = list(ArrowFormat(is_stream=True).rows(io.BytesIO(out.getvalue()), RowColumns()))
    assert rows[0].values == {"text": "ok"}
    assert isinstance(rows[1].values, DocumentError)


@pytest.mark.parametrize(("compression", "said"), [("zstd", 500), (None, 512)])
def test_a_length_beyond_all_memory(compression: str | None, said: int, tmp_path: Path) -> None:
    """
    A length beyond all memory, of a message or of a compressed buffer, is an error.
    """
    out, schema = io.BytesIO(), pa.schema([("text", pa.string())])
    with pa.ipc.new_stream(out, schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays([pa.array(["words" * 100])], schema=schema))
    before, length, behind = out.getvalue().rpartition(said.to_bytes(8, "little"))
    assert length
    damaged = before + (1 << 50).to_bytes(8, "little") + behind
    (tmp_path / "damaged").write_bytes(damaged)
    for opening in (
        (tmp_path / "damaged").open("rb"),
        open_compressed(io.BytesIO(gzip.compress(damaged)), "gzip"),
    ):
        with (
            opening as opened,
            pytest.raises(UnreadRowsError, match=r"this Arrow cannot be read.* more memory than a file may take"),
        ):
            list(ArrowFormat(is_stream=True).rows(opened, RowColumns()))


@thorough
def test_lists_count_by_their_values() -> None:
    """
    A small Parquet with millions of list values becomes objects in small groups, and is refused above the memory limit.
    """
    lists = pa.array([[0] * 20_000] * 2_000, pa.list_(pa.int8()))
    content = io.BytesIO()
    pq.write_table(pa.table({"text": ["a b c d e f"] * 2_000, "numbers": lists}), content)
    assert len(content.getvalue()) < 100_000
    groups = ParquetFormat().groups(content, RowColumns(properties=None))
    rows: list[int] = []
    with pytest.raises(UnreadRowsError, match=r"200 times its size and more than 1,000,000,000 bytes"):
        rows.extend(len(group) for _, group in groups)
    assert 0 < max(rows) <= 10
    assert sum(rows) < 2_000


def test_values_of_nested_columns() -> None:
    """
    Lists, maps and records within each other are counted value by value.
    """
    kinds = {
        "lists": (pa.list_(pa.list_(pa.int8())), [[[1, 2], [3]], None, [[]]], 6),
        "records": (
            pa.struct({"a": pa.int8(), "b": pa.list_(pa.int8())}),
            [{"a": 1, "b": [1, 2]}, {"a": 2, "b": []}],
            6,
        ),
        "maps": (pa.map_(pa.string(), pa.int8()), [[("a", 1), ("b", 2)], []], 2),
        "texts": (pa.string(), ["a"], 0),
    }
    for kind, values, expected in kinds.values():
        assert _count_nested_values(pa.array(values, kind)) == expected
