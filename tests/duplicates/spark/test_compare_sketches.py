"""Tests of comparisons block by block against one comparison of all documents; without a Spark session."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.duplicates.sets import SMALL, families, pair_options, sketches_of
from tests.duplicates.spark.spark_runtime import QUIET
from whorl.duplicates.verify_by_sketches import measure_pairs, verify_pairs

pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")
pytestmark = QUIET


@pytest.mark.slow
@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(1, 7), st.booleans())
def test_comparison_of_blocks_equals_the_local_comparison(seed: int, count: int, is_measured: bool) -> None:
    """
    The results are equal for any division into blocks, whichever sketch is sent, and with repeated pairs.
    """
    from whorl.duplicates.spark.arrow_blocks import (
        Block,
        Partitioning,
        rows_by_part,
        sketch_row,
    )
    from whorl.duplicates.spark.compare_sketches import _compare_received, _select_sketches

    chance = random.Random(seed)
    sets = [family for family in families(chance, 3, 400) if family]
    keys = np.array(sorted(chance.getrandbits(64) - (1 << 63) for _ in sets), np.int64)
    sketches = sketches_of(sets, SMALL)
    both = [(a, b) for b in range(len(sets)) for a in range(b)]
    options = pair_options("jaccard", 30)
    a, b = np.array(both, np.int64).reshape(-1, 2).T
    whole = measure_pairs(sketches, a, b) if is_measured else verify_pairs(sketches, a, b, options)
    columns = (keys[whole.a], keys[whole.b], whole.sizes_a, whole.sizes_b, whole.shared, whole.low, whole.high)
    expected = sorted(zip(*(column.tolist() for column in columns), strict=True))

    parts = Partitioning.with_count(count)
    everything = Block(keys, sketches, np.ones(keys.size, np.bool_))
    blocks = {
        part: pa.Table.from_batches([sketch_row(part, everything, np.flatnonzero(parts.parts_of(keys) == part))])
        for part in parts.names.tolist()
    }
    chance.shuffle(both)
    turned = both if is_measured else [pair if chance.random() < 0.5 else pair[::-1] for pair in both]
    senders, receivers = keys[np.array(turned + turned[:5], np.int64).reshape(-1, 2).T]
    pairs = rows_by_part(parts.parts_of(senders), {"senders": senders, "receivers": receivers})
    sent: dict[int, list[Any]] = {part: [] for part in blocks}
    for row in pairs.to_pylist():
        own = pa.Table.from_pylist([row], pairs.schema)
        for batch in _select_sketches(blocks[row["part"]], own, SMALL, parts):
            for at in range(batch.num_rows):
                sent[batch["part"][at].as_py()].append(batch.slice(at, 1))
    compare = measure_pairs if is_measured else partial(verify_pairs, pair_options=options)
    actual = [
        tuple(row.values())
        for part, came in sent.items()
        if came
        for batch in _compare_received(blocks[part], pa.Table.from_batches(came), SMALL, compare)
        for row in batch.to_pylist()
    ]
    assert sorted(actual) == expected
