"""Format detection of single documents, by their first bytes or their file names."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from pathlib import PurePath

from whorl.errors import DocumentError


@dataclass(frozen=True, slots=True)
class Format:
    """A format that needs text extraction.

    Args:
        name: Name of the format for messages.
        suffixes: Suffixes of file names, in lower case.
        library: Module that reads it, installed by an extra; "" if the standard installation suffices.
        member: Member of the ZIP archive that identifies the format; "" if it is not a ZIP archive.
    """

    name: str
    suffixes: frozenset[str]
    library: str = ""
    member: str = ""

    @property
    def is_readable(self) -> bool:
        """Whether its library is installed."""
        return not self.library or importlib.util.find_spec(self.library) is not None


PDF = Format("PDF", frozenset({".pdf"}), "pypdfium2")
DOCX = Format("DOCX", frozenset({".docx", ".docm", ".dotx", ".dotm"}), "docx", "word/document.xml")
PPTX = Format("PPTX", frozenset({".pptx", ".pptm"}), "pptx", "ppt/presentation.xml")
XLSX = Format("XLSX", frozenset({".xlsx", ".xlsm", ".xltx", ".xltm"}), "openpyxl", "xl/workbook.xml")
HTML = Format("HTML", frozenset({".html", ".htm", ".xhtml"}))
MAIL = Format("e-mail", frozenset({".eml"}))
#: All formats; the worker gets their names.
FORMATS = (PDF, DOCX, PPTX, XLSX, HTML, MAIL)

_PDF = re.compile(rb"%PDF-[0-9]\.[0-9]")
_ZIP = b"PK\x03\x04"
#: Microsoft's older container format: Office until 2003, Outlook messages, and encrypted files of newer Office.
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def format_of(raw: bytes, file: PurePath) -> Format | None:
    """Return the format of a file; None for plain text.

    Args:
        raw: Content of the file.
        file: Name of the file, used if the content is ambiguous.

    Raises:
        DocumentError: The format is known but not supported.
    """
    by_name = next((each for each in FORMATS if file.suffix.lower() in each.suffixes), None)
    if raw.startswith(_OLE):
        raise DocumentError(_older(file, by_name))
    if _PDF.match(raw):
        return PDF
    if raw.startswith(_ZIP):
        # Names in an archive are not compressed, so searching them does not require a valid index.
        held = next((each for each in FORMATS if each.member and each.member.encode() in raw), by_name)
        if held is None:
            raise DocumentError("this is an archive (ZIP), or of a format that is one and is not read")
        return held
    return by_name


def _older(file: PurePath, by_name: Format | None) -> str:
    if by_name is not None and by_name.member:
        return f"this {by_name.name} is encrypted with a password, or in the format of Office before 2007"
    if file.suffix.lower() == ".msg":
        return "Outlook's .msg is not read; save it as .eml"
    return "the formats of Office before 2007 are not read; save it as DOCX, PPTX, XLSX or PDF"
