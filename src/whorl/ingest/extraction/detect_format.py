"""Detects the format of a file that is one document, and decodes text files in any encoding."""

from __future__ import annotations

import codecs
import importlib.util
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

    @property
    def is_readable(self) -> bool:
        """Whether the library for the format is installed."""
        return not self.library or importlib.util.find_spec(self.library) is not None


PDF = FileFormat("PDF", frozenset({".pdf"}), "pypdfium2")
DOCX = FileFormat("DOCX", frozenset({".docx", ".docm", ".dotx", ".dotm"}), "docx", "word/document.xml")
PPTX = FileFormat("PPTX", frozenset({".pptx", ".pptm"}), "pptx", "ppt/presentation.xml")
XLSX = FileFormat("XLSX", frozenset({".xlsx", ".xlsm", ".xltx", ".xltm"}), "openpyxl", "xl/workbook.xml")
HTML = FileFormat("HTML", frozenset({".html", ".htm", ".xhtml"}))
MAIL = FileFormat("e-mail", frozenset({".eml"}))
#: All formats. Requests to the worker contain their names.
FORMATS = (PDF, DOCX, PPTX, XLSX, HTML, MAIL)

_PDF = re.compile(rb"%PDF-[0-9]\.[0-9]")
_ZIP = b"PK\x03\x04"
#: First bytes of Microsoft's older container format: Office until 2003, Outlook messages, and encrypted newer Office
#: files.
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def format_of(raw: bytes, file: PurePath) -> FileFormat | None:
    """Return the format of a file, None for plain text. If the content is ambiguous, the file name decides.

    Raises:
        DocumentError: The format is known but not supported.
    """
    by_name = next((form for form in FORMATS if file.suffix.lower() in form.suffixes), None)
    if raw.startswith(_OLE):
        raise DocumentError(_old_format_reason(file, by_name))
    if _PDF.match(raw):
        return PDF
    if raw.startswith(_ZIP):
        # Names in an archive are not compressed, so this search works even if the archive has no valid index.
        held = next((form for form in FORMATS if form.member and form.member.encode() in raw), by_name)
        if held is None:
            raise DocumentError("this is an archive (ZIP), or of a format that is one and is not read")
        return held
    return by_name


def _old_format_reason(file: PurePath, by_name: FileFormat | None) -> str:
    if by_name is not None and by_name.member:
        return f"this {by_name.name} is encrypted with a password, or in the format of Office before 2007"
    if file.suffix.lower() == ".msg":
        return "Outlook's .msg is not read; save it as .eml"
    return "the formats of Office before 2007 are not read; save it as DOCX, PPTX, XLSX or PDF"


#: Byte order marks. UTF-32 comes first, because its marks begin with the marks of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)


def decode(raw: bytes) -> str:
    """Decode the bytes of a text; raise DocumentError unless they are a text in a known encoding."""
    broken = 0
    if encoding := announced(raw):
        text = raw.decode(encoding, errors="replace")
        broken = 0 if encoding == "utf-8-sig" else text.count("\N{REPLACEMENT CHARACTER}")
    else:
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            if error.reason == "unexpected end of data":
                # Only the last character is broken, so the file was truncated.
                return raw.decode("utf-8", errors="replace")
            # Few texts need this detection, so import it here.
            from charset_normalizer import from_bytes

            best = from_bytes(raw).best()
            if best is None or b"\0" in raw:
                raise DocumentError("this is not text in any recognisable encoding") from None
            return str(best)
    # If many characters are null or broken, this is a binary file that begins like a text.
    if text.count("\0") + broken > max(1, len(text) // 100):
        raise DocumentError("this is not text: it is full of NUL characters or of broken ones")
    return text


def announced(raw: bytes) -> str | None:
    """Return the encoding of a text's byte order mark, or None if it has no mark."""
    return next((encoding for mark, encoding in _MARKS if raw.startswith(mark)), None)
