"""Finds candidate pairs on Spark: documents that share one of their rarest hashes (prefix filter).

The search runs in rounds. Each round uses more hashes of a document than the previous one, and compares the documents
that the previous one has deferred. Each partition holds a block of documents, and owns a part of all hash values. A
round first counts the documents that have each hash. Each block sends its counts to the part that owns the hash. The
part adds up the counts of each hash, and returns the sum if several documents have the hash. The documents are counted
in two passes: first for the smallest hashes of all documents, then for the other hashes of the few documents that can
still reach the threshold.

Then each block sends the hashes that pass the prefix filter. The part that owns a hash sorts its documents by size and
key, and pairs each document with all smaller documents that are large enough. The sorted positions give the number of
pairs. If a hash makes too many pairs, its documents are deferred to the next round, or returned as a hash block: the
set of documents with one frequent hash. If hash blocks and deferred documents fit into one worker's memory, one worker
compares them in all remaining rounds: a distributed step costs far more than a few thousand documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from whorl.arrays_and_batches import run_starts, spread
from whorl.duplicates.all_pairs import find_pairs
from whorl.duplicates.prefix_filter import find_oversized_groups
from whorl.duplicates.prefix_lengths import JoinOptions, Round, rounds
from whorl.duplicates.sketch_arrays import Numbers, Sketches
from whorl.duplicates.spark.frequencies_and_prefixes import (
    COUNTS,
    FREQUENCIES,
    HAS_MORE_HASHES,
    IS_INDEXED,
    IS_NEW,
    IS_PROBED,
    RAREST,
    SCATTERED,
    FrequencyCounter,
    frequencies_of,
)
from whorl.duplicates.spark.load_and_sketch import LoadedDocuments
from whorl.duplicates.spark.partitions_and_blocks import (
    SKETCHES,
    Batches,
    Block,
    Partitioning,
    arrow_schema,
    batch_of,
    cogroup_blocks,
    decode_columns,
    documents_with_keys,
    group_by_part,
    map_batches,
    narrow_type,
    partition_by_part,
    rows_by_part,
    unpack_hashes,
    whole_numbers,
)
from whorl.duplicates.spark.verify import PAIRS, pair_rows
from whorl.duplicates.verify_sketches import Pairs
from whorl.fingerprint.sketch.frac_minhash import SketchScheme

#: Columns of candidates. Documents are given by their keys. In a row of pairs (`kind` is _PAIRS), each document in
#: `senders` sends its sketch to the document at the same index in `receivers`. A row of a hash block has all of its
#: documents in `receivers`, and the new ones in `senders`. A hash block is open if its documents have more hashes for
#: the next round.
_CANDIDATES = "part int, kind long, hash_block string, senders binary, receivers binary"
_KEYS = "part int, keys binary"
_PAIRS, _HASH_BLOCK, _OPEN_HASH_BLOCK = 0, 1, 2
#: A hash's number is shifted left by this number of bits, and then combined with a document's size into one integer.
_SIZE_BITS = 32
_AT_ONCE = 1 << 20

#: Maximum number of hashes that one worker compares. A hash takes 8 bytes, and several times more during the search.
MOST_AT_ONCE = 1 << 25

#: Function that verifies pairs to connect the documents of a round's hash blocks (columns of
#: `RoundResult.hash_blocks`). It returns the blocks (column hash_block) that it could not finish; their documents take
#: part in the next round.
Decide: TypeAlias = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True, slots=True)
class RoundResult:
    """Result of one round.

    Args:
        pairs: Candidate pairs in the columns part (of the senders), senders (keys of the documents whose sketches are
            sent) and receivers (keys of their partners).
        hash_blocks: Columns hash_block, key and is_new. Two documents of a hash block are candidates if one is new.
            None if there are no hash blocks, or if one worker finds their pairs.
        remainder: Verified pairs of all remaining documents, found by one worker, in the columns of PAIRS; None if the
            search continues or is complete.
    """

    pairs: DataFrame
    hash_blocks: DataFrame | None
    remainder: DataFrame | None = None


def find_candidates(
    documents: LoadedDocuments,
    options: JoinOptions,
    decide: Decide | None = None,
    pivots: int = 0,
    most_at_once: int = MOST_AT_ONCE,
) -> Iterator[RoundResult]:
    """Yield the candidate pairs, which may reach the threshold, round by round; a few pairs are repeated.

    With `options.spanning_only`, the caller needs only enough pairs to connect each cluster. So if a hash has too many
    pairs in the last round, its documents are yielded as a hash block instead of all their pairs.

    Args:
        decide: Called with the hash blocks of a round, if their documents have more hashes. It returns the blocks whose
            documents take part in the next round.
        pivots: Number of new documents of each hash block to pair with the whole hash block.
        most_at_once: If the remaining documents have at most this number of hashes, one worker completes the search.
    """
    blocks, scheme, parts = documents.sketches, documents.scheme, documents.parts
    rounds_left = rounds(options.pairs, documents.largest or 1)
    for number, one in enumerate(rounds_left):
        counter = FrequencyCounter(scheme, parts, one, _smallest_sizes(blocks, scheme, one))
        counted = partition_by_part(map_batches(blocks, counter.counts, COUNTS), parts)
        frequencies = map_batches(counted, partial(frequencies_of, scheme=scheme), FREQUENCIES)
        if counter.first_pass_range < 1:
            frequencies = documents.cache.materialise(frequencies)
            remaining = partition_by_part(
                cogroup_blocks(blocks, frequencies, counter.counts_of_remaining, COUNTS, parts), parts
            )
            frequencies = frequencies.unionByName(
                map_batches(remaining, partial(frequencies_of, scheme=scheme), FREQUENCIES)
            )
        rarest_hashes = partition_by_part(cogroup_blocks(blocks, frequencies, counter.prefixes, RAREST, parts), parts)
        finder = _PairFinder(scheme, parts, one, number, options, pivots)
        rows = documents.cache.materialise(map_batches(rarest_hashes, finder.pair, _CANDIDATES))
        kinds = {row["kind"] for row in map_batches(rows.select("kind"), _kinds_in, "kind long").collect()}
        pairs = rows.where(f.col("kind") == _PAIRS).select("part", "senders", "receivers")
        if not kinds - {_PAIRS}:
            yield RoundResult(pairs, None)
            return
        blocks = _blocks_of(
            map_batches(rows.where(f.col("kind") != _PAIRS), partial(_hash_block_keys, parts=parts), _KEYS), documents
        )
        in_bytes = sum(row["bytes"] for row in blocks.select(f.length("hashes").alias("bytes")).collect())
        if in_bytes <= most_at_once * np.dtype(narrow_type(scheme.bits)).itemsize:
            # The worker's search finds the hash blocks again, so do not pass them on. If no rounds remain, the worker
            # repeats the last round, because hash blocks are left over from it.
            local = replace(options, rounds=rounds_left[number + 1 :] or [one])
            step = partial(_pairs_of_blocks, scheme=scheme, options=local)
            yield RoundResult(pairs, None, map_batches(blocks.coalesce(1), step, PAIRS))
            return
        yield RoundResult(pairs, _hash_blocks(rows, _HASH_BLOCK) if _HASH_BLOCK in kinds else None)
        if _OPEN_HASH_BLOCK not in kinds:
            return
        postponed = _hash_blocks(rows, _OPEN_HASH_BLOCK)
        if decide is not None:
            postponed = postponed.join(decide(postponed), "hash_block", "left_semi")
        blocks = _blocks_of(
            group_by_part(postponed.select("key").distinct(), parts, part_of="key", key="key"), documents
        )
        if blocks.isEmpty():
            return


def _pairs_of_blocks(batches: Batches, scheme: SketchScheme, options: JoinOptions) -> Batches:
    block = Block.from_rows(batches, scheme)
    # `find_pairs` expects documents of equal size in the order of their keys; a block is already sorted by key.
    firsts = np.arange(block.keys.size)
    pairs = find_pairs(block.sketches, firsts, options, known=Pairs.concatenate([]), is_known=~block.is_new)
    yield pair_rows(pairs, block.keys)


def _blocks_of(keys: DataFrame, documents: LoadedDocuments) -> DataFrame:
    step, parts = partial(documents_with_keys, scheme=documents.scheme), documents.parts
    return documents.cache.materialise_in_place(
        partition_by_part(cogroup_blocks(documents.sketches, keys, step, SKETCHES, parts), parts)
    )


def _hash_block_keys(batches: Batches, parts: Partitioning) -> Batches:
    for batch in batches:
        (keys,) = decode_columns([batch], "receivers", "i8")
        keys = np.unique(keys)
        yield rows_by_part(parts.parts_of(keys), {"keys": keys})


def _hash_blocks(rows: DataFrame, kind: int) -> DataFrame:
    return map_batches(rows.where(f.col("kind") == kind), _one_by_one, "hash_block string, key long, is_new boolean")


def _one_by_one(batches: Batches) -> Batches:
    for batch in batches:
        for hash_block, *raw in zip(
            *(batch[name].to_pylist() for name in ("hash_block", "receivers", "senders")), strict=True
        ):
            keys, new = (np.frombuffer(column, np.int64) for column in raw)
            names = pa.array([hash_block] * keys.size, pa.string())
            yield pa.RecordBatch.from_arrays(
                [names, pa.array(keys), pa.array(np.isin(keys, new))], names=["hash_block", "key", "is_new"]
            )


def _smallest_sizes(blocks: DataFrame, scheme: SketchScheme, one: Round) -> dict[int, int]:
    levels = map_batches(blocks.select("sizes"), partial(_home_levels, scheme=scheme, one=one), "level int, size long")
    # Each partition yields few rows, so it is cheaper to collect the rows than to shuffle them.
    smallest: dict[int, int] = {}
    for level, size in sorted((row["level"], row["size"]) for row in levels.collect()):
        smallest.setdefault(level, size)
    return smallest


def _kinds_in(batches: Batches) -> Batches:
    """Yield the distinct values of column `kind` in each batch.

    The driver can collect these few rows without a shuffle.
    """
    for batch in batches:
        yield batch_of({"kind": np.unique(whole_numbers(batch["kind"]))})


def _home_levels(batches: Batches, scheme: SketchScheme, one: Round) -> Batches:
    for batch in batches:
        (sizes,) = decode_columns([batch], "sizes", "i8")
        nothing = np.zeros_like(sizes)
        levels = one.home_levels(Sketches(scheme, sizes, nothing, nothing, np.empty(0, np.uint64)), sizes)
        order = np.lexsort((sizes, levels))
        order = order[run_starts(levels[order])]
        yield batch_of({"level": levels[order].astype(np.int32), "size": sizes[order]})


@dataclass(frozen=True, slots=True)
class _PairFinder:
    """Makes candidate pairs and hash blocks from the hashes of one partition (rows of RAREST)."""

    scheme: SketchScheme
    parts: Partitioning
    one: Round
    number: int
    options: JoinOptions
    pivots: int

    def pair(self, batches: Batches) -> Batches:
        """Yield the candidate pairs of one partition, and a hash block for each hash with too many pairs."""
        names, types = "levels tokens keys sizes flags", f"u1 {narrow_type(self.scheme.bits)} i8 i8 u1"
        levels, narrow, keys, sizes, flags = decode_columns(batches, names, types)
        if not levels.size:
            return
        tokens = unpack_hashes(narrow)
        order = np.lexsort((keys, sizes, tokens, levels))
        levels, tokens, flags = levels[order], tokens[order], flags[order]
        keys, sizes = keys[order], sizes[order]
        groups = np.zeros(order.size, np.int64)
        groups[run_starts(levels, tokens)[1:]] = 1
        groups = np.cumsum(groups)
        is_same = (groups[1:] == groups[:-1]) & (keys[1:] == keys[:-1])
        # A document may have a hash twice. Do not pair the document with itself.
        first = np.maximum.accumulate(np.where(np.append(False, is_same), 0, np.arange(order.size)))
        indexed, probed = np.flatnonzero(flags & IS_INDEXED), np.flatnonzero(flags & IS_PROBED)
        before = np.searchsorted(indexed, first)
        least = self.one.pair_options.smallest_partner(sizes[probed])
        packed = (groups[indexed] << np.int64(_SIZE_BITS)) + sizes[indexed]
        low = np.searchsorted(packed, (groups[probed] << np.int64(_SIZE_BITS)) + least)
        counts = np.maximum(0, before[probed] - low)
        is_left = counts > 0
        for at in find_oversized_groups(groups[probed], counts, self.options.most):
            partners = indexed[low[at].min() : (low[at] + counts[at]).max()]
            together = np.unique(np.concatenate([probed[at], partners]))
            hash_block, new = np.unique(keys[together]), np.unique(keys[together[flags[together] & IS_NEW > 0]])
            is_open = not self.one.is_last and bool((flags[together] & HAS_MORE_HASHES).any())
            if not (is_open or self.options.spanning_only):
                continue
            is_left[at] = False
            if not new.size:
                continue
            name = f"{self.number}/{levels[at_first := together[0]]}/{tokens[at_first]}"
            values = {"part": -1, "kind": _OPEN_HASH_BLOCK if is_open else _HASH_BLOCK, "hash_block": name}
            values |= {"senders": new.tobytes(), "receivers": hash_block.tobytes()}
            yield pa.RecordBatch.from_pylist([values], arrow_schema(_CANDIDATES))
            if self.pivots:
                yield from self._with_pivots(hash_block, new)
        left = np.flatnonzero(is_left)
        ends = np.cumsum(counts[left])
        cuts = np.searchsorted(ends, np.arange(_AT_ONCE, ends[-1] if ends.size else 0, _AT_ONCE))
        for portion in np.split(left, np.unique(cuts)):
            smaller = indexed[spread(low[portion], counts[portion])]
            larger = np.repeat(probed[portion], counts[portion])
            is_open = (flags[smaller] | flags[larger]) & IS_NEW > 0
            yield self._pairs(keys[smaller[is_open]], keys[larger[is_open]])

    def _with_pivots(self, hash_block: Numbers, new: Numbers) -> Batches:
        """Pair some new documents of a hash block (pivots) with all of its documents."""
        # Choose pivots by their keys: then hash blocks with many documents in common choose the same pivots and make
        # the same pairs.
        pivots = new[np.argsort(new.view(np.uint64) * SCATTERED)[: self.pivots]]
        for pivot in pivots.tolist():
            yield self._pairs(np.full(hash_block.size, pivot, np.int64), hash_block)

    def _pairs(self, senders: Numbers, receivers: Numbers) -> pa.RecordBatch:
        differs = senders != receivers
        senders, receivers = senders[differs], receivers[differs]
        made = rows_by_part(self.parts.parts_of(senders), {"senders": senders, "receivers": receivers}, kind=_PAIRS)
        made, schema = made.append_column("hash_block", pa.nulls(made.num_rows, pa.string())), arrow_schema(_CANDIDATES)
        return made.select(schema.names).cast(schema)
