"""Text of PDF files, read with PDFium."""

from __future__ import annotations

import re
from contextlib import closing

import pypdfium2
from pypdfium2 import raw as pdfium

from whorl.errors import DocumentError
from whorl.ingest.extraction.text_buffer import TextBuffer

#: PDFium's marker for a hyphen that splits a word at the end of a line; removing it restores the word.
_PARTED = re.compile("[\ufffe\x02](?:\r?\n)?")
_WHY = {
    pdfium.FPDF_ERR_PASSWORD: "this PDF is encrypted, and opens with a password only",
    pdfium.FPDF_ERR_SECURITY: "this PDF is encrypted in a way that is not known",
    pdfium.FPDF_ERR_FORMAT: "this PDF is damaged, or it is none",
}


def read(raw: bytes, text: TextBuffer) -> None:
    """Append the text of all pages, in drawing order.

    Raises:
        DocumentError: The file cannot be opened, a page cannot be read, or it has no text.
    """
    try:
        document = pypdfium2.PdfDocument(raw)
    except pypdfium2.PdfiumError as error:
        raise DocumentError(_WHY.get(error.err_code, f"this PDF cannot be read: {error}")) from None
    has_words = False
    with closing(document):
        for number in range(len(document)):
            try:
                with closing(document[number]) as page, closing(page.get_textpage()) as drawn:
                    told = _PARTED.sub("", drawn.get_text_range()).replace("\r\n", "\n")
            except pypdfium2.PdfiumError:
                raise DocumentError(f"page {number + 1:,} of this PDF is damaged") from None
            has_words = has_words or bool(told.strip())
            text.add(f"{told}\n")
    if not has_words:
        raise DocumentError("there is no text in this PDF; perhaps it was scanned, and text in pictures is not read")
