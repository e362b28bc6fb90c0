"""On Spark, counts how many documents have each hash, and selects each document's rarest hashes (its prefix).

The document frequency of a hash is the number of documents with it. A round is one pass of the prefix filter; each
round uses more hashes of a document than the previous one. Level L has the hashes in the lowest fraction 2**-L of the
hash space; documents of similar size are compared at one level. The examined hashes of a document depend only on its
sketch and the round (`whorl.duplicates.prefix_lengths`). So each step selects them again instead of storing the
selection. The frequencies are counted in two passes. The first pass counts the smallest hashes of all documents. The
second pass counts the other hashes of the documents that can still reach the threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whorl.arrays_and_batches import order_of, run_starts, spread
from whorl.duplicates.prefix_filter import mark_prefixes
from whorl.duplicates.prefix_lengths import PrefixLengths, Round
from whorl.duplicates.sketch_arrays import Numbers, Sketches
from whorl.duplicates.spark.partitions_and_blocks import (
    Batches,
    Block,
    Partitioning,
    decode_columns,
    narrow_type,
    pack_hashes,
    repeat_values,
    rows_by_part,
    unpack_hashes,
)
from whorl.fingerprint.sketch.frac_minhash import SketchScheme

COUNTS = "part int, source long, levels binary, tokens binary, counts binary, flags binary"
FREQUENCIES = "part int, levels binary, tokens binary, frequencies binary"
RAREST = "part int, levels binary, tokens binary, keys binary, sizes binary, flags binary"
#: Bit flags of a hash in COUNTS, and of a document's hash in RAREST.
_IS_INDEXABLE, _IS_LARGER = 1, 2
IS_INDEXED, IS_PROBED, HAS_MORE_HASHES, IS_NEW = 1, 2, 4, 8
#: Shift that packs a level and a hash into one integer.
_LEVEL_SHIFT = 58
#: Odd factor, from the golden ratio, that spreads numbers evenly without loss.
SCATTERED = np.uint64(0x9E3779B97F4A7C15)
#: The first pass counts the lowest fraction 1 - `_OF_THRESHOLD` * threshold of the hash values, the second pass counts
#: the other hashes. If this fraction is at least `_MOST_AT_FIRST`, the first pass counts all hashes.
_OF_THRESHOLD, _MOST_AT_FIRST = Fraction(4, 5), Fraction(3, 4)
#: Size of a table that quickly excludes hashes of only one document. For n hashes, its index is the top
#: log2(n) + `_SPARE_BITS` bits of a hash, but at most `_MOST_HEAD_BITS`.
_MOST_HEAD_BITS, _SPARE_BITS = 22, 3

_Bools: TypeAlias = npt.NDArray[np.bool_]


class _Entries(NamedTuple):
    """The hashes to examine at one level, grouped by document and ascending within each.

    Attributes:
        owners: Document of each hash, as its position among the compared documents.
        is_indexable: Whether the hash may be in the document's index prefix, as the smaller document.
    """

    tokens: npt.NDArray[np.uint64]
    owners: Numbers
    is_indexable: _Bools

    def select(self, which: _Bools) -> _Entries:
        return _Entries(self.tokens[which], self.owners[which], self.is_indexable[which])


@dataclass(frozen=True, slots=True, eq=False)
class _LevelDocuments:
    """Documents of a block that are compared at one level.

    Args:
        counts: Number of each document's hashes to examine.
        first: Number of each document's smallest hashes that the first pass counts.
    """

    level: int
    sketches: Sketches
    indices: Numbers
    lengths: PrefixLengths
    is_larger: _Bools
    counts: Numbers
    first: Numbers

    def entries(self, skipped: Numbers, counts: Numbers) -> _Entries:
        tokens, owners = self.sketches.copy_hashes(self.indices, skipped, counts)
        return _Entries(tokens, owners, spread(skipped, counts) < self.lengths.indexable[owners])

    def first_entries(self) -> _Entries:
        return self.entries(np.zeros_like(self.first), self.first)

    def reachable(self, known: _FrequencyTable) -> _Bools:
        """Return a mask of the documents that could reach the threshold if they shared all uncounted hashes.

        Decision 0050 describes this pruning.
        """
        if self.first is self.counts:
            # The first pass has counted all hashes, so this pruning would save no work.
            return np.ones(self.indices.size, np.bool_)
        entries = self.first_entries()
        shared, shared_indexable = self.counts_of(entries.select(known.frequencies(entries.tokens) > 0))
        left = self.counts - self.first
        left_indexable = np.maximum(0, self.lengths.indexable - self.first)
        is_reachable = (self.lengths.indexable > 0) & (
            shared_indexable + left_indexable >= self.lengths.min_indexable_shared
        )
        return np.asarray(is_reachable | (self.is_larger & (shared + left >= self.lengths.min_shared)))

    def counts_of(self, entries: _Entries) -> tuple[Numbers, Numbers]:
        owners = entries.owners
        indexable = np.bincount(owners[entries.is_indexable], minlength=self.indices.size)
        return np.bincount(owners, minlength=self.indices.size), indexable


class _FrequencyTable:
    """Document frequencies of the hashes of one level that occur in several documents."""

    def __init__(self, tokens: npt.NDArray[np.uint64], frequencies: npt.NDArray[Any], bits: int) -> None:
        order = np.argsort(tokens, kind="stable")
        self._tokens, self._frequencies = tokens[order], frequencies[order]
        # Most hashes occur in only one document; a table of upper bits excludes them quickly.
        self._shift = np.uint64(max(0, bits - min(_MOST_HEAD_BITS, tokens.size.bit_length() + _SPARE_BITS)))
        self._heads = np.zeros(1 << max(0, bits - int(self._shift)), np.bool_)
        self._heads[tokens >> self._shift] = True

    def frequencies(self, tokens: npt.NDArray[np.uint64]) -> Numbers:
        """Return the frequency of each hash; 0 for a hash that is not in the table."""
        frequencies = np.zeros(tokens.size, np.int64)
        may_be = np.flatnonzero(self._heads[tokens >> self._shift])
        if may_be.size:
            candidates = tokens[may_be]
            at = np.minimum(np.searchsorted(self._tokens, candidates), self._tokens.size - 1)
            frequencies[may_be] = np.where(self._tokens[at] == candidates, self._frequencies[at], 0)
        return frequencies


@dataclass(frozen=True, slots=True)
class FrequencyCounter:
    """The steps of one round that count frequencies and select prefixes. A step processes one block at a time.

    A document's home level is the level at which it may be the larger document of a pair. `smallest` maps each home
    level to the size of its smallest document.
    """

    scheme: SketchScheme
    parts: Partitioning
    one: Round
    smallest: Mapping[int, int]

    @property
    def first_pass_range(self) -> Fraction:
        """Fraction of the range of hash values, from 0 upwards, that the first pass counts; 1 for all hashes."""
        if not self.one.is_jaccard:
            # With other metrics, one shared hash can be enough for a pair, so the first pass could not prune any
            # document.
            return Fraction(1)
        # If a document shares no hash of the first pass, its other hashes are too few to reach the threshold.
        # `_OF_THRESHOLD` leaves a small margin.
        share = 1 - self.one.pair_options.threshold * _OF_THRESHOLD
        return share if share < _MOST_AT_FIRST else Fraction(1)

    def counts(self, batches: Batches) -> Batches:
        """First pass: for each hash, count the documents of each block that have it."""
        by_source: dict[int, list[pa.RecordBatch]] = {}
        for batch in batches:
            for at, part in enumerate(batch["part"].to_pylist()):
                by_source.setdefault(part, []).append(batch.slice(at, 1))
        for source, rows in by_source.items():
            levels = self._levels(Block.from_rows(rows, self.scheme))
            yield from self._count_frequencies(source, ((level, level.first_entries()) for level in levels))

    def counts_of_remaining(self, block: pa.Table, frequencies: pa.Table) -> Batches:
        """Second pass: count the other hashes of a block's documents that can still reach the threshold."""
        if not block.num_rows:
            return
        known = self._tables_by_level(frequencies)

        def remaining() -> Iterator[tuple[_LevelDocuments, _Entries]]:
            for level in self._levels(Block.from_rows(block, self.scheme)):
                is_open = level.reachable(known(level.level))
                yield level, level.entries(level.first, np.where(is_open, level.counts - level.first, 0))

        yield from self._count_frequencies(block["part"][0].as_py(), remaining())

    def prefixes(self, block: pa.Table, frequencies: pa.Table) -> Batches:
        """Yield the hashes in the prefixes of a block's documents, as rows of RAREST; each row goes to one part."""
        if not frequencies.num_rows:
            return
        known = self._tables_by_level(frequencies)
        whole = Block.from_rows(block, self.scheme)
        columns: list[tuple[npt.NDArray[Any], ...]] = []
        for level in self._levels(whole):
            table, indices = known(level.level), level.indices
            entries = level.entries(np.zeros_like(level.counts), np.where(level.reachable(table), level.counts, 0))
            frequency = table.frequencies(entries.tokens)
            entries, frequency = entries.select(frequency > 0), frequency[frequency > 0]
            prefixes = level.lengths.prefixes(level.is_larger, *level.counts_of(entries))
            is_indexed, is_probed = mark_prefixes(entries.owners, frequency, entries.is_indexable, *prefixes)
            has_more_hashes = self.one.has_more_hashes(whole.sketches, indices, level.lengths)[entries.owners]
            is_new = whole.is_new[indices[entries.owners]]
            flags = is_indexed * IS_INDEXED | is_probed * IS_PROBED
            flags |= has_more_hashes * HAS_MORE_HASHES | is_new * IS_NEW
            is_in_prefix = is_indexed | is_probed
            of, own = indices[entries.owners[is_in_prefix]], entries.tokens[is_in_prefix]
            levels, flags = np.full(of.size, level.level, np.uint8), flags[is_in_prefix].astype(np.uint8)
            columns.append((levels, own, whole.keys[of], whole.sketches.sizes[of], flags))
        yield from self._rows_by_hash(columns, "keys sizes flags")

    def _levels(self, block: Block) -> Iterator[_LevelDocuments]:
        sketches, one = block.sketches, self.one
        home_levels = one.home_levels(sketches, sketches.sizes)
        for level, size in self.smallest.items():
            indices = np.flatnonzero(one.participants(sketches.sizes, home_levels, level, size))
            lengths = one.prefix_lengths(sketches, indices, level)
            is_larger = home_levels[indices] == level
            counts = first = lengths.count_used_hashes(is_larger)
            if self.first_pass_range < 1:
                last = int(self.scheme.bound(level) * self.first_pass_range) - 1
                first = np.minimum(counts, sketches.count_upto(indices, np.full(indices.shape, last, np.uint64)))
            yield _LevelDocuments(level, sketches, indices, lengths, is_larger, counts, first)

    def _count_frequencies(self, source: int, several: Iterable[tuple[_LevelDocuments, _Entries]]) -> Batches:
        columns: list[tuple[npt.NDArray[Any], ...]] = []
        for level, entries in several:
            order = order_of(entries.tokens, self.scheme.bits)
            tokens = entries.tokens[order]
            starts = run_starts(tokens)
            if not starts.size:
                continue
            flags = _any_in_groups(entries.is_indexable[order], starts) * _IS_INDEXABLE
            flags |= _any_in_groups(level.is_larger[entries.owners[order]], starts) * _IS_LARGER
            counts = np.diff(starts, append=tokens.size).astype(np.uint32)
            levels = np.full(starts.size, level.level, np.uint8)
            columns.append((levels, tokens[starts], counts, flags.astype(np.uint8)))
        yield from self._rows_by_hash(columns, "counts flags", source=source)

    def _tables_by_level(self, frequencies: pa.Table) -> Callable[[int], _FrequencyTable]:
        names, types = "levels tokens frequencies", f"u1 {narrow_type(self.scheme.bits)} i8"
        levels, narrow, counts = decode_columns(frequencies, names, types)
        tokens = unpack_hashes(narrow)

        def table_of(level: int) -> _FrequencyTable:
            rows = np.flatnonzero(levels == level)
            return _FrequencyTable(tokens[rows], counts[rows], max(0, self.scheme.bits - level))

        return table_of

    def _rows_by_hash(
        self, columns: list[tuple[npt.NDArray[Any], ...]], names: str, **same: int
    ) -> Iterator[pa.RecordBatch]:
        """Concatenate columns of several levels; send the values of each hash to the part that owns the hash.

        The first two columns are levels and hashes; `names` has the names of the other columns.
        """
        if columns:
            levels, tokens, *others = (np.concatenate(arrays) for arrays in zip(*columns, strict=True))
            rows = {"levels": levels, "tokens": pack_hashes(tokens, self.scheme.bits)}
            rows |= dict(zip(names.split(), others, strict=True))
            # Level and hash, combined in one number, determine the part.
            yield rows_by_part(self.parts.parts_of(tokens + levels.astype(np.uint64) * SCATTERED), rows, **same)


def frequencies_of(batches: Batches, scheme: SketchScheme) -> Batches:
    """Add up each hash's counts over all blocks; send the sum back to the blocks if the hash can lead to a pair."""
    rows = list(batches)
    names, types = "levels tokens counts flags", f"u1 {narrow_type(scheme.bits)} u4 u1"
    levels, narrow, counts, flags = decode_columns(rows, names, types)
    if not levels.size:
        return
    sources, tokens = repeat_values(rows, "source", "levels"), unpack_hashes(narrow)
    if scheme.bits > _LEVEL_SHIFT:
        order = np.lexsort((tokens, levels))
    else:
        # The hashes of each block are already sorted, so a stable sort is fast.
        packed = (levels.astype(np.uint64) << np.uint64(_LEVEL_SHIFT)) | tokens
        order = np.argsort(packed, kind="stable")
    levels, tokens, flags = levels[order], tokens[order], flags[order]
    starts = run_starts(levels, tokens)
    totals = np.add.reduceat(counts[order].astype(np.int64), starts)
    # A hash can lead to a pair only if one document may index it and one may be the larger document.
    meets = (totals > 1) & (np.bitwise_or.reduceat(flags, starts) == _IS_INDEXABLE | _IS_LARGER)
    lengths = np.diff(starts, append=order.size)
    is_shared = np.repeat(meets, lengths)
    columns = {
        "levels": levels[is_shared],
        "tokens": narrow[order][is_shared],
        "frequencies": np.repeat(totals, lengths)[is_shared],
    }
    yield rows_by_part(sources[order][is_shared].astype(np.int32), columns)


def _any_in_groups(holds: _Bools, starts: Numbers) -> npt.NDArray[np.int64]:
    return np.logical_or.reduceat(holds, starts).astype(np.int64)
