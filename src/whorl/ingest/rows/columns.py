"""Which columns of a row are its text, its id and its name, and the document that they make."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.errors import DocumentError

if TYPE_CHECKING:
    from whorl.model import Document

#: Names that are shown where a column is missing, at most.
_SHOWN = 20


class UnreadRowsError(DocumentError):
    """A file of many rows cannot be read, or not to its end; nobody knows how many are lost."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of columns, or of keys of JSON.

    Args:
        text: The text; every row has one.
        id: What documents are known by. None for the column `id` where there is one; "" for none. Rows without an id
            are known by their file and their place in it.
        name: What people know documents by; need not be there.
        further: Which others become properties of the documents, whatever they hold; None for all.
    """

    text: str = "text"
    id: str | None = None
    name: str = "name"
    further: frozenset[str] | None = None

    @property
    def id_column(self) -> str:
        """The column of the ids, "" for none."""
        return "id" if self.id is None else self.id

    def wanted(self, there: Collection[str]) -> list[str]:
        """Return the columns to read, of those that a file has.

        Raises:
            UnreadRowsError: One that every row has is missing.
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
        """Raise where a column is missing that every row has.

        Raises:
            DocumentError: The text is, or an id by a name of its own.
        """
        for name, option in ((self.text, "text"), (self.id, "id")):
            if name and name not in there:
                told = ", ".join(map(repr, list(there)[:_SHOWN])) or "none"
                raise DocumentError(
                    f"there is no column {name!r}; name the one of the {option} (--{option}-column), of {told}"
                )

    def documents(self, rows: Sequence[Mapping[str, object]], file: str, first: int) -> list[Document] | None:
        """Return the documents of rows in a row, made together, if there is nothing odd about any; else None.

        Args:
            rows: What stands in their columns.
            file: As in `document`.
            first: The number of the first of them.
        """
        from whorl.model import documents_of

        if self.further is None:
            return None
        further, named, id_column = self.further, self.name, self.id_column
        try:
            texts = [row[self.text] for row in rows]
        except KeyError:
            return None
        if self.id and not all(self.id in row for row in rows):
            return None
        ids = [row.get(id_column) for row in rows]
        if type(ids[0]) is not str:
            ids = [
                str(each) if type(each) is int else f"{file}:{number}" if each is None else each
                for number, each in enumerate(ids, first)
            ]
        names = [name if isinstance(name := row.get(named), str) else "" for row in rows]
        properties = (
            [{each: _plain(row[each]) for each in further if row.get(each) is not None} for row in rows]
            if further
            else []
        )
        return documents_of(ids, texts, names, properties)

    def document(self, row: Mapping[str, object], file: str, number: int) -> Document:
        """Return the document of a row.

        Args:
            row: What stands in its columns.
            file: The file that it is in, by which and its number it is known where it has no id.
            number: Its place there.

        Raises:
            DocumentError: It has no text, or something that no document can have.
        """
        from whorl.model import Document

        if self.text not in row or (self.id and self.id not in row):
            self.require(row)
        document_id, name = row.get(self.id_column), row.get(self.name)
        if isinstance(document_id, int) and not isinstance(document_id, bool):
            document_id = str(document_id)
        if self.further is None:
            own = {self.text, self.id_column, self.name}
            properties = {each: _plain(value) for each, value in row.items() if value is not None and each not in own}
        else:
            # A column may be the name, and decide as well which document is kept.
            properties = {each: _plain(row[each]) for each in self.further if row.get(each) is not None}
            name = name if isinstance(name, str) else None
        return Document(
            f"{file}:{number}" if document_id is None else document_id,  # type: ignore[arg-type]
            _text(row[self.text]),
            "" if name is None else name,  # type: ignore[arg-type]
            properties,  # type: ignore[arg-type]
        )


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
    """Return a value as documents have it: dates as ISO 8601 has them, decimals as numbers."""
    if isinstance(value, datetime.date):
        return value.isoformat()
    return float(value) if isinstance(value, decimal.Decimal) else value
