"""Text of e-mails: subject and body, without attachments."""

from __future__ import annotations

from email import message_from_bytes
from email.message import MIMEPart
from email.policy import default

from whorl.errors import DocumentError
from whorl.ingest.extraction.formats import decode
from whorl.ingest.extraction.html import html_text
from whorl.ingest.extraction.text_buffer import TextBuffer

#: Usual headers; any sent or drafted message has at least one of these.
_HEADERS = ("From", "To", "Subject", "Date", "Message-ID", "Received", "MIME-Version", "Content-Type")


def read(raw: bytes, text: TextBuffer) -> None:
    """Append the subject and the plain text of a message, or the text of its HTML if it has no plain text.

    Raises:
        DocumentError: The file is not an e-mail, or the encoding of its text cannot be detected.
    """
    message = message_from_bytes(raw, policy=default)
    if not any(name in message for name in _HEADERS):
        raise DocumentError("this is no e-mail: it does not begin with the headers of one")
    if subject := message.get("Subject"):
        text.add(f"{subject}\n\n")
    body = message.get_body(preferencelist=("plain", "html"))
    if body is not None:
        told = _content(body)
        text.add(html_text(told) if body.get_content_subtype() == "html" else told)


def _content(part: MIMEPart) -> str:
    payload = part.get_payload(decode=True)
    assert isinstance(payload, bytes)  # a body has no parts
    try:
        return payload.decode(part.get_content_charset("ascii")).replace("\r\n", "\n")
    except (LookupError, UnicodeDecodeError):
        # The charset named in the message is unknown or wrong.
        return decode(payload).replace("\r\n", "\n")
