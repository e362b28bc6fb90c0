"""The query language's syntax tree: frozen values whose spans point at what was typed.

Spans take no part in equality, so a tree that is written out and read again is the same tree. The tree knows
nothing of signatures or engines; `whorl.planning.build` gives it its meaning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import TypeAlias

from whorl.errors import Span

# Levels above the leaves that a tree can have. Python compares and prints nested dataclasses by recursion, which at
# its default limit ends at about 150 levels.
MAX_DEPTH = 100

_NOWHERE = Span(0, 0)


def _span() -> Span:
    return field(default=_NOWHERE, compare=False, repr=False)


class Form(Enum):
    """Which index of a field is asked: its own, the untokenised one (`=`), or the tokenised one (`~`)."""

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
    """`"some words"~slop`: the words next to each other in order, or up to `slop` moves away from it."""

    text: str
    field: str | None = None
    form: Form = Form.DEFAULT
    slop: int | None = None
    span: Span = _span()


class Joker(Enum):
    """A character of a pattern that stands for others."""

    ANY = "*"
    ONE = "?"


#: What a word or a whole value looks like: text, and characters that stand for others.
Pattern: TypeAlias = tuple[str | Joker, ...]


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`wh*t?`: literal pieces and jokers, at least one of these; pieces are never empty, and never two in a row.

    A number behind it, as in `wh*t~0.8`, is the fuzziness, which Alfresco reads and nothing runs.
    """

    pattern: Pattern
    field: str | None = None
    form: Form = Form.DEFAULT
    is_phrase: bool = False
    fuzziness: Decimal | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Fuzzy:
    """`word~0.8`: words that are as similar as that, a fraction in [0, 1], or a number of edits above 1."""

    text: str
    similarity: Decimal
    field: str | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of a range, as typed: a word, a number, a date or date maths."""

    text: str
    is_inclusive: bool = True


@dataclass(frozen=True, slots=True)
class Range:
    """`[low TO high]`, `<low TO high>`, `low..high`; an end that is None is open (`*`, MIN, MAX)."""

    low: Bound | None
    high: Bound | None
    field: str | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Proximity:
    """`a *(3) b`: two or more words in this order, with at most `slop` others among them."""

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

    The two numbers are kept as fractions of one, in (0, 1]: `_20` and `_0.2` are both Decimal("0.2").
    """

    reference: str
    overlap: Decimal | None = None
    probability: Decimal | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Template:
    """`%field` or `%(field field)` in a template: what is searched for stands here, in each of these fields."""

    fields: tuple[str, ...]
    span: Span = _span()


class Operator(Enum):
    """What joins words that stand side by side."""

    OR = "OR"
    AND = "AND"


class Occur(Enum):
    """How a clause of a `Clauses` group takes part in it."""

    MUST = "+"
    SHOULD = ""
    MUST_NOT = "-"


@dataclass(frozen=True, slots=True)
class Clause:
    """One member of a group written with `+` and `-`."""

    occur: Occur
    child: Node


@dataclass(frozen=True, slots=True)
class Clauses:
    """`+a -b c`: every + must match, no - may, and the rest adds to the score (or must, when nothing is +)."""

    clauses: tuple[Clause, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class And:
    """`a AND b`: two or more children that must all match."""

    children: tuple[Node, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Or:
    """`a OR b`, or `a b`: two or more children of which at least one must match."""

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
    """Return a pattern as it is typed, without escapes."""
    return "".join(piece.value if isinstance(piece, Joker) else piece for piece in pattern)


Leaf: TypeAlias = Term | Phrase | Wildcard | Fuzzy | Range | Proximity | Everything | Fingerprint | Template
Node: TypeAlias = Leaf | Clauses | And | Or | Not | Boost


def children(node: Node) -> tuple[Node, ...]:
    """Return a node's direct children, in the order they were typed."""
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
    """Yield a node and everything below it, parents first."""
    yield node
    for child in children(node):
        yield from walk(child)


def depth(node: Node) -> int:
    """Return the levels below a node, or more than `MAX_DEPTH` where there are more."""
    level: list[Node] = [node]
    for count in range(MAX_DEPTH + 1):
        level = [child for parent in level for child in children(parent)]
        if not level:
            return count
    return MAX_DEPTH + 1
