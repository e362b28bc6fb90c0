"""Encodes words, values and patterns as index terms, in the same way for all engines.

Properties can have any name. So in embedded stores and in OpenSearch, one index field holds the words of all
properties, and another field holds all whole (not tokenized) values. Each term begins with the name of its property.
The words of name and content have separate fields.

tantivy supports wildcards and ranges of text only as regular expressions. These regular expressions mean the same in
tantivy and in Python's `re`. The results of `compile_pattern` are only for Python.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.fingerprint_texts import Outputs, hash_texts
from whorl.fingerprint.shingling import JoinedWords, Scheme
from whorl.model import Document
from whorl.query.ast import Pattern, WildcardCharacter
from whorl.query.plan.fields_and_values import encode_digest, encode_keyword, split_name
from whorl.query.plan.nodes import Kind, Value

#: Fields whose words have a separate index field; all other fields share one index field.
OWN_FIELDS = ("name", "content")
#: Separator of words. tantivy splits text at this character, so no term contains it.
BETWEEN_WORDS = " "
#: Control characters that occur neither in words nor in field names. They mark, in this order: the end of a field name,
#: a word that is empty after folding, a blank within a word, and a digest.
_AFTER_FIELD, _EMPTY, _BLANK, _DIGEST = "\x1f", "\x1e", "\x1c", "\x1d"
_CONTROL_CHARACTERS = re.compile(r"[\t\n\f\r\x1c-\x1f]")
#: tantivy silently drops terms of 64 KB or more. So a field name or word of more than `_LONGEST_PART` characters
#: becomes a prefix of `_PREFIX_LENGTH` characters and a digest.
_LONGEST_PART, _PREFIX_LENGTH = 1000, 200
_LETTERS = {Kind.TEXT: "w", Kind.KEYWORD: "t", Kind.INTEGER: "i", Kind.FLOAT: "f", Kind.DATE: "d", Kind.BOOLEAN: "b"}

_SYNTAX = re.compile(r"[\\.+*?()|\[\]{}^$#&~-]")
_ONE, _ANY = "(?s:.)", "(?s:.)*"
_FIRST, _LAST = "\0", "\U0010ffff"
#: Maximum number of automaton states for one expression of `split_range_above`, and number of states that each range of
#: characters adds. Both are estimates.
_MOST_STATES, _STATES_OF_RANGE = 950, 18
#: Maximum number of expressions that `split_range_above` returns. The automaton of each takes up to 4 MB of memory.
_MOST_EXPRESSIONS = 8

#: Sample text whose tokens reveal how an analyzer works: its word-break profile (a colon between letters, letters new
#: in Unicode 15 and 16), folding, stemming, and removal of markup, stop words or long words.
PROBE = (
    "one:two \U00011f04\U00011f05 three \U00010d4e\U00010d4f, (Don't) 3.14 x_y Straße ﬁne 中文 – naïve; "
    "The houses of John's churches are running <b>out</b> of R&amp;D, wi-fi; l'été et des eaux, der Hund und die "
    f"Häuser, los niños que, и не только, 日本語の文 {'long' * 80} 1,000 e-mail@example.org a_b?c=d end."
)


def clause_fields(name: str | None) -> tuple[str, ...]:
    """Return the fields that a clause searches: by default, name and content. The names text and TEXT mean content."""
    return OWN_FIELDS if name is None else ("content" if name in ("text", "TEXT") else name,)


def engine_fields_by_name(kinds: Iterable[tuple[str, Kind]]) -> dict[str, dict[Kind, str]]:
    """Map each field name and each type of its values to a field of the engine, in the format of `Fields.known`.

    `kinds` has pairs of a property's name and a type of its values. Use this function only for an index that whorl
    fills: there, the engine's field has the name of the property.
    """
    by_name: dict[str, dict[Kind, str]] = {"id": {Kind.KEYWORD: "id"}, "content": {Kind.TEXT: "content"}}
    for name, kind in [("name", Kind.KEYWORD), *kinds]:
        by_kind = by_name.setdefault(name, {})
        if kind is Kind.KEYWORD:
            by_kind[Kind.TEXT] = name
        by_kind[kind] = name
    return by_name


def word_prefix(field: str) -> str:
    """Return the prefix of a field's word terms: its name and a separator, or "" if it has its own index field."""
    return "" if field in OWN_FIELDS else f"{_encode_part(field)}{_AFTER_FIELD}"


def word_term(field: str, word: str) -> str:
    return word_prefix(field) + (_encode_part(word) or _EMPTY)


def plain_words(words: JoinedWords, longest: int, blank: str) -> str | None:
    """Join words with blanks; return None if a word is empty or longer than `longest` UTF-16 units.

    `blank` replaces a blank within a word.
    """
    text = words.encoded.tobytes().decode("utf-16-le")
    # Size in bytes of each word together with its separator.
    sizes = words.starts[1:] - words.starts[:-1]
    if not are_sizes_in_range(sizes, longest):
        return None
    units = words.encoded.view("<u2")
    is_inside = units == ord(BETWEEN_WORDS)
    # One blank separates two words. If the text has more blanks, some are inside words.
    if np.count_nonzero(is_inside) < max(1, sizes.size):
        return text
    is_inside[words.starts[1:-1] // 2 - 1] = False
    return np.where(is_inside, np.uint16(ord(blank)), units).tobytes().decode("utf-16-le")


def are_sizes_in_range(sizes: npt.NDArray[np.int64], longest: int) -> bool:
    """Check that no word is empty or longer than `longest` UTF-16 units.

    `sizes` has the size of each word in bytes, including a separator.
    """
    return not sizes.size or bool(sizes.min() > 2 and sizes.max() <= 2 * longest + 2)


def join_terms(field: str, words: JoinedWords) -> str:
    if field in OWN_FIELDS and (text := plain_words(words, _LONGEST_PART, _BLANK)) is not None:
        return text
    return BETWEEN_WORDS.join([word_term(field, word) for word in words.words()])


def property_words(
    documents: Iterable[Document], scheme: Scheme, *, splits_names: bool = True
) -> Iterator[list[tuple[str, JoinedWords]]]:
    """For each document, yield its name and its property values, as pairs of a field and the words of one value.

    A repeated value is yielded each time, because each occurrence has its own positions in the field.
    """

    def texts(document: Document) -> Iterator[tuple[str, str]]:
        yield "name", split_name(document.name) if splits_names else document.name
        for name, values in document.values().items():
            yield from ((name, value) for value in values)

    texts_of_documents = [[(name, text) for name, text in texts(document) if text] for document in documents]
    # Each call of the compiled loops has a fixed cost, so split all distinct texts in one call.
    distinct = list(dict.fromkeys(text for named in texts_of_documents for _, text in named))
    hashed = hash_texts(distinct, scheme, Outputs.WORDS, workers=1)
    words = {text: hashes.words for text, hashes in zip(distinct, hashed, strict=True)}
    for named in texts_of_documents:
        yield [(name, words[text]) for name, text in named]


def value_term(field: str, kind: Kind, value: Value) -> str:
    """Return the term for a whole value of a field. Terms of one type sort in the order of their values."""
    return value_prefix(field, kind) + encode_sortable(kind, value)


@lru_cache
def value_prefix(field: str, kind: Kind) -> str:
    return f"{_encode_part(field)}{_AFTER_FIELD}{_LETTERS[kind]}"


@lru_cache
def presence_term(field: str, kind: Kind) -> str:
    """Return the term for documents that have a value of this type in the field."""
    return f"{_encode_part(field)}{_AFTER_FIELD}{_LETTERS[kind].upper()}"


def encode_sortable(kind: Kind, value: Value) -> str:
    """Encode a value as text. The texts of one type sort in the order of their values."""
    match kind:
        case Kind.INTEGER | Kind.DATE:
            return f"{int(value) + (1 << 63):016x}"
        case Kind.FLOAT:
            (bits,) = struct.unpack(">Q", struct.pack(">d", value))
            return f"{bits ^ ((1 << 64) - 1 if bits >> 63 else 1 << 63):016x}"
        case _:
            return encode_keyword(str(value))


def decode_sortable(kind: Kind, spelled: str) -> Value:
    """Decode a value of `encode_sortable`; a shortened text stays shortened.

    >>> decode_sortable(Kind.FLOAT, encode_sortable(Kind.FLOAT, -2.5))
    -2.5
    """
    match kind:
        case Kind.INTEGER | Kind.DATE:
            return int(spelled, 16) - (1 << 63)
        case Kind.FLOAT:
            bits = int(spelled, 16)
            bits ^= 1 << 63 if bits >> 63 else (1 << 64) - 1
            return float(struct.unpack(">d", struct.pack(">Q", bits))[0])
        case Kind.BOOLEAN:
            return spelled == encode_sortable(kind, True)
        case _:
            return spelled


def _encode_part(text: str) -> str:
    """Encode a field name or word in a term: replace blanks, and shorten it if it is long or has control characters."""
    if len(text) > _LONGEST_PART or _CONTROL_CHARACTERS.search(text):
        text = f"{_CONTROL_CHARACTERS.sub('', text[:_PREFIX_LENGTH])}{_DIGEST}{encode_digest(text)}"
    return text.replace(BETWEEN_WORDS, _BLANK)


def encode_pattern(pattern: Pattern) -> Pattern:
    """Replace the blanks in a pattern by `_BLANK`, as in the terms of the index."""
    return tuple(
        piece if isinstance(piece, WildcardCharacter) else piece.replace(BETWEEN_WORDS, _BLANK) for piece in pattern
    )


def pattern_expression(pattern: Pattern) -> str:
    """Return the regular expression of a pattern.

    >>> pattern_expression(("a b", WildcardCharacter.ANY))
    'a b(?s:.)*'
    """
    wildcards = {WildcardCharacter.ANY: _ANY, WildcardCharacter.ONE: _ONE}
    return "".join(wildcards[piece] if isinstance(piece, WildcardCharacter) else _literal(piece) for piece in pattern)


@lru_cache(maxsize=256)
def compile_pattern(pattern: Pattern) -> re.Pattern[str]:
    """Compile a pattern to an expression that matches in linear time.

    The text between two * is matched only at its first occurrence, because a later occurrence would leave less room
    for the rest of the pattern.

    >>> bool(compile_pattern(("a", WildcardCharacter.ANY) * 40).fullmatch("az" * 39))
    False
    """
    segments: list[Pattern] = [()]
    for piece in pattern:
        if piece is WildcardCharacter.ANY:
            segments.append(())
        else:
            segments[-1] += (piece,)
    first, *middle = map(pattern_expression, segments)
    last = [_ANY + middle.pop()] if middle else []
    return re.compile("".join([first, *(f"(?>(?s:.)*?{segment})" for segment in middle), *last]))


def range_expression(low: str | None, high: str | None, *, includes_low: bool, includes_high: bool) -> str | None:
    """Return a regular expression for the strings in a range, by code point; None if the range is empty.

    If a limit is None, the range is open at this end.

    >>> bool(re.fullmatch(range_expression("b", "d", includes_low=True, includes_high=False), "cherry"))
    True
    """
    if low is None:
        low, includes_low = "", True
    if high is None:
        return f"(?:{'|'.join(_above(low, is_included=includes_low))})"
    if low > high or (low == high and not (includes_low and includes_high)):
        return None
    at = next((at for at, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low))
    same, low, high = _literal(low[:at]), low[at:], high[at:]
    if low:
        higher = _add_prefix(low[0], _above(low[1:], is_included=includes_low))
        lower = _add_prefix(high[0], _below(high[1:], is_included=includes_high, has_empty=True))
        alternatives = [*higher, *_one_of(_next(low[0]), _previous(high[0])), *lower]
    elif high:
        alternatives = _below(high, is_included=includes_high, has_empty=includes_low)
    else:
        return same
    return f"(?:{'|'.join(same + alternative for alternative in alternatives)})" if alternatives else None


def split_range_above(low: str, *, is_included: bool) -> tuple[list[str], str | None]:
    """Return regular expressions for the strings above `low`, and for `low` itself if `is_included`.

    tantivy refuses an expression with more than 1,000 states. So each expression covers a few characters of `low`, and
    matches the strings that first differ from `low` at one of these characters. If `low` has too many characters, also
    return a prefix of `low`: the caller must compare the strings with this prefix itself, because no expression
    matches them.

    >>> split_range_above("b", is_included=False)
    (['(?:[c-\U0010ffff])(?s:.)*', 'b(?s:.)(?s:.)*'], None)
    """
    expressions = list[str]()
    begin = 0
    while begin < len(low) and len(expressions) < _MOST_EXPRESSIONS:
        end, states = begin, len(low[:begin].encode())
        while end < len(low) and (states := states + len(low[end].encode()) + _STATES_OF_RANGE) <= _MOST_STATES:
            end += 1
        if end == begin:
            break
        if greater := _greater_letters(low[begin:end]):
            expressions.append(_literal(low[:begin]) + greater + _ANY)
        begin = end
    if begin < len(low):
        return expressions, low[:begin]
    return [*expressions, _literal(low) + (_ANY if is_included else _ONE + _ANY)], None


def _greater_letters(letters: str) -> str:
    """Return an expression for strings that first differ from `letters` by a greater letter; "" if none exist.

    The expression matches only the beginning of such a string, up to the greater letter.
    """
    greater = ""
    for letter in reversed(letters):
        higher = [] if letter == _LAST else [f"[{_literal(_next(letter) or '')}-{_literal(_LAST)}]"]
        same = [_literal(letter) + greater] if greater else []
        greater = f"(?:{'|'.join([*higher, *same])})" if higher or same else ""
    return greater


def _add_prefix(letter: str, alternatives: Iterable[str]) -> list[str]:
    return [f"{_literal(letter)}(?:{alternative})" for alternative in alternatives]


def _above(low: str, *, is_included: bool) -> list[str]:
    """Return expressions that together match all strings above `low`, and `low` itself if `is_included`."""
    greater = [_literal(low[:at]) + more for at, letter in enumerate(low) for more in _one_of(_next(letter), _LAST)]
    return [*greater, _literal(low) + (_ANY if is_included else _ONE + _ANY)]


def _below(high: str, *, is_included: bool, has_empty: bool) -> list[str]:
    """Return expressions that together match all strings below `high`, and the empty string if `has_empty`."""
    less = [_literal(high[:at]) + more for at, letter in enumerate(high) for more in _one_of(_FIRST, _previous(letter))]
    beginnings = [_literal(high[:at]) for at in range(0 if has_empty else 1, len(high))]
    is_there = is_included and (has_empty or high)
    return [*less, *beginnings, *([_literal(high)] if is_there else [])]


def _one_of(first: str | None, last: str | None) -> list[str]:
    """Return one expression, in a list, for strings that begin with a character in a range; [] for an empty range."""
    if first is None or last is None or first > last:
        return []
    return [f"[{_literal(first)}-{_literal(last)}]{_ANY}"]


def _next(letter: str) -> str | None:
    number = ord(letter) + 1
    # Stored texts have no surrogates, so skip these.
    return None if letter == _LAST else chr(0xE000 if number == 0xD800 else number)


def _previous(letter: str) -> str | None:
    number = ord(letter) - 1
    return None if letter == _FIRST else chr(0xD7FF if number == 0xDFFF else number)


def _literal(text: str) -> str:
    return _SYNTAX.sub(r"\\\g<0>", text)


def state_doublings(pattern: Pattern) -> int:
    """Count how often a pattern doubles the number of states of its automaton.

    A ? after a * and a letter doubles the states, because the letter may have matched at any earlier position.

    >>> state_doublings(("a", *map(WildcardCharacter, "?*"), "b", *map(WildcardCharacter, "??")))
    2
    """
    count, is_anywhere, may_have_begun = 0, False, False
    for piece in pattern:
        if piece is WildcardCharacter.ANY:
            is_anywhere, may_have_begun = True, False
        elif piece is WildcardCharacter.ONE:
            count += may_have_begun
        else:
            may_have_begun = is_anywhere
    return count
