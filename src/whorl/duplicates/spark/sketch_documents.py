"""First stage on Spark: reads and sketches documents, keeps one document for each id, and divides them into blocks.

If an id occurs several times, only the largest of its documents is kept. A document's key is a hash of its sketch. The
key determines the document's block: the documents of one partition. So every step can compute the block of a document
from the document's key.

Sketches are sent to their blocks once. Later steps send keys, hashes and counts. They send whole sketches only to
compare documents of two blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from whorl.arrays_and_batches import chunks, run_starts
from whorl.duplicates.retention import Keep, UnreadValues
from whorl.duplicates.sketch_arrays import Hashes, Sketches
from whorl.duplicates.sketching import SketchBatch, Sketching
from whorl.duplicates.spark.arrow_blocks import (
    BLOCKS,
    MEMBERS,
    SKETCHES,
    Batches,
    Block,
    BlockMembers,
    MaterialisedRows,
    Partitioning,
    arrow_schema,
    batch_of,
    block_rows,
    cogroup_blocks,
    decode_columns,
    group_by_part,
    map_batches,
    partition_by_part,
    rows_by_part,
    sizes_in,
    text_digests,
    to_int64,
)
from whorl.duplicates.spark.read_files import documents_in
from whorl.fingerprint.sketch.frac_minhash import SketchScheme
from whorl.model import Document

#: Property that marks reference documents. They belong to run 0, and are not compared with each other.
STAYS = "whorl_stays"
REFERENCE_RUN = 0
IDENTITIES = "part int, largest long, identities binary, sizes binary, keys binary, runs binary"
_VERDICT = (
    "part int, documents long, too_short long, repeated long, lost long, again long, largest long, keys binary, "
    "identities binary"
)
#: Maximum number of bad rows that a partition lists; more bad rows are only counted.
PROBLEMS_LISTED = 100
#: Number of hashes to collect before their documents are divided among the parts; a document counts as at least
#: `_LEAST_HASHES` hashes.
_HASHES_AT_ONCE, _LEAST_HASHES = 1 << 22, 1 << 8

#: A batch of documents with their sketches, the run that read each document, and the digests of the texts.
_SketchedDocuments: TypeAlias = tuple[SketchBatch, npt.NDArray[np.uint32], Hashes]


@dataclass(frozen=True, slots=True)
class RunNumber:
    """Number of this run in the series of runs that share a state folder, from 1.

    Args:
        since: Number of the first run whose documents are treated as new. If the stored pairs were found with other
            options, this is run 1, so that all documents are compared again.
        is_saved: Whether the run is saved for a later run, which needs digests of the texts.
    """

    number: int = 1
    since: int = 1
    is_saved: bool = False


@dataclass(frozen=True, slots=True)
class LoadedDocuments:
    """Documents and their sketches, divided into blocks.

    Args:
        blocks: Rows for `Block.from_rows` and `BlockMembers.from_rows`, partitioned by part.
        too_short: Number of documents with fewer words than a shingle.
        repeated: Number of ids that occur more than once. Only the largest document with an id is used.
        largest: Number of hashes in the largest sketch.
        removed: Data frame with one column, `key`: keys of dropped documents that no remaining document has; None if
            this run has dropped no document, or if no earlier run exists.
    """

    blocks: DataFrame
    parts: Partitioning
    scheme: SketchScheme
    documents: int
    too_short: int
    repeated: int
    largest: int
    removed: DataFrame | None
    cache: MaterialisedRows

    @property
    def sketches(self) -> DataFrame:
        return self.blocks.select(*arrow_schema(SKETCHES).names)

    @property
    def members(self) -> DataFrame:
        return self.blocks.select("part", "keys", "sizes", *arrow_schema(MEMBERS).names)

    @property
    def problems(self) -> InputProblems:
        return InputProblems(self.blocks)

    def mark_as_new(self, keys: DataFrame) -> LoadedDocuments:
        """Mark the documents with the given keys as new, so that they are compared with all others."""
        rows = group_by_part(keys, self.parts, part_of="key", key="key")
        blocks = partition_by_part(cogroup_blocks(self.blocks, rows, _mark_as_new, BLOCKS, self.parts), self.parts)
        return replace(self, blocks=self.cache.materialise_in_place(blocks))


@dataclass(frozen=True, slots=True)
class InputProblems:
    """Problems of the input; `rows` has the columns of PROBLEMS, and may have rows without a problem."""

    rows: DataFrame

    def examples(self, most: int) -> list[str]:
        """Return at most `most` of the first bad rows of the partitions, each with its id or place and its problem."""
        rows = self.rows.where("problem <> ''").select("problem_id", "problem").limit(most).collect()
        return [f"{row['problem_id'] or 'a row'}: {row['problem']}" for row in rows]

    def count_bad_rows(self) -> int:
        problems = self.rows.where("problem is not null and unread is null")
        return sum(row[0] or 0 for row in problems.agg(f.sum(f.coalesce("unlisted", f.lit(1)))).collect())

    def find_files_with_blank_rows(self, most: int) -> list[str]:
        """Return at most `most` of the files that have rows without a text."""
        rows = self.rows.where("unlisted = 0").select("problem_id").distinct().limit(most).collect()
        return sorted(row["problem_id"] for row in rows)

    def unread_values(self, keep: Keep) -> list[UnreadValues]:
        """Return the values that the retention policy cannot read as dates or numbers."""
        if not keep.is_by_value:
            return []
        rows = self.rows.where("unread is not null").select("unread", "problem_id").collect()
        return UnreadValues.sum(UnreadValues(keep.column, keep.needed_type, count, first) for count, first in rows)


class ProblemRows:
    """Collects the problems of a partition's rows, as rows of a schema with the columns of PROBLEMS."""

    def __init__(self, parts: Partitioning) -> None:
        self._part, self._rows, self._unlisted = int(parts.names[0]), list[dict[str, Any]](), 0
        self._unread, self._files_with_blanks = list[UnreadValues](), set[str]()

    def documents(self, batches: Batches) -> Iterator[list[Document]]:
        """Convert batches of rows to documents; note the rows that are none."""
        for batch in batches:
            if made := documents_in(batch, self._note, self._files_with_blanks):
                yield made

    def note_unread(self, unread: Iterable[UnreadValues]) -> None:
        self._unread.extend(unread)

    def _note(self, document_id: str | None, problem: str) -> None:
        if len(self._rows) < PROBLEMS_LISTED:
            self._rows.append({"problem_id": document_id, "problem": problem})
        else:
            self._unlisted += 1

    def batches(self, schema: pa.Schema) -> Batches:
        rows = self._rows[:]
        if self._unlisted:
            rows.append({"problem": "", "unlisted": self._unlisted})
        files = sorted(self._files_with_blanks)[:PROBLEMS_LISTED]
        rows += [{"problem_id": file, "problem": "", "unlisted": 0} for file in files]
        rows += [
            {"problem_id": str(values.first), "problem": "", "unread": values.count}
            for values in UnreadValues.sum(self._unread)
        ]
        if rows:
            yield pa.RecordBatch.from_pylist([{"part": self._part, **row} for row in rows], schema)


def load_documents(
    frame: DataFrame,
    sketching: Sketching,
    parts: Partitioning,
    run: RunNumber = RunNumber(),
    earlier: DataFrame | None = None,
) -> LoadedDocuments:
    """Convert rows to documents and sketches, and divide them into blocks.

    `earlier` has the blocks of earlier runs, perhaps in other parts. A new document replaces the earlier document
    with its id.
    """
    scheme, cache = sketching.sketch_scheme, MaterialisedRows()
    rows = map_batches(frame, partial(_sketch_rows, sketching=sketching, parts=parts, run=run), BLOCKS)
    if earlier is not None:
        step = partial(_divide_again, scheme=scheme, parts=parts, since=run.since)
        rows = rows.unionByName(map_batches(earlier, step, BLOCKS))
    # Sort by part once, so that `cogroup_blocks` need not sort in each step.
    blocks = cache.materialise_in_place(partition_by_part(rows, parts).sortWithinPartitions("part"))
    member_rows = blocks.select("keys", "sizes", "counts", "members", "identities", "runs")
    losers, counts = resolve_ids(map_batches(member_rows, partial(_identities, parts=parts), IDENTITIES), parts, cache)
    removed = None
    if counts["repeated"] or counts["again"]:
        step = partial(_without_replaced, scheme=scheme, parts=parts, since=run.since)
        left = cogroup_blocks(blocks, losers, step, BLOCKS, parts)
        blocks = cache.materialise_in_place(partition_by_part(left, parts))
        if counts["lost"] and earlier is not None:
            members = blocks.select("part", "members")
            removed = cache.materialise(cogroup_blocks(members, losers, _find_removed_keys, "key long", parts))
    sums = (counts["documents"], counts["too_short"], counts["repeated"])
    return LoadedDocuments(blocks, parts, scheme, *sums, counts["largest"], removed, cache)


def resolve_ids(
    identities: DataFrame, parts: Partitioning, cache: MaterialisedRows
) -> tuple[DataFrame, dict[str, int]]:
    """Choose one document for each id: the largest of the last run that read the id.

    Args:
        identities: Hashed ids of documents, with their sizes, keys and runs, in the columns of IDENTITIES.

    Returns:
        A data frame that lists the other documents in its columns keys and identities, and numbers of documents.
    """
    partitioned = partition_by_part(identities, parts)
    verdict = cache.materialise(map_batches(partitioned, partial(_resolve_ids, parts=parts), _VERDICT))
    names = ("documents", "too_short", "repeated", "lost", "again")
    # One row of each part has the counts of the part. The other rows list documents to drop, and have no counts.
    counted = verdict.where("documents > 0").select(*names, "largest").collect()
    counts = {name: sum(row[name] for row in counted) for name in names}
    counts["largest"] = max((row["largest"] for row in counted), default=0)
    return verdict.where(f.length("keys") > 0), counts


def _sketch_rows(batches: Batches, sketching: Sketching, parts: Partitioning, run: RunNumber) -> Batches:
    """Convert rows to rows of BLOCKS: documents with their sketches by part, then bad rows and unread values."""
    problems = ProblemRows(parts)

    def sketched() -> Iterator[_SketchedDocuments]:
        for portion, made in sketching.sketch(problems.documents(batches)):
            problems.note_unread(made.unread)
            runs = [REFERENCE_RUN if STAYS in document.properties else run.number for document in portion]
            texts = (document.text for document in portion)
            digests = text_digests(texts) if run.is_saved else np.zeros(len(portion), np.uint64)
            yield made, np.array(runs, np.uint32), digests

    for several in chunks(sketched(), _weight, _HASHES_AT_ONCE):
        yield _block_rows_of(several, sketching.sketch_scheme, parts, run.since)
    yield from problems.batches(arrow_schema(BLOCKS))


def _weight(documents: _SketchedDocuments) -> int:
    return max(documents[0].hashes.size, len(documents[0].ids) * _LEAST_HASHES)


def _block_rows_of(
    several: Sequence[_SketchedDocuments], scheme: SketchScheme, parts: Partitioning, since: int
) -> pa.RecordBatch:
    sketched = [made for made, *_ in several]
    runs, digests = (np.concatenate([sketch_batch[at] for sketch_batch in several]) for at in (1, 2))
    ids, names = ([value for made in sketched for value in getattr(made, name)] for name in ("ids", "names"))
    sizes, counts, keys, ranks = (
        np.concatenate([getattr(made, name) for made in sketched]) for name in ("sizes", "counts", "keys", "ranks")
    )
    offsets = np.cumsum([0, *(made.hashes.size for made in sketched)])
    starts = np.concatenate([made.starts + offset for made, offset in zip(sketched, offsets, strict=False)])
    # Documents with equal texts share a sketch. The sketch is new if any of these documents is new, so sort the new
    # documents first.
    chosen = np.lexsort((runs < since, keys))
    chosen = chosen[run_starts(keys[chosen])]
    chosen = chosen[sizes[chosen] > 0]
    sketches = Sketches(scheme, sizes, starts, counts, np.concatenate([made.hashes for made in sketched]))
    block = Block(keys[chosen], sketches.select(chosen), runs[chosen] >= since)
    return block_rows(block, BlockMembers(keys, text_digests(ids), ids, names, ranks, runs, digests), parts)


def _divide_again(batches: Batches, scheme: SketchScheme, parts: Partitioning, since: int) -> Batches:
    """Divide the blocks of earlier runs into this run's parts; documents from run `since` on are new."""
    for batch in batches:
        members = BlockMembers.from_rows([batch])
        block = Block.from_rows([batch], scheme)
        yield block_rows(block.select(np.arange(block.keys.size), members.keys[members.runs >= since]), members, parts)


def _identities(batches: Batches, parts: Partitioning) -> Batches:
    rows = list(batches)
    keys, identities, counts, runs = decode_columns(rows, "members identities counts runs")
    columns = {"identities": identities, "sizes": sizes_in(rows, keys), "keys": keys, "runs": runs}
    yield rows_by_part(parts.parts_of(identities), columns, largest=int(counts.max(initial=0)))


def _resolve_ids(batches: Batches, parts: Partitioning) -> Batches:
    """For each id, keep the largest document of the last run that read the id; yield counts, then documents to drop."""
    rows = list(batches)
    largest = max((max(to_int64(batch["largest"]).tolist(), default=0) for batch in rows), default=0)
    identities, sizes, keys, runs = decode_columns(rows, "identities sizes keys runs")
    if not identities.size:
        return
    order = np.lexsort((keys, sizes, runs, identities))
    identities, sizes, keys, runs = identities[order], sizes[order], keys[order], runs[order]
    starts, of_runs = run_starts(identities), run_starts(identities, runs)
    ends = np.append(starts[1:], order.size) - 1
    # Documents with the same id and the same text are copies of one document, so only documents with another text are
    # replaced.
    is_lost = keys != np.repeat(keys[ends], np.diff(starts, append=order.size))
    counts = {
        "documents": starts.size,
        "too_short": int(np.count_nonzero(sizes[ends] == 0)),
        "repeated": int(np.count_nonzero(np.diff(of_runs, append=order.size) > 1)),
        "lost": int(np.count_nonzero(is_lost)),
        "again": of_runs.size - starts.size,
        "largest": largest,
    }
    schema = arrow_schema(_VERDICT)
    yield pa.RecordBatch.from_pylist([{"part": int(parts.names[0]), "keys": b"", "identities": b"", **counts}], schema)
    if is_lost.any():
        where = parts.parts_of(np.where(sizes > 0, keys, identities.view(np.int64))[is_lost])
        columns = {"keys": keys[is_lost], "identities": identities[is_lost]}
        yield rows_by_part(where, columns, **dict.fromkeys(counts, 0))


def _without_replaced(
    block: pa.Table, losers: pa.Table, scheme: SketchScheme, parts: Partitioning, since: int
) -> Batches:
    """Yield the block's documents as one row, without the documents in `losers`; then yield its rows with problems.

    Leave out the sketches that no remaining document has. Mark sketches of documents from run `since` or later as new.
    """
    members = BlockMembers.from_rows(block)
    columns = decode_columns(losers, "keys identities")
    replaced = set(zip(*(column.tolist() for column in columns), strict=True))
    own = zip(members.keys.tolist(), members.identities.tolist(), strict=True)
    remaining = members.select(np.flatnonzero([member not in replaced for member in own]))
    whole = Block.from_rows(block, scheme)
    is_used = np.isin(whole.keys, remaining.keys)
    used = whole.select(np.flatnonzero(is_used), remaining.keys[remaining.runs >= since])
    yield block_rows(used, remaining, parts)
    problems = block.filter(pa.compute.is_valid(block["problem"]))
    yield from problems.select(arrow_schema(BLOCKS).names).to_batches()


def _mark_as_new(block: pa.Table, rows: pa.Table) -> Batches:
    (again,) = decode_columns(rows, "keys")
    marks = [
        keys and (np.isin(np.frombuffer(keys, np.int64), again) | np.frombuffer(is_new, np.bool_)).tobytes()
        for keys, is_new in zip(block["keys"].to_pylist(), block["is_new"].to_pylist(), strict=True)
    ]
    at = block.schema.get_field_index("is_new")
    yield from block.set_column(at, "is_new", pa.array(marks, pa.binary())).to_batches()


def _find_removed_keys(block: pa.Table, losers: pa.Table) -> Batches:
    """Yield the keys of dropped documents, except keys that a remaining document of the block also has."""
    (keys,) = decode_columns(losers, "keys")
    (left,) = decode_columns(block, "members")
    yield batch_of({"key": np.setdiff1d(keys, left)})
