"""Connected components: union-find per partition and on one worker, or large-star and small-star beyond its memory.

In each partition union-find reduces the links to one per document. If the remaining links fit into one worker, it
merges them in a moment; otherwise large-star and small-star steps alternate. A large-star links the larger neighbours
of every node to the smallest node that it knows; a small-star links its smaller neighbours and the node itself. Both
preserve the components, and they converge to stars around the smallest node of each component. Rows are joined only by
node, and a chain of n nodes takes about log2(n) rounds.

Source: R. Kiveris, S. Lattanzi, V. Mirrokni, V. Rastogi, S. Vassilvitskii, Connected components in MapReduce and
beyond (SoCC 2014), the alternating algorithm.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from whorl.duplicates.clusters import Components
from whorl.duplicates.sketches import Numbers
from whorl.duplicates.spark.frames import Batches, Kept, batch_of, cut_off, stepped, whole_numbers

#: Maximum number of links that one worker merges; each takes 16 bytes, several times as much during the merge.
MOST_AT_ONCE = 1 << 25
#: Number of links of a partition that are merged at once.
_PORTION = 1 << 20


def components(links: DataFrame, kept: Kept, most: int = MOST_AT_ONCE) -> DataFrame:
    """Return the connected components of links.

    Args:
        links: Columns a and b (long), in any order, repeats allowed.
        kept: Holds intermediate results.
        most: Maximum number of links that one worker merges.

    Returns:
        Columns key and root: each node once, with the smallest node of its component.
    """
    edges = kept.settled(stepped(links.select("a", "b"), _forest, "node long, to long"))
    if edges.count() <= most:
        edges = kept.settled(stepped(edges.repartition(1), _forest, "node long, to long"))
    else:
        edges = cut_off(edges.distinct())
        while not _are_stars(edges):
            edges = cut_off(_small_star(_large_star(edges)))
    leaves = edges.select(f.col("node").alias("key"), f.col("to").alias("root"))
    return leaves.unionByName(leaves.select(f.col("root").alias("key"), "root").distinct())


def _forest(batches: Batches) -> Batches:
    """Reduce links to stars: yield each node except component minima, with the minimum of its component."""
    nodes, to = np.empty(0, np.int64), np.empty(0, np.int64)
    waiting: list[tuple[Numbers, Numbers]] = []
    for batch in batches:
        waiting.append((whole_numbers(batch[0]), whole_numbers(batch[1])))
        if sum(one.size for one, _ in waiting) >= _PORTION:
            nodes, to = _stars([(nodes, to), *waiting])
            waiting = []
    nodes, to = _stars([(nodes, to), *waiting])
    yield batch_of({"node": nodes, "to": to})


def _stars(several: list[tuple[Numbers, Numbers]]) -> tuple[Numbers, Numbers]:
    ends = [np.concatenate(side) for side in zip(*several, strict=True)]
    nodes, places = np.unique(np.concatenate(ends), return_inverse=True)
    found = Components(nodes.size)
    found.join(*np.split(places, 2))
    labels = found.labels()
    is_leaf: npt.NDArray[np.bool_] = labels != np.arange(nodes.size)
    return nodes[is_leaf], nodes[labels[is_leaf]]


def _large_star(edges: DataFrame) -> DataFrame:
    """Link the larger neighbours of every node to its smallest neighbour, or to the node if it is smaller still."""
    both = edges.unionByName(edges.select(f.col("to").alias("node"), f.col("node").alias("to")))
    smallest = both.groupBy("node").agg(f.min("to").alias("smallest"))
    smallest = smallest.select("node", f.least("node", "smallest").alias("smallest"))
    larger = both.where(f.col("to") > f.col("node")).join(smallest, "node")
    return larger.select(f.col("to").alias("node"), f.col("smallest").alias("to")).distinct()


def _small_star(edges: DataFrame) -> DataFrame:
    """Link every node and its smaller neighbours to its smallest neighbour; edges lead to the smaller node."""
    smallest = edges.groupBy("node").agg(f.min("to").alias("smallest"))
    others = edges.join(smallest, "node").where(f.col("to") != f.col("smallest"))
    return (
        others.select(f.col("to").alias("node"), f.col("smallest").alias("to"))
        .unionByName(smallest.select("node", f.col("smallest").alias("to")))
        .distinct()
    )


def _are_stars(edges: DataFrame) -> bool:
    """Check whether the edges are stars: each node leads to a single other node, which leads no further."""
    outgoing = edges.select("node", f.lit(1).alias("out"), f.lit(0).alias("into"))
    ends = outgoing.unionByName(edges.select(f.col("to").alias("node"), f.lit(0).alias("out"), f.lit(1).alias("into")))
    counts = ends.groupBy("node").agg(f.sum("out").alias("out"), f.max("into").alias("into"))
    return counts.where((f.col("out") > 1) | ((f.col("out") > 0) & (f.col("into") > 0))).isEmpty()
