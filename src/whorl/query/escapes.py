r"""Escapes: `\x` for x, `\uXXXX` for a code point, `_xHHHH_` for one in a field's name; read here and written here.

Every character that means something to the language can be written as text, and `unparse` depends on it:
`read(write_word(text), 0) == text`, and so for the other two writers.
"""

from __future__ import annotations

import re
import unicodedata

from whorl.errors import ParameterError, Span
from whorl.query.ast import Joker
from whorl.query.mistakes import Mistake

KEYWORDS = frozenset({"and", "or", "not"})
#: Fields whose values are qualified names, so that in TYPE:cm:content the field is TYPE alone.
QUALIFIED = (
    *("TYPE", "EXACTTYPE", "ASPECT", "EXACTASPECT", "CLASS", "QNAME", "ASSOCTYPEQNAME", "PRIMARYASSOCQNAME"),
    *("PRIMARYASSOCTYPEQNAME", "ISNULL", "ISNOTNULL", "ISUNSET", "EXISTS"),
)
#: A name between colons, and the namespace that can stand before it.
NAME = r"\d*(?:\\.|[^\W\d])(?:\\.|[\w.\-$#])*"
URI = r"\{[A-Za-z0-9\-._~\[\]@!$&'()*+,;=:/?#]*\}"

_ESCAPE = re.compile(
    r"\\u(?P<high>d[89ab][0-9a-f]{2})\\u(?P<low>d[c-f][0-9a-f]{2})"
    r"|\\u(?P<code>[0-9a-f]{4})"
    r"|\\(?P<literal>.)",
    re.IGNORECASE | re.DOTALL | re.ASCII,
)
_PLAIN_FIELD = re.compile(
    rf"(?!FINGERPRINT:|(?:{'|'.join(QUALIFIED)}):)(?P<uri>{URI})?(?P<name>\d*[^\W\d][\w.-]*(:\d*[^\W\d][\w.-]*)*)"
)
# An operator where it begins a word: a quote or an exclamation mark ends it.
_KEYWORD = re.compile(r"(?:and|or|not)(?:$|['!])", re.IGNORECASE)
_IN_NAME = re.compile(r"_x([0-9a-fA-F]{4})_")
_PIECE = re.compile(r"(?P<joker>[*?])|(?:\\.|[^*?\\])+", re.DOTALL)
_URL_PIECE = re.compile(r"(?P<joker>\*)|(?:\\.|[^*\\])+", re.DOTALL)
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


def read_pattern(raw: str, start: int, *, is_url: bool = False) -> tuple[str | Joker, ...]:
    """Return the pieces of a word: texts between jokers; in an address the question mark is text."""
    pieces: list[str | Joker] = []
    for match in (_URL_PIECE if is_url else _PIECE).finditer(raw):
        joker = match["joker"]
        pieces.append(Joker(joker) if joker else read(match[0], start + match.start()))
    return tuple(pieces)


def read_name(raw: str, start: int) -> str:
    """Return a field's name, whose `_xHHHH_` are characters."""
    uri = re.match(URI, raw)
    at = uri.end() if uri else 0

    def meant(match: re.Match[str]) -> str:
        return _code_point(match[1], Span(start, start + len(raw)))

    return raw[:at] + _IN_NAME.sub(meant, read(raw[at:], start + at))


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
    return write_pattern((text,))


def write_pattern(pattern: tuple[str | Joker, ...]) -> str:
    r"""Return an unquoted word with its jokers.

    >>> print(write_pattern(("a*", Joker.ANY, "b")))
    a\**b
    """
    first = pattern[0]
    written = ["\\"] if isinstance(first, str) and _KEYWORD.match(first) else []
    # The blank before the text marks its first character.
    before = " "
    for piece in pattern:
        if isinstance(piece, Joker):
            written.append(piece.value)
            before = piece.value
        else:
            written += map(_word_char, before + piece, piece)
            before = piece[-1]
    return "".join(written)


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

    >>> print(write_field("cm:name"), write_field("2024"), write_field("TYPE:cm"))
    cm:name \2024 TYPE\:cm
    """
    check_text(name, "a field")
    if name.lower() == "fingerprint":
        raise ParameterError(f"a field cannot be called {name}: that word starts a fingerprint search")
    plain = _PLAIN_FIELD.fullmatch(name)
    uri = plain["uri"] or "" if plain else ""
    # What looks like an escape in a name is none when its first underscore is written as one.
    rest = _IN_NAME.sub(lambda match: f"_x005f_{match[0][1:]}", name[len(uri) :])
    if plain:
        return uri + rest
    # An escaped first character makes a name of anything, even of digits alone.
    first = "" if rest[0].isalpha() else rest[0]
    return "".join(_text_char(char, plain=False) for char in first) + "".join(
        _text_char(char, plain=char.isalnum() or char == "_") for char in rest[len(first) :]
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
