"""Reads and writes compressed files (gzip, bzip2, xz, Zstandard), and limits the time and memory for unpacking them."""

from __future__ import annotations

import io
import lzma
import re
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import IO, Any

import zstandard

from whorl.ingest.file_limits import file_limits
from whorl.ingest.rows.row_format import (
    Added,
    Decide,
    FileSpan,
    ReadableStream,
    Row,
    RowColumns,
    RowFormat,
    UnreadRowsError,
)

#: Patterns of the first bytes of compressed files, with the modules that read them.
_MARKS = {rb"\x1f\x8b\x08": "gzip", rb"BZh[1-9]1AY&": "bz2", rb"\xfd7zXZ\0": "lzma", rb"\x28\xb5\x2f\xfd": "zstandard"}
_BUFFER = 1 << 18
#: Number of compressed bytes that Zstandard unpacks at a time; small, because blanks unpack to 30,000 times their size.
_PACKED_AT_ONCE = 1 << 12
#: The limits apply only to a file that unpacks to more than `_HARMLESS` bytes and more than `_MOST_TIMES` times its
#: size. Even uniform text unpacks to only about 100 times its size.
_HARMLESS, _MOST_TIMES = 1 << 24, 200
#: Bytes to count for a row in addition to its characters: a search for duplicates keeps an id and some numbers.
_ROW_BYTES = 512


def packing_of(head: bytes) -> str:
    """Return the module that unpacks a file with these first bytes; "" for an uncompressed file."""
    return next((module for mark, module in _MARKS.items() if re.match(mark, head)), "")


class ExpansionLimit:
    """Limits the number of unpacked bytes, and the time to read them, for a file that unpacks to many times its size.

    `packed_size` returns the number of packed bytes of the file, or of the part read so far.
    """

    def __init__(self, packed_size: Callable[[], int]) -> None:
        self._packed_size, self.size, self._rows, self._begun = packed_size, 0, 0, time.thread_time()

    def add(self, size: int, rows: int = 0) -> None:
        self.size += size
        self._rows += rows
        counted = self.size + _ROW_BYTES * self._rows
        if counted <= _HARMLESS or counted <= _MOST_TIMES * self._packed_size():
            return
        limits = file_limits()
        if counted > limits.memory_bytes:
            raise UnreadRowsError(
                f"it unpacks to more than {_MOST_TIMES} times its size and more than {limits.memory_bytes:,} bytes "
                "(setting file_memory_bytes)"
            )
        if time.thread_time() - self._begun > limits.seconds:
            raise UnreadRowsError(
                f"it unpacks to more than {_MOST_TIMES} times its size, and reading that took longer than "
                f"{limits.seconds:.3g} seconds (setting file_timeout)"
            )


@contextmanager
def open_compressed(opened: IO[bytes], module: str, expansion: ExpansionLimit | None = None) -> Iterator[IO[bytes]]:
    """Open the content of a compressed file; raise UnreadRowsError if it is truncated or expands too much."""
    opened.seek(0)
    expansion = expansion or ExpansionLimit(opened.tell)
    try:
        stream = _Zstandard(opened) if module == "zstandard" else import_module(module).open(opened)
        with UnpackedStream(stream, expansion) as unpacked:
            yield io.BufferedReader(unpacked, _BUFFER)
    except (OSError, zlib.error, lzma.LZMAError) as error:
        raise UnreadRowsError(f"this cannot be unpacked completely: {error}") from error


class UnpackedStream(ReadableStream):
    """Unpacked stream, with a limit on its expansion. Reading a truncated file raises OSError.

    Reading may return fewer bytes than requested, so that no data before an error are lost.
    """

    def __init__(self, stream: Any, expansion: ExpansionLimit) -> None:
        super().__init__()
        self._stream, self._expansion = stream, expansion

    def read_part(self, size: int) -> bytes | memoryview:
        try:
            part: bytes | memoryview = self._stream.read1(size)
        except EOFError as error:
            raise OSError(str(error)) from error
        # Count the bytes at each call, so that the time limit includes the caller's processing of earlier bytes.
        self._expansion.add(len(part))
        return part

    def tell(self) -> int:
        return self._expansion.size


class _Zstandard:
    """Zstandard stream that detects a truncated last frame, unlike the library's own stream."""

    def __init__(self, packed: IO[bytes]) -> None:
        # Allow the large windows that `zstd --long` makes.
        self._unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 31)
        self._packed, self._frame, self._rest = packed, self._unpacker.decompressobj(), b""
        #: Unpacked bytes that were not read yet; a memoryview, because slicing bytes would copy them.
        self._ahead = memoryview(b"")
        self._is_within = False

    def read1(self, size: int) -> memoryview:
        try:
            while not self._ahead and (part := self._rest or self._packed.read(_PACKED_AT_ONCE)):
                self._ahead, self._is_within = memoryview(self._frame.decompress(part)), True
                self._rest = b""
                if self._frame.eof:
                    self._rest, self._frame = self._frame.unused_data, self._unpacker.decompressobj()
                    self._is_within = False
        except zstandard.ZstdError as error:
            raise OSError(str(error)) from error
        if not self._ahead and self._is_within:
            raise EOFError("the file ends within a frame of Zstandard")
        taken, self._ahead = self._ahead[:size], self._ahead[size:]
        return taken


class CompressedFormat(RowFormat):
    """Format of a compressed file whose content has the format `inner`."""

    def __init__(self, inner: RowFormat, module: str) -> None:
        self._inner, self._module = inner, module
        self.takes_columns = inner.takes_columns

    def rows(self, opened: IO[bytes], columns: RowColumns, span: FileSpan | None = None) -> Iterator[Row]:
        expansion = ExpansionLimit(opened.tell)
        with open_compressed(opened, self._module, expansion) as stream:
            for row in self._inner.rows(stream, columns):
                yield row
                expansion.add(0, rows=1)

    def rewrite(self, opened: IO[bytes], out: IO[bytes], columns: RowColumns, decide: Decide, added: Added) -> None:
        if self._module == "zstandard":
            packed = zstandard.ZstdCompressor().stream_writer(out, closefd=False)
        else:
            packed = import_module(self._module).open(out, "wb")
        with open_compressed(opened, self._module) as stream, packed:
            self._inner.rewrite(stream, packed, columns, decide, added)
