"""Limits of memory, time and size for reading a file. The settings import only this module of the package."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileLimits:
    """Limits for reading one file; `memory_bytes` also limits the size of an unpacked archive."""

    file_bytes: int = 100_000_000
    seconds: float = 60.0
    memory_bytes: int = 1_000_000_000
    text_characters: int = 50_000_000
