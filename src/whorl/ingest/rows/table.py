"""Tables of comma- or tab-separated values, whose first line names the columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Self

from whorl.errors import DocumentError
from whorl.fingerprint.shingling import well_formed
from whorl.ingest.extraction.decoding import announced
from whorl.ingest.limits import file_limits
from whorl.ingest.rows.columns import Columns, UnreadRowsError
from whorl.ingest.rows.rows import CELL_BYTES, MOST_BYTES, Added, Decide, Row, Span, portions

#: Separators; a table without any has one column.
_SEPARATORS = ",\t;|"
#: Maximum length of the first line in characters, and of a byte order mark in bytes.
_HEADING, _MARK = 1_000_000, 4


class Table:
    """Values separated by commas, tabs, semicolons or bars, with the usual quoting."""

    takes_columns = True

    def spans(self, opened: IO[bytes]) -> Iterator[Span | None]:
        yield None

    def rows(self, opened: IO[bytes], columns: Columns, span: Span | None = None) -> Iterator[Row]:
        with _cells(opened) as cells:
            columns.wanted(cells.names)
            for row, _ in cells:
                yield row

    def rewrite(self, opened: IO[bytes], out: IO[bytes], columns: Columns, decide: Decide, added: Added) -> None:
        with _cells(opened) as cells:
            text = io.TextIOWrapper(out, cells.encoding, newline="")
            # The writer quotes cells only for line ends in its own line terminator, so this has both characters.
            lines = io.StringIO(newline="")
            writer = csv.writer(lines, delimiter=cells.separator, lineterminator="\r\n")

            def write(row: list[object]) -> None:
                writer.writerow(row)
                text.write(lines.getvalue()[:-2] + cells.line_end)
                lines.seek(0)
                lines.truncate()

            # A text column keeps its position.
            further = [name for name in added if name != columns.text]
            own = [at for at, name in enumerate(cells.names) if name not in further]
            write([*(cells.names[at] for at in own), *further])
            try:
                for some in portions(cells, lambda each: each[0].weight):
                    for (_, values), more in zip(some, decide([row for row, _ in some]), strict=True):
                        if more is not None and values:
                            here = [more.get(cells.names[at], values[at]) for at in own]
                            write([*here, *(_cell(more.get(name)) for name in further)])
            finally:
                text.flush()
                text.detach()


class _Lines:
    """Lines of a table with a length limit per row, also for rows of several lines.

    Args:
        text: The table.
        most: Maximum number of characters of a row.
    """

    def __init__(self, text: io.TextIOWrapper, most: int) -> None:
        self._text, self._most, self._left = text, most, most
        self._first = ""

    def heading(self) -> str:
        """Return the first line, which is also returned by the first `next`."""
        self._first = self._text.readline(_HEADING)
        if len(self._first) == _HEADING and not self._first.endswith(("\n", "\r")):
            raise UnreadRowsError(f"the first line, which names the columns, has more than {_HEADING:,} characters")
        return self._first

    def begin_row(self) -> None:
        """Start counting a new row."""
        self._left = self._most

    @property
    def read(self) -> int:
        """Number of characters of the row so far."""
        return self._most - self._left

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
        return line


class _Cells:
    """The rows of a table, each with its cells; an unreadable row has no cells."""

    def __init__(self, text: io.TextIOWrapper, encoding: str) -> None:
        most = min(file_limits().text_characters, MOST_BYTES)
        csv.field_size_limit(most)
        self._lines = _Lines(text, most)
        heading = self._lines.heading()
        self.encoding, self.separator = encoding, max(_SEPARATORS, key=heading.count)
        self.line_end = "\r\n" if heading.endswith("\r\n") else "\n"
        # Strict, because an unclosed quote would otherwise turn the rest of the file into one cell.
        self._rows = csv.reader(self._lines, delimiter=self.separator, strict=True)
        try:
            self.names = next(self._rows, [])
        except (csv.Error, DocumentError) as error:
            raise UnreadRowsError(f"the first line, which names the columns, cannot be read: {error}") from None

    def __iter__(self) -> Iterator[tuple[Row, list[str]]]:
        while True:
            number = self._rows.line_num + 1
            self._lines.begin_row()
            try:
                cells = next(self._rows, None)
            except csv.Error as error:
                yield Row(number, "line", DocumentError(f"this is no row of the table: {error}")), []
                continue
            except UnreadRowsError:
                # It is also a DocumentError, but ends the table.
                raise
            except DocumentError as error:
                yield Row(number, "line", error), []
                continue
            if cells is None:
                return
            if not cells:
                continue
            problem = self._problem(cells)
            if problem:
                yield Row(number, "line", DocumentError(problem)), []
            else:
                weight = self._lines.read + CELL_BYTES * len(cells)
                yield Row(number, "line", dict(zip(self.names, cells, strict=True)), weight), cells

    def _problem(self, cells: list[str]) -> str:
        if len(cells) != len(self.names):
            return f"this row has {len(cells)} cells, and the first line names {len(self.names)} columns"
        return "" if all(each == well_formed(each) for each in cells) else "this row has bytes that are no UTF-8"


class _Rest(io.RawIOBase):
    """A stream with its first bytes put back."""

    def __init__(self, first: bytes, rest: IO[bytes]) -> None:
        super().__init__()
        self._first, self._rest = first, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._first or self._rest.read(len(buffer))
        self._first = b""
        buffer[: len(part)] = part
        return len(part)


@contextmanager
def _cells(opened: IO[bytes]) -> Iterator[_Cells]:
    first = opened.read(_MARK)
    encoding = announced(first) or "utf-8"
    # Invalid bytes become lone surrogates, which `well_formed` replaces, so that they affect one row only.
    text = io.TextIOWrapper(io.BufferedReader(_Rest(first, opened)), encoding, errors="surrogateescape", newline="")
    try:
        yield _Cells(text, encoding)
    except UnicodeError as error:
        raise UnreadRowsError(f"this table is no text in {encoding}: {error}") from None


def _cell(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value
