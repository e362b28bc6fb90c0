"""Candidates compared batch by batch, as all at once; without a Spark."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.duplicates.sets import SMALL, families, question, sketches_of
from tests.duplicates.spark.spark_runtime import QUIET
from whorl.duplicates.verify import measured, verified

pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")
pytestmark = QUIET


@pytest.mark.slow
@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(1, 7), st.booleans())
def test_batches_are_compared_as_the_whole(seed: int, rows: int, is_measured: bool) -> None:
    """
    However pairs are cut into batches, and in whatever order they come, with a document of several pairs there once
    for each of them.
    """
    from whorl.duplicates.spark.frames import packed
    from whorl.duplicates.spark.verify import _batches

    chance = random.Random(seed)
    sets = [each for each in families(chance, 3, 400) if each]
    sketches = sketches_of(sets, SMALL)
    made = [sketches.sketch(place) for place in range(len(sets))]
    keys = np.array(sorted(chance.getrandbits(64) - (1 << 63) for _ in sets), np.int64)
    both = [(a, b) for b in range(len(sets)) for a in range(b)]
    asked = question("jaccard", 30)
    compare = measured if is_measured else partial(verified, question=asked)
    a, b = np.array(both, np.int64).reshape(-1, 2).T
    whole = compare(sketches, a, b)
    columns = (keys[whole.a], keys[whole.b], whole.sizes_a, whole.sizes_b, whole.shared, whole.low, whole.high)
    expected = sorted(zip(*(column.tolist() for column in columns), strict=True))

    chance.shuffle(both)
    given_rows = [
        {
            "a": int(keys[a]),
            "b": int(keys[b]),
            "size_a": made[a].size,
            "size_b": made[b].size,
            "hashes_a": packed(made[a].hashes, SMALL),
            "hashes_b": packed(made[b].hashes, SMALL),
        }
        for a, b in both
    ]
    batches = (pa.RecordBatch.from_pylist(given_rows[at : at + rows]) for at in range(0, len(given_rows), rows))
    found = [row for batch in _batches(batches, SMALL, compare) for row in batch.to_pylist()]
    assert sorted(tuple(row.values()) for row in found) == expected
