"""The documents of files that are compared, what they are worth, and what is to be told of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from whorl.duplicates.keep import Keep, seconds_of
from whorl.errors import DocumentError, ParameterError
from whorl.ingest.files import Problem, documents_in, file_text
from whorl.ingest.places import Place, places
from whorl.ingest.rows.columns import Columns
from whorl.model import Document

#: Columns that are named where one is missing, at most.
_SHOWN = 20


class Reading:
    """The documents of files, read once.

    Args:
        named: What to read: words as `ingest.places` takes them.
        reference: What they are compared with, in the same words.
        columns: Where ids and texts stand in rows.
        keep: What decides which document of a cluster is kept.
        date_column: The column of the dates of documents; None for those of files.
        within: The column that has to be the same in documents that are compared; it becomes a property.
        lasts: Whether what is learned is kept for another run, which may need the dates of files.
        is_rewritten: Whether rows are told apart by their ids when the files are written anew.
    """

    def __init__(
        self,
        named: Sequence[str],
        *,
        reference: Sequence[str] = (),
        columns: Columns = Columns(),  # noqa: B008 - frozen
        keep: Keep = Keep("first"),  # noqa: B008 - frozen
        date_column: str | None = None,
        within: str | None = None,
        lasts: bool = False,
        is_rewritten: bool = False,
    ) -> None:
        self.problems: list[Problem] = []
        #: Documents that were read.
        self.count = 0
        self._keep, self._lasts, self._is_rewritten = keep, lasts, is_rewritten
        self._date_column = date_column
        needed = frozenset(filter(None, (keep.column, date_column, within)))
        self.columns = replace(columns, further=needed)
        known = set[object]()
        self._reference = list(_once(places(reference, self.problems.append), known))
        #: What is looked through; a file that is in the reference too counts as that.
        self.places = list(_once(places(named, self.problems.append), known))
        self._bytes = sum(place.size for place in [*self._reference, *self.places])
        self._done = self._at = 0

    @property
    def share(self) -> tuple[int, int]:
        """How many bytes are read, of how many."""
        return min(self._done + self._at, self._bytes), self._bytes

    def reference(self) -> Iterator[Document]:
        """Yield what the others are compared with; ids of rows are told apart from theirs by their file's name."""
        for place in self._reference:
            file = place.file.as_posix()
            for document in self._of(place):
                is_known_by_file = document.id == file or document.id.startswith(f"{file}:")
                yield document if is_known_by_file else replace(document, id=f"{file}:{document.id}")

    def documents(self) -> Iterator[Document]:
        """Yield the documents to look through.

        Raises:
            ParameterError: A column decides which document is kept, or has the dates, and none has a date or a number
                in it.
        """
        column, dates = self._keep.column, self._date_column
        is_worth, is_dated = not column, not dates
        for place in self.places:
            for document in self._of(place):
                is_worth = is_worth or self._keep.worth(document.properties.get(column)) is not None
                is_dated = is_dated or seconds_of(document.properties.get(dates or "")) is not None
                yield document
        if not is_worth and self.count:
            raise ParameterError(
                f"no document has a {self._keep.sought} in the column {column!r}, so nobody knows which is the "
                f"{self._keep.by}; " + self._advice()
            )
        if not is_dated and self.count:
            raise ParameterError(
                f"no document has a date in the column {dates!r}; name another one (--date COLUMN{self._columns()})"
            )

    def _of(self, place: Place) -> Iterator[Document]:
        def at(byte: int) -> None:
            self._at = byte

        for document in documents_in(place.file, self.problems.append, self.columns, tables_are_text=False, at_byte=at):
            self.count += 1
            yield document
        self._done, self._at = self._done + place.size, 0

    def texts(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the texts of documents again, of those that are a file each; rows are not looked for."""
        found: dict[str, str] = {}
        for each in ids:
            if place := self._files.get(each):
                read = documents_in(place.file, lambda problem: None, self.columns)
                found |= {document.id: document.text for document in read if document.id == each}
        return found

    @cached_property
    def _files(self) -> dict[str, Place]:
        return {place.file.as_posix(): place for place in self.places}

    def date(self, document: Document) -> float | None:
        """Return when a file was changed, in seconds since 1970, if that may decide; None where nobody knows.

        Raises:
            ParameterError: Dates of files decide, and a row of a file has none.
        """
        needed = self._keep.is_by_value and not self._keep.column
        if not (needed or self._lasts):
            return None
        try:
            return os.stat(document.id).st_mtime
        except (OSError, ValueError):
            if not needed:
                return None
            raise ParameterError(
                f"{document.id!r} is one of several documents in a file, and has no date of its own; " + self._advice()
            ) from None

    def _advice(self) -> str:
        return f"name the column (--keep {self._keep.by}:COLUMN{self._columns()}), or --keep first or longest"

    def _columns(self) -> str:
        """Return the columns there are, as advice names them."""
        there = ", ".join(self._names()[:_SHOWN])
        return f", of {there}" if there else ""

    def _names(self) -> list[str]:
        """Return the columns of the first row that there is, but for its text."""
        from whorl.ingest.rows.formats import column_names

        names: list[str] = []
        for place in self.places:
            try:
                names = column_names(place.file, self.columns, file_text)
            except (DocumentError, OSError):
                continue
            if names:
                break
        return sorted(set(names) - {self.columns.text, self.columns.id_column})

    def note_repeated(self, document_id: str) -> None:
        """Remember to tell of an id that came again.

        Raises:
            ParameterError: Rows are to be told apart by their ids.
        """
        if self._is_rewritten:
            raise ParameterError(
                f"the id {document_id!r} comes more than once, so that it does not tell which row to keep; name "
                "another column (--id-column COLUMN), or '' for rows to be known by their places"
            )
        self.problems.append(Problem(document_id, "this id came before; the last document of it counts", 0))


def _once(named: Iterable[Place], known: set[object]) -> Iterator[Place]:
    """Yield the files that are not known yet, and note them.

    By another path or a link a file is no duplicate of itself, whose only copy would be listed for deletion.
    """
    for place in named:
        if (identity := place.identity) not in known:
            known.add(identity)
            yield place
