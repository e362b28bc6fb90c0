"""Detects the encoding of a text file, and decodes it."""

from __future__ import annotations

import codecs
import re
import unicodedata
from contextlib import suppress

from whorl.errors import DocumentError

#: Byte order marks. UTF-32 comes first, because its marks begin with the marks of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
#: Number of bytes to examine for the encoding of a text without a byte order mark.
EXAMINED_BYTES = 200_000
#: Characters that real text rarely contains: C1 control characters, and replacements of undecodable bytes.
_BROKEN = re.compile("[\x80-\x9f\N{REPLACEMENT CHARACTER}]")
_CONTROLS = re.compile(rb"[\x80-\x9f]")
#: Groups of Greek, Cyrillic, Hebrew or Arabic letters.
_OTHER_LETTERS = re.compile("[\u0370-\u06ff]+")
#: Pairs of such a letter and an adjacent Latin letter.
_MIXED_LETTERS = re.compile("[A-Za-z][\u0370-\u06ff]|[\u0370-\u06ff][A-Za-z]")
#: Maximum ratio of matches of `_MIXED_LETTERS` to matches of `_OTHER_LETTERS` in a correctly decoded text.
_MOST_MIXED = 0.25
#: Minimum number of bytes above 127 for considering encodings of DOS and older Macs: with fewer such bytes, the
#: detection often confuses these encodings with usual ones.
_FEWEST_HIGH_BYTES = 3
_HIGH_BYTE = re.compile(b"[\x80-\xff]")
#: Escape sequences that begin Japanese or Korean text in encodings of 7 bits.
_ESCAPED = ((b"\x1b$)C", "iso2022_kr"), (b"\x1b$", "iso2022_jp_ext"))


def decode(raw: bytes) -> str:
    """Decode the bytes of a text; raise DocumentError unless they are a text in a known encoding."""
    marked = encoding_of_mark(raw)
    encoding = marked or _escaped_encoding(raw) or "utf-8"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        # If only the last character of UTF-8 is broken, the file was truncated.
        if encoding == "utf-8" and error.reason != "unexpected end of data":
            if (probable := probable_encoding(raw)) is None:
                raise DocumentError("this is not text in any recognisable encoding") from None
            encoding = probable
        text = raw.decode(encoding, errors="replace")
    broken = 0 if encoding.startswith("utf-8") else len(_BROKEN.findall(text))
    # If many characters are null or broken, this is UTF-16, or a binary file that begins like a text.
    if text.count("\0") + broken > max(1, len(text) // 100):
        if marked is None and (wide := _utf_16_without_mark(raw)):
            return raw.decode(wide)
        raise DocumentError("this is not text: it is full of NUL characters or of broken ones")
    return text


def _escaped_encoding(raw: bytes) -> str | None:
    """Return the encoding of a Japanese or Korean text that switches character sets by escape sequences, or None."""
    for escape, encoding in _ESCAPED:
        if escape in raw:
            with suppress(UnicodeDecodeError):
                raw.decode(encoding)
                return encoding
    return None


def _utf_16_without_mark(raw: bytes) -> str | None:
    """Return the byte order of a text in UTF-16 that has no byte order mark; None if the bytes are something else.

    The upper bytes of Latin letters, blanks and line ends are null, so most null bytes are at odd positions
    (little-endian) or at even positions (big-endian).
    """
    encoding = "utf-16-le" if raw[1::2].count(0) > raw[::2].count(0) else "utf-16-be"
    try:
        beginning = raw.decode(encoding)[:EXAMINED_BYTES]
    except UnicodeDecodeError:
        return None
    odd = sum(unicodedata.category(char) in ("Cc", "Cn", "Co") for char in beginning if char not in "\t\n\f\r")
    return encoding if odd <= len(beginning) // 100 else None


def probable_encoding(raw: bytes) -> str | None:
    """Return the most probable encoding of a text that is not in UTF-8; None if the bytes are not text."""
    if b"\0" in raw:
        return _utf_16_without_mark(raw)
    # Import this only when needed: few texts need the detection, and the import takes long.
    from chardet import EncodingEra, detect_all

    beginning = raw[:EXAMINED_BYTES]
    eras = EncodingEra.MODERN_WEB | EncodingEra.LEGACY_ISO
    if len(_HIGH_BYTE.findall(beginning)) >= _FEWEST_HIGH_BYTES:
        eras |= EncodingEra.DOS | EncodingEra.LEGACY_MAC
    for guess in detect_all(beginning, encoding_era=eras, exclude_encodings=["utf-8", "iso8859-1"]):
        if (encoding := guess["encoding"]) is None:
            return None
        text = beginning.decode(encoding, errors="replace")
        # Reject a guess that gives many words of mixed letters, such as a Latin word with a Cyrillic letter at its end.
        if _MOST_MIXED * len(_OTHER_LETTERS.findall(text)) >= len(_MIXED_LETTERS.findall(text)):
            # Control characters show that this is Windows-1252, where their bytes are quotation marks and dashes.
            return "cp1252" if encoding == "iso8859-15" and _CONTROLS.search(raw) else encoding
    return None


def encoding_of_mark(raw: bytes) -> str | None:
    """Return the encoding of a text's byte order mark, or None if it has no mark."""
    return next((encoding for mark, encoding in _MARKS if raw.startswith(mark)), None)
