"""Web archives: which records are documents, what their text is, and what is written anew."""

from __future__ import annotations

import gzip
import io
from collections.abc import Sequence
from pathlib import PurePath

import pytest
from warcio.archiveiterator import ArchiveIterator

from whorl.errors import DocumentError
from whorl.ingest.rows.columns import Columns, UnreadRowsError
from whorl.ingest.rows.row import Row
from whorl.ingest.rows.warc import Warc


def record(kind: str, content_type: str, content: bytes) -> bytes:
    """Return a record as programs write it."""
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
    """Return an archive of five records, of which three are documents."""
    return b"".join(gzip.compress(each) if is_packed else each for each in RECORDS)


def text_of(raw: bytes, file: PurePath) -> str:
    return f"{file.suffix} {raw.decode()}"


def read(content: bytes, *, is_packed: bool) -> list[Row]:
    return list(Warc(text_of, is_packed=is_packed).rows(io.BytesIO(content), Columns()))


@pytest.mark.parametrize("is_packed", [False, True])
def test_pages_are_documents(is_packed: bool) -> None:
    """
    Unpacked and put together as HTTP sent them; pictures, and what is said of the archive, are none.
    """
    rows = read(archive(is_packed=is_packed), is_packed=is_packed)
    values = [row.values for row in rows if not isinstance(row.values, DocumentError)]
    assert [row.place for row in rows] == ["record 2", "record 3", "record 5"]
    assert [each["text"] for each in values] == [
        ".html <p>one two three four five</p>",
        ".html <b>packed</b>",
        ".txt Text, überall",
    ]
    assert [each["content_type"] for each in values] == ["text/html", "text/html", "text/plain"]
    assert values[2]["id"] == "<urn:uuid:conversion-14>"
    assert values[2]["name"] == values[2]["url"] == "http://example.org/conversion"
    assert values[2]["date"] == "2020-05-01T00:00:00Z"


@pytest.mark.parametrize("is_packed", [False, True])
def test_records_that_stay_are_what_they_were(is_packed: bool) -> None:
    """
    Byte for byte, with what is no document; its digests still hold.
    """
    content, out = archive(is_packed=is_packed), io.BytesIO()

    def decide(rows: Sequence[Row]) -> list[dict[str, object] | None]:
        return [None if row.number == 3 else {} for row in rows]

    Warc(text_of, is_packed=is_packed).rewrite(io.BytesIO(content), out, Columns(), decide, {})
    written = out.getvalue()
    if is_packed:
        # A record each, as whoever looks for one by its place expects.
        with io.BytesIO(written) as again:
            assert len(list(ArchiveIterator(again))) == 4
        assert written.count(gzip.compress(b"", mtime=0)[:4]) >= 4
        written = gzip.decompress(written)
    assert written == b"".join(RECORDS[:2] + RECORDS[3:])
    with pytest.raises(DocumentError, match="no columns"):
        Warc(text_of, is_packed=False).rewrite(io.BytesIO(content), out, Columns(), decide, {"cluster": str})


def test_what_cannot_be_read() -> None:
    """
    A page without a text costs itself; an archive that is cut or broken is told.
    """

    def refuse(raw: bytes, file: PurePath) -> str:
        raise DocumentError("no text")

    rows = list(Warc(refuse, is_packed=False).rows(io.BytesIO(archive(is_packed=False)), Columns()))
    assert [str(row.values) for row in rows] == ["no text"] * 3
    with pytest.raises(UnreadRowsError, match="this web archive"):
        read(RECORDS[0] + b"garbage\r\n" * 9, is_packed=False)
    with pytest.raises(UnreadRowsError, match="this web archive"):
        read(archive(is_packed=True)[:-40], is_packed=True)


@pytest.mark.parametrize("packing", ["identity", "zstd", "gzip"])
def test_how_a_page_is_packed(packing: str) -> None:
    """
    What is not packed at all says so now and then; a way that is not read costs the page.
    """
    body = gzip.compress(b"words", mtime=0) if packing == "gzip" else b"words"
    content = response(f"Content-Type: text/plain\r\nContent-Encoding: {packing}", body)
    (row,) = read(content, is_packed=False)
    if packing == "zstd":
        assert str(row.values) == "this response is packed as 'zstd', which is not read"
    else:
        assert isinstance(row.values, dict)
        assert row.values["text"] == ".txt words"
