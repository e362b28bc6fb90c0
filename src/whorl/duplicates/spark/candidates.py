"""Pairs that may be alike: the search of `whorl.duplicates.candidates`, word for word, as joins and counts.

A round gives each document a row for each hash that is looked at (`level`, `token`, `key`); counts by hash say how
rare it is; of a document's hashes that met others all but the most frequent are joined with those of other
documents. The prefix filter of a document that must share m hashes leaves out the m - 1 most frequent: that is a row
number from the most frequent one on, and needs no other count.

No hash, however many documents have it, makes more than `most` pairs in a join. What is counted by hash is counted
where the rows are, before they are sent; which hashes make too many is known from running counts, without a pair
being made; these are put off to the next round. What is left in the last one, documents that are all alike, comes as
crowds, or is joined in parts that no worker has two of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f
from pyspark.storagelevel import StorageLevel

from whorl.duplicates.question import PairQuestion
from whorl.duplicates.schedule import MOST_PAIRS, Round, rounds
from whorl.duplicates.sketches import Sketches
from whorl.duplicates.spark.frames import Batches, settled, sketches_in, stepped, whole_numbers
from whorl.fingerprint.sketch.sketch import SketchScheme

#: A hash that is looked at of a document, at a level.
_ENTRIES = (
    "level int, token long, key long, size long, least_size long, is_larger boolean, is_offered boolean, "
    "least_shared int, least_offered int, can_tell_more boolean"
)
_HASH = ["level", "token"]
#: The smallest key there is.
_NO_KEY = -(1 << 63)


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a search gives.

    Args:
        pairs: Columns a and b, keys of documents, a the smaller key; none twice.
        crowds: Columns round, level, token and key: documents of one hash any two of which are candidates; None
            where they come as pairs.
    """

    pairs: DataFrame
    crowds: DataFrame | None


def join_candidates(
    documents: DataFrame, scheme: SketchScheme, question: PairQuestion, *, crowds: bool = False, most: int = MOST_PAIRS
) -> Candidates:
    """Return the pairs that may be above a threshold.

    Args:
        documents: Columns key (long, none twice), size (long, above 0) and hashes (as `frames.packed` returns them).
        scheme: What the sketches depend on.
        question: What is to be found.
        crowds: As in `whorl.duplicates.candidates.find_candidates`.
        most: As there.
    """
    width = -(-scheme.bits // 8)
    largest = documents.agg((f.max(f.length("hashes")) / width).cast("long")).collect()[0][0]
    pairs, alike = [], []
    rest = documents
    for number, one in enumerate(rounds(question, largest or 1)):
        search = _Search(rest, scheme, one, most, gives_crowds=crowds)
        pairs.append(settled(search.pairs()))
        if search.crowds is not None:
            alike.append(search.crowds.select(f.lit(number).alias("round"), *_HASH, "key"))
        if search.put_off is None:
            break
        rest = documents.join(search.put_off, "key", "left_semi")
    together = reduce(DataFrame.unionByName, pairs)
    return Candidates(
        together.distinct() if len(pairs) > 1 else together,
        reduce(DataFrame.unionByName, alike) if alike else None,
    )


class _Search:
    """One round.

    Attributes:
        put_off: Keys of the documents that need another round, or None where none does.
        crowds: Columns level, token and key of those that come as crowds, or None.
    """

    def __init__(
        self, documents: DataFrame, scheme: SketchScheme, one: Round, most: int, *, gives_crowds: bool
    ) -> None:
        self.put_off: DataFrame | None = None
        self.crowds: DataFrame | None = None
        self._most = most
        self._crowded: DataFrame | None = None
        entries = hash_rows(documents, scheme, one).persist(StorageLevel.DISK_ONLY)
        self._rarest = settled(_prefixes(entries))
        entries.unpersist()
        totals = self._rarest.groupBy(_HASH).agg(_sum("is_found").alias("found"), _sum("is_asked").alias("asked"))
        # More pairs than all with all a hash cannot make.
        frequent = settled(totals.where(f.col("found") * f.col("asked") > most).select(_HASH))
        if not frequent.isEmpty():
            self._part_crowds(_in_line(self._rarest.join(frequent, _HASH)), one, gives_crowds=gives_crowds)

    def _part_crowds(self, line: DataFrame, one: Round, *, gives_crowds: bool) -> None:
        """Find the hashes that make too many pairs, and what is to become of their documents."""
        crowded = (
            line.groupBy(_HASH)
            .agg(
                f.sum("met").alias("pairs"),
                _sum("is_found").alias("found"),
                f.min(f.when(f.col("meets"), f.col("least_size"))).alias("smallest"),
                f.max(f.when(f.col("meets"), f.struct("size", "key"))).alias("last"),
            )
            .where(f.col("pairs") > self._most)
        )
        # All between the first document that can be met and the last one that meets any.
        is_between = "is_found and size >= smallest and struct(size, key) < last"
        members = settled(
            line.join(crowded, _HASH)
            .where(f.col("meets") | f.expr(is_between))
            .select(*_HASH, "pairs", "found", "key", "can_tell_more")
            .distinct()
        )
        can_tell = f.lit(False) if one.is_last else f.max("can_tell_more")
        self._crowded = settled(
            members.groupBy(*_HASH, "pairs", "found")
            .agg(can_tell.alias("is_put_off"))
            .withColumn("is_aside", f.col("is_put_off") | f.lit(gives_crowds))
        )
        put_off = settled(
            members.join(self._crowded.where("is_put_off").select(_HASH), _HASH, "left_semi").select("key").distinct()
        )
        self.put_off = None if put_off.isEmpty() else put_off
        if gives_crowds:
            together = self._crowded.where("not is_put_off").select(_HASH)
            self.crowds = members.join(together, _HASH, "left_semi").select(*_HASH, "key")

    def pairs(self) -> DataFrame:
        """Return the candidates that are neither put off nor in crowds."""
        rows, on = self._rarest, list(_HASH)
        asked, found = rows.where("is_asked"), rows.where("is_found")
        if self._crowded is not None:
            # What makes many pairs all the same is joined in parts: each has some of the larger documents, and all of
            # the smaller ones, of which there are not to be more than of pairs.
            on.append("part")
            parts = f.ceil(f.col("pairs") / f.greatest("found", f.lit(self._most))).cast("int")
            divided = self._crowded.select(*_HASH, "is_aside", parts.alias("parts"))
            asked, found = (
                side.join(divided, _HASH, "left")
                .where(~f.coalesce("is_aside", f.lit(False)))
                .withColumn("parts", f.coalesce("parts", f.lit(1)))
                for side in (asked, found)
            )
            asked = asked.withColumn("part", f.pmod("key", "parts").cast("int"))
            found = found.withColumn("part", f.explode(f.sequence(f.lit(0), f.col("parts") - 1)))
        asked = asked.select(*on, f.col("key").alias("larger"), f.col("size").alias("most"), "least_size")
        found = found.select(*on, f.col("key").alias("smaller"), f.col("size").alias("own"))
        met = found.join(asked, on).where("own >= least_size and (own < most or own = most and smaller < larger)")
        return met.select(
            f.least("smaller", "larger").alias("a"), f.greatest("smaller", "larger").alias("b")
        ).distinct()


def hash_rows(documents: DataFrame, scheme: SketchScheme, one: Round) -> DataFrame:
    """Return a row for each hash that is looked at of each document, at each level that it takes part in."""
    smallest = _smallest_at_home(documents, scheme, one)
    return stepped(documents, partial(_entries, scheme=scheme, one=one, smallest=smallest), _ENTRIES)


def _prefixes(entries: DataFrame) -> DataFrame:
    """Return the rows that the prefix filter lets through."""
    # One of them has to offer the hash, and another one to be at home at the level, or there is no pair.
    meeting = (
        entries.groupBy(_HASH)
        .agg(f.count("*").alias("frequency"), f.max("is_offered").alias("offers"), f.max("is_larger").alias("asks"))
        .where((f.col("frequency") > 1) & f.col("offers") & f.col("asks"))
        .drop("offers", "asks")
    )
    # From the most frequent hash on.
    order = Window.partitionBy("level", "key").orderBy(f.desc("frequency"), f.desc("token"))
    offered = _sum("is_offered").over(order.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    rarest = (
        entries.join(meeting, _HASH)
        .withColumn("is_asked", f.col("is_larger") & (f.row_number().over(order) >= f.col("least_shared")))
        .withColumn("is_found", f.col("is_offered") & (offered >= f.col("least_offered")))
        .where(f.col("is_asked") | f.col("is_found"))
    )
    return rarest.select(*_HASH, "key", "size", "least_size", "can_tell_more", "is_asked", "is_found")


def _sum(column: str) -> Column:
    """Return how often a condition holds."""
    return f.sum(f.col(column).cast("long"))


def _in_line(rows: DataFrame) -> DataFrame:
    """Put the documents of each hash in a line, by size and key, and count along it.

    One that is asked meets those found before it, less those that are too small for it: two places in the line.

    Returns:
        Rows for each of these places and for each document that is found, with two more columns: met, whose sum is how
        many pairs a hash makes, and meets, whether this is a document that is asked, and meets any.
    """
    places = [
        # Where two are at one place, the first of these comes first.
        _place("is_asked", 0, f.col("least_size"), f.lit(_NO_KEY), sign=-1),
        _place("is_asked", 1, f.col("size"), f.col("key"), sign=1),
        _place("is_found", 2, f.col("size"), f.col("key"), sign=0),
    ]
    kept = [*_HASH, "key", "size", "least_size", "can_tell_more"]
    line = rows.select(*kept, f.explode(f.array_compact(f.array(*places))).alias("at")).select(*kept, "at.*")
    order = Window.partitionBy(_HASH).orderBy("at_size", "at_key", "kind")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    line = line.withColumn("is_found", f.col("kind") == 2)
    nearest = f.max(f.when(f.col("is_found"), f.col("size"))).over(so_far)
    return line.withColumn("met", _sum("is_found").over(so_far) * f.col("sign")).withColumn(
        "meets", (f.col("kind") == 1) & f.coalesce(nearest >= f.col("least_size"), f.lit(False))
    )


def _place(condition: str, kind: int, size: Column, key: Column, *, sign: int) -> Column:
    """Return a place in the line, null where the condition does not hold."""
    parts = {"at_size": size, "at_key": key, "kind": f.lit(kind), "sign": f.lit(sign)}
    return f.when(f.col(condition), f.struct(*(part.alias(name) for name, part in parts.items())))


def _smallest_at_home(documents: DataFrame, scheme: SketchScheme, one: Round) -> dict[int, int]:
    """Return the levels at which documents are at home, each with the size of the smallest of them."""
    levels = stepped(documents.select("size"), partial(_homes, scheme=scheme, one=one), "level int, size long")
    smallest = levels.groupBy("level").agg(f.min("size").alias("size")).collect()
    # There are no more levels than bits in a size.
    return dict(sorted((row["level"], row["size"]) for row in smallest))


def _homes(batches: Batches, scheme: SketchScheme, one: Round) -> Batches:
    for batch in batches:
        sizes = whole_numbers(batch["size"])
        nothing = np.zeros_like(sizes)
        sketches = Sketches(scheme, sizes, nothing, nothing, np.empty(0, np.uint64))
        yield _batch({"level": one.home_levels(sketches, sizes).astype(np.int32), "size": sizes})


def _entries(batches: Batches, scheme: SketchScheme, one: Round, smallest: Mapping[int, int]) -> Batches:
    """Yield a row for each hash that is looked at, level by level."""
    for batch in batches:
        sketches, keys = sketches_in(batch["size"], batch["hashes"], scheme), whole_numbers(batch["key"])
        smallest_partners = one.question.smallest_partner(sketches.sizes)
        homes = one.home_levels(sketches, sketches.sizes)
        for level, size in smallest.items():
            places = np.flatnonzero(one.taking_part(sketches.sizes, homes, level, size))
            looked = one.looked(sketches, places, level)
            is_larger = homes[places] == level
            counts = looked.counted(is_larger)
            tokens, owners = sketches.gathered(places, np.zeros_like(counts), counts)
            ranks = np.arange(owners.size) - (np.cumsum(counts) - counts)[owners]
            of = places[owners]
            yield _batch(
                {
                    "level": np.full(owners.size, level, np.int32),
                    "token": tokens.view(np.int64),
                    "key": keys[of],
                    "size": sketches.sizes[of],
                    "least_size": smallest_partners[of],
                    "is_larger": is_larger[owners],
                    "is_offered": ranks < looked.offered[owners],
                    "least_shared": looked.least_shared[owners].astype(np.int32),
                    "least_offered": looked.least_offered[owners].astype(np.int32),
                    "can_tell_more": one.can_tell_more(sketches, places, looked)[owners],
                }
            )


def _batch(columns: Mapping[str, np.ndarray]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({name: pa.array(column) for name, column in columns.items()})
