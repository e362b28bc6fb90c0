"""Decoding of bytes in any encoding, and refusal of binary files."""

from __future__ import annotations

import pytest

from whorl.errors import DocumentError
from whorl.ingest.extraction.decoding import decode

GERMAN = "Müller aß am Donnerstag fünf Äpfel – und das „kostete“ 3 €. Größe ist überall schön, sagte Jürgen."


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_encodings_are_told_apart(encoding: str) -> None:
    """
    Encodings with a byte order mark, UTF-8 and Windows-1252 are recognised and give the same text.
    """
    assert decode(GERMAN.encode(encoding)) == GERMAN


def test_big_endian_marks() -> None:
    """
    A byte order mark determines the encoding and is not part of the text.
    """
    assert decode(b"\xfe\xff" + GERMAN.encode("utf-16-be")) == GERMAN
    assert decode(b"\0\0\xfe\xff" + GERMAN.encode("utf-32-be")) == GERMAN


@pytest.mark.parametrize(
    "raw",
    [
        bytes(range(256)) * 8,
        b"\0\0\0",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(200),
        b"\xff\xfe" + bytes(range(256)) * 8,
        b"\xff\xfe\0\0" + bytes(range(256)) * 8,
        "no mark".encode("utf-16-le"),
        bytes(range(128, 256)) * 10,
    ],
    ids=["bytes", "nul", "png", "like-utf-16", "like-utf-32", "utf-16-without-mark", "high"],
)
def test_what_is_not_text_is_refused(raw: bytes) -> None:
    """
    Binary files are refused, even if they begin with a byte order mark.
    """
    with pytest.raises(DocumentError, match="this is not text"):
        decode(raw)


def test_a_few_odd_characters_do_not_cost_a_text() -> None:
    """
    Texts with one NUL, with a truncated last character, or with earlier damage are read.
    """
    assert decode(b"word " * 100 + b"\0") == "word " * 100 + "\0"
    assert decode((GERMAN * 2).encode("utf-16")[:-1]) == (GERMAN * 2)[:-1] + "\ufffd"
    assert decode(GERMAN.replace("gen.", "ü").encode()[:-1]) == GERMAN.replace("gen.", "\ufffd")
    assert decode(b"a\0b c d") == "a\0b c d"
    damaged = "M\ufffdller a\ufffd"
    assert decode(damaged.encode()) == decode(damaged.encode("utf-8-sig")) == damaged
