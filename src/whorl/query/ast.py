"""Syntax tree of a query; each node has its position in the text. Also the parser's options and limits.

Equality ignores positions, so unparsing a tree and parsing the text gives an equal tree. The tree is independent of signatures and
engines; `whorl.query.plan.nodes` interprets it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import TypeAlias

from whorl.errors import Span

# Maximum number of levels above the leaves. Python compares and prints nested dataclasses by recursion, whose default
# limit is reached at about 150 levels.
MAX_DEPTH = 100

_NOWHERE = Span(0, 0)


def _span() -> Span:
    return field(default=_NOWHERE, compare=False, repr=False)


class Form(Enum):
    """Index of a field to search: the field's own, the untokenised one (`=`), or the tokenised one (`~`)."""

    DEFAULT = ""
    EXACT = "="
    TOKENISED = "~"


@dataclass(frozen=True, slots=True)
class Term:
    """`word` or `field:word`; the field is None for the default text fields."""

    text: str
    field: str | None = None
    form: Form = Form.DEFAULT
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Phrase:
    """`"some words"~slop`: the words in order and adjacent, once they are moved by at most `slop` places in all."""

    text: str
    field: str | None = None
    form: Form = Form.DEFAULT
    slop: int | None = None
    span: Span = _span()


class Joker(Enum):
    ANY = "*"
    ONE = "?"


#: Pattern of a word or a whole value: literal text and wildcard characters.
Pattern: TypeAlias = tuple[str | Joker, ...]


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`wh*t?`: literal pieces and at least one wildcard; pieces are never empty, and never two in a row.

    A number after it, as in `wh*t~0.8`, is the fuzziness, which Alfresco's grammar accepts but no engine supports.
    """

    pattern: Pattern
    field: str | None = None
    form: Form = Form.DEFAULT
    is_phrase: bool = False
    fuzziness: Decimal | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Fuzzy:
    """`word~0.8`: words at least this similar, a fraction in [0, 1]; a number above 1 limits the edits."""

    text: str
    similarity: Decimal
    field: str | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Bound:
    """One bound of a range, as typed: a word, a number, a date or date math."""

    text: str
    is_inclusive: bool = True


@dataclass(frozen=True, slots=True)
class Range:
    """`[low TO high]`, `<low TO high>`, `low..high`; a bound that is None is open (`*`, MIN, MAX)."""

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
    """`FINGERPRINT:<reference>[_<overlap>[_<probability>]]`.

    The two numbers are fractions in (0, 1]: `_20` and `_0.2` are both Decimal("0.2").

    Numbers inside the quotes, as in `"my_50"`, may belong to the id: `whole` is then the id including them, which takes
    precedence if a document has it.
    """

    reference: str
    overlap: Decimal | None = None
    probability: Decimal | None = None
    whole: str | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Template:
    """`%field` or `%(field field)` in a template: placeholder for the searched words in each of these fields."""

    fields: tuple[str, ...]
    span: Span = _span()


class Operator(Enum):
    """Operator between adjacent words."""

    OR = "OR"
    AND = "AND"


class Occur(Enum):
    """Role of a clause in a `Clauses` group."""

    MUST = "+"
    SHOULD = ""
    MUST_NOT = "-"


@dataclass(frozen=True, slots=True)
class Clause:
    occur: Occur
    child: Node


@dataclass(frozen=True, slots=True)
class Clauses:
    """`+a -b c`: every + must match, no - may, and others add to the score (or must match, if there is no +)."""

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
    """`NOT a`: the documents that the child does not match."""

    child: Node
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Boost:
    """`a^2.5`: the child's score times the factor, which is above zero."""

    child: Node
    factor: Decimal
    span: Span = _span()


def as_typed(pattern: Pattern) -> str:
    """Return a pattern as text, without escapes."""
    return "".join(piece.value if isinstance(piece, Joker) else piece for piece in pattern)


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
    """Yield a node and its descendants, parents first."""
    yield node
    for child in children(node):
        yield from walk(child)


def depth(node: Node) -> int:
    """Return the number of levels below a node; `MAX_DEPTH` + 1 for any deeper tree."""
    level: list[Node] = [node]
    for count in range(MAX_DEPTH + 1):
        level = [child for parent in level for child in children(parent)]
        if not level:
            return count
    return MAX_DEPTH + 1


#: Default limits in characters, and in words, phrases and fingerprints. Solr's own limit is 1,024 clauses.
DEFAULT_LENGTH, DEFAULT_CLAUSES = 65_536, 1_000
#: Upper bounds of these settings: engines need minutes for more fingerprints than that.
MAX_LENGTH, MAX_CLAUSES = 1_000_000, 10_000


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Size limits of one query.

    Args:
        length: Characters, at most `MAX_LENGTH`.
        depth: Levels of nesting, at most `MAX_DEPTH`.
        clauses: Words, phrases and fingerprints, at most `MAX_CLAUSES`.
    """

    length: int = DEFAULT_LENGTH
    depth: int = MAX_DEPTH
    clauses: int = DEFAULT_CLAUSES


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """Parse options: the arguments of `parse`, with templates as trees; `is_template` allows %field placeholders."""

    default_operator: Operator = Operator.OR
    field_operator: Operator = Operator.OR
    strict: bool = False
    templates: Mapping[str, Node] = field(default_factory=dict)
    is_template: bool = False
    limits: QueryLimits = field(default_factory=QueryLimits)
