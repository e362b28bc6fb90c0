"""What is counted among the documents that a plan matches: the questions that an engine takes, and its answers.

An engine answers all questions of a request at once, exactly where its documents lie in one place; docs/alfresco.md
says where a cluster's counts may be too small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

from whorl.planning.build import BoundNode
from whorl.planning.clauses import Kind, Value


@dataclass(frozen=True, slots=True)
class Matching:
    """How many of the documents another plan matches, too."""

    node: BoundNode


@dataclass(frozen=True, slots=True)
class Values:
    """The whole values of a field, each with how many of the documents have it.

    Args:
        kind: How the field keeps them; not as words.
        place: The engine's name for where.
        most: How many values, at least 1.
        least: Documents that a value has, at least 1.
        is_by_value: Whether the smallest value comes first; otherwise the most frequent one does, and of equally
            frequent ones the smallest. Texts are ordered by code point.
        beginning: What they begin with, of a field of texts.
        within: Questions about the documents of each value.
    """

    kind: Kind
    place: str
    most: int
    least: int = 1
    is_by_value: bool = False
    beginning: str = ""
    within: tuple[Facet, ...] = ()


@dataclass(frozen=True, slots=True)
class Numbers:
    """The statistics of a field of numbers; a value that a document has twice may count once or twice."""

    kind: Kind
    place: str


Facet: TypeAlias = Matching | Values | Numbers


@dataclass(frozen=True, slots=True)
class ValueCount:
    """A value, how many documents have it, and what was asked about these."""

    value: Value
    count: int
    within: tuple[Counted, ...] = ()


@dataclass(frozen=True, slots=True)
class Statistics:
    """What there is to say of some numbers.

    Args:
        count: How many there are.
        smallest: The smallest; 0 where there are none.
        largest: The largest; likewise.
        total: Their sum.
        squares: The sum of their squares.
    """

    count: int = 0
    smallest: float = 0.0
    largest: float = 0.0
    total: float = 0.0
    squares: float = 0.0

    @classmethod
    def read(cls, *told: Any) -> Statistics:
        """Return statistics of what a server tells, in their order; of no numbers some may be None.

        Raises:
            TypeError: A part is no number; likewise ValueError.
        """
        count, *others = (0 if each is None else each for each in told)
        return cls(int(count), *map(float, others))

    def with_others(self, other: Statistics) -> Statistics:
        """Return the statistics of two sets of numbers together."""
        if not (self.count and other.count):
            return self if self.count else other
        return Statistics(
            self.count + other.count,
            min(self.smallest, other.smallest),
            max(self.largest, other.largest),
            self.total + other.total,
            self.squares + other.squares,
        )

    @property
    def mean(self) -> float:
        """The mean; 0 of no numbers."""
        return self.total / self.count if self.count else 0.0

    @property
    def deviation(self) -> float:
        """The standard deviation of a sample; 0 of fewer than two numbers.

        Source: Solr's StatsComponent, sqrt((n * sum of squares - sum²) / (n * (n - 1))).
        """
        if self.count < 2:
            return 0.0
        spread = self.count * self.squares - self.total**2
        return math.sqrt(max(spread, 0.0) / (self.count * (self.count - 1)))


#: What a question is answered with, in the order of the three.
Counted: TypeAlias = int | tuple[ValueCount, ...] | Statistics
