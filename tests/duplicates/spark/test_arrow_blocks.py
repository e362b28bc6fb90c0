"""Tests of numbers packed as bytes, materialised rows, and blocks and their encoding as rows."""

from __future__ import annotations

import gc
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.duplicates.spark.made_blocks import SMALL, alike_sets
from tests.duplicates.spark.spark_runtime import QUIET
from tests.sampling import thorough
from whorl.duplicates.sketch_arrays import Sketches
from whorl.fingerprint.sketch.frac_minhash import sketch_of_distinct

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")
pytestmark = QUIET


def members_of(keys: list[int], ids: list[str], names: list[str], runs: list[int], digests: list[int]) -> Any:
    from whorl.duplicates.spark.arrow_blocks import BlockMembers, text_digests

    ranks = np.arange(len(keys), dtype=np.float64)
    return BlockMembers(
        np.array(keys, np.int64), text_digests(ids), ids, names, ranks, np.array(runs, np.uint32),
        np.array(digests, np.uint64),
    )  # fmt: skip


@pytest.mark.parametrize("count", [1, 7])
def test_every_document_reaches_its_part(count: int) -> None:
    """
    Each document reaches the part of its key, or of its id if it is too short, with its sketch, size and other columns.
    """
    from whorl.duplicates.spark.arrow_blocks import (
        Block,
        BlockMembers,
        Partitioning,
        block_rows,
        documents_with_keys,
        sizes_in,
        text_digests,
    )

    chance, parts = random.Random(count), Partitioning.with_count(count)
    sets = alike_sets(chance)
    keys = sorted(chance.getrandbits(64) - (1 << 63) for _ in sets)
    made = [sketch_of_distinct(np.array(sorted(members), np.uint64), SMALL) for members in sets]
    is_new = np.array([chance.random() < 0.5 for _ in keys])
    block = Block(np.array(keys), Sketches.from_sketches(made, SMALL), is_new)
    # Some documents are equal. Some have no sketch, and all documents without a sketch share one key.
    owners = [*keys, *keys[:5], 3, 3, 3, 3]
    ids = [f"d{at}" for at in range(len(owners))]
    members = members_of(owners, ids, [f"n{number}" for number in ids], list(range(len(ids))), list(range(len(ids))))
    result = block_rows(block, members, parts)
    assert sorted(result["part"].to_pylist()) == sorted(set(result["part"].to_pylist()))
    sketches = {key: (made[at].size, made[at].hashes.tolist(), bool(is_new[at])) for at, key in enumerate(keys)}
    actual = {}
    actual_sketches: dict[int, tuple[int, list[int], bool]] = {}
    for at, part in enumerate(result["part"].to_pylist()):
        row = [result.slice(at, 1)]
        own, documents = Block.from_rows(row, SMALL), BlockMembers.from_rows(row)
        assert (parts.parts_of(own.keys) == part).all()
        actual_sketches |= {
            key: (own.sketches.sketch(place).size, own.sketches.sketch(place).hashes.tolist(), bool(own.is_new[place]))
            for place, key in enumerate(own.keys.tolist())
        }
        sizes = sizes_in(row, documents.keys).tolist()
        for place, document_id in enumerate(documents.ids):
            key = int(documents.keys[place])
            assert int(parts.parts_of(np.array([key]) if key in sketches else text_digests([document_id]))[0]) == part
            assert sizes[place] == (sketches[key][0] if key in sketches else 0)
            columns = (documents.ranks, documents.runs, documents.digests)
            actual[document_id] = (key, documents.names[place], *(int(column[place]) for column in columns))
        wanted = own.keys[::3]
        rows = pa.table({"part": [part], "keys": [np.concatenate([wanted[::-1], wanted]).tobytes()]})
        sent = list(documents_with_keys(pa.Table.from_batches(row), rows, SMALL))
        assert [row["keys"][0].as_py() for row in sent] == ([wanted.tobytes()] if wanted.size else [])
    assert actual_sketches == sketches
    assert actual == {document_id: (owners[at], f"n{document_id}", at, at, at) for at, document_id in enumerate(ids)}


def test_copies_with_one_id_become_one_member() -> None:
    """
    Equal documents with one id merge: the last run's largest name, and the first run with that text.
    """
    from whorl.duplicates.spark.arrow_blocks import Block, BlockMembers, Partitioning, block_rows

    text, other = 7, 8
    came = [
        ("a", "first", 1, text), ("a", "b", 3, text), ("a", "a", 3, text), ("a", "z", 2, other), ("b", "", 2, text),
    ]  # fmt: skip
    nothing = Block(np.empty(0, np.int64), Sketches.from_sketches([], SMALL), np.empty(0, np.bool_))
    ids, names, runs, digests = (list(column) for column in zip(*came, strict=True))
    for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 3, 4, 1]):
        shuffled = ([column[at] for at in order] for column in (ids, names, runs, digests))
        rows = block_rows(nothing, members_of([5] * len(came), *shuffled), Partitioning.with_count(1))
        members = BlockMembers.from_rows([rows])
        actual = zip(members.ids, members.names, members.runs.tolist(), members.digests.tolist(), strict=True)
        assert sorted(actual) == [("a", "b", 1, text), ("b", "", 2, text)]


def test_copies_from_several_workers_become_one_new_document() -> None:
    """
    A document read by several workers has one sketch, which is new if it is new for one of them.
    """
    from whorl.duplicates.spark.arrow_blocks import Block, Partitioning, block_rows

    sketch = sketch_of_distinct(np.array([1, 2, 3], np.uint64), SMALL)
    rows = []
    for is_new in (False, True, False):
        block = Block(np.array([5]), Sketches.from_sketches([sketch], SMALL), np.array([is_new]))
        rows.append(block_rows(block, members_of([5], ["a"], [""], [1], [0]), Partitioning.with_count(1)))
    for subset, expected in ((rows, True), (rows[::2], False)):
        block = Block.from_rows(subset, SMALL)
        assert (block.keys.tolist(), block.sketches.sizes.tolist(), block.is_new.tolist()) == ([5], [3], [expected])


@given(st.lists(st.integers(0, 2**64 - 1), max_size=40), st.integers(1, 8))
def test_hashes_are_packed_into_the_fewest_bytes(numbers: list[int], width: int) -> None:
    """
    Packing and unpacking returns each hash; packed hashes are little-endian.
    """
    from whorl.duplicates.spark.arrow_blocks import pack_hashes, unpack_hashes

    hashes = np.array([number >> (64 - 8 * width) for number in numbers], np.uint64)
    narrow = pack_hashes(hashes, 8 * width - 3 if width > 4 else 8 * width)
    assert narrow.tobytes() == b"".join(number.to_bytes(width, "little") for number in hashes.tolist())
    assert unpack_hashes(narrow).tolist() == hashes.tolist()


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2**40), st.integers(0, 9)), max_size=60))
def test_columns_reach_their_parts(rows: list[tuple[int, int, int]]) -> None:
    """
    Each part gets one row with its numbers, in their original order.
    """
    from whorl.duplicates.spark.arrow_blocks import decode_columns, rows_by_part

    parts = np.array([part for part, _, _ in rows], np.int32)
    columns: dict[str, Any] = {
        "identities": np.array([number for _, number, _ in rows], np.uint64),
        "flags": np.array([number for _, _, number in rows], np.uint8),
    }
    made = rows_by_part(parts, columns, source=7)
    assert made["part"].to_pylist() == sorted({part for part, _, _ in rows})
    for at in range(made.num_rows):
        one = made.slice(at, 1)
        identities, flags = decode_columns([one], "identities flags")
        own = [row for row in rows if row[0] == one["part"][0].as_py()]
        assert list(zip(identities.tolist(), flags.tolist(), strict=True)) == [row[1:] for row in own]
        assert one["source"].to_pylist() == [7]


@pytest.mark.parametrize("count", [1, 2, 7, 200])
def test_every_part_has_a_partition(spark: SparkSession, count: int) -> None:
    """
    Spark's hash partitioning sends the first part to the first partition, and so on.
    """
    from pyspark.sql import functions as f

    from whorl.duplicates.spark.arrow_blocks import Partitioning, partition_by_part

    parts = Partitioning.with_count(count)
    assert len(set(parts.names.tolist())) == len(parts) == count
    frame = spark.createDataFrame([(name,) for name in parts.names.tolist()], "part int")
    rows = partition_by_part(frame, parts).select("part", f.spark_partition_id().alias("at")).collect()
    assert {row.part: row.at for row in rows} == {name: at for at, name in enumerate(parts.names.tolist())}


@thorough
def test_imports_are_excluded_from_garbage_collection(spark: SparkSession) -> None:
    """
    PySpark collects garbage after each task; modules that a worker imported before its first step are excluded.
    """
    from whorl.duplicates.spark.arrow_blocks import map_batches

    def collected(batches: Any) -> Any:
        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"frozen": [gc.get_freeze_count()], "left": [len(gc.get_objects())]})

    row = map_batches(spark.range(1).coalesce(1), collected, "frozen long, left long").collect()[0]
    assert row.frozen > 2 * row.left


def test_materialised_rows_keep_plans_small(spark: SparkSession, tmp_path: Path) -> None:
    """
    Materialised rows are computed once, however often they are used, and later plans do not contain their plan, which
    would double the length with each iteration.
    """
    from whorl.duplicates.spark.arrow_blocks import MaterialisedRows, map_batches

    log = tmp_path / "log"

    def noted(batches: Any) -> Any:
        for batch in batches:
            with log.open("a") as out:
                out.write(f"{batch.num_rows}\n")
            yield batch

    materialised = MaterialisedRows()
    frame = materialised.materialise(map_batches(spark.range(3).coalesce(1).toDF("a"), noted, "a long"))
    lengths = []
    for _ in range(4):
        frame = materialised.materialise(frame.unionByName(frame).distinct())
        lengths.append(len(frame._jdf.queryExecution().toString()))
    assert sorted(row.a for row in frame.collect()) == [0, 1, 2]
    assert max(lengths) < 2 * min(lengths)
    assert log.read_text() == "3\n"
    materialised.release()
