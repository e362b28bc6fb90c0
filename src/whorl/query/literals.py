r"""Reads literals of the query language: escapes, names, numbers, ranges, fingerprints.

`whorl.query.unparse` writes literals. Every special character can be escaped: `unescape(write_word(text), 0) == text`.

A fingerprint is `FINGERPRINT:<id>[_<overlap>[_<probability>]]`:

    FINGERPRINT:1234_20_80          cut at each underscore; `\_` belongs to the id
    FINGERPRINT:"an id_20_80"       the same, unless there is a document `an id_20_80`
    FINGERPRINT:"my_doc.txt"        an id, because the text after the underscore is not a number
    FINGERPRINT:"my_doc_1"_20_80    the quoted part is the id, including underscores

As in Alfresco, a number above 1 is a percentage, and any other number a fraction: `_20` and `_0.2` are equal, `_1` is
100 percent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Context, Decimal
from typing import TYPE_CHECKING, NamedTuple

from whorl.errors import Span
from whorl.query import ast
from whorl.query.ast import Pattern, WildcardCharacter
from whorl.query.messages import Mistake, missing_id_error, shorten, span_of

if TYPE_CHECKING:
    from lark import Token

#: Fields whose values are qualified names. In TYPE:cm:content, the field is TYPE.
QUALIFIED = (
    *("TYPE", "EXACTTYPE", "ASPECT", "EXACTASPECT", "CLASS", "QNAME", "ASSOCTYPEQNAME", "PRIMARYASSOCQNAME"),
    *("PRIMARYASSOCTYPEQNAME", "ISNULL", "ISNOTNULL", "ISUNSET", "EXISTS"),
)
URI = r"\{[A-Za-z0-9\-._~\[\]@!$&'()*+,;=:/?#]*\}"

_ESCAPE = re.compile(
    r"\\u(?P<high>d[89ab][0-9a-f]{2})\\u(?P<low>d[c-f][0-9a-f]{2})"
    r"|\\u(?P<code>[0-9a-f]{4})"
    r"|\\(?P<literal>.)",
    re.IGNORECASE | re.DOTALL | re.ASCII,
)
_BEFORE_NAME = re.compile(rf"@?(?P<uri>(?:{URI})?)")
_NAME_AND_COLON = re.compile(r"((?:\\.|[^\s:\\])+)\s*(?::|$)", re.DOTALL)
#: Matches an escape of a character that XML names do not allow, such as _x0020_ for a blank.
IN_NAME = re.compile(r"_x([0-9a-fA-F]{4})_")
_PIECE = re.compile(r"(?P<wildcard>[*?])|(?:\\.|[^*?\\])+", re.DOTALL)
_URL_PIECE = re.compile(r"(?P<wildcard>\*)|(?:\\.|[^*\\])+", re.DOTALL)


class Typed(NamedTuple):
    """A piece of a query as typed, and its position in the query."""

    text: str
    start: int

    @property
    def span(self) -> Span:
        return Span(self.start, self.start + len(self.text))


def unescape(raw: str, start: int) -> str:
    """Return the unescaped text of `raw`, which begins at position `start` of the query."""

    def decode_escape(match: re.Match[str]) -> str:
        span = Span(start + match.start(), start + match.end())
        if match["high"]:
            halves = chr(int(match["high"], 16)) + chr(int(match["low"], 16))
            return halves.encode("utf-16", "surrogatepass").decode("utf-16")
        if match["code"]:
            return _code_point(match["code"], span)
        if match["literal"] == "u":
            raise Mistake(r"\u needs four hexadecimal digits", span, r"As in \u00e9; a backslash is written \\.")
        return match["literal"]

    return _ESCAPE.sub(decode_escape, raw)


def read_pattern(raw: str, start: int, *, is_url: bool = False) -> Pattern:
    """Split a word into literal texts and wildcards. In a URL, a question mark is literal."""
    return tuple(
        WildcardCharacter(match[0]) if match["wildcard"] else unescape(match[0], start + match.start())
        for match in (_URL_PIECE if is_url else _PIECE).finditer(raw)
    )


def read_word(token: Token) -> Pattern:
    start = span_of(token).start
    if token.type == "PHRASE":
        return read_pattern(token[1:-1], start + 1)
    return read_pattern(token, start, is_url=token.type == "ADDRESS")


def read_field(typed: str, start: int) -> str:
    """Return the field name in a token such as `@cm:name:`, without the leading @, the last colon and blanks."""
    opening = _BEFORE_NAME.match(typed)
    assert opening is not None, "all of it is optional"
    names = [read_name(part[1], start + part.start(1)) for part in _NAME_AND_COLON.finditer(typed, opening.end())]
    return opening["uri"] + ":".join(names)


def read_name(raw: str, start: int) -> str:
    uri = re.match(URI, raw)
    at = uri.end() if uri else 0

    span = Span(start, start + len(raw))
    return raw[:at] + IN_NAME.sub(lambda match: _code_point(match[1], span), unescape(raw[at:], start + at))


def _code_point(digits: str, span: Span) -> str:
    code = int(digits, 16)
    if 0xD800 <= code <= 0xDFFF:
        hint = "Write both halves next to each other, or type the character itself."
        raise Mistake(f"\\u{digits} is half of a surrogate pair", span, hint)
    return chr(code)


# Maximum number of characters in a number. The limit keeps the arithmetic exact and fast.
MAX_NUMBER_LENGTH = 20
MAX_BOOST = 1000
MAX_SIMILARITY = 100
MAX_SLOP = 1_000_000
DEFAULT_SLOP = ast.Proximity(("a", "b")).slop

EXACT = Context(prec=3 * MAX_NUMBER_LENGTH)
NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)")


def read_boost(typed: str, start: int) -> Decimal:
    """Read the factor in `^<factor>`; `typed` begins with the caret."""
    number = typed[1:].lstrip()
    at = start + len(typed) - len(number)
    if not number:
        raise Mistake("a number must follow ^", Span(start, start + 1), "As in ^2.5")
    factor = read_number(number, at, "a boost", "As in ^2.5")
    _require(0 < factor <= MAX_BOOST, f"a boost must be above 0 and at most {MAX_BOOST}", Typed(number, at))
    return factor


def read_similarity(typed: str, start: int) -> Decimal:
    similarity = read_number(typed, start, "a similarity", "As in word~0.8")
    limits = f"a similarity is 0 to 1, or a number of edits up to {MAX_SIMILARITY}"
    _require(0 <= similarity <= MAX_SIMILARITY, limits, Typed(typed, start), "As in word~0.8")
    return similarity


def read_slop(typed: str, start: int) -> int:
    slop = read_number(typed, start, "a slop", 'As in "some words"~2')
    is_valid = slop == slop.to_integral_value() and 0 <= slop <= MAX_SLOP
    _require(is_valid, f"a slop is a whole number up to {MAX_SLOP:,}", Typed(typed, start), 'As in "some words"~2')
    return int(slop)


def read_number(typed: str, start: int, name: str, hint: str = "") -> Decimal:
    """Read a decimal number without an exponent. Error messages call the number `name`, and end with `hint`."""
    part = Typed(typed, start)
    _require(bool(NUMBER.fullmatch(typed)), f"{name} must be a number", part, _number_hint(typed) or hint)
    if len(typed.lstrip("-0")) > MAX_NUMBER_LENGTH:
        raise Mistake(f"{name} has more than {MAX_NUMBER_LENGTH} characters", part.span)
    return Decimal(typed)


def _require(is_valid: bool, limits: str, part: Typed, hint: str = "") -> None:
    if not is_valid:
        raise Mistake(f"{limits}, got {shorten(part.text)}", part.span, hint)


def _number_hint(typed: str) -> str:
    if typed.endswith("%") and NUMBER.fullmatch(typed[:-1]):
        return f"Leave out the %: {shorten(typed[:-1])}"
    if NUMBER.fullmatch(typed.replace(",", ".", 1)):
        return f"Use a point: {shorten(typed.replace(',', '.', 1))}"
    if re.fullmatch(NUMBER.pattern + r"[eE][+-]?[0-9]+", typed):
        return "Write the number without an exponent."
    return ""


OPEN_ENDS = frozenset({"*", "MIN", "MAX"})


def read_bound(token: Token) -> str | None:
    """Return the text of one bound of a range; None for an open bound."""
    if token in OPEN_ENDS:
        return None
    start = span_of(token).start
    return unescape(token[1:-1], start + 1) if token[0] in "\"'" else unescape(token, start)


PREFIX = "FINGERPRINT:"
#: Numbers that can follow the id, in this order.
_NUMBERS = ("the overlap", "the probability")


def read_fingerprint(parts: Sequence[Typed], typed: str) -> ast.Fingerprint:
    """Return the node of a fingerprint; `parts` are its id, overlap and probability as typed.

    `typed` is the whole literal, for the hint that an underscore may belong to the id; "" for no hint.
    """
    if not parts[0].text:
        raise missing_id_error(parts[0].start)
    hint = _underscore_hint(typed)
    if extra := parts[1 + len(_NUMBERS) :]:
        raise Mistake("more than two numbers follow the id", Span(extra[0].start, parts[-1].span.end), hint)
    numbers = [_read_fraction(part, name, hint) for part, name in zip(parts[1:], _NUMBERS, strict=False)]
    overlap, probability = [*numbers, None, None][:2]
    return ast.Fingerprint(unescape(*parts[0]), overlap, probability)


def read_quoted_fingerprint(quoted: Typed, typed: str) -> ast.Fingerprint:
    """Return the node for a quoted id without numbers after the quotes."""
    parts = split_at_underscores(quoted)
    if len(parts) == 1 or any(match[0] == r"\_" for match in _UNDERSCORE.finditer(quoted.text)):
        # If the id has escaped underscores, the other underscores separate the numbers.
        return read_fingerprint(parts, typed)
    whole = unescape(*quoted)
    try:
        return replace(read_fingerprint(parts, typed), whole_reference=whole)
    except Mistake:
        return ast.Fingerprint(whole)


def split_at_underscores(typed: Typed) -> list[Typed]:
    """Split at unescaped underscores."""
    cuts = [match.start() for match in _UNDERSCORE.finditer(typed.text) if match[0] == "_"]
    begins, ends = [0, *(at + 1 for at in cuts)], [*cuts, len(typed.text)]
    return [Typed(typed.text[a:b], typed.start + a) for a, b in zip(begins, ends, strict=True)]


_UNDERSCORE = re.compile(r"\\.|_", re.DOTALL)


def with_quoted_id(typed: str) -> str:
    """Quote the id of a literal, but not its numbers; return "" if no valid number follows or the id has no `_`."""
    match = re.fullmatch(rf'([^"\\]*?)((?:_{NUMBER.pattern}){{1,{len(_NUMBERS)}}})', typed)
    if not match or "_" not in match[1]:
        return ""
    numbers = match[2].split("_")[1:]
    is_valid = all(len(number.lstrip("-0")) <= MAX_NUMBER_LENGTH and 0 < Decimal(number) <= 100 for number in numbers)
    return f'{PREFIX}"{match[1]}"{match[2]}' if is_valid else ""


def _read_fraction(part: Typed, name: str, hint: str) -> Decimal:
    """Read a percentage or fraction as a fraction in (0, 1]."""
    if not part.text:
        raise Mistake(f"{name} after _ is missing", part.span, hint)
    value = read_number(part.text, part.start, name, hint)
    _require(0 < value <= 100, f"{name} must be above 0 and at most 100 percent", part, hint)
    return EXACT.normalize(EXACT.divide(value, Decimal(100)) if value > 1 else value)


def _underscore_hint(typed: str) -> str:
    """Return a hint for error messages: how to write an id that contains underscores."""
    if not typed:
        return ""
    escaped = with_quoted_id(typed) or PREFIX + re.sub(
        r"(\\.)|_", lambda match: match[1] or r"\_", typed, flags=re.DOTALL
    )
    return f'If "_" belongs to the id, write {shorten(escaped, 200)} (in an id, \\_ is an underscore)'
