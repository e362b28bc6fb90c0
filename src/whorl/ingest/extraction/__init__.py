"""Extracts text from files that are not plain text, such as PDF, within limits (`FileLimits`).

`file_formats` detects a file's format, and `detect_encoding` the encoding of plain text. `reader_pool` sends other
files to a child process (`worker`), which extracts the text with `extract_text`, so that a hostile file can neither
hang nor crash the caller.
"""

from __future__ import annotations

from dataclasses import dataclass

from whorl.errors import DocumentError


class PartialTextError(DocumentError):
    """Parts of a file cannot be read; `text` is the text of the others."""

    def __init__(self, message: str, text: str = "") -> None:
        super().__init__(message)
        self.text = text


@dataclass(frozen=True, slots=True)
class FileLimits:
    """Limits for reading one file. `memory_bytes` also limits the size of an unpacked archive."""

    file_bytes: int = 100_000_000
    seconds: float = 60.0
    memory_bytes: int = 1_000_000_000
    text_characters: int = 50_000_000
