"""Reads the messages of a mailbox as rows, and writes copies with some of them."""

from __future__ import annotations

from collections.abc import Iterator
from email.message import EmailMessage
from email.parser import BytesHeaderParser
from email.policy import default
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import PurePath
from typing import IO

from whorl.errors import DocumentError
from whorl.ingest.extraction import PartialTextError
from whorl.ingest.extraction.extract_text import parse_header
from whorl.ingest.extraction.file_formats import MESSAGE_START
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

#: Maximum number of bytes at the beginning of a message to search for its headers.
_MOST_HEADERS = 64_000
#: Reads each header as a text like the subject, because reading lists of addresses takes long.
_HEADERS_AS_TEXTS = default.clone(header_factory=lambda name, value: parse_header("Subject", value))


class MailboxFormat(RowFormat):
    """Mailboxes; each message is a document, with the subject as its name and common headers as fields."""

    takes_columns = False

    def __init__(self, extract: Extract) -> None:
        self._extract = extract

    def rows(self, opened: IO[bytes], columns: RowColumns, span: FileSpan | None = None) -> Iterator[Row]:
        for number, raw in enumerate(_messages(opened), start=1):
            yield self._row(number, raw)

    def rewrite(self, opened: IO[bytes], out: IO[bytes], columns: RowColumns, decide: Decide, added: Added) -> None:
        if added:
            raise DocumentError("a mailbox has no columns that could be added")
        for messages in portions(enumerate(_messages(opened), start=1), lambda message: len(message[1])):
            decisions = decide([self._row(*message) for message in messages])
            out.writelines(raw for (_, raw), kept in zip(messages, decisions, strict=True) if kept is not None)

    def _row(self, number: int, raw: bytes) -> Row:
        problem = ""
        try:
            text = self._extract(raw, PurePath("message.eml"))
        except PartialTextError as error:
            text, problem = error.text, str(error)
        except DocumentError as error:
            return Row(number, "message", error)
        headers = BytesHeaderParser(policy=_HEADERS_AS_TEXTS).parsebytes(raw[:_MOST_HEADERS])
        values = {
            "text": text, "name": _header(headers, "Subject"), "date": _date(headers), "from": _header(headers, "From"),
            "to": _header(headers, "To"), "message_id": _header(headers, "Message-ID"),
        }  # fmt: skip
        return Row(number, "message", values, len(raw) + len(text), problem)


def _messages(opened: IO[bytes]) -> Iterator[bytes]:
    """Yield each message, with the line that begins it."""
    lines: list[bytes] = []
    size = 0
    for line in iter(partial(opened.readline, MOST_BYTES + 1), b""):
        if lines and MESSAGE_START.match(line):
            yield b"".join(lines)
            lines, size = [], 0
        lines.append(line)
        size += len(line)
        if size > MOST_BYTES:
            raise UnreadRowsError(f"a message has more than {MOST_BYTES:,} bytes")
    yield b"".join(lines)


def _header(headers: EmailMessage, name: str) -> str | None:
    value = headers[name]
    return None if value is None else " ".join(str(value).split())


def _date(headers: EmailMessage) -> str | None:
    try:
        return parsedate_to_datetime(str(headers["Date"])).isoformat()
    except (ValueError, OverflowError):
        return None
