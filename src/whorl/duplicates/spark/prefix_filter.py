"""Finds candidate pairs on Spark: documents that share one of their rarest hashes (prefix filter).

The search runs in rounds. Each round uses more hashes of a document than the round before, and compares the documents
that the round before has deferred. Each partition holds a block of documents, and owns a part of all hash values.

A round first counts the documents that have each hash: each block sends its counts to the part that owns the hash. The
part adds them up, and returns the sum (the document frequency) if several documents have the hash. The hashes that a
round examines depend only on a document's sketch and the round (`whorl.duplicates.prefix_lengths`), so each step
selects them again instead of storing the selection.

Then each block sends the hashes that pass the prefix filter. The part that owns a hash sorts its documents by size and
key, and pairs each document with all smaller documents that are large enough. If a hash has too many pairs, its
documents are deferred to the next round, or returned as a hash block: the set of documents with one frequent hash. If
hash blocks and deferred documents fit into one worker's memory, one worker compares them in all remaining rounds,
because a distributed step costs far more than a few thousand documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from whorl.arrays_and_batches import HashLookup, expand_ranges, indices_of_ranges, run_starts, sorting_order
from whorl.duplicates.all_pairs import find_pairs
from whorl.duplicates.pairs import Pairs
from whorl.duplicates.prefix_filter import find_oversized_groups, mark_prefixes
from whorl.duplicates.prefix_lengths import JoinOptions, PrefixLengths, RoundParameters, rounds
from whorl.duplicates.sketch_arrays import Bools, Hashes, Numbers, Sketches
from whorl.duplicates.sketching import GOLDEN_FACTOR
from whorl.duplicates.spark.arrow_blocks import (
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
    pack_hashes,
    partition_by_part,
    rows_by_part,
    to_int64,
)
from whorl.duplicates.spark.compare_sketches import PAIRS, pair_rows
from whorl.duplicates.spark.sketch_documents import LoadedDocuments
from whorl.fingerprint.sketch.frac_minhash import SketchScheme

COUNTS = "part int, source long, levels binary, tokens binary, document_counts binary, flags binary"
FREQUENCIES = "part int, levels binary, tokens binary, frequencies binary"
RAREST = "part int, levels binary, tokens binary, keys binary, sizes binary, flags binary"
#: Bits of the column flags: first those in COUNTS, for each hash, then those in RAREST, for each hash of a document.
_IS_INDEXABLE, _IS_LARGER = 1, 2
IS_INDEXED, IS_PROBED, HAS_MORE_HASHES, IS_NEW = 1, 2, 4, 8
#: Shift that packs a level and a hash into one integer.
_LEVEL_SHIFT = 58
#: Maximum size of the table that excludes hashes that only one document has (see `HashLookup`).
_MOST_TABLE_BITS = 22

#: Columns of candidates; `senders` and `receivers` contain keys of documents. Kinds of rows:
#:
#: - `_PAIRS`: each document of `senders` sends its sketch to the document at the same index of `receivers`;
#: - `_HASH_BLOCK`: `receivers` contains all documents of the block, and `senders` its new documents;
#: - `_OPEN_HASH_BLOCK`: a hash block whose documents have more hashes for the next round.
_CANDIDATES = "part int, kind long, senders binary, receivers binary, hash_block string"
_KEYS = "part int, keys binary"
_PAIRS, _HASH_BLOCK, _OPEN_HASH_BLOCK = 0, 1, 2
#: Shift that packs the number of a hash and a document's size into one integer.
_SIZE_BITS = 32
_AT_ONCE = 1 << 20

#: Maximum number of hashes that one worker compares. The search takes several times 8 bytes for each.
MOST_AT_ONCE = 1 << 25

#: Function that verifies pairs to connect the documents of `RoundResult.hash_blocks`. It returns the blocks (column
#: hash_block) that it could not finish; their documents take part in the next round.
ConnectBlocks: TypeAlias = Callable[[DataFrame], DataFrame]


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
    connect: ConnectBlocks | None = None,
    pivots: int = 0,
    most_at_once: int = MOST_AT_ONCE,
) -> Iterator[RoundResult]:
    """Yield the candidate pairs, which may reach the threshold, round by round; a few pairs are repeated.

    With `options.spanning_only`, if a hash has too many pairs in the last round, its documents are yielded as a hash
    block instead: the caller needs only enough pairs to connect each cluster.

    Args:
        connect: Called with the hash blocks of a round, if their documents have more hashes. It returns the blocks
            whose documents take part in the next round.
        pivots: Number of new documents of each hash block to pair with the whole hash block.
        most_at_once: If the remaining documents have at most this number of hashes, one worker completes the search.
    """
    blocks, scheme, parts = documents.sketches, documents.scheme, documents.parts
    rounds_left = rounds(options.pairs, documents.largest or 1)
    for number, current_round in enumerate(rounds_left):
        counter = FrequencyCounter(scheme, parts, current_round, _smallest_sizes(blocks, scheme, current_round))
        counted = partition_by_part(map_batches(blocks, counter.counts, COUNTS), parts)
        frequencies = map_batches(counted, partial(frequencies_of, scheme=scheme), FREQUENCIES)
        rarest_hashes = partition_by_part(cogroup_blocks(blocks, frequencies, counter.prefixes, RAREST, parts), parts)
        finder = _PairFinder(scheme, parts, current_round, number, options, pivots)
        rows = documents.cache.materialise(map_batches(rarest_hashes, finder.pair, _CANDIDATES))
        kinds = {row["kind"] for row in rows.select("kind").distinct().collect()}
        pairs = rows.where(f.col("kind") == _PAIRS).select("part", "senders", "receivers")
        if not kinds - {_PAIRS}:
            yield RoundResult(pairs, None)
            return
        blocks = _blocks_of(
            map_batches(rows.where(f.col("kind") != _PAIRS), partial(_hash_block_keys, parts=parts), _KEYS), documents
        )
        in_bytes = sum(row["bytes"] for row in blocks.select(f.length("hashes").alias("bytes")).collect())
        if in_bytes <= most_at_once * np.dtype(narrow_type(scheme.bits)).itemsize:
            # Do not pass on the hash blocks: the worker finds them again among their documents. If no rounds remain, it
            # repeats the last round to do so.
            local = replace(options, rounds=rounds_left[number + 1 :] or [current_round])
            step = partial(_pairs_of_blocks, scheme=scheme, options=local)
            yield RoundResult(pairs, None, map_batches(blocks.coalesce(1), step, PAIRS))
            return
        yield RoundResult(pairs, _hash_blocks(rows, _HASH_BLOCK) if _HASH_BLOCK in kinds else None)
        if _OPEN_HASH_BLOCK not in kinds:
            return
        postponed = _hash_blocks(rows, _OPEN_HASH_BLOCK)
        if connect is not None:
            postponed = postponed.join(connect(postponed), "hash_block", "left_semi")
        blocks = _blocks_of(
            group_by_part(postponed.select("key").distinct(), parts, part_of="key", key="key"), documents
        )
        if blocks.isEmpty():
            return


def _pairs_of_blocks(batches: Batches, scheme: SketchScheme, options: JoinOptions) -> Batches:
    block = Block.from_rows(batches, scheme)
    # A block is already sorted by key, as `find_pairs` requires for documents of equal size, and has no equal texts.
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
        (keys,) = decode_columns([batch], "receivers")
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


def _smallest_sizes(blocks: DataFrame, scheme: SketchScheme, current_round: RoundParameters) -> dict[int, int]:
    levels = map_batches(
        blocks.select("sizes"),
        partial(_home_levels, scheme=scheme, current_round=current_round),
        "level int, size long",
    )
    # Each partition yields few rows, so collecting them is cheaper than a shuffle.
    smallest: dict[int, int] = {}
    for level, size in sorted((row["level"], row["size"]) for row in levels.collect()):
        smallest.setdefault(level, size)
    return smallest


def _home_levels(batches: Batches, scheme: SketchScheme, current_round: RoundParameters) -> Batches:
    for batch in batches:
        (sizes,) = decode_columns([batch], "sizes")
        levels = current_round.home_levels(scheme, sizes)
        order = np.lexsort((sizes, levels))
        order = order[run_starts(levels[order])]
        yield batch_of({"level": levels[order].astype(np.int32), "size": sizes[order]})


@dataclass(frozen=True, slots=True)
class _PairFinder:
    """Makes candidate pairs and hash blocks from the hashes of one partition (rows of RAREST)."""

    scheme: SketchScheme
    parts: Partitioning
    round: RoundParameters
    number: int
    options: JoinOptions
    pivots: int

    def pair(self, batches: Batches) -> Batches:
        """Yield the candidate pairs of one partition, and a hash block for each hash with too many pairs."""
        levels, tokens, keys, sizes, flags = decode_columns(batches, "levels tokens keys sizes flags", self.scheme.bits)
        if not levels.size:
            return
        order = np.lexsort((keys, sizes, tokens, levels))
        levels, tokens, keys, sizes, flags = (own[order] for own in (levels, tokens, keys, sizes, flags))
        starts = run_starts(levels, tokens)
        groups = np.repeat(np.arange(starts.size), np.diff(starts, append=order.size))
        is_same = (groups[1:] == groups[:-1]) & (keys[1:] == keys[:-1])
        # A document may have a hash twice. Look only at the entries before its first entry, so that it forms no pair
        # with itself.
        first = np.maximum.accumulate(np.where(np.append(False, is_same), 0, np.arange(order.size)))
        indexed, probed = np.flatnonzero(flags & IS_INDEXED), np.flatnonzero(flags & IS_PROBED)
        before = np.searchsorted(indexed, first)
        least = self.round.pair_options.smallest_partner(sizes[probed])
        packed = (groups[indexed] << np.int64(_SIZE_BITS)) + sizes[indexed]
        low = np.searchsorted(packed, (groups[probed] << np.int64(_SIZE_BITS)) + least)
        counts = np.maximum(0, before[probed] - low)
        is_left = counts > 0
        for at in find_oversized_groups(groups[probed], counts, self.options.most_pairs):
            partners = indexed[low[at].min() : (low[at] + counts[at]).max()]
            together = np.unique(np.concatenate([probed[at], partners]))
            hash_block, new = np.unique(keys[together]), np.unique(keys[together[flags[together] & IS_NEW > 0]])
            is_open = not self.round.is_last and bool((flags[together] & HAS_MORE_HASHES).any())
            if not (is_open or self.options.spanning_only):
                continue
            is_left[at] = False
            if not new.size:
                continue
            name = f"{self.number}/{levels[at_first := together[0]]}/{tokens[at_first]}"
            values = [-1, _OPEN_HASH_BLOCK if is_open else _HASH_BLOCK, new.tobytes(), hash_block.tobytes(), name]
            yield pa.RecordBatch.from_arrays([[value] for value in values], schema=arrow_schema(_CANDIDATES))
            if self.pivots:
                yield from self._with_pivots(hash_block, new)
        left = np.flatnonzero(is_left)
        for owners, entries in expand_ranges(low[left], low[left] + counts[left], _AT_ONCE):
            smaller, larger = indexed[entries], probed[left[owners]]
            is_open = (flags[smaller] | flags[larger]) & IS_NEW > 0
            yield self._pairs(keys[smaller[is_open]], keys[larger[is_open]])

    def _with_pivots(self, hash_block: Numbers, new: Numbers) -> Batches:
        """Pair some new documents of a hash block (pivots) with all of its documents."""
        # Choose pivots by key, so that hash blocks with many documents in common make the same pairs.
        pivots = new[np.argsort(new.view(np.uint64) * GOLDEN_FACTOR)[: self.pivots]]
        for pivot in pivots.tolist():
            yield self._pairs(np.full(hash_block.size, pivot, np.int64), hash_block)

    def _pairs(self, senders: Numbers, receivers: Numbers) -> pa.RecordBatch:
        differs = senders != receivers
        senders, receivers = senders[differs], receivers[differs]
        made = rows_by_part(self.parts.parts_of(senders), {"senders": senders, "receivers": receivers}, kind=_PAIRS)
        return made.append_column("hash_block", pa.nulls(made.num_rows, pa.string()))


class _Entries(NamedTuple):
    """The hashes to examine at one level, grouped by document and ascending within each.

    `owners` has the index of each hash's document among the compared documents; `is_indexable` says whether its index
    prefix may contain the hash.
    """

    tokens: Hashes
    owners: Numbers
    is_indexable: Bools

    def select(self, which: Numbers) -> _Entries:
        return _Entries(self.tokens[which], self.owners[which], self.is_indexable[which])


@dataclass(frozen=True, slots=True, eq=False)
class _LevelDocuments:
    level: int
    sketches: Sketches
    indices: Numbers
    lengths: PrefixLengths
    is_larger: Bools

    def entries(self) -> _Entries:
        counts = self.lengths.count_used_hashes(self.is_larger)
        tokens, owners = self.sketches.copy_hashes(self.indices, 0, counts)
        return _Entries(
            tokens, owners, indices_of_ranges(np.zeros_like(counts), counts) < self.lengths.indexable[owners]
        )

    def counts_of(self, entries: _Entries) -> tuple[Numbers, Numbers]:
        owners = entries.owners
        indexable = np.bincount(owners[entries.is_indexable], minlength=self.indices.size)
        return np.bincount(owners, minlength=self.indices.size), indexable


@dataclass(frozen=True, slots=True)
class FrequencyCounter:
    """Counts frequencies and selects prefixes in one round. Each step processes one block at a time.

    `smallest` maps each home level (see `RoundParameters.home_levels`) to the size of its smallest document.
    """

    scheme: SketchScheme
    parts: Partitioning
    round: RoundParameters
    smallest: Mapping[int, int]

    def counts(self, batches: Batches) -> Batches:
        """Yield, for each block and each hash, the number of the block's documents that have the hash."""
        by_source: dict[int, list[pa.RecordBatch]] = {}
        for batch in batches:
            for at, part in enumerate(batch["part"].to_pylist()):
                by_source.setdefault(part, []).append(batch.slice(at, 1))
        for source, rows in by_source.items():
            yield from self._count_frequencies(source, self._levels(Block.from_rows(rows, self.scheme)))

    def prefixes(self, block: pa.Table, frequencies: pa.Table) -> Batches:
        """Yield the hashes in the prefixes of a block's documents, as one row of RAREST for each part."""
        if not frequencies.num_rows:
            return
        known_levels, known_tokens, counts = decode_columns(frequencies, "levels tokens frequencies", self.scheme.bits)
        whole = Block.from_rows(block, self.scheme)
        columns: list[tuple[npt.NDArray[Any], ...]] = []
        for level in self._levels(whole):
            entries, indices, is_known = level.entries(), level.indices, known_levels == level.level
            order = np.flatnonzero(is_known)[np.argsort(known_tokens[is_known])]
            lookup = HashLookup(known_tokens[order], max(0, self.scheme.bits - level.level), _MOST_TABLE_BITS)
            which, positions = lookup.find(entries.tokens)
            entries, frequency = entries.select(which), counts[order][positions]
            prefixes = level.lengths.prefixes(level.is_larger, *level.counts_of(entries))
            is_indexed, is_probed = mark_prefixes(entries.owners, frequency, entries.is_indexable, *prefixes)
            has_more_hashes = self.round.has_more_hashes(whole.sketches, indices, level.lengths)[entries.owners]
            is_new = whole.is_new[indices[entries.owners]]
            flags = is_indexed * IS_INDEXED | is_probed * IS_PROBED
            flags |= has_more_hashes * HAS_MORE_HASHES | is_new * IS_NEW
            is_in_prefix = is_indexed | is_probed
            of, own = indices[entries.owners[is_in_prefix]], entries.tokens[is_in_prefix]
            levels, flags = np.full(of.size, level.level, np.uint8), flags[is_in_prefix].astype(np.uint8)
            columns.append((levels, own, whole.keys[of], whole.sketches.sizes[of], flags))
        yield from self._rows_by_hash(columns, "keys sizes flags")

    def _levels(self, block: Block) -> Iterator[_LevelDocuments]:
        sketches, current_round = block.sketches, self.round
        home_levels = current_round.home_levels(sketches.scheme, sketches.sizes)
        for level, size in self.smallest.items():
            indices = np.flatnonzero(current_round.participants(sketches.sizes, home_levels, level, size))
            lengths = current_round.prefix_lengths(sketches, indices, level)
            yield _LevelDocuments(level, sketches, indices, lengths, home_levels[indices] == level)

    def _count_frequencies(self, source: int, levels_of_block: Iterable[_LevelDocuments]) -> Batches:
        columns: list[tuple[npt.NDArray[Any], ...]] = []
        for level in levels_of_block:
            entries = level.entries()
            order = sorting_order(entries.tokens, self.scheme.bits)
            tokens = entries.tokens[order]
            starts = run_starts(tokens)
            if not starts.size:
                continue
            flags = _any_in_groups(entries.is_indexable[order], starts) * _IS_INDEXABLE
            flags |= _any_in_groups(level.is_larger[entries.owners[order]], starts) * _IS_LARGER
            counts = np.diff(starts, append=tokens.size).astype(np.uint32)
            levels = np.full(starts.size, level.level, np.uint8)
            columns.append((levels, tokens[starts], counts, flags.astype(np.uint8)))
        yield from self._rows_by_hash(columns, "document_counts flags", source=source)

    def _rows_by_hash(
        self, columns: list[tuple[npt.NDArray[Any], ...]], names: str, **same: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield one row for each part of the hash values, with the columns of all levels.

        Args:
            columns: For each level, a tuple of arrays with an element for each hash: the level, the hash, and the
                values of the other columns.
            names: Names of the other columns, with blanks between them.
            same: Columns with one value for all rows.
        """
        if columns:
            levels, tokens, *others = (np.concatenate(arrays) for arrays in zip(*columns, strict=True))
            rows = {"levels": levels, "tokens": pack_hashes(tokens, self.scheme.bits)}
            rows |= dict(zip(names.split(), others, strict=True))
            yield rows_by_part(self.parts.parts_of(tokens + levels.astype(np.uint64) * GOLDEN_FACTOR), rows, **same)


def frequencies_of(batches: Batches, scheme: SketchScheme) -> Batches:
    """Add up each hash's counts over all blocks; send the sum back to the blocks if the hash can lead to a pair."""
    rows = list(batches)
    levels, tokens, counts, flags = decode_columns(rows, "levels tokens document_counts flags", scheme.bits)
    if not levels.size:
        return
    # A level takes one byte, so the length of a row's `levels` is the number of its hashes.
    sizes = [len(raw) for batch in rows for raw in batch["levels"].to_pylist()]
    sources = np.repeat(np.concatenate([to_int64(batch["source"]) for batch in rows]), sizes)
    if scheme.bits > _LEVEL_SHIFT:
        order = np.lexsort((tokens, levels))
    else:
        # The hashes of each block are already sorted, so a stable sort is fast.
        packed = (levels.astype(np.uint64) << np.uint64(_LEVEL_SHIFT)) | tokens
        order = np.argsort(packed, kind="stable")
    levels, tokens, flags = levels[order], tokens[order], flags[order]
    starts = run_starts(levels, tokens)
    totals = np.add.reduceat(counts[order].astype(np.int64), starts)
    can_pair = (totals > 1) & (np.bitwise_or.reduceat(flags, starts) == _IS_INDEXABLE | _IS_LARGER)
    lengths = np.diff(starts, append=order.size)
    is_shared = np.repeat(can_pair, lengths)
    columns = {
        "levels": levels[is_shared],
        "tokens": pack_hashes(tokens[is_shared], scheme.bits),
        "frequencies": np.repeat(totals, lengths)[is_shared],
    }
    yield rows_by_part(sources[order][is_shared].astype(np.int32), columns)


def _any_in_groups(holds: Bools, starts: Numbers) -> npt.NDArray[np.int64]:
    return np.logical_or.reduceat(holds, starts).astype(np.int64)
