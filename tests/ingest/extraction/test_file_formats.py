"""Recognition of file formats, by the first bytes or else by the name."""

from __future__ import annotations

import io
import zipfile
from pathlib import PurePath

import pytest

from whorl.errors import DocumentError
from whorl.ingest.extraction.file_formats import (
    ALTO,
    DOCX,
    HTML,
    MAIL,
    NOTEBOOK,
    OPEN_DOCUMENT,
    PDF,
    PPTX,
    TEI,
    XLSX,
    FileFormat,
    format_of,
)


def archive(kind: str) -> bytes:
    """Return a ZIP archive like those of OpenDocument and EPUB, whose first file names the type."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as made:
        made.writestr("mimetype", kind)
        made.writestr("content.xml", "<p>text</p>")
    return packed.getvalue()


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@pytest.mark.parametrize(
    ("raw", "name", "form"),
    [
        (b"%PDF-1.7 ...", "a", PDF),
        (b"%PDF-1.7 ...", "a.txt", PDF),
        (b"%PDF is how such a file begins", "a.txt", None),
        (b"%PDF is how such a file begins", "a.pdf", PDF),
        (b"PK\x03\x04...word/document.xml...", "a.zip", DOCX),
        (b"PK\x03\x04...ppt/presentation.xml...", "a.docx", PPTX),
        (b"PK\x03\x04...nothing known...", "A.XLSM", XLSX),
        (b"<p>page", "a.HTM", HTML),
        (b"<p>page", "a.txt", None),
        (b"\xef\xbb\xbf\n<!doctype HTML><p>page", "news", HTML),
        (b'<?xml version="1.0"?>\n<html lang="en"><p>page', "-", HTML),
        (b"<!DOCTYPE html><p>page", "index.html?v=1.2", HTML),
        (b"<!DOCTYPE html><p>page", "a.txt", None),
        (b"<htmlish> words", "news", None),
        (b"words in <html>", "news", None),
        (b'<?xml version="1.0"?><?xml-model href="a.rng"?><TEI xmlns="http://www.tei-c.org/ns/1.0">', "a.XML", TEI),
        (b"<!DOCTYPE TEI.2>\n<TEI.2>", "a.xml", TEI),
        (b"<tei:teiCorpus>", "a.tei", TEI),
        (b"<TEIform>", "a.xml", None),
        (b'<?xml version="1.0"?><alto xmlns="http://www.loc.gov/standards/alto/ns-v4#">', "a.xml", ALTO),
        (b'<!DOCTYPE alto><!-- of <b> --><a:alto xmlns:a="urn:a">', "a.xml", ALTO),
        (b"<choir><alto>Ave Maria</alto></choir>", "a.xml", None),
        (b"<html>", "a.hocr", HTML),
        (b"<TEI>", "a.txt", None),
        (b"Subject: mail", "a.eml", MAIL),
        (b"Subject: page", "a.mhtml", MAIL),
        (b"From - Mon Nov 30 10:00:00 2026\nSubject: mail", "a.mbox", MAIL),
        (b"From - Mon Nov 30 10:00:00 2026\r\nX-Status: 1\r\nReceived: from a\r\n\tby b\r\n\r\nmail", "Inbox", MAIL),
        (b"Return-Path: <a@b.org>\nMessage-ID: <1@b.org>\n\nmail", "1609750000.M1P2.host:2,S", MAIL),
        (b"Subject: a mail\nMIME-Version: 1.0\n\nmail", "17.", MAIL),
        (b"Subject: a mail\nMIME-Version: 1.0\n\nmail", "a.txt", None),
        (b"From: Ann\nTo: Bob\n\nMessage-ID: is a header of mails", "letter", None),
        (b"From: Darwin\nReceived: 12 May 1860\n\nDear Hooker", "0001.txt", None),
        (b"received: 5 packets\nlost: 3\n", "log", None),
        (b"Received: (qmail 5)\nSubject: a\n\nmail", "Inbox", MAIL),
        (b"Message-ID is a header of mails\nReceived: is another", "notes", None),
        (b'{"cells": []}', "a.ipynb", NOTEBOOK),
        (archive("application/vnd.oasis.opendocument.text"), "a", OPEN_DOCUMENT),
        (archive("application/vnd.oasis.opendocument.presentation") + b"word/document.xml", "a.docx", OPEN_DOCUMENT),
        (b"", "a.docx", DOCX),
    ],
)
def test_bytes_count_before_names(raw: bytes, name: str, form: FileFormat | None) -> None:
    """
    The content takes precedence over the name; a file is plain text if neither shows a format.
    """
    assert format_of(raw, PurePath(name)) is form


@pytest.mark.parametrize(
    ("raw", "name", "reason"),
    [
        (OLE, "a.doc", "the formats of Office before 2007 are not read; save it as DOCX, PPTX, XLSX or PDF"),
        (OLE, "a.docx", "this DOCX is encrypted with a password, or in the format of Office before 2007"),
        (OLE, "a.msg", "Outlook's .msg is not read; save it as .eml"),
        (b"{\\rtf1\\ansi Hello}", "a.rtf", "RTF is not read; save it as DOCX, PDF or text"),
        (b"{\\rtf1\\ansi Hello}", "a.doc", "RTF is not read; save it as DOCX, PDF or text"),
        (archive("application/epub+zip"), "a.epub", "EPUB is not read; save it as DOCX, PDF or text"),
        (
            b"PK\x03\x04",
            "a.zip",
            "this is an archive (ZIP), or of a format that is one; unpack it, or save it as DOCX, PDF or text",
        ),
    ],
)
def test_formats_that_are_known_and_not_read(raw: bytes, name: str, reason: str) -> None:
    """
    The error names a format that can be read.
    """
    with pytest.raises(DocumentError) as caught:
        format_of(raw, PurePath(name))
    assert str(caught.value) == reason
