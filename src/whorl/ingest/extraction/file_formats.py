"""Detects the format of a file that is one document, such as PDF, DOCX or e-mail."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import NamedTuple

from whorl.errors import DocumentError


class FileFormat(NamedTuple):
    """File format that needs text extraction.

    Args:
        suffixes: Suffixes of file names, in lower case.
        library: Module that reads the format, installed by an extra; "" if no module is needed.
        member: File in the ZIP archive that identifies the format; "" if the format is not a ZIP archive.
    """

    name: str
    suffixes: frozenset[str]
    library: str = ""
    member: str = ""


PDF = FileFormat("PDF", frozenset({".pdf"}), "pypdfium2")
DOCX = FileFormat("DOCX", frozenset({".docx", ".docm", ".dotx", ".dotm"}), "docx", "word/document.xml")
#: A DOCX whose text gets the marks of Markdown for block quotes and notes; no file has this format by itself.
MARKED_DOCX = DOCX._replace(name="DOCX with marks")
PPTX = FileFormat(
    "PPTX", frozenset({".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm"}), "pptx", "ppt/presentation.xml"
)
XLSX = FileFormat("XLSX", frozenset({".xlsx", ".xlsm", ".xltx", ".xltm"}), "openpyxl", "xl/workbook.xml")
#: hOCR, the text of a digitised page, is HTML.
HTML = FileFormat("HTML", frozenset({".html", ".htm", ".xhtml", ".hocr"}))
#: Other XML is plain text, because tags and attributes can be its content.
TEI = FileFormat("TEI", frozenset({".xml", ".tei"}))
#: Text of a digitised page, with the place of each word.
ALTO = FileFormat("ALTO", frozenset())
#: A web page that a browser saves in one file (`.mht`) is an e-mail with the page as its text.
MAIL = FileFormat("e-mail", frozenset({".eml", ".mbox", ".mht", ".mhtml"}))
NOTEBOOK = FileFormat("notebook", frozenset({".ipynb"}))
OPEN_DOCUMENT = FileFormat("OpenDocument", frozenset({".odt", ".ott", ".odp", ".otp", ".ods", ".ots"}))
FORMATS = (PDF, DOCX, PPTX, XLSX, HTML, TEI, ALTO, MAIL, NOTEBOOK, OPEN_DOCUMENT)

#: Beginning of an HTML page.
_HTML_START = re.compile(
    rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?<(!doctype\s+html|html|head|body|title|meta|script)\b", re.IGNORECASE
)
#: First line of each message in a mailbox, with the day and the time of its arrival. Without a day, it could also be a
#: line of a message that begins with the word "From".
MESSAGE_START = re.compile(
    rb"^From .*\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +(?:[A-Z][a-z]{2} +\d+|\d+ +[A-Z][a-z]{2}(?: +\d+)?) +\d+:\d\d.*\n?",
    re.MULTILINE,
)
#: Headers at the beginning of an e-mail or a mailbox.
_HEADERS = re.compile(rb"(?:\xef\xbb\xbf)?(?:From .*\n)?(?:[!-9;-~]++:.*\n(?:[ \t].*\n)*+)*+")
#: A header of e-mails that other texts with headers lack, such as logs and letters with a line `Received: 12 May`.
_MAIL_HEADER = re.compile(
    rb"^(?:received:\s*(?:from\b|by\b|\()|message-id:\s*<|mime-version:\s*1)", re.IGNORECASE | re.MULTILINE
)
_MOST_HEADERS = 20_000
#: Matches the start tag of a TEI document's root. Processing instructions and a document type may precede it.
_TEI_ROOT = re.compile(rb"<(\w+:)?(TEI|TEI\.2|teiCorpus)[\s>]")
#: Matches the beginning of a document whose first element is ALTO's root; elsewhere, `alto` can be a voice in music.
_ALTO_START = re.compile(rb"(?:[^<]|<!--(?s:.*?)-->|<[?!])*+<(?:\w+:)?alto[\s>]")
_XML_PROLOG = 10_000
_PDF = re.compile(rb"%PDF-[0-9]\.[0-9]")
_ZIP, _RTF = b"PK\x03\x04", b"{\\rtf"
#: The start of an EPUB or OpenDocument archive: its first file is called `mimetype`, and contains the type.
_EPUB, _OPEN_DOCUMENT = b"mimetypeapplication/epub", b"mimetypeapplication/vnd.oasis.opendocument"
_ZIP_HEADER = 200
#: First bytes of Microsoft's older container format: Office until 2003, Outlook messages, encrypted newer Office files.
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def format_of(raw: bytes, file: PurePath) -> FileFormat | None:
    """Return the format of a file, or None for plain text; raise DocumentError for a known, unsupported format.

    If the content is ambiguous, the file name decides.
    """
    by_name = next((form for form in FORMATS if file.suffix.lower() in form.suffixes), None)
    if raw.startswith(_OLE):
        raise DocumentError(_old_format_reason(file, by_name))
    if raw.startswith(_RTF):
        raise DocumentError("RTF is not read; save it as DOCX, PDF or text")
    if _PDF.match(raw):
        return PDF
    if raw.startswith(_ZIP):
        # An archive stores file names uncompressed, so they are found even without a valid index.
        if _OPEN_DOCUMENT in raw[:_ZIP_HEADER]:
            return OPEN_DOCUMENT
        if held := next((form for form in FORMATS if form.member and form.member.encode() in raw), by_name):
            return held
        if _EPUB in raw[:_ZIP_HEADER]:
            raise DocumentError("EPUB is not read; save it as DOCX, PDF or text")
        raise DocumentError(
            "this is an archive (ZIP), or of a format that is one; unpack it, or save it as DOCX, PDF or text"
        )
    if by_name is TEI:
        if _ALTO_START.match(raw, 0, _XML_PROLOG):
            return ALTO
        return TEI if _TEI_ROOT.search(raw, 0, _XML_PROLOG) else None
    # A page saved by wget has the name of its address, such as `index.html?page=2` or `news`, so look at its content.
    if by_name is None and (not file.suffix or "?" in file.name) and begins_like_html(raw):
        return HTML
    # The mails of a Maildir have names such as `1609750000.M1P2.host:2,S`, and mailboxes names such as `Inbox`.
    if by_name is None and (not file.suffix or file.name.partition(".")[0].isdigit()) and _begins_like_mail(raw):
        return MAIL
    return by_name


def begins_like_html(raw: bytes) -> bool:
    return _HTML_START.match(raw) is not None


def _begins_like_mail(raw: bytes) -> bool:
    headers = _HEADERS.match(raw, 0, _MOST_HEADERS)
    return headers is not None and _MAIL_HEADER.search(headers[0]) is not None


def _old_format_reason(file: PurePath, by_name: FileFormat | None) -> str:
    if by_name is not None and by_name.member:
        return f"this {by_name.name} is encrypted with a password, or in the format of Office before 2007"
    if file.suffix.lower() == ".msg":
        return "Outlook's .msg is not read; save it as .eml"
    return "the formats of Office before 2007 are not read; save it as DOCX, PPTX, XLSX or PDF"
