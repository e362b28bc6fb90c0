"""Arrow plumbing of all Spark steps: numbers packed as bytes, parts, cogrouped steps, and materialised rows.

A row that is sent to another worker does not hold one document or hash but many: a part, and for each column all
numbers that go there, concatenated as bytes. Spark only copies these few rows of a few megabytes; numpy decodes
thousands of numbers at a time.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.storagelevel import StorageLevel

from whorl.arrays import run_starts
from whorl.duplicates.sketches import Numbers

Batches: TypeAlias = Iterator[pa.RecordBatch]
Step: TypeAlias = Callable[[Batches], Batches]
#: Takes a block and the rows that were sent to it.
BlockStep: TypeAlias = Callable[[pa.Table, pa.Table], Batches]
Columns: TypeAlias = Mapping[str, npt.NDArray[Any]]

#: Maximum number of rows and approximate number of bytes in one Arrow batch.
AT_ONCE, BYTES_AT_ONCE = 2048, 1 << 24
_BATCHES = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(AT_ONCE),
    "spark.sql.execution.arrow.maxBytesPerBatch": str(BYTES_AT_ONCE),
}
_TYPES = {
    "string": pa.string(), "int": pa.int32(), "long": pa.int64(), "double": pa.float64(), "binary": pa.binary(),
    "boolean": pa.bool_(),
}  # fmt: skip
_TYPES |= {f"array<{name}>": pa.list_(kind) for name, kind in _TYPES.items()}
#: Number of candidate integers per partition, tried in the search for names that Spark's hash maps to each.
_TRIED = 32
#: Counts the steps of this worker process.
_steps = count(1)


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The parts that documents and hashes are divided over.

    Args:
        names: Number of each part, chosen so that Spark sends each to a partition of its own; int32 array.
    """

    names: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return self.names.size

    def of(self, numbers: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
        """Return the part of each 64-bit number; the numbers have to be evenly distributed."""
        found: npt.NDArray[np.int32] = self.names[numbers.view(np.uint64) % np.uint64(self.names.size)]
        return found

    @classmethod
    def so_many(cls, count: int) -> Parts:
        """Return `count` parts that Spark's hash partitioning sends to the partitions 0, 1, 2 and so on."""
        names = np.full(count, -1, np.int32)
        begin = 0
        while (names < 0).any():
            some = np.arange(begin, begin + _TRIED * count, dtype=np.int32)
            # Assign in reverse order, so that the first number found for a partition wins.
            at = _hashes_of(some).astype(np.int64) % count
            names[at[::-1]] = np.where(names[at[::-1]] < 0, some[::-1], names[at[::-1]])
            begin += some.size
        return cls(names)


def _hashes_of(numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return Spark's hash of each number: 32-bit murmur3 of four bytes with seed 42."""
    with np.errstate(over="ignore"):
        mixed = _turned(numbers.view(np.uint32) * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
        found = _turned(np.uint32(42) ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
        found ^= np.uint32(4)
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
            found = (found ^ (found >> np.uint32(shift))) * np.uint32(factor)
    return found.view(np.int32)


def _turned(numbers: npt.NDArray[np.uint32], bits: int) -> npt.NDArray[np.uint32]:
    return (numbers << np.uint32(bits)) | (numbers >> np.uint32(32 - bits))


class Kept:
    """Materialised rows that are kept until `release`.

    They are stored in the checkpoint folder, which outlives executors, if the session has one. Otherwise they are
    stored on the executors' disks, and Spark recomputes the rows that are lost with an executor.
    """

    def __init__(self) -> None:
        self._frames: list[DataFrame] = []

    def settled(self, frame: DataFrame) -> DataFrame:
        """Materialise rows, so that later steps neither recompute them nor carry their plan.

        Spark writes out the plan of each query, including the plans of all persisted rows in it, once per occurrence:
        nested plans would soon be too long for any driver.
        """
        found = self.in_place(frame)
        if found is not frame:
            return found
        session, java = frame.sparkSession, frame._jdf
        # `DataFrame.rdd` would send each row through Python.
        rows = java.queryExecution().toRdd()
        return DataFrame(session._jsparkSession.internalCreateDataFrame(rows, java.schema(), False), session)

    def in_place(self, frame: DataFrame) -> DataFrame:
        """Materialise rows, but keep their plan, so that Spark still knows how they are partitioned."""
        if frame.sparkSession.sparkContext.getCheckpointDir():
            return frame.checkpoint()
        self._frames.append(frame.persist(StorageLevel.DISK_ONLY))
        return frame

    def release(self) -> None:
        """Delete the rows on the executors' disks."""
        while self._frames:
            self._frames.pop().unpersist()


def cut_off(frame: DataFrame) -> DataFrame:
    """Materialise rows and discard their lineage.

    In a loop the lineage would grow with each iteration. Rows that are lost with an executor cannot be recomputed,
    unless the session has a checkpoint folder.
    """
    if frame.sparkSession.sparkContext.getCheckpointDir():
        return frame.checkpoint()
    return frame.localCheckpoint()


def stepped(frame: DataFrame, step: Step, schema: str) -> DataFrame:
    """Apply a function to batches of rows, some hundred rows at a time."""
    _limit_batches(frame)
    return frame.mapInArrow(partial(_carried_out, step=step), schema)


def _carried_out(batches: Batches, step: Step) -> Batches:
    _leave_imports_alone()
    return step(batches)


def _leave_imports_alone() -> None:
    """Exclude imported modules from the garbage collections that PySpark runs after each task.

    Traversing all objects of the libraries takes longer than many a task. Because later steps import a little more,
    this is repeated at the first, second, fourth, eighth step and so on. Garbage that exists at that moment is never
    freed.
    """
    number = next(_steps)
    if number & (number - 1) == 0:
        gc.freeze()


def sent(frame: DataFrame, parts: Parts) -> DataFrame:
    """Repartition rows by their column part."""
    return frame.repartition(len(parts), "part")


def met(blocks: DataFrame, rows: DataFrame, step: BlockStep, schema: str, parts: Parts) -> DataFrame:
    """Apply a function to each block and the rows sent to it; blocks without rows are included.

    Args:
        blocks: Has a column part and is partitioned by it.
        rows: Has a column part.
        step: Takes the columns of a block and the columns of the rows of its part.
        schema: Schema of the result.
        parts: Parts of the blocks.
    """
    _limit_batches(blocks)
    arrow = arrow_schema(schema)

    def both(block: pa.Table, own: pa.Table) -> pa.Table:
        _leave_imports_alone()
        return pa.Table.from_batches(step(block, own), arrow)

    return blocks.groupBy("part").cogroup(sent(rows, parts).groupBy("part")).applyInArrow(both, schema)


def addressed(frame: DataFrame, parts: Parts, *, part_of: str, **columns: str) -> DataFrame:
    """Group rows of numbers by part, one row for each part.

    Args:
        frame: Columns of integers.
        parts: Destinations.
        part_of: Column whose numbers determine the part.
        columns: Columns to send by their new names; an s is appended to each name.
    """
    step = partial(_addressed, parts=parts, part_of=part_of, columns=columns)
    schema = ", ".join(["part int", *(f"{name}s binary" for name in columns)])
    return stepped(frame.select(*{part_of, *columns.values()}), step, schema)


def _addressed(batches: Batches, parts: Parts, part_of: str, columns: Mapping[str, str]) -> Batches:
    for batch in batches:
        own = {f"{name}s": whole_numbers(batch[column]) for name, column in columns.items()}
        yield divided(parts.of(whole_numbers(batch[part_of])), own)


def _limit_batches(frame: DataFrame) -> None:
    for name, value in _BATCHES.items():
        frame.sparkSession.conf.set(name, value)


def arrow_schema(schema: str) -> pa.Schema:
    """Convert a schema string to an Arrow schema."""
    return pa.schema([(name, _TYPES[kind]) for name, kind in (part.split() for part in schema.split(", "))])


def divided(parts: npt.NDArray[np.int32], columns: Columns, **same: int) -> pa.RecordBatch:
    """Group numbers by part, one row for each part.

    Args:
        parts: Part of each number; array of shape (n,).
        columns: Arrays of shape (n,).
        same: Constant columns, placed after the part.
    """
    # numpy sorts 16-bit integers by counting, which is several times faster.
    order = np.argsort(parts.astype(np.uint16) if parts.max(initial=0) < 1 << 16 else parts, kind="stable")
    starts = run_starts(parts[order])
    ends = np.append(starts[1:], order.size)
    rows: dict[str, pa.Array] = {"part": pa.array(parts[order][starts], pa.int32())}
    rows |= {name: pa.array(np.full(starts.size, value)) for name, value in same.items()}
    rows |= {name: cut(column[order], starts, ends) for name, column in columns.items()}
    return pa.RecordBatch.from_pydict(rows)


def cut(together: npt.NDArray[Any], starts: Numbers, ends: Numbers) -> pa.Array:
    """Return the bytes of consecutive ranges of an array as a binary column."""
    data = np.ascontiguousarray(together)
    offsets = np.append(starts, ends[-1:]).astype(np.int64) * data.itemsize
    if offsets[-1:].max(initial=0) > np.iinfo(np.int32).max:
        raise MemoryError(f"{offsets[-1]:,} bytes in one column; use more partitions")
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data.view(np.uint8).data)]
    return pa.Array.from_buffers(pa.binary(), starts.size, buffers)


def joined(rows: Iterable[pa.RecordBatch] | pa.Table, names: str, types: str) -> list[npt.NDArray[Any]]:
    """Decode columns of numbers, concatenated over all rows.

    Args:
        rows: Rows as returned by `divided`.
        names: Column names, separated by blanks.
        types: numpy types of the columns, separated by blanks.
    """
    batches = rows.to_batches() if isinstance(rows, pa.Table) else list(rows)
    found = []
    for name, kind in zip(names.split(), types.split(), strict=True):
        raw = b"".join(each for batch in batches for each in batch[name].to_pylist() if each is not None)
        found.append(np.frombuffer(raw, kind))
    return found


def repeated(batches: Iterable[pa.RecordBatch], name: str, beside: str, size: int) -> Numbers:
    """Repeat each row's number once for each number in another column of the row.

    Args:
        batches: Rows to decode.
        name: Column with one number a row.
        beside: Binary column whose numbers are counted.
        size: Bytes per number in that column.
    """
    values, counts = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for batch in batches:
        values.append(whole_numbers(batch[name]))
        counts.append(np.array([len(each) // size for each in batch[beside].to_pylist()], np.int64))
    return np.repeat(np.concatenate(values), np.concatenate(counts))


def narrowed(hashes: npt.NDArray[np.uint64], bits: int) -> npt.NDArray[Any]:
    """Pack each hash into the fewest whole bytes that hold its bits, the lowest byte first; array of the same shape."""
    kind = np.dtype(narrow_type(bits))
    found, whole = np.empty((hashes.size, kind.itemsize), np.uint8), _bytes_of(hashes.astype("<u8", copy=False))
    # Copying byte column by byte column is several times faster than number by number.
    for at in range(kind.itemsize):
        found[:, at] = whole[:, at]
    return found.view(kind).reshape(-1)


def narrow_type(bits: int) -> str:
    """Return the numpy type of the elements that `narrowed` returns."""
    return f"V{-(-bits // 8)}"


def widened(narrow: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Unpack the hashes that `narrowed` packed."""
    whole, found = np.zeros((narrow.size, 8), np.uint8), _bytes_of(narrow)
    for at in range(narrow.itemsize):
        whole[:, at] = found[:, at]
    return whole.view("<u8").reshape(-1).astype(np.uint64, copy=False)


def _bytes_of(numbers: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return the bytes of each number, the lowest first; array of shape (numbers, bytes)."""
    return numbers.view(np.uint8).reshape(-1, numbers.itemsize)


def batch_of(columns: Columns) -> pa.RecordBatch:
    """Build an Arrow batch from arrays."""
    return pa.RecordBatch.from_pydict({name: pa.array(column) for name, column in columns.items()})


def whole_numbers(column: pa.Array | pa.ChunkedArray) -> Numbers:
    """Convert an integer column without nulls to an array."""
    numbers: Numbers = np.asarray(column).astype(np.int64, copy=False)
    return numbers
