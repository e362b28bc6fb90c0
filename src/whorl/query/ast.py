"""The query language's syntax tree: frozen values whose spans point at what was typed.

Spans take no part in equality, so a tree that is written out and read again is the same tree. The tree knows
nothing of signatures or engines; `whorl.plan` gives it its meaning.
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


@dataclass(frozen=True, slots=True)
class Term:
    """`word` or `field:word`; the field is None for the default text fields."""

    text: str
    field: str | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Phrase:
    """`"some words"` or `field:"some words"`: the words next to each other, in order."""

    text: str
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


Node: TypeAlias = Term | Phrase | Everything | Fingerprint | Clauses | And | Or | Not | Boost


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
