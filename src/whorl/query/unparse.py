"""Turns a syntax tree back into query text, with special characters escaped."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from enum import IntEnum

from whorl.errors import ParameterError
from whorl.query import ast
from whorl.query.ast import Pattern, WildcardCharacter
from whorl.query.literals import (
    DEFAULT_SLOP,
    EXACT,
    IN_NAME,
    MAX_BOOST,
    MAX_NUMBER_LENGTH,
    MAX_SIMILARITY,
    MAX_SLOP,
    OPEN_ENDS,
    PREFIX,
    QUALIFIED,
    URI,
    Typed,
    read_quoted_fingerprint,
)

_PLAIN_FIELD = re.compile(
    rf"(?!FINGERPRINT:|(?:{'|'.join(QUALIFIED)}):)(?P<uri>{URI})?(?P<name>\d*[^\W\d][\w.-]*(:\d*[^\W\d][\w.-]*)*)"
)
# Words that the parser would read as operators, even before an apostrophe or an exclamation mark.
_KEYWORD = re.compile(r"(?:and|or|not)(?:$|['!])", re.IGNORECASE)
_SURROGATE = re.compile("[\ud800-\udfff]")
# ASCII punctuation that needs no backslash: `_SAFE_FIRST` at the start of a word, and `_SAFE_NEXT` later in a word.
_SAFE_FIRST = frozenset("@#$,;./")
_SAFE_NEXT = _SAFE_FIRST | frozenset("-+%=!'")
# Punctuation that needs a backslash if repeated: two dots would be a range, and two slashes after a field would be an
# address.
_SAFE_ONCE = frozenset("./")
# Bounds of a range that need no quotes.
_PLAIN = re.compile(r"[\w.:/+-]+", re.ASCII)
_PLAIN_ID = re.compile(r"[A-Za-z0-9./:@#$+-]+")


class _Precedence(IntEnum):
    """Precedence of a node. A node needs parentheses inside a node of higher precedence."""

    OR = 0
    SEQUENCE = 1
    AND = 2
    NOT = 3
    BOOST = 4
    PRIMARY = 5


def unparse(node: ast.Node) -> str:
    r"""Return canonical query text for a tree: `parse(unparse(node)) == node`.

    Raises:
        ParameterError: The tree cannot be written as a query. It has an empty word, an `Or` with one member, a
            `Clauses` without + and -, a number outside its range, or more than `ast.MAX_DEPTH` levels.

    >>> print(unparse(ast.And((ast.Term("pdf", "type"), ast.Not(ast.Term("or"))))))
    type:pdf AND NOT \or
    """
    if ast.depth(node) > ast.MAX_DEPTH:
        raise ParameterError(f"a query can be at most {ast.MAX_DEPTH} levels deep, this tree is deeper")
    return _write(node, _Precedence.OR)


def _write(node: ast.Node, least: _Precedence) -> str:
    tightness, text = _write_node(node)
    return text if tightness >= least else f"({text})"


def _write_node(node: ast.Node) -> tuple[_Precedence, str]:
    match node:
        case ast.Or(children=members):
            return _Precedence.OR, _join_members(" OR ", members, _Precedence.SEQUENCE)
        case ast.And(children=members):
            return _Precedence.AND, _join_members(" AND ", members, _Precedence.NOT)
        case ast.Clauses():
            return _Precedence.SEQUENCE, _clauses(node)
        case ast.Not(child=child):
            return _Precedence.NOT, "NOT " + _write(child, _Precedence.NOT)
        case ast.Boost(child=child, factor=factor):
            number = write_number(factor, "a boost", MAX_BOOST)
            return _Precedence.BOOST, f"{_write(child, _Precedence.PRIMARY)}^{number}"
        case _:
            return _Precedence.PRIMARY, _leaf(node)


def _join_members(operator: str, members: tuple[ast.Node, ...], least: _Precedence) -> str:
    if len(members) < 2:
        raise ParameterError(f"{operator.strip()} joins two or more, got {len(members)}")
    return operator.join(_write(member, least) for member in members)


def _clauses(node: ast.Clauses) -> str:
    if len(node.clauses) < 2 or all(clause.occur is ast.Occur.SHOULD for clause in node.clauses):
        raise ParameterError("Clauses has two or more members, one of them with + or -: use Or, Not or the member")
    return " ".join(
        clause.occur.value
        + _write(clause.child, _Precedence.AND if clause.occur is ast.Occur.SHOULD else _Precedence.NOT)
        for clause in node.clauses
    )


def _leaf(node: ast.Leaf) -> str:
    match node:
        case ast.Term(text=text, field=field, form=form):
            return _join_lead(form.value + _prefix(field), write_word(text))
        case ast.Phrase(text=text, field=field, form=form, slop=slop):
            distance = "" if slop is None else f"~{write_slop(slop)}"
            return form.value + _prefix(field) + write_quoted(text) + distance
        case ast.Wildcard():
            return _wildcard(node)
        case ast.Fuzzy(text=text, similarity=similarity, field=field):
            number = write_number(similarity, "a similarity", MAX_SIMILARITY, allows_zero=True)
            return f"{_prefix(field)}{write_word(text)}~{number}"
        case ast.Range(low=low, high=high, field=field):
            opening = "[" if low is None or low.is_inclusive else "<"
            closing = "]" if high is None or high.is_inclusive else ">"
            return f"{_prefix(field)}{opening}{_write_bound(low)} TO {_write_bound(high)}{closing}"
        case ast.Proximity(words=words, slop=slop, field=field):
            if len(words) < 2:
                raise ParameterError(f"a proximity search has two words or more, got {len(words)}")
            star = "*" if slop == DEFAULT_SLOP else f"*({write_slop(slop)})"
            return _prefix(field) + f" {star} ".join(map(write_word, words))
        case ast.Fingerprint():
            return write_fingerprint(node)
        case ast.Everything():
            return "*:*"
        case ast.Template(fields=fields):
            raise ParameterError(f"%({' '.join(fields)}) is only allowed in a template")


def _join_lead(lead: str, word: str) -> str:
    # In "a ~2", the parser would read ~2 as the similarity of a, so put a backslash before the digit.
    return f"{lead}\\{word}" if lead == "~" and word[0] in "0123456789." else lead + word


def _wildcard(node: ast.Wildcard) -> str:
    wildcards = [piece for piece in node.pattern if isinstance(piece, WildcardCharacter)]
    pairs = zip(node.pattern, node.pattern[1:], strict=False)
    if not wildcards or "" in node.pattern or any(isinstance(a, str) and isinstance(b, str) for a, b in pairs):
        raise ParameterError(
            f"a pattern has wildcards (* or ?), and between them texts that are not empty, got {node.pattern}"
        )
    if node.fuzziness is not None:
        raise ParameterError(f"a pattern with wildcards has no fuzziness, got {node.fuzziness}")
    lead = node.form.value + _prefix(node.field)
    if node.is_phrase:
        quoted = (
            piece.value if isinstance(piece, WildcardCharacter) else write_quoted(piece)[1:-1] for piece in node.pattern
        )
        return f'{lead}"{"".join(quoted)}"'
    if not lead and node.pattern == (WildcardCharacter.ANY,):
        raise ParameterError("* alone is every document: use Everything")
    return _join_lead(lead, write_pattern(node.pattern))


def _prefix(field: str | None) -> str:
    return "" if field is None else write_field(field) + ":"


def write_word(text: str) -> str:
    r"""Return text as one unquoted word.

    >>> print(write_word("a b:c"), write_word("AND"), write_word("don't"))
    a\ b\:c \AND don't
    """
    check_text(text, "a term")
    return write_pattern((text,))


def write_pattern(pattern: Pattern) -> str:
    r"""Return an unquoted word with its wildcards.

    >>> print(write_pattern(("a*", WildcardCharacter.ANY, "b")))
    a\**b
    """
    first = pattern[0]
    written = ["\\"] if isinstance(first, str) and _KEYWORD.match(first) else []
    # Escape the first character as after a blank.
    before = " "
    for piece in pattern:
        if isinstance(piece, WildcardCharacter):
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
    r"""Return text between double quotes; escape quotes, backslashes and the `special` characters.

    >>> print(write_quoted('12" or \\?'))
    "12\" or \\\?"
    """
    check_unicode(text)
    return '"' + "".join(_text_char(char, plain=char not in '"\\' + special) for char in text) + '"'


def quote(text: str) -> str:
    r"""Return a text as a quoted value that means exactly this text, anywhere in a query.

    Use it to insert user input into queries: `f"=kind:{quote(typed)}"` finds the documents with the value `typed`,
    `f"FINGERPRINT:{quote(document_id)}"` refers to the document with this id.

    Raises:
        ParameterError: The text has a lone surrogate, which no document can hold.

    >>> print(quote("*"), quote('say "hi"'), quote("my_50"))
    "\*" "say \"hi\"" "my\_50"
    """
    return write_quoted(text, special="*?_")


def write_field(name: str) -> str:
    r"""Return a field's name as query text, without the colon that follows it.

    >>> print(write_field("cm:name"), write_field("2024"), write_field("TYPE:cm"))
    cm:name \2024 TYPE\:cm
    """
    check_text(name, "a field")
    if name.lower() == "fingerprint":
        raise ParameterError(f"a field cannot be called {name}: that word starts a fingerprint search")
    plain = _PLAIN_FIELD.fullmatch(name)
    uri = plain["uri"] or "" if plain else ""
    # `_xNNNN_` is an escape in names, so escape the first underscore of a name that contains such text.
    local = IN_NAME.sub(lambda match: f"_x005f_{match[0][1:]}", name[len(uri) :])
    if plain:
        return uri + local
    # After an escaped first character, any text is a valid name, even digits only.
    return "".join(
        _text_char(char, plain=char.isalpha() or (at > 0 and (char.isalnum() or char == "_")))
        for at, char in enumerate(local)
    )


def suggest_field(name: str) -> str:
    r"""Return the name of an existing field in the form that a query takes, for a hint.

    A field with the name fingerprint can only follow EXISTS or be a sort key; both take the name without escapes.

    >>> print(suggest_field("Place of print"), suggest_field("fingerprint"))
    Place\ of\ print fingerprint
    """
    return name if name.lower() == "fingerprint" else write_field(name)


def _text_char(char: str, *, plain: bool) -> str:
    if unicodedata.category(char) == "Cc" or (char != " " and char.isspace()):
        return f"\\u{ord(char):04x}"
    return char if plain else "\\" + char


def check_text(text: str, what: str) -> None:
    """Raise ParameterError if a text is empty or has a lone surrogate; `what` names it in the message."""
    if not text:
        raise ParameterError(f"{what} cannot be empty")
    check_unicode(text)


def check_unicode(text: str) -> None:
    if _SURROGATE.search(text):
        raise ParameterError(f"a lone surrogate is not text, got {text!r:.80}")


def write_number(value: Decimal, name: str, most: int, *, allows_zero: bool = False) -> str:
    """Return a number without an exponent; raise ParameterError unless it is above 0 and at most `most`.

    `allows_zero` also permits 0. Also refuse a number of more than `MAX_NUMBER_LENGTH` characters.
    """
    if allows_zero and value == 0:
        return "0"
    if value.is_finite() and 0 < value <= most and value.adjusted() > -MAX_NUMBER_LENGTH:
        text = f"{EXACT.normalize(value):f}"
        if len(text.lstrip("0")) <= MAX_NUMBER_LENGTH and Decimal(text) == value:
            return text
    limits = f"above 0, at most {most} and of at most {MAX_NUMBER_LENGTH} characters"
    raise ParameterError(f"{name} must be {limits}, got {value}")


def write_slop(value: int) -> str:
    if not 0 <= value <= MAX_SLOP:
        raise ParameterError(f"a slop must be 0 to {MAX_SLOP:,}, got {value}")
    return str(value)


def _write_bound(bound: ast.Bound | None) -> str:
    if bound is None:
        return "*"
    check_unicode(bound.text)
    is_plain = _PLAIN.fullmatch(bound.text) and bound.text not in OPEN_ENDS
    return bound.text if is_plain else write_quoted(bound.text, special="")


def write_fingerprint(node: ast.Fingerprint) -> str:
    check_text(node.reference, "the id of a fingerprint search")
    if node.overlap is None and node.probability is not None:
        raise ParameterError("a fingerprint search with a probability needs an overlap")
    if node.whole_reference is not None:
        written = write_quoted(node.whole_reference, special="")
        if read_quoted_fingerprint(Typed(written[1:-1], 0), "") != node:
            raise ParameterError(f"the id {node.whole_reference!r:.80} does not have the parts of {node}")
        return PREFIX + written
    numbers = "".join("_" + _percent(value) for value in (node.overlap, node.probability) if value is not None)
    if _PLAIN_ID.fullmatch(node.reference):
        return PREFIX + node.reference + numbers
    # Without numbers after the quotes, the parser splits the id at underscores, so escape them.
    return PREFIX + write_quoted(node.reference, special="" if numbers else "_") + numbers


def _percent(fraction: Decimal) -> str:
    # The parser reads a number up to 1 as a fraction, so write a percentage up to 1 % as a fraction.
    is_percentage = fraction.is_finite() and fraction > Decimal("0.01")
    value = EXACT.multiply(fraction, Decimal(100)) if is_percentage else fraction
    return write_number(value, "an overlap or probability", most=100)
