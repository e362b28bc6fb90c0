"""Facets of a plan's hits: the types of requests to an engine, and of its results.

An engine computes all facets of a request at once, exactly if its documents are in one place; docs/alfresco.md explains
when counts of a cluster may be too small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

from whorl.query.plan.build import BoundNode
from whorl.query.plan.clauses import Kind, Value


@dataclass(frozen=True, slots=True)
class Matching:
    """Number of hits that another plan matches too."""

    node: BoundNode


@dataclass(frozen=True, slots=True)
class Values:
    """Whole values of a field with their document counts.

    Args:
        kind: The kind of the field's values; not words.
        place: The engine's name of the field.
        most: Maximum number of values, at least 1.
        least: Minimum document count of a value, at least 1.
        is_by_value: Whether to sort by ascending value; the default is by descending count, then ascending value. Texts
            are sorted by code point.
        beginning: Prefix of the values of a text field.
        within: Facets of the documents of each value.
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
    """Statistics of a numeric field; a value that a document has twice may count once or twice."""

    kind: Kind
    place: str


Facet: TypeAlias = Matching | Values | Numbers


@dataclass(frozen=True, slots=True)
class ValueCount:
    """A value, its document count, and the facets of these documents."""

    value: Value
    count: int
    within: tuple[Counted, ...] = ()


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of a set of numbers.

    Args:
        count: Number of values.
        smallest: The smallest value; 0 for an empty set.
        largest: The largest value; 0 for an empty set.
        total: Sum of the values.
        squares: Sum of the squares of the values.
    """

    count: int = 0
    smallest: float = 0.0
    largest: float = 0.0
    total: float = 0.0
    squares: float = 0.0

    @classmethod
    def read(cls, *told: Any) -> Statistics:
        """Return statistics from a server's numbers, in the order of the attributes; None, for an empty set, becomes 0.

        Raises:
            TypeError: A part is not a number.
            ValueError: A part cannot be converted to a number.
        """
        count, *others = (0 if each is None else each for each in told)
        return cls(int(count), *map(float, others))

    def with_others(self, other: Statistics) -> Statistics:
        """Return the statistics of the union of two sets of numbers."""
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
        """The mean; 0 for an empty set."""
        return self.total / self.count if self.count else 0.0

    @property
    def deviation(self) -> float:
        """The standard deviation of a sample; 0 for fewer than two numbers.

        Source: Solr's StatsComponent, sqrt((n * sum of squares - sum²) / (n * (n - 1))).
        """
        if self.count < 2:
            return 0.0
        spread = self.count * self.squares - self.total**2
        return math.sqrt(max(spread, 0.0) / (self.count * (self.count - 1)))


#: Results of the three types of facets, in their order.
Counted: TypeAlias = int | tuple[ValueCount, ...] | Statistics
