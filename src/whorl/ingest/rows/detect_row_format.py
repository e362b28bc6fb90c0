"""Detects files that hold many documents as rows, and their formats: by the first bytes, then by the name."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import PurePath
from typing import IO

from whorl.errors import DocumentError
from whorl.ingest.extraction.file_formats import MESSAGE_START
from whorl.ingest.file_limits import limit_memory
from whorl.ingest.rows.compression import CompressedFormat, open_compressed, packing_of
from whorl.ingest.rows.reader_client import ConfinedFormat
from whorl.ingest.rows.row_format import SUFFIXES, Extract, File, RowColumns, RowFormat, UnreadRowsError
from whorl.ingest.rows.text_rows import (
    JsonArrayFormat,
    JsonLinesFormat,
    TableFormat,
    begins_with_lines,
    is_row,
    is_table,
    require_no_nested_rows,
)

#: First bytes of unsupported formats, with their names for error messages.
_NOT_READ = (
    (b"ORC", "ORC"),
    (b"Obj\x01", "Avro"),
    (b"FEA1", "Feather of before 2020"),
    (b"SQLite format 3", "a database of SQLite"),
    (b"PARE", "encrypted Parquet"),
)
#: Bytes that do not occur in texts, to distinguish a file in a format such as ORC from a text such as "ORCHESTRA".
_BINARY = re.compile(rb"[\0-\x08\x0e-\x1a]")
_PARQUET, _ARROW, _ARROW_STREAM = b"PAR1", b"ARROW1\0\0", b"\xff\xff\xff\xff"
_COLUMNAR = (_PARQUET, _ARROW, _ARROW_STREAM)
#: Beginnings of web archives. Drafts of the format, as in ClueWeb09, are 0.17 and 0.18.
_WARC = (b"WARC/1.", b"WARC/0.1")
#: Maximum number of bytes of the first line to read for detecting the format.
_FIRST_LINE = 1_000_000
_HEAD = 64
_MARK = b"\xef\xbb\xbf"
#: Suffixes of mailboxes; Thunderbird and Unix mail give them none.
_MAILBOXES = ("", ".mbox")
_ARRAY = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*\{")
_STANDARD_INPUT = "-"


def format_of(
    opened: IO[bytes], file: PurePath, columns: RowColumns, extract: Extract, *, as_text: bool = False
) -> RowFormat | None:
    """Return the format of a file with many rows; None for a file that is a single document.

    The file is at position 0 before and after the call. With `as_text`, these are also single documents: tables, JSON
    arrays of values other than objects, and `.json` files whose lines lack the text column. Raises UnreadRowsError if
    the format is known but not supported.
    """
    if _is_confined(_head(opened)):
        return ConfinedFormat(opened, file, columns, extract)
    return detect(opened, file, columns, extract, as_text=as_text)


def detect(
    opened: IO[bytes], file: PurePath, columns: RowColumns, extract: Extract, *, as_text: bool = False
) -> RowFormat | None:
    """Like `format_of`, but the returned format reads the file in this process, not in a worker process."""
    head = _head(opened)
    try:
        if module := packing_of(head):
            return _detect_in_packed(opened, PurePath(file.stem), module, columns, extract)
        return _plain(opened, head, file, columns, extract, as_text=as_text)
    finally:
        opened.seek(0)


def is_columnar(opened: IO[bytes]) -> bool:
    """Check whether a file is Parquet or Arrow, where each column has one type; rewind the file."""
    return _head(opened).startswith(_COLUMNAR)


def _head(opened: IO[bytes]) -> bytes:
    opened.seek(0)
    head = opened.read(_HEAD)
    opened.seek(0)
    return head


def _is_confined(head: bytes) -> bool:
    """Check whether a file that begins with `head` is in a format that only a worker process reads."""
    return bool(packing_of(head)) or head.startswith((*_COLUMNAR, *_WARC))


def has_rows(content: bytes, file: PurePath) -> bool:
    """Check whether a file holds documents as rows. CSV and TSV count as one document, any compressed file as rows."""
    if _is_confined(content[:_HEAD]):
        return True
    with suppress(UnreadRowsError):
        return detect(io.BytesIO(content), file, RowColumns(), lambda raw, name: "", as_text=True) is not None
    return False


def first_row(file: File, columns: RowColumns, extract: Extract) -> Mapping[str, object]:
    """Return the values of the first readable row; an empty dict if the file has no rows."""
    with file.open("rb") as opened:
        form = format_of(opened, PurePath(file.name), columns, extract)
        rows = () if form is None else form.rows(opened, replace(columns, properties=None))
        return next((row.values for row in rows if not isinstance(row.values, DocumentError)), {})


def _detect_in_packed(
    opened: IO[bytes], file: PurePath, module: str, columns: RowColumns, extract: Extract
) -> RowFormat:
    """Detect the format of a packed file by its first bytes and its name (`file`, without a suffix such as `.gz`)."""
    with open_compressed(opened, module) as stream, limit_memory():
        # Read only the first line: a truncated file may end soon after it.
        start = io.BytesIO(stream.readline(_FIRST_LINE))
    head = _head(start)
    if head.startswith(_WARC) and module == "gzip":
        return _warc(extract, is_packed=True)
    inner = None
    # Parquet and Arrow files are read from their end, which is impossible in a compressed file.
    if not head.startswith((_PARQUET, _ARROW)):
        inner = _plain(start, head, file, columns, extract, as_text=False)
    if inner is None:
        raise UnreadRowsError(
            "this is compressed, and of such files JSON, tables, Arrow's streams and web archives are read; unpack it"
        )
    return CompressedFormat(inner, module)


def _plain(
    opened: IO[bytes], head: bytes, file: PurePath, columns: RowColumns, extract: Extract, *, as_text: bool
) -> RowFormat | None:
    suffix, start = file.suffix.lower(), head.removeprefix(_MARK)
    for mark, name in _NOT_READ:
        if head.startswith(mark) and _BINARY.search(head):
            raise UnreadRowsError(f"this is {name}, which is not read; make Parquet or JSON lines of it")
    if head.startswith(_COLUMNAR):
        _require("pyarrow", "Parquet" if head.startswith(_PARQUET) else "Arrow")
        from whorl.ingest.rows.arrow import ArrowFormat, ParquetFormat

        return ParquetFormat() if head.startswith(_PARQUET) else ArrowFormat(is_stream=head.startswith(_ARROW_STREAM))
    if head.startswith(_WARC):
        return _warc(extract, is_packed=False)
    if suffix in _MAILBOXES and MESSAGE_START.match(_first_line(opened)):
        from whorl.ingest.rows.mailbox import MailboxFormat

        return MailboxFormat(extract)
    if suffix in SUFFIXES["json"] or (start.startswith(b"{") and is_row(_first_line(opened), columns)):
        return JsonLinesFormat()
    if suffix == ".json" and start.lstrip().startswith(b"{"):
        is_text_needed = as_text and not columns.id
        if begins_with_lines(opened, columns, is_text_needed=is_text_needed):
            return JsonLinesFormat()
        if columns.text and not is_text_needed:
            require_no_nested_rows(opened, columns)
    if suffix in SUFFIXES["csv"] and not as_text:
        return TableFormat()
    if suffix == ".json" and start.lstrip().startswith(b"[") and (_ARRAY.match(head) or not as_text):
        return JsonArrayFormat()
    return None if as_text or file.name != _STANDARD_INPUT else _format_of_content(opened, head, columns)


def _format_of_content(opened: IO[bytes], head: bytes, columns: RowColumns) -> RowFormat | None:
    """Detect the format of rows on standard input from their content; return None for a text."""
    if _ARRAY.match(head):
        return JsonArrayFormat()
    if columns.is_text_named and head.removeprefix(_MARK).startswith(b"{"):
        return JsonLinesFormat()
    return TableFormat() if columns.is_text_named or is_table(opened, columns) else None


def _first_line(opened: IO[bytes]) -> bytes:
    line = opened.readline(_FIRST_LINE)
    opened.seek(0)
    return line


def _warc(extract: Extract, *, is_packed: bool) -> RowFormat:
    _require("warcio", "WARC")
    from whorl.ingest.rows.warc import WarcFormat

    return WarcFormat(extract, is_packed=is_packed)


def _require(library: str, name: str) -> None:
    if find_spec(library) is None:
        raise UnreadRowsError(f"reading {name} needs more: pip install 'whorl[data]'")
