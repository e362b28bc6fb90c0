"""A gate in front of a mail server: refuses mail that repeats much of the documents of a store.

    python examples/gate_mail.py http://127.0.0.1:8000 127.0.0.1:10026 --listen 127.0.0.1:10025

The gate speaks SMTP. It forwards harmless mail to the second address, refuses mail that repeats too much or has a part
that cannot be read (550), and asks the sender to try again later (451) if whorl does not answer in time, or cannot find
all documents of its store. With Postfix: `smtpd_proxy_filter = 127.0.0.1:10025`, and a second smtpd on port 10026 that
takes the mail back. Needs aiosmtpd and requests.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import signal
import smtplib
from email import message_from_bytes, policy
from email.message import EmailMessage

import requests
from aiosmtpd.smtp import SMTP, Envelope, Session

#: Seconds for each look-up; if one takes longer, the sender tries the mail again.
TIMEOUT = 5


#: How pictures, sound and films begin. A part of another kind that whorl cannot read is refused.
MEDIA = (
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"RIFF",
    b"BM",
    b"II*\0",
    b"MM\0*",
    b"OggS",
    b"ID3",
    b"fLaC",
    b"\0\0\1\0",
)
SIGNATURES = ("application/pkcs7-signature", "application/x-pkcs7-signature")
LONGEST_SIGNATURE = 20_000


class UnreadableError(Exception):
    """A part of the mail cannot be checked."""


def texts_of(mail: EmailMessage, whorl: str) -> list[str]:
    """Return all subjects and the text of each part: bodies in all forms, attachments, parts of attached mails.

    whorl reads all parts but plain text, as `whorl index` does. Pictures, sound, films and signatures are left out.
    Raise UnreadableError for another part without a text, such as an archive.
    """
    texts = []
    for part in mail.walk():
        texts.append(str(part["subject"] or ""))
        content = part.get_payload(decode=True)
        if not isinstance(content, bytes) or not content:
            continue
        if (strings := strings_in_json(content)) is not None:
            texts.append("\n".join(strings))
        elif part.get_content_type() == "text/plain":
            texts.append(part.get_content())
        else:
            texts.append(text_of_file(part, content, whorl))
    return texts


def text_of_file(part: EmailMessage, content: bytes, whorl: str) -> str:
    name = part.get_filename() or f"part.{part.get_content_subtype()}"
    answer = requests.post(
        f"{whorl}/api/v1/text",
        json={"name": name, "content": base64.b64encode(content).decode(), "rows_as_text": True},
        timeout=4 * TIMEOUT,
    )
    if answer.status_code not in (400, 413):
        answer.raise_for_status()
        return str(answer.json()["text"])
    is_signature = part.get_content_type() in SIGNATURES and len(content) <= LONGEST_SIGNATURE
    if is_signature or content.startswith(MEDIA):
        return ""
    raise UnreadableError(f"{name} cannot be checked, because no text can be read in it")


def strings_in_json(content: bytes) -> list[str] | None:
    """Return the texts in JSON or JSON lines, without their escapes; None for other content."""
    if not content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        return None
    try:
        text = content.decode("utf-8-sig")
        try:
            values = [json.loads(text)]
        except ValueError:
            values = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return None
    strings = []
    while values:
        value = values.pop()
        if isinstance(value, str):
            strings.append(value)
        elif isinstance(value, dict):
            values += reversed([item for pair in value.items() for item in pair])
        elif isinstance(value, list):
            values += reversed(value)
    return strings


def refusal(text: str, whorl: str) -> str | None:
    """Return the reason to refuse a text; None if it may go out."""
    answer = requests.post(
        f"{whorl}/api/v1/sources", json={"text": text, "texts": "none", "timeout": TIMEOUT}, timeout=2 * TIMEOUT
    )
    answer.raise_for_status()
    found = answer.json()
    if found["level"] != "high":
        if not found["is_complete"]:
            raise LookupError("; ".join(found["warnings"]))
        return None
    documents = ", ".join(source["name"] or source["id"] for source in found["sources"][:3])
    return f"{found['coverage']:.0%} of the text, up to {found['longest_passage']} words in a row, is from {documents}"


class Gate:
    """Handler of aiosmtpd that asks whorl about each mail, and forwards it or answers with an error."""

    def __init__(self, whorl: str, onward: tuple[str, int]) -> None:
        self._whorl = whorl
        self._onward = onward

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's name
        """Answer the end of a mail; requests block, so they run in a thread."""
        return await asyncio.to_thread(self._answer, envelope)

    def _answer(self, envelope: Envelope) -> str:
        content = envelope.original_content or b""
        try:
            mail = message_from_bytes(content, policy=policy.default)
            assert isinstance(mail, EmailMessage)
            # Each part counts by itself: a harmless part must not dilute another.
            for text in texts_of(mail, self._whorl):
                if text.strip() and (reason := refusal(text, self._whorl)):
                    return f"550 5.7.1 {reason}".encode("ascii", "replace").decode()
            with smtplib.SMTP(*self._onward, timeout=30) as onward:
                onward.sendmail(envelope.mail_from or "", envelope.rcpt_tos, content)
        except UnreadableError as error:
            return f"550 5.7.1 {' '.join(str(error).split()):.300}".encode("ascii", "replace").decode()
        except (OSError, smtplib.SMTPException, LookupError, ValueError) as error:
            print(f"not decided: {error}", flush=True)
            return "451 4.7.1 The mail could not be checked or forwarded, try again later"
        return "250 2.0.0 OK"


def address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


async def run(gate: Gate, listen: tuple[str, int]) -> None:
    """Serve until SIGINT or SIGTERM."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    server = await loop.create_server(lambda: SMTP(gate, enable_SMTPUTF8=True), *listen)
    host, port = server.sockets[0].getsockname()[:2]
    print(f"listening on {host}:{port}", flush=True)
    await stopped.wait()
    server.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("whorl", help="address of the service, such as http://127.0.0.1:8000")
    parser.add_argument("onward", type=address, help="host:port of the mail server that takes the mail")
    parser.add_argument("--listen", type=address, default=("127.0.0.1", 10025), metavar="HOST:PORT")
    chosen = parser.parse_args()
    asyncio.run(run(Gate(chosen.whorl, chosen.onward), chosen.listen))
