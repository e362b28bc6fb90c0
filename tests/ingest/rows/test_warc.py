"""Web archives: records that are documents, their text, and rewritten archives."""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from collections.abc import Sequence
from pathlib import PurePath
from types import SimpleNamespace
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from whorl.errors import DocumentError
from whorl.ingest.rows import warc
from whorl.ingest.rows.compression import CompressedFormat
from whorl.ingest.rows.row_format import Row, RowColumns, UnreadRowsError
from whorl.ingest.rows.warc import WarcFormat


def record(kind: str, content_type: str, content: bytes) -> bytes:
    """Return a record in the usual form."""
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{kind}-{len(content)}>\r\n"
        f"WARC-Target-URI: http://example.org/{kind}\r\nWARC-Date: 2020-05-01T00:00:00Z\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content + b"\r\n\r\n"


def response(head: str, body: bytes) -> bytes:
    return record("response", "application/http", f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n".encode() + body)


RECORDS = (
    record("warcinfo", "application/warc-fields", b"software: test"),
    response(
        "Content-Type: text/html; charset=utf-8\r\nTransfer-Encoding: chunked",
        b"1a\r\n<p>one two three four five\r\n4\r\n</p>\r\n0\r\n\r\n",
    ),
    response("content-type: TEXT/HTML\r\nContent-Encoding: gzip", gzip.compress(b"<b>packed</b>", mtime=0)),
    response("Content-Type: image/png", b"\x89PNG"),
    record("conversion", "text/plain", "Text, überall".encode()),
)


def archive(*, is_packed: bool) -> bytes:
    """Return an archive of five records; three of them are documents."""
    return b"".join(gzip.compress(record) if is_packed else record for record in RECORDS)


def text_of(raw: bytes, file: PurePath) -> str:
    return f"{file.suffix} {raw.decode()}"


def read(content: bytes, *, is_packed: bool) -> list[Row]:
    return list(WarcFormat(text_of, is_packed=is_packed).rows(io.BytesIO(content), RowColumns()))


@pytest.mark.parametrize("is_packed", [False, True])
def test_pages_are_documents(is_packed: bool) -> None:
    """
    Pages are decompressed and their chunks joined; images and records about the archive are no documents.
    """
    rows = read(archive(is_packed=is_packed), is_packed=is_packed)
    values = [row.values for row in rows if not isinstance(row.values, DocumentError)]
    assert [row.place for row in rows] == ["record 2", "record 3", "record 5"]
    assert [value["text"] for value in values] == [
        ".html <p>one two three four five</p>",
        ".html <b>packed</b>",
        ".txt Text, überall",
    ]
    assert [value["content_type"] for value in values] == ["text/html", "text/html", "text/plain"]
    assert values[2]["id"] == "<urn:uuid:conversion-14>"
    assert values[2]["name"] == values[2]["url"] == "http://example.org/conversion"
    assert values[2]["date"] == "2020-05-01T00:00:00Z"


@pytest.mark.parametrize("is_packed", [False, True])
def test_remaining_records_are_unchanged(is_packed: bool) -> None:
    """
    Kept records and records without a document are copied byte by byte, so their digests stay valid.
    """
    content, out = archive(is_packed=is_packed), io.BytesIO()

    def decide(rows: Sequence[Row]) -> list[dict[str, object] | None]:
        return [None if row.number == 3 else {} for row in rows]

    WarcFormat(text_of, is_packed=is_packed).rewrite(io.BytesIO(content), out, RowColumns(), decide, {})
    written = out.getvalue()
    if is_packed:
        # Each record is a separate gzip member, because some readers seek to the offset of a record.
        with io.BytesIO(written) as again:
            assert len(list(ArchiveIterator(again))) == 4
        assert written.count(gzip.compress(b"", mtime=0)[:4]) >= 4
        written = gzip.decompress(written)
    assert written == b"".join(RECORDS[:2] + RECORDS[3:])
    with pytest.raises(DocumentError, match="no columns"):
        WarcFormat(text_of, is_packed=False).rewrite(io.BytesIO(content), out, RowColumns(), decide, {"cluster": str})


def test_unreadable_pages_and_archives_are_errors() -> None:
    """
    A page without text is an error of its row only; a truncated or broken archive is an error of the file.
    """

    def refuse(raw: bytes, file: PurePath) -> str:
        raise DocumentError("no text")

    rows = list(WarcFormat(refuse, is_packed=False).rows(io.BytesIO(archive(is_packed=False)), RowColumns()))
    assert [str(row.values) for row in rows] == ["no text"] * 3
    with pytest.raises(UnreadRowsError, match="this web archive"):
        read(RECORDS[0] + b"garbage\r\n" * 9, is_packed=False)
    rows = []
    with pytest.raises(UnreadRowsError, match="this web archive"):
        rows += WarcFormat(text_of, is_packed=True).rows(io.BytesIO(archive(is_packed=True)[:-40]), RowColumns())
    assert [row.number for row in rows] == [2, 3], "pages before the end of a truncated archive are read"


def test_pages_before_a_cut_are_read() -> None:
    """
    All pages that the beginning of a compressed archive unpacks to are read, except the last, which is cut.
    """
    pages = b"".join(record("resource", "text/plain", f"{at * at * at:x}".encode()) for at in range(300))
    packed = lzma.compress(pages)
    unpacked = lzma.LZMADecompressor().decompress(packed[: len(packed) // 2])
    rows: list[Row] = []
    with pytest.raises(UnreadRowsError):
        rows += CompressedFormat(WarcFormat(text_of, is_packed=False), "lzma").rows(
            io.BytesIO(packed[: len(packed) // 2]), RowColumns()
        )
    assert len(rows) == unpacked.count(b"WARC/1.0") - 1 > 50


@pytest.mark.parametrize(
    "packing",
    ["identity", "zstd", "br", "gzip", "x-gzip", "deflate", "raw deflate", "GZIP, ", "deflate, gzip", "none", "utf-8"],
)
def test_encodings_of_pages(packing: str) -> None:
    """
    Unknown encodings are ignored; a page in an encoding of browsers that is not read is an error of its row only.
    """
    bodies = {
        "gzip": gzip.compress(b"words", mtime=0),
        "x-gzip": gzip.compress(b"words", mtime=0),
        "deflate": zlib.compress(b"words"),
        "raw deflate": zlib.compress(b"words")[2:-4],
        "deflate, gzip": gzip.compress(zlib.compress(b"words"), mtime=0),
    }
    body, packing = bodies.get(packing, b"words"), packing.removeprefix("raw ")
    content = response(f"Content-Type: text/plain\r\nContent-Encoding: {packing}", body)
    (row,) = read(content, is_packed=False)
    if packing in ("zstd", "br"):
        assert str(row.values) == f"this response is packed as {packing!r}, which is not read"
    else:
        assert isinstance(row.values, dict)
        assert row.values["text"] == ".txt words"


@pytest.mark.parametrize(
    "head",
    [
        "Content-Type: text/html charset=utf-8",
        "Content-Type: text/html, text/html; charset=utf-8",
        "Content-Type: html",
        "Content-Type:",
        "Server: none",
    ],
)
def test_a_page_with_a_wrong_media_type(head: str) -> None:
    """
    A page whose media type is missing or badly written is read as HTML if it begins like HTML; other content is not.
    """
    (row,) = read(response(head, b"\n<!DOCTYPE html><p>words"), is_packed=False)
    assert isinstance(row.values, dict)
    assert (row.values["content_type"], row.values["text"]) == ("text/html", ".html \n<!DOCTYPE html><p>words")
    assert not read(response("Server: none", b"\x89PNG <html>"), is_packed=False)


def test_status_of_responses() -> None:
    """
    A response has its HTTP status; other records have none.
    """
    moved = response("Content-Type: text/html", b"<p>moved").replace(b"200 OK", b"301 No")
    rows = read(moved + record("resource", "text/html", b"<p>page"), is_packed=False)
    assert [row.values["status"] for row in rows if isinstance(row.values, dict)] == [301, None]


def test_answers_of_name_servers_are_no_pages() -> None:
    """
    Answers of name servers, which Heritrix archives, are no documents, and no errors.
    """
    assert (
        read(record("response", "text/dns", b"20200501000000\nexample.org. 60 IN A 192.0.2.1"), is_packed=False) == []
    )


@pytest.mark.parametrize("packing", ["gzip", "deflate"])
def test_a_page_with_a_wrong_compression(packing: str) -> None:
    """
    A page that a crawler has decompressed is read, although its header still names an encoding; a damaged compressed
    page is an error.
    """
    (row,) = read(response(f"Content-Type: text/plain\r\nContent-Encoding: {packing}", b"words"), is_packed=False)
    assert isinstance(row.values, dict)
    assert row.values["text"] == ".txt words"
    damaged = bytearray(gzip.compress(bytes(range(256)) * 400, mtime=0))
    damaged[200:220] = b"\xff" * 20
    (row,) = read(response("Content-Type: text/plain\r\nContent-Encoding: gzip", bytes(damaged)), is_packed=False)
    assert str(row.values) == "this response cannot be unpacked: it is damaged"


@pytest.mark.parametrize(
    ("charset", "body"),
    [
        ("windows-1252", "Größe, così perché".encode("cp1252")),
        ("ISO-8859-1", "Größe, così perché".encode("cp1252")),
        ('"utf-8"', "Größe, così perché".encode()),
        ("iso-8859-1", "Größe, così perché".encode()),
    ],
)
def test_charsets_of_responses(charset: str, body: bytes) -> None:
    """
    A page is read in the charset of its response, unless it is in UTF-8.
    """
    (row,) = read(response(f"Content-Type: text/html; charset={charset}", body), is_packed=False)
    assert isinstance(row.values, dict)
    assert row.values["text"] == ".html Größe, così perché"


@pytest.mark.parametrize(
    ("head", "body", "problem"),
    [
        ("Content-Encoding: gzip", gzip.compress(bytes(range(256)) * 40)[:-20], "its compressed page has no end"),
        ("Transfer-Encoding: chunked", b"5\r\n<p>ch\r\n99\r\nunk", "its last chunk is missing or incomplete"),
        ("Transfer-Encoding: chunked", b"5\r\n<p>ch\r\n", "its last chunk is missing or incomplete"),
    ],
    ids=["gzip", "within a chunk", "between chunks"],
)
def test_a_page_that_is_cut(head: str, body: bytes, problem: str) -> None:
    """
    A page that ends too early is an error of its row: half a page would be another document.
    """
    (row,) = read(response(f"Content-Type: text/plain\r\n{head}", body), is_packed=False)
    assert str(row.values) == f"this response is cut: {problem}"


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("Content-Encoding: gzip", gzip.compress(b"two ") + gzip.compress(b"members")),
        ("Content-Encoding: gzip", gzip.compress(b"two members") + bytes(7)),
        ("Transfer-Encoding: chunked", b"two members"),
    ],
    ids=["members", "padding", "no chunks"],
)
def test_unusual_bodies(head: str, body: bytes) -> None:
    """
    All members of a gzip body are read; padding after them, and a wrong claim of chunks, are ignored.
    """
    (row,) = read(response(f"Content-Type: text/plain\r\n{head}", body), is_packed=False)
    assert isinstance(row.values, dict)
    assert row.values["text"] == ".txt two members"


def test_many_members_are_read_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    An unpacker copies what follows its member, so it gets only a few bytes at once.
    """
    pieces = list[int]()

    class Unpacker:
        def __init__(self, window: int) -> None:
            self._own = zlib.decompressobj(window)

        def decompress(self, piece: bytes, most: int) -> bytes:
            pieces.append(len(piece))
            return self._own.decompress(piece, most)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._own, name)

    monkeypatch.setattr(warc, "zlib", SimpleNamespace(decompressobj=Unpacker, error=zlib.error))
    body = gzip.compress(b"first ") + gzip.compress(b"") * 5_000 + gzip.compress(b"last")
    (row,) = read(response("Content-Type: text/plain\r\nContent-Encoding: gzip", body), is_packed=False)
    assert not isinstance(row.values, DocumentError)
    assert row.values["text"] == ".txt first last"
    assert max(pieces) < len(body) // 10
