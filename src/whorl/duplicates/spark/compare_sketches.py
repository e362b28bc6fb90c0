"""Compares the sketches of pairs on Spark: verifies candidates, and measures the overlap of documents.

The comparing functions are the same as in the search on one machine. If the two documents of a pair are in different
blocks, the block of one document sends its sketch to the block of the other document. Each sketch is sent to a block
only once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from whorl.arrays_and_batches import chunks, run_starts
from whorl.duplicates.options import PairOptions
from whorl.duplicates.pairs import Pairs
from whorl.duplicates.sketch_arrays import Numbers, Sketches
from whorl.duplicates.spark.arrow_blocks import (
    SKETCHES,
    Batches,
    Block,
    Partitioning,
    arrow_schema,
    batch_of,
    cogroup_blocks,
    decode_columns,
    sketch_row,
)
from whorl.duplicates.spark.sketch_documents import LoadedDocuments
from whorl.duplicates.verify_by_sketches import measure_pairs, verify_pairs
from whorl.fingerprint.sketch.frac_minhash import SketchScheme

PAIRS = "a long, b long, size_a long, size_b long, shared long, low long, high long"
_SENT = f"{SKETCHES}, sender_indices binary, receivers binary"
#: Approximate maximum number of hashes that are sent in one row, and maximum bytes of sketches that are compared at a
#: time.
_HASHES_AT_ONCE, _BYTES_AT_ONCE = 1 << 22, 1 << 24

#: Function that compares pairs (`verify_pairs` or `measure_pairs`), given sketches, and the indices of the sent
#: documents and of their partners.
_Compare = Callable[[Sketches, Numbers, Numbers], Pairs]


def verify_candidates(candidates: DataFrame, documents: LoadedDocuments, pair_options: PairOptions) -> DataFrame:
    """Return the candidates that reach the threshold, in the columns of PAIRS; column a has the smaller key."""
    return _compare_pairs(candidates, documents, partial(verify_pairs, pair_options=pair_options))


def measure_overlaps(pairs: DataFrame, documents: LoadedDocuments) -> DataFrame:
    """Count the shared shingles of pairs (sender, receiver), in the columns of PAIRS; column a has the sender."""
    return _compare_pairs(pairs, documents, measure_pairs)


def _compare_pairs(pairs: DataFrame, documents: LoadedDocuments, compare: _Compare) -> DataFrame:
    scheme, parts, blocks = documents.scheme, documents.parts, documents.sketches
    sent = cogroup_blocks(blocks, pairs, partial(_select_sketches, scheme=scheme, parts=parts), _SENT, parts)
    return cogroup_blocks(blocks, sent, partial(_compare_received, scheme=scheme, compare=compare), PAIRS, parts)


def _select_sketches(block: pa.Table, pairs: pa.Table, scheme: SketchScheme, parts: Partitioning) -> Batches:
    """Yield the sketches of a block that other parts need, in one or more rows for each receiving part."""
    senders, receivers = decode_columns(pairs, "senders receivers")
    if not senders.size:
        return
    whole, schema = Block.from_rows(block, scheme), arrow_schema(_SENT)
    order = np.lexsort((receivers, senders, parts.parts_of(receivers)))
    senders, receivers = senders[order], receivers[order]
    different = run_starts(senders, receivers)
    senders, receivers = senders[different], receivers[different]
    of_parts, indices = parts.parts_of(receivers), whole.indices_of(senders)
    cuts = np.flatnonzero(np.diff(of_parts)) + 1
    for own, own_receivers in zip(np.split(indices, cuts), np.split(receivers, cuts), strict=True):
        part = int(parts.parts_of(own_receivers[:1])[0])
        distinct, sender_indices = np.unique(own, return_inverse=True)
        # Divide the documents into contiguous portions of about `_HASHES_AT_ONCE` hashes.
        heavy = np.cumsum(whole.sketches.counts[distinct]) // _HASHES_AT_ONCE
        for portion in np.unique(heavy).tolist():
            chosen = np.flatnonzero(heavy == portion)
            is_here = (sender_indices >= chosen[0]) & (sender_indices <= chosen[-1])
            columns = {"sender_indices": sender_indices[is_here] - chosen[0], "receivers": own_receivers[is_here]}
            values = {name: pa.array([column.astype(np.int64).tobytes()]) for name, column in columns.items()}
            row = sketch_row(part, whole, distinct[chosen])
            yield pa.RecordBatch.from_arrays([*row.columns, *values.values()], schema=schema)


def _compare_received(block: pa.Table, sent: pa.Table, scheme: SketchScheme, compare: _Compare) -> Batches:
    if not sent.num_rows:
        return
    whole = Block.from_rows(block, scheme)
    rows = (batch.slice(at, 1) for batch in sent.to_batches() for at in range(batch.num_rows))
    for portion in chunks(rows, lambda row: len(row["hashes"][0].as_buffer()), _BYTES_AT_ONCE):
        yield _compare_rows(whole, portion, scheme, compare)


def _compare_rows(whole: Block, rows: list[pa.RecordBatch], scheme: SketchScheme, compare: _Compare) -> pa.RecordBatch:
    sender_indices, receivers = decode_columns(rows, "sender_indices receivers")
    (keys,) = decode_columns(rows, "keys")
    # `sender_indices` count within one row, so add the number of documents in the earlier rows.
    rows_of = [len(row["keys"][0].as_buffer()) // 8 for row in rows]
    pairs_of = [len(row["receivers"][0].as_buffer()) // 8 for row in rows]
    sender_indices = sender_indices + np.repeat(np.cumsum(rows_of) - rows_of, pairs_of)
    sent = Block.from_rows(rows, scheme)
    distinct, at = np.unique(receivers, return_inverse=True)
    indices = whole.indices_of(distinct)
    hashes, _ = whole.sketches.copy_hashes(indices)
    counts = whole.sketches.counts[indices]
    # An estimate depends on the order of the two documents, so order them by key, as on one machine.
    everything = np.concatenate([sent.keys, distinct])
    order = np.argsort(everything, kind="stable")
    index_of = np.empty(order.size, np.int64)
    index_of[order] = np.arange(order.size)
    sketches = Sketches(
        scheme,
        np.concatenate([sent.sketches.sizes, whole.sketches.sizes[indices]]),
        np.concatenate([sent.sketches.starts, np.cumsum(counts) - counts + sent.sketches.hashes.size]),
        np.concatenate([sent.sketches.counts, counts]),
        np.concatenate([sent.sketches.hashes, hashes]),
    ).select(order)
    senders, partners = index_of[sent.indices_of(keys[sender_indices])], index_of[at + sent.keys.size]
    return pair_rows(compare(sketches, senders, partners), everything[order])


def pair_rows(pairs: Pairs, keys: Numbers) -> pa.RecordBatch:
    """Return pairs as rows of PAIRS; `keys` has the key of each document."""
    columns = (keys[pairs.a], keys[pairs.b], pairs.sizes_a, pairs.sizes_b, pairs.shared, pairs.low, pairs.high)
    return batch_of(dict(zip(arrow_schema(PAIRS).names, columns, strict=True)))
