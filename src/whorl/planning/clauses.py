"""What a clause other than a FINGERPRINT asks of a field whose type is known: it matches or not and scores a weight."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from whorl.query.ast import Pattern


class Kind(Enum):
    """How a field keeps values: split into words, or whole."""

    TEXT = "words"
    KEYWORD = "text"
    INTEGER = "whole numbers"
    FLOAT = "numbers"
    DATE = "dates"
    BOOLEAN = "true or false"


#: A value as a field keeps it whole; a date in milliseconds since 1970.
Value: TypeAlias = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Words:
    """The words of `text`, next to each other, in a field (None: the default text fields); scores `weight`.

    With a slop, words may be moved, by so many places in all: two that change places are two moves.
    """

    text: str
    field: str | None = None
    weight: float = 1.0
    slop: int = 0


@dataclass(frozen=True, slots=True)
class InOrder:
    """Words in this order with at most `slop` others among them in all; some of the words may be patterns."""

    words: tuple[Pattern, ...]
    slop: int = 0
    field: str | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Near:
    """A word that at most `edits` insertions, deletions, changes or swaps of neighbours make of this one, 1 or 2."""

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
    """Whole text values of a field that look like a pattern."""

    field: str
    pattern: Pattern
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Between:
    """Whole values of a field in a range; an end that is None is open. Texts are ordered by code point."""

    field: str
    kind: Kind
    low: Value | None
    high: Value | None
    includes_low: bool = True
    includes_high: bool = True
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Present:
    """Any value in a field; `kind` is how the field keeps it."""

    field: str
    kind: Kind
    weight: float = 1.0


#: A clause that is no fingerprint: it chooses documents, and scores its weight.
Test: TypeAlias = Words | InOrder | Near | Equal | Like | Between | Present
