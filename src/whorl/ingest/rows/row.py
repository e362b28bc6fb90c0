"""Rows of files that hold many, and what a format of such files does: read them, and write those that stay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import IO, Any, NamedTuple, Protocol, TypeAlias, TypeVar

from whorl.errors import DocumentError
from whorl.ingest.rows.columns import Columns

T = TypeVar("T")

#: Rows that are read, or decided about, at once.
AT_ONCE = 512
#: Bytes of a row that is still read: one that has no end would fill the memory.
MOST_BYTES = 100_000_000


class File(Protocol):
    """A file to read, wherever it is; a `Path` is one."""

    @property
    def name(self) -> str:
        """Its name, without the folders."""

    def as_posix(self) -> str:
        """Return what it is known by."""

    def open(self, mode: Any) -> Any:
        """Open it."""


class Row(NamedTuple):
    """A row of a file.

    Attributes:
        number: Its place, from 1 on.
        kind: What is counted: "line", "row", "record" or "document".
        values: What stands in its columns, or why that cannot be read.
    """

    number: int
    kind: str
    values: Mapping[str, object] | DocumentError

    @property
    def place(self) -> str:
        """Its place in words, such as "line 17"."""
        return f"{self.kind} {self.number}"


class Span(NamedTuple):
    """A stretch of a file that can be read by itself.

    Attributes:
        begin: Where it begins, in whatever its format counts: bytes, or groups of rows.
        end: Where it ends.
        before: Rows, or lines, before it.
    """

    begin: int
    end: int
    before: int


#: Takes the bytes of a page, and a name that tells what they are where they do not; returns its text.
Extract: TypeAlias = Callable[[bytes, PurePath], str]
#: The columns that can be added to rows: their names and types.
Added: TypeAlias = Mapping[str, type[str] | type[bool] | type[float]]
#: Takes some rows, and returns for each what stands in its added columns, or None where the row is left out.
Decide: TypeAlias = Callable[[Sequence[Row]], Sequence[Mapping[str, object] | None]]


def portions(
    rows: Iterable[T], most: int = AT_ONCE, is_enough: Callable[[T], bool] = lambda row: False
) -> Iterator[list[T]]:
    """Yield rows in groups; where reading ends with an error, those before it first.

    Args:
        rows: Any number.
        most: How many there are in a group at most.
        is_enough: Whether a group ends with a row.
    """
    group: list[T] = []
    try:
        for row in rows:
            group.append(row)
            if len(group) == most or is_enough(row):
                yield group
                group = []
    except Exception:
        yield group
        raise
    yield group


class Format(Protocol):
    """A format of files that hold many rows.

    Attributes:
        takes_columns: Whether columns can be added to its rows.
    """

    takes_columns: bool

    def spans(self, opened: IO[bytes]) -> Iterator[Span | None]:
        """Yield the stretches of a file that several processes may read; None for one that goes from end to end."""

    def rows(self, opened: IO[bytes], columns: Columns, span: Span | None = None) -> Iterator[Row]:
        """Yield the rows of a file, or of a stretch of it, with the columns that are wanted.

        Raises:
            UnreadRowsError: The file cannot be read, or not to its end, or lacks a column.
        """

    def rewrite(self, opened: IO[bytes], out: IO[bytes], columns: Columns, decide: Decide, added: Added) -> None:
        """Write the rows that stay, in the same format and with all their columns.

        Args:
            opened: The file that is read.
            out: Where to write.
            columns: What `decide` wants to know of rows.
            decide: Which rows stay.
            added: The columns that it adds; those of the same names are replaced, the text in its place.

        Raises:
            UnreadRowsError: As of `rows`.
        """
