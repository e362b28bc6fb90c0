"""The folder of an embedded store: what may become one, and how one is read that may not be written to."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from whorl.errors import StoreError

RECORDS, INDEX, LOCK = "records.db", "index", "writer.lock"
#: Room that tantivy takes before it writes.
HEAP_BYTES = 100_000_000


class IndexBrokenError(Exception):
    """The index cannot be read or written; stays within the embedded engine.

    Args:
        message: What happened, tantivy's own words for one.
        is_full: Whether the reason is the room on the disk, which a new folder would lack too.
    """

    def __init__(self, message: str, *, is_full: bool = False) -> None:
        super().__init__(message)
        self.is_full = is_full


def prepare_folder(path: Path, *, create: bool) -> None:
    """See that a folder holds a store, or may become one."""
    try:
        there = sorted(entry.name for entry in path.iterdir()) if path.is_dir() else []
        if path.exists() and not path.is_dir():
            raise StoreError(f"{path} is a file; a store is a folder: name another path")
        if RECORDS in there and (path / RECORDS).stat().st_size > 0:
            return
        # What is empty was left by a process that was stopped while it made the store, or is being made.
        if any(name != LOCK and not name.startswith(RECORDS) for name in there):
            raise StoreError(f"{path} holds other things and no store ({there[0]}, …); name an empty or a new folder")
        if not create:
            raise StoreError(f"there is no store at {path}; make one by indexing: whorl index --store {path} FILES")
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be used as a store: {error}; name another folder") from error


def is_read_only(path: Path) -> bool:
    """Say whether a store may be read and not written to: somebody else's, or on a disk mounted so."""
    return os.access(path / RECORDS, os.R_OK) and not (os.access(path, os.W_OK) and os.access(path / RECORDS, os.W_OK))


def mirror(path: Path, copy: Path) -> None:
    """Make a folder whose index is that of a store, by links: tantivy wants to write where it reads.

    What the index has missed is applied to the mirror.
    """
    try:
        for part in (path / INDEX).glob("*/"):
            (copy / INDEX / part.name).mkdir(parents=True)
            for file in part.iterdir():
                if file.suffix != ".lock":
                    (copy / INDEX / part.name / file.name).symlink_to(file.absolute())
    except OSError as error:
        raise StoreError(f"{path} cannot be read without writing to it: {error}") from error


def remove(path: Path) -> None:
    """Delete a file or a folder, if there is one."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def index_failures(folder: Path) -> Iterator[None]:
    """Tell whatever goes wrong with the files of an index as IndexBrokenError."""
    try:
        yield
    except BaseException as error:
        # A panic in tantivy's Rust is no Exception, and its class cannot be imported.
        if not isinstance(error, OSError | ValueError | RuntimeError) and type(error).__name__ != "PanicException":
            raise
        raise IndexBrokenError(str(error), is_full=_is_full(error, folder)) from error


def _is_full(error: BaseException, folder: Path) -> bool:
    told = re.findall(r"(?:os error |\bcode: )(\d+)", str(error))
    number = error.errno if isinstance(error, OSError) else int(told[0]) if told else None
    if number is not None:
        # EFBIG: the process may not write files as large as this.
        return number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    with suppress(OSError):
        # tantivy's threads do not tell what they died of, so the room that is left has to.
        return shutil.disk_usage(folder.parent).free < HEAP_BYTES
    return False


def busy(path: Path, wait_seconds: float) -> str:
    """Return what is said where another process writes to a store for too long."""
    return (
        f"another process is writing to the store {path}; try again when it has finished "
        f"(waited {wait_seconds:g} seconds)"
    )


def index_failure(path: Path, error: IndexBrokenError) -> str:
    """Return what is said where the index of a store cannot be made again."""
    if error.is_full:
        return (
            f"no room left on the disk for {path / INDEX} ({error}); free some: what was stored is safe, and "
            f"becomes searchable when the store is opened or written to"
        )
    return (
        f"the index {path / INDEX} cannot be written or made again ({error}); see whether the disk is full "
        f"and who owns the folder: what was stored is safe, and becomes searchable when the store is opened"
    )
