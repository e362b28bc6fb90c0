"""All pairs and clusters among documents that Spark reads: the same as those of `whorl.duplicates.result`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from whorl.duplicates.clusters import complete_labels
from whorl.duplicates.gathering import FILES_SCHEME
from whorl.duplicates.question import PairQuestion
from whorl.duplicates.schedule import MOST_PAIRS
from whorl.duplicates.spark.candidates import join_candidates
from whorl.duplicates.spark.components import components
from whorl.duplicates.spark.documents import gathered
from whorl.duplicates.spark.frames import settled, whole_numbers
from whorl.duplicates.spark.verify import measured_pairs, verified_pairs
from whorl.duplicates.verify import Pairs
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import SketchScheme

#: Documents of a crowd that all others are compared with before what is left is paired.
_PIVOTS = 16
_CROWD = ["round", "level", "token"]


class SparkDuplicates:
    """The near-duplicates among documents, each step carried out when it is first needed.

    Args:
        documents: As `documents.read` or `documents.documents_of` return them.
        question: What is to be found.
        scheme: What words and shingles are.
        links_suffice: Whether only clusters are wanted, and no complete ones: of a crowd that is all alike not all
            pairs are looked for.
        sketches: How much of each document is compared.
        most: Pairs that one hash may make in a round, as in `whorl.duplicates.candidates.find_candidates`.
    """

    def __init__(
        self,
        documents: DataFrame,
        question: PairQuestion,
        *,
        scheme: Scheme = Scheme(),  # noqa: B008 - frozen
        links_suffice: bool = False,
        sketches: SketchScheme = FILES_SCHEME,
        most: int = MOST_PAIRS,
    ) -> None:
        self._question, self._sketches = question, sketches
        self._gathered = gathered(documents, scheme, sketches)
        self._members = self._gathered.members.where("size > 0").drop("size")
        self._documents = self._gathered.documents
        met = join_candidates(self._documents, sketches, question, crowds=links_suffice, most=most)
        pairs = self._verified(met.pairs)
        if met.crowds is not None:
            pairs = pairs.unionByName(self._links(met.crowds))
        self._pairs = settled(pairs)

    # What was read.

    def counts(self) -> tuple[int, int]:
        """Return how many documents there are, and how many of them are too short to be compared."""
        row = self._gathered.members.agg(f.count("*"), f.count_if(f.col("size") == 0)).collect()[0]
        return row[0], row[1]

    @property
    def unfit(self) -> DataFrame:
        """Rows that are no documents: columns id and problem."""
        return self._gathered.unfit

    @property
    def repeated(self) -> int:
        """How many ids came more than once; of each the document of most shingles counts."""
        return self._gathered.repeated

    # What was found.

    def pairs(self) -> DataFrame:
        """Return all pairs, each once and in no order, those of equal documents included.

        Returns:
            Columns a and b (ids, a the smaller one), jaccard, a_in_b, b_in_a (fractions), exact (whether all
            shingles were compared), a_name and b_name.
        """
        several = self._members.groupBy("key").count().where(f.col("count") > 1)
        own = several.select(f.col("key").alias("a"), f.col("key").alias("b"))
        everything = self._pairs.unionByName(measured_pairs(own, self._documents, self._sketches))
        one = self._members.select(f.col("key").alias("a"), f.col("id").alias("one"), f.col("name").alias("one_name"))
        other = self._members.select(
            f.col("key").alias("b"), f.col("id").alias("other"), f.col("name").alias("other_name")
        )
        rows = everything.join(one, "a").join(other, "b").where("a <> b or one < other")
        is_turned = f.col("other") < f.col("one")
        jaccard, a_in_b, b_in_a, exact = _shares()
        return rows.select(
            f.least("one", "other").alias("a"),
            f.greatest("one", "other").alias("b"),
            jaccard,
            f.when(is_turned, b_in_a).otherwise(a_in_b).alias("a_in_b"),
            f.when(is_turned, a_in_b).otherwise(b_in_a).alias("b_in_a"),
            exact,
            f.when(is_turned, f.col("other_name")).otherwise(f.col("one_name")).alias("a_name"),
            f.when(is_turned, f.col("one_name")).otherwise(f.col("other_name")).alias("b_name"),
        )

    def clusters(self, *, complete: bool = False) -> DataFrame:
        """Return all clusters, a row for each document that is in one.

        Args:
            complete: Whether any two members are to be a pair; else a cluster is all that pairs hold together.

        Returns:
            Columns cluster (the smallest id in it), documents (how many are), id, name, shingles, is_principal (whether
            it is the document of that smallest id), and of what it shares with that one, which is A, jaccard, a_in_b,
            b_in_a and exact.
        """
        roots = components(self._pairs)
        if complete:
            roots = self._complete(roots)
        members = self._gathered.members.where("size > 0").join(roots, "key", "left")
        members = members.withColumn("root", f.coalesce("root", "key"))
        groups = (
            members.groupBy("root")
            .agg(f.count("*").alias("documents"), f.min(f.struct("id", "key")).alias("first"))
            .where("documents > 1")
            .select("root", "documents", f.col("first.id").alias("cluster"), f.col("first.key").alias("first"))
        )
        rows = settled(members.join(groups, "root"))
        compared = rows.select(f.col("first").alias("a"), f.col("key").alias("b")).distinct()
        shares = measured_pairs(compared, self._documents, self._sketches)
        shares = shares.select(f.col("a").alias("first"), f.col("b").alias("key"), *_shares())
        return rows.join(shares, ["first", "key"]).select(
            *("cluster", "documents", "id", "name", f.col("size").alias("shingles")),
            (f.col("id") == f.col("cluster")).alias("is_principal"),
            *("jaccard", "a_in_b", "b_in_a", (f.col("exact") | (f.col("first") == f.col("key"))).alias("exact")),
        )

    def _verified(self, pairs: DataFrame) -> DataFrame:
        return verified_pairs(pairs, self._documents, self._sketches, self._question)

    def _links(self, crowds: DataFrame) -> DataFrame:
        """Return pairs of crowds, as many as hold their connected components together.

        All of a crowd are compared with a few of it. Those that this does not link to most of the crowd are compared
        with all of it: then no pair is left out whose documents do not hang together already.
        """
        crowds = settled(crowds)
        pivots = crowds.groupBy(*_CROWD, f.pmod("key", f.lit(_PIVOTS))).agg(f.min("key").alias("other"))
        links = settled(self._verified(_together(crowds, pivots.select(*_CROWD, "other"))))
        placed = crowds.join(components(links), "key", "left").withColumn("root", f.coalesce("root", "key"))
        counts = placed.groupBy(*_CROWD, "root").count()
        largest = counts.groupBy(_CROWD).agg(f.max(f.struct("count", "root")).alias("most"))
        outside = placed.join(largest, _CROWD).where(f.col("root") != f.col("most.root"))
        outside = settled(outside.select(*_CROWD, f.col("key").alias("other")))
        if outside.isEmpty():
            return links
        return links.unionByName(self._verified(_together(crowds, outside))).dropDuplicates(["a", "b"])

    def _complete(self, roots: DataFrame) -> DataFrame:
        """Return roots anew, those of groups in which any two documents are a pair."""
        firsts = self._members.groupBy("key").agg(f.min("id").alias("id"))
        pairs = (
            self._pairs.join(roots.select(f.col("key").alias("a"), "root"), "a")
            .join(firsts.select(f.col("key").alias("a"), f.col("id").alias("id_a")), "a")
            .join(firsts.select(f.col("key").alias("b"), f.col("id").alias("id_b")), "b")
        )
        return pairs.groupBy("root").applyInArrow(_complete_groups, "key long, root long")


def _together(crowds: DataFrame, others: DataFrame) -> DataFrame:
    """Return the pairs of others with all that are in the same crowd."""
    met = crowds.join(others, _CROWD).where(f.col("key") != f.col("other"))
    return met.select(f.least("key", "other").alias("a"), f.greatest("key", "other").alias("b")).distinct()


def _shares() -> tuple[Column, ...]:
    """Return the columns jaccard, a_in_b, b_in_a and exact of measured pairs, rounded as in `whorl.wire.numbers`."""
    shared, a, b = f.col("shared"), f.col("size_a"), f.col("size_b")
    shares = {"jaccard": shared / (a + b - shared), "a_in_b": shared / a, "b_in_a": shared / b}
    rounded = (f.floor(share * 1_000_000 + 1e-9) / 1_000_000 for share in shares.values())
    is_exact = (f.col("low") == f.col("high")).alias("exact")
    return (*(share.alias(name) for name, share in zip(shares, rounded, strict=True)), is_exact)


def _complete_groups(pairs: pa.Table) -> pa.Table:
    """Return the complete groups of one connected component, documents in the order of their ids."""
    keys = np.concatenate([whole_numbers(pairs[side].combine_chunks()) for side in ("a", "b")])
    ids = np.array([each for side in ("id_a", "id_b") for each in pairs[side].to_pylist()], dtype=object)
    _, at, places = np.unique(ids, return_index=True, return_inverse=True)
    a, b = np.split(places, 2)
    numbers = [whole_numbers(pairs[name].combine_chunks()) for name in ("size_a", "size_b", "shared", "low", "high")]
    # By the places of the ids from here on.
    alone = np.arange(at.size)
    labels = complete_labels(at.size, Pairs(a, b, *numbers).at(alone))
    return pa.table({"key": pa.array(keys[at]), "root": pa.array(keys[at][labels])})
