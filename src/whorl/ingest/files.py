"""Files and folders to documents: text, Markdown, files of many rows (`rows`), and what `extraction` reads.

A file that cannot be read is a problem to be told at the end, never the end of the run.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath
from typing import IO, TYPE_CHECKING

from whorl.errors import DocumentError, ParameterError
from whorl.ingest.extraction.decoding import decode
from whorl.ingest.extraction.formats import format_of
from whorl.ingest.rows.columns import Columns, UnreadRowsError
from whorl.ingest.rows.formats import format_of as format_of_rows
from whorl.ingest.rows.row import File, Row, Span, portions

if TYPE_CHECKING:
    from whorl.ingest.extraction.reader import Reader
    from whorl.model import Document

#: A file of so many bytes is within every limit that can be set: most are, and need no settings.
_SMALL_BYTES = 1_000_000
#: Characters of a text after which rows are handed on.
_LARGE_TEXT = 1 << 16
#: What a text may be in a row.
_TEXTS = (str, bytes)


@dataclass(frozen=True, slots=True)
class Problem:
    """A file, or a line of one, that gave no document.

    Args:
        where: What and where it is.
        reason: What is wrong with it.
        documents: How many documents are lost with it, None where nobody knows.
    """

    where: str
    reason: str
    documents: int | None = 1

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


def files_under(paths: Iterable[Path], on_problem: Callable[[Problem], None]) -> Iterator[Path]:
    """Yield the files that paths name, those in folders in the order of their names; hidden ones are left out.

    Links are followed, and each folder is read once, so that a link to a folder above ends. What is neither a file
    nor a folder (a pipe, a device) is a problem: reading it might never end.
    """
    for named in paths:
        # A list, not recursion: folders nest deeper than Python's stack.
        waiting, read = [named], set[tuple[int, int]]()
        while waiting:
            path = waiting.pop()
            try:
                status = path.stat()
                if stat.S_ISREG(status.st_mode):
                    yield path
                elif not stat.S_ISDIR(status.st_mode):
                    on_problem(Problem(str(path), "this is neither a file nor a folder"))
                elif (status.st_dev, status.st_ino) not in read:
                    read.add((status.st_dev, status.st_ino))
                    names = without_notes({each.name for each in path.iterdir()})
                    waiting += [path / name for name in sorted(names, reverse=True) if not name.startswith(".")]
            except FileNotFoundError:
                is_link = path.is_symlink()
                on_problem(
                    Problem(str(path), "this link leads nowhere", None if path == named else 1)
                    if is_link
                    else Problem(str(path), "there is no such file or folder", None)
                )
            except OSError as error:
                on_problem(Problem(str(path), error.strerror or str(error), None))


def without_notes(names: Set[str]) -> Set[str]:
    """Return the names in a folder without those of files that other programs keep beside their data.

    Spark marks a folder that is complete; Hugging Face's data sets on disk describe themselves.
    """
    notes = {"_SUCCESS", "_metadata", "_common_metadata"}
    if {"state.json", "dataset_info.json"} <= names:
        notes |= {"state.json", "dataset_info.json", *(name for name in names if name.startswith("cache-"))}
    return names - notes - {"dataset_dict.json"}


def documents_in(
    file: File,
    on_problem: Callable[[Problem], None],
    columns: Columns = Columns(),  # noqa: B008 - frozen
    *,
    span: Span | None = None,
    tables_are_text: bool = True,
    at_byte: Callable[[int], None] = lambda position: None,
) -> Iterator[Document]:
    """Yield the documents of a file: those of one that has many rows, else the file, under its path as its id.

    Args:
        file: What to read.
        on_problem: Called with what gave no document.
        columns: What stands in rows.
        span: A stretch of it, as `spans_in` has them; None for all.
        tables_are_text: Whether CSV, TSV and a JSON array of anything but objects are one document each, as a search
            wants it; who compares documents means the rows.
        at_byte: Called now and then with how far the file is read.
    """
    from whorl.model import Document  # here, because the text of one file takes no documents

    name, known_as = PurePath(file.name), file.as_posix()
    try:
        with file.open("rb") as opened:
            form = format_of_rows(opened, name, columns, file_text, as_text=tables_are_text)
            if form is None:
                yield Document(id=known_as, text=file_text(_bytes(opened), name), name=file.name)
                return
            for some in portions(form.rows(opened, columns, span), is_enough=_is_large(columns.text)):
                yield from _documents(some, columns, file, on_problem)
                if not opened.closed:
                    at_byte(opened.tell())
    except OSError as error:
        on_problem(Problem(str(file), error.strerror or str(error)))
    except UnreadRowsError as error:
        on_problem(Problem(str(file), str(error), None))
    except DocumentError as error:
        on_problem(Problem(str(file), str(error)))


def spans_in(file: File, columns: Columns) -> Iterator[Span | None]:
    """Yield the stretches of a file that several processes may read, one after the other; None for all of it at once.

    Args:
        file: What to read.
        columns: What stands in rows.
    """
    try:
        with file.open("rb") as opened:
            form = format_of_rows(opened, PurePath(file.name), columns, file_text)
            if form is None:
                yield None
            else:
                yield from form.spans(opened)
    except (OSError, DocumentError):
        # That it cannot be read, or not to its end, is told where it is read.
        yield None


def _is_large(column: str) -> Callable[[Row], bool]:
    """Return what tells of a row whether others should not wait for more beside it: many large ones fill the memory."""

    def is_large(row: Row) -> bool:
        values = row.values
        text = values.get(column) if type(values) is dict else None
        return isinstance(text, _TEXTS) and len(text) > _LARGE_TEXT

    return is_large


def _documents(
    rows: Sequence[Row], columns: Columns, file: File, on_problem: Callable[[Problem], None]
) -> Iterator[Document]:
    known_as = file.as_posix()
    values = [values for _, _, values in rows if not isinstance(values, DocumentError)]
    is_whole = rows and len(values) == len(rows) == rows[-1].number - rows[0].number + 1
    made = columns.documents(values, known_as, rows[0].number) if is_whole else None
    if made is not None:
        yield from made
        return
    for row in rows:
        try:
            if isinstance(row.values, DocumentError):
                raise row.values
            document = columns.document(row.values, known_as, row.number)
        except DocumentError as error:
            on_problem(Problem(f"{file}, {row.place}", str(error)))
        else:
            yield document


def source_text(named: str) -> str:
    """Return the text of a file, or of standard input where `-` is named.

    Raises:
        ParameterError: It cannot be read, or is not text.
    """
    try:
        if named != "-":
            with Path(named).open("rb") as opened:
                return file_text(_bytes(opened), Path(named))
        if sys.stdin is None:
            raise ParameterError("- is standard input, and that is closed; name a file")
        return file_text(sys.stdin.buffer.read(), PurePath(named))
    except OSError as error:
        raise ParameterError(f"{named} cannot be read: {error.strerror or error}") from error
    except DocumentError as error:
        raise ParameterError(f"{named}: {error}") from error


def file_text(raw: bytes, file: PurePath, reader: Reader | None = None) -> str:
    """Return the text of a file's bytes.

    Args:
        raw: All of the file.
        file: Its name, which tells what the bytes do not.
        reader: Reads what is no plain text; with this process's own and the settings' limits, if None.

    Raises:
        DocumentError: There is no text, with the reason.
    """
    form = format_of(raw, file)
    if form is None:
        return decode(raw)
    return (reader or _reader(os.getpid())).text(raw, form)


def _bytes(opened: IO[bytes]) -> bytes:
    # A pipe has no size beforehand.
    if opened.seekable():
        size = opened.seek(0, os.SEEK_END)
        opened.seek(0)
        if size > _SMALL_BYTES:
            _reader(os.getpid()).require_size(size)
    return opened.read()


@cache
def _reader(process: int) -> Reader:
    """Return what reads files here; a process that was forked off shares no pipes with the one before."""
    # Here, because plain text needs neither.
    from whorl.ingest.extraction.reader import Reader
    from whorl.settings.settings import Settings

    return Reader(Settings.load().file_limits)
