"""Text of DOCX, PPTX and XLSX files."""

from __future__ import annotations

import io
import zipfile
from typing import Any, BinaryIO

from lxml.etree import ErrorTypes, XMLSyntaxError, iterwalk

from whorl.errors import DocumentError
from whorl.ingest.extraction.formats import DOCX, PPTX, XLSX
from whorl.ingest.extraction.text_buffer import TextBuffer

#: Formats of embedded files, by suffix.
_FORMATS = {"docx": DOCX.name, "pptx": PPTX.name, "xlsx": XLSX.name}
#: Elements with invisible text: deleted or moved text, and fallbacks for drawings.
_UNSEEN = frozenset({"del", "moveFrom", "Fallback"})
#: Text for the end of an element, such as a line feed after a paragraph.
_ENDS = {"p": "\n", "br": "\n", "cr": "\n", "tab": "\t", "noBreakHyphen": "-"}
#: Parts of a document besides its main text, in reading order; identified by the ends of their relationship types.
_BESIDE = ("/header", "/footer", "/footnotes", "/endnotes")
_ATTACHED = "/package"
#: Maximum depth of embedded files; deeper ones are skipped.
_DEEPEST = 3


def read(raw: bytes, form: str, most_unpacked: int, text: TextBuffer) -> None:
    """Append the text of a DOCX, PPTX or XLSX.

    Args:
        raw: The file.
        form: Name of the format.
        most_unpacked: Maximum size of the unpacked archive in bytes, including embedded files.
        text: The text to append to.

    Raises:
        DocumentError: The file is not an archive, or unpacks to too much.
        MemoryError: The memory limit was exceeded.
    """
    try:
        _read(raw, form, most_unpacked, text, 1)
    except XMLSyntaxError as error:
        if error.code == ErrorTypes.ERR_NO_MEMORY:
            raise MemoryError from error
        raise


def _read(raw: bytes, form: str, most_unpacked: int, text: TextBuffer, depth: int) -> None:
    size = _unpacked(raw, most_unpacked)
    match form:
        case DOCX.name:
            left = most_unpacked - size
            for attached in _docx(io.BytesIO(raw), text):
                inner = _FORMATS.get(attached.partname.ext.lower())
                if inner is not None and depth < _DEEPEST:
                    _read(attached.blob, inner, left, text, depth + 1)
        case PPTX.name:
            _pptx(io.BytesIO(raw), text)
        case _:
            _xlsx(io.BytesIO(raw), text)


def _unpacked(raw: bytes, most: int) -> int:
    """Return the unpacked size declared by an archive, at most `most`; Python never unpacks more than declared."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            size = sum(each.file_size for each in archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise DocumentError("this file is damaged: it is no whole archive") from None
    if size > most:
        raise DocumentError(
            f"unpacked it would have {size:,} bytes, and the process that reads it may have {most:,} bytes of memory "
            "(setting file_memory_bytes)"
        )
    return size


def _docx(file: BinaryIO, text: TextBuffer) -> list[Any]:
    """Append paragraphs and tables in order, then headers, footers and notes; return the embedded files."""
    # docx.Document omits tracked insertions, content controls, text boxes and notes.
    from docx.opc.package import OpcPackage
    from docx.opc.part import XmlPart
    from docx.oxml.parser import parse_xml

    main = OpcPackage.open(file).main_document_part
    related = [each for each in main.rels.values() if not each.is_external]
    beside = [each.target_part for kind in _BESIDE for each in related if each.reltype.endswith(kind)]
    for part in dict.fromkeys((main, *beside)):
        _walk(part.element if isinstance(part, XmlPart) else parse_xml(part.blob), text)
    return [each.target_part for each in related if each.reltype.endswith(_ATTACHED)]


def _pptx(file: BinaryIO, text: TextBuffer) -> None:
    """Append the text of the slides in order, each with its notes."""
    from pptx import Presentation

    for slide in Presentation(file).slides:
        _walk(slide.element, text)
        if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None:
            text.add(f"{frame.text}\n")


def _xlsx(file: BinaryIO, text: TextBuffer) -> None:
    """Append the sheets, one line per row with tabs between cells; formulas by their saved values."""
    from openpyxl import load_workbook

    for sheet in load_workbook(file, read_only=True, data_only=True, keep_links=False).worksheets:
        text.add(f"{sheet.title}\n")
        # A sheet's declared dimensions may falsely claim 17 thousand million cells.
        sheet.reset_dimensions()
        for row in sheet.iter_rows(values_only=True):
            if cells := [str(value) for value in row if value is not None]:
                text.add("\t".join(cells) + "\n")


def _walk(root: Any, text: TextBuffer) -> None:
    """Append the visible text of a WordprocessingML or DrawingML tree; both use the same element names for text."""
    walker = iterwalk(root, events=("start", "end"))
    for event, element in walker:
        if not isinstance(element.tag, str):
            continue
        name = element.tag.rpartition("}")[2]
        if event == "start":
            if name in _UNSEEN:
                walker.skip_subtree()
            elif name == "t" and element.text:
                text.add(element.text)
        elif end := _ENDS.get(name):
            text.add(end)
