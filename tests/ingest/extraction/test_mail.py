"""Text of e-mails."""

from __future__ import annotations

import pytest

from tests.made_files import mail, pdf
from whorl.ingest.extraction.mail import read
from whorl.ingest.extraction.text_buffer import TextBuffer


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (mail("Grüße", "plain", "<p>page</p>"), "Grüße plain"),
        (mail("S", html="<p>page<script>unseen</script></p>"), "S page"),
        (mail("S", "plain", attached=pdf("attached")), "S plain"),
        (b"From: a@example.org\r\nContent-Type: text/plain; charset=unknown-8bit\r\n\r\nGr\xc3\xbc\xc3\x9fe", "Grüße"),
        (b"Subject: only this\n\n", "only this"),
    ],
    ids=["plain", "html", "attachment", "charset", "no-body"],
)
def test_mail(raw: bytes, expected: str) -> None:
    """
    The text is the subject and the plain part, or else the HTML part, in any charset, without attachments.
    """
    text = TextBuffer(1000)
    read(raw, text)
    assert str(text).split() == expected.split()
