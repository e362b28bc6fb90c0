"""Detects the encoding of a text file, and decodes it."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from whorl.errors import DocumentError

#: Byte order marks. The marks of UTF-32 begin with the marks of UTF-16, so the marks of UTF-32 come first.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
#: Number of bytes to examine for the encoding of a text without a byte order mark.
EXAMINED_BYTES = 200_000
#: Maximum number of lines to examine, and of ASCII bytes in a line before a byte above 127.
_EXAMINED_LINES, _CONTEXT_BYTES = 10_000, 1000
#: Up to this number of bytes, a text is examined whole, because its ASCII words help to detect its language.
_SHORT_BYTES = 1000
#: Characters that real text rarely contains: C1 control characters, and replacements of undecodable bytes.
_BROKEN = re.compile("[\x80-\x9f\N{REPLACEMENT CHARACTER}]")
_CONTROLS = re.compile(rb"[\x80-\x9f]")
#: Groups of Greek, Cyrillic, Hebrew or Arabic letters.
_OTHER_LETTERS = re.compile("[\u0370-\u06ff]+")
#: A Latin letter next to a Greek, Cyrillic, Hebrew or Arabic letter.
_MIXED_LETTERS = re.compile("[A-Za-z][\u0370-\u06ff]|[\u0370-\u06ff][A-Za-z]")
#: Maximum ratio of matches of `_MIXED_LETTERS` to matches of `_OTHER_LETTERS` in a correctly decoded text.
_MOST_MIXED = 0.25
#: Minimum number of bytes above 127 for encodings of DOS and older Macs, which are easily confused with others.
_FEWEST_HIGH_BYTES = 3
_HIGH_BYTE = re.compile(b"[\x80-\xff]")
#: Number of bytes to decode at once, to count their characters in little memory.
_DECODED_AT_ONCE = 1 << 20
#: The declaration of a page's encoding, which the HTML standard requires in the first 1,024 bytes.
_DECLARATION = re.compile(rb"""<(?:meta\s[^>]*charset|\?xml\s[^>]*encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_DECLARING_BYTES = 1024
#: Supersets of encodings: many programs declare an encoding but write its superset, so browsers always read the
#: superset (https://encoding.spec.whatwg.org/#names-and-labels).
_SUPERSETS = {
    "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874", "gb2312": "gb18030",
    "gbk": "gb18030", "euc_kr": "cp949", "shift_jis": "cp932",
}  # fmt: skip
#: Escape sequences that begin Japanese or Korean text in encodings of 7 bits.
_ESCAPED = ((b"\x1b$)C", "iso2022_kr"), (b"\x1b$", "iso2022_jp_ext"))


def decode(raw: bytes, declared: str | None = None) -> str:
    """Decode the bytes of a text; raise DocumentError unless they are a text in a known encoding.

    `declared` is the encoding in the headers of a mail or a web page. It is ignored if it is unknown, if the text has a
    byte order mark, or if more than half of the characters outside ASCII are invalid in it.
    """
    marked = encoding_of_mark(raw)
    if marked is None and (named := _valid_declaration(raw, declared)):
        return raw.decode(named, errors="replace")
    encoding = marked or _escaped_encoding(raw) or ("utf-8" if is_mostly_utf_8(raw) else probable_encoding(raw))
    if encoding is None:
        raise DocumentError("this is not text in any recognisable encoding")
    text = raw.decode(encoding, errors="replace")
    broken = 0 if encoding.startswith("utf-8") else len(_BROKEN.findall(text))
    # Many null or broken characters mean UTF-16, or a binary file that begins like a text.
    if text.count("\0") + broken > max(1, len(text) // 100):
        if marked is None and (wide := _utf_16_without_mark(raw)):
            return raw.decode(wide)
        raise DocumentError("this is not text: it is full of NUL characters or of broken ones")
    return text


def is_mostly_utf_8(raw: bytes) -> bool:
    """Check whether at most half of the characters outside ASCII are invalid in UTF-8; ignore a cut last character."""
    return _is_mostly_valid(raw, "utf-8")


def _is_mostly_valid(raw: bytes, encoding: str) -> bool:
    # Nearly all texts are valid, and decoding is much faster than counting, so count characters only if it fails.
    with suppress(UnicodeDecodeError):
        raw.decode(encoding)
        return True
    # Invalid bytes become lone surrogates, which `encode` then leaves out. U+FFFD could also be in a valid text.
    decoder = codecs.getincrementaldecoder(encoding)("surrogateescape")
    outside_ascii = invalid = 0
    for start in range(0, len(raw) or 1, _DECODED_AT_ONCE):
        text = decoder.decode(raw[start : start + _DECODED_AT_ONCE])
        if not text.isascii():
            outside_ascii += len(text) - len(text.encode("ascii", "ignore"))
            invalid += len(text) - len(text.encode("utf-8", "ignore").decode())
    return 2 * invalid <= outside_ascii


def _valid_declaration(raw: bytes, declared: str | None) -> str | None:
    """Return Python's name of a declared encoding; None if it is unknown, or if the text is not valid in it."""
    if declared is None:
        return None
    try:
        # Some names begin with x-, such as x-sjis. A codec that does not decode to text, such as hex, raises
        # LookupError.
        name = codecs.lookup(declared.lower().removeprefix("x-")).name
        "".encode(name)
        name = _SUPERSETS.get(name, name)
        # ISO 8859 has rare control characters where Windows encodings have quotation marks and dashes. So a text with
        # these characters is probably in a Windows encoding.
        is_windows = name.startswith("iso8859") and _CONTROLS.search(raw)
        return name if not is_windows and _is_mostly_valid(raw, name) else None
    except (LookupError, ValueError):
        return None


def _escaped_encoding(raw: bytes) -> str | None:
    """Return the encoding if Japanese or Korean text switches character sets by escape sequences; otherwise None."""
    for escape, encoding in _ESCAPED:
        if escape in raw:
            with suppress(UnicodeDecodeError):
                raw.decode(encoding)
                return encoding
    return None


def _utf_16_without_mark(raw: bytes) -> str | None:
    """Return the encoding of a UTF-16 text without a byte order mark; None for other bytes.

    In Latin letters, the upper byte is null, and at an odd position if the text is little-endian.
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
    declaration = _DECLARATION.search(raw, 0, _DECLARING_BYTES)
    if declaration and (declared := _valid_declaration(raw, declaration[1].decode())):
        return declared
    # Few texts need this import, which takes long.
    from chardet import EncodingEra, detect_all

    lines = islice(_lines_near_high_bytes(raw), _EXAMINED_LINES)
    sample = raw if len(raw) <= _SHORT_BYTES else b"\n".join(lines)[:EXAMINED_BYTES]
    eras = EncodingEra.MODERN_WEB | EncodingEra.LEGACY_ISO
    if len(_HIGH_BYTE.findall(sample)) >= _FEWEST_HIGH_BYTES:
        eras |= EncodingEra.DOS | EncodingEra.LEGACY_MAC
    for guess in detect_all(sample, encoding_era=eras, exclude_encodings=["utf-8", "iso8859-1"]):
        if (encoding := guess["encoding"]) is None:
            return None
        text = sample.decode(encoding, errors="replace")
        # Reject a guess that mixes letters of two scripts in many words, such as Latin and Cyrillic.
        if _MOST_MIXED * len(_OTHER_LETTERS.findall(text)) >= len(_MIXED_LETTERS.findall(text)):
            # Bytes that are control characters in ISO 8859-15 are quotation marks and dashes in Windows-1252. So a text
            # with these bytes is probably in Windows-1252.
            return "cp1252" if encoding == "iso8859-15" and _CONTROLS.search(raw) else encoding
    return None


def _lines_near_high_bytes(raw: bytes) -> Iterator[bytes]:
    """Yield the lines that have bytes above 127, and the lines before and after each.

    Only bytes above 127 reveal the encoding; a few ASCII words around them reveal the language.
    """
    raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    at, is_after_high = 0, False
    # A text may have millions of ASCII lines, so search for the bytes instead of splitting it.
    while high := _HIGH_BYTE.search(raw, at):
        begin = raw.rfind(b"\n", at, high.start()) + 1 or at
        if begin > at:
            first_end, last_begin = raw.find(b"\n", at), raw.rfind(b"\n", at, begin - 1) + 1 or at
            if is_after_high:
                yield raw[at:first_end][-_CONTEXT_BYTES:]
            if last_begin > at or not is_after_high:
                yield raw[last_begin : begin - 1][-_CONTEXT_BYTES:]
        end = raw.find(b"\n", high.start())
        at, is_after_high = (len(raw) if end < 0 else end + 1), True
        yield raw[max(begin, high.start() - _CONTEXT_BYTES) : at].rstrip(b"\n")
    if is_after_high and at < len(raw):
        end = raw.find(b"\n", at)
        yield raw[at : len(raw) if end < 0 else end][-_CONTEXT_BYTES:]


def encoding_of_mark(raw: bytes) -> str | None:
    """Return the encoding of a text's byte order mark, or None if it has no mark."""
    return next((encoding for mark, encoding in _MARKS if raw.startswith(mark)), None)
