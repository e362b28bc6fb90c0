"""Tests of document frequencies and prefixes, block by block, against plain sets; without a Spark session."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.duplicates.sets import COMPLETE, families, pair_options, sketches_of, truth
from tests.duplicates.spark.spark_runtime import QUIET
from whorl.duplicates.prefix_lengths import rounds

pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")
pytestmark = QUIET


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
    division into blocks; a document without shared hashes sends no hashes of the second count.
    """
    from whorl.duplicates.spark.frequencies_and_prefixes import (
        FREQUENCIES,
        IS_INDEXED,
        IS_PROBED,
        FrequencyCounter,
        frequencies_of,
    )
    from whorl.duplicates.spark.partitions_and_blocks import (
        Block,
        Partitioning,
        arrow_schema,
        decode_columns,
        narrow_type,
        sketch_row,
        unpack_hashes,
    )

    chance, wanted = random.Random(seed), pair_options(*question, recall=100)
    # Evenly distributed, so that the first count certainly has enough of them.
    alone = {(number << 64) // 100 + chance.getrandbits(56) for number in range(100)}
    sets = [family for family in families(chance, 4, 150) if family] + [alone]
    sketches, parts = sketches_of(sets, COMPLETE), Partitioning.with_count(count)
    keys = np.array(sorted(chance.getrandbits(64) - (1 << 63) for _ in sets), np.int64)
    everything = Block(keys, sketches, np.ones(keys.size, np.bool_))
    blocks = {
        part: sketch_row(part, everything, np.flatnonzero(parts.parts_of(keys) == part))
        for part in parts.names.tolist()
    }
    one = rounds(wanted, int(sketches.counts.max()))[0]
    looking = FrequencyCounter(COMPLETE, parts, one, {0: int(sketches.sizes.min())})
    token = narrow_type(COMPLETE.bits)

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
    if looking.first_pass_range < 1:
        remainders = rows_of(looking.counts_of_remaining, known)
        own = {number >> (64 - COMPLETE.bits) for number in alone}
        assert own.isdisjoint(unpack_hashes(decode_columns(remainders, "tokens", token)[0]).tolist())
        known += frequencies(remainders)
    chosen = rows_of(looking.prefixes, known)
    tokens, of, flags = decode_columns(chosen, "tokens keys flags", f"{token} i8 u1")
    by: dict[int, dict[int, set[int]]] = {IS_INDEXED: defaultdict(set), IS_PROBED: defaultdict(set)}
    for hashed, key, what in zip(unpack_hashes(tokens).tolist(), of.tolist(), flags.tolist(), strict=True):
        for flag, hashes in by.items():
            if what & flag:
                hashes[key].add(hashed)
    for a, b in truth(sets, wanted):
        sides = sorted([a, b], key=lambda at: (len(sets[at]), keys[at]))
        smaller, larger = keys[sides].tolist()
        assert by[IS_INDEXED][smaller] & by[IS_PROBED][larger]


@given(st.lists(st.integers(0, 2**20 - 1), max_size=60), st.lists(st.integers(0, 2**20 - 1), max_size=60))
def test_frequencies_equal_a_plain_count(several: list[int], requested: list[int]) -> None:
    """
    The frequencies are right for hashes that several documents have, and 0 for others, even with an equal prefix.
    """
    from whorl.duplicates.spark.frequencies_and_prefixes import _FrequencyTable

    known = Counter(several)
    frequencies = np.array([*known.values()], np.int64)
    actual = _FrequencyTable(np.array([*known], np.uint64), frequencies, 20).frequencies(
        np.array(requested + several, np.uint64)
    )
    assert actual.tolist() == [known[number] for number in requested + several]
