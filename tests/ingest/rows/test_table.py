"""CSV and TSV tables, valid and broken."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.errors import DocumentError
from whorl.ingest.rows.columns import Columns
from whorl.ingest.rows.table import Table


def read(content: bytes) -> list[tuple[int, object]]:
    return [
        (row.number, str(row.values) if isinstance(row.values, DocumentError) else row.values)
        for row in Table().rows(io.BytesIO(content), Columns())
    ]


def test_broken_rows_cost_no_others() -> None:
    """
    Rows with too few cells, invalid UTF-8 or a misplaced quote are errors with the number of their first line; other
    rows are read.
    """
    rows = read(b'id,text\n1,"one\nand more"\n2\n\n3,\xff\n4,"a"b\n5,five\n')
    assert rows == [
        (2, {"id": "1", "text": "one\nand more"}),
        (4, "this row has 1 cells, and the first line names 2 columns"),
        (6, "this row has bytes that are no UTF-8"),
        (7, "this is no row of the table: ',' expected after '\"'"),
        (8, {"id": "5", "text": "five"}),
    ]


def test_a_quote_that_nobody_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    An unclosed quote is an error, and its row is not kept in memory beyond the limit.
    """
    assert read(b'text\n"one\ntwo')[0][1] == "this is no row of the table: unexpected end of data"
    monkeypatch.setattr("whorl.ingest.rows.table.MOST_BYTES", 100)
    told = read(b'text\n"one\n' + b"x" * 150 + b"\nfine\n")
    assert str(told[0][1]) == "this row has more than 100 characters (setting max_file_text)"
    assert told[-1][1] == {"text": "fine"}
    monkeypatch.undo()
    assert read(b"text\nfine\n") == [(2, {"text": "fine"})]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_and_encodings(encoding: str, separator: str) -> None:
    """
    The separator is found in the first line, the encoding in the byte order mark.
    """
    content = f"id{separator}text{separator}a,b;c\r\n1{separator}ö{separator}2\r\n"
    if separator in ",;":
        content = content.replace("a,b;c", "z")
    rows = read(content.encode(encoding))
    assert [each for _, each in rows] == [{"id": "1", "text": "ö", "z" if separator in ",;" else "a,b;c": "2"}]


@given(st.lists(st.lists(st.text(st.characters(codec="utf-8")), min_size=2, max_size=2), max_size=5))
def test_what_is_written_is_read(rows: list[list[str]]) -> None:
    """
    Cells with any text are read, and are the same after rewriting.
    """
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([["id", "text"], *rows])
    content = out.getvalue().encode()
    assert [values for _, values in read(content)] == [dict(zip(("id", "text"), row, strict=True)) for row in rows]
    again = io.BytesIO()
    Table().rewrite(io.BytesIO(content), again, Columns(), lambda some: [{} for _ in some], {})
    assert read(again.getvalue()) == read(content)
