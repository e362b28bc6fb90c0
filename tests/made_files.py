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
from docx.oxml.ns import nsdecls, qn
from docx.oxml.parser import parse_xml
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


def quoting_word(block: str, quote: str, style: str = "Quote") -> bytes:
    """A DOCX with a block quote, whose style has a German id, and a quotation; footnotes name a.txt and b.txt."""
    made = docx.Document()
    made.styles["Quote"].element.set(qn("w:styleId"), "Zitat")
    made.styles["Quote"].name = style
    made.add_paragraph(block, style=style)
    made.add_paragraph(f"They said “{quote}”")
    for number, paragraph in enumerate(made.paragraphs, 1):
        paragraph.add_run()._r.append(parse_xml(f'<w:footnoteReference {nsdecls("w")} w:id="{number}"/>'))
    made.paragraphs[-1].add_run(" and left.")
    notes = "".join(
        f'<w:footnote w:id="{number}"><w:p><w:r><w:footnoteRef/></w:r><w:r><w:t> {name}</w:t></w:r></w:p></w:footnote>'
        for number, name in enumerate(("a.txt", "b.txt"), 1)
    )
    separator = '<w:footnote w:type="separator" w:id="0"><w:p/></w:footnote>'
    root = f"<w:footnotes {nsdecls('w')}>{separator}{notes}</w:footnotes>"
    return with_part(saved(made), "footnotes", "footnotes.xml", root.encode())


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


def open_document(body: str, manifest: str = "") -> bytes:
    """An OpenDocument text with the XML of a body."""
    spaces = {"office": "office", "text": "text", "svg": "svg-compatible"}.items()
    names = "".join(f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{space}:1.0"' for name, space in spaces)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", f"<office:document-content{names}>{body}</office:document-content>")
        archive.writestr("META-INF/manifest.xml", f"<manifest>{manifest}</manifest>")
    return made.getvalue()


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


def with_part(raw: bytes, kind: str, name: str, content: bytes) -> bytes:
    """Return a DOCX with an additional part and a relation to it."""
    relation = (
        f'<Relationship Id="{kind}{len(content)}" Target="{name}" '
        f'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}"/></Relationships>'
    ).encode()
    made = with_member(raw, "word/_rels/document.xml.rels", lambda old: old.replace(b"</Relationships>", relation))
    return with_addition(made, f"word/{name}", content)
