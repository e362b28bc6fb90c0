"""Worker process that reads files of rows and sends the rows to its parent; the other side of `reader_client`.

It receives one `ReadRequest` at a time, sends rows and function calls to the parent, and finally an end mark or an
error. It ends when its parent ends.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection
from operator import attrgetter
from typing import IO, Any, NamedTuple

from whorl.errors import DocumentError
from whorl.ingest.extraction.confined_process import connect_to_parent, limit_processor_time
from whorl.ingest.file_limits import limit_memory, use_file_limits
from whorl.ingest.rows.detect_row_format import detect
from whorl.ingest.rows.reader_client import ReadRequest
from whorl.ingest.rows.row_format import ReadableStream, Row, RowFormat, UnreadRowsError, portions

_BUFFER = 1 << 18
#: pyarrow uses malloc and one thread, so that its address space is no larger than the memory that it needs.
_ENVIRONMENT = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1", "ARROW_IO_THREADS": "1"}


def main() -> None:
    for name, value in _ENVIRONMENT.items():
        os.putenv(name, value)
    connection = connect_to_parent()
    with contextlib.suppress(EOFError, OSError):
        while True:
            _answer(connection.recv(), _Parent(connection))


class _Parent(NamedTuple):
    """The parent process, whose functions are called through the connection."""

    connection: Connection

    def send(self, kind: str, value: object = None) -> None:
        self.connection.send((kind, value))

    def call(self, name: str, *arguments: object) -> Any:
        """Call a function of the parent: a method of the opened file, or an argument of the requested method."""
        self.send("call", (name, arguments))
        value = self.connection.recv()
        if isinstance(value, DocumentError):
            raise value
        return value


class _File(ReadableStream):
    """The input file as a stream; the parent reads it and sends the bytes."""

    def __init__(self, parent: _Parent) -> None:
        super().__init__()
        self._parent, self._position = parent, 0

    def seekable(self) -> bool:
        return True

    def read_part(self, size: int) -> bytes:
        part: bytes = self._parent.call("read", size)
        self._position += len(part)
        return part

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._position = int(self._parent.call("seek", offset, whence))
        return self._position

    def tell(self) -> int:
        return self._position


class _Output(io.RawIOBase):
    """The output file as a stream; the parent receives the bytes and writes them."""

    def __init__(self, parent: _Parent) -> None:
        super().__init__()
        self._parent = parent

    def writable(self) -> bool:
        return True

    def write(self, part: Any) -> int:
        self._parent.call("write", bytes(part))
        return len(part)


def _answer(request: ReadRequest, parent: _Parent) -> None:
    use_file_limits(request.limits)
    seconds = request.limits.seconds
    limit_processor_time(seconds)
    try:
        with _open(request.path, parent) as opened:
            form = detect(opened, request.file, request.columns, partial(parent.call, "extract"))
            assert form is not None
            with limit_memory():
                for result in _results(form, request, opened, parent):
                    parent.send("result", (result, opened.tell()))
                    limit_processor_time(seconds)
    except DocumentError as error:
        parent.send("end", error)
    except MemoryError:
        most = request.limits.memory_bytes
        problem = f"this cannot be read, or not completely: it takes more than {most:,} bytes of memory"
        parent.send("end", UnreadRowsError(f"{problem} (setting file_memory_bytes)"))
    else:
        parent.send("end")


@contextmanager
def _open(path: str, parent: _Parent) -> Iterator[IO[bytes]]:
    raw: io.RawIOBase | None = None
    if path:
        with contextlib.suppress(OSError):
            raw = io.FileIO(path)
    with io.BufferedReader(raw or _File(parent), _BUFFER) as opened:
        yield opened


def _results(form: RowFormat, request: ReadRequest, opened: IO[bytes], parent: _Parent) -> Iterator[object]:
    if request.method == "detect":
        yield form.takes_columns
    elif request.method == "spans":
        yield from form.spans(opened, *request.arguments)
    elif request.method == "rows" and hasattr(form, "groups"):
        for group in form.groups(opened, *request.arguments):
            yield "columns", group
    elif request.method == "rows":
        # Plain tuples are pickled three times as fast as rows.
        for rows in portions(form.rows(opened, *request.arguments), attrgetter("weight")):
            yield "rows", [tuple(row) for row in rows]
    else:
        columns, added = request.arguments

        def decide(rows: Sequence[Row]) -> Any:
            return parent.call("decide", [tuple(row) for row in rows])

        with io.BufferedWriter(_Output(parent), _BUFFER) as out:
            form.rewrite(opened, out, columns, decide, added)


if __name__ == "__main__":
    main()
