"""Reads web archives (pages in WARC files, texts in WET files), and writes copies with some of their records."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.message import Message
from gzip import GzipFile
from pathlib import PurePath
from types import SimpleNamespace
from typing import IO, Any

from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import ChunkedDataException, ChunkedDataReader, DecompressingBufferedReader
from warcio.statusandheaders import StatusAndHeadersParser, StatusAndHeadersParserException

from whorl.errors import DocumentError
from whorl.ingest.extraction.detect_encoding import decode, is_mostly_utf_8
from whorl.ingest.extraction.file_formats import begins_like_html
from whorl.ingest.redact_addresses import redact_address
from whorl.ingest.rows.compression import ExpansionLimit, UnpackedStream
from whorl.ingest.rows.row_format import (
    MOST_BYTES,
    Added,
    Decide,
    Extract,
    FileSpan,
    Row,
    RowColumns,
    RowFormat,
    UnreadRowsError,
    portions,
)

#: Maximum number of records to process together; small, because pages are larger than rows.
_AT_ONCE = 16
_READ_AT_ONCE = 1 << 16
#: Maximum number of bytes of a header, or of the blank lines between two records.
_MOST_HEADER = 1_000_000
#: warcio's reader cuts a long header line into pieces of `_LEAST_LINE` to `_MOST_LINE` bytes. So a piece of more than
#: `_LEAST_LINE` bytes without a line end belongs to a line that is too long.
_LEAST_LINE, _MOST_LINE = 65_536, 1 << 20
#: Types of records that are documents. Copies of an archive keep all records of other types, such as requests.
_TYPES = ("response", "resource", "conversion")
#: Values of zlib's `wbits` to try for each content encoding of HTTP: some servers send deflate without zlib's header.
_RAW_DEFLATE = -15
_WINDOWS = {"gzip": (31,), "x-gzip": (31,), "deflate": (15, _RAW_DEFLATE)}
#: Content encodings that are not read. Other names, such as "none" or "utf-8", are ignored, as browsers do.
_UNREAD = ("br", "zstd", "compress", "x-compress")
#: First line of a response after "HTTP/".
_STATUS = re.compile(r"[\d.]+ (\d{3})\b", re.ASCII)
_CHUNK_HEADER = re.compile(rb"[0-9a-fA-F]+[^\n]*\r\n")
_GZIP = b"\x1f\x8b"
#: Number of bytes of a packed body to unpack at once.
_PACKED_AT_ONCE = 1 << 13
_SUFFIXES = {"text/html": ".html", "application/xhtml+xml": ".html", "text/plain": ".txt"}


class WarcFormat(RowFormat):
    """Web archives; each page is a document with its record's id. `.warc.gz` compresses each record separately."""

    takes_columns = False

    def __init__(self, extract: Extract, *, is_packed: bool) -> None:
        self._extract, self._is_packed = extract, is_packed

    def rows(self, opened: IO[bytes], columns: RowColumns, span: FileSpan | None = None) -> Iterator[Row]:
        for number, record, raw in self._records(opened):
            if (row := self._row(number, record, raw)) is not None:
                yield row

    def rewrite(self, opened: IO[bytes], out: IO[bytes], columns: RowColumns, decide: Decide, added: Added) -> None:
        if added:
            raise DocumentError("a web archive has no columns that could be added")
        for records in portions(self._records(opened), lambda record: len(record[2]), _AT_ONCE):
            rows = [self._row(*record) for record in records]
            decisions = iter(decide([row for row in rows if row is not None]))
            for row, (_, record, raw) in zip(rows, records, strict=True):
                if row is None or next(decisions) is not None:
                    self._write(out, record.rec_headers.to_bytes() + raw + b"\r\n\r\n")

    def _records(self, opened: IO[bytes]) -> Iterator[tuple[int, Any, bytes]]:
        """Yield each record with its number, from 1, and its raw content."""
        unpacked: Any = opened
        if self._is_packed:
            # warcio's own stream does not notice a truncated file, so unpack the file with gzip.
            unpacked = UnpackedStream(GzipFile(fileobj=opened), ExpansionLimit(opened.tell))
        # A buffered `read` loses the bytes before the end of a truncated file, so use `read1`, which returns them.
        stream = SimpleNamespace(read=getattr(unpacked, "read1", unpacked.read), tell=unpacked.tell)
        with _convert_errors():
            archive = ArchiveIterator(stream, no_record_parse=True)
            archive.reader = _Reader(archive.fh, block_size=_READ_AT_ONCE)
            archive.loader.warc_parser = _HeaderParser(archive.loader.WARC_TYPES)
            for number, record in enumerate(archive, start=1):
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
        """Return the row of a record; None if the record is not a document."""
        head = record.rec_headers.get_header
        # Some crawlers also archive the answers of name servers, which are not documents.
        if record.rec_type not in _TYPES or head("Content-Type") == "text/dns":
            return None
        try:
            content, media_type, status = _content(record, raw)
            # Take the first word: some servers send "text/html charset=utf-8", or the type twice.
            kind = re.split(r"[;,\s]", media_type.strip(), maxsplit=1)[0].lower()
            if "/" not in kind and begins_like_html(content):
                kind = "text/html"
            if kind not in _SUFFIXES and record.rec_type != "conversion":
                return None
            # Do not believe the charset of a page in UTF-8: servers often send their default.
            if (charset := _charset(media_type)) and not is_mostly_utf_8(content):
                content = decode(content, charset).encode()
            text = self._extract(content, PurePath(f"page{_SUFFIXES.get(kind, '.txt')}"))
        except DocumentError as error:
            return Row(number, "record", error)
        address = redact_address(head("WARC-Target-URI") or "")
        values = {
            "id": head("WARC-Record-ID"), "text": text, "name": address, "url": address,
            "date": head("WARC-Date"), "content_type": kind, "status": status,
        }  # fmt: skip
        return Row(number, "record", values, len(raw) + len(text))


class _Reader(DecompressingBufferedReader):  # type: ignore[misc]
    """warcio's reader, with limits on the length of a header line and on blank lines between records."""

    _blank = 0

    def readline(self, length: int | None = None) -> bytes:
        line: bytes = super().readline(length or _MOST_LINE)
        if len(line) >= _MOST_LINE or (len(line) > _LEAST_LINE and not line.endswith(b"\n")):
            raise UnreadRowsError(f"a line of a record's header has more than {_LEAST_LINE:,} bytes")
        self._blank = 0 if line.strip() else self._blank + len(line)
        if self._blank > _MOST_HEADER:
            raise UnreadRowsError(f"there are more than {_MOST_HEADER:,} bytes of blank lines between two records")
        return line


class _HeaderParser(StatusAndHeadersParser):  # type: ignore[misc]
    """warcio's header parser, with a limit on the total length of a header."""

    def parse(self, stream: Any, full_statusline: Any = None) -> Any:
        self._stream, self._left = stream, _MOST_HEADER
        return super().parse(self, full_statusline)

    def readline(self) -> bytes:
        line: bytes = self._stream.readline()
        self._left -= len(line)
        if self._left < 0:
            raise DocumentError(f"a header has more than {_MOST_HEADER:,} bytes")
        return line


def _content(record: Any, raw: bytes) -> tuple[bytes, str, int | None]:
    """Return the page in a record, its media type, and the status of its HTTP response."""
    if record.rec_type != "response":
        return raw, record.rec_headers.get_header("Content-Type") or "", None
    stream = io.BytesIO(raw)
    try:
        answer = _HeaderParser(["HTTP/"]).parse(stream)
    except (StatusAndHeadersParserException, EOFError):
        raise DocumentError("this is not an HTTP response") from None
    is_chunked = (answer.get_header("Transfer-Encoding") or "").lower() == "chunked"
    body = _join_chunks(stream.read()) if is_chunked else _all_of(stream)
    for packing in reversed((answer.get_header("Content-Encoding") or "").lower().split(",")):
        body = _unpack_body(body, packing.strip())
    status = _STATUS.match(answer.statusline)
    return body, answer.get_header("Content-Type") or "", int(status[1]) if status else None


def _charset(media_type: str) -> str | None:
    header = Message()
    header["Content-Type"] = media_type
    return header.get_content_charset()


def _join_chunks(body: bytes) -> bytes:
    """Join the chunks of a response; if the body has no chunks, although the header claims so, return it unchanged."""
    try:
        return _all_of(ChunkedDataReader(io.BytesIO(body), raise_exceptions=True))
    except ChunkedDataException:
        if _CHUNK_HEADER.match(body):
            raise DocumentError("this response is cut: its last chunk is missing or incomplete") from None
        return body


def _unpack_body(body: bytes, packing: str) -> bytes:
    """Decode the body of a response; if its header claims a wrong encoding, return it unchanged."""
    if packing in _UNREAD:
        raise DocumentError(f"this response is packed as {packing!r}, which is not read")
    if packing not in _WINDOWS:
        return body
    for window in _WINDOWS[packing]:
        with suppress(zlib.error):
            return _unpack(body, window)
    if body.startswith(_GZIP):
        raise DocumentError("this response cannot be unpacked: it is damaged")
    return body


def _unpack(body: bytes, window: int) -> bytes:
    """Unpack all gzip members of a body, or its deflate stream; raise zlib.error if it has another format."""
    unpacked, start, is_next = bytearray(), 0, bool(body)
    while is_next:
        unpacker = zlib.decompressobj(window)
        # An unpacker copies the bytes after its member, and there may be many small members, so read few bytes at once.
        while not unpacker.eof and (piece := body[start : start + _PACKED_AT_ONCE]):
            unpacked += unpacker.decompress(piece, MOST_BYTES + 1 - len(unpacked))
            if len(unpacked) > MOST_BYTES:
                raise DocumentError(f"this response unpacks to more than {MOST_BYTES:,} bytes")
            start += len(piece) - len(unpacker.unused_data)
        if not unpacker.eof:
            if window == _RAW_DEFLATE:
                # Raw deflate has no header, so another format can look like the beginning of a stream. Without an end,
                # the body is probably not raw deflate.
                raise zlib.error
            raise DocumentError("this response is cut: its compressed page has no end")
        is_next = body.startswith(_GZIP, start)
    return bytes(unpacked)


def _all_of(stream: Any) -> bytes:
    parts, size = [], 0
    while part := stream.read(_READ_AT_ONCE):
        size += len(part)
        if size > MOST_BYTES:
            raise UnreadRowsError(f"a record has more than {MOST_BYTES:,} bytes")
        parts.append(part)
    return b"".join(parts)


@contextmanager
def _convert_errors() -> Iterator[None]:
    try:
        yield
    except (UnreadRowsError, MemoryError):
        raise
    except Exception as error:
        # For missing or malformed header fields, warcio raises Python's own errors, so convert any error.
        raise UnreadRowsError(f"this web archive cannot be read, or not completely: {error!s:.200}") from error
