"""Decoding of text files in any encoding."""

from __future__ import annotations

import codecs

from whorl.errors import DocumentError

#: Byte order marks, with those of UTF-32 first: they begin with those of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)


def decode(raw: bytes) -> str:
    """Return the text of a file's bytes.

    Raises:
        DocumentError: The bytes are not text in any encoding that can be detected.
    """
    broken = 0
    if encoding := announced(raw):
        text = raw.decode(encoding, errors="replace")
        broken = 0 if encoding == "utf-8-sig" else text.count("\N{REPLACEMENT CHARACTER}")
    else:
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            if error.reason == "unexpected end of data":
                # Only the last character is broken: the file was truncated.
                return raw.decode("utf-8", errors="replace")
            # Imported here, because few texts need the detection.
            from charset_normalizer import from_bytes

            best = from_bytes(raw).best()
            if best is None or b"\0" in raw:
                raise DocumentError("this is not text in any recognisable encoding") from None
            return str(best)
    # Real text may contain a few of these; many indicate a binary file whose beginning looks like text.
    if text.count("\0") + broken > max(1, len(text) // 100):
        raise DocumentError("this is not text: it is full of NUL characters or of broken ones")
    return text


def announced(raw: bytes) -> str | None:
    """Return the encoding in a text's byte order mark, or None."""
    return next((encoding for mark, encoding in _MARKS if raw.startswith(mark)), None)
