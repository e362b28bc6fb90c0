"""Finds the documents of a Spark data frame that contain reference texts, as `duplicates/contamination.py` does.

Each worker has an index of the reference, and searches its rows with the functions of the search in process. So only
matches move between workers, and a hash of each id, to find repeated ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain

import numpy as np
import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as f

from whorl.arrays_and_batches import chunks
from whorl.duplicates.contamination import (
    Match,
    ReferenceCounts,
    ReferenceIndex,
    ReferenceItem,
    find_matches,
    group_by_item,
    index_reference,
    item_of,
)
from whorl.duplicates.options import DuplicatesOptions, PairOptions
from whorl.duplicates.results import Member, Pair
from whorl.duplicates.spark.arrow_blocks import (
    PROBLEMS,
    Batches,
    MaterialisedRows,
    Partitioning,
    arrow_schema,
    batch_of,
    decode_columns,
    map_batches,
    rows_by_part,
    text_digests,
    with_nulls,
)
from whorl.duplicates.spark.read_files import parts_of
from whorl.duplicates.spark.sketch_documents import IDENTITIES, InputProblems, ProblemRows, resolve_ids
from whorl.fingerprint.statistics.metric import Metric, Shares, round_down
from whorl.model import Document

_SHARES = "jaccard double, a_in_b double, b_in_a double, exact boolean"
#: Columns of the output: a pair of a reference text (A) and a document (B), and the places of the longest passage.
_PAIR = f"a string, b string, {_SHARES}, a_name string, b_name string"
_SPANS = "a_document string, a_start long, a_end long, b_document string, b_start long, b_end long"
#: Columns of a match: index and item of the reference text, hashes of the document's id and text, the share that the
#: metric measures, and the pair. `similarity` is the share rounded down.
_MATCH = (
    f"text long, item string, identity long, digest long, share double, similarity double, {_PAIR}, {_SPANS}, "
    "size_a long, size_b long, passage string"
)
#: Rows have a match, or the hashed ids of documents, or a problem of the input; their other columns are null.
_FOUND = f"{IDENTITIES}, {_MATCH}, {PROBLEMS}"
_MEMBER = ("id", "name", "shingles", "stays", "is_principal", *Shares.NAMES, "exact")
#: Number of documents whose ids are collected before they are divided among the parts.
_DOCUMENTS_AT_ONCE = 1 << 18


class SparkReferenceMatches:
    """The documents of a data frame that contain reference texts, as pairs, clusters or items.

    Args:
        documents: Rows of `read_files.read` or `read_files.documents_of`. If documents share an id, only the largest is
            used.
        reference: Reference texts; the driver and each worker hold all of them in memory.
        options: Options of the search; the same ones apply as in `find_in_documents`.

    Attributes:
        documents, too_short, repeated: Number of documents, of documents with fewer words than a shingle, and of
            repeated ids.
        problems: Rows that could not be read.

    Raises:
        ParameterError: An option does not apply to this search.
    """

    def __init__(
        self, documents: DataFrame, reference: Iterable[Document], options: PairOptions | DuplicatesOptions
    ) -> None:
        options = DuplicatesOptions.from_options(options)
        self._index, self._cache, parts = index_reference(reference, options), MaterialisedRows(), parts_of(documents)
        self._shared_index = documents.sparkSession.sparkContext.broadcast(self._index)
        step = partial(_search_rows, index=self._shared_index, options=options, parts=parts)
        found = self.materialise(map_batches(documents, step, _FOUND))
        self.problems = InputProblems(found)
        identities = found.where("identities is not null").select(*arrow_schema(IDENTITIES).names)
        losers, counts = resolve_ids(identities, parts, self._cache)
        self.documents, self.too_short, self.repeated = (
            counts[name] for name in ("documents", "too_short", "repeated")
        )
        matches = found.where("text is not null").select(*arrow_schema(_MATCH).names)
        if self.repeated:
            dropped = map_batches(losers, _list_documents, "identity long, digest long")
            matches = matches.join(dropped, ["identity", "digest"], "left_anti").dropDuplicates(["text", "identity"])
        self._matches = self.materialise(matches)

    def pairs(self) -> DataFrame:
        """Return the pairs of a reference text (A) and a document that contains it (B), in any order."""
        return self._matches.select(*arrow_schema(f"{_PAIR}, {_SPANS}").names)

    def clusters_in_lists(self, *, complete: bool = True) -> DataFrame:
        """Return a cluster for each reference text that documents contain, in the columns of `clusters.with_shares`.

        A cluster has the text and the documents that contain it, the largest share first. `complete` has no effect.
        """
        values = {"id": "b", "name": "b_name", "shingles": "size_b"}
        kept = {"stays": f.lit(True), "is_principal": f.lit(True), **dict.fromkeys(Shares.NAMES, f.lit(1.0))}
        document = f.struct(
            (-f.col("share")).alias("order"),
            *(f.col(column).alias(name) for name, column in values.items()),
            *(f.lit(False).alias(name) for name in ("stays", "is_principal")),
            *(f.col(name) for name in (*Shares.NAMES, "exact")),
        )
        grouped = self._matches.groupBy("text", "a", "a_name", "size_a").agg(
            f.array_sort(f.collect_list(document)).alias("found")
        )
        of_text = {"id": f.col("a"), "name": f.col("a_name"), "shingles": f.col("size_a"), **kept, "exact": f.lit(True)}
        first = f.array(f.struct(f.lit(-1.0).alias("order"), *(of_text[name].alias(name) for name in _MEMBER)))
        clusters = grouped.withColumn("members", f.concat(first, "found"))
        return clusters.select(
            f.col("a").alias("cluster"),
            f.size("members").cast("long").alias("documents"),
            *(f.col(f"members.{name}").alias(name) for name in _MEMBER),
        )

    def decisions(self) -> DataFrame:
        """Return the documents to remove, with the values of the columns that `--annotated` adds."""
        best = self._matches.groupBy("b").agg(f.max_by(f.struct("a", "similarity"), f.struct("share", -f.col("text"))))
        return best.toDF("id", "best").select(
            "id", f.col("best.a").alias("cluster"), f.lit(False).alias("is_principal"), "best.similarity"
        )

    @cached_property
    def counts(self) -> ReferenceCounts:
        (found,) = self._matches.agg(f.countDistinct("item"), f.countDistinct("identity")).collect()
        in_all, too_short = self._index.count_items(), self._index.count_too_short()
        return ReferenceCounts(found[0], in_all, found[1], self.documents, self.too_short, too_short)

    def items(self, most: int, documents: int) -> list[ReferenceItem]:
        """Return the items in most documents, each with at most `documents` documents, the largest share first."""
        best = f.max(f.struct("share", -f.col("text"))).alias("best")
        by_document = self._matches.groupBy("item", "b").agg(best)
        by_item = by_document.groupBy("item").agg(f.count("b").alias("size"), f.max("best").alias("best"))
        chosen = by_item.orderBy(f.desc("size"), f.desc("best")).limit(most).collect()
        sizes = {row["item"]: row["size"] for row in chosen}
        number = f.row_number().over(Window.partitionBy("item").orderBy(f.desc("best"), "b"))
        shown = by_document.where(f.col("item").isin([*sizes])).withColumn("number", number)
        rows = self._matches.join(shown.where(f.col("number") <= documents), ["item", "b"]).collect()
        pairs = map(self._to_pair, sorted(rows, key=lambda row: (row["number"], -row["share"], row["text"])))
        items = {item.id: replace(item, size=sizes[item.id]) for item in group_by_item(pairs)}
        return [items[item] for item in sizes]

    def _to_pair(self, row: Row) -> Pair:
        text, document = self._index.members[row["text"]], Member(row["b"], row["b_name"], row["size_b"])
        shared = round(row["a_in_b"] * text.size)
        return Pair.of_counts(text, document, shared, shared, shared)._replace(passage=row["passage"])

    def save_state(self) -> None:
        """Do nothing, because a search for reference texts keeps no state."""

    def materialise(self, frame: DataFrame) -> DataFrame:
        return self._cache.materialise(frame)

    def release(self) -> None:
        """Delete the index and the persisted rows from the executors."""
        self._shared_index.destroy()
        self._cache.release()


def _search_rows(
    batches: Batches, index: Broadcast[ReferenceIndex], options: DuplicatesOptions, parts: Partitioning
) -> Batches:
    """Search rows, and yield rows of _FOUND: hashed ids by part, matches, and then problems of the input."""
    problems, schema = ProblemRows(parts), arrow_schema(_FOUND)
    documents = chain.from_iterable(problems.documents(batches))
    described = (
        (
            text_digests(document.id for document in batch),
            text_digests(document.text for document in batch),
            sizes,
            [_to_row(match, batch[match[1]], options.pairs.metric) for match in matches],
        )
        for batch, sizes, matches in find_matches(index.value, options, documents)
    )
    for several in chunks(described, lambda part: len(part[2]) + len(part[3]), _DOCUMENTS_AT_ONCE):
        identities, digests, sizes = (np.concatenate([part[at] for part in several]) for at in range(3))
        runs = np.ones(sizes.size, np.uint32)
        columns = {"identities": identities, "sizes": sizes, "keys": digests.view(np.int64), "runs": runs}
        ids = rows_by_part(parts.parts_of(identities), columns, largest=0)
        yield with_nulls(dict(zip(ids.schema.names, ids.columns, strict=True)), schema)
        yield pa.RecordBatch.from_pylist([row for part in several for row in part[3]], schema)
    yield from problems.batches(schema)


def _to_row(match: Match, document: Document, metric: Metric) -> Mapping[str, object]:
    text, _, pair = match
    share, shares = pair.shares.measured_by(metric), (round_down(getattr(pair.shares, name)) for name in Shares.NAMES)
    (a_start, a_end), (b_start, b_end) = pair.spans or ((0, 0), (0, 0))
    identity, digest = text_digests([document.id, document.text]).view(np.int64).tolist()
    values = (
        *(text, item_of(pair.a), identity, digest, share, round_down(share)),
        *(pair.a.id, pair.b.id, *shares, pair.is_exact, pair.a.name, pair.b.name),
        *(pair.a.id, a_start, a_end, pair.b.id, b_start, b_end),
        *(pair.a.size, pair.b.size, pair.passage),
    )
    return dict(zip(arrow_schema(_MATCH).names, values, strict=True))


def _list_documents(batches: Batches) -> Batches:
    for batch in batches:
        digests, identities = decode_columns([batch], "keys identities")
        yield batch_of({"identity": identities.view(np.int64), "digest": digests})
