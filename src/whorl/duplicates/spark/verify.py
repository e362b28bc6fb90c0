"""Candidates verified, and documents compared, by the functions of `whorl.duplicates.verify`, batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from whorl.duplicates.question import PairQuestion
from whorl.duplicates.sketches import Numbers, Sketches
from whorl.duplicates.spark.frames import Batches, sketches_in, stepped, whole_numbers
from whorl.duplicates.verify import Pairs, measured, verified
from whorl.fingerprint.sketch.sketch import SketchScheme

_PAIRS = "a long, b long, size_a long, size_b long, shared long, low long, high long"
_Compare = Callable[[Sketches, Numbers, Numbers], Pairs]


def verified_pairs(
    candidates: DataFrame, documents: DataFrame, scheme: SketchScheme, question: PairQuestion
) -> DataFrame:
    """Return the candidates that are pairs indeed.

    Args:
        candidates: Columns a and b, keys of documents, a the smaller one.
        documents: As in `candidates.join_candidates`.
        scheme: What the sketches depend on.
        question: What is to be found.

    Returns:
        Columns a, b, size_a, size_b, shared, low and high, as those of `whorl.duplicates.verify.Pairs`.
    """
    return _compared(candidates, documents, scheme, partial(verified, question=question))


def measured_pairs(pairs: DataFrame, documents: DataFrame, scheme: SketchScheme) -> DataFrame:
    """Return what documents share, alike or not; columns as those of `verified_pairs`."""
    return _compared(pairs, documents, scheme, measured)


def _compared(pairs: DataFrame, documents: DataFrame, scheme: SketchScheme, compare: _Compare) -> DataFrame:
    firsts = documents.select(f.col("key").alias("a"), f.col("size").alias("size_a"), f.col("hashes").alias("hashes_a"))
    seconds = documents.select(
        f.col("key").alias("b"), f.col("size").alias("size_b"), f.col("hashes").alias("hashes_b")
    )
    both = pairs.select("a", "b").join(seconds, "b").join(firsts, "a")
    return stepped(both, partial(_batches, scheme=scheme, compare=compare), _PAIRS)


def _batches(batches: Batches, scheme: SketchScheme, compare: _Compare) -> Batches:
    for batch in batches:
        keys_a, keys_b = whole_numbers(batch["a"]), whole_numbers(batch["b"])
        # A document that is the first of several pairs is there once: so they are compared in one go.
        _, at, which = np.unique(keys_a, return_index=True, return_inverse=True)
        once = pa.array(at)
        sizes = pa.concat_arrays([batch["size_a"].take(once), batch["size_b"]])
        hashes = pa.concat_arrays([batch["hashes_a"].take(once), batch["hashes_b"]])
        found = compare(sketches_in(sizes, hashes, scheme), which, at.size + np.arange(keys_b.size))
        rows = found.b - at.size
        columns = (keys_a[rows], keys_b[rows], found.sizes_a, found.sizes_b, found.shared, found.low, found.high)
        names = [part.split()[0] for part in _PAIRS.split(", ")]
        yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], names=names)
