"""Bytes to text, in whatever encoding they are."""

from __future__ import annotations

import codecs

from whorl.errors import DocumentError

#: Text encodings that announce themselves, those of four bytes first: they begin as the ones of two do.
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
        DocumentError: The bytes are not text in any encoding that can be told.
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
                # Only the last character is broken: the file was cut.
                return raw.decode("utf-8", errors="replace")
            # Imported here: few texts need to be guessed at.
            from charset_normalizer import from_bytes

            best = from_bytes(raw).best()
            if best is None or b"\0" in raw:
                raise DocumentError("this is not text in any recognisable encoding") from None
            return str(best)
    # A few of these stand in real text; many are a binary file that happens to begin as text does.
    if text.count("\0") + broken > max(1, len(text) // 100):
        raise DocumentError("this is not text: it is full of NUL characters or of broken ones")
    return text


def announced(raw: bytes) -> str | None:
    """Return the encoding that a text announces; None where it does not."""
    return next((encoding for mark, encoding in _MARKS if raw.startswith(mark)), None)
