"""Pairs that may be alike: the search of `whorl.duplicates.candidates`, word for word, as numbers sent between parts.

A round takes four steps. Each block counts the hashes that are looked at of its documents, and sends each hash with
its count to the hash's part. There the counts of all blocks are added up, and the hashes that several documents have
go back. Both are done twice: for the smallest hashes of all documents, and for the rest of those documents that may
then still make a pair, which are few. Each block then knows how rare the hashes of these are, and sends on those that
the prefix filter lets through. At the hash's part, its documents stand in a line by size and key, in which each larger
one meets those before it that are large enough.

Crowds, and what is put off to further rounds, are left to one worker, if it has room for them (`rest`): each step by
parts has costs of its own, which are far more than those of looking at a few thousand documents.

What is sent to count hashes is a number for each hash of a block, however many documents have it. How many
pairs a hash makes is known from places in the line, without a pair being made: of those that make too many the
documents are put off to the next round, or come as crowds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from whorl.arrays import run_starts, spread
from whorl.duplicates.candidates import crowded
from whorl.duplicates.question import PairQuestion
from whorl.duplicates.schedule import MOST_PAIRS, Round, rounds
from whorl.duplicates.sketches import Numbers, Sketches
from whorl.duplicates.spark.blocks import SKETCHES, some_of
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
    sent,
    stepped,
    widened,
)
from whorl.duplicates.spark.gathering import Gathered
from whorl.duplicates.spark.looking import (
    CAN_TELL_MORE,
    COUNTS,
    FREQUENCIES,
    IS_ASKED,
    IS_FOUND,
    IS_NEW,
    RAREST,
    SCATTERED,
    Looking,
    frequencies_of,
)
from whorl.duplicates.spark.rest import MOST_AT_ONCE, Rest
from whorl.fingerprint.sketch.sketch import SketchScheme

#: Of pairs: keys of the smaller documents, whose sketches travel, and of those they are compared with. Of crowds:
#: which, and, as homes, the keys of its documents, as travellers those of them that are new.
_MET = "part int, kind long, crowd string, travellers binary, homes binary"
_KEYS = "part int, keys binary"
_MET_NAMES = [part.split()[0] for part in _MET.split(", ")]
_PAIRS, _CROWD, _OPEN_CROWD = 0, 1, 2
#: Where a hash's number stands beside a size.
_SIZE_BITS = 32
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
            None where there are none, or one worker finds their pairs.
        rest: What is left to one worker, after which nothing is carried out by parts; None where that goes on, or
            nothing is left.
    """

    pairs: DataFrame
    crowds: DataFrame | None
    rest: Rest | None = None


def find_candidates(
    documents: Gathered,
    question: PairQuestion,
    *,
    decide: Decide | None = None,
    crowds: bool = False,
    pivots: int = 0,
    most: int = MOST_PAIRS,
    most_at_once: int = MOST_AT_ONCE,
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
        most_at_once: Hashes of crowds, and of what is put off, that are left to one worker.
    """
    blocks, scheme, parts = documents.sketches, documents.scheme, documents.parts
    to_look = rounds(question, documents.largest or 1)
    for number, one in enumerate(to_look):
        looking = Looking(scheme, parts, one, _smallest_at_home(blocks, scheme, one))
        counted = sent(stepped(blocks, looking.counts, COUNTS), parts)
        frequencies = stepped(counted, partial(frequencies_of, scheme=scheme), FREQUENCIES)
        if looking.first < 1:
            frequencies = documents.kept.settled(frequencies)
            rest = sent(met(blocks, frequencies, looking.counts_of_rest, COUNTS, parts), parts)
            frequencies = frequencies.unionByName(stepped(rest, partial(frequencies_of, scheme=scheme), FREQUENCIES))
        rarest_hashes = sent(met(blocks, frequencies, looking.prefixes, RAREST, parts), parts)
        line = _Line(scheme, parts, one, number, gives_crowds=crowds, pivots=pivots, most=most)
        found = documents.kept.settled(stepped(rarest_hashes, line.met, _MET))
        kinds = {row["kind"] for row in found.select("kind").distinct().collect()}
        pairs = found.where(f.col("kind") == _PAIRS).select("part", "travellers", "homes")
        if not kinds - {_PAIRS}:
            yield Met(pairs, None)
            return
        blocks = _blocks_of(
            stepped(found.where(f.col("kind") != _PAIRS), partial(_aside, parts=parts), _KEYS), documents
        )
        in_bytes = blocks.agg(f.sum(f.length("hashes"))).collect()[0][0]
        if in_bytes <= most_at_once * np.dtype(narrow_type(scheme.bits)).itemsize:
            # What is a crowd here is one there.
            yield Met(pairs, None, Rest(blocks, to_look[number + 1 :] or [one], most))
            return
        yield Met(pairs, _told(found, _CROWD) if _CROWD in kinds else None)
        if _OPEN_CROWD not in kinds:
            return
        put_off = _told(found, _OPEN_CROWD)
        if decide is not None:
            put_off = put_off.join(decide(put_off), "crowd", "left_semi")
        blocks = _blocks_of(addressed(put_off.select("key").distinct(), parts, part_of="key", key="key"), documents)
        if blocks.isEmpty():
            return


def _blocks_of(keys: DataFrame, documents: Gathered) -> DataFrame:
    """Return some documents, where their parts are, as rows of SKETCHES.

    Args:
        keys: Rows of _KEYS.
        documents: All of them.
    """
    step, parts = partial(some_of, scheme=documents.scheme), documents.parts
    return documents.kept.in_place(sent(met(documents.sketches, keys, step, SKETCHES, parts), parts))


def _aside(batches: Batches, parts: Parts) -> Batches:
    """Yield the documents of crowds as rows of _KEYS."""
    for batch in batches:
        (keys,) = joined([batch], "homes", "i8")
        keys = np.unique(keys)
        yield divided(parts.of(keys), {"keys": keys})


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
        found = np.flatnonzero(told & IS_FOUND)
        asked = np.flatnonzero(told & IS_ASKED)
        before = np.searchsorted(found, first)
        least = self.one.question.smallest_partner(sizes[asked])
        places = (groups[found] << np.int64(_SIZE_BITS)) + sizes[found]
        low = np.searchsorted(places, (groups[asked] << np.int64(_SIZE_BITS)) + least)
        counts = np.maximum(0, before[asked] - low)
        is_left = counts > 0
        for at in crowded(groups[asked], counts, self.most):
            there = found[low[at].min() : (low[at] + counts[at]).max()]
            together = np.unique(np.concatenate([asked[at], there]))
            crowd, new = (np.unique(keys[some]) for some in (together, together[told[together] & IS_NEW > 0]))
            is_open = not self.one.is_last and bool((told[together] & CAN_TELL_MORE).any())
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
            is_open = (told[smaller] | told[larger]) & IS_NEW > 0
            yield self._pairs(keys[smaller[is_open]], keys[larger[is_open]])

    def _with_pivots(self, crowd: Numbers, new: Numbers) -> Batches:
        # Crowds that are nearly the same have nearly the same pivots, so that their pairs are the same, too.
        pivots = new[np.argsort(new.view(np.uint64) * SCATTERED)[: self.pivots]]
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
