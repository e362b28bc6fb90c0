"""Input arguments of the command line: files, folders, glob patterns, standard input, and fsspec addresses.

Examples of addresses are `s3://bucket/part-*.parquet`, `memory://…` and `https://…`.
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
from typing import IO

from whorl.addresses import public_address
from whorl.errors import ParameterError
from whorl.ingest.files import Problem, files_under, without_notes
from whorl.ingest.remote import PATTERN, RemoteFile, remote_files
from whorl.ingest.rows.rows import File

_REMOTE = "://"
#: Prefixes of addresses of local files, which are paths.
_LOCAL = ("file://", "local://")


@dataclass(frozen=True, slots=True)
class Place:
    """An input file, with its path relative to the argument.

    Args:
        file: The file.
        inside: Path below the folder, or below the fixed part of the pattern, given as the argument.
    """

    file: File
    inside: PurePosixPath

    @property
    def identity(self) -> object:
        """Equal for one file under several paths and links; hard links count as separate files."""
        if isinstance(self.file, Path):
            try:
                status = self.file.stat()
            except OSError:
                return str(self.file)
            return (status.st_dev, status.st_ino) if status.st_nlink == 1 else os.path.realpath(self.file)
        return self.file.address if isinstance(self.file, RemoteFile) else self.file.as_posix()

    @property
    def size(self) -> int:
        """Size in bytes; 0 if unknown."""
        if isinstance(self.file, Path):
            try:
                return self.file.stat().st_size
            except OSError:
                return 0
        return getattr(self.file, "size", 0)


class StandardInput:
    """Content of standard input in a temporary file, because some formats are read from their end."""

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
        """Size in bytes."""
        return os.fstat(self._kept.fileno()).st_size

    def as_posix(self) -> str:
        """Return the name for ids and messages."""
        return "-"

    def __str__(self) -> str:
        return "-"

    def open(self, mode: str) -> IO[bytes]:
        """Open it from the beginning."""
        self._kept.seek(0)
        return io.BufferedReader(io.FileIO(os.dup(self._kept.fileno()), "r"))


def places(
    named: Iterable[str], on_problem: Callable[[Problem], None], *, follow_links: bool = False
) -> Iterator[Place]:
    """Yield the files for arguments of a command line: `-`, paths, patterns (`data/**/*.parquet`), addresses.

    Args:
        named: The arguments.
        on_problem: Called with arguments that match no file, and with skipped files.
        follow_links: Whether to follow links that lead out of the given folder, or out of the fixed part of a pattern.

    Raises:
        ParameterError: fsspec is missing for an address, or has no file system for it.
    """
    addresses: dict[str, str] = {}
    for word in named:
        local = next((word.removeprefix(each) for each in _LOCAL if word.startswith(each)), word)
        if local == "-":
            yield Place(StandardInput(), PurePosixPath("standard-input"))
        elif _REMOTE in local:
            yield from _remote(local, addresses, on_problem)
        elif any(each in local for each in PATTERN) and not os.path.lexists(local):
            fixed = _fixed(local)
            found = sorted(map(Path, glob.iglob(local, recursive=True)))
            if not found:
                on_problem(Problem(local, "no file has a name of this pattern", None))
            yield from _local(found, fixed, None if follow_links else fixed, on_problem)
        else:
            path = Path(local)
            base = path if os.path.isdir(local) else path.parent
            yield from _local([path], base, None if follow_links else path, on_problem)


def _local(
    paths: Sequence[Path], base: PurePath, within: PurePath | None, on_problem: Callable[[Problem], None]
) -> Iterator[Place]:
    for file in files_under(paths, on_problem, within=within):
        yield Place(file, PurePosixPath(file.relative_to(base).as_posix()))


def _fixed(pattern: str) -> PurePath:
    """Return the leading folders of a pattern that contain no wildcards."""
    parts = PurePath(pattern).parts
    fixed = next(at for at, part in enumerate(parts) if any(each in part for each in PATTERN))
    return PurePath(*parts[:fixed])


def _remote(word: str, addresses: dict[str, str], on_problem: Callable[[Problem], None]) -> Iterator[Place]:
    """Yield the files of an address.

    Args:
        word: The address.
        addresses: Addresses of the remote files so far, by id.
        on_problem: As in `places`.
    """
    shown = public_address(word)
    try:
        files = remote_files(word)
    except OSError as error:
        on_problem(Problem(shown, f"this address cannot be reached: {error}", None))
        return
    if not files:
        on_problem(Problem(shown, "there is no such file or folder", None))
    for inside, file in _without_notes(files):
        known_as = file.as_posix()
        if any(part.startswith(".") for part in inside.parts):
            continue
        if addresses.setdefault(known_as, file.address) == file.address:
            yield Place(file, inside)
        else:
            on_problem(Problem(known_as, "an earlier address differs from this one in login or signature only"))


def _without_notes(files: dict[PurePosixPath, RemoteFile]) -> Iterator[tuple[PurePosixPath, RemoteFile]]:
    """Yield files folder by folder, without metadata files of other programs."""
    folders: dict[PurePosixPath, set[str]] = {}
    for inside in sorted(files):
        folders.setdefault(inside.parent, set()).add(inside.name)
    for folder, names in folders.items():
        for name in sorted(without_notes(names)):
            yield folder / name, files[folder / name]
