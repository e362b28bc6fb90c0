"""Groups pairs into clusters on Spark, and measures the overlap of each member with the principal.

A cluster is one row, with its members in lists, ordered by run and id. Spark handles few long rows faster than millions
of short rows.
Connected components: union-find first reduces the links of each partition to one per document. If the remaining links
fit into one worker, it merges them. Otherwise, two steps alternate. Both find, for each node, the smallest node among
itself and its neighbours. Large-star links the node's larger neighbours to this smallest node. Small-star links the
node and its smaller neighbours to the smallest node. In the end, each component is a star around its smallest node. A
chain of n nodes takes about log2(n) rounds.
Source: R. Kiveris, S. Lattanzi, V. Mirrokni, V. Rastogi, S. Vassilvitskii, Connected components in MapReduce and beyond
(SoCC 2014), the alternating algorithm.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from whorl.arrays_and_batches import run_starts
from whorl.connected_components import stars_of
from whorl.duplicates.sketch_arrays import Numbers
from whorl.duplicates.spark.arrow_blocks import (
    Batches,
    MaterialisedRows,
    Partitioning,
    arrow_schema,
    batch_of,
    cogroup_blocks,
    count_rows,
    decode_columns,
    group_by_part,
    map_batches,
    partition_by_part,
    rows_by_part,
    to_int64,
)
from whorl.duplicates.spark.compare_sketches import measure_overlaps
from whorl.duplicates.spark.sketch_documents import LoadedDocuments
from whorl.fingerprint.statistics.metric import SHARE_STEPS, SLACK

#: Columns of the members of clusters; each copy of a document is a member. `key` identifies the member's text, `root`
#: its cluster, and `run` the run that read it. `loss` is the loss according to the retention policy (`Keep.losses`);
#: minus infinity if the member always stays.
CLUSTER_MEMBERS = "id string, name string, size long, key long, root long, loss double, run long, stays boolean"
_OWN = "id array<string>, name array<string>, shingles array<long>, stays array<boolean>, is_principal array<boolean>"
_CLUSTERS = f"part int, first long, is_unknown boolean, key array<long>, cluster string, documents long, {_OWN}"
_SHARES = "jaccard array<double>, a_in_b array<double>, b_in_a array<double>, exact array<boolean>"
_MEASURED = f"cluster string, documents long, {_OWN}, {_SHARES}"


def cluster_members(members: DataFrame, parts: Partitioning) -> DataFrame:
    """Group members with the same root into clusters, as input for `with_shares`.

    A cluster of only members with `stays`, which are never removed, is omitted. The column cluster has the id of the
    cluster's first member; is_unknown is true if no member has a rank according to the retention policy.
    """
    step = partial(_cluster_partition, parts=parts)
    return map_batches(members.repartition(len(parts), "root"), step, _CLUSTERS)


def with_shares(clusters: DataFrame, documents: LoadedDocuments) -> DataFrame:
    """Add the shares (Jaccard, A in B, B in A) of the principal (A) and each member (B) to the clusters.

    Returns:
        Columns cluster and documents, and lists with one value per member: id, name, shingles, stays, is_principal,
            jaccard, a_in_b, b_in_a and exact.
    """
    parts = documents.parts
    pairs = map_batches(
        clusters.select("part", "first", "key"), _to_compare, "part int, senders binary, receivers binary"
    )
    shares = measure_overlaps(pairs, documents)
    shares = group_by_part(shares, parts, part_of="a", key="b", shared="shared", low="low", high="high")
    return cogroup_blocks(partition_by_part(clusters, parts), shares, _with_shares, _MEASURED, parts)


def member_by_member(clusters: DataFrame) -> DataFrame:
    """Expand the clusters of `with_shares` into one row for each member."""
    return clusters.select("cluster", "documents", f.inline(_zip_members(clusters)))


def nest_members(clusters: DataFrame) -> DataFrame:
    """Return the clusters of `with_shares` with a column `members`: a list of structs without the field `stays`."""
    return clusters.select("cluster", "documents", _zip_members(clusters.drop("stays")).alias("members"))


def decide_retention(clusters: DataFrame) -> DataFrame:
    """Return the members of the clusters of `with_shares`: their ids, and the columns that `--annotated` adds."""
    principal = f.expr("id[cast(array_position(is_principal, true) as int) - 1]")
    members = clusters.select(principal.alias("cluster"), f.inline(_zip_members(clusters)))
    return members.select(
        "id", "cluster", f.expr("is_principal or stays").alias("is_principal"), f.col("jaccard").alias("similarity")
    )


def _zip_members(clusters: DataFrame) -> Column:
    return f.arrays_zip(*(name for name in clusters.columns if name not in ("cluster", "documents")))


def _cluster_partition(batches: Batches, parts: Partitioning) -> Batches:
    """Yield one row for each cluster of a partition, with its principal and lists of its members."""
    rows = [batch for batch in batches if batch.num_rows]
    if not rows:
        return
    members = pa.Table.from_batches(rows)
    members = members.take(pc.sort_indices(members, sort_keys=[(name, "ascending") for name in ("root", "run", "id")]))
    members = members.combine_chunks()
    keys, roots = (to_int64(members[name]) for name in ("key", "root"))
    stays, loss = np.asarray(members["stays"]), np.asarray(members["loss"])
    starts = run_starts(roots)
    counts = np.diff(starts, append=roots.size)
    groups = np.repeat(np.arange(starts.size), counts)
    principal = np.lexsort((loss, groups))[starts]
    is_principal = np.zeros(roots.size, np.bool_)
    is_principal[principal] = True
    is_cluster = (counts > 1) & ~np.logical_and.reduceat(stays, starts)
    lengths, first = counts[is_cluster], keys[principal[is_cluster]]
    listed = members.append_column("shingles", members["size"]).append_column("is_principal", pa.array(is_principal))
    listed = listed.filter(pa.array(is_cluster[groups]))
    columns = {
        "part": parts.parts_of(first),
        "first": first,
        "is_unknown": loss[principal[is_cluster]] == math.inf,
        "cluster": members["id"].take(pa.array(starts[is_cluster])),
        "documents": lengths,
    }
    names = ("key", "id", "name", "shingles", "stays", "is_principal")
    columns |= {name: _to_lists(listed[name], lengths) for name in names}
    yield from pa.table(columns, schema=arrow_schema(_CLUSTERS)).to_batches()


def _to_lists(values: pa.Array | pa.ChunkedArray, lengths: Numbers) -> pa.ListArray:
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    return pa.ListArray.from_arrays(pa.array(np.append(0, np.cumsum(lengths)).astype(np.int32)), values)


def _to_compare(batches: Batches) -> Batches:
    for batch in batches:
        receivers, lengths = _from_lists(batch["key"])
        senders, parts = (np.repeat(to_int64(batch[name]), lengths) for name in ("first", "part"))
        # Leave out pairs of equal documents, which need no comparison.
        differs = senders != receivers
        columns = {"senders": senders[differs], "receivers": receivers[differs]}
        yield rows_by_part(parts[differs].astype(np.int32), columns)


def _with_shares(clusters: pa.Table, shares: pa.Table) -> Batches:
    if not clusters.num_rows:
        return
    clusters = clusters.combine_chunks()
    keys, lengths = _from_lists(clusters["key"])
    sizes, _ = _from_lists(clusters["shingles"])
    is_principal, _ = _from_lists(clusters["is_principal"])
    is_itself = np.repeat(to_int64(clusters["first"]), lengths) == keys
    principal_sizes = np.repeat(sizes[is_principal], lengths)
    shared, is_exact = sizes.copy(), is_itself.copy()
    others = np.flatnonzero(~is_itself)
    compared, *counts = decode_columns(shares, "keys shareds lows highs")
    order = np.argsort(compared)
    at = order[np.searchsorted(compared[order], keys[others])]
    shared[others], low, high = (count[at] for count in counts)
    is_exact[others] = low == high
    of_shares = (shared / (principal_sizes + sizes - shared), shared / principal_sizes, shared / sizes)
    cut = (np.floor(share * SHARE_STEPS + SLACK) / SHARE_STEPS for share in of_shares)
    schema = arrow_schema(_MEASURED)
    columns = [clusters[name] for name in schema.names if name in clusters.column_names]
    columns += [_to_lists(pa.array(values), lengths) for values in (*cut, is_exact)]
    yield from pa.table(columns, schema=schema).to_batches()


def _from_lists(column: pa.Array | pa.ChunkedArray) -> tuple[npt.NDArray[Any], Numbers]:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    values = column.flatten()
    return np.asarray(values), np.asarray(column.value_lengths()).astype(np.int64)


#: Maximum number of links (pairs of nodes) to merge in one worker, with several times 16 bytes of memory for each.
MOST_LINKS = 1 << 25
#: Number of links of a partition that are merged at a time.
_PORTION = 1 << 20


def components(links: DataFrame, cache: MaterialisedRows, most: int = MOST_LINKS) -> DataFrame:
    """Map each node (column key) to the smallest node of its connected component (column root).

    One worker merges at most `most` links, which are rows with the columns a and b.
    """
    edges = cache.materialise(map_batches(links.select("a", "b"), _forest, "node long, to long"))
    if count_rows(edges) <= most:
        return cache.materialise(map_batches(edges.coalesce(1), _roots, "key long, root long"))
    edges = cache.materialise(edges.distinct())
    while not _are_stars(edges):
        edges = cache.materialise(_small_star(_large_star(edges)))
    leaves = edges.select(f.col("node").alias("key"), f.col("to").alias("root"))
    return leaves.unionByName(leaves.select(f.col("root").alias("key"), "root").distinct())


def _forest(batches: Batches) -> Batches:
    """Reduce the links of a partition: link each node to the smallest node of its component within the partition."""
    links = ((to_int64(batch[0]), to_int64(batch[1])) for batch in batches)
    yield batch_of(dict(zip(("node", "to"), stars_of(links, _PORTION), strict=True)))


def _roots(batches: Batches) -> Batches:
    for forest in _forest(batches):
        nodes, to = (to_int64(column) for column in forest.columns)
        roots = np.unique(to)
        yield batch_of({"key": np.concatenate([nodes, roots]), "root": np.concatenate([to, roots])})


def _large_star(edges: DataFrame) -> DataFrame:
    both = edges.unionByName(edges.select(f.col("to").alias("node"), f.col("node").alias("to")))
    smallest = both.groupBy("node").agg(f.min("to").alias("smallest"))
    smallest = smallest.select("node", f.least("node", "smallest").alias("smallest"))
    larger = both.where(f.col("to") > f.col("node")).join(smallest, "node")
    return larger.select(f.col("to").alias("node"), f.col("smallest").alias("to")).distinct()


def _small_star(edges: DataFrame) -> DataFrame:
    """Link each node and its smaller neighbours to the smallest of them. Edges lead to the smaller of two nodes."""
    smallest = edges.groupBy("node").agg(f.min("to").alias("smallest"))
    others = edges.join(smallest, "node").where(f.col("to") != f.col("smallest"))
    return (
        others.select(f.col("to").alias("node"), f.col("smallest").alias("to"))
        .unionByName(smallest.select("node", f.col("smallest").alias("to")))
        .distinct()
    )


def _are_stars(edges: DataFrame) -> bool:
    """Check that each node has at most one outgoing edge, and that no edge leads to a node with an outgoing edge."""
    outgoing = edges.select("node", f.lit(1).alias("out"), f.lit(0).alias("into"))
    ends = outgoing.unionByName(edges.select(f.col("to").alias("node"), f.lit(0).alias("out"), f.lit(1).alias("into")))
    counts = ends.groupBy("node").agg(f.sum("out").alias("out"), f.max("into").alias("into"))
    return counts.where((f.col("out") > 1) | ((f.col("out") > 0) & (f.col("into") > 0))).isEmpty()
