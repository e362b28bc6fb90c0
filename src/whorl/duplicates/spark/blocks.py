"""Blocks: the documents of one part with their sketches and ids, and their encoding as Arrow rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from whorl.arrays import run_starts
from whorl.duplicates.sketches import Numbers, Sketches
from whorl.duplicates.spark.frames import Batches, Parts, arrow_schema, cut, joined, narrow_type, narrowed, widened
from whorl.fingerprint.sketch.sketch import SketchScheme

SKETCHES = "part int, keys binary, sizes binary, counts binary, is_new binary, hashes binary"
MEMBERS = "members binary, identities binary, ids binary, names binary, worths binary, runs binary, digests binary"
#: Columns of a whole block; a row that is no document has only the last two.
BLOCKS = f"{SKETCHES}, {MEMBERS}, problem_id string, problem string"


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Distinct documents of one part, with their sketches.

    Args:
        keys: Document keys, ascending; int64 array.
        sketches: Sketches in the order of the keys.
        is_new: Marks the documents that are compared with all others; the rest are compared only with these. Bool
            array.
    """

    keys: Numbers
    sketches: Sketches
    is_new: npt.NDArray[np.bool_]

    def places(self, keys: Numbers) -> Numbers:
        """Return the positions of keys in the block."""
        return np.searchsorted(self.keys, keys)

    def only(self, places: Numbers, new: Numbers) -> Block:
        """Return a block of the documents at `places`; those whose keys are in `new` are marked as new."""
        sketches, keys = self.sketches, self.keys[places]
        some = replace(
            sketches, sizes=sketches.sizes[places], starts=sketches.starts[places], counts=sketches.counts[places]
        )
        return Block(keys, some, np.isin(keys, new))

    @classmethod
    def of(cls, rows: Iterable[pa.RecordBatch] | pa.Table, scheme: SketchScheme) -> Block:
        """Decode a block from rows with the columns of SKETCHES."""
        types = f"i8 i8 i8 ? {narrow_type(scheme.bits)}"
        keys, sizes, counts, is_new, hashes = joined(rows, "keys sizes counts is_new hashes", types)
        # Several workers may have read copies of one document; keep a new one if there is one.
        order = np.lexsort((~is_new, keys))
        order = order[run_starts(keys[order])]
        starts = np.cumsum(counts) - counts
        sketches = Sketches(scheme, sizes[order], starts[order], counts[order], widened(hashes))
        return cls(keys[order], sketches, is_new[order])


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """The documents of a block before copies are merged: each copy has its own id.

    Args:
        keys: Document keys; int64 array. Documents too short to be compared have a key, but no sketch in the block.
        identities: 64-bit hashes of the ids; uint64 array.
        ids: Document ids.
        names: Display names, or "".
        worths: Values of the column that the retention policy ranks by, NaN if a document has none; float64 array.
        runs: Number of the run that read each document, 0 for reference documents; uint32 array.
        digests: 64-bit digests of the texts, 0 if no later run needs them; uint64 array.
    """

    keys: Numbers
    identities: npt.NDArray[np.uint64]
    ids: Sequence[str]
    names: Sequence[str]
    worths: npt.NDArray[np.float64]
    runs: npt.NDArray[np.uint32]
    digests: npt.NDArray[np.uint64]

    @classmethod
    def of(cls, rows: Iterable[pa.RecordBatch] | pa.Table) -> tuple[Members, Numbers]:
        """Decode the members in rows, each (id, key) once, with the number of occurrences of each."""
        batches = rows.to_batches() if isinstance(rows, pa.Table) else list(rows)
        names = "members identities worths runs digests"
        keys, identities, worths, runs, digests = joined(batches, names, "i8 u8 f8 u4 u8")
        ids, names_of = (_strings(batches, name) for name in ("ids", "names"))
        whole = cls(keys, identities, ids, names_of, worths, runs, digests)
        order = np.lexsort((identities, keys))
        starts = run_starts(keys[order], identities[order])
        times = np.diff(np.append(starts, order.size))
        if (times == 1).all():
            return whole, times
        # Copies with one id may differ in name: take the largest one of the last run, so that row order does not
        # matter.
        groups = [group.tolist() for group in np.split(order, starts[1:])]
        chosen = np.array([max(group, key=lambda at: (runs[at], names_of[at], digests[at])) for group in groups])
        # A document whose text has not changed keeps the run that first read it.
        firsts = [runs[group][digests[group] == digests[at]].min() for group, at in zip(groups, chosen, strict=True)]
        return replace(whole.only(chosen), runs=np.array(firsts, np.uint32)), times

    def only(self, places: Numbers) -> Members:
        """Return the members at `places`."""
        at = places.tolist()
        return Members(
            self.keys[places],
            self.identities[places],
            [self.ids[each] for each in at],
            [self.names[each] for each in at],
            self.worths[places],
            self.runs[places],
            self.digests[places],
        )


def block_rows(block: Block, members: Members, parts: Parts) -> pa.RecordBatch:
    """Divide documents over the parts, one row for each part.

    Args:
        block: Documents with a sketch, of any part.
        members: All documents, copies included.
        parts: Parts to divide them over.
    """
    sketches = block.sketches
    has_sketch = np.isin(members.keys, block.keys)
    homes, parts_of = (
        parts.of(block.keys),
        parts.of(np.where(has_sketch, members.keys, members.identities.view(np.int64))),
    )
    chosen, order = np.argsort(homes, kind="stable"), np.argsort(parts_of, kind="stable")
    # A part may hold only members too short for a sketch, but it holds no sketch without a member.
    present = np.unique(parts_of)
    begins, ends = (np.searchsorted(homes[chosen], present, side) for side in ("left", "right"))
    first, last = (np.searchsorted(parts_of[order], present, side) for side in ("left", "right"))
    counts = sketches.counts[chosen]
    hashes, _ = sketches.gathered(chosen, np.zeros_like(chosen), counts)
    hash_ends = np.append(0, np.cumsum(counts))
    own = members.only(order)
    ranges = list(zip(first.tolist(), last.tolist(), strict=True))
    nothing = pa.nulls(present.size, pa.string())
    numbers = {"keys": block.keys, "sizes": sketches.sizes, "counts": sketches.counts, "is_new": block.is_new}
    columns = {
        "part": pa.array(present, pa.int32()),
        **{name: cut(each[chosen], begins, ends) for name, each in numbers.items()},
        "hashes": cut(narrowed(hashes, sketches.scheme.bits), hash_ends[begins], hash_ends[ends]),
        "members": cut(own.keys, first, last),
        "identities": cut(own.identities, first, last),
        "ids": pa.array([orjson.dumps(own.ids[begin:end]) for begin, end in ranges], pa.binary()),
        "names": pa.array([orjson.dumps(own.names[begin:end]) for begin, end in ranges], pa.binary()),
        "worths": cut(own.worths, first, last),
        "runs": cut(own.runs, first, last),
        "digests": cut(own.digests, first, last),
        "problem_id": nothing,
        "problem": nothing,
    }
    return pa.RecordBatch.from_pydict(columns)


def numbered(texts: Sequence[str]) -> npt.NDArray[np.uint64]:
    """Return a 64-bit BLAKE2b hash of each id or text."""
    digests = b"".join(hashlib.blake2b(each.encode(), digest_size=8).digest() for each in texts)
    return np.frombuffer(digests, np.uint64)


def sizes_in(rows: Iterable[pa.RecordBatch] | pa.Table, keys: Numbers) -> Numbers:
    """Return the number of shingles of each member, 0 for members without a sketch.

    Args:
        rows: The block; needs only the columns keys and sizes.
        keys: Keys of the members.
    """
    own, sizes = joined(rows, "keys sizes", "i8 i8")
    if not own.size:
        return np.zeros_like(keys)
    order = np.argsort(own)
    places = order[np.minimum(np.searchsorted(own[order], keys), own.size - 1)]
    return np.where(own[places] == keys, sizes[places], 0)


def sketch_row(part: int, block: Block, places: Numbers, schema: pa.Schema) -> pa.RecordBatch:
    """Encode some documents of a block as a row for `Block.of`."""
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
    """Yield the documents of a block that the column keys of `wanted` names, as rows of SKETCHES."""
    (keys,) = joined(wanted, "keys", "i8")
    if keys.size:
        whole = Block.of(block, scheme)
        yield sketch_row(wanted["part"][0].as_py(), whole, np.unique(whole.places(keys)), arrow_schema(SKETCHES))


def _strings(batches: Sequence[pa.RecordBatch], name: str) -> list[str]:
    return [each for batch in batches for raw in batch[name].to_pylist() if raw for each in orjson.loads(raw)]
