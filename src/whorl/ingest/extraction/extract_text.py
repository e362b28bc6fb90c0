"""Extracts text from files in all `FORMATS`; runs only in the worker process.

Each library is imported where it is used, so that no format loads the libraries of others.
"""

from __future__ import annotations

import html
import io
import re
import warnings
import zipfile
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from whorl.errors import DocumentError
from whorl.ingest.extraction.detect_encoding import decode
from whorl.ingest.extraction.file_formats import (
    ALTO,
    DOCX,
    HTML,
    MAIL,
    MARKED_DOCX,
    MESSAGE_START,
    NOTEBOOK,
    OPEN_DOCUMENT,
    PDF,
    PPTX,
    TEI,
    XLSX,
)

if TYPE_CHECKING:
    from email.message import MIMEPart


#: Scripts without blanks between words, where a zero-width space separates words, and scripts with letters among the
#: invisible characters: Hangul and Mongolian.
_WITHOUT_BLANKS = r"\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u18af\u1950-\u1b7f\u2e80-\U0010ffff"
_UNSEEN = "[\u115f\u1160\u180e\u200b\u2065\u3164\uffa0]"
#: Invisible characters that would cut words of other scripts, such as a zero-width space. The pattern begins with the
#: set of these characters, and only then checks the character before them: `re` finds a set five times as fast.
_INVISIBLE = re.compile(f"{_UNSEEN}(?<![{_WITHOUT_BLANKS}].){_UNSEEN}*(?![{_WITHOUT_BLANKS}])", re.DOTALL)


class TextBuffer:
    """Collects the pieces of a text, up to a maximum number of characters.

    `length` is the number of characters; `problems` has messages about parts of a file that cannot be read, if others
    can.
    """

    def __init__(self, most: int) -> None:
        self._most, self.length = most, 0
        self._pieces: list[str] = []
        self.problems: list[str] = []

    def add(self, piece: str) -> None:
        """Append a piece; raise DocumentError if the text exceeds the maximum length."""
        self.length += len(piece)
        if self.length > self._most:
            raise DocumentError(f"its text is longer than {self._most:,} characters (setting max_file_text)")
        self._pieces.append(piece)

    def __str__(self) -> str:
        return _INVISIBLE.sub("", "".join(self._pieces))


def append_text(raw: bytes, form: str, most_unpacked: int, text: TextBuffer) -> None:
    """Append the text of a file in the format named `form`; `most_unpacked` limits the size of an unpacked archive."""
    if not raw and form not in (HTML.name, TEI.name):
        raise DocumentError("this file is empty")
    match form:
        case PDF.name:
            append_pdf(raw, text)
        case DOCX.name | MARKED_DOCX.name | PPTX.name | XLSX.name:
            append_office(raw, form, most_unpacked, text)
        case MAIL.name:
            append_mail(raw, text)
        case NOTEBOOK.name:
            text.add(notebook_text(decode(raw)))
        case OPEN_DOCUMENT.name:
            text.add(open_document_text(raw, most_unpacked))
        case HTML.name:
            text.add(html_text(decode(raw)))
        case TEI.name | ALTO.name:
            # The XML parser knows few encodings, and trusts wrong declarations, so decode the bytes before parsing.
            text.add(xml_text(decode(raw).lstrip(), _TEI_NAMES if form == TEI.name else _ALTO_NAMES))


#: Block elements of HTML. A new line begins before and after each.
_BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "br", "button", "caption", "center", "dd", "details", "dialog",
    "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6",
    "header", "hgroup", "hr", "legend", "li", "main", "menu", "nav", "ol", "option", "p", "pre", "search",
    "section", "select", "summary", "table", "td", "textarea", "tfoot", "th", "thead", "title", "tr", "ul"
})  # fmt: skip
_HIDDEN_TAGS = frozenset({"script", "style", "template", "noscript"})
#: A named character reference; names have at most 32 characters.
_REFERENCE = re.compile("&[A-Za-z][A-Za-z0-9]{0,31};?")


def html_text(markup: str) -> str:
    """Return the visible text of a page, block elements on separate lines; raise DocumentError if parsing fails."""
    # Only HTML needs this import, which takes a tenth of a second.
    from bs4 import BeautifulSoup, Tag
    from bs4.element import CData, NavigableString
    from bs4.exceptions import ParserRejectedMarkup

    # Resolve references without a semicolon within a word (caf&eacutes) as browsers do, because BeautifulSoup does not.
    markup = _REFERENCE.sub(lambda reference: html.escape(html.unescape(reference[0])), markup)
    try:
        with warnings.catch_warnings():
            # Hide BeautifulSoup's warnings about pages that look like XML, an address or a file name.
            warnings.simplefilter("ignore", UserWarning)
            # Save the time to split attributes and to count lines.
            soup = BeautifulSoup(markup, "html.parser", multi_valued_attributes=None, store_line_numbers=False)
    except (ParserRejectedMarkup, ValueError) as error:
        # For example, a character reference of thousands of digits.
        raise DocumentError(f"this HTML cannot be read: {str(error).partition(chr(10))[0]}") from error
    # Only block elements begin a new line; other adjacent strings may be parts of one word (un<b>believ</b>able).
    pieces: list[str] = []
    around: list[Tag] = []
    unseen = 0
    for node in chain(soup.descendants, [soup]):
        # Close open elements until the innermost one is this node's parent.
        while around and node.parent is not around[-1]:
            ended = around.pop()
            unseen -= ended.name in _HIDDEN_TAGS
            if ended.name in _BLOCKS and not unseen:
                pieces.append("\n")
        if isinstance(node, Tag):
            around.append(node)
            unseen += node.name in _HIDDEN_TAGS
            if node.name in _BLOCKS and not unseen:
                pieces.append("\n")
        # Compare the exact type, because comments and declarations are subclasses of NavigableString.
        elif type(node) in (NavigableString, CData) and not unseen:
            pieces.append(str(node))
    return "".join(pieces)


class _Names(NamedTuple):
    """Names of elements in a format of XML.

    Args:
        blocks: Paragraphs.
        breaks: Elements that begin a line.
        notes: Elements to put at the end of the text.
        hidden: Elements to leave out; a name with a namespace stands for the elements of this namespace only.
        blanks: Elements that stand for a blank.
    """

    blocks: frozenset[str]
    breaks: frozenset[str]
    notes: frozenset[str]
    hidden: frozenset[str]
    blanks: frozenset[str] = frozenset()


_TEI_BLOCKS = frozenset({
    "ab", "argument", "back", "body", "byline", "castItem", "cell", "closer", "dateline", "div", "div1",
    "div2", "div3", "div4", "div5", "div6", "div7", "docAuthor", "docDate", "docImprint", "docTitle", "epigraph",
    "figure", "front", "group", "head", "imprimatur", "item", "lg", "list", "note", "opener", "p",
    "postscript", "row", "salute", "signed", "sp", "speaker", "stage", "table", "text", "titlePage", "titlePart",
    "trailer", "u"
})  # fmt: skip
#: The hidden elements are metadata, running heads, page numbers and deletions.
_TEI_NAMES = _Names(
    _TEI_BLOCKS,
    breaks=frozenset({"l", "lb", "cb", "pb"}),
    notes=frozenset({"note"}),
    hidden=frozenset({"teiHeader", "facsimile", "standOff", "fw", "del"}),
)
#: The words of ALTO are attributes, not text; the hidden elements are metadata and other readings of a word.
_ALTO_NAMES = _Names(
    blocks=frozenset({"TextBlock"}),
    breaks=frozenset({"TextLine"}),
    notes=frozenset(),
    hidden=frozenset({"Description", "Styles", "Tags", "ALTERNATIVE", "Glyph"}),
)
_SVG = "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}"
#: Comments, deletions, the numbers of notes, formats of numbers, and the data and descriptions of pictures.
_OPEN_DOCUMENT_HIDDEN = frozenset({
    "annotation", "tracked-changes", "note-citation", "automatic-styles", "binary-data", f"{_SVG}title", f"{_SVG}desc"
})  # fmt: skip
_OPEN_DOCUMENT_NAMES = _Names(
    blocks=frozenset({"h", "p"}),
    breaks=frozenset({"line-break"}),
    notes=frozenset({"note", "text-box"}),
    hidden=_OPEN_DOCUMENT_HIDDEN,
    blanks=frozenset({"s", "tab"}),
)
#: Elements of a `choice` that its other element corrects, regularises or expands.
_TEI_REPLACED = frozenset({"sic", "orig", "abbr"})
#: The hyphen of a word that continues in the next line, unless that begins a paragraph. Some ALTO has it twice, as HYP
#: and at the end of the word.
_LINE_END_HYPHEN = re.compile("[-¬⸗=]? ?\xad ?\n(?!\n)")
#: Line ends and the white space after them. The group has a line end if there are two or more.
_LINE_ENDS = re.compile(r"\n(?: *(\n))?\s*")


class _TextOfXml:
    """Target of an XML parser that collects the text of TEI, ALTO or OpenDocument, with notes at the end."""

    def __init__(self, names: _Names) -> None:
        self._names = names
        self._pieces: list[list[str]] = [[]]
        self._notes: list[str] = []
        #: Name and number of children of each open element.
        self._open: list[tuple[str, int]] = [("", 0)]
        #: Number of open elements that are hidden.
        self._hidden = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition("}")[2]
        parent, children = self._open[-1]
        self._open[-1] = parent, children + 1
        self._open.append((name, 0))
        is_other_reading = (parent == "choice" and name in _TEI_REPLACED) or (parent == "app" and children > 0)
        if self._hidden or is_other_reading or not self._names.hidden.isdisjoint((name, tag)):
            self._hidden += 1
            return
        if name in self._names.notes:
            self._pieces.append([])
        if name in self._names.blocks or (name in self._names.breaks and attributes.get("break") != "no"):
            self._pieces[-1].append("\n")
        elif name in self._names.blanks:
            self._pieces[-1].append(" ")
        elif name == "String":
            self._pieces[-1].append(f" {attributes.get('CONTENT', '')}")
        elif name == "HYP":
            self._pieces[-1].append("\xad")

    def end(self, tag: str) -> None:
        name, _ = self._open.pop()
        if self._hidden:
            self._hidden -= 1
        elif name in self._names.notes:
            self._notes += self._pieces.pop()
        elif name in self._names.blocks:
            self._pieces[-1].append("\n")

    def data(self, text: str) -> None:
        if not self._hidden:
            # Line ends and indentation belong to the markup, so replace them by blanks.
            self._pieces[-1].append(re.sub(r"\s", " ", text))

    def close(self) -> str:
        text = _LINE_ENDS.sub(r"\n\1", re.sub(" +", " ", "".join(self._pieces[0] + self._notes)))
        return _LINE_END_HYPHEN.sub("", text)


def xml_text(markup: str, names: _Names) -> str:
    """Return the text of TEI or ALTO, with blank lines between paragraphs, and each verse or printed line on a line.

    The text has the first reading of an apparatus, and the corrected, regular or expanded form of a choice. Markup that
    is not well-formed XML is returned unchanged.
    """
    # Only these formats need the imports.
    from html.entities import html5
    from xml.etree.ElementTree import ParseError, XMLParser

    parser: XMLParser[str] = XMLParser(target=_TextOfXml(names))
    # Define HTML's entities, such as `&mdash;`: the document type may define some, but the parser does not read it.
    parser.entity.update({name.removesuffix(";"): value for name, value in html5.items()})
    try:
        parser.feed(markup)
        return parser.close()
    except ParseError:
        return markup


def open_document_text(raw: bytes, most_unpacked: int) -> str:
    """Return the text of an OpenDocument file; `most_unpacked` is the maximum size of the unpacked archive."""
    # Only OpenDocument needs this import.
    from xml.etree.ElementTree import XMLParser

    _unpacked_size(raw, most_unpacked)
    parser: XMLParser[str] = XMLParser(target=_TextOfXml(_OPEN_DOCUMENT_NAMES))
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        manifest = "META-INF/manifest.xml"
        if manifest in archive.namelist() and b"encryption-data" in archive.read(manifest):
            raise DocumentError("this OpenDocument is encrypted with a password")
        parser.feed(archive.read("content.xml"))
    return parser.close()


def notebook_text(content: str) -> str:
    """Return the cells of a Jupyter notebook, then their printed results; return any other content unchanged."""
    # Only notebooks need this import.
    import json

    def joined(lines: str | list[str]) -> str:
        return lines if isinstance(lines, str) else "".join(lines)

    try:
        notebook = json.loads(content)
        # Before version 4, a notebook has worksheets with cells, and the source of code is its `input`.
        sheets = [notebook] if "cells" in notebook else notebook["worksheets"]
        cells = [cell for sheet in sheets for cell in sheet["cells"]]
        sources = [joined(cell["source"] if "source" in cell else cell["input"]) for cell in cells]
        results = chain.from_iterable(cell.get("outputs", ()) for cell in cells)
        printed = [joined(result.get("text") or result.get("data", {}).get("text/plain", "")) for result in results]
    except (ValueError, TypeError, AttributeError, LookupError):
        return content
    return "\n\n".join(filter(str.strip, sources + printed))


#: Common headers. Every sent or drafted message has at least one of them.
_HEADERS = ("From", "To", "Subject", "Date", "Message-ID", "Received", "MIME-Version", "Content-Type")


#: Paragraph of a message with `format=flowed; delsp=yes`. The sender's program has wrapped the paragraph, and inserted
#: a blank before each line end. Quoted lines do not match, nor does the first line of a signature, "-- ".
_FLOWED = re.compile(r"^(?!>|-- $)(?:.* \n(?![>\n]|-- $))+ ?", re.MULTILINE)
_SOFT_BREAK = re.compile(r" \n ?")
#: Types of text that mail programs show unchanged.
_PLAIN_TYPES = ("text/plain", "text/markdown", "text/enriched", "text/x-diff", "text/x-patch")
_WORD = re.compile(r"\w+")
_ADDRESS = re.compile(r"\b(?:https?|mailto):\S+", re.IGNORECASE)


@lru_cache
def parse_header(name: str, value: str) -> Any:
    """Return a parsed header; the headers of the mails in a mailbox repeat their values, and parsing takes long."""
    from email.policy import default

    try:
        return default.header_factory(name, value)
    except (LookupError, ValueError, AttributeError, TypeError):
        # Python's parser fails for some invalid headers, such as `Content-Type: text/plain; charset*`.
        return default.header_factory(name, "")


def append_mail(raw: bytes, text: TextBuffer) -> None:
    """Append the subject and the texts that a mail program shows, of an e-mail or of all e-mails in a mailbox.

    Raise DocumentError if none is readable.
    """
    from email import message_from_bytes
    from email.policy import default

    raw = raw.removeprefix(BOM_UTF8).lstrip(b"\r\n")
    parsed = MESSAGE_START.split(raw)[1:] if MESSAGE_START.match(raw) else [raw]
    policy = default.clone(header_factory=parse_header)
    messages = [message_from_bytes(one, policy=policy) for one in parsed]
    if not any(name in message for message in messages for name in _HEADERS):
        raise DocumentError("this is not an e-mail: it does not begin with the headers of one")
    pieces = [list(_subject_and_texts(message)) for message in messages]
    parts = chain.from_iterable(message.walk() for message in messages)
    errors = [(part, error) for part in parts for error in part.defects if isinstance(error, DocumentError)]
    if errors and not any(own[-1].strip() for own in pieces):
        raise errors[0][1]
    text.problems += [
        f"a part of this e-mail ({part.get_content_type()}) was left out: {error}" for part, error in errors
    ]
    for own in pieces:
        text.add("".join(own) + ("\n\n" if len(pieces) > 1 else ""))


def _subject_and_texts(message: MIMEPart) -> Iterator[str]:
    if subject := message.get("Subject"):
        yield f"{subject}\n\n"
    yield "\n\n".join(_shown_texts(message))


def _shown_texts(part: MIMEPart) -> Iterator[str]:
    """Yield the texts that a mail program shows for a part of an e-mail: no attachments, and only one alternative.

    A message that was forwarded inline gives its subject and its texts.
    """
    kind = part.get_content_type()
    if part.is_attachment():
        return
    if kind.startswith("multipart/") and not part.is_multipart():
        # The headers name no boundary, or the body does not contain it, so the body is one text.
        yield _content(part)
    elif kind == "multipart/alternative":
        # The plain text can be empty, or a note that the message is in HTML, so take the longest alternative. `max`
        # takes the first of equally long alternatives, the plain text.
        alternatives = sorted(part.iter_parts(), key=lambda own: own.get_content_type() != "text/plain")
        yield max(map("\n\n".join, map(_shown_texts, alternatives)), key=_count_letters, default="")
    elif kind == "multipart/related":
        # The text is the part named by `start`, or the first one; the others are its pictures and styles.
        parts, start = list(part.iter_parts()), part.get_param("start")
        named = [own for own in parts if start and own["Content-ID"] == start]
        yield from chain.from_iterable(map(_shown_texts, (named or parts)[:1]))
    elif kind in ("message/rfc822", "message/global"):
        yield from map("".join, map(_subject_and_texts, part.iter_parts()))
    elif part.is_multipart():
        yield from chain.from_iterable(map(_shown_texts, part.iter_parts()))
    elif kind == "text/html" or kind in _PLAIN_TYPES:
        yield _text_of_leaf(part, kind)


def _text_of_leaf(part: MIMEPart, kind: str) -> str:
    """Return the text of a part; if it cannot be read, append the error to the part's `defects`, and return ""."""
    try:
        content = _content(part)
        if kind == "text/html":
            return html_text(content)
    except DocumentError as error:
        part.defects.append(error)  # type: ignore[arg-type]  # the list takes any error
        return ""
    if [str(part.get_param(name, "")).lower() for name in ("format", "delsp")] == ["flowed", "yes"]:
        return _FLOWED.sub(lambda lines: _SOFT_BREAK.sub("", lines[0]), content)
    return content


def _count_letters(text: str) -> int:
    return sum(map(len, _WORD.findall(_ADDRESS.sub("", text))))


def _content(part: MIMEPart) -> str:
    payload = part.get_payload(decode=True)
    # The payload is None only for a part that contains parts, and these are read one by one.
    assert isinstance(payload, bytes)
    try:
        text = decode(payload, part.get_content_charset())
    except DocumentError:
        # After a crash, a mail server may leave NUL characters in a mail, so accept them in ASCII.
        if not payload.isascii():
            raise
        text = payload.decode("ascii")
    return text.replace("\r\n", "\n")


#: PDFium's marker for the hyphen of a word that is split at a line end, with the line end; removing both joins the
#: word.
_HYPHEN_MARK = re.compile("[\ufffe\x02](?:\r?\n)?")


def append_pdf(raw: bytes, text: TextBuffer) -> None:
    """Append the text of all pages in drawing order, and a form feed after each.

    Raise DocumentError if the file is damaged or has no text.
    """
    import pypdfium2
    from pypdfium2 import raw as pdfium

    try:
        document = pypdfium2.PdfDocument(raw)
    except pypdfium2.PdfiumError as error:
        reasons = {
            pdfium.FPDF_ERR_PASSWORD: "this PDF is encrypted, and opens with a password only",
            pdfium.FPDF_ERR_SECURITY: "this PDF is encrypted in a way that is not known",
            pdfium.FPDF_ERR_FORMAT: "this PDF is damaged, or it is none",
        }
        raise DocumentError(reasons.get(error.err_code, f"this PDF cannot be read: {error}")) from None
    has_words = False
    with closing(document):
        for number in range(len(document)):
            try:
                with closing(document[number]) as page, closing(page.get_textpage()) as drawn:
                    content = _HYPHEN_MARK.sub("", drawn.get_text_range()).replace("\r\n", "\n")
            except pypdfium2.PdfiumError:
                raise DocumentError(f"page {number + 1:,} of this PDF is damaged") from None
            has_words = has_words or bool(content.strip())
            text.add(f"{content}\n\f")
    if not has_words:
        raise DocumentError("there is no text in this PDF; perhaps it was scanned, and text in pictures is not read")


_FORMATS = {"docx": DOCX.name, "pptx": PPTX.name, "xlsx": XLSX.name}
#: Elements with invisible text: deleted or moved text, and fallbacks for drawings.
_HIDDEN_ELEMENTS = frozenset({"del", "moveFrom", "Fallback"})
#: Text to append at the end of an element, such as a line feed after a paragraph.
_ENDS = {"p": "\n\n", "br": "\n", "cr": "\n", "tab": "\t", "ptab": "\t", "noBreakHyphen": "-"}
#: Suffixes of relationship types for the parts of a DOCX outside its main text, in reading order.
_SIDE_PARTS = ("/header", "/footer", "/footnotes", "/endnotes")
_MAIN_PART, _ATTACHED = "/officeDocument", "/package"
#: Names of styles for block quotes in Word (Quote, Intense Quote, Block Text), LibreOffice (Quotations) and templates.
_QUOTE_STYLE = re.compile("quot|block text", re.IGNORECASE)
#: Maximum depth of embedded files; deeper files are skipped.
_MOST_DEPTH = 3


def append_office(raw: bytes, form: str, most_unpacked: int, text: TextBuffer) -> None:
    """Append the text of a DOCX, PPTX or XLSX; raise DocumentError if the file is not an archive or too large.

    `most_unpacked` is the maximum size of the unpacked archive in bytes, including embedded files. If the XML exceeds
    the memory limit, this raises MemoryError.
    """
    from lxml.etree import ErrorTypes, XMLSyntaxError

    try:
        _read_archive(raw, form, most_unpacked, text, 1)
    except XMLSyntaxError as error:
        if error.code == ErrorTypes.ERR_NO_MEMORY:
            raise MemoryError from error
        raise


def _read_archive(raw: bytes, form: str, most_unpacked: int, text: TextBuffer, depth: int) -> None:
    size = _unpacked_size(raw, most_unpacked)
    match form:
        case DOCX.name | MARKED_DOCX.name:
            left = most_unpacked - size
            for attached in _docx(io.BytesIO(raw), text, is_marked=form == MARKED_DOCX.name):
                inner = _FORMATS.get(attached.partname.ext.lower())
                if inner is not None and depth < _MOST_DEPTH:
                    _read_archive(attached.blob, inner, left, text, depth + 1)
        case PPTX.name:
            _pptx(io.BytesIO(raw), text)
        case XLSX.name:
            _xlsx(io.BytesIO(raw), text)


def _unpacked_size(raw: bytes, most: int) -> int:
    """Return the declared unpacked size of an archive, which `zipfile` enforces; raise DocumentError above `most`."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise DocumentError("this file is damaged: it is not a complete archive") from None
    if size > most:
        raise DocumentError(
            f"unpacked it would have {size:,} bytes, and the process that reads it may have {most:,} bytes of memory "
            "(setting file_memory_bytes)"
        )
    return size


def _docx(file: BinaryIO, text: TextBuffer, *, is_marked: bool) -> list[Any]:
    """Append paragraphs and tables in order, then headers, footers and notes; return the embedded files.

    If `is_marked` is true, mark block quotes and notes as in Markdown.
    """
    # docx.Document leaves out tracked insertions, content controls, text boxes and notes, so walk the XML.
    from docx.opc.package import OpcPackage
    from docx.opc.part import XmlPart
    from docx.oxml.parser import parse_xml

    # In a "Strict Open XML Document", relationships have types for which `main_document_part` fails.
    relations = OpcPackage.open(file).rels.values()
    main = next((relation.target_part for relation in relations if relation.reltype.endswith(_MAIN_PART)), None)
    if main is None:
        raise DocumentError("this DOCX is damaged, or it is none: it has no main text")
    related = [relation for relation in main.rels.values() if not relation.is_external]
    side = [relation.target_part for kind in _SIDE_PARTS for relation in related if relation.reltype.endswith(kind)]

    def element_of(part: Any) -> Any:
        return part.element if isinstance(part, XmlPart) else parse_xml(part.blob)

    styles = [relation.target_part for relation in related if relation.reltype.endswith("/styles") and is_marked]
    marks = _QuotationMarks(map(element_of, styles)) if is_marked else None
    for part in dict.fromkeys((main, *side)):
        _walk(element_of(part), text, marks)
    return [relation.target_part for relation in related if relation.reltype.endswith(_ATTACHED)]


def _pptx(file: BinaryIO, text: TextBuffer) -> None:
    """Append the text of the slides in order, each with its notes."""
    from pptx.package import Package

    # Do not use `pptx.Presentation`, which refuses slide shows (.ppsx) and templates (.potx).
    for slide in Package.open(file).presentation_part.presentation.slides:
        _walk(slide.element, text)
        if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None:
            text.add(f"{frame.text}\n\n")


def _xlsx(file: BinaryIO, text: TextBuffer) -> None:
    """Append the sheets, one line per row, with tabs between cells; for a formula, append its saved value."""
    from openpyxl import load_workbook

    for sheet in load_workbook(file, read_only=True, data_only=True, keep_links=False).worksheets:
        text.add(f"{sheet.title}\n")
        # A sheet may falsely claim 17 billion cells, so ignore its declared dimensions.
        sheet.reset_dimensions()
        for row in sheet.iter_rows(values_only=True):
            if cells := [str(value) for value in row if value is not None]:
                text.add("\t".join(cells) + "\n")


class _QuotationMarks:
    """Marks of Markdown for the paragraphs of a DOCX in the styles of block quotes, and for its notes."""

    def __init__(self, styles: Iterable[Any]) -> None:
        #: Ids of the styles for block quotes, found by name: Word translates the ids, but not the names.
        self._styles = {
            _attribute(style, "styleId")
            for root in styles
            for style in root.iter("{*}style")
            if any(_QUOTE_STYLE.search(_attribute(name, "val")) for name in style.iterfind("{*}name"))
        }
        self._is_quote = False

    def before(self, element: Any, name: str) -> str:
        """Return the marks before the text of an element."""
        if name == "p":
            was_quote = self._is_quote
            self._is_quote = any(
                _attribute(style, "val") in self._styles for style in element.iterfind("{*}pPr/{*}pStyle")
            )
            return "> " if self._is_quote else "\n" if was_quote else ""
        if name in ("footnoteReference", "endnoteReference"):
            return f"[^{name[0]}{_attribute(element, 'id')}]"
        # An element with a type is not a note, but a separator between the text and its notes.
        is_note = name in ("footnote", "endnote") and not _attribute(element, "type")
        return f"[^{name[0]}{_attribute(element, 'id')}]: " if is_note else ""

    def after(self, name: str, end: str) -> str:
        """Return the end of an element, with marks; the paragraphs of a block quote are lines of one quotation."""
        if not self._is_quote:
            return end
        return f"{end}> " if name in ("br", "cr") else end[:1]


def _attribute(element: Any, name: str) -> str:
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


def _walk(root: Any, text: TextBuffer, marks: _QuotationMarks | None = None) -> None:
    """Append the text of a WordprocessingML or DrawingML tree; a text box follows its paragraph.

    Append hidden and white text of Word at the end, where it separates no words that a reader sees.
    """
    from lxml.etree import iterwalk

    boxes: list[Any] = []
    gaps = _gaps_of_unseen(root)
    # Invisible runs so far, with a gap between runs that are not adjacent, and the length of the text at the last run.
    unseen, length = list[Any](), 0
    walker = iterwalk(root, events=("start", "end"))
    for event, element in walker:
        if not isinstance(element.tag, str):
            continue
        name = element.tag.rpartition("}")[2]
        if event == "end":
            if end := _ENDS.get(name):
                text.add(end if marks is None else marks.after(name, end))
            if name == "p":
                if unseen and unseen[-1] != "\n\n":
                    unseen.append("\n\n")
                for box in boxes:
                    _walk(box, text, marks)
                boxes.clear()
        elif name in _HIDDEN_ELEMENTS:
            walker.skip_subtree()
        elif name == "txbxContent" and element is not root:
            boxes.append(element)
            walker.skip_subtree()
        elif (gap := gaps.get(element)) is not None:
            if unseen and text.length != length:
                unseen.append(" ")
            text.add(gap)
            unseen.append(element)
            length = text.length
            walker.skip_subtree()
        elif name == "t" and element.text:
            text.add(element.text)
        elif marks is not None:
            text.add(marks.before(element, name))
    for own in unseen:
        if isinstance(own, str):
            text.add(own)
        else:
            _walk(own, text)
    for box in boxes:
        text.add("\n\n")
        _walk(box, text, marks)


def _gaps_of_unseen(root: Any) -> dict[Any, str]:
    """Return the invisible runs of Word in a tree, each with the gap that it leaves: "" if hidden, a blank if white."""
    found: dict[Any, str] = {}
    # Look for the properties first, because few runs have them.
    for own in root.iter("{*}vanish", "{*}color"):
        run = None if (properties := own.getparent()) is None else properties.getparent()
        if run is None or run is root or run.tag.rpartition("}")[2] != "r":
            continue
        if own.tag.rpartition("}")[2] == "vanish":
            if _attribute(own, "val") not in ("0", "false", "off"):
                found[run] = ""
        elif _attribute(own, "val").upper() == "FFFFFF" and not _has_dark_background(run):
            found.setdefault(run, " ")
    return found


def _has_dark_background(run: Any) -> bool:
    # An element's first child holds its properties, among them the background.
    around = [near[0] for near in (run, *run.iterancestors("{*}p", "{*}tc", "{*}tbl"))]
    fills = [
        _attribute(own, "fill") or "mark" for near in around for own in near.iterchildren("{*}shd", "{*}highlight")
    ]
    return not {fill.upper() for fill in fills} <= {"FFFFFF", "AUTO"}
