"""Connected components: what hangs together in each partition, then in one worker, or by stars where that is too much.

Of what hangs together in a partition one link for each document is enough. As many as a worker has room for are put
together in one, which takes a moment; more of them by large-star and small-star. A large-star links every node's
larger neighbours to the smallest one that it knows, a small-star all its smaller ones and itself. Both keep together
what hangs together; what comes out in the end are stars around the smallest node of each component. Rows are only
ever joined by node, and a chain of n nodes takes about log2(n) rounds.

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

#: Links that one worker puts together: 16 bytes each, and some times as much while it does.
MOST_AT_ONCE = 1 << 25
#: Links of a partition that are put together at once.
_PORTION = 1 << 20


def components(links: DataFrame, kept: Kept, most: int = MOST_AT_ONCE) -> DataFrame:
    """Return what hangs together.

    Args:
        links: Columns a and b (long), in any order and with repeats.
        kept: Keeps what comes of them.
        most: Links that one worker puts together.

    Returns:
        Columns key and root: each node of a link once, and the smallest node that it hangs together with.
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
    """Yield for each node of some links that is not the smallest one of what hangs together there, that one."""
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
    """Link the larger neighbours of every node to the smallest of all, the node itself included."""
    both = edges.unionByName(edges.select(f.col("to").alias("node"), f.col("node").alias("to")))
    smallest = both.groupBy("node").agg(f.min("to").alias("smallest"))
    smallest = smallest.select("node", f.least("node", "smallest").alias("smallest"))
    larger = both.where(f.col("to") > f.col("node")).join(smallest, "node")
    return larger.select(f.col("to").alias("node"), f.col("smallest").alias("to")).distinct()


def _small_star(edges: DataFrame) -> DataFrame:
    """Link every node and its smaller neighbours to the smallest of these; edges lead to the smaller node."""
    smallest = edges.groupBy("node").agg(f.min("to").alias("smallest"))
    others = edges.join(smallest, "node").where(f.col("to") != f.col("smallest"))
    return (
        others.select(f.col("to").alias("node"), f.col("smallest").alias("to"))
        .unionByName(smallest.select("node", f.col("smallest").alias("to")))
        .distinct()
    )


def _are_stars(edges: DataFrame) -> bool:
    """Return whether every node leads to one other only, from which nothing leads on."""
    outgoing = edges.select("node", f.lit(1).alias("out"), f.lit(0).alias("into"))
    ends = outgoing.unionByName(edges.select(f.col("to").alias("node"), f.lit(0).alias("out"), f.lit(1).alias("into")))
    counts = ends.groupBy("node").agg(f.sum("out").alias("out"), f.max("into").alias("into"))
    return counts.where((f.col("out") > 1) | ((f.col("out") > 0) & (f.col("into") > 0))).isEmpty()
