"""Finds and reads the documents in files, folders, remote files and data files, and collects the problems."""

from __future__ import annotations

import glob
import io
import os
import re
import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache, cached_property, partial
from operator import attrgetter
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, TYPE_CHECKING, NamedTuple, Self, TypeAlias

from whorl.errors import DocumentError, ParameterError
from whorl.ingest.extraction import PartialTextError
from whorl.ingest.extraction.detect_encoding import decode
from whorl.ingest.extraction.file_formats import DOCX, HTML, MARKED_DOCX, format_of
from whorl.ingest.redact_addresses import redact_address
from whorl.ingest.remote import PATTERN, RemoteFile, fixed_parts, remote_files
from whorl.ingest.rows.row_format import (
    File,
    FileSpan,
    NestedColumnError,
    Row,
    RowColumns,
    UnreadRowsError,
    portions,
    rows_with_text,
)

if TYPE_CHECKING:
    from whorl.ingest.extraction.reader_pool import ReaderPool
    from whorl.model import Document

#: Smallest value of the setting `max_file_bytes`. Files of at most this size are read without loading the settings.
_SMALL_BYTES = 1_000_000
#: Bytes of a file name that are not UTF-8, as Python reads them.
_SURROGATES = re.compile("[\ud800-\udfff]")
_NOT_UTF_8 = (
    "its name is not UTF-8, so it cannot be an id; rename it, for instance with "
    "'convmv -f windows-1252 -t utf-8 -r --notest FOLDER'"
)
#: Maximum number of row problems (see `Problems`) to store; others are only counted.
_ROW_PROBLEMS_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Problem:
    """A file, or a row or other part of a file, that could not be read.

    Args:
        where: Name of the file, and position in it, such as "data.csv, line 17".
        documents: Number of documents lost because of the problem; None if unknown, as for a file of rows.
        is_repeatable: Whether equal problems of several rows are reported as one.
    """

    where: str
    reason: str
    documents: int | None = 1
    is_repeatable: bool = False

    def __str__(self) -> str:
        rows = f" ({self.documents:,} rows)" if self.is_repeatable else ""
        return f"{self.where}: {self.reason}{rows}"

    @property
    def problem_count(self) -> int:
        """Number of equal problems that this object reports."""
        return (self.documents or 1) if self.is_repeatable else 1


#: Function to call with each problem.
OnProblem: TypeAlias = Callable[[Problem], None]


class Problems(Collection[Problem]):
    """The problems of one run; `len()` counts all problems, but iteration yields only the stored problems.

    All problems of whole files (`documents` is None) are stored, but only the first `_ROW_PROBLEMS_KEPT` others.
    """

    def __init__(self, problems: Iterable[Problem] = ()) -> None:
        self._kept: list[Problem] = []
        #: Positions in `_kept` of the repeatable problems, by `where` and `reason`.
        self._repeatable: dict[tuple[str, str], int] = {}
        self._count = self._rows_kept = 0
        #: Number of lost documents; a file with an unknown number counts as one.
        self.lost = 0
        #: Number of files with an unknown number of lost documents.
        self.whole_files = 0
        for problem in problems:
            self.append(problem)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._kept)

    def __contains__(self, problem: object) -> bool:
        return problem in self._kept

    def append(self, problem: Problem) -> None:
        """Count a problem; store it unless the limit on row problems is reached."""
        self._count += 1
        self.lost += 1 if problem.documents is None else problem.documents
        self.whole_files += problem.documents is None
        self._keep(problem)

    def extend(self, others: Problems) -> None:
        self._count += len(others)
        self.lost += others.lost
        self.whole_files += others.whole_files
        for problem in others:
            self._keep(problem)

    def _keep(self, problem: Problem) -> None:
        key = (problem.where, problem.reason)
        if problem.is_repeatable and key in self._repeatable:
            known = self._kept[self._repeatable[key]]
            self._kept[self._repeatable[key]] = replace(
                known, documents=(known.documents or 0) + (problem.documents or 0)
            )
            return
        is_row = problem.documents is not None
        if not is_row or self._rows_kept < _ROW_PROBLEMS_KEPT:
            if problem.is_repeatable:
                self._repeatable[key] = len(self._kept)
            self._kept.append(problem)
            self._rows_kept += is_row


def files_under(
    paths: Iterable[Path],
    on_problem: OnProblem,
    *,
    within: PurePath | None = None,
    is_excluded: Callable[[Path], bool] = lambda path: False,
) -> Iterator[Path]:
    """Yield the named files, and all files in the named folders, at any depth, except hidden and excluded ones.

    The files of a folder are ordered by name. Each folder is read only once, because a link may lead to a parent
    folder. Pipes and devices are reported as problems, because reading them might never end; so are links to files
    outside the folder `within`.
    """
    root = None if within is None else os.path.realpath(within)
    for named in paths:
        # Folders can be nested more deeply than Python's recursion limit, so keep a list instead of calling a function.
        waiting, read = [named], set[tuple[int, int]]()
        while waiting:
            path = waiting.pop()
            if is_excluded(path):
                continue
            try:
                status = path.stat()
                if root is not None and path != within and _leads_out(path, root, is_named=path == named):
                    on_problem(Problem(str(path), "this link leads out of the folder; --follow-links follows it", 0))
                elif stat.S_ISREG(status.st_mode):
                    yield path
                elif not stat.S_ISDIR(status.st_mode):
                    on_problem(Problem(str(path), "this is neither a file nor a folder"))
                elif (status.st_dev, status.st_ino) not in read:
                    read.add((status.st_dev, status.st_ino))
                    names = without_metadata({entry.name for entry in path.iterdir()})
                    waiting += [path / name for name in sorted(names, reverse=True) if not name.startswith(".")]
            except FileNotFoundError:
                is_link = path.is_symlink()
                reason = "this link leads nowhere" if is_link else "there is no such file or folder"
                on_problem(Problem(str(path), reason, 1 if is_link and path != named else None))
            except OSError as error:
                on_problem(Problem(str(path), error.strerror or str(error), None))


def _leads_out(path: Path, root: str, *, is_named: bool) -> bool:
    """Check whether a path leads out of the folder `root`, through a symbolic link or the path that a user named."""
    # If the user did not name the path, its folder was already checked, so only its last part can lead out.
    if not (is_named or path.is_symlink()):
        return False
    target = os.path.realpath(path)
    return target != root and not target.startswith(os.path.join(root, ""))


def without_metadata(names: Set[str]) -> Set[str]:
    """Return the names in a folder, without metadata files (Spark, Hugging Face) and locks of open files.

    Return no names if the folder is a store, or was given to `whorl duplicates --state`.
    """
    # Importing these names from the modules that write the files would take longer than comparing two files.
    is_state = "documents.sqlite" in names and any(name.endswith(".u64") for name in names)
    if {"records.db", "index"} <= names or is_state:
        return set()
    notes = {"_SUCCESS", "_metadata", "_common_metadata"}
    if {"state.json", "dataset_info.json"} <= names:
        notes |= {"state.json", "dataset_info.json", *(name for name in names if name.startswith("cache-"))}
    # While a.docx is open in Word, its folder has the lock `~$a.docx`, which is not a document.
    notes |= {name for name in names if name.startswith("~$")}
    return names - notes - {"dataset_dict.json"}


def documents_in(
    file: File,
    on_problem: OnProblem,
    columns: RowColumns = RowColumns(),  # noqa: B008 - frozen
    *,
    span: FileSpan | None = None,
    on_text_table: Callable[[str], None] | None = lambda name: None,
    file_id: str | None = None,
    at_byte: Callable[[int], None] = lambda position: None,
) -> Iterator[Document]:
    """Yield the documents in a file: its rows, or one document with the path as its id.

    Args:
        on_problem: Called with files and rows that are not valid documents.
        span: Part of the file, from `spans_in`; None for the whole file.
        on_text_table: Called with the file's name if the file is read as one document, although it is a table (CSV or
            TSV), or JSON that may have rows. If None, or if the user named the text column, each row of a table is a
            document.
        file_id: Id of a document that is the whole file, and prefix of the ids of rows without an id; None for the
            path.
        at_byte: Called after each group of rows with the number of bytes read so far.
    """
    # Imported here, because `source_text` and `text_from_bytes` do not need these modules.
    from whorl.ingest.rows.detect_row_format import format_of as format_of_rows
    from whorl.model import Document

    name, file_id = PurePath(file.name), file_id or file.as_posix()
    title = file.title if isinstance(file, RemoteFile) else file.name
    try:
        with file.open("rb") as opened:
            as_text = on_text_table is not None and not columns.is_text_named
            form = format_of_rows(opened, name, columns, text_from_bytes, as_text=as_text)
            if form is None:
                if _SURROGATES.search(file_id):
                    raise DocumentError(_NOT_UTF_8)
                if on_text_table and _may_have_rows(opened, name, columns):
                    on_text_table(str(file))
                yield Document(id=file_id, text=_readable_text(opened, file, on_problem), name=title)
                return
            if span is None and columns.is_text_optional:
                read = rows_with_text(form, opened, columns)
            else:
                read = form.rows(opened, columns, span)
            for rows in portions(read, attrgetter("weight")):
                yield from _documents(rows, columns, file, file_id, on_problem)
                if not opened.closed:
                    at_byte(opened.tell())
    except OSError as error:
        on_problem(Problem(str(file), error.strerror or str(error)))
    except UnreadRowsError as error:
        on_problem(Problem(str(file), str(error), None))
    except DocumentError as error:
        on_problem(Problem(str(file), str(error)))
    except MemoryError:
        on_problem(Problem(str(file), "reading it takes more memory than there is", None))


def _readable_text(opened: IO[bytes], file: File, on_problem: OnProblem) -> str:
    try:
        return text_from_bytes(_bytes(opened), PurePath(file.name))
    except PartialTextError as error:
        on_problem(Problem(str(file), str(error), 0))
        return error.text


def _may_have_rows(opened: IO[bytes], name: PurePath, columns: RowColumns) -> bool:
    """Check whether a file that is read as one document is a table, or JSON that may have rows."""
    from whorl.ingest.rows.detect_row_format import format_of as format_of_rows

    if columns.is_text_named:
        return name.suffix.lower() == ".json"
    try:
        return format_of_rows(opened, name, columns, text_from_bytes) is not None
    except UnreadRowsError:
        return True


def spans_in(file: File, columns: RowColumns) -> Iterator[FileSpan | None]:
    """Yield the parts of a file that several processes can read independently; a single None if it has no parts."""
    from whorl.ingest.rows.detect_row_format import format_of as format_of_rows

    try:
        with file.open("rb") as opened:
            form = format_of_rows(opened, PurePath(file.name), columns, text_from_bytes)
            if form is None:
                yield None
            else:
                yield from form.spans(opened, columns)
    except (OSError, DocumentError, MemoryError):
        yield None


def _documents(
    rows: Sequence[Row], columns: RowColumns, file: File, file_id: str, on_problem: OnProblem
) -> Iterator[Document]:
    for row in rows:
        if row.problem:
            on_problem(Problem(f"{file}, {row.place}", row.problem, 0))
    values = [row.values for row in rows if not isinstance(row.values, DocumentError)]
    is_whole = rows and len(values) == len(rows) == rows[-1].number - rows[0].number + 1
    made = columns.documents(values, file_id, rows[0].number) if is_whole else None
    if made is not None:
        yield from made
        return
    for row in rows:
        try:
            if isinstance(row.values, DocumentError):
                raise row.values
            yield columns.document(row.values, file_id, row.number)
        except NestedColumnError as error:
            on_problem(Problem(error.where, str(error), is_repeatable=True))
        except DocumentError as error:
            on_problem(Problem(f"{file}, {row.place}", str(error)))


def source_text(named: str) -> str:
    """Return the text of a file, or of standard input for `-`; raise ParameterError if it is unreadable or not text."""
    return SourceFile.read(named).text


class SourceFile(NamedTuple):
    """A file, or standard input for `-`. It is read only once, because a pipe cannot be read again.

    Methods raise ParameterError if it is unreadable or not text.
    """

    named: str
    raw: bytes

    @classmethod
    def read(cls, named: str) -> Self:
        with _source_errors(named):
            if named != "-":
                with Path(named).open("rb") as opened:
                    return cls(named, _bytes(opened))
            if sys.stdin is None:
                raise ParameterError("- is standard input, and that is closed; name a file")
            return cls(named, _read(sys.stdin.buffer))

    @property
    def text(self) -> str:
        with _source_errors(self.named):
            return text_from_bytes(self.raw, PurePath(self.named))

    @property
    def markup(self) -> str | None:
        """The markup of HTML or DOCX, as in `markup_from_bytes`; None for another format."""
        with _source_errors(self.named):
            return markup_from_bytes(self.raw, PurePath(self.named))


@contextmanager
def _source_errors(named: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ParameterError(f"{named} cannot be read: {error.strerror or error}") from error
    except DocumentError as error:
        raise ParameterError(f"{named}: {error}") from error


def text_from_bytes(raw: bytes, file: PurePath, reader: ReaderPool | None = None) -> str:
    """Return the text of a file from its bytes; raise DocumentError if it has no readable text.

    If the bytes are ambiguous, the file name decides the format. By default, use the reader of this process.
    """
    form = format_of(raw, file)
    return decode(raw) if form is None else (reader or _reader(os.getpid())).text(raw, form)


def markup_from_bytes(raw: bytes, file: PurePath, reader: ReaderPool | None = None) -> str | None:
    """Return HTML with its tags, and the text of DOCX with block quotes and notes marked as in Markdown; else None."""
    form = format_of(raw, file)
    if form is HTML:
        # Make it begin like an HTML page, because it may have no tags that show that it is HTML.
        return f"<html>{decode(raw)}"
    return (reader or _reader(os.getpid())).text(raw, MARKED_DOCX) if form is DOCX else None


def _bytes(opened: IO[bytes]) -> bytes:
    # A pipe has no known size, so only `_read` can check its size.
    if opened.seekable():
        size = opened.seek(0, os.SEEK_END)
        opened.seek(0)
        if size > _SMALL_BYTES:
            _reader(os.getpid()).require_size(size)
    return _read(opened)


def _read(opened: IO[bytes]) -> bytes:
    """Return the bytes of a stream, which may be endless; raise DocumentError if they exceed the size limit."""
    raw = opened.read(_SMALL_BYTES + 1)
    if len(raw) > _SMALL_BYTES:
        reader = _reader(os.getpid())
        raw += opened.read(reader.limits.file_bytes + 1 - len(raw))
        reader.require_size(len(raw))
    return raw


@cache
def _reader(process: int) -> ReaderPool:
    """Return the reader of the process with this id; forked processes must not share pipes."""
    from whorl.ingest.extraction.reader_pool import ReaderPool
    from whorl.ingest.file_limits import file_limits

    return ReaderPool(file_limits())


#: Prefixes of addresses that name local files.
_LOCAL = re.compile("^(?:file|local)://")
#: Scheme of an address, also within one of fsspec's chains (`zip://a.txt::https://host/b.zip`).
_SCHEME = re.compile(r"(?:^|(?<=::))[A-Za-z][A-Za-z0-9+.\-]*(?=://)")


class FoundFile(NamedTuple):
    """An input file, with its path relative to the folder that the user named, or to the fixed part of a pattern."""

    file: File
    relative_path: PurePosixPath

    @property
    def identity(self) -> object:
        """Key that all paths and symbolic links of a file share; hard links are separate files."""
        if isinstance(self.file, Path):
            try:
                status = self.file.stat()
            except OSError:
                return str(self.file)
            return (status.st_dev, status.st_ino) if status.st_nlink == 1 else os.path.realpath(self.file)
        return self.file.address if isinstance(self.file, RemoteFile) else self.file.as_posix()

    @property
    def version(self) -> Mapping[str, object] | None:
        """Attributes that change with the content, such as the size; None if unknown, empty if the file is missing."""
        try:
            if isinstance(self.file, Path):
                status = self.file.stat()
                return {"size": status.st_size, "time": status.st_mtime_ns}
            return self.file.version() if isinstance(self.file, RemoteFile) else None
        except FileNotFoundError:
            return {}
        except OSError:
            return None

    def has_changed(self, before: Mapping[str, object] | None) -> bool:
        """Check whether the file's version differs from an earlier version; False if one of the two is unknown."""
        now = self.version
        if before is None or now is None:
            return False
        return bool(before) != bool(now) or any(before[name] != now[name] for name in before.keys() & now.keys())

    @property
    def size(self) -> int:
        """Size in bytes; 0 if unknown."""
        with suppress(OSError):
            return self.file.stat().st_size if isinstance(self.file, Path) else getattr(self.file, "size", 0)
        return 0


class StandardInput:
    """Standard input as a file: a temporary copy, because some formats are read from the end."""

    name = "-"

    @cached_property
    def _copy(self) -> IO[bytes]:
        if sys.stdin is None:
            raise ParameterError("- is standard input, and that is closed; name a file")
        copy = tempfile.TemporaryFile(prefix="whorl-")  # noqa: SIM115 - it lives as long as this
        weakref.finalize(self, copy.close)
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
        return copy

    @property
    def size(self) -> int:
        return os.fstat(self._copy.fileno()).st_size

    def as_posix(self) -> str:
        return "-"

    __str__ = as_posix

    def open(self, mode: str) -> IO[bytes]:
        self._copy.seek(0)
        return io.BufferedReader(io.FileIO(os.dup(self._copy.fileno()), "r"))


def find_files(
    named: Iterable[str], on_problem: OnProblem, *, follow_links: bool = False, exclude: Sequence[str] = ()
) -> Iterator[FoundFile]:
    """Yield the files that command-line arguments name: `-`, paths, patterns (`data/**/*.parquet`), addresses.

    Links out of the named folder or the fixed part of a pattern are followed only with `follow_links`. Files and
    folders that match a pattern of `exclude`, written as in .gitignore, are left out. Raises ParameterError if a
    pattern is invalid, fsspec is missing, or has no file system for an address.
    """
    addresses: dict[str, str] = {}
    patterns = [_parse_exclusion(pattern) for pattern in exclude]

    def is_excluded(base: PurePath, path: PurePath) -> bool:
        # Most runs have no patterns, and relative paths take long.
        parts = path.relative_to(base).parts if patterns else ()
        return any(
            _matches(parts[:depth], pattern) and (depth < len(parts) or not is_folder or os.path.isdir(path))
            for pattern, is_folder in patterns
            for depth in range(1, len(parts) + 1)
        )

    for word in named:
        # fsspec knows schemes only in lower case, so convert a scheme to lower case.
        local = _LOCAL.sub("", _SCHEME.sub(lambda scheme: scheme[0].lower(), word))
        if local == "-":
            yield FoundFile(StandardInput(), PurePosixPath("standard-input"))
        elif "://" in local:
            remote = _find_remote_files(local, addresses, on_problem)
            yield from (found for found in remote if not is_excluded(PurePath(), found.relative_path))
        else:
            yield from _find_local_files(local, on_problem, is_excluded, follow_links=follow_links)


def _find_local_files(
    local: str, on_problem: OnProblem, is_excluded: Callable[[PurePath, PurePath], bool], *, follow_links: bool
) -> Iterator[FoundFile]:
    """Yield the files of a path or pattern."""
    if any(wildcard in local for wildcard in PATTERN) and not os.path.lexists(local):
        base = within = Path(*fixed_parts(Path(local).parts))
        paths = sorted(map(Path, glob.iglob(local, recursive=True)))
        if not paths:
            on_problem(Problem(local, "no file has a name of this pattern", None))
    else:
        within = Path(local)
        base, paths = within if os.path.isdir(local) else within.parent, [within]
    skip = partial(is_excluded, base)
    for file in files_under(paths, on_problem, within=None if follow_links else within, is_excluded=skip):
        yield FoundFile(file, PurePosixPath(file.relative_to(base).as_posix()))


def _parse_exclusion(pattern: str) -> tuple[tuple[str, ...], bool]:
    """Return the parts of a pattern as in .gitignore, and whether it matches only folders.

    A pattern without a slash, except at its end, matches names at any depth.
    """
    parts = tuple(part for part in pattern.split("/") if part)
    if not parts or pattern.startswith("!"):
        raise ParameterError(
            f"--exclude {pattern!r} must be a name or pattern of files or folders to leave out, such as '*.min.js'"
        )
    return parts if "/" in pattern.rstrip("/") else ("**", *parts), pattern.endswith("/")


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Check whether a path matches a pattern; `**` stands for any number of folders."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[skipped:], pattern[1:]) for skipped in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def skip_known(named: Iterable[FoundFile], known: set[object]) -> Iterator[FoundFile]:
    """Yield the files not yet in `known`, and add them, so that a file named twice is not compared with itself."""
    for found in named:
        if (identity := found.identity) not in known:
            known.add(identity)
            yield found


def _find_remote_files(word: str, addresses: dict[str, str], on_problem: OnProblem) -> Iterator[FoundFile]:
    """Yield the files of an address; `addresses` maps the ids of earlier remote files to their addresses."""
    shown = redact_address(word)
    try:
        files = remote_files(word)
    except OSError as error:
        on_problem(Problem(shown, f"this address cannot be reached: {error}", None))
        return
    if not files:
        on_problem(Problem(shown, "there is no such file or folder", None))
    folders: dict[PurePosixPath, set[str]] = {}
    for inside in sorted(files):
        if not any(part.startswith(".") for part in inside.parts):
            folders.setdefault(inside.parent, set()).add(inside.name)
    for folder, names in folders.items():
        for name in sorted(without_metadata(names)):
            file = files[folder / name]
            if addresses.setdefault(file.as_posix(), file.address) == file.address:
                yield FoundFile(file, folder / name)
            else:
                problem = "an earlier address differs from this one in login or signature only"
                on_problem(Problem(file.as_posix(), problem))
