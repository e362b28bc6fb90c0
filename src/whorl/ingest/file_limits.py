"""Reads the limits for files from the settings, and limits the memory of the current process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from whorl.ingest.extraction import FileLimits

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_MAPPED = Path("/proc/self/statm")


class _Current:
    limits: FileLimits | None = None


def file_limits() -> FileLimits:
    """Return the file limits of the settings, which are read once."""
    if _Current.limits is None:
        # A worker process gets its limits from its parent, and needs no settings.
        from whorl.settings.settings import Settings

        _Current.limits = Settings.load().file_limits
    return _Current.limits


def use_file_limits(limits: FileLimits) -> None:
    _Current.limits = limits


@contextlib.contextmanager
def limit_memory() -> Iterator[None]:
    """Raise MemoryError if the `with` block takes more memory than the limit for a file; Linux only."""
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
