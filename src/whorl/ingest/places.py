"""What the words of a command line name: files, folders, patterns of names, standard input, and places elsewhere.

Places elsewhere are those that fsspec knows: `s3://bucket/part-*.parquet`, `memory://…`, `https://…`.
"""

from __future__ import annotations

import glob
import io
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, Any

from whorl.errors import ParameterError
from whorl.ingest.files import Problem, files_under, without_notes
from whorl.ingest.rows.row import File

_PATTERN = "*?["
_ELSEWHERE = "://"


@dataclass(frozen=True, slots=True)
class Place:
    """A file, and where it stands in what was named.

    Args:
        file: The file.
        inside: Its path below the folder, or the fixed part of the pattern, that was named.
    """

    file: File
    inside: PurePosixPath

    @property
    def identity(self) -> object:
        """Equal for one file under several paths and links; hard links are files of their own."""
        if isinstance(self.file, Path):
            try:
                status = self.file.stat()
            except OSError:
                return str(self.file)
            return (status.st_dev, status.st_ino) if status.st_nlink == 1 else os.path.realpath(self.file)
        return self.file.as_posix()

    @property
    def size(self) -> int:
        """Its bytes; 0 where nobody knows."""
        if isinstance(self.file, Path):
            try:
                return self.file.stat().st_size
            except OSError:
                return 0
        return getattr(self.file, "size", 0)


class RemoteFile:
    """A file that fsspec reads.

    Args:
        system: The file system of fsspec.
        path: Where the file is in it.
        size: Its bytes.
    """

    def __init__(self, system: Any, path: str, size: int = 0) -> None:
        self._system, self._path, self.size = system, path, size

    @property
    def name(self) -> str:
        """Its name, without the folders."""
        return PurePosixPath(self._path).name

    def as_posix(self) -> str:
        """Return its address."""
        return str(self._system.unstrip_protocol(self._path))

    def __str__(self) -> str:
        return self.as_posix()

    def open(self, mode: str) -> IO[bytes]:
        """Open it."""
        return self._system.open(self._path, mode)  # type: ignore[no-any-return]


class StandardInput:
    """What standard input brought, kept in a file that goes away by itself: some formats are read from their end."""

    name = "-"

    @cached_property
    def _kept(self) -> IO[bytes]:
        if sys.stdin is None:
            raise ParameterError("- is standard input, and that is closed; name a file")
        kept = tempfile.TemporaryFile(prefix="whorl-")  # noqa: SIM115 - it lives as long as this
        weakref.finalize(self, kept.close)
        shutil.copyfileobj(sys.stdin.buffer, kept)
        kept.flush()
        return kept

    @property
    def size(self) -> int:
        """Its bytes."""
        return os.fstat(self._kept.fileno()).st_size

    def as_posix(self) -> str:
        """Return what it is known by."""
        return "-"

    def __str__(self) -> str:
        return "-"

    def open(self, mode: str) -> IO[bytes]:
        """Open it at its beginning."""
        self._kept.seek(0)
        return io.BufferedReader(io.FileIO(os.dup(self._kept.fileno()), "r"))


def places(named: Iterable[str], on_problem: Callable[[Problem], None]) -> Iterator[Place]:
    """Yield the files that words of a command line name: `-`, paths, patterns (`data/**/*.parquet`), addresses.

    Args:
        named: Each a word.
        on_problem: Called with what names no file.

    Raises:
        ParameterError: fsspec is missing where an address is named, or does not know it.
    """
    for word in named:
        if word == "-":
            yield Place(StandardInput(), PurePosixPath("standard-input"))
        elif _ELSEWHERE in word:
            yield from _elsewhere(word, on_problem)
        elif any(each in word for each in _PATTERN) and not os.path.lexists(word):
            found = sorted(map(Path, glob.iglob(word, recursive=True)))
            if not found:
                on_problem(Problem(word, "no file has a name of this pattern", None))
            yield from _local(found, _fixed(word), on_problem)
        else:
            path = Path(word)
            yield from _local([path], path if os.path.isdir(word) else path.parent, on_problem)


def _local(paths: Sequence[Path], base: PurePath, on_problem: Callable[[Problem], None]) -> Iterator[Place]:
    for file in files_under(paths, on_problem):
        yield Place(file, PurePosixPath(file.relative_to(base).as_posix()))


def _fixed(pattern: str) -> PurePath:
    """Return the folders that a pattern begins with, up to the first that is a pattern itself."""
    parts = PurePath(pattern).parts
    fixed = next(at for at, part in enumerate(parts) if any(each in part for each in _PATTERN))
    return PurePath(*parts[:fixed])


def _elsewhere(word: str, on_problem: Callable[[Problem], None]) -> Iterator[Place]:
    try:
        import fsspec
    except ImportError:
        raise ParameterError(f"{word} is an address; reading it needs more: pip install 'whorl[data]'") from None
    try:
        system, path = fsspec.url_to_fs(word)
        is_pattern = any(each in path for each in _PATTERN)
        if is_pattern:
            found = system.glob(path, detail=True)
        else:
            # In this order, because on the web a page is a folder of its links as well.
            is_file = system.isfile(path)
            found = {path: system.info(path)} if is_file else system.find(path, detail=True)
    except (ImportError, ValueError, OSError) as error:
        raise ParameterError(f"{word} cannot be reached: {str(error) or type(error).__name__}") from error
    files = {name: each for name, each in found.items() if each.get("type", "file") == "file"}
    if not files:
        on_problem(Problem(word, "there is no such file or folder", None))
    fixed = _fixed(path) if is_pattern else PurePath(path)
    for folder, names in _by_folder(files):
        for name in sorted(without_notes(names)):
            at = f"{folder}/{name}"
            inside = PurePosixPath(name) if at == path else PurePosixPath(at).relative_to(fixed.as_posix())
            if not any(part.startswith(".") for part in inside.parts):
                yield Place(RemoteFile(system, at, files[at].get("size") or 0), inside)


def _by_folder(files: Iterable[str]) -> list[tuple[str, set[str]]]:
    folders: dict[str, set[str]] = {}
    for file in sorted(files):
        folder, _, name = file.rpartition("/")
        folders.setdefault(folder, set()).add(name)
    return list(folders.items())
