"""Files of many documents, recognised by their content, and refused formats."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import json
import lzma
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from tests.ingest.test_files import read
from whorl import Document
from whorl.errors import DocumentError
from whorl.ingest.files import Problem, documents_in, text_from_bytes
from whorl.ingest.rows.detect_row_format import detect, format_of
from whorl.ingest.rows.row_format import Row, RowColumns, RowFormat, UnreadRowsError
from whorl.ingest.rows.text_rows import JsonLinesFormat

# Compressed and columnar files are read in another process.
pytestmark = pytest.mark.process

DOCUMENTS = [Document("a", "one two", properties={"year": 2020}), Document("b", "three")]
LINES = b'{"id": "a", "text": "one two", "year": 2020}\n{"id": "b", "text": "three"}\n'


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson.packed", "train.json", "part-0001"])
def test_json_lines_by_their_content(tmp_path: Path, name: str, pack: Callable[[bytes], bytes]) -> None:
    """
    JSON lines are recognised plain or compressed, under any name.
    """
    (tmp_path / name).write_bytes(pack(LINES))
    assert read(tmp_path) == (DOCUMENTS, [])


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"\n", b"  ", b" \r\n\n "])
@pytest.mark.parametrize("columns", [RowColumns(), RowColumns(text="body"), RowColumns(text="year")])
def test_json_lines_with_the_suffix_of_json(start: bytes, columns: RowColumns) -> None:
    """
    Two lines of objects in a .json file are rows, also after blanks; for `index`, one of the two needs a text column.
    """
    file = PurePath("a.json")
    assert isinstance(format_of(io.BytesIO(start + LINES), file, columns, text_from_bytes), JsonLinesFormat)
    form = format_of(io.BytesIO(start + LINES), file, columns, text_from_bytes, as_text=True)
    assert isinstance(form, JsonLinesFormat) == (columns.text != "body")


@pytest.mark.parametrize(
    ("content", "columns", "reason"),
    [
        ('{"data": [{"id": 1, "text": "a"}], "n": 1}', RowColumns(), "are in its member 'data'"),
        ('{"n": [], "data": [{"body": "a"}]}', RowColumns(text="body"), "are in its member 'data'"),
        ('{\n "id": 1,\n "text": "a"\n}', RowColumns(), "one object on several lines"),
        ('{"data": [{"body": "a"}], "rows": [3], "none": []}', RowColumns(), None),
        ('{"data": [{"text": "a"}]', RowColumns(), None),
        ('{"a": 1}\nand text', RowColumns(), None),
        ("{}", RowColumns(), None),
    ],
)
def test_rows_within_an_object_are_refused(content: str, columns: RowColumns, reason: str | None) -> None:
    """
    An object on several lines, or with rows in a member, is an error if rows are wanted; other JSON is one text.
    """
    file = PurePath("a.json")
    assert format_of(io.BytesIO(content.encode()), file, columns, text_from_bytes, as_text=True) is None
    assert format_of(io.BytesIO(content.encode()), PurePath("a.txt"), columns, text_from_bytes) is None
    if reason is None:
        assert format_of(io.BytesIO(content.encode()), file, columns, text_from_bytes) is None
    else:
        with pytest.raises(UnreadRowsError, match=reason):
            format_of(io.BytesIO(content.encode()), file, columns, text_from_bytes)


def test_an_array_of_documents(tmp_path: Path) -> None:
    """
    Each object is a document; any other item is a problem with its number.
    """
    (tmp_path / "a.json").write_bytes(
        b'\xef\xbb\xbf [{"id": "a", "text": "one two", "year": 2020}, 3, {"id": "b", "text": "three"}]'
    )
    documents, problems = read(tmp_path)
    assert documents == DOCUMENTS
    reason = 'a line is an object with at least "id" and "text"'
    assert problems == [Problem(f"{tmp_path / 'a.json'}, document 2", reason)]


ROWS: list[dict[str, Any]] = [
    {"id": "a", "text": "one two", "year": 2020, "meta": {"by": ["x"]}},
    {"id": "b", "text": "three", "year": 2021, "meta": {"by": []}},
    {"id": "c", "text": "föur", "year": None, "meta": None},
]


def arrow_of(new: Callable[[io.BytesIO, pa.Schema], Any]) -> bytes:
    out, table = io.BytesIO(), pa.Table.from_pylist(ROWS)
    with new(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def lines_of(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def packed(content: bytes) -> bytes:
    """Return the compressed content without a time stamp, so that all xdist workers have the same test ids."""
    return gzip.compress(content, mtime=0)


MADE = {
    "parquet": arrow_of(pq.ParquetWriter),
    "arrow": arrow_of(pa.ipc.new_file),
    "stream": arrow_of(pa.ipc.new_stream),
    "stream.gz": packed(arrow_of(pa.ipc.new_stream)),
    "jsonl": lines_of(*ROWS),
    "jsonl.gz": packed(lines_of(*ROWS)),
    "jsonl.zst": zstandard.compress(lines_of(*ROWS[:1])) + zstandard.compress(lines_of(*ROWS[1:])),
    "jsonl.bz2": bz2.compress(lines_of(*ROWS)),
    "jsonl.xz": lzma.compress(lines_of(*ROWS)),
    "json": json.dumps(ROWS).encode(),
    "csv": 'id,text,year\na,"one two",2020\nb,three,2021\nc,föur,\n'.encode(),
    "tsv": "id\ttext\tyear\r\na\tone two\t2020\r\nb\tthree\t2021\r\nc\tföur\t\r\n".encode(),
    "csv.zst": zstandard.compress("id;text;year\na;one two;2020\nb;three;2021\nc;föur;\n".encode()),
}
TEXTS = [("a", "one two"), ("b", "three"), ("c", "föur")]


@pytest.mark.parametrize("kind", MADE)
def test_the_same_rows_in_every_format(tmp_path: Path, kind: str) -> None:
    """
    All formats give the same rows, recognised by content where possible, whatever the name; other columns are ignored
    unless requested.
    """
    file = tmp_path / f"rows.{kind}"
    file.write_bytes(MADE[kind])
    for columns in (RowColumns(properties=frozenset()), RowColumns(properties=frozenset({"year"}), id="id")):
        problems: list[Problem] = []
        documents = list(documents_in(file, problems.append, columns, on_text_table=None))
        assert ([(document.id, document.text) for document in documents], problems) == (TEXTS, [])
    assert str(documents[0].properties["year"][0]) == "2020"  # type: ignore[index]
    places = [
        document.id
        for document in documents_in(
            file, problems.append, RowColumns(id="", properties=frozenset()), on_text_table=None
        )
    ]
    first = 2 if "sv" in kind else 1
    assert places == [f"{file}:{first + at}" for at in range(3)]
    if not any(ending in kind for ending in ("sv", "json")):
        file.rename(tmp_path / "part-0")
        assert len(list(documents_in(tmp_path / "part-0", problems.append, RowColumns(properties=frozenset())))) == 3


@pytest.mark.parametrize("kind", MADE)
def test_a_missing_column(tmp_path: Path, kind: str) -> None:
    """
    The error names the missing column and the existing ones.
    """
    file = tmp_path / f"rows.{kind}"
    file.write_bytes(MADE[kind])
    for columns in (RowColumns(text="content"), RowColumns(id="url")):
        problems: list[Problem] = []
        assert list(documents_in(file, problems.append, columns, on_text_table=None)) == []
        assert "'year'" in problems[0].reason
        assert "-column)" in problems[0].reason


@pytest.mark.parametrize("more", [{}, {"cluster": "x", "is_principal": True, "similarity": 0.5}])
@pytest.mark.parametrize("kind", MADE)
def test_rows_that_stay_in_every_format(kind: str, more: dict[str, Any]) -> None:
    """
    A rewritten file keeps its format, order and other columns; columns can be added.
    """
    added = {name: type(value) for name, value in more.items()}

    def decide(rows: Sequence[Row]) -> list[dict[str, Any] | None]:
        return [None if isinstance(row.values, DocumentError) or row.values["id"] == "b" else more for row in rows]

    opened, out = io.BytesIO(MADE[kind]), io.BytesIO()
    form_in(opened, kind).rewrite(opened, out, RowColumns(properties=frozenset()), decide, added)
    again = io.BytesIO(out.getvalue())
    rows = [row.values for row in form_in(again, kind).rows(again, RowColumns())]
    wanted: list[dict[str, Any]] = [{**row, **more} for row in ROWS if row["id"] != "b"]
    if "sv" in kind:
        wanted = [
            {key: cell(value) for key, value in row.items() if key != "meta" and value is not None} for row in wanted
        ]
    assert rows == wanted


def form_in(opened: io.BytesIO, kind: str) -> RowFormat:
    form = format_of(opened, PurePath(f"rows.{kind}"), RowColumns(), text_from_bytes)
    assert form is not None
    return form


def cell(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.json", b'["one text", "another"]', '"id" and "text"'),
        ("a.json", b"[]", '"id" and "text"'),
        ("a.json", b'[{"id": "a", "text"', "not JSON"),
        ("a.json", b"[" * 100_000, "not JSON"),
        ("a.bin", b"PAR1\x15\x04\x15\x10", "Parquet"),
        ("a.parquet", MADE["parquet"][:-20], "Parquet"),
        ("a.arrow", b"ARROW1\0\0\xff\xff", "Arrow"),
        ("a.parquet.gz", packed(MADE["parquet"]), "unpack it"),
        ("a.orc", b"ORC\x08\x03", "ORC"),
        ("a.parquet", b"PARE\x10\0\0\0", "encrypted Parquet"),
        ("a.avro", b"Obj\x01\x04", "Avro"),
        ("a.csv", b"", "no column 'text'"),
        ("a.csv", b'id,"text', "the first line"),
        ("a.txt.gz", packed(b"some plain text"), "unpack it"),
        ("a.jsonl", LINES.decode().encode("utf-16"), "UTF-8"),
    ],
)
def test_unsupported_formats_are_refused_by_name(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    """
    No part of a refused file becomes a document; the number of lost documents is unknown.
    """
    (tmp_path / name).write_bytes(content)
    problems: list[Problem] = []
    assert list(documents_in(tmp_path / name, problems.append, on_text_table=None)) == []
    assert [(reason in problem.reason, problem.documents) for problem in problems] == [(True, None)]


@pytest.mark.parametrize("text", ["ORCHESTRA rehearsal\ton Tuesday", "PARENTS and teachers\r\nmet", "FEA1 is a name"])
def test_texts_that_begin_like_other_formats(tmp_path: Path, text: str) -> None:
    """
    A text that begins with the letters of an unsupported format is a document.
    """
    (tmp_path / "a.txt").write_bytes(text.encode())
    problems: list[Problem] = []
    assert [document.text for document in documents_in(tmp_path / "a.txt", problems.append)] == [text]
    assert problems == []


@pytest.mark.parametrize("version", ["0.17", "0.18", "1.0", "1.1"])
def test_versions_of_web_archives(tmp_path: Path, version: str) -> None:
    """
    Drafts of the format and its versions are read page by page, also packed.
    """
    page = (
        f"WARC/{version}\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:uuid:1>\r\nContent-Type: text/plain\r\n"
        "Content-Length: 5\r\n\r\nwords\r\n\r\n"
    ).encode()
    for content in (page, gzip.compress(page)):
        (tmp_path / "a").write_bytes(content)
        problems: list[Problem] = []
        found = [(document.id, document.text) for document in documents_in(tmp_path / "a", problems.append)]
        assert (found, problems) == ([("<urn:uuid:1>", "words")], [])


def test_missing_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The problem names the extra to install.
    """
    monkeypatch.setattr("whorl.ingest.rows.detect_row_format.find_spec", lambda name: None)
    for content in (MADE["parquet"], MADE["arrow"], b"WARC/1.0\r\n"):
        with pytest.raises(UnreadRowsError, match=r"pip install 'whorl\[data\]'"):
            detect(io.BytesIO(content), PurePath("a"), RowColumns(), text_from_bytes)


TABLE = b"id;text\n1;one two\n"
PROSE = b"the text, in a letter\none two\n"


@pytest.mark.parametrize(
    ("content", "text_column", "as_text", "name"),
    [
        (TABLE, None, False, "TableFormat"),
        (b"text\none two\n", None, False, "TableFormat"),
        (codecs.BOM_UTF16_LE + TABLE.decode().encode("utf-16-le"), None, False, "TableFormat"),
        (PROSE, None, False, None),
        (b"", None, False, None),
        (TABLE, None, True, None),
        (LINES, None, True, "JsonLinesFormat"),
        (b' [{"text": "one"}]', None, False, "JsonArrayFormat"),
        (b' [{"text": "one"}]', None, True, None),
        (b'{"body": "one"}\n', "text", False, "JsonLinesFormat"),
        (PROSE, "body", False, "TableFormat"),
    ],
)
def test_standard_input_by_its_content(
    content: bytes, text_column: str | None, as_text: bool, name: str | None
) -> None:
    """
    Standard input has no suffix: it has rows if its first line names the text column, or if the user names that column.
    """
    columns = RowColumns.from_names(text_column, None)
    form = format_of(io.BytesIO(content), PurePath("-"), columns, text_from_bytes, as_text=as_text)
    assert (form and type(form).__name__) == name
    assert (
        format_of(io.BytesIO(TABLE), PurePath("letter.txt"), RowColumns.from_names("text", None), text_from_bytes)
        is None
    )


def test_tables_are_plain_text_when_indexing(tmp_path: Path) -> None:
    """
    When indexing, a table, an array of numbers, and an object that is not a document are read as plain text.
    """
    for name, content in (
        ("a.csv", "x,y\n1,2\n"),
        ("b.json", "[1, 2]"),
        ("c.json", '{"a": 1}\n'),
        ("d.json", "[broken"),
    ):
        (tmp_path / name).write_text(content)
    documents, problems = read(tmp_path)
    assert [document.text for document in documents] == ["x,y\n1,2\n", "[1, 2]", '{"a": 1}\n', "[broken"]
    assert problems == []


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zstandard.compress])
def test_a_compressed_file_that_was_cut(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    """
    Rows before the cut are read, and the rest is reported once.
    """
    many = "".join(json.dumps({"id": str(at), "text": f"text {at * at}"}) + "\n" for at in range(2_000)).encode()
    packed = pack(many)
    (tmp_path / "a.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    documents, (problem,) = read(tmp_path)
    assert len(documents) < 2_000
    assert "cannot be unpacked completely" in problem.reason
    assert problem.documents is None
