"""What all steps on Spark share: columns of numbers as bytes, parts that they are sent to, and rows that are kept.

A row on its way to another worker is not a document or a hash but many of them: a part, and for each column the
numbers that go there, one after the other, as bytes. To Spark these are a few rows of a few megabytes, which it only
copies; what is in them is told apart by numpy, thousands at a time.
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
#: Takes what a block has and what was sent to it.
BlockStep: TypeAlias = Callable[[pa.Table, pa.Table], Batches]
Columns: TypeAlias = Mapping[str, npt.NDArray[Any]]

#: Rows that a worker has in hand at once, and about how many bytes.
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
#: Numbers among which one is looked for that Spark sends to a given partition, for each partition.
_TRIED = 32
#: Numbers the steps of this worker.
_steps = count(1)


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The parts that documents and hashes are divided over.

    Args:
        names: What Spark is told for each part, so that it sends each to a partition of its own; int32 array.
    """

    names: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return self.names.size

    def of(self, numbers: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
        """Return the part of each of some numbers of 64 bits that are spread evenly."""
        found: npt.NDArray[np.int32] = self.names[numbers.view(np.uint64) % np.uint64(self.names.size)]
        return found

    @classmethod
    def so_many(cls, count: int) -> Parts:
        """Return parts that Spark's partitioning by hash sends to the partitions 0, 1, 2 and so on."""
        names = np.full(count, -1, np.int32)
        begin = 0
        while (names < 0).any():
            some = np.arange(begin, begin + _TRIED * count, dtype=np.int32)
            # The first that Spark sends to a partition is the last to be written.
            at = _hashes_of(some).astype(np.int64) % count
            names[at[::-1]] = np.where(names[at[::-1]] < 0, some[::-1], names[at[::-1]])
            begin += some.size
        return cls(names)


def _hashes_of(numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return Spark's hash of each number: murmur3 of 32 bits of four bytes, with the seed 42."""
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
    """Rows that are worked out once and kept, until all of them are let go.

    They are kept in the checkpoint folder, if the session has one, which outlives executors; else on the disks of the
    executors, and what is lost with one of these is worked out again.
    """

    def __init__(self) -> None:
        self._frames: list[DataFrame] = []

    def settled(self, frame: DataFrame) -> DataFrame:
        """Return the same rows, which what is made of them does not work out again.

        Nor does it know what they came from. Spark writes out the plan of each query, with those of all rows in it that
        are kept, again for each time that they are in it: plans made of plans would soon be too long for any driver.
        """
        found = self.in_place(frame)
        if found is not frame:
            return found
        session, java = frame.sparkSession, frame._jdf
        # Not by way of `DataFrame.rdd`, which has Python read each row.
        rows = java.queryExecution().toRdd()
        return DataFrame(session._jsparkSession.internalCreateDataFrame(rows, java.schema(), False), session)

    def in_place(self, frame: DataFrame) -> DataFrame:
        """Return the same rows, as `settled`; that they are where their parts are is known of them, and their plan."""
        if frame.sparkSession.sparkContext.getCheckpointDir():
            return frame.checkpoint()
        self._frames.append(frame.persist(StorageLevel.DISK_ONLY))
        return frame

    def release(self) -> None:
        """Let go of what is on the executors' disks."""
        while self._frames:
            self._frames.pop().unpersist()


def cut_off(frame: DataFrame) -> DataFrame:
    """Return the same rows, worked out now, of which nobody knows any more what they came from.

    For loops, in which that would grow with each turn: what is lost with an executor then is lost, unless the session
    has a checkpoint folder.
    """
    if frame.sparkSession.sparkContext.getCheckpointDir():
        return frame.checkpoint()
    return frame.localCheckpoint()


def stepped(frame: DataFrame, step: Step, schema: str) -> DataFrame:
    """Return what a function makes of rows, some hundred at a time."""
    _limit_batches(frame)
    return frame.mapInArrow(partial(_carried_out, step=step), schema)


def _carried_out(batches: Batches, step: Step) -> Batches:
    _leave_imports_alone()
    return step(batches)


def _leave_imports_alone() -> None:
    """Let what a worker has imported out of the collections of garbage with which PySpark ends each task.

    Going through all that libraries are made of takes longer than many a task. Later steps import a little more. What
    garbage there is at that moment stays; so this is done at the first step, the second, the fourth and so on.
    """
    number = next(_steps)
    if number & (number - 1) == 0:
        gc.freeze()


def sent(frame: DataFrame, parts: Parts) -> DataFrame:
    """Return rows that are where their parts are."""
    return frame.repartition(len(parts), "part")


def met(blocks: DataFrame, rows: DataFrame, step: BlockStep, schema: str, parts: Parts) -> DataFrame:
    """Return what a function makes of each block and what is sent to it; blocks that nothing is sent to included.

    Args:
        blocks: With a column part, and where their parts are.
        rows: With a column part.
        step: Takes the columns of a block and those of the rows of its part.
        schema: Of what it yields.
        parts: Of the blocks.
    """
    _limit_batches(blocks)
    arrow = arrow_schema(schema)

    def both(block: pa.Table, own: pa.Table) -> pa.Table:
        _leave_imports_alone()
        return pa.Table.from_batches(step(block, own), arrow)

    return blocks.groupBy("part").cogroup(sent(rows, parts).groupBy("part")).applyInArrow(both, schema)


def addressed(frame: DataFrame, parts: Parts, *, part_of: str, **columns: str) -> DataFrame:
    """Return rows of numbers as rows for parts.

    Args:
        frame: Columns of whole numbers.
        parts: Where they are to go.
        part_of: The column whose numbers tell where.
        columns: Names of columns to send; each is called as here, with an s.
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
    """Return a schema as Arrow has it."""
    return pa.schema([(name, _TYPES[kind]) for name, kind in (part.split() for part in schema.split(", "))])


def divided(parts: npt.NDArray[np.int32], columns: Columns, **same: int) -> pa.RecordBatch:
    """Return a row for each part, with the numbers that go there.

    Args:
        parts: Where each goes; array of shape (n,).
        columns: Arrays of shape (n,).
        same: What stands in all rows behind the part.
    """
    # Numbers of 16 bits are put in order by counting them, some times as fast as others.
    order = np.argsort(parts.astype(np.uint16) if parts.max(initial=0) < 1 << 16 else parts, kind="stable")
    starts = run_starts(parts[order])
    ends = np.append(starts[1:], order.size)
    rows: dict[str, pa.Array] = {"part": pa.array(parts[order][starts], pa.int32())}
    rows |= {name: pa.array(np.full(starts.size, value)) for name, value in same.items()}
    rows |= {name: cut(column[order], starts, ends) for name, column in columns.items()}
    return pa.RecordBatch.from_pydict(rows)


def cut(together: npt.NDArray[Any], starts: Numbers, ends: Numbers) -> pa.Array:
    """Return the bytes of ranges of an array, each of which begins where the one before ends."""
    data = np.ascontiguousarray(together)
    offsets = np.append(starts, ends[-1:]).astype(np.int64) * data.itemsize
    if offsets[-1:].max(initial=0) > np.iinfo(np.int32).max:
        raise MemoryError(f"{offsets[-1]:,} bytes in one column; use more partitions")
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data.view(np.uint8).data)]
    return pa.Array.from_buffers(pa.binary(), starts.size, buffers)


def joined(rows: Iterable[pa.RecordBatch] | pa.Table, names: str, types: str) -> list[npt.NDArray[Any]]:
    """Return columns of numbers of all rows, one row after the other.

    Args:
        rows: As `divided` returns them.
        names: Of the columns, with blanks between.
        types: Of their numbers, as numpy names them, with blanks between.
    """
    batches = rows.to_batches() if isinstance(rows, pa.Table) else list(rows)
    found = []
    for name, kind in zip(names.split(), types.split(), strict=True):
        raw = b"".join(each for batch in batches for each in batch[name].to_pylist() if each is not None)
        found.append(np.frombuffer(raw, kind))
    return found


def repeated(batches: Iterable[pa.RecordBatch], name: str, beside: str, size: int) -> Numbers:
    """Return a column of one number a row as often as another one of these rows has numbers.

    Args:
        batches: Rows.
        name: Of the column.
        beside: Of the other one, of bytes.
        size: Bytes of one of its numbers.
    """
    values, counts = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for batch in batches:
        values.append(whole_numbers(batch[name]))
        counts.append(np.array([len(each) // size for each in batch[beside].to_pylist()], np.int64))
    return np.repeat(np.concatenate(values), np.concatenate(counts))


def narrowed(hashes: npt.NDArray[np.uint64], bits: int) -> npt.NDArray[Any]:
    """Return hashes in as few whole bytes each as their bits take, the lowest byte first; array of this shape."""
    kind = np.dtype(narrow_type(bits))
    found, whole = np.empty((hashes.size, kind.itemsize), np.uint8), _bytes_of(hashes.astype("<u8", copy=False))
    # Byte by byte of all of them, which is some times as fast as the few bytes of one after the other.
    for at in range(kind.itemsize):
        found[:, at] = whole[:, at]
    return found.view(kind).reshape(-1)


def narrow_type(bits: int) -> str:
    """Return how numpy names the type of what `narrowed` returns."""
    return f"V{-(-bits // 8)}"


def widened(narrow: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Return the hashes that `narrowed` was given."""
    whole, found = np.zeros((narrow.size, 8), np.uint8), _bytes_of(narrow)
    for at in range(narrow.itemsize):
        whole[:, at] = found[:, at]
    return whole.view("<u8").reshape(-1).astype(np.uint64, copy=False)


def _bytes_of(numbers: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return the bytes of each number, the lowest first; array of shape (numbers, bytes)."""
    return numbers.view(np.uint8).reshape(-1, numbers.itemsize)


def batch_of(columns: Columns) -> pa.RecordBatch:
    """Return rows of numbers."""
    return pa.RecordBatch.from_pydict({name: pa.array(column) for name, column in columns.items()})


def whole_numbers(column: pa.Array | pa.ChunkedArray) -> Numbers:
    """Return a column of whole numbers that is nowhere null."""
    numbers: Numbers = np.asarray(column).astype(np.int64, copy=False)
    return numbers
