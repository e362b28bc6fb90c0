r"""Escapes: `\x` for the character x and `\uXXXX` for a code point, read here and written here.

Every character that means something to the language can be written as text, and `unparse` depends on it:
`read(write_word(text), 0) == text`, and so for the other two writers.
"""

from __future__ import annotations

import re
import unicodedata

from whorl.errors import ParameterError, Span
from whorl.query.mistakes import Mistake

KEYWORDS = frozenset({"and", "or", "not"})

_ESCAPE = re.compile(
    r"\\u(?P<high>d[89ab][0-9a-f]{2})\\u(?P<low>d[c-f][0-9a-f]{2})"
    r"|\\u(?P<code>[0-9a-f]{4})"
    r"|\\(?P<literal>.)",
    re.IGNORECASE | re.DOTALL | re.ASCII,
)
_PLAIN_FIELD = re.compile(r"\d*[^\W\d][\w.-]*(:\d*[^\W\d][\w.-]*)*")
_SURROGATE = re.compile("[\ud800-\udfff]")
# ASCII punctuation that is text at the start of a word, and that is text further on. Two dots would be a range, and
# two slashes behind a field would make an address of it.
_SAFE_FIRST = frozenset("@#$,;./")
_SAFE_NEXT = _SAFE_FIRST | frozenset("-+%=!'")
_SAFE_ONCE = frozenset("./")


def read(raw: str, start: int) -> str:
    """Return the text that `raw`, typed at place `start` of the query, stands for."""

    def meant(match: re.Match[str]) -> str:
        span = Span(start + match.start(), start + match.end())
        if match["high"]:
            halves = chr(int(match["high"], 16)) + chr(int(match["low"], 16))
            return halves.encode("utf-16", "surrogatepass").decode("utf-16")
        return _code_point(match["code"], span) if match["code"] else _literal(match["literal"], span)

    return _ESCAPE.sub(meant, raw)


def _code_point(digits: str, span: Span) -> str:
    code = int(digits, 16)
    if 0xD800 <= code <= 0xDFFF:
        hint = "Write both halves next to each other, or type the character itself."
        raise Mistake(f"\\u{digits} is half of a surrogate pair", span, hint)
    return chr(code)


def _literal(char: str, span: Span) -> str:
    if char == "u":
        raise Mistake(r"\u needs four hexadecimal digits", span, r"As in \u00e9; a backslash is written \\.")
    return char


def write_word(text: str) -> str:
    r"""Return text as one unquoted word.

    >>> print(write_word("a b:c"), write_word("AND"), write_word("don't"))
    a\ b\:c \AND don't
    """
    check_text(text, "a term")
    if text.lower() in KEYWORDS:
        return "\\" + text
    # The blank before the text marks its first character.
    return "".join(map(_word_char, " " + text, text))


def _word_char(before: str, char: str) -> str:
    repeated = char == before and char in _SAFE_ONCE
    safe = char in (_SAFE_FIRST if before == " " else _SAFE_NEXT) and not repeated
    return _text_char(char, plain=safe or char.isalnum() or char == "_" or not char.isascii())


def write_quoted(text: str, special: str = "*?") -> str:
    r"""Return text between double quotes, with the `special` characters escaped too.

    >>> print(write_quoted('12" or \\?'))
    "12\" or \\\?"
    """
    check_unicode(text)
    return '"' + "".join(_text_char(char, plain=char not in '"\\' + special) for char in text) + '"'


def write_field(name: str) -> str:
    r"""Return a field's name, to be followed by its colon.

    >>> print(write_field("cm:name"), write_field("2024"))
    cm:name \2024
    """
    check_text(name, "a field")
    if name.lower() == "fingerprint":
        raise ParameterError(f"a field cannot be called {name}: that word starts a fingerprint search")
    if _PLAIN_FIELD.fullmatch(name) and not name.startswith("FINGERPRINT:"):
        return name
    # An escaped first character makes a name of anything, even of digits alone.
    first = "" if name[0].isalpha() else name[0]
    rest = name[len(first) :]
    return "".join(_text_char(char, plain=False) for char in first) + "".join(
        _text_char(char, plain=char.isalnum() or char == "_") for char in rest
    )


def _text_char(char: str, *, plain: bool) -> str:
    if unicodedata.category(char) == "Cc" or (char != " " and char.isspace()):
        return f"\\u{ord(char):04x}"
    return char if plain else "\\" + char


def check_text(text: str, what: str) -> None:
    """Raise ParameterError for a text that no query can hold."""
    if not text:
        raise ParameterError(f"{what} cannot be empty")
    check_unicode(text)


def check_unicode(text: str) -> None:
    """Raise ParameterError for half of a surrogate pair, which is no character."""
    if _SURROGATE.search(text):
        raise ParameterError(f"a lone surrogate is not text, got {text!r}")
