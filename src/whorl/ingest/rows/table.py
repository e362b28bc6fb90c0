"""Tables of comma- or tab-separated values, whose first line names the columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import IO, Any

from whorl.errors import DocumentError
from whorl.fingerprint.hashing import well_formed
from whorl.ingest.extraction.decoding import announced
from whorl.ingest.rows.columns import Columns, UnreadRowsError
from whorl.ingest.rows.row import MOST_BYTES, Added, Decide, Row, Span, portions

#: What may stand between cells; where none does there is one column.
_SEPARATORS = ",\t;|"
#: Characters in which the first line ends, and bytes that announce an encoding.
_HEADING, _MARK = 1_000_000, 4


class Table:
    """Values between commas, tabs, semicolons or bars; quoted as everybody quotes them."""

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
            # Of line ends within cells the writer quotes those that it ends lines with.
            lines = io.StringIO(newline="")
            writer = csv.writer(lines, delimiter=cells.separator, lineterminator="\r\n")

            def write(row: list[object]) -> None:
                writer.writerow(row)
                text.write(lines.getvalue()[:-2] + cells.line_end)
                lines.seek(0)
                lines.truncate()

            # A text keeps its place.
            further = [name for name in added if name != columns.text]
            own = [at for at, name in enumerate(cells.names) if name not in further]
            write([*(cells.names[at] for at in own), *further])
            try:
                for some in portions(cells):
                    for (_, values), more in zip(some, decide([row for row, _ in some]), strict=True):
                        if more is not None and values:
                            here = [more.get(cells.names[at], values[at]) for at in own]
                            write([*here, *(_cell(more.get(name)) for name in further)])
            finally:
                text.flush()
                text.detach()


class _Cells:
    """The rows of a table, each with its cells, which are none where they cannot be read."""

    def __init__(self, lines: io.TextIOWrapper, encoding: str) -> None:
        csv.field_size_limit(MOST_BYTES)
        heading = lines.readline(_HEADING)
        self.encoding, self.separator = encoding, max(_SEPARATORS, key=heading.count)
        self.line_end = "\r\n" if heading.endswith("\r\n") else "\n"
        # Strict, because a quote that nobody closes would take the rest of the file for one cell.
        self._rows = csv.reader(chain([heading] if heading else [], lines), delimiter=self.separator, strict=True)
        try:
            self.names = next(self._rows, [])
        except csv.Error as error:
            raise UnreadRowsError(f"the first line, which names the columns, cannot be read: {error}") from None

    def __iter__(self) -> Iterator[tuple[Row, list[str]]]:
        while True:
            number = self._rows.line_num + 1
            try:
                cells = next(self._rows, None)
            except csv.Error as error:
                yield Row(number, "line", DocumentError(f"this is no row of the table: {error}")), []
                continue
            if cells is None:
                return
            if not cells:
                continue
            problem = self._problem(cells)
            if problem:
                yield Row(number, "line", DocumentError(problem)), []
            else:
                yield Row(number, "line", dict(zip(self.names, cells, strict=True))), cells

    def _problem(self, cells: list[str]) -> str:
        if len(cells) != len(self.names):
            return f"this row has {len(cells)} cells, and the first line names {len(self.names)} columns"
        return "" if all(each == well_formed(each) for each in cells) else "this row has bytes that are no UTF-8"


class _Rest(io.RawIOBase):
    """A stream of which the first bytes were read already, as if they were not."""

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
    # Bytes of another encoding become what `well_formed` replaces, so that they spoil one row and no other.
    text = io.TextIOWrapper(io.BufferedReader(_Rest(first, opened)), encoding, errors="surrogateescape", newline="")
    try:
        yield _Cells(text, encoding)
    except UnicodeError as error:
        raise UnreadRowsError(f"this table is no text in {encoding}: {error}") from None


def _cell(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value
