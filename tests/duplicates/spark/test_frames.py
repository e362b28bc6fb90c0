"""Tests of numbers packed as bytes, parts, and materialised rows."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.duplicates.spark.spark_runtime import QUIET

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")
pytestmark = QUIET


@given(st.lists(st.integers(0, 2**64 - 1), max_size=40), st.integers(1, 8))
def test_hashes_are_as_narrow_as_their_bits(numbers: list[int], width: int) -> None:
    """
    Packing and unpacking returns each hash; packed hashes are little-endian.
    """
    from whorl.duplicates.spark.frames import narrowed, widened

    hashes = np.array([number >> (64 - 8 * width) for number in numbers], np.uint64)
    narrow = narrowed(hashes, 8 * width - 3 if width > 4 else 8 * width)
    assert narrow.tobytes() == b"".join(number.to_bytes(width, "little") for number in hashes.tolist())
    assert widened(narrow).tolist() == hashes.tolist()


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2**40), st.integers(-5, 5)), max_size=60))
def test_columns_reach_their_parts(rows: list[tuple[int, int, int]]) -> None:
    """
    Each part gets one row with its numbers, in their original order.
    """
    from whorl.duplicates.spark.frames import divided, joined, repeated

    parts = np.array([part for part, _, _ in rows], np.int32)
    columns: dict[str, Any] = {
        "hashes": np.array([number for _, number, _ in rows], np.uint64),
        "small": np.array([number for _, _, number in rows], np.int8),
    }
    made = divided(parts, columns, source=7)
    assert made["part"].to_pylist() == sorted({part for part, _, _ in rows})
    for at in range(made.num_rows):
        one = made.slice(at, 1)
        hashes, small = joined([one], "hashes small", "u8 i1")
        own = [row for row in rows if row[0] == one["part"][0].as_py()]
        assert list(zip(hashes.tolist(), small.tolist(), strict=True)) == [row[1:] for row in own]
        assert repeated([one], "source", "small", 1).tolist() == [7] * len(own)


@pytest.mark.parametrize("count", [1, 2, 7, 200])
def test_every_part_has_a_partition(spark: SparkSession, count: int) -> None:
    """
    Spark's hash partitioning sends the first part to the first partition, and so on.
    """
    from pyspark.sql import functions as f

    from whorl.duplicates.spark.frames import Parts, sent

    parts = Parts.so_many(count)
    assert len(set(parts.names.tolist())) == len(parts) == count
    frame = spark.createDataFrame([(name,) for name in parts.names.tolist()], "part int")
    rows = sent(frame, parts).select("part", f.spark_partition_id().alias("at")).collect()
    assert {row.part: row.at for row in rows} == {name: at for at, name in enumerate(parts.names.tolist())}


def test_collections_of_garbage_leave_imports_alone(spark: SparkSession) -> None:
    """
    PySpark collects garbage after each task; modules that a worker imported before its first step are excluded.
    """
    from whorl.duplicates.spark.frames import stepped

    def collected(batches: Any) -> Any:
        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"frozen": [gc.get_freeze_count()], "left": [len(gc.get_objects())]})

    row = stepped(spark.range(1).coalesce(1), collected, "frozen long, left long").collect()[0]
    assert row.frozen > 2 * row.left


def test_plans_do_not_grow_with_what_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    """
    Materialised rows are computed once, however often they are used, and later plans do not contain their plan, which
    would double the length with each iteration.
    """
    from whorl.duplicates.spark.frames import Kept, stepped

    log = tmp_path / "log"

    def noted(batches: Any) -> Any:
        for batch in batches:
            with log.open("a") as out:
                out.write(f"{batch.num_rows}\n")
            yield batch

    kept = Kept()
    frame = kept.settled(stepped(spark.range(3).coalesce(1).toDF("a"), noted, "a long"))
    lengths = []
    for _ in range(4):
        frame = kept.settled(frame.unionByName(frame).distinct())
        lengths.append(len(frame._jdf.queryExecution().toString()))
    assert sorted(row.a for row in frame.collect()) == [0, 1, 2]
    assert max(lengths) < 2 * min(lengths)
    assert log.read_text() == "3\n"
    kept.release()
