"""Blocks: the documents of a part with their sketches, equal ones together, where all that concerns them is sent.

A document's part follows from its key, so whoever knows a key knows where to send what. Sketches are sent once, from
where the texts are read to their blocks; later steps send numbers to them, and sketches only of documents that are
to be compared with one of another block.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from whorl.arrays import run_starts
from whorl.duplicates.sketches import Numbers, Sketches
from whorl.duplicates.sketching import Sketched, Sketching
from whorl.duplicates.spark.frames import (
    Batches,
    Kept,
    Parts,
    arrow_schema,
    cut,
    divided,
    joined,
    met,
    narrow_type,
    narrowed,
    sent,
    stepped,
    whole_numbers,
    widened,
)
from whorl.fingerprint.sketch.sketch import SketchScheme
from whorl.model import Document

#: A property of documents that the others are compared with, and that are not compared with one another.
STAYS = "whorl_stays"
#: Makes documents of the rows of a batch; tells the id and the problem of those that are none.
Documents: TypeAlias = Callable[[pa.RecordBatch, Callable[[str | None, str], None]], list[Document]]

SKETCHES = "part int, keys binary, sizes binary, counts binary, is_new binary, hashes binary"
_MEMBERS = "members binary, identities binary, ids binary, names binary, worths binary, stays binary"
_BLOCKS = f"{SKETCHES}, {_MEMBERS}, problem_id string, problem string"
_IDENTITIES = "part int, largest long, identities binary, sizes binary, keys binary"
_VERDICT = "part int, documents long, too_short long, repeated long, largest long, keys binary, identities binary"
#: Documents, and hashes, that are divided over the parts at once.
_AT_ONCE, _HASHES_AT_ONCE = 1 << 14, 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Different documents of one part.

    Args:
        keys: Of the documents, ascending; int64 array.
        sketches: Theirs, in this order.
        is_new: Which of them are to be compared with all others, and not only with these; bool array.
    """

    keys: Numbers
    sketches: Sketches
    is_new: npt.NDArray[np.bool_]

    def places(self, keys: Numbers) -> Numbers:
        """Return the places of documents of the block."""
        return np.searchsorted(self.keys, keys)

    @classmethod
    def of(cls, rows: Iterable[pa.RecordBatch] | pa.Table, scheme: SketchScheme) -> Block:
        """Return what rows have in the columns of SKETCHES."""
        types = f"i8 i8 i8 ? {narrow_type(scheme.bits)}"
        keys, sizes, counts, is_new, hashes = joined(rows, "keys sizes counts is_new hashes", types)
        # A document that was read by several workers is here several times, one that is new first.
        order = np.lexsort((~is_new, keys))
        order = order[run_starts(keys[order])]
        starts = np.cumsum(counts) - counts
        sketches = Sketches(scheme, sizes[order], starts[order], counts[order], widened(hashes))
        return cls(keys[order], sketches, is_new[order])


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """The documents of a block as they came, equal ones each for itself.

    Args:
        keys: Of each its key; int64 array. Those that the block has no sketch of are too short to be compared.
        identities: Numbers of 64 bits that tell ids apart; uint64 array.
        ids: What they are known by.
        names: What people know them by, or "".
        worths: What the column that decides which is kept says of them, NaN for nothing; float64 array.
        stays: Whether they are of those that the others are compared with, and so stay; bool array.
    """

    keys: Numbers
    identities: npt.NDArray[np.uint64]
    ids: Sequence[str]
    names: Sequence[str]
    worths: npt.NDArray[np.float64]
    stays: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, rows: Iterable[pa.RecordBatch] | pa.Table) -> tuple[Members, Numbers]:
        """Return the members in rows, those of one id and key once, and how often each is there."""
        batches = rows.to_batches() if isinstance(rows, pa.Table) else list(rows)
        names = "members identities worths stays"
        keys, identities, worths, stays = joined(batches, names, "i8 u8 f8 ?")
        ids, names_of = (_strings(batches, name) for name in ("ids", "names"))
        whole = cls(keys, identities, ids, names_of, worths, stays)
        order = np.lexsort((identities, keys))
        starts = run_starts(keys[order], identities[order])
        times = np.diff(np.append(starts, order.size))
        if (times == 1).all():
            return whole, times
        # Of equal documents of one id the last name counts, so that the order does not.
        groups = np.split(order, starts[1:])
        chosen = [max(group.tolist(), key=lambda at: (stays[at], whole.names[at])) for group in groups]
        return whole.only(np.array(chosen, np.int64)), times

    def only(self, places: Numbers) -> Members:
        """Return some of them."""
        at = places.tolist()
        return Members(
            self.keys[places],
            self.identities[places],
            [self.ids[each] for each in at],
            [self.names[each] for each in at],
            self.worths[places],
            self.stays[places],
        )

    def row(self, part: int) -> pa.RecordBatch:
        """Return them as a row of a part, without sketches."""
        values = {
            "part": part,
            "members": self.keys.tobytes(),
            "identities": self.identities.tobytes(),
            "ids": orjson.dumps(self.ids),
            "names": orjson.dumps(self.names),
            "worths": self.worths.tobytes(),
            "stays": self.stays.tobytes(),
        }
        return pa.RecordBatch.from_pylist([values], arrow_schema(_BLOCKS))


@dataclass(frozen=True, slots=True)
class Gathered:
    """Documents and their sketches.

    Args:
        blocks: Rows for `Block.of` and `Members.of`, where their parts are.
        parts: Of the blocks.
        scheme: What the sketches depend on.
        documents: How many ids there are.
        too_short: Documents of fewer words than a shingle has.
        repeated: Ids that came more than once; of each the largest document counts.
        largest: Hashes of the largest sketch.
        kept: What is kept of them, and of what is made of them.
    """

    blocks: DataFrame
    parts: Parts
    scheme: SketchScheme
    documents: int
    too_short: int
    repeated: int
    largest: int
    kept: Kept

    @property
    def sketches(self) -> DataFrame:
        """The blocks without ids and all else that only `Members` has, as rows of SKETCHES."""
        return self.blocks.select(*arrow_schema(SKETCHES).names)

    @property
    def members(self) -> DataFrame:
        """The blocks without hashes: columns for `Members.of` and `sizes_in`."""
        return self.blocks.select("part", "keys", "sizes", *arrow_schema(_MEMBERS).names)

    @property
    def unfit(self) -> DataFrame:
        """Rows that are no documents: columns id and problem."""
        return self.blocks.where(f.col("problem").isNotNull()).select(f.col("problem_id").alias("id"), "problem")


def gathered(frame: DataFrame, documents: Documents, sketching: Sketching, parts: Parts) -> Gathered:
    """Return the documents that are made of rows, and their sketches.

    Args:
        frame: The rows.
        documents: Makes documents of them.
        sketching: What is made of these.
        parts: How they are to be divided.
    """
    scheme, kept = sketching.sketch_scheme, Kept()
    step = partial(_sketched, documents=documents, sketching=sketching, parts=parts)
    # In the order that `met` asks for, so that not each step puts them into it.
    blocks = kept.in_place(sent(stepped(frame, step, _BLOCKS), parts).sortWithinPartitions("part"))
    told = blocks.select("keys", "sizes", "counts", "members", "identities")
    identities = stepped(told, partial(_identities, parts=parts), _IDENTITIES)
    verdict = kept.settled(stepped(sent(identities, parts), partial(_judged, parts=parts), _VERDICT))
    names = ("documents", "too_short", "repeated")
    row = verdict.agg(*(f.coalesce(f.sum(name), f.lit(0)).alias(name) for name in names), f.max("largest")).collect()[0]
    if row["repeated"]:
        losers = verdict.where(f.length("keys") > 0)
        blocks = kept.in_place(sent(met(blocks, losers, partial(_kept, scheme=scheme), _BLOCKS, parts), parts))
    return Gathered(blocks, parts, scheme, row[0], row[1], row[2], row[3] or 0, kept)


def _sketched(batches: Batches, documents: Documents, sketching: Sketching, parts: Parts) -> Batches:
    """Yield the documents of rows for their blocks, and what is wrong with those that are none."""
    problems: list[dict[str, Any]] = []
    first = int(parts.names[0])

    def note(document_id: str | None, problem: str) -> None:
        problems.append({"part": first, "problem_id": document_id, "problem": problem})

    def portions() -> Iterator[list[Document]]:
        for batch in batches:
            if made := documents(batch, note):
                yield made

    waiting: list[Sketched] = []
    stays: list[npt.NDArray[np.bool_]] = []
    for some, made in sketching.sketched(portions()):
        waiting.append(made)
        stays.append(np.array([STAYS in each.properties for each in some], np.bool_))
        count, hashes = sum(len(each.ids) for each in waiting), sum(each.hashes.size for each in waiting)
        if count >= _AT_ONCE or hashes >= _HASHES_AT_ONCE:
            yield _divided(waiting, np.concatenate(stays), sketching.sketch_scheme, parts)
            waiting, stays = [], []
    if waiting:
        yield _divided(waiting, np.concatenate(stays), sketching.sketch_scheme, parts)
    if problems:
        yield pa.RecordBatch.from_pylist(problems, arrow_schema(_BLOCKS))


def _divided(
    several: Sequence[Sketched], stays: npt.NDArray[np.bool_], scheme: SketchScheme, parts: Parts
) -> pa.RecordBatch:
    """Return documents divided over the parts."""
    ids, names = ([each for made in several for each in getattr(made, name)] for name in ("ids", "names"))
    sizes, counts, keys, worths = (
        np.concatenate([getattr(made, name) for made in several]) for name in ("sizes", "counts", "keys", "worths")
    )
    offsets = np.cumsum([0, *(made.hashes.size for made in several)])
    starts = np.concatenate([made.starts + offset for made, offset in zip(several, offsets, strict=False)])
    sketches = Sketches(scheme, sizes, starts, counts, np.concatenate([made.hashes for made in several]))
    identities = _numbered(ids)
    parts_of = np.where(sizes > 0, parts.of(keys), parts.of(identities))
    # Equal documents have one sketch, which is new if one of them is.
    chosen = np.lexsort((stays, keys))
    chosen = chosen[run_starts(keys[chosen])]
    chosen = chosen[sizes[chosen] > 0]
    chosen = chosen[np.argsort(parts_of[chosen], kind="stable")]
    hashes, _ = sketches.gathered(chosen, np.zeros_like(chosen), counts[chosen])
    members = np.argsort(parts_of, kind="stable")
    present = np.unique(parts_of)
    begins, ends = (np.searchsorted(parts_of[chosen], present, side) for side in ("left", "right"))
    hash_ends = np.append(0, np.cumsum(counts[chosen]))
    first, last = (np.searchsorted(parts_of[members], present, side) for side in ("left", "right"))
    at = members.tolist()
    ranges = list(zip(first.tolist(), last.tolist(), strict=True))
    nothing = pa.nulls(present.size, pa.string())
    columns = {
        "part": pa.array(present, pa.int32()),
        **{
            name: cut(each[chosen], begins, ends)
            for name, each in (("keys", keys), ("sizes", sizes), ("counts", counts), ("is_new", ~stays))
        },
        "hashes": cut(narrowed(hashes, scheme.bits), hash_ends[begins], hash_ends[ends]),
        "members": cut(keys[members], first, last),
        "identities": cut(identities[members], first, last),
        "ids": pa.array([orjson.dumps([ids[each] for each in at[begin:end]]) for begin, end in ranges], pa.binary()),
        "names": pa.array(
            [orjson.dumps([names[each] for each in at[begin:end]]) for begin, end in ranges], pa.binary()
        ),
        "worths": cut(worths[members], first, last),
        "stays": cut(stays[members], first, last),
        "problem_id": nothing,
        "problem": nothing,
    }
    return pa.RecordBatch.from_pydict(columns)


def _numbered(ids: Sequence[str]) -> npt.NDArray[np.uint64]:
    """Return a number for each id that hardly any other has."""
    digests = b"".join(hashlib.blake2b(each.encode(), digest_size=8).digest() for each in ids)
    return np.frombuffer(digests, np.uint64)


def _strings(batches: Sequence[pa.RecordBatch], name: str) -> list[str]:
    return [each for batch in batches for raw in batch[name].to_pylist() if raw for each in orjson.loads(raw)]


def _identities(batches: Batches, parts: Parts) -> Batches:
    """Yield ids, each to where all documents of that id are told of."""
    rows = list(batches)
    keys, identities, counts = joined(rows, "members identities counts", "i8 u8 i8")
    columns = {"identities": identities, "sizes": sizes_in(rows, keys), "keys": keys}
    yield divided(parts.of(identities), columns, largest=int(counts.max(initial=0)))


def sizes_in(rows: Iterable[pa.RecordBatch] | pa.Table, keys: Numbers) -> Numbers:
    """Return the sizes of members of a block, 0 for those without a sketch.

    Args:
        rows: The block, with the columns keys and sizes.
        keys: Of the members.
    """
    own, sizes = joined(rows, "keys sizes", "i8 i8")
    if not own.size:
        return np.zeros_like(keys)
    order = np.argsort(own)
    places = order[np.minimum(np.searchsorted(own[order], keys), own.size - 1)]
    return np.where(own[places] == keys, sizes[places], 0)


def _judged(batches: Batches, parts: Parts) -> Batches:
    """Yield how many ids there are, and, to their blocks, documents whose id a larger one has."""
    rows = list(batches)
    largest = max((max(whole_numbers(batch["largest"]).tolist(), default=0) for batch in rows), default=0)
    identities, sizes, keys = joined(rows, "identities sizes keys", "u8 i8 i8")
    order = np.lexsort((keys, sizes, identities))
    times = np.diff(np.append(run_starts(identities[order]), order.size))
    # Equal documents of one id are one, of which nothing is lost.
    order = order[run_starts(identities[order], keys[order])]
    starts = run_starts(identities[order])
    if not starts.size:
        return
    is_last = np.zeros(order.size, np.bool_)
    is_last[np.append(starts[1:], order.size) - 1] = True
    told = {
        "documents": starts.size,
        "too_short": int(np.count_nonzero(sizes[order[is_last]] == 0)),
        "repeated": int(np.count_nonzero(times > 1)),
        "largest": largest,
    }
    schema = arrow_schema(_VERDICT)
    yield pa.RecordBatch.from_pylist([{"part": int(parts.names[0]), "keys": b"", "identities": b"", **told}], schema)
    losers = order[~is_last]
    if losers.size:
        where = np.where(sizes[losers] > 0, parts.of(keys[losers]), parts.of(identities[losers]))
        columns = {"keys": keys[losers], "identities": identities[losers]}
        yield divided(where, columns, documents=0, too_short=0, repeated=0, largest=0)


def _kept(block: pa.Table, losers: pa.Table, scheme: SketchScheme) -> Batches:
    """Yield a block without some of its members, and without documents that are none's any more."""
    members, _ = Members.of(block)
    if block.num_rows == 0:
        return
    part = block["part"][0].as_py()
    gone = set(zip(*(each.tolist() for each in joined(losers, "keys identities", "i8 u8")), strict=True))
    own = zip(members.keys.tolist(), members.identities.tolist(), strict=True)
    kept = members.only(np.flatnonzero([each not in gone for each in own]))
    yield kept.row(part)
    whole = Block.of(block, scheme)
    whole = replace(whole, is_new=np.isin(whole.keys, kept.keys[~kept.stays]))
    yield sketch_row(part, whole, np.flatnonzero(np.isin(whole.keys, kept.keys)), arrow_schema(_BLOCKS))
    problems = block.filter(pa.compute.is_valid(block["problem"]))
    yield from problems.select(arrow_schema(_BLOCKS).names).to_batches()


def sketch_row(part: int, block: Block, places: Numbers, schema: pa.Schema) -> pa.RecordBatch:
    """Return some documents of a block as a row for `Block.of`."""
    sketches = block.sketches
    counts = sketches.counts[places]
    hashes, _ = sketches.gathered(places, np.zeros_like(places), counts)
    values = {
        "part": part,
        "keys": block.keys[places].tobytes(),
        "sizes": sketches.sizes[places].tobytes(),
        "counts": counts.tobytes(),
        "is_new": block.is_new[places].tobytes(),
        "hashes": narrowed(hashes, sketches.scheme.bits).tobytes(),
    }
    return pa.RecordBatch.from_pylist([values], schema)


def some_of(block: pa.Table, wanted: pa.Table, scheme: SketchScheme) -> Batches:
    """Yield those documents of a block whose keys rows have in a column keys, as rows of SKETCHES."""
    (keys,) = joined(wanted, "keys", "i8")
    if keys.size:
        whole = Block.of(block, scheme)
        yield sketch_row(wanted["part"][0].as_py(), whole, np.unique(whole.places(keys)), arrow_schema(SKETCHES))
