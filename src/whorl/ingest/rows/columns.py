"""Column roles of rows (text, id, name), and the conversion of rows to documents."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.errors import DocumentError

if TYPE_CHECKING:
    from whorl.model import Document

#: Maximum number of column names listed if a column is missing.
_SHOWN = 20


class UnreadRowsError(DocumentError):
    """A file with many rows cannot be read to its end; the number of lost rows is unknown."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of columns, or of JSON keys.

    Args:
        text: Column of the text.
        id: Column of the ids. None for the column `id` if it exists; "" for no column. Rows without an id are
            identified by file and row number.
        name: Column of the names; it may be missing.
        further: Further columns to read as properties, with values of any type; None for all.
        is_text_optional: Whether a row without a text is a document with an empty text, instead of an error.
    """

    text: str = "text"
    id: str | None = None
    name: str = "name"
    further: frozenset[str] | None = None
    is_text_optional: bool = False

    @property
    def id_column(self) -> str:
        """The column of the ids, "" for none."""
        return "id" if self.id is None else self.id

    def wanted(self, there: Collection[str]) -> list[str]:
        """Return the names of a file's columns that have to be read.

        Raises:
            UnreadRowsError: A required column is missing.
        """
        try:
            self.require(there)
        except DocumentError as error:
            raise UnreadRowsError(str(error)) from None
        if self.further is None:
            return list(there)
        wanted = {self.text, self.id_column, self.name, *self.further}
        return [name for name in there if name in wanted]

    def require(self, there: Collection[str]) -> None:
        """Check that the required columns exist.

        Raises:
            DocumentError: The text column, or an explicitly named id column, is missing.
        """
        for name, option in ((self.text, "text"), (self.id, "id")):
            if name and name not in there:
                told = ", ".join(map(repr, list(there)[:_SHOWN])) or "none"
                raise DocumentError(
                    f"there is no column {name!r}; name the one of the {option} (--{option}-column), of {told}"
                )

    def documents(self, rows: Sequence[Mapping[str, object]], file: str, first: int) -> list[Document] | None:
        """Return the documents of consecutive rows, created together; None if a row may be invalid.

        Args:
            rows: Values of the rows by column.
            file: As in `document`.
            first: Number of the first row.
        """
        from whorl.model import documents_of

        if self.further is None:
            return None
        further, named, id_column = self.further, self.name, self.id_column
        texts = [row.get(self.text) for row in rows]
        if self.is_text_optional:
            texts = ["" if text is None else text for text in texts]
        if self.id and not all(self.id in row for row in rows):
            return None
        ids = [row.get(id_column) for row in rows]
        if type(ids[0]) is not str:
            ids = [
                str(each) if type(each) is int else f"{file}:{number}" if each is None else each
                for number, each in enumerate(ids, first)
            ]
        names = [name if isinstance(name := row.get(named), str) else "" for row in rows]
        properties = [self._properties(row) for row in rows] if further else []
        return documents_of(ids, texts, names, properties)

    def document(self, row: Mapping[str, object], file: str, number: int) -> Document:
        """Return the document of a row.

        Args:
            row: Values of the row by column.
            file: The file; with the number, the id of a row without one.
            number: Number of the row.

        Raises:
            DocumentError: The row has no text, or a value that cannot be stored.
        """
        from whorl.model import Document

        if (self.text not in row and not self.is_text_optional) or (self.id and self.id not in row):
            self.require({*row, self.text} if self.is_text_optional else row)
        document_id, name = row.get(self.id_column), row.get(self.name)
        if isinstance(document_id, int) and not isinstance(document_id, bool):
            document_id = str(document_id)
        if self.further is None:
            own = {self.text, self.id_column, self.name}
            properties = {each: _plain(value) for each, value in row.items() if value is not None and each not in own}
        else:
            # The name column may also decide which document is kept, so it is read as a property, too.
            properties = self._properties(row)
            name = name if isinstance(name, str) else None
        return Document(
            f"{file}:{number}" if document_id is None else document_id,  # type: ignore[arg-type]
            _text("" if self.is_text_optional and row.get(self.text) is None else row[self.text]),
            "" if name is None else name,  # type: ignore[arg-type]
            properties,  # type: ignore[arg-type]
        )

    def _properties(self, row: Mapping[str, object]) -> dict[str, object]:
        """Return the values of further columns, which are only compared and never stored."""
        values = ((each, _comparable(row[each])) for each in self.further or () if row.get(each) is not None)
        return {each: value for each, value in values if value is not None}


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, bytes):
        raise DocumentError(f"text must be text, got {value!r:.80}")
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise DocumentError("its text is no UTF-8") from None


def _plain(value: object) -> object:
    """Return a value in a document's types: dates in ISO 8601, decimals as floats."""
    if isinstance(value, datetime.date):
        return value.isoformat()
    return float(value) if isinstance(value, decimal.Decimal) else value


def _comparable(value: object) -> object:
    """Return a value in a property's types: None for NaN, text for integers of more than 64 bits."""
    value = _plain(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63 else value
