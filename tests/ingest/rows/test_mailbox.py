"""Mailboxes: their messages as rows, and copies with some of them."""

from __future__ import annotations

import io
import mailbox
from email.message import EmailMessage
from pathlib import Path, PurePath

import pytest

from whorl.errors import DocumentError
from whorl.ingest.extraction import PartialTextError
from whorl.ingest.files import Problem, documents_in
from whorl.ingest.rows.detect_row_format import format_of
from whorl.ingest.rows.mailbox import MailboxFormat
from whorl.ingest.rows.row_format import Row, RowColumns, UnreadRowsError


def message(subject: str, body: str, **headers: str) -> EmailMessage:
    mail = EmailMessage()
    for name, value in {"Subject": subject, **headers}.items():
        mail[name.replace("_", "-")] = value
    mail.set_content(body)
    return mail


MAILS = (
    message("One", "plain\nFrom the start\n", From="Jörg <j@b.org>", To="a@b.org", Message_ID="<1@b.org>",
            Date="Mon, 4 Jan 2021 08:00:00 +0100"),
    message("Zwölf", "Überall\n", Date="yesterday"),
    message("", "no headers\n"),
)  # fmt: skip


def text_of(raw: bytes, file: PurePath) -> str:
    return f"{file.suffix} {len(raw)}"


def rows(content: bytes, columns: RowColumns = RowColumns()) -> list[Row]:  # noqa: B008 - frozen
    return list(MailboxFormat(text_of).rows(io.BytesIO(content), columns))


@pytest.fixture
def box(tmp_path: Path) -> Path:
    """A mailbox with `MAILS`, written by Python's module."""
    path = tmp_path / "box"
    written = mailbox.mbox(path)
    for mail in MAILS:
        written.add(mail)
    written.close()
    return path


def test_the_messages_of_a_mailbox(box: Path) -> None:
    """
    Each message that Python's module finds is a row, with its whole source as the text and its headers as fields.
    """
    found = [dict(row.values) for row in rows(box.read_bytes()) if not isinstance(row.values, DocumentError)]
    known = mailbox.mbox(box)
    sizes = [len(f"From {mail.get_from()}\n") + len(known.get_bytes(key)) + 1 for key, mail in known.items()]
    known.close()
    # The source has the line that begins a message, the message, and the blank line after it.
    assert [values.pop("text") for values in found] == [f".eml {size}" for size in sizes]
    none = dict.fromkeys(("date", "from", "to", "message_id"))
    assert found == [
        {"name": "One", "date": "2021-01-04T08:00:00+01:00", "from": "Jörg <j@b.org>", "to": "a@b.org",
         "message_id": "<1@b.org>"},
        {"name": "Zwölf", **none},
        {"name": "", **none},
    ]  # fmt: skip


def test_a_copy_with_some_messages(box: Path) -> None:
    """
    A copy has the messages that stay, byte by byte; a mailbox takes no columns.
    """
    form, content, out = MailboxFormat(text_of), box.read_bytes(), io.BytesIO()
    form.rewrite(io.BytesIO(content), out, RowColumns(), lambda group: [{}, None, {}], {})
    starts = [content.index(b"From MAILER"), content.index(b"\nFrom MAILER", 10) + 1, content.rindex(b"From MAILER")]
    assert out.getvalue() == content[: starts[1]] + content[starts[2] :]
    with pytest.raises(DocumentError, match="no columns"):
        form.rewrite(io.BytesIO(content), out, RowColumns(), lambda group: [], {"cluster": str})


def test_a_message_that_cannot_be_read() -> None:
    """
    A message without a readable text is an error in its place; a message keeps the text of its other parts.
    """

    def extract(raw: bytes, file: PurePath) -> str:
        if b"part" in raw:
            raise PartialTextError("a part", "the rest")
        if b"bad" in raw:
            raise DocumentError("bad")
        return "text"

    start = b"From a@b.org Mon Jan  4 08:00:00 2021\n"
    content = start.join([b"", b"\nbad\n", b"Subject: =?x?q?a?=\nDate: x\n\ngood\n", b"\na part\n"])
    read = list(MailboxFormat(extract).rows(io.BytesIO(content), RowColumns()))
    assert [row.place for row in read] == ["message 1", "message 2", "message 3"]
    assert [str(row.values) for row in read if isinstance(row.values, DocumentError)] == ["bad"]
    assert [row.problem for row in read] == ["", "", "a part"]
    assert not isinstance(read[2].values, DocumentError)
    assert read[2].values["text"] == "the rest"


@pytest.mark.process
def test_a_part_that_cannot_be_read(tmp_path: Path) -> None:
    """
    The part is a problem, with the place of its message, and the message is a document without it.
    """
    mail = message("Two parts", "text\n")
    mail.add_attachment(bytes(range(256)), "text", "plain", disposition="inline", params={"charset": "utf-8"})
    path = tmp_path / "box"
    path.write_bytes(b"From a@b.org Mon Jan  4 08:00:00 2021\n" + mail.as_bytes())
    problems: list[Problem] = []
    (document,) = documents_in(path, problems.append)
    assert document.text.split() == ["Two", "parts", "text"]
    assert [(problem.where, problem.documents) for problem in problems] == [(f"{path}, message 1", 0)]


@pytest.mark.parametrize(
    ("raw", "values"),
    [
        ("Subject: Grüße\nFrom: Jörg <j@b.org>", {"name": "Grüße", "from": "Jörg <j@b.org>"}),
        ("Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?= =?none?q?a?=", {"name": "Grüßea"}),
        ("Subject: =?utf-7?q?+2AA-?=\nTo: a@b.org", {"to": "a@b.org"}),
        ("Subject: a\nDate: Mon, 1 Jan 99999999999999999999 10:00:00 +0000", {"name": "a"}),
        ("Subject: a\nDate: Mon, 1 Jan 2020 10:00:00 +99999999999999999999", {"name": "a"}),
        ("Subject: a\nTo: " + "a@b.org, " * 5_000, {"name": "a", "to": ("a@b.org, " * 5_000).strip()}),
    ],
)
def test_unusual_headers(raw: str, values: dict[str, str]) -> None:
    """
    Headers may be UTF-8, and have unknown encodings and impossible dates; a long list of addresses is kept.
    """
    (row,) = rows(b"From a@b.org Mon Jan  4 08:00:00 2021\n%b\n\ntext\n" % raw.encode())
    assert not isinstance(row.values, DocumentError)
    assert {name: value for name, value in row.values.items() if value and name != "text"} == values


def test_a_message_without_line_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    No more than a message of the maximum size is read at once, even without line ends.
    """
    monkeypatch.setattr("whorl.ingest.rows.mailbox.MOST_BYTES", 100)
    content = io.BytesIO(b"From a@b.org Mon Jan  4 08:00:00 2021\n\n" + b"a" * 10_000)
    with pytest.raises(UnreadRowsError, match="more than 100 bytes"):
        list(MailboxFormat(text_of).rows(content, RowColumns()))
    assert content.tell() < 1_000


@pytest.mark.parametrize(
    ("name", "is_mailbox"), [("a.mbox", True), ("Inbox", True), ("a.MBOX", True), ("a.eml", False), ("a.txt", False)]
)
@pytest.mark.parametrize("as_text", [True, False])
def test_names_of_mailboxes(name: str, is_mailbox: bool, as_text: bool) -> None:
    """
    A mailbox begins with the line of a message; its name ends in `.mbox`, or has no suffix.
    """
    start = io.BytesIO(b"From - Mon Jan  4 08:00:00 2021\nSubject: a\n\nb\n")
    assert (format_of(start, PurePath(name), RowColumns(), text_of, as_text=as_text) is not None) == is_mailbox
    assert format_of(io.BytesIO(b"From Mon to Fri\n"), PurePath(name), RowColumns(), text_of) is None
