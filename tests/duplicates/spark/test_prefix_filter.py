"""Tests that the distributed search finds the same candidates as one process, and counts like plain sets."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.duplicates.sets import COMPLETE, families, pair_options, sketches_of, truth
from tests.duplicates.spark.made_blocks import SMALL, alike_sets, blocked
from tests.duplicates.spark.spark_runtime import QUIET
from tests.plain import sketch_of
from tests.sampling import sample, thorough
from whorl.connected_components import UnionFind
from whorl.duplicates import parse_pair_options
from whorl.duplicates.prefix_filter import HashBlock, find_candidates
from whorl.duplicates.prefix_lengths import JoinOptions, rounds
from whorl.duplicates.sketch_arrays import Sketches
from whorl.duplicates.sketching import sketch_key
from whorl.duplicates.verify_by_sketches import verify_pairs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")
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
    postponed. The verified pairs, counted or estimated, are equal in all numbers.
    """
    from whorl.duplicates.spark.compare_sketches import verify_candidates
    from whorl.duplicates.spark.prefix_filter import find_candidates as candidates_by_parts

    sets = alike_sets(random.Random(2))
    made = {
        sketch_key(sketch): sketch
        for members in sets
        for sketch in [sketch_of(np.array(list(members), np.uint64), SMALL)]
    }
    # Sorted by key, as in `find_pairs`.
    keys = sorted(made)
    options = parse_pair_options(metric, percent, 90)
    pairs: set[tuple[int, int]] = set()
    groups: Counter[frozenset[int]] = Counter()
    sketches = Sketches.from_sketches([made[key] for key in keys], SMALL)
    for item in find_candidates(sketches, JoinOptions(options, spanning_only=spanning_only, most_pairs=most)):
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
        documents, JoinOptions(options, spanning_only=spanning_only, most_pairs=most), most_at_once=0
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
    from whorl.duplicates.spark.compare_sketches import verify_candidates
    from whorl.duplicates.spark.prefix_filter import find_candidates as candidates_by_parts

    made = {
        sketch_key(sketch): sketch
        for members in alike_sets(random.Random(2))
        for sketch in [sketch_of(np.array(list(members), np.uint64), SMALL)]
    }
    documents, options = blocked(spark, made, SMALL, 3), parse_pair_options("jaccard", 80, 90)
    by_parts = [
        part.pairs for part in candidates_by_parts(documents, JoinOptions(options, most_pairs=15), most_at_once=0)
    ]
    assert len(by_parts) > 1
    expected = {tuple(row) for part in by_parts for row in verify_candidates(part, documents, options).collect()}
    (only,) = candidates_by_parts(documents, JoinOptions(options, spanning_only=spanning_only, most_pairs=15))
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


def in_parts(batches: Any) -> dict[int, list[Any]]:
    """Group rows by their part."""
    actual = defaultdict(list)
    for batch in batches:
        for at, part in enumerate(batch["part"].to_pylist()):
            actual[part].append(batch.slice(at, 1))
    return actual


@pytest.mark.slow
@settings(max_examples=12)
@given(
    st.integers(0, 2**32), st.integers(1, 4), st.sampled_from([("jaccard", 80), ("jaccard", 50), ("containment", 70)])
)
def test_every_pair_shares_a_prefix_hash(seed: int, count: int, question: tuple[str, int]) -> None:
    """
    For each pair above the threshold a hash indexed for the smaller document is probed by the larger one, for any
    division into blocks.
    """
    from whorl.duplicates.spark.arrow_blocks import (
        Block,
        Partitioning,
        arrow_schema,
        decode_columns,
        sketch_row,
    )
    from whorl.duplicates.spark.prefix_filter import (
        FREQUENCIES,
        IS_INDEXED,
        IS_PROBED,
        FrequencyCounter,
        frequencies_of,
    )

    chance, wanted = random.Random(seed), pair_options(*question, recall=100)
    sets = [family for family in families(chance, 4, 150) if family]
    sketches, parts = sketches_of(sets, COMPLETE), Partitioning.with_count(count)
    keys = np.array(sorted(chance.getrandbits(64) - (1 << 63) for _ in sets), np.int64)
    everything = Block(keys, sketches, np.ones(keys.size, np.bool_))
    blocks = {
        part: sketch_row(part, everything, np.flatnonzero(parts.parts_of(keys) == part))
        for part in parts.names.tolist()
    }
    one = rounds(wanted, int(sketches.counts.max()))[0]
    looking = FrequencyCounter(COMPLETE, parts, one, {0: int(sketches.sizes.min())})

    def frequencies(counted: list[Any]) -> list[Any]:
        return [row for rows in in_parts(counted).values() for row in frequencies_of(iter(rows), COMPLETE)]

    def rows_of(step: Any, known: list[Any]) -> list[Any]:
        came = in_parts(known)
        tables = {part: pa.Table.from_batches(rows, rows[0].schema) for part, rows in came.items()}
        nothing = pa.Table.from_batches([], arrow_schema(FREQUENCIES))
        return [
            row
            for part, block in blocks.items()
            for row in step(pa.Table.from_batches([block]), tables.get(part, nothing))
        ]

    known = frequencies([count for block in blocks.values() for count in looking.counts(iter([block]))])
    chosen = rows_of(looking.prefixes, known)
    tokens, of, flags = decode_columns(chosen, "tokens keys flags", COMPLETE.bits)
    by: dict[int, dict[int, set[int]]] = {IS_INDEXED: defaultdict(set), IS_PROBED: defaultdict(set)}
    for hashed, key, what in zip(tokens.tolist(), of.tolist(), flags.tolist(), strict=True):
        for flag, hashes in by.items():
            if what & flag:
                hashes[key].add(hashed)
    for a, b in truth(sets, wanted):
        sides = sorted([a, b], key=lambda at: (len(sets[at]), keys[at]))
        smaller, larger = keys[sides].tolist()
        assert by[IS_INDEXED][smaller] & by[IS_PROBED][larger]
