"""Typed clauses other than FINGERPRINT: tests on a field of known type that match or not, and score a weight."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from whorl.query.ast import Pattern


class Kind(Enum):
    """Type of a field: text split into words, or whole values of one type."""

    TEXT = "words"
    KEYWORD = "text"
    INTEGER = "whole numbers"
    FLOAT = "numbers"
    DATE = "dates"
    BOOLEAN = "true or false"


#: A whole value of a field; a date is in milliseconds since 1970.
Value: TypeAlias = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Words:
    """Adjacent words of `text` in a field (None: the default text fields); scores `weight`.

    `slop` is the maximum number of moves in all by one place; two words that change places count as two moves.
    """

    text: str
    field: str | None = None
    weight: float = 1.0
    slop: int = 0


@dataclass(frozen=True, slots=True)
class InOrder:
    """Words in this order with at most `slop` other words between them in all; words may be patterns."""

    words: tuple[Pattern, ...]
    slop: int = 0
    field: str | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Near:
    """Words within 1 or 2 `edits` of this one: insertions, deletions, substitutions or transpositions of neighbours."""

    word: str
    edits: int
    field: str | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Equal:
    """A whole value of a field."""

    field: str
    kind: Kind
    value: Value
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Like:
    """Whole text values of a field that match a pattern."""

    field: str
    pattern: Pattern
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Between:
    """Whole values of a field in a range; a bound that is None is open. Texts are ordered by code point."""

    field: str
    kind: Kind
    low: Value | None
    high: Value | None
    includes_low: bool = True
    includes_high: bool = True
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Present:
    """Any value in a field; `kind` is the field's type."""

    field: str
    kind: Kind
    weight: float = 1.0


#: A clause other than a FINGERPRINT: it selects documents, and scores its weight.
Test: TypeAlias = Words | InOrder | Near | Equal | Like | Between | Present
