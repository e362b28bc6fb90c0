"""Clusters, each put together where all of its members are, and told with what they share with the one that is kept.

A cluster is one row, with a list for each column of its members, run by run, and by their ids: so a few hundred
thousand rows are grouped and written that would be millions.
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
from whorl.duplicates.keep import Keep
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
from whorl.duplicates.spark.gathering import Gathered
from whorl.duplicates.spark.verify import measured_pairs

#: A member, and documents that have one key, as they come.
MEMBERS = "id string, name string, size long, key long, root long, worth double, run long, stays boolean"
_OWN = "id array<string>, name array<string>, shingles array<long>, stays array<boolean>, is_principal array<boolean>"
_CLUSTERS = f"part int, first long, is_unknown boolean, key array<long>, cluster string, documents long, {_OWN}"
_SHARES = "jaccard array<double>, a_in_b array<double>, b_in_a array<double>, exact array<boolean>"
_TOLD = f"cluster string, documents long, {_OWN}, {_SHARES}"
#: Shares are cut to so many parts, with some slack for what is just below, as in `whorl.wire.numbers`.
_PARTS, _SLACK = 1_000_000, 1e-9


def clustered(members: DataFrame, keep: Keep, parts: Parts) -> DataFrame:
    """Return the clusters of which not all members stay, as `with_shares` takes them.

    Args:
        members: Columns of MEMBERS; those of one root are a cluster.
        keep: What decides which member is kept.
        parts: What documents are divided over.

    Returns:
        Among others the columns cluster (the id of the first member), documents (how many there are) and is_unknown
        (whether nobody knows what any of them is worth).
    """
    step = partial(_clustered, keep=keep, parts=parts)
    return stepped(members.repartition(len(parts), "root"), step, _CLUSTERS)


def with_shares(clusters: DataFrame, documents: Gathered) -> DataFrame:
    """Return clusters with what their members share with the one that is kept.

    Returns:
        Columns cluster, documents, and in lists, a value for each member, run by run, by their ids, id, name, shingles,
        stays, is_principal, and, the kept one being A, jaccard, a_in_b, b_in_a and exact.
    """
    parts = documents.parts
    travelling = stepped(
        clusters.select("part", "first", "key"), _to_compare, "part int, travellers binary, homes binary"
    )
    shares = measured_pairs(travelling, documents)
    shares = addressed(shares, parts, part_of="a", key="b", shared="shared", low="low", high="high")
    return met(sent(clusters, parts), shares, _with_shares, _TOLD, parts)


def member_by_member(clusters: DataFrame) -> DataFrame:
    """Return a row for each member of clusters that `with_shares` returned."""
    return clusters.select("cluster", "documents", f.inline(_zipped(clusters)))


def nested(clusters: DataFrame) -> DataFrame:
    """Return a row for each cluster that `with_shares` returned, with a list of its members, without `stays`."""
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
    # Of several alike the first.
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
    """Return what tells which document is kept: the one of which it is least; infinite where nobody knows."""
    if keep.by == "longest":
        return -sizes.astype(np.float64)
    if keep.is_by_value:
        worths = np.asarray(members["worth"])
        return np.where(np.isnan(worths), math.inf, -worths)
    return np.zeros(sizes.size)


def _listed(values: pa.Array | pa.ChunkedArray, lengths: Numbers) -> pa.ListArray:
    """Return lists of so many values each."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    return pa.ListArray.from_arrays(pa.array(np.append(0, np.cumsum(lengths)).astype(np.int32)), values)


def _to_compare(batches: Batches) -> Batches:
    """Yield the members of clusters with those that are kept, whose sketches travel."""
    for batch in batches:
        homes, lengths = _unlisted(batch["key"])
        travellers, parts = (np.repeat(whole_numbers(batch[name]), lengths) for name in ("first", "part"))
        # Equal documents share all.
        apart = travellers != homes
        columns = {"travellers": travellers[apart], "homes": homes[apart]}
        yield divided(parts[apart].astype(np.int32), columns)


def _with_shares(clusters: pa.Table, shares: pa.Table) -> Batches:
    """Yield clusters of one part as rows of _TOLD."""
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
        # A document is in one cluster.
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
    """Return the values of lists, and how many each has."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    values = column.flatten()
    return np.asarray(values), np.asarray(column.value_lengths()).astype(np.int64)
