"""Opens the files that a command writes, and checks beforehand that they can be written."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from whorl.errors import ParameterError


def require_writable(target: Path, input_files: Collection[str] = ()) -> None:
    """Raise ParameterError if a file cannot be written, is a folder, or is one of the input files."""
    if not target.name or target.is_dir():
        raise ParameterError(f"{target} is a folder; name a file to write to")
    if target.is_file() and any(is_same_file(target, file) for file in input_files):
        raise ParameterError(f"{target} is what is read; name another file to write to")
    if target.exists() and not target.is_file():
        # Opening a pipe would block until a program reads from it.
        return
    partial = _partial(target)
    try:
        partial.touch()
        partial.unlink()
    except OSError as error:
        raise ParameterError(f"{target} cannot be written: {error.strerror or error}") from error


def report_file(html: str | None, input_files: Collection[str], *, as_json: bool, as_csv: bool) -> Path | None:
    """Return the file for a report, or None; raise ParameterError if it cannot be written or is an input file."""
    if as_json and as_csv:
        raise ParameterError("--json and --csv exclude each other; leave one of the two out")
    if html is None:
        return None
    if html == "-":
        raise ParameterError("--html writes a file; name one, such as report.html")
    require_writable(Path(html), input_files)
    return Path(html)


@contextmanager
def open_output(output: Path | None, *, is_binary: bool = False) -> Iterator[IO[Any]]:
    """Open the output, or standard output for None; raise ParameterError if the file cannot be written.

    A file replaces its target only when it is complete.
    """
    if output is None:
        yield sys.stdout
        # Raise errors now, not at exit.
        sys.stdout.flush()
        return
    # A device or a pipe must never be replaced.
    is_file = output.is_file() or not output.exists()
    partial = _partial(output) if is_file else output
    try:
        with partial.open("wb") if is_binary else partial.open("w", encoding="utf-8", newline="\n") as out:
            yield out
        if is_file:
            # Keep a link, and replace its target.
            partial.replace(os.path.realpath(output))
    except OSError as error:
        raise ParameterError(f"{output} cannot be written: {error.strerror or error}") from error
    finally:
        if is_file:
            with suppress(OSError):
                partial.unlink()


def is_same_file(target: Path, other: str) -> bool:
    """Check whether two paths lead to one file; False if one of them cannot be read or does not exist."""
    try:
        return os.path.samefile(target, other)
    except (OSError, ValueError):
        return False


def _partial(target: Path) -> Path:
    # Each process that writes the same file has its own partial file; the last one to finish replaces the target.
    place = Path(os.path.realpath(target))
    return place.with_name(f"{place.name}.{os.getpid()}.part")
