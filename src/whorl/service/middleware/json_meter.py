"""Limits on JSON that is still arriving: the number of keys and values, and the depth of nesting.

Parsing a large body holds the interpreter's lock, on the event loop as in a thread, and blocks all other requests. This
meter only counts the marks outside strings, part by part, so an oversized body is refused before most of it has been
sent.
"""

from __future__ import annotations

from whorl.errors import ParameterError

#: Maximum number of keys and values of a request. A list of ids to delete may have 10,000.
MOST_VALUES = 20_000
#: Maximum depth of nested arrays and objects.
MOST_DEPTH = 100
_OTHER_BYTES = bytes(set(range(256)) - set(b",:[]{}"))
_OPENING, _CLOSING = b"[{", b"]}"


class JsonMeter:
    """Counts the keys and values of one JSON text in UTF-8.

    Args:
        what: The name of the text in messages.
        most_values: Maximum number of keys and values.
    """

    def __init__(self, what: str, most_values: int = MOST_VALUES) -> None:
        self._what, self._most_values = what, most_values
        self._values = self._depth = 0
        self._is_in_string = False
        self._held = b""

    def feed(self, part: bytes) -> None:
        """Count the next part.

        Raises:
            ParameterError: It has too many keys and values, or nests too deep.
        """
        part = self._held + part
        # An escape sequence may be split between two parts.
        self._held = b"\\" if (len(part) - len(part.rstrip(b"\\"))) % 2 else b""
        part = part.removesuffix(self._held).replace(b"\\\\", b"").replace(b'\\"', b"")
        pieces = part.split(b'"')
        marks = b"".join(pieces[self._is_in_string :: 2]).translate(None, _OTHER_BYTES)
        self._is_in_string ^= len(pieces) % 2 == 0
        self._values += len(marks) - sum(map(marks.count, (b"]", b"}")))
        if self._values > self._most_values:
            raise ParameterError(f"{self._what} has at most {self._most_values:,} keys and values")
        for mark in marks.translate(None, b",:"):
            self._depth += 1 if mark in _OPENING else -1
            if self._depth > MOST_DEPTH:
                raise ParameterError(f"{self._what} nests at most {MOST_DEPTH} levels deep")
            if self._depth < 0:
                raise ParameterError(f"{self._what} is no JSON: it closes more brackets than it opens")
