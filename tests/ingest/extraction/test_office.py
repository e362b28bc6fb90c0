"""Text of DOCX, PPTX and XLSX as a reader sees it."""

from __future__ import annotations

import re

import pytest

from tests.made_files import sheet, with_addition, with_member, word
from whorl.errors import DocumentError
from whorl.ingest.extraction import office
from whorl.ingest.extraction.formats import DOCX, XLSX, Format
from whorl.ingest.extraction.text_buffer import TextBuffer


def words(form: Format, raw: bytes) -> list[str]:
    text = TextBuffer(1_000_000)
    office.read(raw, form.name, 50_000_000, text)
    return str(text).split()


def test_changes_that_were_tracked() -> None:
    """
    Tracked insertions count, deleted and moved text does not; a tab and a line break separate words.
    """
    body = (
        b"<w:p><w:r><w:t>kept</w:t><w:tab/></w:r><w:ins><w:r><w:t>inserted</w:t><w:br/></w:r></w:ins>"
        b"<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del>"
        b"<w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom><w:r><w:t>non</w:t><w:noBreakHyphen/><w:t>stop</w:t></w:r></w:p>"
    )
    made = with_member(
        word("before", "after"), "word/document.xml", lambda old: old.replace(b"<w:tbl>", body + b"<w:tbl>")
    )
    assert words(DOCX, made) == ["before", "kept", "inserted", "non-stop", "after"]


def test_boxes_controls_and_notes() -> None:
    """
    Text boxes count once, at their anchor, although Word writes them twice; form controls count; footnotes precede
    endnotes.
    """
    body = (
        b"<w:sdt><w:sdtContent><w:p><w:r><w:t>control</w:t></w:r></w:p></w:sdtContent></w:sdt>"
        b'<w:p><w:r><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        b"<mc:Choice><w:p><w:r><w:t>box</w:t></w:r></w:p></mc:Choice>"
        b"<mc:Fallback><w:p><w:r><w:t>box</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent></w:r></w:p>"
    )
    made = with_member(
        word("before", "after"), "word/document.xml", lambda old: old.replace(b"<w:tbl>", body + b"<w:tbl>")
    )
    for kind in ("endnotes", "footnotes", "footer", "header"):
        note = f'<w:{kind} xmlns:w="urn:w"><w:p><w:t>{kind}</w:t></w:p></w:{kind}>'
        made = with_part(made, kind, f"{kind}.xml", note.encode())
    told = ["before", "control", "box", "after", "header", "footer", "footnotes", "endnotes"]
    assert words(DOCX, made) == told


def with_part(raw: bytes, kind: str, name: str, content: bytes) -> bytes:
    """Return a DOCX with an additional part and a relation to it."""
    relation = (
        f'<Relationship Id="{kind}{len(content)}" Target="{name}" '
        f'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}"/></Relationships>'
    ).encode()
    made = with_member(raw, "word/_rels/document.xml.rels", lambda old: old.replace(b"</Relationships>", relation))
    return with_addition(made, f"word/{name}", content)


def test_files_within() -> None:
    """
    Embedded files follow the text, in the order of their relations, recursively and up to a limit.
    """
    types = b'<Default Extension="docx" ContentType="application/x"/>'
    made = word("innermost", "")
    for name in ("third", "second", "first"):
        outer = with_member(
            word(name, ""), "[Content_Types].xml", lambda old: old.replace(b"</Types>", types + b"</Types>")
        )
        made = with_part(outer, "package", "embeddings/inner.docx", made)
    assert words(DOCX, made) == ["first", "second", "third"]
    with pytest.raises(DocumentError, match="unpacked"):
        office.read(made, DOCX.name, len(made) + 1000, TextBuffer(1_000_000))


def test_cells() -> None:
    """
    Numbers and dates have their written form; empty cells, and a wrong size of the sheet, cost no time.
    """
    made = sheet(["a", None, 1, 2.5], [], [True])
    made = with_member(
        made, "xl/worksheets/sheet1.xml", lambda old: re.sub(rb'ref="[^"]*"', b'ref="A1:XFD1048576"', old)
    )
    assert words(XLSX, made) == ["Sheet", "a", "1", "2.5", "True"]
