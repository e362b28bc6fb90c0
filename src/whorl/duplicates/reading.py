"""The documents of files that are compared, what they are worth, and what is to be told of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from whorl.duplicates.keep import Keep, seconds_of
from whorl.duplicates.levels import Level, pieces_of
from whorl.duplicates.sketching import no_date
from whorl.errors import DocumentError, ParameterError
from whorl.ingest.files import Problem, documents_in, file_text, spans_in
from whorl.ingest.places import Place, StandardInput, places
from whorl.ingest.rows.columns import Columns
from whorl.ingest.rows.row import File, Span
from whorl.model import Document

#: Columns that are named where one is missing, at most.
_SHOWN = 20


def _ignore(position: int) -> None:
    """Report nothing."""


class Reading:
    """The documents of files, read once.

    Args:
        named: What to read: words as `ingest.places` takes them.
        reference: What they are compared with, in the same words.
        columns: Where ids and texts stand in rows.
        keep: What decides which document of a cluster is kept.
        date_column: The column of the dates of documents; None for those of files.
        within: The column that has to be the same in documents that are compared; it becomes a property.
        level: What of each document is compared.
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
        level: Level = Level.DOCUMENT,
        lasts: bool = False,
        is_rewritten: bool = False,
    ) -> None:
        self.problems: list[Problem] = []
        #: Documents that were read.
        self.count = 0
        self._keep, self._lasts, self._is_rewritten = keep, lasts, is_rewritten
        self._date_column, self._within, self.level = date_column, within, level
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

    def reference(self) -> Documents:
        """Return what the others are compared with; ids of rows are told apart from theirs by their file's name."""
        return Documents(self, self._reference, is_reference=True)

    def documents(self) -> Documents:
        """Return the documents to look through."""
        return Documents(self, self.places)

    def part(self, place: Place, span: Span | None, *, is_reference: bool) -> Part:
        """Return what is read of a file, or of a stretch of it."""
        return Part(
            place.file, span, self.columns, self._keep, self._date_column, self._within, self.level, is_reference
        )

    def note_bytes(self, done: int, at: int = 0) -> None:
        """Note that so many bytes are read, and so many of the file that is being read."""
        self._done, self._at = self._done + done, at

    def note(self, report: Report) -> None:
        """Take what was noticed in a part."""
        self.count += report.count
        self.problems += report.problems

    def require_decided(self, *, has_worth: bool, has_date: bool, has_part: bool) -> None:
        """Raise if a column decides which document is kept, or has the dates, and none has a date or a number in it.

        Also raise if a column has to be the same in documents that are compared, and there is no such column: all
        would be compared with each other. One in which nothing stands is no mistake, as on a day without any.

        Raises:
            ParameterError: So it is.
        """
        column, dates = self._keep.column, self._date_column
        if column and not has_worth and self.count:
            raise ParameterError(
                f"no document has a {self._keep.sought} in the column {column!r}, so nobody knows which is the "
                f"{self._keep.by}; " + self._advice()
            )
        if dates and not has_date and self.count:
            raise ParameterError(
                f"no document has a date in the column {dates!r}; name another one (--date COLUMN{self._columns()})"
            )
        within = self._within
        if within and not has_part and self.count and not any(within in names for names in self._headers()):
            raise ParameterError(
                f"no document has a column {within!r}; name another one (--within-column COLUMN{self._columns()})"
            )

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

    @property
    def dates(self) -> Callable[[Document], float | None]:
        """What returns the dates of documents, where these may matter."""
        return self.date if self._needs_dates or self._lasts else no_date

    @property
    def _needs_dates(self) -> bool:
        return self._keep.is_by_value and not self._keep.column

    def date(self, document: Document) -> float | None:
        """Return when a file was changed, in seconds since 1970, if that may decide; None where nobody knows.

        Raises:
            ParameterError: Dates of files decide, and a row of a file has none.
        """
        needed = self._needs_dates
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
        return sorted(set(next(self._headers(), [])) - {self.columns.text, self.columns.id_column})

    def _headers(self) -> Iterator[list[str]]:
        """Yield the columns of the first row of each file that has rows."""
        from whorl.ingest.rows.formats import column_names

        for place in self.places:
            try:
                names = column_names(place.file, self.columns, file_text)
            except (DocumentError, OSError):
                continue
            if names:
                yield names

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


@dataclass(slots=True)
class Report:
    """What was noticed while documents were read.

    Args:
        count: Documents that were read.
        problems: What gave none.
        has_worth: Whether one has something in the column that decides which is kept.
        has_date: Whether one has a date in the column of dates.
        has_part: Whether one has something in the column that has to be the same in documents that are compared.
    """

    count: int = 0
    problems: list[Problem] = field(default_factory=list)
    has_worth: bool = False
    has_date: bool = False
    has_part: bool = False


@dataclass(slots=True)
class Part:
    """A file, or a stretch of one, as a process reads it.

    Args:
        file: The file.
        span: The stretch; None for all of it.
        columns: Where ids and texts stand in rows.
        keep: What decides which document of a cluster is kept.
        date_column: The column of the dates of documents.
        within: The column that has to be the same in documents that are compared.
        level: What of each document is compared.
        is_reference: Whether ids of rows are told apart from others by their file's name.
        at_byte: Called now and then with how far the file is read.
        report: What was noticed, once all is read.
    """

    file: File
    span: Span | None
    columns: Columns
    keep: Keep
    date_column: str | None
    within: str | None
    level: Level
    is_reference: bool
    at_byte: Callable[[int], None] = _ignore
    report: Report = field(default_factory=Report)

    def __iter__(self) -> Iterator[Document]:
        """Yield the documents, or the pieces that are compared."""
        told, file = self.report, self.file.as_posix()
        column, dates, within = self.keep.column, self.date_column, self.within
        is_whole = self.level in (Level.DOCUMENT, Level.PASSAGE)
        is_plain = is_whole and not (column or dates or within or self.is_reference)
        for document in documents_in(
            self.file, told.problems.append, self.columns, span=self.span, tables_are_text=False, at_byte=self.at_byte
        ):
            told.count += 1
            if is_plain:
                yield document
                continue
            if column and not told.has_worth:
                told.has_worth = self.keep.worth(document.properties.get(column)) is not None
            if dates and not told.has_date:
                told.has_date = seconds_of(document.properties.get(dates)) is not None
            if within and not told.has_part:
                told.has_part = document.properties.get(within) is not None
            if self.is_reference and document.id != file and not document.id.startswith(f"{file}:"):
                document = replace(document, id=f"{file}:{document.id}")
            if is_whole:
                yield document
                continue
            try:
                yield from pieces_of(document, self.level)
            except DocumentError as error:
                told.problems.append(Problem(f"{self.file}, {document.id}", str(error)))


class Documents:
    """Documents of files, to be read one after the other, or part by part by several processes.

    Args:
        reading: What takes note of all of them.
        of: The files.
        is_reference: Whether these are what others are compared with.
    """

    def __init__(self, reading: Reading, of: Sequence[Place], *, is_reference: bool = False) -> None:
        self._reading, self._places, self._is_reference = reading, of, is_reference
        self._noted = Report()

    def __iter__(self) -> Iterator[Document]:
        for place in self._places:
            part = self._reading.part(place, None, is_reference=self._is_reference)
            part.at_byte = partial(self._reading.note_bytes, 0)
            yield from part
            self.note(part.report)
            self._reading.note_bytes(place.size)
        self.finish()

    @property
    def is_portable(self) -> bool:
        """Whether a process that begins anew can read them, too."""
        return not any(isinstance(place.file, StandardInput) for place in self._places)

    def parts(self) -> Iterator[Part]:
        """Yield what several processes may read."""
        for place in self._places:
            left = place.size
            for span in spans_in(place.file, self._reading.columns):
                yield self._reading.part(place, span, is_reference=self._is_reference)
                own = 0 if span is None else min(left, span.end - span.begin)
                left -= own
                self._reading.note_bytes(own)
            self._reading.note_bytes(left)

    def note(self, report: Report) -> None:
        """Take what was noticed in a part that was read."""
        self._reading.note(report)
        self._noted.has_worth |= report.has_worth
        self._noted.has_date |= report.has_date
        self._noted.has_part |= report.has_part

    def finish(self) -> None:
        """Tell what is wrong with all of them.

        Raises:
            ParameterError: A column decides which document is kept, or has the dates, and none has a date or a number
                in it; or documents are compared within a column that there is not.
        """
        if not self._is_reference:
            noted = self._noted
            self._reading.require_decided(has_worth=noted.has_worth, has_date=noted.has_date, has_part=noted.has_part)


def _once(named: Iterable[Place], known: set[object]) -> Iterator[Place]:
    """Yield the files that are not known yet, and note them.

    By another path or a link a file is no duplicate of itself, whose only copy would be listed for deletion.
    """
    for place in named:
        if (identity := place.identity) not in known:
            known.add(identity)
            yield place
