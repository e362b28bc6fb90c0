"""Finds duplicate pairs and clusters in a Spark data frame; the results equal those of a search on one machine."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial, reduce

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from whorl.duplicates.clusters import labels_around_earlier, labels_around_kept
from whorl.duplicates.options import DuplicatesOptions, PairOptions
from whorl.duplicates.pairs import Pairs
from whorl.duplicates.prefix_lengths import MOST_PAIRS, JoinOptions
from whorl.duplicates.retention import Keep, unknown_rank
from whorl.duplicates.run import FILES_SCHEME
from whorl.duplicates.sketching import Sketching
from whorl.duplicates.spark.arrow_blocks import (
    Batches,
    BlockMembers,
    arrow_schema,
    batch_of,
    cogroup_blocks,
    decode_columns,
    group_by_part,
    map_batches,
    sizes_in,
    to_int64,
)
from whorl.duplicates.spark.clusters import (
    CLUSTER_MEMBERS,
    cluster_members,
    components,
    decide_retention,
    member_by_member,
    with_shares,
)
from whorl.duplicates.spark.compare_sketches import PAIRS, measure_overlaps, verify_candidates
from whorl.duplicates.spark.incremental_state import SearchState, drop_removed
from whorl.duplicates.spark.prefix_filter import MOST_AT_ONCE, find_candidates
from whorl.duplicates.spark.read_files import parts_of
from whorl.duplicates.spark.sketch_documents import STAYS, RunNumber, load_documents
from whorl.errors import ParameterError
from whorl.fingerprint.statistics.metric import SHARE_STEPS, SLACK

#: Number of pivots. A hash block is the set of documents that share one frequent hash. Some of its documents, the
#: pivots, are compared with the whole block first. If at most `_PIVOTS` documents are then outside the block's largest
#: component, they are also compared with the whole block.
_PIVOTS = 16


class SparkDuplicates:
    """Near-duplicates in a data frame. The constructor finds the pairs; the methods describe them or make clusters.

    Args:
        documents: Rows of `read_files.read` or `read_files.documents_of`.
        options: Options of the search. The options for folder, dates, boilerplate and workers have no effect.
        reference: Documents to compare with `documents`, but not with each other. They have the same columns and
            different ids. Cannot be combined with a state.
        state: Folder of earlier runs, on any of Spark's file systems. The result covers the documents of all runs. None
            for a single run.
        new: Return only pairs and clusters with a new or changed document. Earlier documents are always kept, like
            reference documents.

    Attributes:
        loaded: The compared documents.
        documents, too_short, repeated: Number of documents, of documents with fewer words than a shingle, and of
            repeated ids.
        problems: Rows that could not be read.

    Raises:
        StoreError: The state folder holds other files, or is not usable.
        ParameterError: The state was made with other parameters, or is combined with a reference.
    """

    def __init__(
        self,
        documents: DataFrame,
        options: PairOptions | DuplicatesOptions,
        *,
        reference: DataFrame | None = None,
        state: str | None = None,
        new: bool = False,
    ) -> None:
        if reference is not None and state is not None:
            raise ParameterError("a reference keeps no state: put it into the state by a run of its own")
        options = DuplicatesOptions.from_options(options)
        self._pair_options, self._keep, self._state = options.pairs, options.policy, None
        self._has_policy = options.keep is not None
        self._run, earlier, known = RunNumber(), None, None
        if state is not None:
            self._state = SearchState(documents.sparkSession, state, options)
            self._run, earlier, known = self._state.run, self._state.blocks, self._state.pairs
        self._only_new = new or reference is not None
        if reference is not None:
            reference = reference.withColumn(STAYS, f.lit(True))
            documents = documents.unionByName(reference, allowMissingColumns=True)
        sketching = Sketching(replace(options, date=None), FILES_SCHEME)
        read = [documents] if earlier is None else [documents, earlier]
        self.loaded = load_documents(documents, sketching, parts_of(*read), self._run, earlier)
        self._found, self._clusters = list[DataFrame](), dict[bool, DataFrame]()
        spanning_only = options.spanning_only
        if known is not None:
            self.loaded, known = drop_removed(self.loaded, known, spanning_only=spanning_only)
            self._found.append(known)
        self.documents, self.too_short = self.loaded.documents, self.loaded.too_short
        self.repeated, self.problems = self.loaded.repeated, self.loaded.problems
        join = JoinOptions(options.pairs, spanning_only=spanning_only, most_pairs=MOST_PAIRS)
        connect = self._link if spanning_only else None
        pivots = _PIVOTS if spanning_only else 0
        for result in find_candidates(self.loaded, join, connect, pivots, MOST_AT_ONCE):
            self._verify(result.pairs)
            if result.hash_blocks is not None:
                self._link(result.hash_blocks, is_open=False)
            if result.remainder is not None:
                self._found.append(self.materialise(result.remainder))
        self._links = reduce(DataFrame.unionByName, self._found)

    @cached_property
    def _pairs(self) -> DataFrame:
        return self._links if len(self._found) == 1 else self.materialise(self._links.dropDuplicates(["a", "b"]))

    def release(self) -> None:
        """Delete the persisted rows from the disks of the executors."""
        self.loaded.cache.release()

    def pairs(self) -> DataFrame:
        """Return each pair once, including pairs of equal documents, in any order.

        Two documents that are always kept are never a pair: reference documents, or with `new` earlier documents.

        Returns:
            Columns a and b (ids, where a is the smaller id), jaccard, a_in_b, b_in_a (fractions), exact (whether all
            shingles were compared), a_name and b_name.
        """
        paired = self._pairs.select(f.explode(f.array("a", "b")).alias("key")).distinct()
        members = self.materialise(self._members(paired.withColumn("root", f.col("key"))))
        repeated = members.groupBy("key").count().where(f.col("count") > 1)
        own = repeated.select(f.col("key").alias("sender"), f.col("key").alias("receiver"))
        everything = self._pairs.unionByName(measure_overlaps(self._group_pairs(own), self.loaded))
        document = f.struct("id", "name", "stays")
        one = members.select(f.col("key").alias("a"), document.alias("one"))
        other = members.select(f.col("key").alias("b"), document.alias("other"))
        rows = everything.join(one, "a").join(other, "b")
        rows = rows.where("(a <> b or one.id < other.id) and not (one.stays and other.stays)")
        is_turned = f.col("other.id") < f.col("one.id")
        jaccard, a_in_b, b_in_a, exact = _shares()
        return rows.select(
            f.least("one.id", "other.id").alias("a"),
            f.greatest("one.id", "other.id").alias("b"),
            jaccard,
            f.when(is_turned, b_in_a).otherwise(a_in_b).alias("a_in_b"),
            f.when(is_turned, a_in_b).otherwise(b_in_a).alias("b_in_a"),
            exact,
            f.when(is_turned, f.col("other.name")).otherwise(f.col("one.name")).alias("a_name"),
            f.when(is_turned, f.col("one.name")).otherwise(f.col("other.name")).alias("b_name"),
        )

    def clusters(self, *, complete: bool = False) -> DataFrame:
        """Return the clusters, one row for each member; omit clusters of only reference and earlier documents.

        Reference and earlier documents come first, and one of them is the principal, which represents the cluster.

        Args:
            complete: Return clusters in which any two members are a pair. With a retention policy, every member is a
                duplicate of the principal. Otherwise, clusters are connected components.

        Returns:
            Columns cluster (id of the first document), documents (number of members), id, name, shingles, stays
            (reference document, or with `new` also an earlier document), is_principal, and jaccard, a_in_b, b_in_a and
            exact, where A is the principal.

        Raises:
            ParameterError: No document of a cluster has a rank.
        """
        return member_by_member(self.clusters_in_lists(complete=complete))

    def clusters_in_lists(self, *, complete: bool = False) -> DataFrame:
        """Return one row for each cluster, with the columns of `clusters.with_shares`."""
        if complete not in self._clusters:
            self._clusters[complete] = self.materialise(self._find_clusters(complete=complete))
        return self._clusters[complete]

    def decisions(self) -> DataFrame:
        """Return the documents in clusters: their ids, and the columns that `--annotated` adds."""
        return decide_retention(self.clusters_in_lists(complete=True))

    def _find_clusters(self, *, complete: bool) -> DataFrame:
        members = self._members(components(self._links, self.loaded.cache))
        if complete:
            members = self.materialise(members)
            members = members.join(self._complete(members).withColumnRenamed("root", "own"), "key", "left")
            members = members.withColumn("root", f.coalesce("own", "key")).select(*arrow_schema(CLUSTER_MEMBERS).names)
        clusters = self.materialise(cluster_members(members, self.loaded.parts))
        if self._keep.is_by_value:
            for row in clusters.where("is_unknown").limit(1).collect():
                raise unknown_rank(self._keep, row.cluster, row.documents - 1)
        return with_shares(clusters, self.loaded)

    def save_state(self) -> None:
        """Write the documents and pairs into the state folder for the next run; do nothing without a state folder.

        Call this after writing all results, so that a failed run leaves the state unchanged.

        Raises:
            StoreError: Another run has written its state since this run began, or the folder cannot be written.
        """
        if self._state is not None:
            self._state.save(self.loaded.blocks.where(f.col("problem").isNull()), self._pairs)

    def _members(self, roots: DataFrame) -> DataFrame:
        """Return the documents of all clusters, as rows of CLUSTER_MEMBERS.

        These are the documents with a key in `roots`, and the documents with exact copies. `roots` maps keys to
        clusters (columns key and root). A key that is not in `roots` is its own cluster.
        """
        documents = self.loaded
        rows = group_by_part(roots, documents.parts, part_of="key", key="key", root="root")
        before = self._run.number if self._only_new else 0
        step = partial(_members_of, before=before, keep=self._keep)
        return cogroup_blocks(documents.members, rows, step, CLUSTER_MEMBERS, documents.parts)

    def _group_pairs(self, pairs: DataFrame) -> DataFrame:
        parts = self.loaded.parts
        return group_by_part(pairs, parts, part_of="sender", sender="sender", receiver="receiver")

    def materialise(self, frame: DataFrame) -> DataFrame:
        return self.loaded.cache.materialise(frame)

    def _verify(self, candidates: DataFrame) -> None:
        self._found.append(self.materialise(verify_candidates(candidates, self.loaded, self._pair_options)))

    def _link(self, hash_blocks: DataFrame, *, is_open: bool = True) -> DataFrame:
        """Verify enough pairs of each hash block to connect its similar documents; return the undecided blocks.

        Hash blocks have the columns of `prefix_filter.RoundResult`; their pivots have been compared with the whole
        block. If only a few documents are outside the block's largest component, compare these documents with the whole
        block, too. If there are more, the block is undecided. But if its documents have no more hashes (`is_open` is
        False), no later round can decide it, so compare any number of documents with the whole block.
        """
        hash_blocks = self.materialise(hash_blocks)
        known = components(reduce(DataFrame.unionByName, self._found), self.loaded.cache)
        with_roots = self.materialise(
            hash_blocks.join(known, "key", "left").withColumn("root", f.coalesce("root", "key"))
        )
        counts = with_roots.groupBy("hash_block", "root").count().groupBy("hash_block")
        most = self.materialise(
            counts.agg(f.max(f.struct("count", "root")).alias("most"), f.sum("count").alias("all")).select(
                "hash_block", f.col("most.root").alias("most"), (f.col("all") - f.col("most.count")).alias("outside")
            )
        )
        decided = most.where(f.col("outside") <= _PIVOTS) if is_open else most
        outside = with_roots.join(decided, "hash_block").where(f.col("root") != f.col("most"))
        senders = outside.select("hash_block", f.col("key").alias("sender"), f.col("is_new").alias("is_other_new"))
        together = hash_blocks.join(senders, "hash_block").where("key <> sender and (is_new or is_other_new)")
        left = together.select("sender", f.col("key").alias("receiver"))
        self._verify(self._group_pairs(left.distinct()))
        return most.where(f.col("outside") > _PIVOTS).select("hash_block")

    def _complete(self, members: DataFrame) -> DataFrame:
        """Map each key to a root shared by a complete group, or by a kept document and its duplicates."""
        loss = f.col("loss") if self._has_policy else f.lit(0.0)
        firsts = members.groupBy("key").agg(
            f.min(f.struct(loss.alias("loss"), "run", "id")).alias("first"),
            f.bool_or("stays").alias("stays"),
            f.first("root").alias("root"),
        )
        a, b = (
            firsts.select(
                f.col("key").alias(side),
                f.col("stays").alias(f"stays_{side}"),
                *(f.col(f"first.{name}").alias(f"{name}_{side}") for name in ("loss", "run", "id")),
                *of_a,
            )
            for side, of_a in (("a", ["root"]), ("b", []))
        )
        pairs = self._pairs.join(a, "a").join(b, "b")
        step = partial(_complete_groups, around_kept=self._has_policy)
        return map_batches(pairs.repartition(len(self.loaded.parts), "root"), step, "key long, root long")


def _shares() -> tuple[Column, ...]:
    """Return the columns jaccard, a_in_b, b_in_a and exact of measured pairs, with shares rounded to six decimals."""
    shared, a, b = f.col("shared"), f.col("size_a"), f.col("size_b")
    shares = {"jaccard": shared / (a + b - shared), "a_in_b": shared / a, "b_in_a": shared / b}
    rounded = (f.floor(share * SHARE_STEPS + SLACK) / SHARE_STEPS for share in shares.values())
    is_exact = (f.col("low") == f.col("high")).alias("exact")
    return (*(share.alias(name) for name, share in zip(shares, rounded, strict=True)), is_exact)


def _members_of(block: pa.Table, roots: pa.Table, before: int, keep: Keep) -> Batches:
    """Yield the documents of a block that have a key in `roots` or exact copies, as rows of CLUSTER_MEMBERS.

    Documents of runs with a number below `before` always stay.
    """
    members = BlockMembers.from_rows(block)
    keys, of_keys = decode_columns(roots, "keys roots")
    sizes = sizes_in(block, members.keys)
    order = np.argsort(keys)
    is_listed, root_of = np.isin(members.keys, keys), members.keys.copy()
    root_of[is_listed] = of_keys[order[np.searchsorted(keys[order], members.keys[is_listed])]]
    _, inverse, times = np.unique(members.keys, return_inverse=True, return_counts=True)
    chosen = np.flatnonzero((sizes > 0) & (is_listed | (times[inverse] > 1)))
    if chosen.size:
        listed = members.select(chosen)
        stays = listed.runs < before
        losses = np.where(stays, -np.inf, keep.losses(sizes[chosen], listed.ranks))
        columns = (
            *(listed.ids, listed.names, sizes[chosen], listed.keys, root_of[chosen], losses),
            *(listed.runs.astype(np.int64), stays),
        )
        yield pa.RecordBatch.from_arrays(list(map(pa.array, columns)), names=[*arrow_schema(CLUSTER_MEMBERS).names])


def _complete_groups(batches: Batches, *, around_kept: bool) -> Batches:
    """Divide components into smaller clusters, and yield the key and the root of each document.

    The clusters are those of `labels_around_earlier`, or with `around_kept` of `labels_around_kept`. Documents are
    kept in the order of their loss (see `Keep.losses`), then of their run, then of their id.
    """
    rows = list(batches)
    if not any(batch.num_rows for batch in rows):
        return
    pairs = pa.Table.from_batches(rows).combine_chunks()
    keys, losses, runs, ids, stays = (
        np.concatenate([np.asarray(pairs[f"{name}{side}"]) for side in ("a", "b")])
        for name in ("", "loss_", "run_", "id_", "stays_")
    )
    _, at, inverse = np.unique(ids, return_index=True, return_inverse=True)
    order = np.lexsort((runs[at], losses[at]))
    indices = np.empty_like(order)
    indices[order] = np.arange(order.size)
    a, b = np.split(indices[inverse], 2)
    numbers = [to_int64(pairs[name]) for name in arrow_schema(PAIRS).names[2:]]
    # Renumber the documents: from here on, a document's number is its position in this order.
    at = at[order]
    in_order = np.arange(at.size)
    own = Pairs(a, b, *numbers).renumber(in_order)
    if around_kept:
        labels = labels_around_kept(at.size, own, in_order, stays[at])
    else:
        labels = labels_around_earlier(at.size, own, stays[at])
    yield batch_of({"key": keys[at], "root": keys[at][labels]})
