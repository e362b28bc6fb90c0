"""All pairs and clusters among documents that Spark reads: the same as those of `whorl.duplicates.result`."""

from __future__ import annotations

from functools import cached_property, partial, reduce

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from whorl.duplicates.clusters import labels_beside_known
from whorl.duplicates.gathering import FILES_SCHEME
from whorl.duplicates.keep import Keep
from whorl.duplicates.question import PairQuestion
from whorl.duplicates.schedule import MOST_PAIRS
from whorl.duplicates.sketching import Sketching, no_date
from whorl.duplicates.spark.blocks import Members, sizes_in
from whorl.duplicates.spark.candidates import find_candidates
from whorl.duplicates.spark.clusters import MEMBERS, clustered, member_by_member, with_shares
from whorl.duplicates.spark.components import components
from whorl.duplicates.spark.documents import documents_in, parts_of
from whorl.duplicates.spark.frames import (
    Batches,
    addressed,
    arrow_schema,
    batch_of,
    joined,
    met,
    stepped,
    whole_numbers,
)
from whorl.duplicates.spark.gathering import STAYS, Run, gathered
from whorl.duplicates.spark.rest import MOST_AT_ONCE
from whorl.duplicates.spark.state import State, still_paired
from whorl.duplicates.spark.verify import PAIRS, measured_pairs, verified_pairs
from whorl.duplicates.verify import Pairs
from whorl.errors import ParameterError
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import SketchScheme

#: Documents of a crowd that all others are compared with before what is left is paired; and those of it that may be
#: left for all pairs of them to be looked at.
_PIVOTS = 16
_PAIR_NAMES = [part.split()[0] for part in PAIRS.split(", ")]


class SparkDuplicates:
    """The near-duplicates among documents, each step carried out when it is first needed.

    Args:
        documents: As `documents.read` or `documents.documents_of` return them.
        reference: Documents that these are compared with, and that are not compared with one another; in the same
            columns, with ids of their own. Not beside a state.
        question: What is to be found.
        scheme: What words and shingles are.
        keep: What decides which document of a cluster is kept; its column is one of the documents'.
        links_suffice: Whether only clusters are wanted, and no complete ones: of a crowd that is all alike not all
            pairs are looked for.
        state: Folder in which earlier runs left what they learned: the documents are compared with theirs as well, and
            pairs and clusters are those of all. None to begin from nothing.
        only_new: Whether only pairs and clusters are told that have a document which was not there before, or not with
            this text; what came before stays then, as a reference does.
        sketches: How much of each document is compared.
        most: Pairs that one hash may make in a round, as in `whorl.duplicates.candidates.find_candidates`.
        most_at_once: Hashes of crowds, and of what is put off to further rounds, that are left to one worker.

    Raises:
        StoreError: The folder of the state holds something else, or cannot be used.
        ParameterError: What it holds was found otherwise; or there is a reference beside it.
    """

    def __init__(
        self,
        documents: DataFrame,
        question: PairQuestion,
        *,
        reference: DataFrame | None = None,
        scheme: Scheme = Scheme(),  # noqa: B008 - frozen
        keep: Keep = Keep("first"),  # noqa: B008 - frozen
        links_suffice: bool = False,
        state: str | None = None,
        only_new: bool = False,
        sketches: SketchScheme = FILES_SCHEME,
        most: int = MOST_PAIRS,
        most_at_once: int = MOST_AT_ONCE,
    ) -> None:
        if reference is not None and state is not None:
            raise ParameterError("a reference keeps no state: put it into the state by a run of its own")
        self._question, self._keep, self._state = question, keep, None
        self._run, earlier, known = Run(), None, None
        if state is not None:
            self._state = State(
                documents.sparkSession,
                state,
                question,
                scheme=scheme,
                sketches=sketches,
                keep=keep,
                links_suffice=links_suffice,
            )
            self._run, earlier, known = self._state.run, self._state.blocks, self._state.pairs
        self._only_new = only_new or reference is not None
        if reference is not None:
            reference = reference.withColumn(STAYS, f.lit(True))
            documents = documents.unionByName(reference, allowMissingColumns=True)
        sketching = Sketching(scheme, sketches, no_date, None, keep, None)
        read = [documents] if earlier is None else [documents, earlier]
        self._documents = gathered(documents, documents_in, sketching, parts_of(*read), self._run, earlier)
        self._found: list[DataFrame] = []
        if known is not None:
            self._documents, known = still_paired(self._documents, known, links=links_suffice)
            self._found.append(known)
        for met_here in find_candidates(
            self._documents,
            question,
            decide=self._link if links_suffice else None,
            crowds=links_suffice,
            pivots=_PIVOTS if links_suffice else 0,
            most=most,
            most_at_once=most_at_once,
        ):
            self._verify(met_here.pairs)
            if met_here.crowds is not None:
                self._link(met_here.crowds, is_open=False)
            if met_here.rest is not None:
                rest = met_here.rest.pairs(self._documents.scheme, question, links_suffice=links_suffice)
                self._found.append(self.kept(rest))
        #: Pairs, some of them several times.
        self._links = reduce(DataFrame.unionByName, self._found)

    @cached_property
    def _pairs(self) -> DataFrame:
        """Pairs, each once."""
        return self._links if len(self._found) == 1 else self.kept(self._links.dropDuplicates(["a", "b"]))

    def release(self) -> None:
        """Let go of what is kept on the executors' disks; what is asked for after that is worked out anew."""
        self._documents.kept.release()

    # What was read.

    def counts(self) -> tuple[int, int]:
        """Return how many documents there are, and how many of them are too short to be compared."""
        return self._documents.documents, self._documents.too_short

    @property
    def unfit(self) -> DataFrame:
        """Rows that are no documents: columns id and problem."""
        return self._documents.unfit

    @property
    def repeated(self) -> int:
        """How many ids came more than once; of each the document of most shingles counts."""
        return self._documents.repeated

    # What was found.

    def pairs(self) -> DataFrame:
        """Return all pairs, each once and in no order, those of equal documents included.

        Those of two documents that stay are none.

        Returns:
            Columns a and b (ids, a the smaller one), jaccard, a_in_b, b_in_a (fractions), exact (whether all
            shingles were compared), a_name and b_name.
        """
        paired = self._pairs.select(f.explode(f.array("a", "b")).alias("key")).distinct()
        members = self.kept(self._members(paired.withColumn("root", f.col("key"))))
        several = members.groupBy("key").count().where(f.col("count") > 1)
        own = several.select(f.col("key").alias("traveller"), f.col("key").alias("home"))
        everything = self._pairs.unionByName(measured_pairs(self._to_travel(own), self._documents))
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
        """Return all clusters, a row for each document that is in one.

        Documents of the reference and of earlier runs come first in them. Of those that stay, one is the one that is
        kept where there is any, and clusters of these alone are none.

        Args:
            complete: Whether any two members are to be a pair; else a cluster is all that pairs hold together.

        Returns:
            Columns cluster (the id of its first document), documents (how many are in it), id, name, shingles, stays
            (whether it is of the reference, or came before where only new ones are told), is_principal (whether it is
            the document that is kept), and of what it shares with that one, which is A, jaccard, a_in_b, b_in_a and
            exact.

        Raises:
            ParameterError: Nobody knows what any document of a cluster is worth.
        """
        return member_by_member(self.clusters_in_lists(complete=complete))

    def clusters_in_lists(self, *, complete: bool = False) -> DataFrame:
        """Return all clusters, a row for each of them; see `clusters`, and `clusters.with_shares` for the columns."""
        members = self._members(components(self._links, self._documents.kept))
        if complete:
            members = self.kept(members)
            members = members.join(self._complete(members).withColumnRenamed("root", "own"), "key", "left")
            members = members.withColumn("root", f.coalesce("own", "key")).select(*arrow_schema(MEMBERS).names)
        clusters = self.kept(clustered(members, self._keep, self._documents.parts))
        if self._keep.is_by_value:
            for row in clusters.where("is_unknown").limit(1).collect():
                raise ParameterError(
                    f"nobody knows which is the {self._keep.by} of {row.cluster!r} and {row.documents - 1} more; name "
                    f"another column (--keep {self._keep.by}:COLUMN), or keep the first or the longest"
                )
        return with_shares(clusters, self._documents)

    def remember(self) -> None:
        """Leave in the folder of the state what the next run goes on from; without one do nothing.

        Call it when all that is asked of this run is written: if that fails, the next run finds the same.

        Raises:
            StoreError: Another run has done so meanwhile, or the folder cannot be written.
        """
        if self._state is not None:
            self._state.keep(self._documents.blocks.where(f.col("problem").isNull()), self._pairs)

    def _members(self, roots: DataFrame) -> DataFrame:
        """Return documents of some roots, and those of which there are several equal ones: columns of MEMBERS.

        Args:
            roots: Columns key and root; a document that is in none is its own.
        """
        documents = self._documents
        rows = addressed(roots, documents.parts, part_of="key", key="key", root="root")
        before = self._run.number if self._only_new else 0
        return met(documents.members, rows, partial(_members_of, before=before), MEMBERS, documents.parts)

    def _to_travel(self, pairs: DataFrame) -> DataFrame:
        """Return pairs of keys, in columns traveller and home, as `measured_pairs` takes them."""
        parts = self._documents.parts
        return addressed(pairs, parts, part_of="traveller", traveller="traveller", home="home")

    def kept(self, frame: DataFrame) -> DataFrame:
        """Return the same rows, which what is made of them does not work out again, until `release`."""
        return self._documents.kept.settled(frame)

    def _verify(self, candidates: DataFrame) -> None:
        self._found.append(self.kept(verified_pairs(candidates, self._documents, self._question)))

    def _link(self, crowds: DataFrame, *, is_open: bool = True) -> DataFrame:
        """Find links of crowds, as many as hold their connected components together, where these are near-copies.

        All of a crowd have been compared with a few of it, the pivots. Those that this does not link to most of the
        crowd are compared with all of it, if they are few, or no more can be told of them: then no pair is left out
        whose documents do not hang together already.

        Args:
            crowds: As `candidates.Met` has them.
            is_open: Whether more hashes could tell their documents apart.

        Returns:
            The crowds of which more hashes have to be looked at, in a column crowd.
        """
        crowds = self.kept(crowds)
        known = components(reduce(DataFrame.unionByName, self._found), self._documents.kept)
        placed = self.kept(crowds.join(known, "key", "left").withColumn("root", f.coalesce("root", "key")))
        counts = placed.groupBy("crowd", "root").count().groupBy("crowd")
        most = self.kept(
            counts.agg(f.max(f.struct("count", "root")).alias("most"), f.sum("count").alias("all")).select(
                "crowd", f.col("most.root").alias("most"), (f.col("all") - f.col("most.count")).alias("outside")
            )
        )
        decided = most.where(f.col("outside") <= _PIVOTS) if is_open else most
        outside = placed.join(decided, "crowd").where(f.col("root") != f.col("most"))
        travellers = outside.select("crowd", f.col("key").alias("traveller"), f.col("is_new").alias("is_other_new"))
        together = crowds.join(travellers, "crowd").where("key <> traveller and (is_new or is_other_new)")
        left = together.select("traveller", f.col("key").alias("home"))
        self._verify(self._to_travel(left.distinct()))
        return most.where(f.col("outside") > _PIVOTS).select("crowd")

    def _complete(self, members: DataFrame) -> DataFrame:
        """Return the root of each key of members anew: groups in which any two documents are a pair."""
        firsts = members.groupBy("key").agg(
            f.min(_place()).alias("first"), f.bool_or("stays").alias("stays"), f.first("root").alias("root")
        )
        a, b = (
            firsts.select(
                f.col("key").alias(side),
                *(f.col(name).alias(f"{name.split('.')[-1]}_{side}") for name in ("first.run", "first.id", "stays")),
                *of_a,
            )
            for side, of_a in (("a", ["root"]), ("b", []))
        )
        pairs = self._pairs.join(a, "a").join(b, "b")
        # Whole components in each partition.
        return stepped(pairs.repartition(len(self._documents.parts), "root"), _complete_groups, "key long, root long")


def _place() -> Column:
    """Return what is least of the first of several members: run by run, the reference before all, by their ids."""
    return f.struct("run", "id")


def _shares() -> tuple[Column, ...]:
    """Return the columns jaccard, a_in_b, b_in_a and exact of measured pairs, rounded as in `whorl.wire.numbers`."""
    shared, a, b = f.col("shared"), f.col("size_a"), f.col("size_b")
    shares = {"jaccard": shared / (a + b - shared), "a_in_b": shared / a, "b_in_a": shared / b}
    rounded = (f.floor(share * 1_000_000 + 1e-9) / 1_000_000 for share in shares.values())
    is_exact = (f.col("low") == f.col("high")).alias("exact")
    return (*(share.alias(name) for name, share in zip(shares, rounded, strict=True)), is_exact)


def _members_of(block: pa.Table, roots: pa.Table, before: int) -> Batches:
    """Yield rows of MEMBERS, of which those stay that came before a run."""
    members, _ = Members.of(block)
    keys, of_keys = joined(roots, "keys roots", "i8 i8")
    sizes = sizes_in(block, members.keys)
    order = np.argsort(keys)
    at = order[np.minimum(np.searchsorted(keys[order], members.keys), keys.size - 1)] if keys.size else None
    roots_of = members.keys if at is None else np.where(keys[at] == members.keys, of_keys[at], members.keys)
    is_told = np.zeros(sizes.size, np.bool_) if at is None else keys[at] == members.keys
    _, which, times = np.unique(members.keys, return_inverse=True, return_counts=True)
    chosen = np.flatnonzero((sizes > 0) & (is_told | (times[which] > 1)))
    if chosen.size:
        some = members.only(chosen)
        columns = (
            *(some.ids, some.names, sizes[chosen], some.keys, roots_of[chosen], some.worths),
            *(some.runs.astype(np.int64), some.runs < before),
        )
        yield pa.RecordBatch.from_arrays(list(map(pa.array, columns)), names=[*arrow_schema(MEMBERS).names])


def _complete_groups(batches: Batches) -> Batches:
    """Yield the complete groups of some connected components, documents taken run by run, and by their ids."""
    rows = list(batches)
    if not any(batch.num_rows for batch in rows):
        return
    pairs = pa.Table.from_batches(rows).combine_chunks()
    keys, runs, ids, stays = (
        np.concatenate([np.asarray(pairs[f"{name}{side}"]) for side in ("a", "b")])
        for name in ("", "run_", "id_", "stays_")
    )
    _, at, which = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(runs[at], kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(order.size)
    a, b = np.split(places[which], 2)
    numbers = [whole_numbers(pairs[name]) for name in _PAIR_NAMES[2:]]
    # By their places from here on.
    at = at[order]
    labels = labels_beside_known(at.size, Pairs(a, b, *numbers).at(np.arange(at.size)), stays[at])
    yield batch_of({"key": keys[at], "root": keys[at][labels]})
