"""Connected components by large-star and small-star, until nothing is left to do.

A large-star links every node's larger neighbours to the smallest one that it knows, a small-star all its smaller
ones and itself. Both keep together what hangs together; what comes out in the end are stars around the smallest node
of each component. Rows are only ever joined by node, no component is ever in one place, and a chain of n nodes takes
about log2(n) rounds.

Source: R. Kiveris, S. Lattanzi, V. Mirrokni, V. Rastogi, S. Vassilvitskii, Connected components in MapReduce and
beyond (SoCC 2014), the alternating algorithm.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from whorl.duplicates.spark.frames import settled


def components(links: DataFrame) -> DataFrame:
    """Return what hangs together.

    Args:
        links: Columns a and b (long), in any order and with repeats.

    Returns:
        Columns key and root: each node of a link once, and the smallest node that it hangs together with.
    """
    ordered = links.select(f.greatest("a", "b").alias("node"), f.least("a", "b").alias("to"))
    edges = settled(ordered.where(f.col("node") != f.col("to")).distinct())
    while not _are_stars(edges):
        edges = settled(_small_star(_large_star(edges)))
    leaves = edges.select(f.col("node").alias("key"), f.col("to").alias("root"))
    return leaves.unionByName(leaves.select(f.col("root").alias("key"), "root").distinct())


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
