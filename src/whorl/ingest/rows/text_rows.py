"""Reads and writes rows as text: JSON lines, JSON arrays, and tables with a header line (CSV, TSV)."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import IO, TYPE_CHECKING, Self

import numpy as np
import orjson

from whorl.errors import DocumentError, invalid_byte
from whorl.ingest.extraction.detect_encoding import EXAMINED_BYTES, encoding_of_mark, is_mostly_utf_8, probable_encoding
from whorl.ingest.file_limits import file_limits
from whorl.ingest.rows.row_format import (
    CELL_BYTES,
    MOST_BYTES,
    Added,
    Decide,
    FileSpan,
    ReadableStream,
    Row,
    RowColumns,
    RowFormat,
    UnreadRowsError,
    has_column,
    portions,
    row_id,
    rows_with_text,
)

if TYPE_CHECKING:
    from whorl.model import Document

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NO_DOCUMENT = 'a line is an object with at least "id" and "text"'
_LINE_END = ord("\n")
_BLANKS = re.compile(r"[ \t\n\r]*")
#: Smallest absolute value of a float that orjson may have converted from a large integer.
_LARGE = 2.0**63
#: Approximate size in bytes of the parts of a file that several processes read.
_SPAN = 1 << 22
#: Maximum number of bytes of blank lines between two lines with content.
_MOST_BLANK = 1_000_000
#: JSON of up to `_MODEST` bytes takes little memory, whatever it contains. Larger JSON is estimated to take
#: `_BYTES_A_CHARACTER` bytes for each character and `_BYTES_A_VALUE` bytes for each value.
_MODEST, _BYTES_A_CHARACTER, _BYTES_A_VALUE = 1 << 20, 8, 80


class JsonLinesFormat(RowFormat):
    """Format of files with one JSON object per line, in UTF-8."""

    def spans(self, opened: IO[bytes], columns: RowColumns) -> Iterator[FileSpan | None]:
        rows_with_text(self, opened, columns)
        opened.seek(0)
        begin = before = 0
        while block := opened.read(_SPAN):
            # Do not use `block.count`, which stops at every line end, and takes three times as long.
            lines = int(np.count_nonzero(np.frombuffer(block, np.uint8) == _LINE_END))
            end = begin + len(block)
            while not block.endswith(b"\n") and (block := opened.readline(MOST_BYTES)):
                end, lines = end + len(block), lines + block.count(b"\n")
            yield FileSpan(begin, end, before)
            begin, before = end, before + lines

    def rows(self, opened: IO[bytes], columns: RowColumns, span: FileSpan | None = None) -> Iterator[Row]:
        for number, line in _lines(opened, span):
            yield _row(number, line)

    def rewrite(self, opened: IO[bytes], out: IO[bytes], columns: RowColumns, decide: Decide, added: Added) -> None:
        for lines in portions(_lines(opened), lambda line: len(line[1]) if isinstance(line[1], bytes) else 0):
            rows = [_row(*numbered_line) for numbered_line in lines]
            for row, (_, line), more in zip(rows, lines, decide(rows), strict=True):
                if more is None or isinstance(row.values, DocumentError) or isinstance(line, DocumentError):
                    continue
                line_end = b"\r\n" if line.endswith(b"\r\n") else b"\n"
                out.write(_updated(line.removeprefix(_BYTE_ORDER_MARK).rstrip(b"\r\n"), row.values, more) + line_end)


class JsonArrayFormat(RowFormat):
    """Format of files with one JSON array of objects. A file is read into memory as a whole."""

    def rows(self, opened: IO[bytes], columns: RowColumns, span: FileSpan | None = None) -> Iterator[Row]:
        for row, _ in _array(opened)[1]:
            yield row

    def rewrite(self, opened: IO[bytes], out: IO[bytes], columns: RowColumns, decide: Decide, added: Added) -> None:
        text, elements = _array(opened)
        remaining = [
            # UTF-8 cannot encode lone surrogates, so escape them. They are only in strings, which may contain escapes.
            _updated(text[span].encode("utf-8", "backslashreplace"), row.values, more)
            for (row, span), more in zip(elements, decide([row for row, _ in elements]), strict=True)
            if more is not None and not isinstance(row.values, DocumentError)
        ]
        out.write(b"[\n" + b",\n".join(remaining) + b"\n]\n")


def json_document(line: bytes) -> Document:
    """Return the document of one JSON line, with other keys as properties; raise DocumentError for any other line."""
    values = _object(_json(line))
    if "id" not in values or "text" not in values:
        raise DocumentError(_NO_DOCUMENT)
    if row_id(values["id"]) is None:
        raise DocumentError(f"id must be text, got {values['id']!r}")
    if isinstance(values["text"], list):
        raise DocumentError("text must be text, got a list")
    return RowColumns(id="id").document(values, "", 0)


def is_row(line: bytes, columns: RowColumns) -> bool:
    """Check whether a line is a JSON object with the required columns."""
    try:
        columns.require(_object(_json(line)))
    except DocumentError:
        return False
    return True


def begins_with_lines(opened: IO[bytes], columns: RowColumns, *, is_text_needed: bool) -> bool:
    """Check whether the beginning of a file looks like JSON lines; rewind the file.

    JSON lines begin with a row that has a text, or with two JSON objects. With `is_text_needed`, one of the two objects
    must be a row with a text.
    """
    opened.seek(0)
    lines: list[bytes] = []
    while len(lines) < 2 and (line := opened.readline(_HEADING)) and opened.tell() < 2 * _HEADING:
        if line.strip():
            lines.append(line)
    opened.seek(0)
    if lines and is_row(lines[0], columns):
        return True
    if len(lines) < 2 or not all(is_row(line, RowColumns(text="")) for line in lines):
        return False
    return not is_text_needed or is_row(lines[1], columns)


def require_no_nested_rows(opened: IO[bytes], columns: RowColumns) -> None:
    """Raise UnreadRowsError if a JSON object on several lines is a row, or has a member with rows; rewind the file."""
    opened.seek(0)
    raw = opened.read(MOST_BYTES + 1)
    opened.seek(0)
    try:
        _require_modest(raw)
        values = _object(_json(raw))
    except DocumentError:
        return
    if has_column(values, columns.text):
        raise UnreadRowsError("this is one object on several lines; write each object on one line, or in an array")
    for name, member in values.items():
        if isinstance(member, list) and member and isinstance(member[0], dict) and has_column(member[0], columns.text):
            raise UnreadRowsError(
                f"the rows of this JSON are in its member {name!r:.80}; write them as JSON lines, as an array, or in "
                "another format"
            )


def is_table(opened: IO[bytes], columns: RowColumns) -> bool:
    """Check whether the first line of a file names the required columns, and at least two if no text is required."""
    try:
        with _cells(opened) as cells:
            columns.require(dict.fromkeys(cells.names))
            return bool(columns.text) or len(cells.names) > 1
    except DocumentError:
        return False


def _array(opened: IO[bytes]) -> tuple[str, list[tuple[Row, slice]]]:
    raw = opened.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise UnreadRowsError(f"a JSON array is read up to {MOST_BYTES:,} bytes; make JSON lines of it")
    try:
        _require_modest(raw)
    except DocumentError as error:
        raise UnreadRowsError(str(error)) from None
    try:
        text = raw.decode(json.detect_encoding(raw), "surrogatepass")
        elements = [*_elements(text)]
    except (ValueError, RecursionError) as error:
        raise UnreadRowsError(f"this is not JSON: {error}") from None
    if not elements or not isinstance(elements[0][0], dict):
        raise UnreadRowsError('a JSON array has documents in it, objects with at least "id" and "text"')
    return text, [
        (Row(number, "document", value if isinstance(value, dict) else DocumentError(_NO_DOCUMENT)), span)
        for number, (value, span) in enumerate(elements, start=1)
    ]


def _elements(text: str) -> Iterator[tuple[object, slice]]:
    """Yield the elements of a JSON array, each with its range; nothing if the text is another JSON value."""
    decoder, at = json.JSONDecoder(), _skip_blanks(text, 0)
    is_array, is_empty = text.startswith("[", at), text.startswith("]", _skip_blanks(text, at + 1))
    if not is_array or is_empty:
        json.loads(text)
        return
    while not text.startswith("]", at):
        start = _skip_blanks(text, at + 1)
        value, end = decoder.raw_decode(text, start)
        yield value, slice(start, end)
        at = _skip_blanks(text, end)
        if not text.startswith((",", "]"), at):
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
    if (end := _skip_blanks(text, at + 1)) < len(text):
        raise json.JSONDecodeError("Extra data", text, end)


def _skip_blanks(text: str, at: int) -> int:
    return at + len(_BLANKS.match(text, at)[0])  # type: ignore[index]  # it also matches nothing


def _lines(opened: IO[bytes], span: FileSpan | None = None) -> Iterator[tuple[int, bytes | DocumentError]]:
    """Yield the lines with content, each with its number; a line that is too long is replaced by an error."""
    number, left = (span.before, span.end - span.begin) if span else (0, sys.maxsize)
    blank = 0
    if span:
        opened.seek(span.begin)
    while left > 0 and (line := opened.readline(MOST_BYTES)):
        number += 1
        left -= len(line)
        if number == 1 and (encoding := encoding_of_mark(line)) not in (None, "utf-8-sig"):
            raise UnreadRowsError(f"JSON lines are UTF-8, and this is {encoding}")
        if len(line) == MOST_BYTES and not line.endswith(b"\n"):
            while (part := opened.readline(MOST_BYTES)) and not part.endswith(b"\n"):
                left -= len(part)
            left -= len(part)
            yield number, DocumentError(f"a line has at most {MOST_BYTES:,} bytes")
        elif line.strip():
            blank = 0
            yield number, line
        else:
            blank += len(line)
            _require_few_blanks(blank)


def _require_few_blanks(size: int) -> None:
    if size > _MOST_BLANK:
        raise UnreadRowsError(f"there are more than {_MOST_BLANK:,} bytes of blank lines between two lines")


def _require_modest(raw: bytes) -> None:
    """Raise DocumentError if parsing this JSON may exceed the memory limit: each value becomes a Python object."""
    if len(raw) <= _MODEST:
        return
    values = sum(raw.count(mark) for mark in (b",", b":", b"[", b"{"))
    most = file_limits().memory_bytes
    if _BYTES_A_CHARACTER * len(raw) + _BYTES_A_VALUE * values > most:
        raise DocumentError(
            f"this JSON of {len(raw):,} bytes and {values:,} values may take more than {most:,} bytes of memory "
            "(setting file_memory_bytes)"
        )


def _row(number: int, line: bytes | DocumentError) -> Row:
    try:
        if isinstance(line, DocumentError):
            raise line
        _require_modest(line)
        return Row(number, "line", _object(_json(line)), len(line))
    except DocumentError as error:
        return Row(number, "line", error)


def _json(line: bytes) -> object:
    try:
        value = orjson.loads(line)
        # orjson converts integers of more than 64 bits to floats, so parse a line with large numbers again.
        if not _has_large_number(value):
            return value
    except (orjson.JSONDecodeError, RecursionError):
        pass
    return _parse_with_python(line)


def _has_large_number(value: object) -> bool:
    if type(value) is dict:
        for member in value.values():  # noqa: SIM110 - a generator is as slow as the whole remaining conversion
            if type(member) is not str and _has_large_number(member):
                return True
        return False
    if type(value) is float:
        return abs(value) >= _LARGE
    return type(value) is list and any(map(_has_large_number, value))


def _parse_with_python(line: bytes) -> object:
    """Parse a line with Python's parser, which is slower, but accepts lone surrogates, NaN and large integers."""
    try:
        # Decode the line first, because json.loads would detect the encoding of bytes each time.
        return json.loads(line.removeprefix(_BYTE_ORDER_MARK).rstrip(b"\r\n").decode("utf-8", "surrogatepass"))
    except json.JSONDecodeError as error:
        reason = error.msg.removesuffix(" starting at")
        raise DocumentError(f"this is not JSON: {reason}, at character {error.pos + 1}") from None
    except RecursionError:
        raise DocumentError("this is nested too deep to be read") from None
    except UnicodeDecodeError as error:
        raise DocumentError(f"this is not in UTF-8, as JSON is: {invalid_byte(error)}") from None
    except ValueError:
        raise DocumentError(f"a whole number has more than {sys.get_int_max_str_digits():,} digits") from None


def _object(value: object) -> dict[str, object]:
    if isinstance(value, dict):
        return value
    raise DocumentError(_NO_DOCUMENT)


def _updated(source: bytes, values: Mapping[str, object], added: Mapping[str, object]) -> bytes:
    """Return the JSON of an object (`source`, with its members `values`) with added or changed members.

    Other members are copied, because parsing and writing would change numbers such as 1.10 or 1e400.
    """
    changed = {name: value for name, value in added.items() if name in values}
    if changed:
        source = _replace_members(source.decode("utf-8", "surrogatepass"), changed)
    if len(changed) == len(added):
        return source
    members = source.rstrip()[:-1].rstrip()
    separator = b"" if members.endswith(b"{") else b", "
    return members + separator + _line({name: value for name, value in added.items() if name not in values})[1:]


def _replace_members(text: str, changed: Mapping[str, object]) -> bytes:
    """Return the JSON of an object with new values of some members; of equal names, change only the last member."""
    decoder, spans = json.JSONDecoder(), dict[str, tuple[int, int]]()
    at = _skip_blanks(text, _skip_blanks(text, 0) + 1)
    while not text.startswith("}", at):
        name, end = decoder.raw_decode(text, at)
        start = _skip_blanks(text, _skip_blanks(text, end) + 1)
        end = decoder.raw_decode(text, start)[1]
        if name in changed:
            spans[name] = start, end
        at = _skip_blanks(text, end)
        if text.startswith(",", at):
            at = _skip_blanks(text, at + 1)
    parts, before = [], 0
    for (start, end), name in sorted((span, name) for name, span in spans.items()):
        parts += [text[before:start].encode("utf-8", "surrogatepass"), _line(changed[name])]
        before = end
    return b"".join([*parts, text[before:].encode("utf-8", "surrogatepass")])


def _line(values: object) -> bytes:
    # UTF-8 cannot encode lone surrogates, so escape them, as in the input.
    text = json.dumps(values, ensure_ascii=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(values).encode()


#: Characters that may separate columns; a table without any of them has a single column.
_SEPARATORS = ",\t;|"
_LINE_ENDS = "\r\n"
#: Maximum length of the first line in characters.
_HEADING = 1_000_000
#: First line that names the separator, as Excel reads and writes it.
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n?", re.IGNORECASE)
#: A number in JSON's notation.
_NUMBER = re.compile(r"[ \t]*-?(?:0|[1-9]\d{0,99})(?:\.\d+)?(?:[eE][+-]?\d{1,2})?[ \t]*", re.ASCII)
#: Invalid bytes of UTF-8 (decoded as lone surrogates), and valid characters outside ASCII.
_INVALID, _VALID = re.compile("[\udc80-\udcff]"), re.compile("[^\0-\x7f\udc80-\udcff]")


class TableFormat(RowFormat):
    """Format of tables: values separated by commas, tabs, semicolons or bars, and quoted as in CSV."""

    def rows(self, opened: IO[bytes], columns: RowColumns, span: FileSpan | None = None) -> Iterator[Row]:
        with _cells(opened) as cells:
            columns.select(cells.names)
            rows = (row for row, *_ in cells)
            as_written = {columns.text, columns.id_column, columns.name, "cm:name"}
            yield from rows if columns.properties is not None else _typed_rows(rows, as_written)

    def rewrite(self, opened: IO[bytes], out: IO[bytes], columns: RowColumns, decide: Decide, added: Added) -> None:
        with _cells(opened) as cells:
            text = io.TextIOWrapper(out, cells.encoding, newline="")
            new_names = [name for name in added if name != columns.text]
            rewriter = _RowRewriter(cells, new_names)
            text.write(cells.separator_line)
            text.write(rewriter.row_with(cells.heading, cells.names, {name: name for name in new_names}))
            try:
                for group in portions(cells, lambda row: row[0].weight):
                    for (_, values, source), more in zip(group, decide([row for row, *_ in group]), strict=True):
                        if more is not None and values:
                            text.write(rewriter.row_with(source, values, more))
            finally:
                text.flush()
                text.detach()


def _typed_rows(rows: Iterator[Row], as_written: Collection[str]) -> Iterator[Row]:
    """Convert columns of numbers to numbers, and leave out empty cells, which are missing values.

    A column holds numbers if all its cells in the first rows are numbers in JSON's notation. So codes with leading
    zeros stay texts, and so do the columns `as_written`.
    """
    groups = portions(rows, lambda row: row.weight)
    first = next(groups, [])
    examined = [row.values for row in first if not isinstance(row.values, DocumentError)]
    texts = {name for cells in examined for name, cell in cells.items() if cell and not _NUMBER.fullmatch(str(cell))}
    texts |= {*as_written}

    def typed(name: str, cell: object) -> object:
        return json.loads(str(cell)) if name not in texts and _NUMBER.fullmatch(str(cell)) else cell

    for row in chain(first, chain.from_iterable(groups)):
        if isinstance(row.values, DocumentError):
            yield row
        else:
            present = ((name, cell) for name, cell in row.values.items() if cell or name in as_written)
            yield row._replace(values={name: typed(name, cell) for name, cell in present})


class _RowRewriter:
    """Changes rows of a table, which keep their style, and adds cells of the new columns at the end."""

    def __init__(self, cells: _TableRows, new_names: Sequence[str]) -> None:
        self._cells, self._new_names = cells, new_names
        # Let the lines end in \r\n, so that the writer quotes every cell that contains \r or \n.
        self._lines = io.StringIO(newline="")
        self._writer = csv.writer(self._lines, delimiter=cells.separator, lineterminator="\r\n")
        self._own = [at for at, name in enumerate(cells.names) if name not in new_names]
        self._has_all = len(self._own) == len(cells.names)

    def row_with(self, source: str, values: Sequence[object], more: Mapping[str, object]) -> str:
        """Return the row `source`, whose cells are `values`, with the values in `more`."""
        cells, new = self._cells, [_cell(more.get(name)) for name in self._new_names]
        if more and self._has_all and not new and (styled := cells.replace_in_source(source, values, more)) is not None:
            return styled
        if not self._has_all or more.keys() - {*self._new_names}:
            return self._line([*(more.get(cells.names[at], values[at]) for at in self._own), *new]) + cells.line_end
        # If the table has no quoting, the writer would change cells with quotation marks, so copy unchanged cells.
        return source.rstrip(_LINE_ENDS) + cells.separator + self._line(new) + cells.line_end if new else source

    def _line(self, values: Iterable[object]) -> str:
        self._writer.writerow(values)
        written = self._lines.getvalue()[:-2]
        self._lines.seek(0)
        self._lines.truncate()
        return written


class _Lines:
    """Iterates over the lines of a table; the length limit applies to a whole row, which may have several lines."""

    def __init__(self, text: io.TextIOWrapper, most: int) -> None:
        self._text, self._most, self._left = text, most, most
        self._first = ""
        #: Lines read so far of the current row.
        self.of_row: list[str] = []

    def heading(self) -> str:
        """Return the first line, which the first `next()` then returns again."""
        self._first = self._text.readline(_HEADING)
        if len(self._first) == _HEADING and not self._first.endswith(("\n", "\r")):
            raise UnreadRowsError(f"the first line, which names the columns, has more than {_HEADING:,} characters")
        return self._first

    def begin_row(self) -> None:
        self._left = self._most
        self.of_row = []

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        line, self._first = self._first or self._text.readline(self._left + 1), ""
        self._left -= len(line)
        if self._left < 0:
            while line and not line.endswith(("\n", "\r")):
                line = self._text.readline(_HEADING)
            raise DocumentError(f"this row has more than {self._most:,} characters (setting max_file_text)")
        if not line:
            raise StopIteration
        self.of_row.append(line)
        return line


class _TableRows:
    """Iterates over the rows of a table, each with its cells and its source text; an unreadable row has an error."""

    def __init__(self, text: io.TextIOWrapper, encoding: str) -> None:
        most = min(file_limits().text_characters, MOST_BYTES)
        csv.field_size_limit(most)
        self._lines = _Lines(text, most)
        heading = self._lines.heading()
        #: First line if it names the separator; otherwise "".
        self.separator_line = heading if (named := _SEPARATOR_LINE.fullmatch(heading)) else ""
        if named:
            heading = self._lines.heading()
        self.encoding, self.separator = encoding, named[1] if named else max(_SEPARATORS, key=heading.count)
        self.line_end = "\r\n" if heading.endswith("\r\n") else "\n"
        # Without the strict mode, an unclosed quotation mark would turn the rest of the file into one cell.
        self._rows = csv.reader(self._lines, delimiter=self.separator, strict=True)
        try:
            self.names = next(self._rows, [])
            #: Source of the line that names the columns.
            self.heading = "".join(self._lines.of_row)
        except (csv.Error, DocumentError) as error:
            raise UnreadRowsError(f"the first line, which names the columns, cannot be read: {error}") from None

    def __iter__(self) -> Iterator[tuple[Row, list[str], str]]:
        blank = 0
        while True:
            number = self._rows.line_num + 1 + bool(self.separator_line)
            self._lines.begin_row()
            problem: DocumentError | None = None
            try:
                cells = next(self._rows, None)
            except csv.Error as error:
                cells, problem = [], DocumentError(f"this is not a row of the table: {error}")
            except UnreadRowsError:
                # UnreadRowsError is also a DocumentError. But the table cannot be read further, so raise the error
                # again instead of reporting one row.
                raise
            except DocumentError as error:
                yield Row(number, "line", error), [], ""
                continue
            may_be_unquoted = problem or (cells and len(self._lines.of_row) > 1)
            if may_be_unquoted and (lines := self._unquoted_rows()):
                for at, (own, source) in enumerate(zip(lines, self._lines.of_row, strict=True), number):
                    yield self._row(at, own, source)
            elif problem:
                yield Row(number, "line", problem), [], ""
            elif cells is None:
                return
            elif cells:
                blank = 0
                yield self._row(number, cells, "".join(self._lines.of_row))
            else:
                blank += sum(map(len, self._lines.of_row))
                _require_few_blanks(blank)

    def _row(self, number: int, cells: list[str], source: str) -> tuple[Row, list[str], str]:
        try:
            self._require_valid(cells)
        except DocumentError as error:
            return Row(number, "line", error), [], ""
        weight = len(source) + CELL_BYTES * len(cells)
        return Row(number, "line", dict(zip(self.names, cells, strict=True)), weight), cells, source

    def replace_in_source(self, source: str, values: Sequence[object], changed: Mapping[str, object]) -> str | None:
        """Replace values in the source of a row, but keep its quotation marks; return None if it needs other marks."""
        body = source.rstrip(_LINE_ENDS)
        raw_cells = _split_source(body, self.separator)
        if len(raw_cells) != len(values):
            return None
        expected = [str(changed.get(name, value)) for name, value in zip(self.names, values, strict=True)]
        for at, name in enumerate(self.names):
            if name in changed:
                is_quoted = len(raw_cells[at]) > 1 and raw_cells[at] == f'"{raw_cells[at][1:-1]}"'
                escaped = expected[at].replace('"', '""')
                raw_cells[at] = f'"{escaped}"' if is_quoted else expected[at]
        row = self.separator.join(raw_cells)
        return row + source[len(body) :] if self._is_read_as(row, expected) else None

    def _is_read_as(self, row: str, expected: list[str]) -> bool:
        """Check whether a row without its line end is read as the expected cells, regardless of the rows after it."""
        lines = [*io.StringIO(f"{row}\n", newline="")]
        # If a quotation mark is not closed, the reader continues with the second row, and the check fails.
        reader = csv.reader([*lines, f"{self.separator}\n"], delimiter=self.separator, strict=True)
        try:
            return next(reader) == expected and reader.line_num == len(lines)
        except csv.Error:
            # A single line of tab-separated cells can still be read without quoting, by `_unquoted_rows`.
            is_line = len(lines) == 1 == reader.line_num and self.separator == "\t" and len(expected) > 1
            return is_line and row.split("\t") == expected

    def _unquoted_rows(self) -> list[list[str]]:
        """Return the lines of the current row as one row each; an empty list if they are not separate rows.

        Tables separated by tabs often have no quoting. If a cell begins with a quotation mark, the parser joins all
        rows up to the next mark. They are separate rows if each line has a cell for every column.
        """
        lines, count = self._lines.of_row, len(self.names)
        if self.separator != "\t" or count < 2 or not any('"' in line for line in lines):
            return []
        rows = [line.rstrip("\r\n").split("\t") for line in lines]
        return rows if all(len(row) == count for row in rows) else []

    def _require_valid(self, cells: list[str]) -> None:
        if len(cells) != len(self.names):
            raise DocumentError(f"this row has {len(cells)} cells, and the first line names {len(self.names)} columns")
        try:
            "".join(cells).encode()
        except UnicodeEncodeError:
            encoding = self.encoding.upper()
            raise DocumentError(f"this row has bytes that are no {encoding}, in which the table begins") from None


def _split_source(row: str, separator: str) -> list[str]:
    """Split the source of a row into the sources of its cells, including quotation marks."""
    pattern = re.compile(rf'(?:"[^"]*(?:""[^"]*)*"|[^{re.escape(separator)}]*)(?={re.escape(separator)}|\Z)')
    cells, at = list[str](), 0
    while found := pattern.match(row, at):
        cells.append(found[0])
        at = found.end() + 1
        if at > len(row):
            return cells
    # A quotation mark is not closed, or has characters after it. It is then an ordinary character, so split at each
    # separator.
    return row.split(separator)


class _PushedBack(ReadableStream):
    """Stream that returns bytes already read from another stream, and then its remaining bytes."""

    def __init__(self, first: bytes, following: IO[bytes]) -> None:
        super().__init__()
        self._first, self._following = io.BytesIO(first), following

    def read_part(self, size: int) -> bytes:
        return self._first.read(size) or self._following.read(size)


@contextmanager
def _cells(opened: IO[bytes]) -> Iterator[_TableRows]:
    first = opened.read(EXAMINED_BYTES)
    encoding = encoding_of_mark(first) or (not is_mostly_utf_8(first) and probable_encoding(first)) or "utf-8"
    # Invalid bytes become lone surrogates, so that `_require_valid` refuses only the rows that contain them.
    text = io.TextIOWrapper(
        io.BufferedReader(_PushedBack(first, opened)), encoding, errors="surrogateescape", newline=""
    )
    try:
        yield _TableRows(text, encoding)
    except UnicodeError as error:
        raise UnreadRowsError(f"this table is not text in {encoding}: {error}") from None


def _cell(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value
