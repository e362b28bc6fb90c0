"""Tests of clusters built from rows of members, and of connected components against sets merged one by one."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.duplicates.spark.spark_runtime import QUIET
from tests.sampling import FULL, sample
from whorl.duplicates.retention import Keep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")
pytestmark = QUIET

#: Id, size, key, root, value for the policy, run.
Member = tuple[str, int, int, int, float, int]
members = st.lists(
    st.tuples(
        st.text(min_size=1, max_size=3),
        st.integers(1, 9),
        st.integers(-3, 40),
        st.integers(-2, 4),
        st.one_of(st.just(math.nan), st.floats(-3, 3)),
        st.integers(0, 2),
    ),
    max_size=30,
    unique_by=lambda member: member[0],
)


def plain(rows: list[Member], keep: Keep, before: int) -> list[dict[str, Any]]:
    """Return the clusters of members by plain loops; members of runs before `before` stay."""
    by_root = defaultdict(list)
    for row in rows:
        by_root[row[3]].append(row)

    def loss(row: Member) -> float:
        if row[5] < before:
            return -math.inf
        if keep.by == "longest":
            return -row[1]
        return (math.inf if math.isnan(row[4]) else -row[4]) if keep.is_by_value else 0

    actual = []
    for members in by_root.values():
        if len(members) < 2 or all(row[5] < before for row in members):
            continue
        members.sort(key=lambda row: (row[5], row[0].encode()))
        principal = min(members, key=loss)
        actual.append(
            {
                "first": principal[2],
                "is_unknown": loss(principal) == math.inf,
                "key": [row[2] for row in members],
                "cluster": members[0][0],
                "documents": len(members),
                "id": [row[0] for row in members],
                "name": [row[0] * 2 for row in members],
                "shingles": [row[1] for row in members],
                "stays": [row[5] < before for row in members],
                "is_principal": [row is principal for row in members],
            }
        )
    return actual


@given(members, st.sampled_from([Keep("first"), Keep("longest"), Keep("largest", "quality")]), st.integers(0, 2))
def test_clusters_equal_a_plain_implementation(rows: list[Member], keep: Keep, before: int) -> None:
    """
    Clusters equal those of plain loops: members sorted by run and bytes of the id, first and principal member, and the
    part of the principal's key.
    """
    from whorl.duplicates.spark.arrow_blocks import Partitioning, arrow_schema
    from whorl.duplicates.spark.clusters import CLUSTER_MEMBERS, _cluster_partition

    names = ("id", "size", "key", "root", "loss", "run")
    sizes, ranks = np.array([row[1] for row in rows], np.int64), np.array([row[4] for row in rows], np.float64)
    stays = np.array([row[5] < before for row in rows], np.bool_)
    named = [
        {"name": row[0] * 2, "stays": row[5] < before, **dict(zip(names, row, strict=True)), "loss": loss}
        for row, loss in zip(rows, np.where(stays, -math.inf, keep.losses(sizes, ranks)).tolist(), strict=True)
    ]
    table = pa.Table.from_pylist(named, arrow_schema(CLUSTER_MEMBERS))
    parts = Partitioning.with_count(3)
    actual = [row for batch in _cluster_partition(iter(table.to_batches(7)), parts) for row in batch.to_pylist()]
    for row in actual:
        assert row.pop("part") == parts.parts_of(np.array([row["first"]], np.int64))[0]
    by_members = lambda row: row["id"]  # noqa: E731 - no two clusters have a member in common
    assert sorted(actual, key=by_members) == sorted(plain(rows, keep, before), key=by_members)


def united(links: list[tuple[int, int]]) -> dict[int, int]:
    """Return the smallest node of each node's component, from sets merged one link at a time."""
    groups: dict[int, set[int]] = {}
    for a, b in links:
        joined = groups.get(a, {a}) | groups.get(b, {b})
        groups |= dict.fromkeys(joined, joined)
    return {node: min(group) for node, group in groups.items()}


@pytest.mark.parametrize("most", sample([10, 1_000_000], 2))
def test_components_equal_a_plain_implementation(spark: SparkSession, most: int) -> None:
    """
    Components are right for a long shuffled chain, stars, trees, cliques and random links, with negative numbers, both
    on one worker and by large-star and small-star.
    """
    from whorl.duplicates.spark.arrow_blocks import MaterialisedRows
    from whorl.duplicates.spark.clusters import components

    chance = random.Random(9)
    # Each round of Spark halves the distance of a chain's ends.
    chain = [chance.getrandbits(64) - (1 << 63) for _ in range(400 if FULL else 12)]
    links = list(pairwise(chain))
    links += [(1000, 1000 + at) for at in range(60)] + [(2000 + at // 2, 2000 + at) for at in range(1, 100)]
    links += [(3000 + a, 3000 + b) for a in range(12) for b in range(12)]
    links += [(4000 + chance.randrange(200), 4000 + chance.randrange(200)) for _ in range(90)]
    # A link of a node to itself makes no component.
    links = [(a, b) for a, b in links if a != b]
    frame = spark.createDataFrame(links, "a long, b long").repartition(5)
    rows = components(frame, MaterialisedRows(), most).collect()
    assert len(rows) == len({row.key for row in rows})
    assert {row.key: row.root for row in rows} == united(links)


def test_no_links(spark: SparkSession) -> None:
    """
    Without links, or with links of a node to itself only, there are no components.
    """
    from whorl.duplicates.spark.arrow_blocks import MaterialisedRows
    from whorl.duplicates.spark.clusters import components

    assert components(spark.createDataFrame([(1, 1)], "a long, b long"), MaterialisedRows()).isEmpty()
