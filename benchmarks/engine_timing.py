"""Times two things in turns, so that other load on the machine affects both."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from time import perf_counter


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as long the first of two takes as the second, over many queries.

    Attributes:
        median: Of the queries' ratios.
        low: Their 10th percentile.
        high: Their 90th percentile.
        first_ms: The first one's median over the queries, in milliseconds.
        second_ms: The second one's.
    """

    median: float
    low: float
    high: float
    first_ms: float
    second_ms: float


def interleaved(ways: Mapping[str, Callable[[], object]], rounds: int, chance: random.Random) -> dict[str, float]:
    """Return the median time of each method over the rounds, in seconds.

    Args:
        ways: By name.
        rounds: How often each is called, at least 1.
        chance: Deals a new order for each round, so that no way always follows the same other.
    """
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    order = list(ways)
    for _ in range(rounds):
        chance.shuffle(order)
        for name in order:
            begun = perf_counter()
            ways[name]()
            seconds[name].append(perf_counter() - begun)
    return {name: median(each) for name, each in seconds.items()}


def compared(queries: Sequence[Mapping[str, float]], first: str, second: str) -> Ratio:
    """Compare two ways over the queries, at least two, that `interleaved` timed."""
    ratios = [query[first] / query[second] for query in queries]
    deciles = quantiles(ratios, n=10, method="inclusive")
    first_ms, second_ms = (1000 * median(query[way] for query in queries) for way in (first, second))
    return Ratio(median(ratios), deciles[0], deciles[-1], first_ms, second_ms)
