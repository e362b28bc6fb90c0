"""Base class of the formats of row files; chooses the columns of text and id, and turns rows into documents."""

from __future__ import annotations

import datetime
import decimal
import io
import math
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePath
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar

from whorl.errors import DocumentError

T = TypeVar("T")

#: Suffixes of the names of files with rows, except `.json`, which can also be one document.
SUFFIXES = {"json": (".jsonl", ".ndjson"), "csv": (".csv", ".tsv", ".tab"), "arrow": (".parquet", ".arrow", ".feather")}
ROWS_AT_ONCE = 512
#: Maximum size of a row in bytes; an endless row would fill the memory.
MOST_BYTES = 100_000_000
#: Approximate maximum memory of a group of rows, in bytes.
GROUP_BYTES = 8_000_000
#: Memory of a table's cell in addition to its characters, in bytes.
CELL_BYTES = 72


class File(Protocol):
    """A local or remote file; a `Path` has these methods."""

    @property
    def name(self) -> str: ...

    def as_posix(self) -> str:
        """Return the name for ids and messages."""

    def open(self, mode: Any) -> Any: ...


class Row(NamedTuple):
    """A row of a file.

    Attributes:
        number: Number of the row, from 1; `kind` is its unit ("line", "row", "record" or "document").
        values: Values by column, or the error in reading them.
        weight: Approximate memory in bytes.
        problem: A part of the row that could not be read; "" if all was read.
    """

    number: int
    kind: str
    values: Mapping[str, object] | DocumentError
    weight: int = 0
    problem: str = ""

    @property
    def place(self) -> str:
        """Position in words, such as "line 17"."""
        return f"{self.kind} {self.number}"


class FileSpan(NamedTuple):
    """A part of a file that can be read independently: from `begin` to `end` (exclusive).

    Both count bytes, or row groups if the format has them; `before` is the number of earlier rows or lines.
    """

    begin: int
    end: int
    before: int


#: Function that returns the text of a page from its bytes; if they are ambiguous, the file name decides the format.
Extract: TypeAlias = Callable[[bytes, PurePath], str]
#: Names and types of columns to add to rows. A column of type `int` contains ids of rows; if these are not integers,
#: Parquet and Arrow files get them as text.
Added: TypeAlias = Mapping[str, type[str] | type[int] | type[bool] | type[float]]
#: Function that returns the values of the added columns for each row of a group, or None for a row to remove.
Decide: TypeAlias = Callable[[Sequence[Row]], Sequence[Mapping[str, object] | None]]


def portions(rows: Iterable[T], weight: Callable[[T], int], most: int = ROWS_AT_ONCE) -> Iterator[list[T]]:
    """Yield rows in groups of at most `most` rows and about `GROUP_BYTES` of total `weight`.

    If reading fails, first yield the rows before the error.
    """
    group: list[T] = []
    taken = 0
    try:
        for row in rows:
            group.append(row)
            taken += weight(row)
            if len(group) == most or taken > GROUP_BYTES:
                yield group
                group, taken = [], 0
    except Exception:
        yield group
        raise
    yield group


class RowFormat(Protocol):
    """Format of files with many rows; `takes_columns` is True if columns can be added to the rows."""

    takes_columns: bool = True

    def spans(self, opened: IO[bytes], columns: RowColumns) -> Iterator[FileSpan | None]:
        """Yield the parts of a file that several processes can read; a single None if it cannot be divided."""
        yield None

    def rows(self, opened: IO[bytes], columns: RowColumns, span: FileSpan | None = None) -> Iterator[Row]:
        """Yield the rows of a file, or of a part of it; raise UnreadRowsError if it is unreadable or lacks a column."""

    def rewrite(self, opened: IO[bytes], out: IO[bytes], columns: RowColumns, decide: Decide, added: Added) -> None:
        """Write the rows that `decide` keeps, with all their columns; replace or add the columns that it returns."""


class ReadableStream(io.RawIOBase):
    """Raw stream of the bytes returned by `read_part`."""

    def read_part(self, size: int) -> bytes | memoryview:
        """Return the next bytes, at most `size`; an empty value at the end."""
        raise NotImplementedError

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self.read_part(len(buffer))
        buffer[: len(part)] = part
        return len(part)


if TYPE_CHECKING:
    from whorl.model import Document

#: Maximum number of column names in the error for a missing column.
_SHOWN = 20
#: Maximum number of characters in the path of an object with nested values.
_MOST_PATH = 1_000


class UnreadRowsError(DocumentError):
    """A file with many rows cannot be read to its end; the number of lost rows is unknown."""


class UncopiedRowsError(UnreadRowsError):
    """The rows of a file can be read, but not copied, so the copy is unusable."""


class NestedColumnError(DocumentError):
    """A column that is read for comparisons contains objects or nested lists, perhaps in every row."""

    def __init__(self, path: str) -> None:
        self.where = f"column {path!r}"
        super().__init__(
            f"it has objects or nested lists, and only texts, numbers, dates and true or false can be compared; name a "
            f"field of the objects, such as {path}.NAME, or copy the value to a column of its own"
        )


@dataclass(frozen=True, slots=True)
class RowColumns:
    """Names of the columns or JSON keys that contain the text, id, name and properties of a document.

    A nested field is named by its path, such as `doc.text` (`find_value`).

    Args:
        id: Column of the ids; None for the column `id` if it exists, "" for no column. The id of a row without an id is
            its file and row number.
        name: Optional column of the names.
        properties: Other columns to read as properties, with values of any type; None for all columns.
        is_text_optional: Whether a row without a text is a document with an empty text, instead of an error.
        text_option: Name of the option for the text column, for error messages.
        is_text_named: Whether the user named the text column. Standard input then has rows of a table or of JSON,
            instead of one text.
        left_out: Receives the names of columns that cannot be properties, such as `content`; None to refuse rows with
            such columns.
    """

    text: str = "text"
    id: str | None = None
    name: str = "name"
    properties: frozenset[str] | None = None
    is_text_optional: bool = False
    text_option: str = "--text-column"
    is_text_named: bool = False
    left_out: set[str] | None = None

    @classmethod
    def from_names(
        cls,
        text: str | None,
        id: str | None,  # noqa: A002
        *,
        properties: frozenset[str] | None = None,
        left_out: set[str] | None = None,
    ) -> RowColumns:
        """Return the columns, given the user's names of the text column and the id column, or None."""
        return cls(text or "text", id, properties=properties, is_text_named=text is not None, left_out=left_out)

    @property
    def id_column(self) -> str:
        """Column of the ids; "" if the rows have no ids."""
        return "id" if self.id is None else self.id

    def select(self, names: Sequence[str], example: Mapping[str, object] | None = None) -> list[str]:
        """Select the columns of a file to read; `example` is a row with all nested fields of the file, or None.

        Columns without a name are not selected if there are several. Raises UnreadRowsError if a required column is
        missing or has no texts, or if selected columns have the same name.
        """
        row = example or dict.fromkeys(names)
        try:
            self.require_text(row)
        except DocumentError as error:
            raise UnreadRowsError(str(error)) from None
        paths = names if self.properties is None else (self.text, self.id_column, self.name, *self.properties)
        wanted = {path if path in names else path.partition(".")[0] for path in paths}
        counts = Counter(name for name in names if name in wanted)
        # Ignore repeated empty headings: they are common, and their columns usually empty.
        if repeated := [name for name, count in counts.items() if name and count > 1]:
            raise UnreadRowsError(f"several columns are called {repeated[0]!r}; rename all but one")
        return [name for name, count in counts.items() if count == 1]

    def has_text(self, row: Mapping[str, object]) -> bool:
        """Check whether a row has the text column, with a text or a missing value in it."""
        return has_column(row, self.text) and isinstance(find_text(row, self.text), str | bytes | None)

    def shows_text_column(self, row: Mapping[str, object]) -> bool:
        """Check whether a row proves that the text column exists; in a nested field, a missing value proves nothing."""
        return self.has_text(row) and (self.text in row or find_value(row, self.text) not in (None, []))

    def require(self, row: Mapping[str, object]) -> None:
        """Raise DocumentError if a row lacks the text column, or an explicitly named id column."""
        for name, kind, option in ((self.text, "text", self.text_option), (self.id, "id", "--id-column")):
            if name and not has_column(row, name):
                known = ", ".join(map(repr, column_paths(row)[:_SHOWN])) or "none"
                places = ", or '' to know rows by their places" if kind == "id" else ""
                raise DocumentError(
                    f"there is no column {name!r}; name the one of the {kind} ({option}), of {known}{places}"
                )

    def require_text(self, row: Mapping[str, object]) -> None:
        """Raise DocumentError if a row lacks a required column, or if the value in the text column is not a text."""
        self.require(row)
        if self.text and not self.has_text(row):
            known = ", ".join(map(repr, column_paths(row)[:_SHOWN]))
            raise DocumentError(
                f"column {self.text!r} has other values than texts; name the one of the text ({self.text_option}), of "
                f"{known}"
            )

    def documents(self, rows: Sequence[Mapping[str, object]], file: str, first: int) -> list[Document] | None:
        """Build the documents of consecutive rows together, which is faster; return None if a row may be invalid."""
        from whorl.model import documents_of

        if self.properties is None:
            return None
        texts = [find_text(row, self.text) for row in rows]
        if self.is_text_optional:
            texts = ["" if text is None else text for text in texts]
        if self.id and not all(has_column(row, self.id) for row in rows):
            return None
        ids = [find_value(row, self.id_column) for row in rows]
        if type(ids[0]) is not str:
            ids = [
                f"{file}:{number}" if document_id is None else document_id
                for number, document_id in enumerate(map(row_id, ids), first)
            ]
        names = [name if isinstance(name := find_value(row, self.name), str) else "" for row in rows]
        try:
            properties = [self._property_values(row) for row in rows] if self.properties else []
        except NestedColumnError:
            return None
        return documents_of(ids, texts, names, properties)

    def document(self, row: Mapping[str, object], file: str, number: int) -> Document:
        """Return the document of a row; raise DocumentError if the row has no text, or a value that cannot be stored.

        Without an id in the row, the id of the document is the file and the row number.
        """
        from whorl.model import RESERVED_FIELDS, Document

        self.require({self.text: None, **row} if self.is_text_optional else row)
        text, name = find_text(row, self.text), find_value(row, self.name)
        document_id = row_id(find_value(row, self.id_column))
        if self.id is None and not isinstance(document_id, str | None):
            raise DocumentError(
                f"the id in column {self.id_column!r} must be text, a whole number, a date or a UUID, got "
                f"{document_id!r:.80}; name another column (--id-column COLUMN), or '' to know rows by their places"
            )
        if self.properties is None:
            own = {self.text, self.id_column, self.name}
            properties = _flatten({key: value for key, value in row.items() if key not in own})
            properties = {path: values for path, values in properties.items() if path in row or path not in own}
            # Queries find a name by `cm:name`, too, and only in a name the words between `_` and `.`.
            match properties.get("cm:name"):
                case [str(alfresco_name)] if name in (None, "", alfresco_name):
                    name = alfresco_name
                    del properties["cm:name"]
            if self.left_out is not None:
                for path in [path for path in properties if not path or path in RESERVED_FIELDS]:
                    self.left_out.add(path)
                    del properties[path]
        else:
            properties = self._property_values(row)
            name = name if isinstance(name, str) else None
        return Document(
            f"{file}:{number}" if document_id is None else document_id,  # type: ignore[arg-type]
            _text("" if self.is_text_optional and text is None else text, self.text),
            "" if name is None else name,  # type: ignore[arg-type]
            properties,  # type: ignore[arg-type]
        )

    def _property_values(self, row: Mapping[str, object]) -> dict[str, object]:
        """Return the values of the columns in `properties`; raise NestedColumnError for objects and nested lists."""
        values = {path: _to_plain(find_value(row, path)) for path in self.properties or ()}
        for path, value in values.items():
            if any(isinstance(item, dict | list) for item in (value if isinstance(value, list) else [value])):
                raise NestedColumnError(path)
        return {key: value for key, value in values.items() if value is not None}


def rows_with_text(form: RowFormat, opened: IO[bytes], columns: RowColumns) -> Iterator[Row]:
    """Return the rows of a file; raise UnreadRowsError if the file has rows, but none with a text in the text column.

    In JSON, some rows may lack the text column, so search for the first row that has it, and then start again.
    """
    rows = form.rows(opened, columns)
    first = next(rows, None)
    lacking, row = None, first
    while row is not None and (isinstance(row.values, DocumentError) or not columns.shows_text_column(row.values)):
        if lacking is None and not isinstance(row.values, DocumentError) and not columns.has_text(row.values):
            lacking = row.values
        row = next(rows, None)
    if row is not None and row is first:
        return chain([first], rows)
    if row is None and lacking is not None:
        columns.select(list(lacking), lacking)
    opened.seek(0)
    return form.rows(opened, columns)


def row_id(value: object) -> object:
    """Return the id of a row, as text if it is a whole number, a decimal number, a date or a UUID.

    An empty cell or NaN becomes None; other values are returned unchanged.
    """
    if value == "" or value != value:
        return None
    # Undo a conversion of pandas, which writes whole numbers as floats if some ids are missing.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_scalar = isinstance(value, int | decimal.Decimal | datetime.date | uuid.UUID) and not isinstance(value, bool)
    return str(value) if is_scalar else value


#: Marks a missing column; None is a missing value in an existing column.
_ABSENT = object()


def find_value(row: Mapping[str, object], path: str, absent: object = None) -> object:
    """Return the value of a column, or of a nested field named by its path; `absent` if the row has neither.

    A path through a list returns the list of the values in its items.

    >>> find_value({"doc": {"text": "a"}, "turns": [{"text": "b"}, {"text": "c"}]}, "turns.text")
    ['b', 'c']
    """
    if path in row or "." not in path:
        return row.get(path, absent)
    name, _, rest = path.partition(".")
    return _find_nested(row.get(name, absent), rest, absent)


def _find_nested(value: object, path: str, absent: object) -> object:
    value = _map_as_object(value)
    if isinstance(value, dict):
        return find_value(value, path, absent)
    if not isinstance(value, list):
        return None if value is None else absent
    items = [_map_as_object(item) for item in value if item is not None]
    found = [find_value(item, path, absent) for item in items if isinstance(item, dict)]
    if items and all(inner is absent for inner in found):
        return absent
    lists = (inner if isinstance(inner, list) else [inner] for inner in found if inner is not absent)
    return list(chain.from_iterable(lists))


def has_column(row: Mapping[str, object], path: str) -> bool:
    return find_value(row, path, _ABSENT) is not _ABSENT


def column_paths(row: Mapping[str, object]) -> list[str]:
    """Return the names of a row's columns; for a column with nested fields, return the paths of the fields instead."""
    return list(dict.fromkeys(path for path, _ in _leaves(row)))


def find_text(row: Mapping[str, object], path: str) -> object:
    """Return the value of a text column; join the texts of a list with blank lines."""
    value = find_value(row, path)
    if not isinstance(value, list):
        return value
    texts = [item for item in value if item is not None]
    return "\n\n".join(texts) if all(isinstance(text, str) for text in texts) else value


def _text(value: object, column: str) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, bytes):
        raise DocumentError(f"{column} must be text, got {value!r:.80}")
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise DocumentError("its text is not UTF-8") from None


def _flatten(nested: dict[str, object]) -> Mapping[str, object]:
    """Return the values of a row as properties, named by their path: `{"meta": {"url": u}}` becomes `meta.url`.

    The items of a list have the path of the list. Missing values, NaN, infinity and binary values are left out.

    >>> _flatten({"lang": "en", "meta": {"url": "u", "authors": [{"name": "Ann"}, {"name": "Bo"}]}})
    {'lang': ['en'], 'meta.url': ['u'], 'meta.authors.name': ['Ann', 'Bo']}
    """
    flat: dict[str, list[object]] = {}
    for path, value in _leaves(nested):
        if isinstance(value, list):
            flat.setdefault(path, [])
        elif (plain := _to_plain(value)) is not None and not isinstance(plain, bytes):
            flat.setdefault(path, []).append(plain)
    return flat


def _leaves(row: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield the innermost values of a row with their paths: the members of objects and lists, at any depth."""
    # Values still to visit, the next one last. JSON may be nested too deeply for a recursive function.
    remaining: list[tuple[str, object]] = [*row.items()][::-1]
    while remaining:
        path, value = remaining.pop()
        value = _map_as_object(value)
        if isinstance(value, dict):
            if len(path) > _MOST_PATH:
                raise DocumentError(f"the names of nested values are too long, such as {path!r:.80}")
            remaining += [(f"{path}.{key}", inner) for key, inner in reversed(value.items())]
        elif isinstance(value, list) and value:
            remaining += [(path, item) for item in reversed(value)]
        else:
            yield path, value


def _map_as_object(value: object) -> object:
    """Convert a map of Parquet or Arrow to a dict; return any other value unchanged."""
    is_map = isinstance(value, list) and value and all(isinstance(item, tuple) for item in value)
    return dict(value) if is_map else value  # type: ignore[call-overload]


def _to_plain(value: object) -> object:
    """Convert a value for a property: dates and times to ISO 8601, decimals to floats, NaN and infinity to None."""
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta | uuid.UUID):
        return str(value)
    if isinstance(value, decimal.Decimal):
        value = float(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
