"""Columns of batches, packed and unpacked without a Spark."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.duplicates.spark.spark_runtime import QUIET
from tests.plain import sketch_of
from whorl.fingerprint.sketch.sketch import SketchScheme

pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")
pytestmark = QUIET


@given(
    st.lists(st.integers(0, 200), max_size=6),
    st.sampled_from([32, 40, 41, 63, 64]),
    st.integers(0, 2**32),
    st.integers(0, 2),
)
def test_sketches_of_a_batch(sizes: list[int], bits: int, seed: int, skipped: int) -> None:
    """
    Every sketch comes back, in as many whole bytes a hash as its bits take; a part of a batch is one, too.
    """
    from whorl.duplicates.spark.frames import packed, sketches_in

    chance = random.Random(seed)
    scheme = SketchScheme(k=64, floor_level=1, cap=128, lookup_k=64, bits=bits)
    made = [sketch_of(np.array([chance.getrandbits(64) for _ in range(size)], np.uint64), scheme) for size in sizes]
    raw = [packed(sketch.hashes, scheme) for sketch in made]
    assert [len(each) for each in raw] == [-(-bits // 8) * sketch.hashes.size for sketch in made]
    whole_sizes, hashes = pa.array([sketch.size for sketch in made], pa.int64()), pa.array(raw, pa.binary())
    found = sketches_in(whole_sizes.slice(skipped), hashes.slice(skipped), scheme)
    assert [found.sketch(place) for place in range(len(found))] == made[skipped:]


def test_bytes_by_hand() -> None:
    """
    The lowest byte first; 27 bits are four of them, 40 five.
    """
    from whorl.duplicates.spark.frames import packed

    assert packed(np.array([1, 0x0C030201], np.uint64), SketchScheme()) == bytes([1, 0, 0, 0, 1, 2, 3, 12])
    longer = packed(np.array([1, 0x0504030201], np.uint64), SketchScheme(bits=40))
    assert longer == bytes([1, 0, 0, 0, 0, 1, 2, 3, 4, 5])
