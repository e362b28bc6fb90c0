"""Reads the documents to compare from files, as whole documents, paragraphs or lines."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import TypeAlias
from urllib.parse import unquote

from whorl.duplicates.options import DuplicatesOptions
from whorl.duplicates.retention import seconds_of
from whorl.duplicates.split_documents import piece_id, pieces_of
from whorl.errors import DocumentError, ParameterError, shorten_repr
from whorl.ingest.files import (
    FoundFile,
    OnProblem,
    Problem,
    Problems,
    StandardInput,
    documents_in,
    find_files,
    skip_known,
    spans_in,
    text_from_bytes,
)
from whorl.ingest.redact_addresses import redact_address
from whorl.ingest.rows.row_format import File, FileSpan, RowColumns, column_paths, has_column
from whorl.model import RESERVED_FIELDS, Document

ALL_IN_REFERENCE = "all files of PATHs are in --reference too, and count as reference; name other PATHs"
_LISTED_COLUMNS, _LISTED_FILES = 20, 3
#: Values in the name of a folder, such as `lang=`, that stand for a missing value.
_NO_VALUE = ("", "__HIVE_DEFAULT_PARTITION__")
#: Maximum number of characters of an id in a message: ids are long if `--id-column` names a column of texts.
_LONGEST_ID = 80
#: Largest input, in bytes, that is read a second time to get the texts of rows for snippets.
_SMALL_BYTES = 200_000_000


#: Type of `find_files` with its options.
FindFiles: TypeAlias = Callable[[Iterable[str], OnProblem], Iterator[FoundFile]]


class InputReader:
    """Reads all input files of a run, each once; counts documents and bytes, and collects problems.

    Args:
        named: Files, folders and URLs to search.
        options: Columns named by the options become properties of the documents. If `state` names a folder, the dates
            of files are read too.
        reference: Files and folders of the reference.
        reference_columns: Text columns in the rows of the reference; if empty, the text column that `columns` names.
        is_rewritten: Whether copies of the files will be written without their duplicates. Each id must then belong to
            one row only.
        find: Finds the files that words name; a partial `find_files` with options.
    """

    def __init__(
        self,
        named: Sequence[str],
        options: DuplicatesOptions = DuplicatesOptions(),  # noqa: B008 - frozen
        *,
        reference: Sequence[str] = (),
        reference_columns: Sequence[str] = (),
        columns: RowColumns = RowColumns(),  # noqa: B008 - frozen
        is_rewritten: bool = False,
        find: FindFiles = find_files,
    ) -> None:
        self.problems = Problems()
        #: Number of documents read, number read outside the reference, and number of repeated ids.
        self.count = self.count_in_paths = self.repeated = 0
        #: Number of values that are not a date or number, although the retention policy or the versions need one.
        self.unread_values = 0
        self.options, self._is_rewritten = options, is_rewritten
        self.reference_columns = tuple(reference_columns)
        self._keep = options.policy
        needed = frozenset(filter(None, (self._keep.column, options.date, options.within)))
        _require_possible(needed, columns)
        self.columns = replace(columns, properties=needed, is_text_optional=True)
        #: Columns that a later step adds. If a row already has such a column, this is an error.
        self.added = frozenset[str]()
        self._with_documents, self._with_problems = set[str](), set[str]()
        known = set[object]()
        self._reference = list(skip_known(_find_reference(reference, find), known))
        found = dict[object, FoundFile]()
        for file in find(named, self.problems.append):
            found.setdefault(file.identity, file)
        #: Number of files that are also in the reference.
        self.in_reference = len(found.keys() & known)
        self.files = [file for identity, file in found.items() if identity not in known]
        if self.in_reference and not self.files:
            raise ParameterError(ALL_IN_REFERENCE)
        self._versions = [found.version for found in self.files] if is_rewritten else []
        self._bytes = sum(found.size for found in [*self._reference, *self.files])
        self._done = self._at = 0

    @property
    def byte_progress(self) -> tuple[int, int]:
        """Number of bytes read so far, and size of the whole input."""
        return min(self._done + self._at, self._bytes), self._bytes

    @property
    def unread(self) -> set[str]:
        """Files with problems and without any readable document."""
        return self._with_problems - self._with_documents

    def reference(self) -> InputDocuments:
        """Return the reference documents; the id of a row begins with the name of its file."""
        return InputDocuments(self, self._reference, is_reference=True)

    def documents(self) -> InputDocuments:
        return InputDocuments(self, self.files)

    def require_unchanged(self) -> None:
        """Raise DocumentError if a file has changed since the reader was made, so that a copy would have other rows."""
        for found, version in zip(self.files, self._versions, strict=bool(self._versions)):
            if found.has_changed(version):
                raise DocumentError(
                    f"{found.file} was changed or deleted during the run, so a copy would not have the rows that were "
                    "compared; run the command again"
                )

    def make_part(self, found: FoundFile, span: FileSpan | None, *, is_reference: bool) -> InputPart:
        columns, texts = self.columns_to_read(found, is_reference=is_reference)
        added = frozenset() if is_reference else self.added
        return InputPart(found.file, span, columns, self.options, is_reference, texts, added)

    def columns_to_read(self, found: FoundFile, *, is_reference: bool) -> tuple[RowColumns, tuple[str, ...]]:
        """Return the columns to read from a file, and the text columns whose texts become separate documents."""
        if not is_reference:
            return replace(self.columns, properties=(self.columns.properties or frozenset()) | self.added), ()
        columns, names = replace(self.columns, text_option="--reference-column"), self.reference_columns
        if names:
            row = self.first_row(found)
            names = tuple(name for name in names if has_column(row, name)) or names
            columns = replace(columns, text=names[0], properties=frozenset({*(columns.properties or ()), *names[1:]}))
        return columns, names

    def note_bytes(self, done: int, at: int = 0) -> None:
        """Record progress: `done` more bytes of finished files, and the position `at` in the current file."""
        self._done, self._at = self._done + done, at

    def note(self, part: InputPart) -> None:
        self.count += part.count
        self.count_in_paths += 0 if part.is_reference else part.count
        self.problems.extend(part.problems)
        if part.count:
            self._with_documents.add(part.file.as_posix())
        if part.problems:
            self._with_problems.add(part.file.as_posix())

    def require_reference_texts(self, used: Collection[tuple[str, str]]) -> None:
        """Raise ParameterError if a text column of the reference has no text in any row: the search would ignore it."""
        for name in self.reference_columns or [self.columns.text]:
            if self._reference and (name, "text") not in used:
                paths = {path for found in self._reference for path in column_paths(self.first_row(found))}
                if not paths:
                    # Plain texts have no columns, and empty files have no rows, so the message names the files.
                    files = ", ".join(str(found.file) for found in self._reference[:_LISTED_FILES])
                    raise ParameterError(f"--reference has no text: {files}")
                columns = ", ".join(sorted(paths)[:_LISTED_COLUMNS])
                raise ParameterError(
                    f"--reference has no text in the column {name!r}; name another one "
                    f"(--reference-column COLUMN, of {columns})"
                )

    def require_used_columns(self, used: Collection[tuple[str, str]]) -> None:
        """Raise ParameterError if the column of the retention policy, or the date column, has no usable value at all.

        Also raise it if no file has the `within` column, because then all documents would be compared with each other.
        A column without values is accepted.
        """
        if not self.count_in_paths:
            return
        column, dates, within = self._keep.column, self.options.date, self.options.within
        if column and (column, self._keep.needed_type) not in used:
            raise ParameterError(
                f"no document has a {self._keep.needed_type} in the column {column!r}, so the "
                f"{self._keep.by} is unknown; " + self._column_hint()
            )
        if dates and (dates, "date") not in used:
            raise ParameterError(
                f"no document has a date in the column {dates!r}; name another one (--date COLUMN{self._columns()})"
            )
        is_unused = within is not None and (within, "value") not in used
        if is_unused and not any(has_column(self.first_row(found), str(within)) for found in self.files):
            raise ParameterError(
                f"no document has a column {within!r}; name another one (--within-column COLUMN{self._columns()})"
            )

    def texts(self, ids: Sequence[str]) -> dict[str, str]:
        """Read files again, to return the texts of documents that are whole files. The result omits ids of rows."""
        texts: dict[str, str] = {}
        for document_id in ids:
            if file := self._files.get(document_id):
                read = documents_in(file, lambda problem: None, self.columns)
                texts |= {document.id: document.text for document in read if document.id == document_id}
        return texts

    def row_texts(self, ids: Sequence[str]) -> dict[str, str]:
        """Read the input again, to return the texts of rows, or of paragraphs or lines of documents.

        Return an empty dict if the input is too large to be read again.
        """
        if self._bytes > _SMALL_BYTES:
            return {}
        wanted, texts = set(ids), dict[str, str]()
        parts = (
            self.make_part(found, None, is_reference=is_reference)
            for files, is_reference in ((self._reference, True), (self.files, False))
            for found in files
        )
        for document in chain.from_iterable(parts):
            if document.id in wanted:
                texts[document.id] = document.text
                wanted.discard(document.id)
            if not wanted:
                break
        return texts

    @cached_property
    def _files(self) -> dict[str, File]:
        return {found.file.as_posix(): found.file for found in self.files}

    @property
    def dates(self) -> Callable[[Document], float | None] | None:
        """Function that returns a document's date; None if no step needs dates of files."""
        is_needed = self.options.state is not None or (self._keep.is_by_value and not self._keep.column)
        return self._date if is_needed else None

    def _date(self, document: Document) -> float | None:
        """Return the modification time of a file that is one document, in seconds since 1970; None if unknown.

        Raises:
            ParameterError: The retention policy needs dates of files, and the document is a row of a file.
        """
        try:
            return os.stat(document.id).st_mtime
        except (OSError, ValueError):
            if self._keep.column or not self._keep.is_by_value:
                return None
            raise ParameterError(
                f"{document.id!r} is one of several documents in a file, and has no date of its own; "
                + self._column_hint()
            ) from None

    def _column_hint(self) -> str:
        return f"name the column (--keep {self._keep.by}:COLUMN{self._columns()}), or --keep first or longest"

    def _columns(self) -> str:
        row = next(filter(None, map(self.first_row, self.files)), {})
        names = sorted({*column_paths(row)} - {self.columns.text, self.columns.id_column})
        return f", of {', '.join(names[:_LISTED_COLUMNS])}" if names else ""

    def first_row(self, found: FoundFile) -> Mapping[str, object]:
        """Return the values of a file's first row; an empty dict if the file has no row or cannot be read."""
        from whorl.ingest.rows.detect_row_format import first_row

        try:
            # The file may lack the id column or the text column, so require neither of them.
            return first_row(found.file, replace(self.columns, text="", id=None), text_from_bytes)
        except (DocumentError, OSError):
            return {}

    def note_repeated(self, document_id: str) -> None:
        """Record a repeated id as a problem; raise ParameterError if copies will be written, which need unique ids."""
        if self._is_rewritten:
            raise ParameterError(
                f"the id {shorten_repr(document_id)} comes more than once, so that it does not tell which row to keep; "
                "name another column (--id-column COLUMN), or '' to identify rows by file and line"
            )
        reason = "this id came before; the last document of it counts (--id-column '' names rows by file and line)"
        where = document_id if len(document_id) <= _LONGEST_ID else shorten_repr(document_id, _LONGEST_ID)
        self.problems.append(Problem(where, reason, 0))
        self.repeated += 1


@dataclass(slots=True)
class InputPart:
    """The documents of a file, or of a byte range of a file; one process reads them.

    Args:
        texts: Columns whose texts become separate documents; the first is also in `columns`.
        added: Columns that rows must not have, because a later step adds them.
        at_byte: Called after each group of rows with the number of bytes read so far; None for no calls.

    Attributes:
        count: Number of documents read. `count`, `problems` and `used` are complete after all documents have been read.
        used: Columns with at least one usable value, as pairs (column, needed type). The type is "text" for text
            columns, "date" or "number" for the date column and the column of the retention policy, and "value" for
            `within`.
    """

    file: File
    span: FileSpan | None
    columns: RowColumns
    options: DuplicatesOptions
    is_reference: bool
    texts: tuple[str, ...] = ()
    added: frozenset[str] = frozenset()
    at_byte: Callable[[int], None] | None = None
    count: int = 0
    problems: Problems = field(default_factory=Problems)
    used: set[tuple[str, str]] = field(default_factory=set)

    def __iter__(self) -> Iterator[Document]:
        for document in self._documents():
            try:
                for part in [document] if len(self.texts) < 2 else self._split_columns(document):
                    found = pieces_of(part, self.options.granularity)
                    if not found and self.options.state is not None:
                        # A blank text has no pieces. Yield an empty piece, so that `delete_old_pieces` finds the
                        # document, and deletes the pieces of its earlier text.
                        found = [replace(part, id=piece_id(part.id, 0), text="")]
                    yield from found
            except DocumentError as error:
                self.problems.append(Problem(f"{self.file}, {document.id}", str(error)))

    def _documents(self) -> Iterator[Document]:
        """Yield the documents with their final ids and properties; count them, and note the columns that they use."""
        policy, file = self.options.policy, self.file.as_posix()
        needed = (
            ((policy.column, policy.needed_type), policy.rank_of),
            ((self.options.date or "", "date"), seconds_of),
            ((self.options.within or "", "value"), lambda value: value),
        )
        unseen = [(column, convert) for column, convert in needed if column[0]]
        of_folders = _folder_values(file, {column for (column, _), _ in unseen})
        at_byte = self.at_byte or (lambda position: None)
        for document in documents_in(
            self.file, self.problems.append, self.columns, span=self.span, on_text_table=None, at_byte=at_byte
        ):
            self.count += 1
            if of_folders:
                document = replace(document, properties={**of_folders, **document.properties})
            if self.is_reference and document.text.strip():
                self.used.add((self.columns.text, "text"))
            if self.added:
                require_free_columns(self.file, document.properties.keys(), self.added)
            for column, convert in unseen[:]:
                if convert(document.properties.get(column[0])) is not None:
                    self.used.add(column)
                    unseen.remove((column, convert))
            if self.is_reference and document.id != file and not document.id.startswith(f"{file}:"):
                document = replace(document, id=f"{file}:{document.id}")
            yield document

    def _split_columns(self, document: Document) -> list[Document]:
        """Return a document for each text of a row, named after its column.

        If the row has several texts, also return a document with all of them.
        """
        texts = {self.texts[0]: document.text}
        for name in self.texts[1:]:
            value = document.properties.get(name, "")
            texts[name] = "\n".join(map(str, value)) if isinstance(value, tuple) else str(value)
        texts = {name: text for name, text in texts.items() if text}
        self.used |= {(name, "text") for name in texts}
        if len(texts) > 1:
            texts["+".join(texts)] = "\n".join(texts.values())
        properties = {name: value for name, value in document.properties.items() if name not in self.texts}
        return [
            replace(document, id=f"{document.id}#{name}", name=name, text=text, properties=properties)
            for name, text in texts.items()
        ]


class InputDocuments:
    """The documents of several files. One process reads all files, or several read parts of them."""

    def __init__(self, reader: InputReader, files: Sequence[FoundFile], *, is_reference: bool = False) -> None:
        self._reader, self._files, self._is_reference = reader, files, is_reference
        self._used = set[tuple[str, str]]()

    def __iter__(self) -> Iterator[Document]:
        for found in self._files:
            part = self._reader.make_part(found, None, is_reference=self._is_reference)
            part.at_byte = partial(self._reader.note_bytes, 0)
            yield from part
            self.note(part)
            self._reader.note_bytes(found.size)
        self.finish()

    @property
    def is_portable(self) -> bool:
        return not any(isinstance(found.file, StandardInput) for found in self._files)

    def parts(self) -> Iterator[InputPart]:
        for found in self._files:
            left = found.size
            columns, _ = self._reader.columns_to_read(found, is_reference=self._is_reference)
            for span in spans_in(found.file, columns):
                yield self._reader.make_part(found, span, is_reference=self._is_reference)
                own = 0 if span is None else min(left, span.end - span.begin)
                left -= own
                self._reader.note_bytes(own)
            self._reader.note_bytes(left)

    def note(self, part: InputPart) -> None:
        """Record a part's counts and problems; raise ParameterError if a whole file of the reference is lost."""
        if self._is_reference:
            _require_no_loss(part.problems)
        self._reader.note(part)
        self._used |= part.used

    def finish(self) -> None:
        """Raise ParameterError if a required column has no value."""
        if self._is_reference:
            self._reader.require_reference_texts(self._used)
        else:
            self._reader.require_used_columns(self._used)


def _folder_values(path: str, columns: Collection[str]) -> dict[str, str]:
    """Return the values of columns in a path, as Hive and Spark write them: `lang=en/part-0.parquet`."""
    named = (folder.partition("=") for folder in path.split("/")[:-1])
    return {column: unquote(value) for column, _, value in named if column in columns and value not in _NO_VALUE}


def _require_possible(needed: Collection[str], columns: RowColumns) -> None:
    """Raise ParameterError if a needed column is the text column or has a reserved name: every row would fail."""
    for name in needed:
        if name == columns.text:
            raise ParameterError(f"the column {name!r} has the texts, so it cannot choose or separate documents")
        if name in RESERVED_FIELDS:
            raise ParameterError(
                f"the column {name!r} cannot choose or separate documents, because this name is reserved; copy it to a "
                "column with another name, and name that one"
            )


def require_free_columns(file: File | str, names: Collection[str], added: Iterable[str]) -> None:
    """Raise ParameterError if a file or one of its rows has a column that --annotated adds."""
    if taken := [name for name in added if name in names]:
        raise ParameterError(
            f"{file} has a column {taken[0]!r} already, which --annotated writes; give it another name"
        )


def _find_reference(paths: Iterable[str], find: FindFiles) -> Iterator[FoundFile]:
    """Yield the files of the reference; raise ParameterError if a path is unknown, unreadable or an empty folder."""
    for name in paths:
        problems = Problems()
        files = list(find([name], problems.append))
        _require_no_loss(problems)
        if not files:
            raise ParameterError(f"--reference {redact_address(name)}: there is no file in this folder")
        yield from files


def _require_no_loss(problems: Problems) -> None:
    """Raise ParameterError if a file of the reference could not be read: the number of lost documents is unknown."""
    for problem in problems:
        if problem.documents is None:
            raise ParameterError(f"--reference {problem}")
