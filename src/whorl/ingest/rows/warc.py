"""Web archives: pages in WARC, and texts in WET, which is WARC of conversions."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from gzip import GzipFile
from pathlib import PurePath
from typing import IO, Any

from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import BufferedReader, ChunkedDataReader
from warcio.exceptions import ArchiveLoadFailed
from warcio.statusandheaders import StatusAndHeadersParser, StatusAndHeadersParserException

from whorl.errors import DocumentError
from whorl.ingest.rows.columns import Columns, UnreadRowsError
from whorl.ingest.rows.row import MOST_BYTES, Added, Decide, Extract, Row, Span, portions

#: Records that are decided about at once: a page is larger than a row.
_AT_ONCE = 16
_READ_AT_ONCE = 1 << 16
#: Which records are documents, and what of these is: the others, requests and metadata, stay with the rest.
_TYPES = ("response", "resource", "conversion")
_SUFFIXES = {"text/html": ".html", "application/xhtml+xml": ".html", "text/plain": ".txt"}


class Warc:
    """Records of the web; a document is a page with its text, known by its record's id, with its address as its name.

    Args:
        extract: Makes text of pages.
        is_packed: Whether each record is compressed, as they are in `.warc.gz`.
    """

    takes_columns = False

    def __init__(self, extract: Extract, *, is_packed: bool) -> None:
        self._extract, self._is_packed = extract, is_packed

    def spans(self, opened: IO[bytes]) -> Iterator[Span | None]:
        yield None

    def rows(self, opened: IO[bytes], columns: Columns, span: Span | None = None) -> Iterator[Row]:
        for number, record, raw in self._records(opened):
            if (row := self._row(number, record, raw)) is not None:
                yield row

    def rewrite(self, opened: IO[bytes], out: IO[bytes], columns: Columns, decide: Decide, added: Added) -> None:
        if added:
            raise DocumentError("a web archive has no columns that could be added")
        for some in portions(self._records(opened), _AT_ONCE):
            rows = [self._row(*each) for each in some]
            told = iter(decide([row for row in rows if row is not None]))
            for row, (_, record, raw) in zip(rows, some, strict=True):
                if row is None or next(told) is not None:
                    self._write(out, record.rec_headers.to_bytes() + raw + b"\r\n\r\n")

    def _records(self, opened: IO[bytes]) -> Iterator[tuple[int, Any, bytes]]:
        """Yield each record with its number, from 1 on, and what it holds as it stands there."""
        stream = _Unpacked(fileobj=opened) if self._is_packed else opened
        with _failures():
            for number, record in enumerate(ArchiveIterator(stream, no_record_parse=True), start=1):
                raw = _all_of(record.raw_stream)
                if len(raw) < int(record.rec_headers.get_header("Content-Length") or 0):
                    raise EOFError(f"record {number} is cut")
                yield number, record, raw

    def _write(self, out: IO[bytes], record: bytes) -> None:
        if not self._is_packed:
            out.write(record)
            return
        with GzipFile(fileobj=out, mode="wb", mtime=0, filename="") as packed:
            packed.write(record)

    def _row(self, number: int, record: Any, raw: bytes) -> Row | None:
        """Return the row of a record, None where it is no document."""
        if record.rec_type not in _TYPES:
            return None
        try:
            content, kind = _content(record, raw)
            kind = kind.partition(";")[0].strip().lower()
            if kind not in _SUFFIXES and record.rec_type != "conversion":
                return None
            text = self._extract(content, PurePath(f"page{_SUFFIXES.get(kind, '.txt')}"))
        except DocumentError as error:
            return Row(number, "record", error)
        head = record.rec_headers.get_header
        address = head("WARC-Target-URI") or ""
        values = {
            "id": head("WARC-Record-ID"), "text": text, "name": address, "url": address,
            "date": head("WARC-Date"), "content_type": kind,
        }  # fmt: skip
        return Row(number, "record", values)


class _Unpacked(GzipFile):
    """Records one after the other; where the file was cut, warcio would take the end of it for the end of all."""

    def read(self, size: int | None = -1) -> bytes:
        try:
            return super().read(size)
        except EOFError as error:
            raise OSError(str(error)) from error


def _content(record: Any, raw: bytes) -> tuple[bytes, str]:
    """Return the page in a record, and its type."""
    head = record.rec_headers.get_header
    if record.rec_type != "response":
        return raw, head("Content-Type") or ""
    stream = io.BytesIO(raw)
    try:
        answer = StatusAndHeadersParser(["HTTP/"]).parse(stream)
    except (StatusAndHeadersParserException, EOFError):
        raise DocumentError("this response is no answer of HTTP") from None
    packing = (answer.get_header("Content-Encoding") or "").strip().lower() or None
    if packing == "identity":
        packing = None
    if packing is not None and packing not in BufferedReader.get_supported_decompressors():
        raise DocumentError(f"this response is packed as {packing!r:.40}, which is not read")
    is_chunked = (answer.get_header("Transfer-Encoding") or "").lower() == "chunked"
    reader = (ChunkedDataReader if is_chunked else BufferedReader)(stream, decomp_type=packing)
    return _all_of(reader), answer.get_header("Content-Type") or ""


def _all_of(stream: Any) -> bytes:
    parts, size = [], 0
    while part := stream.read(_READ_AT_ONCE):
        size += len(part)
        if size > MOST_BYTES:
            raise UnreadRowsError(f"a record has more than {MOST_BYTES:,} bytes")
        parts.append(part)
    return b"".join(parts)


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except (ArchiveLoadFailed, EOFError, OSError, ValueError, zlib.error) as error:
        raise UnreadRowsError(f"this web archive cannot be read, or not completely: {error!s:.200}") from error
