"""Sample files in PDF, Office and e-mail formats, written by the usual libraries."""

from __future__ import annotations

import io
import textwrap
import zipfile
import zlib
from email.message import EmailMessage
from typing import Any

import docx
import openpyxl
import pptx
from reportlab.pdfgen.canvas import Canvas

#: Sentences that no two paragraphs share, so that tests can check their order.
SENTENCES = [
    f"In chapter {name} the keeper of the harbour counts {name} boats before the tide of Größe turns again."
    for name in ("one", "two", "three", "four", "five", "six")
]


def pdf(*pages: str, password: str = "") -> bytes:
    """A PDF with a page for each text, in lines of at most 80 characters."""
    file = io.BytesIO()
    made = Canvas(file, encrypt=password or None)
    for text in pages:
        lines = made.beginText(40, 800)
        lines.textLines(textwrap.fill(text, 80, break_on_hyphens=False) if "\n" not in text else text)
        made.drawText(lines)
        made.showPage()
    made.save()
    return file.getvalue()


def pdf_of_stream(content: bytes) -> bytes:
    """A PDF with one page that draws `content`, written by hand, without a cross-reference table; readers rebuild the
    table.
    """
    packed = zlib.compress(content, level=1)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R "
        b"/Resources << /Font << /F 5 0 R >> >> >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    numbered = (b"%d 0 obj\n%s\nendobj\n" % numbered for numbered in enumerate(objects, start=1))
    return b"%PDF-1.4\n" + b"".join(numbered) + b"trailer\n<< /Root 1 0 R /Size 6 >>\n%%EOF\n"


def word(*paragraphs: str) -> bytes:
    """A DOCX with paragraphs, the last one in a table."""
    made = docx.Document()
    for text in paragraphs[:-1]:
        # Word splits a sentence into several runs.
        paragraph = made.add_paragraph(text[:7])
        paragraph.add_run(text[7:]).bold = True
    made.add_table(1, 1).rows[0].cells[0].text = paragraphs[-1]
    return saved(made)


def slides(*texts: str) -> bytes:
    """A PPTX with a slide for each text but the last; the last text is the note of the last slide."""
    made = pptx.Presentation()
    for text in texts[:-1]:
        slide = made.slides.add_slide(made.slide_layouts[5])
        slide.shapes.title.text = text
    slide.notes_slide.notes_text_frame.text = texts[-1]
    return saved(made)


def sheet(*rows: list[Any]) -> bytes:
    """An XLSX with one sheet."""
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(row)
    return saved(made)


def mail(subject: str, plain: str = "", html: str = "", attached: bytes = b"") -> bytes:
    """An e-mail with a plain text, an HTML text or both, and optionally an attachment."""
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "a@example.org", "b@example.org", subject
    if plain:
        made.set_content(plain)
    if html and plain:
        made.add_alternative(html, subtype="html")
    elif html:
        made.set_content(html, subtype="html")
    if attached:
        made.add_attachment(attached, maintype="application", subtype="pdf", filename="attached.pdf")
    return bytes(made)


def saved(made: Any) -> bytes:
    """The bytes of a document, saved by its library."""
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


def with_member(archive: bytes, name: str, change: Any) -> bytes:
    """The archive with one member's bytes changed."""
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.infolist():
            content = old.read(member)
            new.writestr(member.filename, change(content) if member.filename == name else content)
    return changed.getvalue()


def with_addition(archive: bytes, name: str, content: bytes) -> bytes:
    """The archive with one more member."""
    changed = io.BytesIO(archive)
    with zipfile.ZipFile(changed, "a") as opened:
        opened.writestr(name, content)
    return changed.getvalue()
