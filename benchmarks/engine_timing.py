"""Times two things in turns, so that other load on the machine affects both."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from time import perf_counter


@dataclass(frozen=True, slots=True)
class Ratio:
    """Ratio of the first method's time to the second's, over many queries.

    Args:
        median: Median of the queries' ratios.
        low: 10th percentile.
        high: 90th percentile.
        first_ms: Median time of the first method in milliseconds.
        second_ms: Median time of the second method in milliseconds.
    """

    median: float
    low: float
    high: float
    first_ms: float
    second_ms: float


def interleaved(ways: Mapping[str, Callable[[], object]], rounds: int, chance: random.Random) -> dict[str, float]:
    """Return each method's median time over the rounds, in seconds.

    Args:
        ways: Methods by name.
        rounds: Calls of each method, at least 1.
        chance: Shuffles the methods in each round, so that no method always follows the same other.
    """
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    order = list(ways)
    for _ in range(rounds):
        chance.shuffle(order)
        for name in order:
            begun = perf_counter()
            ways[name]()
            seconds[name].append(perf_counter() - begun)
    return {name: median(times) for name, times in seconds.items()}


def compared(queries: Sequence[Mapping[str, float]], first: str, second: str) -> Ratio:
    """Compare two methods that `interleaved` timed, over at least two queries."""
    ratios = [query[first] / query[second] for query in queries]
    deciles = quantiles(ratios, n=10, method="inclusive")
    first_ms, second_ms = (1000 * median(query[way] for query in queries) for way in (first, second))
    return Ratio(median(ratios), deciles[0], deciles[-1], first_ms, second_ms)
