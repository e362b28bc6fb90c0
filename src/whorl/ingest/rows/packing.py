"""Compressed files: gzip, bzip2, xz and Zstandard, unpacked and packed again while they are read and written."""

from __future__ import annotations

import io
import lzma
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import IO, Any

import zstandard

from whorl.ingest.rows.columns import Columns, UnreadRowsError
from whorl.ingest.rows.row import Added, Decide, Format, Row, Span

#: How compressed files begin, and the module that reads them.
_MARKS = {rb"\x1f\x8b\x08": "gzip", rb"BZh[1-9]1AY&": "bz2", rb"\xfd7zXZ\0": "lzma", rb"\x28\xb5\x2f\xfd": "zstandard"}
_BUFFER = 1 << 18
#: What Zstandard unpacks at once: a frame of nothing but blanks becomes thirty thousand times as long.
_PACKED_AT_ONCE = 1 << 12


def packing_of(head: bytes) -> str:
    """Return the module that unpacks a file which begins with these bytes; "" for one that is not compressed."""
    return next((module for mark, module in _MARKS.items() if re.match(mark, head)), "")


@contextmanager
def unpacked(opened: IO[bytes], module: str) -> Iterator[IO[bytes]]:
    """Open what is in a compressed file, from its beginning.

    Raises:
        UnreadRowsError: It cannot be unpacked to its end.
    """
    opened.seek(0)
    try:
        with _Zstandard(opened) if module == "zstandard" else _Stepwise(import_module(module).open(opened)) as stream:
            yield io.BufferedReader(stream, _BUFFER)
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise UnreadRowsError(f"this cannot be unpacked completely: {error}") from error


class _Stepwise(io.RawIOBase):
    """What is unpacked, as far as it goes: a larger read would lose what comes right before an error."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._stream.read1(len(buffer))
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._stream.close()
        super().close()


class _Zstandard(io.RawIOBase):
    """What is in frames of Zstandard; unlike its library's own stream it notices that the last one was cut."""

    def __init__(self, packed: IO[bytes]) -> None:
        super().__init__()
        # Large windows are what the program's --long makes.
        self._unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 31)
        self._packed, self._frame, self._rest, self._ahead = packed, self._unpacker.decompressobj(), b"", b""
        self._is_within = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            while not self._ahead and (part := self._rest or self._packed.read(_PACKED_AT_ONCE)):
                self._ahead, self._is_within = self._frame.decompress(part), True
                self._rest = b""
                if self._frame.eof:
                    self._rest, self._frame = self._frame.unused_data, self._unpacker.decompressobj()
                    self._is_within = False
        except zstandard.ZstdError as error:
            raise OSError(str(error)) from error
        if not self._ahead and self._is_within:
            raise EOFError("the file ends within a frame of Zstandard")
        size = min(len(buffer), len(self._ahead))
        buffer[:size], self._ahead = self._ahead[:size], self._ahead[size:]
        return size


class Packed:
    """A format in a compressed file.

    Args:
        inner: The format.
        module: What unpacks it.
    """

    def __init__(self, inner: Format, module: str) -> None:
        self._inner, self._module = inner, module
        self.takes_columns = inner.takes_columns

    def spans(self, opened: IO[bytes]) -> Iterator[Span | None]:
        yield None

    def rows(self, opened: IO[bytes], columns: Columns, span: Span | None = None) -> Iterator[Row]:
        with unpacked(opened, self._module) as stream:
            yield from self._inner.rows(stream, columns)

    def rewrite(self, opened: IO[bytes], out: IO[bytes], columns: Columns, decide: Decide, added: Added) -> None:
        if self._module == "zstandard":
            packed = zstandard.ZstdCompressor().stream_writer(out, closefd=False)
        else:
            packed = import_module(self._module).open(out, "wb")
        with unpacked(opened, self._module) as stream, packed:
            self._inner.rewrite(stream, packed, columns, decide, added)
