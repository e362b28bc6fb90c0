"""Text of HTML, TEI, e-mail, notebooks, PDF and Office files as a reader sees it."""

from __future__ import annotations

import html
import json
import re
import sys
from base64 import b64encode
from collections.abc import Callable
from functools import partial
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.made_files import mail, open_document, pdf, quoting_word, sheet, slides, with_member, with_part, word
from whorl.errors import DocumentError
from whorl.ingest.extraction.extract_text import (
    TextBuffer,
    append_mail,
    append_office,
    append_pdf,
    append_text,
    html_text,
)
from whorl.ingest.extraction.file_formats import (
    ALTO,
    DOCX,
    FORMATS,
    HTML,
    MARKED_DOCX,
    NOTEBOOK,
    OPEN_DOCUMENT,
    PPTX,
    TEI,
    XLSX,
    FileFormat,
)


@given(st.lists(st.text(max_size=5), max_size=8), st.integers(0, 30))
def test_a_text_is_its_pieces_or_too_long(pieces: list[str], most: int) -> None:
    """
    Pieces are joined up to the maximum length; beyond it the error names the setting.
    """
    text = TextBuffer(most)

    def add_all() -> None:
        for piece in pieces:
            text.add(piece)

    if sum(map(len, pieces)) > most:
        with pytest.raises(DocumentError, match=f"longer than {most} characters .setting max_file_text."):
            add_all()
    else:
        add_all()
        assert str(text) == "".join(pieces)


@pytest.mark.parametrize(
    "markup",
    [
        "<details><summary>one</summary>two</details>three",
        "<form><fieldset><legend>one</legend>two</fieldset></form>three",
        "<menu><li>one</menu><dialog open>two</dialog><center>three</center>",
        "<button>one</button><button>two</button>three",
    ],
)
def test_elements_on_lines_of_their_own(markup: str) -> None:
    """
    Words of neighbouring elements that a browser shows on separate lines are not joined.
    """
    assert html_text(markup).split() == ["one", "two", "three"]


@pytest.mark.parametrize(
    "markup",
    [
        "http://example.org/a.html",
        "a.html",
        '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">a.html</html>',
        "<![if foo a.html",
        "<!DOCTYPE [<!a.html",
        "<div>" * 20_000 + "a.html",
        "&#99999999999; a.html &#xD800;",
    ],
    ids=["address", "name", "xhtml", "marked-section", "doctype", "deep", "no-character"],
)
def test_odd_html_is_read_without_a_warning(markup: str) -> None:
    """
    Odd pages that the parser would warn about, or that browsers would refuse, are read without a warning.
    """
    assert "a.html" in html_text(markup)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "caf&eacute",
            "r&eacutesum&eacute;s",
            "&copy2020",
            "a&lt3 &lt;b>",
            "&notit; &notin; &not;it",
            "&amplt;",
            "a&x",
            "R&M; b",
        ),
        *("AT&T &unknown; &alpha x &alphax", "&#233t&eacute", "&quot&apos;", f"&{'eacute' * 9};", "&CounterClock;"),
    ],
)
def test_character_references_are_read_as_in_html_5(text: str) -> None:
    """
    References of all notations are replaced as Python's `html.unescape` does, which follows the standard.
    """
    assert html_text(f'<p title="&quot;{text}&quot;">{text}</p>') == f"\n{html.unescape(text)}\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<lg><l n='1'>Arma\n  virumque</l>\n<l>cano</l></lg><lg><l>Musa</l></lg>", "Arma virumque|cano||Musa"),
        ("<sp who='#h'><speaker>HAMLET</speaker><p>To <hi rend='i'>b</hi>e.</p></sp>", "HAMLET||To be."),
        ("<p>ex<lb break='no'/>ample<lb/>of<pb n='2'/><fw>HEAD</fw>this</p>", "example|of|this"),
        ("<p>one<note>a<note>b</note></note> two</p>", "one two||b|a"),
        ("<p><choice><reg>upon</reg><orig>vpon</orig></choice> <orig>vs</orig></p>", "upon vs"),
        ("<p><app><lem>cano</lem><rdg>can<choice/>am</rdg></app> <app><rdg>a</rdg></app></p>", "cano a"),
        ("<p>I <del>was <hi>not</hi></del>am</p>", "I am"),
        ("<p>&eacute; &#233; &amp; <![CDATA[<l>]]><!-- no --></p>", "é é & <l>"),
    ],
    ids=["verses", "speaker", "breaks", "notes", "choice", "apparatus", "deletion", "references"],
)
@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1"])
def test_tei(body: str, expected: str, encoding: str) -> None:
    """
    The text of a TEI document has paragraphs and verses, but no markup, and no form that another one replaces.
    """
    head = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE TEI SYSTEM "tei.dtd"><TEI xmlns="http://a.org">'
    raw = f"{head}<teiHeader><p>unseen</p></teiHeader><text>{body}</text></TEI>".encode(encoding)
    assert [line.strip() for line in text_of(raw, TEI).strip().split("\n")] == expected.split("|")


def test_alto() -> None:
    """
    The text of ALTO has the words of each printed line, and blocks are paragraphs. A word that HYP breaks is whole.
    """
    raw = """<?xml version="1.0"?><alto xmlns="http://www.loc.gov/standards/alto/ns-v4#">
      <Description><fileName>1.tif</fileName></Description><Layout><Page><PrintSpace>
      <TextBlock><TextLine><String CONTENT="Die"><ALTERNATIVE>Dic</ALTERNATIVE></String><SP/><String CONTENT="Zei"/>
      <HYP CONTENT="-"/></TextLine>
      <TextLine><String CONTENT="tung"/><String CONTENT="&amp;c."/></TextLine>
      <TextLine><String CONTENT="vom"><Glyph CONTENT="v"><Variant>u</Variant></Glyph></String><String CONTENT="acht-"/>
      <HYP CONTENT="-"/></TextLine>
      <TextLine><String CONTENT="zehnten"/></TextLine></TextBlock>
      <TextBlock><TextLine><String CONTENT="März"/></TextLine></TextBlock></PrintSpace></Page></Layout></alto>"""
    lines = [line.strip() for line in text_of(raw.encode(), ALTO).strip().split("\n")]
    assert lines == ["Die Zeitung &c.", "vom achtzehnten", "", "März"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<text:h>Head</text:h><text:p>one<text:s text:c='2'/>two<text:tab/>three</text:p>", "Head||one two three"),
        ("<text:p>un<text:span>believ</text:span>able<text:line-break/>line</text:p>", "unbelievable|line"),
        (
            "<text:p>one<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>note</text:p>"
            "</text:note-body></text:note> two</text:p>",
            "one two||note",
        ),
        ("<text:tracked-changes><text:p>was</text:p></text:tracked-changes><text:p>is</text:p>", "is"),
        ("<text:p>o<office:annotation><text:p>remark</text:p></office:annotation>ne</text:p>", "one"),
        ("<office:automatic-styles>EUR</office:automatic-styles><text:p>one</text:p>", "one"),
        ("<text:p><text:title>Report</text:title> 2026</text:p>", "Report 2026"),
        (
            "<text:p>one<svg:title>a chart</svg:title><office:binary-data>QUJD</office:binary-data> two</text:p>",
            "one two",
        ),
    ],
    ids=["blanks", "spans", "notes", "changes", "comments", "formats of numbers", "title as a field", "pictures"],
)
def test_open_document(body: str, expected: str) -> None:
    """
    The text of an OpenDocument has its paragraphs, with notes at the end, without comments and deletions.
    """
    assert text_of(open_document(body), OPEN_DOCUMENT).strip() == expected.replace("|", "\n")


@pytest.mark.parametrize("form", FORMATS)
def test_empty_files(form: FileFormat) -> None:
    """
    An empty file is named as such, not as damaged; an empty page of HTML or TEI has an empty text.
    """
    if form in (HTML, TEI):
        assert text_of(b"", form) == ""
        return
    with pytest.raises(DocumentError, match="this file is empty"):
        text_of(b"", form)


def test_an_encrypted_open_document() -> None:
    """
    The reason for an OpenDocument with a password is that it is encrypted.
    """
    with pytest.raises(DocumentError, match="encrypted with a password"):
        text_of(open_document("", manifest="<manifest:encryption-data/>"), OPEN_DOCUMENT)


CELL, RESULT = {"source": ["one\n", "two"]}, {"output_type": "stream", "text": ["printed\n"]}
SHOWN = {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": "<Figure>"}}


@pytest.mark.parametrize(
    ("notebook", "expected"),
    [
        ({"cells": [{**CELL, "outputs": [RESULT, SHOWN]}, {"source": "three"}]}, "one two three printed <Figure>"),
        ({"worksheets": [{"cells": [{"input": "one", "outputs": [RESULT]}, CELL]}]}, "one one two printed"),
        ({"worksheets": [{"cells": [{"input": "one"}]}, {"cells": [{"source": "two"}]}]}, "one two"),
        ({"cells": []}, ""),
        ({"cells": 1}, '{"cells": 1}'),
        ([], "[]"),
    ],
    ids=["version 4", "version 3", "two worksheets", "empty", "damaged", "another file"],
)
def test_notebooks(notebook: object, expected: str) -> None:
    """
    The text of a notebook has the source of its cells, and then their printed results; other JSON stays unchanged.
    """
    assert text_of(json.dumps(notebook).encode(), NOTEBOOK).split() == expected.split()


@pytest.mark.parametrize(
    ("written", "declared"),
    [("shift_jis", "Shift_JIS"), ("euc_jp", "EUC-JP"), ("gb18030", "GB2312"), ("utf-8-sig", "ISO-8859-1")],
)
def test_tei_in_any_encoding(written: str, declared: str) -> None:
    """
    TEI is decoded as plain text is: XML parsers know no Japanese or Chinese encoding, and believe any declaration.
    """
    words = "行く河の流れは絶えずして、しかももとの水にあらず"
    markup = f'<?xml version="1.0" encoding="{declared}"?><TEI><text><p>{words}</p></text></TEI>'
    assert text_of(markup.encode(written), TEI).strip() == words


@pytest.mark.parametrize("body", ["AT&T", "<lb>", "&unknown;", "<xi:include/>", "\f", "</p></text></TEI><TEI>"])
def test_tei_that_is_not_well_formed(body: str) -> None:
    """
    A file that is not well-formed XML is read as plain text.
    """
    markup = f"<TEI><text><p>{body}</p></text></TEI>"
    assert text_of(markup.encode(), TEI) == markup


@pytest.mark.slow
def test_the_work_of_html_grows_with_its_length() -> None:
    """
    Four times the elements, nested or in a row, take at most five times the calls, so the time is linear.
    """
    for piece in ("<div>", "<p>a", "<script></script>", "<template><b>"):
        assert calls(partial(html_text, piece * 2_000)) < 5 * calls(partial(html_text, piece * 500))


def text_of(raw: bytes, form: FileFormat) -> str:
    text = TextBuffer(1_000_000)
    append_text(raw, form.name, 1_000_000, text)
    return str(text)


def calls(work: Callable[[], object]) -> int:
    """Return the number of function calls, including those of functions in C."""
    count = 0

    def counted(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (mail("Grüße", "plain", "<p>page</p>"), "Grüße plain"),
        (mail("S", html="<p>page<script>unseen</script></p>"), "S page"),
        (mail("S", "plain", attached=pdf("attached")), "S plain"),
        (
            b"Subject: S\nContent-Type: text/plain; format=flowed; delsp=yes\n\nland \nlord keeps\n-- \nAnn",
            "S landlord keeps -- Ann",
        ),
        (
            b"Subject: S\nContent-Type: text/plain; format=flowed; delsp=yes\n\n> the rent \nno \n-- \nAnn",
            "S > the rent no -- Ann",
        ),
        (b"Subject: S\nContent-Type: text/plain; format=flowed\n\nthe \nlandlord", "S the landlord"),
        (b"From: a@example.org\r\nContent-Type: text/plain; charset=unknown-8bit\r\n\r\nGr\xc3\xbc\xc3\x9fe", "Grüße"),
        (b"Subject: only this\n\n", "only this"),
        (b"\xef\xbb\xbfSubject: S\n\nmarked", "S marked"),
        (b"\n\nSubject: S\n\nlater", "S later"),
    ],
    ids=["plain", "html", "attachment", "delsp", "quoted", "flowed", "charset", "no-body", "mark", "blank-lines"],
)
def test_mail(raw: bytes, expected: str) -> None:
    """
    The text is the subject and the longer one of plain text and HTML, in any charset, without attachments.
    """
    text = TextBuffer(1000)
    append_mail(raw, text)
    assert str(text).split() == expected.split()


PLAIN, FOOTER = "Content-Type: text/plain\n\nplain", "Content-Type: text/plain\n\nfooter"
PAGE, EMPTY = "Content-Type: text/html\n\n<p>page</p>", "Content-Type: text/plain\n\n \n"
STUB = "Content-Type: text/plain\n\nThis message is in HTML."
FORWARDED = "Content-Type: message/rfc822"
PICTURE = "Content-Type: image/png\nContent-Disposition: inline\n\nAAAA"
ATTACHED = "Content-Type: text/plain\nContent-Disposition: attachment\n\nattached"


def multipart(kind: str, *parts: str) -> str:
    boundary = kind.partition(";")[0]
    inside = "".join(f"--{boundary}\n{part}\n" for part in parts)
    return f"Content-Type: multipart/{kind}; boundary={boundary}\n\n{inside}--{boundary}--\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (multipart("mixed", PLAIN, PICTURE, FOOTER, ATTACHED), "plain footer"),
        (multipart("mixed", PAGE, FOOTER), "page footer"),
        (multipart("alternative", PLAIN, PAGE), "plain"),
        (multipart("alternative", EMPTY, PAGE), "page"),
        (multipart("alternative", PAGE, PLAIN), "plain"),
        (
            multipart("mixed", multipart("alternative", EMPTY, multipart("related", PAGE, PICTURE)), FOOTER),
            "page footer",
        ),
        (multipart("related; start=a", PICTURE, PAGE.replace("\n\n", "\nContent-ID: a\n\n"), FOOTER), "page"),
        (
            multipart("mixed", "Content-Type: message/rfc822\n\nSubject: other\n\nforwarded", FOOTER),
            "other forwarded footer",
        ),
        (multipart("mixed", f"{FORWARDED}\nContent-Disposition: attachment\n\n{PLAIN}", FOOTER), "footer"),
        (multipart("mixed", f"{FORWARDED}\n\nSubject: a\n{FORWARDED}\n\nSubject: b\n{PLAIN}"), "a b plain"),
        (multipart("digest", f"\nSubject: a\n{PLAIN}", f"\nSubject: b\n{PAGE}"), "a plain b page"),
        (multipart("alternative", STUB, f"{PAGE} {'long ' * 20}"), f"page {'long ' * 20}"),
        (multipart("alternative", f"{PLAIN} https://a.example/{'x' * 99}", f"{PAGE} two"), "page two"),
        (multipart("alternative", f"{PLAIN} HTTPS://A.EXAMPLE/{'x' * 99}", f"{PAGE} two"), "page two"),
        (multipart("alternative", multipart("mixed", PLAIN, FOOTER), PAGE), "plain footer"),
        (multipart("alternative"), ""),
        ("Content-Type: multipart/mixed\n\nno boundary", "no boundary"),
        ("Content-Type: multipart/alternative; boundary=a\n\nnot there", "not there"),
        (multipart("mixed", "Content-Type: text/markdown\n\n*marked*", FOOTER), "*marked* footer"),
        (multipart("mixed", f"{PLAIN} \0\0\0", PAGE), "plain \0\0\0 page"),
    ],
)
def test_parts_of_a_mail(body: str, expected: str) -> None:
    """
    All texts that a mail program shows are read: several texts in a row, the longest alternative, forwarded messages.
    """
    text = TextBuffer(1000)
    append_mail(f"Subject: S\n{body}".encode(), text)
    assert str(text).split() == ["S", *expected.split()]


BROKEN = "Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\n" + b64encode(bytes(range(256)) * 9).decode()


def test_the_mails_of_a_mailbox() -> None:
    """
    The text of a mailbox has all its messages without attachments; "From" at the start of a line can be a word.
    """
    one, two = mail("S", "plain\nFrom 9:00\nPlan: words", attached=pdf("attached")), mail("T", "other")
    text = TextBuffer(1000)
    append_mail(b"From a@b.org Mon Nov 30 10:00:00 2026\n" + one + b"\nFrom - Tue Dec 01 09:10:00 2026\r\n" + two, text)
    assert str(text).split() == ["S", "plain", "From", "9:00", "Plan:", "words", "T", "other"]
    assert not text.problems


@pytest.mark.parametrize(
    "time", ["Mon Nov  3 10:00:00 2026", "Mon, 3 Nov 2026 10:00 +0100", "Mon Nov 03 10:00:00 +0000 2026"]
)
def test_times_in_a_mailbox(time: str) -> None:
    """
    A message starts at its line with the sender and the time, in the forms that mail programs write.
    """
    text = TextBuffer(1000)
    append_mail(b"".join(f"From a@b.org {time}\nSubject: {word}\n\nbody\n\n".encode() for word in "ST"), text)
    assert str(text).split() == ["S", "body", "T", "body"]


def test_invalid_headers_of_a_mail() -> None:
    """
    A header that Python's parser cannot read does not hide the text of its mail, and of others in the mailbox.
    """
    text = TextBuffer(1000)
    append_mail(b"Subject: S\nContent-Type: multipart/mixed; quoted-printable*\n\nbody", text)
    assert str(text).split() == ["S", "body"]


def test_a_part_of_a_mail_that_cannot_be_decoded() -> None:
    """
    The other texts of the mail are read, and the part is reported; a mail without another text is refused.
    """
    text = TextBuffer(1000)
    append_mail(f"Subject: S\n{multipart('mixed', PLAIN, BROKEN, PAGE)}".encode(), text)
    assert str(text).split() == ["S", "plain", "page"]
    (problem,) = text.problems
    assert problem.startswith("a part of this e-mail (text/plain) was left out: this is not text")
    for refused in (BROKEN, multipart("mixed", BROKEN, PICTURE), multipart("alternative", BROKEN)):
        with pytest.raises(DocumentError, match="this is not text"):
            append_mail(f"Subject: S\n{refused}".encode(), TextBuffer(1000))


def test_a_word_parted_at_the_end_of_a_line_is_one() -> None:
    """
    A word hyphenated at the end of a line is joined; a hyphen within a line stays.
    """
    text = TextBuffer(1000)
    append_pdf(pdf("a well-known documen-\ntation of it"), text)
    assert str(text).split() == ["a", "well-known", "documentation", "of", "it"]


def test_the_pages_of_a_pdf() -> None:
    """
    Each page ends with a form feed, an empty page too, so that the number of a page can be counted.
    """
    text = TextBuffer(1000)
    append_pdf(pdf("one", "", "three"), text)
    assert [page.strip() for page in str(text).split("\f")] == ["one", "", "three", ""]


def words(form: FileFormat, raw: bytes) -> list[str]:
    text = TextBuffer(1_000_000)
    append_office(raw, form.name, 50_000_000, text)
    return str(text).split()


@pytest.mark.parametrize(
    ("form", "raw"),
    [(DOCX, word("one two", "three")), (MARKED_DOCX, word("one two", "three")), (PPTX, slides("one two", "three"))],
)
def test_blank_lines_between_paragraphs(form: FileFormat, raw: bytes) -> None:
    """
    Paragraphs of Word and PowerPoint are paragraphs of the text, which end at blank lines.
    """
    text = TextBuffer(1000)
    append_office(raw, form.name, 50_000_000, text)
    assert [part.strip() for part in str(text).split("\n\n") if part.strip()] == ["one two", "three"]


def test_changes_that_were_tracked() -> None:
    """
    Tracked insertions count, deleted and moved text does not; a tab and a line break separate words.
    """
    body = (
        b"<w:p><w:r><w:t>kept</w:t><w:tab/><w:t>here</w:t><w:ptab/></w:r><w:ins><w:r><w:t>inserted</w:t><w:br/></w:r></w:ins>"
        b"<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del>"
        b"<w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom><w:r><w:t>non</w:t><w:noBreakHyphen/><w:t>stop</w:t></w:r></w:p>"
    )
    made = with_member(
        word("before", "after"), "word/document.xml", lambda old: old.replace(b"<w:tbl>", body + b"<w:tbl>")
    )
    assert words(DOCX, made) == ["before", "kept", "here", "inserted", "non-stop", "after"]


@pytest.mark.parametrize(
    ("properties", "fill", "expected"),
    [
        ("<w:vanish/>", "", "onetwo three q"),
        ('<w:vanish w:val="0"/>', "", "oneqtwo three"),
        ('<w:color w:val="ffffff"/>', "", "one two three q"),
        ('<w:color w:val="FFFFFF"/>', '<w:shd w:fill="auto"/>', "one two three q"),
        ('<w:color w:val="FFFFFF"/>', '<w:shd w:fill="000000"/>', "oneqtwo three"),
        ('<w:color w:val="FFFFFF"/><w:highlight w:val="black"/>', "", "oneqtwo three"),
        ('<w:color w:val="FF0000"/>', "", "oneqtwo three"),
    ],
)
def test_text_that_a_reader_does_not_see(properties: str, fill: str, expected: str) -> None:
    """
    Hidden text, and white text on white, is at the end, so that it does not hide the words around it.
    """
    body = (
        f"<w:p><w:pPr>{fill}</w:pPr><w:r><w:t>one</w:t></w:r><w:r><w:rPr>{properties}</w:rPr><w:t>q</w:t></w:r>"
        "<w:r><w:t>two</w:t></w:r></w:p>"
    )
    made = with_member(
        word("three"), "word/document.xml", lambda old: old.replace(b"<w:tbl>", body.encode() + b"<w:tbl>")
    )
    assert words(DOCX, made) == expected.split()


def test_paragraphs_of_white_text() -> None:
    """
    White paragraphs stay apart, a word of several white runs stays whole, and a text box in a white run is not lost.
    """

    def run(content: str) -> str:
        return f'<w:r><w:rPr><w:color w:val="FFFFFF"/></w:rPr>{content}</w:r>'

    box = "<w:pict><w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent></w:pict>"
    first = run("<w:t>un</w:t>") + run("<w:t>seen</w:t>") + "<w:r><w:t>seen</w:t></w:r>" + run("<w:t>white</w:t>")
    body = f"<w:p>{first}</w:p><w:p>{run('<w:t>other</w:t>')}{run(box)}</w:p>"
    made = with_member(
        word("end"), "word/document.xml", lambda old: old.replace(b"<w:body>", b"<w:body>" + body.encode())
    )
    text = TextBuffer(1000)
    append_office(made, DOCX.name, 50_000_000, text)
    parts = [part.strip() for part in str(text).split("\n\n")]
    assert [*filter(None, parts)] == ["seen", "end", "unseen white", "other", "boxed"]


@pytest.mark.parametrize("character", "\u115f\u1160\u180e\u200b\u2065\u3164\uffa0")
def test_invisible_characters_within_words(character: str) -> None:
    """
    Invisible characters are left out where they do not separate words, as they do in Khmer.
    """
    hidden, khmer = [character.join(word) for word in ("тайна", "secret", "a1_b.")], f"ភាសា{character}ខ្មែរ"
    assert words(DOCX, word(*hidden, khmer)) == ["тайна", "secret", "a1_b.", khmer]


@pytest.mark.parametrize(
    "written", ["ᦉᦲ\u200bᦉᦲ", "ᬅᬓ\u200bᬱᬭ", "ᠮᠣᠩᠭᠣᠯ\u180eᠠ", "می\u200cخواهم", "क्\u200dष", "👩\u200d👧"]
)
def test_invisible_characters_of_scripts(written: str) -> None:
    """
    Invisible characters stay in scripts where they separate words, form a word or join signs.
    """
    assert words(DOCX, word(written)) == [written]


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
    expected = ["before", "control", "box", "after", "header", "footer", "footnotes", "endnotes"]
    assert words(DOCX, made) == expected


@pytest.mark.parametrize("style", ["Quote", "Block Text 2", "Quotations"])
def test_marks_of_block_quotes_and_notes(style: str) -> None:
    """
    The marks of Markdown are added only on request; each line of a block quote has one, and a blank line ends it.
    """
    made = with_member(
        quoting_word("The first.|The second.", "a quotation", style),
        "word/document.xml",
        lambda old: old.replace(b"|", b"</w:t><w:br/><w:t>"),
    )
    plain, marked = TextBuffer(1_000), TextBuffer(1_000)
    append_office(made, DOCX.name, 10**8, plain)
    append_office(made, MARKED_DOCX.name, 10**8, marked)
    assert str(plain).split("\n\n") == [
        "The first.\nThe second.",
        "They said “a quotation” and left.",
        "",
        " a.txt",
        " b.txt",
        "",
    ]
    assert str(marked) == (
        "> The first.\n> The second.[^f1]\n\nThey said “a quotation”[^f2] and left.\n\n\n\n[^f1]:  a.txt\n\n"
        "[^f2]:  b.txt\n\n"
    )


def test_a_text_box_follows_its_paragraph() -> None:
    """
    A text box anchored within a word neither divides the word nor touches one.
    """
    box = b"<w:pict><w:txbxContent><w:p><w:r><w:t>boxed text</w:t></w:r></w:p></w:txbxContent></w:pict>"
    body = b"<w:p><w:r><w:t>the para</w:t></w:r><w:r>" + box + b"</w:r><w:r><w:t>graph goes on</w:t></w:r></w:p>"
    made = with_member(
        word("before", "after"), "word/document.xml", lambda old: old.replace(b"<w:tbl>", body + b"<w:tbl>")
    )
    assert words(DOCX, made) == ["before", "the", "paragraph", "goes", "on", "boxed", "text", "after"]


def test_strict_word_documents() -> None:
    """
    A "Strict Open XML Document" is read, whose namespaces and types of relationships are others.
    """
    strict = word("before", "after")
    for member in ("_rels/.rels", "word/_rels/document.xml.rels", "word/document.xml"):
        strict = with_member(strict, member, _strict)
    assert words(DOCX, strict) == ["before", "after"]


def _strict(xml: bytes) -> bytes:
    for kind in (b"officeDocument", b"wordprocessingml"):
        xml = xml.replace(
            b"http://schemas.openxmlformats.org/" + kind + b"/2006/", b"http://purl.oclc.org/ooxml/" + kind + b"/"
        )
    return xml


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
        append_office(made, DOCX.name, len(made) + 1000, TextBuffer(1_000_000))


@pytest.mark.parametrize("kind", ["slideshow", "template"])
def test_slide_shows_and_templates(kind: str) -> None:
    """
    A slide show or a template is read like a presentation.
    """
    made = with_member(
        slides("first", "note"),
        "[Content_Types].xml",
        lambda old: old.replace(b"presentationml.presentation.main", f"presentationml.{kind}.main".encode()),
    )
    assert words(PPTX, made) == ["first", "note"]


def test_cells() -> None:
    """
    Numbers and truth values are read as text; empty cells are left out, and a wrong size of the sheet costs no time.
    """
    made = sheet(["a", None, 1, 2.5], [], [True])
    made = with_member(
        made, "xl/worksheets/sheet1.xml", lambda old: re.sub(rb'ref="[^"]*"', b'ref="A1:XFD1048576"', old)
    )
    assert words(XLSX, made) == ["Sheet", "a", "1", "2.5", "True"]
