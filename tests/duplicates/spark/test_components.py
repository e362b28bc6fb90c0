"""Tests of connected components against sets merged one link at a time."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.duplicates.spark.spark_runtime import QUIET

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = QUIET


def united(links: list[tuple[int, int]]) -> dict[int, int]:
    """Return the smallest node of each node's component, from sets merged one link at a time."""
    groups: dict[int, set[int]] = {}
    for a, b in links:
        joined = groups.get(a, {a}) | groups.get(b, {b})
        groups |= dict.fromkeys(joined, joined)
    return {node: min(group) for node, group in groups.items()}


@pytest.mark.parametrize("most", [1_000_000, 10])
def test_components_are_those_of_plain_sets(spark: SparkSession, most: int) -> None:
    """
    Components are right for a shuffled chain of 400 nodes, stars, trees, cliques and random links, with negative
    numbers, both on one worker and by large-star and small-star.
    """
    from whorl.duplicates.spark.components import components
    from whorl.duplicates.spark.frames import Kept

    chance = random.Random(9)
    chain = [chance.getrandbits(64) - (1 << 63) for _ in range(400)]
    links = list(pairwise(chain))
    links += [(1000, 1000 + at) for at in range(60)] + [(2000 + at // 2, 2000 + at) for at in range(1, 100)]
    links += [(3000 + a, 3000 + b) for a in range(12) for b in range(12)]
    links += [(4000 + chance.randrange(200), 4000 + chance.randrange(200)) for _ in range(90)]
    # A link of a node to itself makes no component.
    links = [(a, b) for a, b in links if a != b]
    frame = spark.createDataFrame(links, "a long, b long").repartition(5)
    rows = components(frame, Kept(), most).collect()
    assert len(rows) == len({row.key for row in rows})
    assert {row.key: row.root for row in rows} == united(links)


def test_no_links(spark: SparkSession) -> None:
    """
    Without links, or with links of a node to itself only, there are no components.
    """
    from whorl.duplicates.spark.components import components
    from whorl.duplicates.spark.frames import Kept

    assert components(spark.createDataFrame([(1, 1)], "a long, b long"), Kept()).isEmpty()
