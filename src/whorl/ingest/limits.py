"""File limits from the settings, and a memory limit for this process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from whorl.ingest.extraction.reader import Limits
from whorl.settings.settings import Settings

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

#: Number of pages mapped by this process, on Linux.
_MAPPED = Path("/proc/self/statm")


@cache
def file_limits() -> Limits:
    """Return the file limits of the settings, which are read once."""
    return Settings.load().file_limits


@contextlib.contextmanager
def bounded_memory() -> Iterator[None]:
    """Raise MemoryError if the block takes more memory than the limit for a file; Linux only."""
    try:
        mapped = int(_MAPPED.read_text("ascii").split()[0]) * resource.getpagesize()
    except (OSError, AttributeError):
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = mapped + file_limits().memory_bytes
    if soft == resource.RLIM_INFINITY or most < soft:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
