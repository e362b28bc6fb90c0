"""How words and values are spelled as terms of the index, and the regular expressions that fit many of them.

tantivy's schemas cannot grow and properties can be called anything, so their words stand in one tantivy field and all
whole values in another, each behind the name of its own field; name and content have fields of their own. The
expressions are for patterns with jokers and for ranges, which tantivy cannot ask of texts otherwise; it reads them as
Python's `re` does, but for `compiled`.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from whorl.fingerprint.hashing import JoinedWords
from whorl.fingerprint.words.shingles import joined_words
from whorl.fingerprint.words.tokenizer import tokens
from whorl.planning.clauses import Kind, Value
from whorl.planning.values import whole
from whorl.query.ast import Joker, Pattern

#: Fields whose words have a tantivy field to themselves, and the one for the words of all others.
OWN_FIELDS, OTHER_FIELDS = ("name", "content"), "words"
#: Where tantivy cuts, so that no term holds it.
BETWEEN_WORDS = " "
#: Control characters, which neither words nor fields hold: what stands behind a field; in the place of a word that was
#: folded to nothing; in that of a blank within a word; before a digest.
_AFTER_FIELD, _EMPTY, _BLANK, _DIGEST = "\x1f", "\x1e", "\x1c", "\x1d"
_ODD = re.compile(r"[\t\n\f\r\x1c-\x1f]")
#: tantivy drops terms of 64 KB without a word. Of a longer field or word its beginning is kept, and a digest of all.
_LONGEST_PART, _BEGINNING = 1000, 200
#: Characters of a text whose words are sooner found one by one than numpy has started.
_SHORT = 500
_LETTERS: Mapping[Kind, str] = {
    Kind.TEXT: "w",
    Kind.KEYWORD: "t",
    Kind.INTEGER: "i",
    Kind.FLOAT: "f",
    Kind.DATE: "d",
    Kind.BOOLEAN: "b",
}

_SYNTAX = re.compile(r"[\\.+*?()|\[\]{}^$#&~-]")
_ONE, _ANY = "(?s:.)", "(?s:.)*"
_FIRST, _LAST = "\0", "\U0010ffff"


def place(field: str) -> tuple[str, str]:
    """Return tantivy's field of a field's words, and what their terms begin with."""
    return (field, "") if field in OWN_FIELDS else (OTHER_FIELDS, f"{_part(field)}{_AFTER_FIELD}")


def term(field: str, word: str) -> str:
    """Return the one term for a word in a field; a field's name holds no control characters."""
    return place(field)[1] + (_part(word) or _EMPTY)


def joined(field: str, words: JoinedWords) -> str:
    """Return the terms of a field's words, with blanks between them."""
    text = words.encoded.tobytes().decode("utf-16-le")
    lengths = np.diff(words.starts) - 2
    has_blanks = text.count(BETWEEN_WORDS) > lengths.size - 1
    if field in OWN_FIELDS and not has_blanks and lengths.all() and lengths.max(initial=0) <= 2 * _LONGEST_PART:
        return text
    return BETWEEN_WORDS.join([term(field, word) for word in words.words()])


def joined_text(field: str, text: str, profile: str) -> str:
    """Return the terms of the words of a text that is a field's value, with blanks between them."""
    if len(text) > _SHORT:
        return joined(field, joined_words(text, profile))
    return BETWEEN_WORDS.join([term(field, word) for word in tokens(text, profile)])


def value_term(field: str, kind: Kind, value: Value) -> str:
    """Return the one term for a whole value of a field; values of a type are in the order of their terms."""
    return values_begin(field, kind) + sortable(kind, value)


def values_begin(field: str, kind: Kind) -> str:
    """Return what the terms of a field's whole values of a type begin with."""
    return f"{_part(field)}{_AFTER_FIELD}{_LETTERS[kind]}"


def presence(field: str, kind: Kind) -> str:
    """Return the term of documents that have anything in a field."""
    return f"{_part(field)}{_AFTER_FIELD}{_LETTERS[kind].upper()}"


def sortable(kind: Kind, value: Value) -> str:
    """Spell a value such that the order of the spellings is that of the values."""
    match kind:
        case Kind.INTEGER | Kind.DATE:
            return f"{int(value) + (1 << 63):016x}"
        case Kind.FLOAT:
            (bits,) = struct.unpack(">Q", struct.pack(">d", value))
            return f"{bits ^ ((1 << 64) - 1 if bits >> 63 else 1 << 63):016x}"
        case _:
            return whole(str(value))


def read_sortable(kind: Kind, spelled: str) -> Value:
    """Return the value that `sortable` has spelled; of a long text, what an index keeps of it.

    Raises:
        ValueError: No value of this type is spelled so.

    >>> [read_sortable(kind, sortable(kind, value)) for kind, value in ((Kind.FLOAT, -2.5), (Kind.BOOLEAN, True))]
    [-2.5, True]
    """
    match kind:
        case Kind.INTEGER | Kind.DATE:
            return int(spelled, 16) - (1 << 63)
        case Kind.FLOAT:
            bits = int(spelled, 16)
            bits ^= 1 << 63 if bits >> 63 else (1 << 64) - 1
            return float(struct.unpack(">d", struct.pack(">Q", bits))[0])
        case Kind.BOOLEAN:
            return spelled == sortable(kind, True)
        case _:
            return spelled


def _part(text: str) -> str:
    if len(text) > _LONGEST_PART or _ODD.search(text):
        digest = hashlib.blake2b(text.encode(), digest_size=32).hexdigest()
        text = f"{_ODD.sub('', text[:_BEGINNING])}{_DIGEST}{digest}"
    return text.replace(BETWEEN_WORDS, _BLANK)


def of_words(pattern: Pattern) -> Pattern:
    """Return what terms look like of words that look like a pattern."""
    return tuple(piece if isinstance(piece, Joker) else piece.replace(BETWEEN_WORDS, _BLANK) for piece in pattern)


def expression(pattern: Pattern) -> str:
    """Return the expression for what looks like a pattern.

    >>> expression(("a b", Joker.ANY))
    'a b(?s:.)*'
    """
    jokers = {Joker.ANY: _ANY, Joker.ONE: _ONE}
    return "".join(jokers[piece] if isinstance(piece, Joker) else _literal(piece) for piece in pattern)


@lru_cache(maxsize=256)
def compiled(pattern: Pattern) -> re.Pattern[str]:
    """Return what matches the texts that look like a pattern, in a time that grows with their length and no faster.

    What stands between two * is looked for once, where it comes first: no later place could be better.

    >>> bool(compiled(("a", Joker.ANY) * 40).fullmatch("az" * 39))
    False
    """
    segments: list[Pattern] = [()]
    for piece in pattern:
        if piece is Joker.ANY:
            segments.append(())
        else:
            segments[-1] += (piece,)
    first, *middle = map(expression, segments)
    last = [_ANY + middle.pop()] if middle else []
    return re.compile("".join([first, *(f"(?>(?s:.)*?{segment})" for segment in middle), *last]))


def between(low: str | None, high: str | None, *, includes_low: bool, includes_high: bool) -> str | None:
    """Return the expression for the texts of a range by code point, None where there can be none.

    An end that is None is open.

    >>> bool(re.fullmatch(between("b", "d", includes_low=True, includes_high=False), "cherry"))
    True
    """
    if high is None:
        found = _above(low or "", is_included=includes_low or low is None)
    elif low is None:
        found = _below(high, is_included=includes_high, has_empty=True)
    else:
        if low > high or (low == high and not (includes_low and includes_high)):
            return None
        at = next((at for at, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low))
        same, low, high = _literal(low[:at]), low[at:], high[at:]
        if low:
            higher = [f"{_literal(low[0])}(?:{each})" for each in _above(low[1:], is_included=includes_low)]
            lower = [
                f"{_literal(high[0])}(?:{each})" for each in _below(high[1:], is_included=includes_high, has_empty=True)
            ]
            found = [*higher, *_one_of(_next(low[0]), _previous(high[0])), *lower]
        elif high:
            found = _below(high, is_included=includes_high, has_empty=includes_low)
        else:
            return same
        found = [same + each for each in found]
    return f"(?:{'|'.join(found)})" if found else None


def _above(low: str, *, is_included: bool) -> list[str]:
    """Return what fits texts that are greater, whatever comes first in them."""
    greater = [_literal(low[:at]) + each for at, letter in enumerate(low) for each in _one_of(_next(letter), _LAST)]
    return [*greater, _literal(low) + (_ANY if is_included else _ONE + _ANY)]


def _below(high: str, *, is_included: bool, has_empty: bool) -> list[str]:
    less = [_literal(high[:at]) + each for at, letter in enumerate(high) for each in _one_of(_FIRST, _previous(letter))]
    beginnings = [_literal(high[:at]) for at in range(0 if has_empty else 1, len(high))]
    is_there = is_included and (has_empty or high)
    return [*less, *beginnings, *([_literal(high)] if is_there else [])]


def _one_of(first: str | None, last: str | None) -> list[str]:
    """Return what fits texts that begin with one of a range of characters."""
    if first is None or last is None or first > last:
        return []
    return [f"[{_literal(first)}-{_literal(last)}]{_ANY}"]


def _next(letter: str) -> str | None:
    number = ord(letter) + 1
    # No text that is kept holds a half of a surrogate pair.
    return None if letter == _LAST else chr(0xE000 if number == 0xD800 else number)


def _previous(letter: str) -> str | None:
    number = ord(letter) - 1
    return None if letter == _FIRST else chr(0xD7FF if number == 0xDFFF else number)


def _literal(text: str) -> str:
    return _SYNTAX.sub(r"\\\g<0>", text)
