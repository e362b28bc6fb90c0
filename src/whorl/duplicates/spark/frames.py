"""What all steps on Spark share: columns, sketches in the memory of a worker, and plans that do not grow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame

from whorl.duplicates.sketches import Numbers, Sketches
from whorl.fingerprint.sketch.sketch import SketchScheme

Batches: TypeAlias = Iterator[pa.RecordBatch]
Step: TypeAlias = Callable[[Batches], Batches]

#: Documents, or pairs of them, that a worker has in hand at once, and about how many bytes; of a large document a step
#: makes some ten times what it is given.
AT_ONCE, BYTES_AT_ONCE = 512, 1 << 24
_BATCHES = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(AT_ONCE),
    "spark.sql.execution.arrow.maxBytesPerBatch": str(BYTES_AT_ONCE),
}


def settled(frame: DataFrame) -> DataFrame:
    """Return the same rows, worked out now and kept, so that what is made of them does not work them out again.

    They are kept in the checkpoint folder, if the session has one, and so outlive an executor that is lost; else on
    the disks of the executors.
    """
    if frame.sparkSession.sparkContext.getCheckpointDir():
        return frame.checkpoint()
    return frame.localCheckpoint()


def stepped(frame: DataFrame, step: Step, schema: str) -> DataFrame:
    """Return what a function makes of rows, some hundred at a time."""
    for name, value in _BATCHES.items():
        frame.sparkSession.conf.set(name, value)
    return frame.mapInArrow(step, schema)


def packed(hashes: npt.NDArray[np.uint64], scheme: SketchScheme) -> bytes:
    """Return hashes in as few whole bytes each as their bits take, the lowest byte first."""
    width = -(-scheme.bits // 8)
    return np.ascontiguousarray(hashes.astype("<u8", copy=False).view(np.uint8).reshape(-1, 8)[:, :width]).tobytes()


def sketches_in(sizes: pa.Array, hashes: pa.Array, scheme: SketchScheme) -> Sketches:
    """Return the sketches of a batch.

    Args:
        sizes: Distinct shingles of each document.
        hashes: Each one's hashes, as `packed` returns them.
        scheme: What they depend on.
    """
    width = -(-scheme.bits // 8)
    counts = np.array([len(each) // width for each in hashes.to_pylist()], np.int64)
    together = np.frombuffer(b"".join(hashes.to_pylist()), np.uint8).reshape(-1, width)
    whole = np.zeros((together.shape[0], 8), np.uint8)
    whole[:, :width] = together
    return Sketches(scheme, whole_numbers(sizes), np.cumsum(counts) - counts, counts, whole.view("<u8").reshape(-1))


def whole_numbers(column: pa.Array) -> Numbers:
    """Return a column of whole numbers that is nowhere null."""
    numbers: Numbers = column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return numbers
