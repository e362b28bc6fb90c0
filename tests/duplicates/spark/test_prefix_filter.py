"""Tests that the distributed search finds the same candidates as one process."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.duplicates.spark.made_blocks import SMALL, alike_sets, blocked
from tests.duplicates.spark.spark_runtime import QUIET
from tests.plain import sketch_of
from tests.sampling import sample, thorough
from whorl.duplicates import ask_pairs
from whorl.duplicates.clusters import UnionFind
from whorl.duplicates.prefix_filter import HashBlock, find_candidates
from whorl.duplicates.prefix_lengths import JoinOptions
from whorl.duplicates.sketch_arrays import Sketches
from whorl.duplicates.sketching import sketch_key
from whorl.duplicates.verify_sketches import verify_pairs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = QUIET


@pytest.mark.parametrize(
    ("metric", "percent", "spanning_only", "most", "partitions"),
    sample(
        [
            ("jaccard", 80, False, 20_000, 1),
            ("jaccard", 80, False, 15, 3),
            ("jaccard", 50, True, 15, 3),
            ("containment", 70, True, 40, 3),
        ],
        2,
        1,
    ),
)
def test_candidates_equal_the_local_search(
    spark: SparkSession, metric: str, percent: int, spanning_only: bool, most: int, partitions: int
) -> None:
    """
    Candidates and hash blocks equal those of one process, even if hashes make too many pairs and their documents are
    postponed; and so do the verified pairs, counted or estimated, with all their numbers.
    """
    from whorl.duplicates.spark.prefix_filter import find_candidates as candidates_by_parts
    from whorl.duplicates.spark.verify import verify_candidates

    sets = alike_sets(random.Random(2))
    made = {
        sketch_key(sketch): sketch
        for members in sets
        for sketch in [sketch_of(np.array(list(members), np.uint64), SMALL)]
    }
    # Sorted by key, as in `find_pairs`.
    keys = sorted(made)
    options = ask_pairs(metric, percent, 90)
    pairs: set[tuple[int, int]] = set()
    groups: Counter[frozenset[int]] = Counter()
    sketches = Sketches.from_sketches([made[key] for key in keys], SMALL)
    for item in find_candidates(sketches, JoinOptions(options, spanning_only=spanning_only, most=most)):
        if isinstance(item, HashBlock):
            groups[frozenset(keys[place] for place in item.indices.tolist())] += 1
        else:
            pairs |= {
                (min(keys[a], keys[b]), max(keys[a], keys[b]))
                for a, b in zip(item.smaller.tolist(), item.larger.tolist(), strict=True)
            }
    # Documents are postponed, and hash blocks occur, in exactly the intended cases.
    unlimited = sum(
        candidates.smaller.size
        for candidates in find_candidates(sketches, JoinOptions(options))
        if not isinstance(candidates, HashBlock)
    )
    assert (len(pairs) < unlimited) == (most < 20_000)
    assert bool(groups) == spanning_only

    documents = blocked(spark, made, SMALL, partitions)
    actual: Counter[frozenset[int]] = Counter()
    rows: set[tuple[int, int]] = set()
    collected = []
    for part in candidates_by_parts(
        documents, JoinOptions(options, spanning_only=spanning_only, most=most), most_at_once=0
    ):
        for row in part.pairs.collect():
            sides = (np.frombuffer(raw, np.int64).tolist() for raw in (row.senders, row.receivers))
            rows |= {(min(pair), max(pair)) for pair in zip(*sides, strict=True)}
        collected.append(part.pairs)
        by_hash_block: defaultdict[str, set[int]] = defaultdict(set)
        for row in part.hash_blocks.collect() if part.hash_blocks is not None else []:
            by_hash_block[row.hash_block].add(row.key)
        actual += Counter(map(frozenset, by_hash_block.values()))
    assert rows == pairs
    assert actual == groups

    a, b = (np.searchsorted(keys, side) for side in np.array(sorted(pairs)).T)
    expected = verify_pairs(sketches, a, b, options)
    assert 0 < np.count_nonzero(expected.is_exact) < len(expected) < len(pairs)
    numbers_of = (expected.sizes_a, expected.sizes_b, expected.shared, expected.low, expected.high)
    ids = np.array(keys)
    candidates = reduce(lambda one, other: one.unionByName(other), collected)
    assert {tuple(row) for row in verify_candidates(candidates, documents, options).collect()} == set(
        zip(*(column.tolist() for column in (ids[expected.a], ids[expected.b], *numbers_of)), strict=True)
    )


@thorough
@pytest.mark.parametrize("spanning_only", [False, True])
def test_one_worker_finds_the_remaining_pairs(spark: SparkSession, spanning_only: bool) -> None:
    """
    The pairs that one worker finds among postponed documents equal those of the distributed search in all numbers; with
    `spanning_only`, fewer pairs connect the same components.
    """
    from whorl.duplicates.spark.prefix_filter import find_candidates as candidates_by_parts
    from whorl.duplicates.spark.verify import verify_candidates

    made = {
        sketch_key(sketch): sketch
        for members in alike_sets(random.Random(2))
        for sketch in [sketch_of(np.array(list(members), np.uint64), SMALL)]
    }
    documents, options = blocked(spark, made, SMALL, 3), ask_pairs("jaccard", 80, 90)
    by_parts = [part.pairs for part in candidates_by_parts(documents, JoinOptions(options, most=15), most_at_once=0)]
    assert len(by_parts) > 1
    expected = {tuple(row) for part in by_parts for row in verify_candidates(part, documents, options).collect()}
    (only,) = candidates_by_parts(documents, JoinOptions(options, spanning_only=spanning_only, most=15))
    assert only.remainder is not None
    first = {tuple(row) for row in verify_candidates(only.pairs, documents, options).collect()}
    remaining = {tuple(row) for row in only.remainder.collect()}
    assert remaining - first
    assert first | remaining <= expected
    assert (first | remaining < expected) == spanning_only
    numbers = sorted(made)
    labels = []
    for pairs in (expected, first | remaining):
        hanging = UnionFind(len(numbers))
        hanging.join(*(np.searchsorted(numbers, [pair[side] for pair in pairs]) for side in (0, 1)))
        labels.append(hanging.labels().tolist())
    assert labels[0] == labels[1]
