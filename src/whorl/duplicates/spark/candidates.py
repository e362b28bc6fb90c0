"""Pairs that may be alike: the search of `whorl.duplicates.candidates`, word for word, as numbers sent between parts.

A round takes four steps. Each block counts the hashes that are looked at of its documents, and sends each hash with
its count to the hash's part. There the counts of all blocks are added up, and the hashes that several documents have
go back. Each block then knows how rare the hashes of its documents are, and sends on those that the prefix filter
lets through. At the hash's part, its documents stand in a line by size and key, in which each larger one meets those
before it that are large enough.

What is sent in the first two steps is a number for each hash of a block, however many documents have it. How many
pairs a hash makes is known from places in the line, without a pair being made: of those that make too many the
documents are put off to the next round, or come as crowds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from whorl.arrays import run_starts, spread
from whorl.duplicates.candidates import crowded, rarest
from whorl.duplicates.question import PairQuestion
from whorl.duplicates.schedule import MOST_PAIRS, Looked, Round, rounds
from whorl.duplicates.sketches import Numbers, Sketches
from whorl.duplicates.spark.blocks import SKETCHES, Block, Gathered, some_of
from whorl.duplicates.spark.frames import (
    Batches,
    Parts,
    addressed,
    arrow_schema,
    batch_of,
    divided,
    joined,
    met,
    narrow_type,
    narrowed,
    repeated,
    sent,
    stepped,
    widened,
)
from whorl.fingerprint.sketch.sketch import SketchScheme

_COUNTS = "part int, source long, levels binary, tokens binary, counts binary, told binary"
_FREQUENCIES = "part int, levels binary, tokens binary, frequencies binary"
_RAREST = "part int, levels binary, tokens binary, keys binary, sizes binary, told binary"
#: Of pairs: keys of the smaller documents, whose sketches travel, and of those they are compared with. Of crowds:
#: which, and, as homes, the keys of its documents, as travellers those of them that are new.
_MET = "part int, kind long, crowd string, travellers binary, homes binary"
_MET_NAMES = [part.split()[0] for part in _MET.split(", ")]
_PAIRS, _CROWD, _OPEN_CROWD = 0, 1, 2
#: What is said of a hash on its way.
_IS_OFFERED, _IS_LARGER = 1, 2
_IS_FOUND, _IS_ASKED, _CAN_TELL_MORE, _IS_NEW = 1, 2, 4, 8
#: Where a level stands beside a hash, and a hash's number beside a size.
_LEVEL_SHIFT, _SIZE_BITS = 58, 32
#: Odd, so that no bit is lost: the golden ratio's.
_SCATTERED = np.uint64(0x9E3779B97F4A7C15)
#: Pairs that are made at once.
_AT_ONCE = 1 << 20

_Bools: TypeAlias = npt.NDArray[np.bool_]
#: Takes crowds that more hashes could tell apart, in columns as those of `Met.crowds`; returns those that they have to,
#: in a column crowd.
Decide: TypeAlias = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True, slots=True)
class Met:
    """What a round gives.

    Args:
        pairs: Columns part (that of the travellers), travellers and homes: keys of documents whose sketches travel, and
            of those they are to be compared with.
        crowds: Columns crowd, key and is_new: documents of one hash any two of which, one of them new, are candidates;
            None where there are none.
    """

    pairs: DataFrame
    crowds: DataFrame | None


def find_candidates(
    documents: Gathered,
    question: PairQuestion,
    *,
    decide: Decide | None = None,
    crowds: bool = False,
    pivots: int = 0,
    most: int = MOST_PAIRS,
) -> Iterator[Met]:
    """Yield the pairs that may be above a threshold, round by round; a few come more than once.

    Args:
        documents: What is compared.
        question: What is to be found.
        decide: Called after the round was given, before more hashes of its crowds are looked at; None if they always
            are.
        crowds: As in `whorl.duplicates.candidates.find_candidates`.
        pivots: New documents of each crowd whose pairs with all others come with the pairs.
        most: As there.
    """
    blocks, scheme, parts = documents.sketches, documents.scheme, documents.parts
    for number, one in enumerate(rounds(question, documents.largest or 1)):
        looking = _Looking(scheme, parts, one, _smallest_at_home(blocks, scheme, one))
        counted = sent(stepped(blocks, looking.counts, _COUNTS), parts)
        frequencies = stepped(counted, partial(_frequencies, scheme=scheme), _FREQUENCIES)
        rarest_hashes = sent(met(blocks, frequencies, looking.prefixes, _RAREST, parts), parts)
        line = _Line(scheme, parts, one, number, gives_crowds=crowds, pivots=pivots, most=most)
        found = documents.kept.settled(stepped(rarest_hashes, line.met, _MET))
        kinds = {row["kind"] for row in found.select("kind").distinct().collect()}
        pairs = found.where(f.col("kind") == _PAIRS).select("part", "travellers", "homes")
        yield Met(pairs, _told(found, _CROWD) if _CROWD in kinds else None)
        if _OPEN_CROWD not in kinds:
            return
        put_off = _told(found, _OPEN_CROWD)
        if decide is not None:
            put_off = put_off.join(decide(put_off), "crowd", "left_semi")
        wanted = addressed(put_off.select("key").distinct(), parts, part_of="key", key="key")
        blocks = documents.kept.settled(
            sent(met(documents.sketches, wanted, partial(some_of, scheme=scheme), SKETCHES, parts), parts)
        )
        if blocks.isEmpty():
            return


def _told(found: DataFrame, kind: int) -> DataFrame:
    """Return the crowds of a kind, documents one by one, as `Met` has them."""
    return stepped(found.where(f.col("kind") == kind), _one_by_one, "crowd string, key long, is_new boolean")


def _one_by_one(batches: Batches) -> Batches:
    for batch in batches:
        for crowd, *raw in zip(*(batch[name].to_pylist() for name in ("crowd", "homes", "travellers")), strict=True):
            keys, new = (np.frombuffer(each, np.int64) for each in raw)
            names = pa.array([crowd] * keys.size, pa.string())
            yield pa.RecordBatch.from_arrays(
                [names, pa.array(keys), pa.array(np.isin(keys, new))], names=["crowd", "key", "is_new"]
            )


def _smallest_at_home(blocks: DataFrame, scheme: SketchScheme, one: Round) -> dict[int, int]:
    """Return the levels at which documents are at home, each with the size of the smallest of them."""
    levels = stepped(blocks.select("sizes"), partial(_homes, scheme=scheme, one=one), "level int, size long")
    smallest = levels.groupBy("level").agg(f.min("size").alias("size")).collect()
    # There are no more levels than bits in a size.
    return dict(sorted((row["level"], row["size"]) for row in smallest))


def _homes(batches: Batches, scheme: SketchScheme, one: Round) -> Batches:
    for batch in batches:
        (sizes,) = joined([batch], "sizes", "i8")
        nothing = np.zeros_like(sizes)
        levels = one.home_levels(Sketches(scheme, sizes, nothing, nothing, np.empty(0, np.uint64)), sizes)
        order = np.lexsort((sizes, levels))
        order = order[run_starts(levels[order])]
        yield batch_of({"level": levels[order].astype(np.int32), "size": sizes[order]})


class _Entries(NamedTuple):
    """Hashes that are looked at at one level, those of a document together and ascending.

    Attributes:
        places: Documents that are compared at this level, places in their block.
        looked: What is looked at of these.
        is_larger: Which of these may be the larger one of a pair.
        tokens: Their hashes; uint64 array of shape (entries,).
        owners: Whose they are, by the place among `places`.
        is_offered: Whether the document is found by it as the smaller one.
    """

    places: Numbers
    looked: Looked
    is_larger: _Bools
    tokens: npt.NDArray[np.uint64]
    owners: Numbers
    is_offered: _Bools


@dataclass(frozen=True, slots=True)
class _Looking:
    """What a round looks at in each block.

    Args:
        scheme: What the sketches depend on.
        parts: Of the blocks, and of the hashes.
        one: The round.
        smallest: The size of the smallest document that is at home at each level.
    """

    scheme: SketchScheme
    parts: Parts
    one: Round
    smallest: Mapping[int, int]

    def counts(self, batches: Batches) -> Batches:
        """Yield the hashes of each block, each with the number of documents that it is looked at of."""
        by_source: dict[int, list[pa.RecordBatch]] = {}
        for batch in batches:
            for at, part in enumerate(batch["part"].to_pylist()):
                by_source.setdefault(part, []).append(batch.slice(at, 1))
        for source, rows in by_source.items():
            block = Block.of(rows, self.scheme)
            columns: list[tuple[npt.NDArray[Any], ...]] = []
            for level, entries in self._levels(block):
                order = np.argsort(entries.tokens)
                tokens = entries.tokens[order]
                starts = run_starts(tokens)
                if not starts.size:
                    continue
                told = _any(entries.is_offered[order], starts) * _IS_OFFERED
                told |= _any(entries.is_larger[entries.owners[order]], starts) * _IS_LARGER
                counts = np.diff(np.append(starts, tokens.size))
                columns.append((np.full(starts.size, level, np.uint8), tokens[starts], counts, told.astype(np.uint8)))
            if columns:
                levels, tokens, counts, told = (np.concatenate(several) for several in zip(*columns, strict=True))
                sent_columns = {"levels": levels, "tokens": self._narrowed(tokens), "counts": counts, "told": told}
                yield divided(self.parts.of(_mixed(levels, tokens)), sent_columns, source=source)

    def prefixes(self, block: pa.Table, frequencies: pa.Table) -> Batches:
        """Yield the hashes of a block that the prefix filter lets through."""
        names, types = "levels tokens frequencies", f"u1 {narrow_type(self.scheme.bits)} i8"
        levels, narrow, frequency = joined(frequencies, names, types)
        if not levels.size:
            return
        tokens = widened(narrow)
        whole = Block.of(block, self.scheme)
        columns: list[tuple[npt.NDArray[Any], ...]] = []
        for level, entries in self._levels(whole):
            here = np.flatnonzero(levels == level)
            here = here[np.argsort(tokens[here])]
            if not here.size:
                continue
            at = np.minimum(np.searchsorted(tokens[here], entries.tokens), here.size - 1)
            is_met = tokens[here[at]] == entries.tokens
            owners, is_offered = entries.owners[is_met], entries.is_offered[is_met]
            counts = np.bincount(owners, minlength=entries.places.size)
            offered = np.bincount(owners[is_offered], minlength=entries.places.size)
            prefixes = entries.looked.prefixes(entries.is_larger, counts, offered)
            is_found, is_asked = rarest(owners, frequency[here[at[is_met]]], is_offered, *prefixes)
            can_tell_more = self.one.can_tell_more(whole.sketches, entries.places, entries.looked)[owners]
            is_new = whole.is_new[entries.places[owners]]
            told = is_found * _IS_FOUND | is_asked * _IS_ASKED | can_tell_more * _CAN_TELL_MORE | is_new * _IS_NEW
            through = is_found | is_asked
            of = entries.places[owners[through]]
            own = entries.tokens[is_met][through]
            columns.append(
                (
                    np.full(of.size, level, np.uint8), own, whole.keys[of], whole.sketches.sizes[of],
                    told[through].astype(np.uint8),
                )
            )  # fmt: skip
        if columns:
            of_levels, hashes, keys, sizes, told = (np.concatenate(several) for several in zip(*columns, strict=True))
            rows = {"levels": of_levels, "tokens": self._narrowed(hashes), "keys": keys, "sizes": sizes, "told": told}
            yield divided(self.parts.of(_mixed(of_levels, hashes)), rows)

    def _levels(self, block: Block) -> Iterator[tuple[int, _Entries]]:
        """Yield what is looked at of the documents of a block, level by level."""
        sketches, one = block.sketches, self.one
        homes = one.home_levels(sketches, sketches.sizes)
        for level, size in self.smallest.items():
            places = np.flatnonzero(one.taking_part(sketches.sizes, homes, level, size))
            looked = one.looked(sketches, places, level)
            is_larger = homes[places] == level
            counts = looked.counted(is_larger)
            tokens, owners = sketches.gathered(places, np.zeros_like(counts), counts)
            ranks = spread(np.zeros_like(counts), counts)
            yield level, _Entries(places, looked, is_larger, tokens, owners, ranks < looked.offered[owners])

    def _narrowed(self, tokens: npt.NDArray[np.uint64]) -> npt.NDArray[Any]:
        return narrowed(tokens, self.scheme.bits)


def _frequencies(batches: Batches, scheme: SketchScheme) -> Batches:
    """Yield, to the blocks that have them, the hashes of a part that documents may meet by, and how many have each."""
    rows = list(batches)
    names, types = "levels tokens counts told", f"u1 {narrow_type(scheme.bits)} i8 u1"
    levels, narrow, counts, told = joined(rows, names, types)
    if not levels.size:
        return
    sources, tokens = repeated(rows, "source", "levels", 1), widened(narrow)
    order = np.lexsort((tokens, levels)) if scheme.bits > _LEVEL_SHIFT else np.argsort(_together(levels, tokens))
    levels, tokens, told = levels[order], tokens[order], told[order]
    starts = run_starts(levels, tokens)
    several = np.add.reduceat(counts[order], starts)
    # One of them has to offer the hash, and another one to be at home at the level, or there is no pair.
    meets = (several > 1) & (np.bitwise_or.reduceat(told, starts) == _IS_OFFERED | _IS_LARGER)
    lengths = np.diff(np.append(starts, order.size))
    kept = np.repeat(meets, lengths)
    columns = {
        "levels": levels[kept],
        "tokens": narrow[order][kept],
        "frequencies": np.repeat(several, lengths)[kept],
    }
    yield divided(sources[order][kept].astype(np.int32), columns)


@dataclass(frozen=True, slots=True)
class _Line:
    """Documents of each hash of a part in a line by size and key, in which they meet.

    Args:
        scheme: What the sketches depend on.
        parts: Of the blocks.
        one: The round.
        number: Which one that is.
        gives_crowds: Whether documents of which any two are candidates come together, and not as pairs.
        pivots: New documents of each crowd whose pairs with all others come all the same.
        most: Pairs that a hash may make.
    """

    scheme: SketchScheme
    parts: Parts
    one: Round
    number: int
    gives_crowds: bool
    pivots: int
    most: int

    def met(self, batches: Batches) -> Batches:
        """Yield who meets whom, as rows of _MET."""
        names, types = "levels tokens keys sizes told", f"u1 {narrow_type(self.scheme.bits)} i8 i8 u1"
        levels, narrow, keys, sizes, told = joined(batches, names, types)
        if not levels.size:
            return
        tokens = widened(narrow)
        order = np.lexsort((keys, sizes, tokens, levels))
        levels, tokens, told = levels[order], tokens[order], told[order]
        keys, sizes = keys[order], sizes[order]
        groups = np.zeros(order.size, np.int64)
        groups[run_starts(levels, tokens)[1:]] = 1
        groups = np.cumsum(groups)
        is_same = (groups[1:] == groups[:-1]) & (keys[1:] == keys[:-1])
        # A document that has a hash twice does not meet itself.
        first = np.maximum.accumulate(np.where(np.append(False, is_same), 0, np.arange(order.size)))
        found = np.flatnonzero(told & _IS_FOUND)
        asked = np.flatnonzero(told & _IS_ASKED)
        before = np.searchsorted(found, first)
        least = self.one.question.smallest_partner(sizes[asked])
        places = (groups[found] << np.int64(_SIZE_BITS)) + sizes[found]
        low = np.searchsorted(places, (groups[asked] << np.int64(_SIZE_BITS)) + least)
        counts = np.maximum(0, before[asked] - low)
        is_left = counts > 0
        for at in crowded(groups[asked], counts, self.most):
            there = found[low[at].min() : (low[at] + counts[at]).max()]
            together = np.unique(np.concatenate([asked[at], there]))
            crowd, new = (np.unique(keys[some]) for some in (together, together[told[together] & _IS_NEW > 0]))
            is_open = not self.one.is_last and bool((told[together] & _CAN_TELL_MORE).any())
            if not (is_open or self.gives_crowds):
                continue
            is_left[at] = False
            if not new.size:
                continue
            name = f"{self.number}/{levels[at_first := together[0]]}/{tokens[at_first]}"
            values = {"part": -1, "kind": _OPEN_CROWD if is_open else _CROWD, "crowd": name}
            values |= {"travellers": new.tobytes(), "homes": crowd.tobytes()}
            yield pa.RecordBatch.from_pylist([values], arrow_schema(_MET))
            if self.pivots:
                yield from self._with_pivots(crowd, new)
        left = np.flatnonzero(is_left)
        ends = np.cumsum(counts[left])
        cuts = np.searchsorted(ends, np.arange(_AT_ONCE, ends[-1] if ends.size else 0, _AT_ONCE))
        for some in np.split(left, np.unique(cuts)):
            smaller, larger = found[spread(low[some], counts[some])], np.repeat(asked[some], counts[some])
            is_open = (told[smaller] | told[larger]) & _IS_NEW > 0
            yield self._pairs(keys[smaller[is_open]], keys[larger[is_open]])

    def _with_pivots(self, crowd: Numbers, new: Numbers) -> Batches:
        # Crowds that are nearly the same have nearly the same pivots, so that their pairs are the same, too.
        pivots = new[np.argsort(new.view(np.uint64) * _SCATTERED)[: self.pivots]]
        for pivot in pivots.tolist():
            yield self._pairs(np.full(crowd.size, pivot, np.int64), crowd)

    def _pairs(self, travellers: Numbers, homes: Numbers) -> pa.RecordBatch:
        apart = travellers != homes
        travellers, homes = travellers[apart], homes[apart]
        made = divided(self.parts.of(travellers), {"travellers": travellers, "homes": homes}, kind=_PAIRS)
        return (
            made.append_column("crowd", pa.nulls(made.num_rows, pa.string()))
            .select(_MET_NAMES)
            .cast(arrow_schema(_MET))
        )


def _any(holds: _Bools, starts: Numbers) -> npt.NDArray[np.int64]:
    """Return for each run whether something holds anywhere in it, 1 or 0."""
    return np.logical_or.reduceat(holds, starts).astype(np.int64)


def _together(levels: npt.NDArray[np.uint8], tokens: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return level and hash in one number."""
    return (levels.astype(np.uint64) << np.uint64(_LEVEL_SHIFT)) | tokens


def _mixed(levels: npt.NDArray[np.uint8], tokens: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return numbers that tell the part of a hash at a level."""
    return tokens + levels.astype(np.uint64) * _SCATTERED
