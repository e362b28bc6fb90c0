"""The folder of an embedded store: what may become one, and how one is read that may not be written to."""

from __future__ import annotations

import os
from pathlib import Path

from whorl.errors import StoreError

RECORDS, INDEX, LOCK = "records.db", "index", "writer.lock"


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
