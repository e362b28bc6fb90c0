"""Packs many documents into one Arrow row, distributes rows among Spark partitions, and saves computed rows.

Documents and hashes are divided into parts by their keys. Each Spark partition has one part, and the documents of a
part are a block. A row belongs to one part. Its binary columns are arrays as raw bytes, which numpy decodes in one
step. Spark moves few large rows faster than many small rows.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any, TypeAlias

import mmh3
import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.storagelevel import StorageLevel

from whorl.arrays_and_batches import find_sorted, run_starts
from whorl.duplicates.sketch_arrays import Bools, Hashes, Numbers, Sketches
from whorl.fingerprint.sketch.frac_minhash import SketchScheme

Batches: TypeAlias = Iterator[pa.RecordBatch]
Step: TypeAlias = Callable[[Batches], Batches]
#: Function that processes a block with the rows that other blocks have sent to it.
BlockStep: TypeAlias = Callable[[pa.Table, pa.Table], Batches]
Columns: TypeAlias = Mapping[str, npt.NDArray[Any]]

#: Maximum number of rows in one Arrow batch, and approximate number of bytes.
ROWS_AT_ONCE, BYTES_AT_ONCE = 2048, 1 << 24
_BATCHES = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_AT_ONCE),
    "spark.sql.execution.arrow.maxBytesPerBatch": str(BYTES_AT_ONCE),
}
_TYPES = {
    "string": pa.string(), "int": pa.int32(), "long": pa.int64(), "double": pa.float64(), "binary": pa.binary(),
    "boolean": pa.bool_(),
}  # fmt: skip
_TYPES |= {f"array<{name}>": pa.list_(kind) for name, kind in _TYPES.items()}
#: Element types of binary columns. Columns that are not listed have packed hashes if they are in `_PACKED_COLUMNS` (see
#: `pack_hashes`), and otherwise 64-bit integers.
_ELEMENT_TYPES = {
    "is_new": "?", "identities": "u8", "worths": "f8", "runs": "u4", "digests": "u8", "levels": "u1", "flags": "u1",
    "document_counts": "u4",
}  # fmt: skip
_PACKED_COLUMNS = ("hashes", "tokens")
#: Seed of the 32-bit murmur3 hash that Spark uses to partition rows.
_SPARK_SEED = 42
#: Counts the steps that this worker process runs; see `_freeze_imports`.
_steps = count(1)


@dataclass(frozen=True, slots=True, eq=False)
class Partitioning:
    """Part numbers, chosen so that Spark's hash puts each part into a different partition."""

    names: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return self.names.size

    def parts_of(self, numbers: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
        """Return the part of each number; the numbers, such as keys and hashes, must be evenly distributed."""
        parts: npt.NDArray[np.int32] = self.names[numbers.view(np.uint64) % np.uint64(self.names.size)]
        return parts

    @classmethod
    def with_count(cls, count: int) -> Partitioning:
        names: dict[int, int] = {}
        number = 0
        while len(names) < count:
            names.setdefault(mmh3.hash(number.to_bytes(4, "little"), _SPARK_SEED) % count, number)
            number += 1
        return cls(np.array([names[partition] for partition in range(count)], np.int32))


class MaterialisedRows:
    """Data frames whose rows are computed once and stored until `release` is called.

    They are in the session's checkpoint folder, which outlives executors, or else on the disks of the executors; Spark
    then recomputes the rows of a lost executor.
    """

    def __init__(self) -> None:
        self._frames: list[DataFrame] = []

    def materialise(self, frame: DataFrame) -> DataFrame:
        """Compute and store the rows of a frame; return a frame that only reads the stored rows.

        Spark prints nested plans with each query, and they would soon be too long for the driver.
        """
        materialised = self.materialise_in_place(frame)
        if materialised is not frame:
            return materialised
        session, java = frame.sparkSession, frame._jdf
        # Do not use `DataFrame.rdd`, which would send each row through Python.
        rows = java.queryExecution().toRdd()
        return DataFrame(session._jsparkSession.internalCreateDataFrame(rows, java.schema(), False), session)

    def materialise_in_place(self, frame: DataFrame) -> DataFrame:
        """Compute and store the rows of a frame; Spark still knows how the returned frame is partitioned."""
        if frame.sparkSession.sparkContext.getCheckpointDir():
            return frame.checkpoint()
        self._frames.append(frame.persist(StorageLevel.DISK_ONLY))
        return frame

    def release(self) -> None:
        while self._frames:
            self._frames.pop().unpersist()


def count_rows(frame: DataFrame) -> int:
    """Count the rows of a materialised frame in one stage; `DataFrame.count` adds a shuffle."""
    return int(frame._jdf.queryExecution().toRdd().count())


def map_batches(frame: DataFrame, step: Step, schema: str) -> DataFrame:
    _limit_batches(frame)
    return frame.mapInArrow(partial(_run_step, step=step), schema)


def _run_step(batches: Batches, step: Step) -> Batches:
    _freeze_imports()
    return step(batches)


def _freeze_imports() -> None:
    """Exclude the objects of imported modules from garbage collection, which PySpark runs after each task.

    Later steps import more modules, so freeze again; but only at steps 1, 2, 4, 8 and so on, because freezing keeps
    existing garbage forever.
    """
    number = next(_steps)
    if number & (number - 1) == 0:
        gc.freeze()


def partition_by_part(frame: DataFrame, parts: Partitioning) -> DataFrame:
    return frame.repartition(len(parts), "part")


def cogroup_blocks(blocks: DataFrame, rows: DataFrame, step: BlockStep, schema: str, parts: Partitioning) -> DataFrame:
    """Apply `step` to each block and the rows sent to it. Both frames are partitioned by the column `part`."""
    _limit_batches(blocks)
    arrow = arrow_schema(schema)

    def apply_step(block: pa.Table, own: pa.Table) -> pa.Table:
        _freeze_imports()
        return pa.Table.from_batches(step(block, own), arrow)

    grouped = partition_by_part(rows, parts).groupBy("part")
    return blocks.groupBy("part").cogroup(grouped).applyInArrow(apply_step, schema)


def group_by_part(frame: DataFrame, parts: Partitioning, *, part_of: str, **columns: str) -> DataFrame:
    """Pack many rows of integers into one row for each part, which the column `part_of` determines.

    `columns` maps names to columns of `frame`; the result's columns have these names with an s appended.
    """
    step = partial(_add_parts, parts=parts, part_of=part_of, columns=columns)
    schema = ", ".join(["part int", *(f"{name}s binary" for name in columns)])
    return map_batches(frame.select(*{part_of, *columns.values()}), step, schema)


def _add_parts(batches: Batches, parts: Partitioning, part_of: str, columns: Mapping[str, str]) -> Batches:
    for batch in batches:
        own = {f"{name}s": to_int64(batch[column]) for name, column in columns.items()}
        yield rows_by_part(parts.parts_of(to_int64(batch[part_of])), own)


def _limit_batches(frame: DataFrame) -> None:
    for name, value in _BATCHES.items():
        frame.sparkSession.conf.set(name, value)


def arrow_schema(schema: str) -> pa.Schema:
    return pa.schema([(name, _TYPES[kind]) for name, kind in (part.split() for part in schema.split(", "))])


def rows_by_part(parts: npt.NDArray[np.int32], columns: Columns, **same: int) -> pa.RecordBatch:
    """Group the elements of `columns` by their part, one row for each part; `same` adds constant columns."""
    # numpy sorts 16-bit integers by counting, which is several times faster.
    order = np.argsort(parts.astype(np.uint16) if parts.max(initial=0) < 1 << 16 else parts, kind="stable")
    starts = run_starts(parts[order])
    ends = np.append(starts[1:], order.size)
    rows: dict[str, pa.Array] = {"part": pa.array(parts[order][starts], pa.int32())}
    rows |= {name: pa.array(np.full(starts.size, value)) for name, value in same.items()}
    rows |= {name: make_binary_column(column[order], starts, ends) for name, column in columns.items()}
    return pa.RecordBatch.from_pydict(rows)


def make_binary_column(together: npt.NDArray[Any], starts: Numbers, ends: Numbers) -> pa.Array:
    data = np.ascontiguousarray(together)
    offsets = np.append(starts, ends[-1:]).astype(np.int64) * data.itemsize
    if offsets[-1:].max(initial=0) > np.iinfo(np.int32).max:
        raise MemoryError(f"{offsets[-1]:,} bytes in one column; use more partitions")
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data.view(np.uint8).data)]
    return pa.Array.from_buffers(pa.binary(), starts.size, buffers)


def decode_columns(rows: Iterable[pa.RecordBatch] | pa.Table, names: str, bits: int = 64) -> list[npt.NDArray[Any]]:
    """Return an array for each of the binary columns in `names`, with the numbers of all rows.

    `names` has blanks between the names. `bits` is the width of a hash.
    """
    batches = rows.to_batches() if isinstance(rows, pa.Table) else list(rows)
    columns = []
    for name in names.split():
        raw = b"".join(numbers for batch in batches for numbers in batch[name].to_pylist() if numbers is not None)
        is_packed = name in _PACKED_COLUMNS
        elements = np.frombuffer(raw, narrow_type(bits) if is_packed else _ELEMENT_TYPES.get(name, "i8"))
        columns.append(unpack_hashes(elements) if is_packed else elements)
    return columns


def pack_hashes(hashes: Hashes, bits: int) -> npt.NDArray[Any]:
    """Store each hash in the smallest number of whole bytes, the lowest byte first."""
    kind = np.dtype(narrow_type(bits))
    packed, whole = np.empty((hashes.size, kind.itemsize), np.uint8), _bytes_of(hashes.astype("<u8", copy=False))
    # Copying one byte of all hashes at a time is several times faster than copying hash by hash.
    for at in range(kind.itemsize):
        packed[:, at] = whole[:, at]
    return packed.view(kind).reshape(-1)


def narrow_type(bits: int) -> str:
    return f"V{-(-bits // 8)}"


def unpack_hashes(narrow: npt.NDArray[Any]) -> Hashes:
    whole, packed = np.zeros((narrow.size, 8), np.uint8), _bytes_of(narrow)
    for at in range(narrow.itemsize):
        whole[:, at] = packed[:, at]
    return whole.view("<u8").reshape(-1).astype(np.uint64, copy=False)


def _bytes_of(numbers: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    return numbers.view(np.uint8).reshape(-1, numbers.itemsize)


def batch_of(columns: Columns) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({name: pa.array(column) for name, column in columns.items()})


def to_int64(column: pa.Array | pa.ChunkedArray) -> Numbers:
    numbers: Numbers = np.asarray(column).astype(np.int64, copy=False)
    return numbers


SKETCHES = "part int, keys binary, sizes binary, counts binary, is_new binary, hashes binary"
MEMBERS = "members binary, identities binary, ids binary, names binary, worths binary, runs binary, digests binary"
#: Columns of the rows that report a problem of the input:
#:
#: - a bad row of the input: `problem_id` is its id, `unlisted` and `unread` are null;
#: - bad rows that are not reported one by one: `unlisted` is their number;
#: - a file with rows without a text: `problem_id` is the file, `unlisted` is 0;
#: - values that the retention policy cannot read: `unread` is their number, `problem_id` is the first value.
PROBLEMS = "problem_id string, problem string, unlisted long, unread long"
#: Columns of a block. Most rows hold documents, the others report a problem.
BLOCKS = f"{SKETCHES}, {MEMBERS}, {PROBLEMS}"


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Distinct documents of one part (one for each text), with their keys and sketches, ascending by key."""

    keys: Numbers
    sketches: Sketches
    is_new: Bools

    def indices_of(self, keys: Numbers) -> Numbers:
        return np.searchsorted(self.keys, keys)

    def select(self, indices: Numbers, new: Numbers) -> Block:
        """Return a block of the documents at `indices`; the documents with a key in `new` are new."""
        keys = self.keys[indices]
        return Block(keys, self.sketches.select(indices), np.isin(keys, new))

    @classmethod
    def from_rows(cls, rows: Iterable[pa.RecordBatch] | pa.Table, scheme: SketchScheme) -> Block:
        keys, sizes, counts, is_new, hashes = decode_columns(rows, "keys sizes counts is_new hashes", scheme.bits)
        # Workers may have read documents with equal texts. If one of these documents is new, the kept document must be
        # new, so sort the new documents first.
        order = np.lexsort((~is_new, keys))
        order = order[run_starts(keys[order])]
        starts = np.cumsum(counts) - counts
        sketches = Sketches(scheme, sizes[order], starts[order], counts[order], hashes)
        return cls(keys[order], sketches, is_new[order])


@dataclass(frozen=True, slots=True, eq=False)
class BlockMembers:
    """Ids and other properties of all documents of a block. Documents with equal texts have one key and several ids.

    Args:
        keys: Document keys. A document that is too short to compare has a key, but no sketch in the block.
        identities: 64-bit hashes of the ids.
        ranks: Ranks according to the retention policy; NaN if unknown. Their column in stored blocks is `worths`.
        runs: Number of the run that read each document; 0 for reference documents.
        digests: 64-bit digests of the texts; 0 if no later run needs them.
    """

    keys: Numbers
    identities: Hashes
    ids: Sequence[str]
    names: Sequence[str]
    ranks: npt.NDArray[np.float64]
    runs: npt.NDArray[np.uint32]
    digests: Hashes

    @classmethod
    def from_rows(cls, rows: Iterable[pa.RecordBatch] | pa.Table) -> BlockMembers:
        """Decode rows of MEMBERS; return each distinct pair of id and key once."""
        batches = rows.to_batches() if isinstance(rows, pa.Table) else list(rows)
        keys, identities, ranks, runs, digests = decode_columns(batches, "members identities worths runs digests")
        ids, names_of = (
            [text for batch in batches for raw in batch[name].to_pylist() if raw for text in orjson.loads(raw)]
            for name in ("ids", "names")
        )
        whole = cls(keys, identities, ids, names_of, ranks, runs, digests)
        order = np.lexsort((identities, keys))
        starts = run_starts(keys[order], identities[order])
        if starts.size == order.size:
            return whole
        # Rows with the same id and text may have different names. Choose the alphabetically last name in the last run,
        # so that the result does not depend on the order of the rows.
        groups = [group.tolist() for group in np.split(order, starts[1:])]
        chosen = np.array([max(group, key=lambda at: (runs[at], names_of[at], digests[at])) for group in groups])
        # If a document's text is unchanged, keep the number of the run that first read it.
        firsts = [runs[group][digests[group] == digests[at]].min() for group, at in zip(groups, chosen, strict=True)]
        return replace(whole.select(chosen), runs=np.array(firsts, np.uint32))

    def select(self, indices: Numbers) -> BlockMembers:
        at = indices.tolist()
        ids, names = ([texts[index] for index in at] for texts in (self.ids, self.names))
        numbers = self.ranks[indices], self.runs[indices], self.digests[indices]
        return BlockMembers(self.keys[indices], self.identities[indices], ids, names, *numbers)


def block_rows(block: Block, members: BlockMembers, parts: Partitioning) -> pa.RecordBatch:
    """Divide documents among the parts, one row of BLOCKS for each part. `members` has all documents of `block`."""
    sketches = block.sketches
    has_sketch = np.isin(members.keys, block.keys)
    sketch_parts = parts.parts_of(block.keys)
    member_parts = parts.parts_of(np.where(has_sketch, members.keys, members.identities.view(np.int64)))
    chosen, order = np.argsort(sketch_parts, kind="stable"), np.argsort(member_parts, kind="stable")
    # Some parts have only members that are too short for a sketch, so take the parts from the members.
    present = np.unique(member_parts)
    begins, ends = (np.searchsorted(sketch_parts[chosen], present, side) for side in ("left", "right"))
    first, last = (np.searchsorted(member_parts[order], present, side) for side in ("left", "right"))
    hashes, _ = sketches.copy_hashes(chosen)
    hash_ends = np.append(0, np.cumsum(sketches.counts[chosen]))
    own = members.select(order)
    ranges = list(zip(first.tolist(), last.tolist(), strict=True))
    numbers = {"keys": block.keys, "sizes": sketches.sizes, "counts": sketches.counts, "is_new": block.is_new}
    columns = {
        "part": pa.array(present, pa.int32()),
        **{name: make_binary_column(column[chosen], begins, ends) for name, column in numbers.items()},
        "hashes": make_binary_column(pack_hashes(hashes, sketches.scheme.bits), hash_ends[begins], hash_ends[ends]),
        "members": make_binary_column(own.keys, first, last),
        "identities": make_binary_column(own.identities, first, last),
        "ids": pa.array([orjson.dumps(own.ids[begin:end]) for begin, end in ranges], pa.binary()),
        "names": pa.array([orjson.dumps(own.names[begin:end]) for begin, end in ranges], pa.binary()),
        "worths": make_binary_column(own.ranks, first, last),
        "runs": make_binary_column(own.runs, first, last),
        "digests": make_binary_column(own.digests, first, last),
    }
    return with_nulls(columns, arrow_schema(BLOCKS))


def with_nulls(columns: Mapping[str, pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    """Return rows of a schema; its columns that are not in `columns` are null."""
    count = len(next(iter(columns.values())))
    missing = {field.name: pa.nulls(count, field.type) for field in schema if field.name not in columns}
    return pa.RecordBatch.from_pydict({**columns, **missing}, schema)


def text_digests(texts: Iterable[str]) -> Hashes:
    digests = b"".join(hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, np.uint64)


def sizes_in(rows: Iterable[pa.RecordBatch] | pa.Table, keys: Numbers) -> Numbers:
    """Return the number of shingles of the member with each key; 0 for members without a sketch."""
    own, sizes = decode_columns(rows, "keys sizes")
    order = np.argsort(own)
    positions, is_known = find_sorted(own[order], keys)
    found = np.zeros_like(keys)
    found[is_known] = sizes[order[positions[is_known]]]
    return found


def sketch_row(part: int, block: Block, indices: Numbers) -> pa.RecordBatch:
    """Return the documents of a block at `indices` as one row of SKETCHES."""
    sketches = block.sketches
    hashes, _ = sketches.copy_hashes(indices)
    values = {
        "part": part,
        "keys": block.keys[indices].tobytes(),
        "sizes": sketches.sizes[indices].tobytes(),
        "counts": sketches.counts[indices].tobytes(),
        "is_new": block.is_new[indices].tobytes(),
        "hashes": pack_hashes(hashes, sketches.scheme.bits).tobytes(),
    }
    return pa.RecordBatch.from_pylist([values], arrow_schema(SKETCHES))


def documents_with_keys(block: pa.Table, wanted: pa.Table, scheme: SketchScheme) -> Batches:
    """Yield the documents of a block with the keys of `wanted`, as rows of SKETCHES."""
    (keys,) = decode_columns(wanted, "keys")
    if keys.size:
        whole = Block.from_rows(block, scheme)
        yield sketch_row(wanted["part"][0].as_py(), whole, np.unique(whole.indices_of(keys)))
