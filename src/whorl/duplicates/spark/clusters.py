"""Clusters as rows of member lists, with the overlap of each member and the retained document.

A cluster is one row with a list for each member column, ordered by run and id. Spark thus groups and writes a few
hundred thousand rows instead of millions.
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

from whorl.arrays import run_starts
from whorl.duplicates.options import Keep
from whorl.duplicates.sketches import Numbers
from whorl.duplicates.spark.frames import (
    Batches,
    Parts,
    addressed,
    arrow_schema,
    divided,
    joined,
    met,
    sent,
    stepped,
    whole_numbers,
)
from whorl.duplicates.spark.load import Gathered
from whorl.duplicates.spark.verify import measured_pairs

#: Columns of a cluster member; documents with one key occur one by one.
MEMBERS = "id string, name string, size long, key long, root long, worth double, run long, stays boolean"
_OWN = "id array<string>, name array<string>, shingles array<long>, stays array<boolean>, is_principal array<boolean>"
_CLUSTERS = f"part int, first long, is_unknown boolean, key array<long>, cluster string, documents long, {_OWN}"
_SHARES = "jaccard array<double>, a_in_b array<double>, b_in_a array<double>, exact array<boolean>"
_TOLD = f"cluster string, documents long, {_OWN}, {_SHARES}"
#: Shares are truncated to multiples of 1 / _PARTS; the slack absorbs rounding errors, as in `whorl.output.numbers`.
_PARTS, _SLACK = 1_000_000, 1e-9


def clustered(members: DataFrame, keep: Keep, parts: Parts) -> DataFrame:
    """Return the clusters with at least one member that does not stay, as input for `with_shares`.

    Args:
        members: Columns of MEMBERS; members with one root form a cluster.
        keep: Retention policy.
        parts: Parts of the documents.

    Returns:
        Among others the columns cluster (id of the first member), documents (number of members) and is_unknown (whether
        no member has a value for the retention policy).
    """
    step = partial(_clustered, keep=keep, parts=parts)
    return stepped(members.repartition(len(parts), "root"), step, _CLUSTERS)


def with_shares(clusters: DataFrame, documents: Gathered) -> DataFrame:
    """Add to each cluster the overlap of its members with the retained document.

    Returns:
        Columns cluster and documents; id, name, shingles, stays, is_principal, jaccard, a_in_b, b_in_a and exact as
        lists with a value for each member, ordered by run and id. A is the retained document.
    """
    parts = documents.parts
    travelling = stepped(
        clusters.select("part", "first", "key"), _to_compare, "part int, travellers binary, homes binary"
    )
    shares = measured_pairs(travelling, documents)
    shares = addressed(shares, parts, part_of="a", key="b", shared="shared", low="low", high="high")
    return met(sent(clusters, parts), shares, _with_shares, _TOLD, parts)


def member_by_member(clusters: DataFrame) -> DataFrame:
    """Expand clusters returned by `with_shares` into one row for each member."""
    return clusters.select("cluster", "documents", f.inline(_zipped(clusters)))


def nested(clusters: DataFrame) -> DataFrame:
    """Return clusters returned by `with_shares` with their members as one list of structs, without `stays`."""
    return clusters.select("cluster", "documents", _zipped(clusters.drop("stays")).alias("members"))


def _zipped(clusters: DataFrame) -> Column:
    return f.arrays_zip(*(name for name in clusters.columns if name not in ("cluster", "documents")))


def _clustered(batches: Batches, keep: Keep, parts: Parts) -> Batches:
    rows = [batch for batch in batches if batch.num_rows]
    if not rows:
        return
    members = pa.Table.from_batches(rows)
    members = members.take(pc.sort_indices(members, sort_keys=[(name, "ascending") for name in ("root", "run", "id")]))
    members = members.combine_chunks()
    sizes, keys, roots = (whole_numbers(members[name]) for name in ("size", "key", "root"))
    stays = np.asarray(members["stays"])
    starts = run_starts(roots)
    counts = np.diff(np.append(starts, roots.size))
    groups = np.repeat(np.arange(starts.size), counts)
    loss = np.where(stays, -math.inf, _loss(members, sizes, keep))
    # Ties go to the first member.
    kept = np.lexsort((loss, groups))[starts]
    is_kept = np.zeros(roots.size, np.bool_)
    is_kept[kept] = True
    is_told = (counts > 1) & ~np.logical_and.reduceat(stays, starts)
    lengths, inside = counts[is_told], pa.array(np.flatnonzero(is_told[groups]))
    first = keys[kept[is_told]]
    columns = {
        "part": parts.of(first),
        "first": first,
        "is_unknown": loss[kept[is_told]] == math.inf,
        "key": _listed(members["key"].take(inside), lengths),
        "cluster": members["id"].take(pa.array(starts[is_told])),
        "documents": lengths,
        "id": _listed(members["id"].take(inside), lengths),
        "name": _listed(members["name"].take(inside), lengths),
        "shingles": _listed(members["size"].take(inside), lengths),
        "stays": _listed(members["stays"].take(inside), lengths),
        "is_principal": _listed(pa.array(is_kept).take(inside), lengths),
    }
    yield from pa.table(columns, schema=arrow_schema(_CLUSTERS)).to_batches()


def _loss(members: pa.Table, sizes: Numbers, keep: Keep) -> npt.NDArray[np.float64]:
    """Return the rank of each member; the lowest is retained, and infinity means that the value is missing."""
    if keep.by == "longest":
        return -sizes.astype(np.float64)
    if keep.is_by_value:
        worths = np.asarray(members["worth"])
        return np.where(np.isnan(worths), math.inf, -worths)
    return np.zeros(sizes.size)


def loss_of(keep: Keep) -> Column:
    """Return the rank that `_clustered` uses as a Spark column, with the members that stay before all others."""
    loss = f.lit(0.0)
    if keep.by == "longest":
        loss = -f.col("size").cast("double")
    elif keep.is_by_value:
        loss = f.coalesce(-f.nanvl("worth", f.lit(-math.inf)), f.lit(math.inf))
    return f.when(f.col("stays"), f.lit(-math.inf)).otherwise(loss)


def _listed(values: pa.Array | pa.ChunkedArray, lengths: Numbers) -> pa.ListArray:
    """Split values into lists of the given lengths."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    return pa.ListArray.from_arrays(pa.array(np.append(0, np.cumsum(lengths)).astype(np.int32)), values)


def _to_compare(batches: Batches) -> Batches:
    """Yield the comparisons of each retained document, whose sketch is sent, with the members of its cluster."""
    for batch in batches:
        homes, lengths = _unlisted(batch["key"])
        travellers, parts = (np.repeat(whole_numbers(batch[name]), lengths) for name in ("first", "part"))
        # Equal documents share all shingles and need no comparison.
        apart = travellers != homes
        columns = {"travellers": travellers[apart], "homes": homes[apart]}
        yield divided(parts[apart].astype(np.int32), columns)


def _with_shares(clusters: pa.Table, shares: pa.Table) -> Batches:
    """Yield the clusters of one part as rows of _TOLD."""
    if not clusters.num_rows:
        return
    clusters = clusters.combine_chunks()
    keys, lengths = _unlisted(clusters["key"])
    sizes, _ = _unlisted(clusters["shingles"])
    is_kept, _ = _unlisted(clusters["is_principal"])
    is_itself = np.repeat(whole_numbers(clusters["first"]), lengths) == keys
    size_kept = np.repeat(sizes[is_kept], lengths)
    shared, is_exact = sizes.copy(), is_itself.copy()
    others = np.flatnonzero(~is_itself)
    if others.size:
        # Each document is in one cluster, so its key identifies the comparison.
        compared, *counts = joined(shares, "keys shareds lows highs", "i8 i8 i8 i8")
        order = np.argsort(compared)
        at = order[np.searchsorted(compared[order], keys[others])]
        shared[others], low, high = (count[at] for count in counts)
        is_exact[others] = low == high
    of_shares = (shared / (size_kept + sizes - shared), shared / size_kept, shared / sizes)
    cut = (np.floor(share * _PARTS + _SLACK) / _PARTS for share in of_shares)
    schema = arrow_schema(_TOLD)
    columns = [clusters[name] for name in schema.names if name in clusters.column_names]
    columns += [_listed(pa.array(values), lengths) for values in (*cut, is_exact)]
    yield from pa.table(columns, schema=schema).to_batches()


def _unlisted(column: pa.Array | pa.ChunkedArray) -> tuple[npt.NDArray[Any], Numbers]:
    """Return the values of all lists, and the length of each list."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    values = column.flatten()
    return np.asarray(values), np.asarray(column.value_lengths()).astype(np.int64)
