"""Defines the syntax tree of a query, and the options and limits of the parser.

Each node has its position in the text. Equality ignores positions: a tree that is unparsed and parsed again is equal to
the original. The tree does not depend on signatures or engines; `whorl.query.plan.planner` turns it into a plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from itertools import islice
from typing import TypeAlias

from whorl.errors import Span

# Maximum depth of a tree. Python compares and prints nested dataclasses by recursion, up to about 150 levels.
MAX_DEPTH = 100

_NOWHERE = Span(0, 0)


def _span() -> Span:
    return field(default=_NOWHERE, compare=False, repr=False)


class Form(Enum):
    """How a clause searches a field: by whole values (`=`), by words (`~`), or as the type of the field suggests."""

    DEFAULT = ""
    EXACT = "="
    TOKENISED = "~"


@dataclass(frozen=True, slots=True)
class Term:
    """`word` or `field:word`. If the field is None, the default text fields are searched."""

    text: str
    field: str | None = None
    form: Form = Form.DEFAULT
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Phrase:
    """`"some words"~slop`: adjacent words in order, after at most `slop` moves of a word by one position."""

    text: str
    field: str | None = None
    form: Form = Form.DEFAULT
    slop: int | None = None
    span: Span = _span()


class WildcardCharacter(Enum):
    ANY = "*"
    ONE = "?"


#: A word or a whole value with wildcards: pieces of literal text, and wildcards.
Pattern: TypeAlias = tuple[str | WildcardCharacter, ...]


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`wh*t?`: a pattern with at least one wildcard. Literal pieces are not empty, and never adjacent.

    `fuzziness` is the number in `wh*t~0.8`, which Alfresco's grammar accepts, but no engine supports.
    """

    pattern: Pattern
    field: str | None = None
    form: Form = Form.DEFAULT
    is_phrase: bool = False
    fuzziness: Decimal | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Fuzzy:
    """`word~0.8`: words with at least this similarity. A number of 1 or more is the maximum number of edits instead."""

    text: str
    similarity: Decimal
    field: str | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Bound:
    """One bound of a range, as text: a word, a number, a date or date math."""

    text: str
    is_inclusive: bool = True


@dataclass(frozen=True, slots=True)
class Range:
    """`[low TO high]`, `<low TO high>`, `low..high`. A bound is None if the range is open there (`*`, MIN, MAX)."""

    low: Bound | None
    high: Bound | None
    field: str | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Proximity:
    """`a *(3) b`: two or more words in this order, with at most `slop` other words between them."""

    words: tuple[str, ...]
    slop: int = 100
    field: str | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Everything:
    """`*:*` or `*`: every document."""

    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """`FINGERPRINT:<reference>[_<overlap>[_<probability>]]`; the numbers are fractions: `_20` and `_0.2` are both 0.2.

    Numbers inside the quotes, as in `"my_50"`, may belong to the id: `whole_reference` is the id with these numbers. If
    a document with this id exists, the clause refers to it, and has no numbers.
    """

    reference: str
    overlap: Decimal | None = None
    probability: Decimal | None = None
    whole_reference: str | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Template:
    """Placeholder in a template: `%field` or `%(field field)`. The searched words are looked up in each field."""

    fields: tuple[str, ...]
    span: Span = _span()


class Operator(Enum):
    OR = "OR"
    AND = "AND"


class Occur(Enum):
    MUST = "+"
    SHOULD = ""
    MUST_NOT = "-"


@dataclass(frozen=True, slots=True)
class Clause:
    occur: Occur
    child: Node


@dataclass(frozen=True, slots=True)
class Clauses:
    """`+a -b c`: every + clause must match, and no - clause may match.

    Clauses without a sign only add to the score; if no clause has a +, at least one of them must match.
    """

    clauses: tuple[Clause, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class And:
    """`a AND b`: two or more children that must all match."""

    children: tuple[Node, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Or:
    """`a OR b`, or `a b`: two or more children; at least one must match."""

    children: tuple[Node, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Not:
    """`NOT a`: all documents that do not match the child."""

    child: Node
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Boost:
    """`a^2.5`: multiplies the child's score by a factor above zero."""

    child: Node
    factor: Decimal
    span: Span = _span()


def as_typed(pattern: Pattern) -> str:
    """Return the unescaped text of a pattern, with `*` and `?` for its wildcards."""
    return "".join(piece.value if isinstance(piece, WildcardCharacter) else piece for piece in pattern)


def join_pieces(pieces: Iterable[str | WildcardCharacter]) -> Pattern:
    joined: list[str | WildcardCharacter] = []
    for piece in pieces:
        if joined and isinstance(piece, str) and isinstance(joined[-1], str):
            joined[-1] += piece
        else:
            joined.append(piece)
    return tuple(joined)


Leaf: TypeAlias = Term | Phrase | Wildcard | Fuzzy | Range | Proximity | Everything | Fingerprint | Template
Node: TypeAlias = Leaf | Clauses | And | Or | Not | Boost


def children(node: Node) -> tuple[Node, ...]:
    match node:
        case And(children=members) | Or(children=members):
            return members
        case Clauses(clauses=clauses):
            return tuple(clause.child for clause in clauses)
        case Not(child=child) | Boost(child=child):
            return (child,)
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    yield node
    for child in children(node):
        yield from walk(child)


def levels(node: Node) -> Iterator[list[Node]]:
    level = [node]
    while level:
        yield level
        level = [child for parent in level for child in children(parent)]


def depth(node: Node) -> int:
    """Return the number of levels below a node, or `MAX_DEPTH` + 1 if there are more than `MAX_DEPTH`."""
    return sum(1 for _ in islice(levels(node), 1, MAX_DEPTH + 2))


#: Default limits of a query: characters; words, phrases and fingerprints together. Solr allows 1,024 clauses.
DEFAULT_LENGTH, DEFAULT_CLAUSES = 65_536, 1_000
#: Largest limits that users can set. Engines need minutes for a query with more fingerprints.
MAX_LENGTH, MAX_CLAUSES = 1_000_000, 10_000


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Limits of one query: number of characters, of nested levels, and of words, phrases and fingerprints together."""

    length: int = DEFAULT_LENGTH
    depth: int = MAX_DEPTH
    clauses: int = DEFAULT_CLAUSES


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """Options of `parse`, with parsed templates. `default_template` is the template for words that name no field.

    `is_template` is true if the parsed text is itself a template, which may contain placeholders such as %field.
    """

    default_operator: Operator = Operator.OR
    field_operator: Operator = Operator.OR
    strict: bool = False
    templates: Mapping[str, Node] = field(default_factory=dict)
    is_template: bool = False
    default_template: Node | None = None
    limits: QueryLimits = field(default_factory=QueryLimits)
