"""Rows of files, and the protocol of file formats: reading rows, and rewriting the kept ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import IO, Any, NamedTuple, Protocol, TypeAlias, TypeVar

from whorl.errors import DocumentError
from whorl.ingest.rows.columns import Columns

T = TypeVar("T")

#: Number of rows read, or decided about, at a time.
AT_ONCE = 512
#: Maximum size of a row in bytes; an endless row would fill the memory.
MOST_BYTES = 100_000_000
#: Approximate memory of the rows passed on at a time, in bytes.
_GROUP_BYTES = 8_000_000
#: Memory of a cell in addition to its characters, in bytes.
CELL_BYTES = 72


class File(Protocol):
    """A local or remote file; a `Path` is one."""

    @property
    def name(self) -> str:
        """Name of the file, without folders."""

    def as_posix(self) -> str:
        """Return the name for ids and messages."""

    def open(self, mode: Any) -> Any:
        """Open the file."""


class Row(NamedTuple):
    """A row of a file.

    Attributes:
        number: Its number, from 1 on.
        kind: Unit of the number: "line", "row", "record" or "document".
        values: Values by column, or the error in reading them.
        weight: Approximate memory in bytes.
    """

    number: int
    kind: str
    values: Mapping[str, object] | DocumentError
    weight: int = 0

    @property
    def place(self) -> str:
        """Position in words, such as "line 17"."""
        return f"{self.kind} {self.number}"


class Span(NamedTuple):
    """A part of a file that can be read independently.

    Attributes:
        begin: Start, in the unit of the format: bytes, or row groups.
        end: End, exclusive.
        before: Rows, or lines, before it.
    """

    begin: int
    end: int
    before: int


#: Function from the bytes of a page, and a name for content that is ambiguous, to its text.
Extract: TypeAlias = Callable[[bytes, PurePath], str]
#: Names and types of columns that can be added to rows.
Added: TypeAlias = Mapping[str, type[str] | type[bool] | type[float]]
#: Function from rows to the values of their added columns; None for a row to remove.
Decide: TypeAlias = Callable[[Sequence[Row]], Sequence[Mapping[str, object] | None]]


def portions(rows: Iterable[T], weight: Callable[[T], int], most: int = AT_ONCE) -> Iterator[list[T]]:
    """Yield rows in groups; if reading fails, yield the rows before the error first.

    Args:
        rows: Any number of rows.
        weight: Returns the memory of a row in bytes; a group ends when its rows exceed a limit together.
        most: Maximum number of rows in a group.
    """
    group: list[T] = []
    taken = 0
    try:
        for row in rows:
            group.append(row)
            taken += weight(row)
            if len(group) == most or taken > _GROUP_BYTES:
                yield group
                group, taken = [], 0
    except Exception:
        yield group
        raise
    yield group


class Format(Protocol):
    """A format of files with many rows.

    Attributes:
        takes_columns: Whether columns can be added to its rows.
    """

    takes_columns: bool

    def spans(self, opened: IO[bytes]) -> Iterator[Span | None]:
        """Yield the parts of a file that several processes can read; a single None for an indivisible file."""

    def rows(self, opened: IO[bytes], columns: Columns, span: Span | None = None) -> Iterator[Row]:
        """Yield the rows of a file, or of a part of it, with the requested columns.

        Raises:
            UnreadRowsError: The file cannot be read to its end, or lacks a column.
        """

    def rewrite(self, opened: IO[bytes], out: IO[bytes], columns: Columns, decide: Decide, added: Added) -> None:
        """Write the kept rows, in the same format and with all their columns.

        Args:
            opened: The file to read.
            out: The file to write.
            columns: Columns that `decide` needs.
            decide: Chooses the rows to keep.
            added: The columns that `decide` adds; they replace columns of the same names, and a text column keeps its
                position.

        Raises:
            UnreadRowsError: As in `rows`.
        """
