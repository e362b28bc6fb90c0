"""Chooses the prefix lengths for each round of the prefix filter, on one machine and on Spark.

The module `prefix_filter` describes the algorithm and why it finds its pairs; this module computes its numbers. Each
depends only on a single document and on the size of the largest sketch, never on the location or order of documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from whorl.duplicates.options import PairOptions
from whorl.duplicates.sketches import Numbers, Sketches
from whorl.fingerprint.sketch.sketch import level_beyond
from whorl.fingerprint.statistics.hypergeometric import min_should_match_for
from whorl.fingerprint.statistics.metric import Metric

#: Hashes per sketch in the first round, at a threshold of 80 %; lower thresholds need more for the same certainty.
FIRST_AIM = 64
#: Pairs that one hash may produce before its documents are deferred to the next round.
MOST_PAIRS = 20_000
#: Share of the allowed misses that the candidate search may use; verification uses the rest.
_OF_MISSES = Fraction(1, 5)
_GROWTH = 4
#: Upper limit of a document's shingles; sampling from so many is as good as sampling with replacement.
_ENDLESS = 1 << 39


class PrefixLengths(NamedTuple):
    """Numbers of hashes that the prefix filter uses of documents at one level.

    Attributes:
        counts: Hashes below the bound of the level.
        indexable: Smallest hashes, which may enter the index prefix of the document as the smaller one.
        min_indexable_shared: Fewest indexable hashes that a larger partner shares, with the recall.
        min_shared: Fewest hashes that a smaller partner shares, with the recall.
    """

    counts: Numbers
    indexable: Numbers
    min_indexable_shared: Numbers
    min_shared: Numbers

    def used_hashes(self, is_larger: npt.NDArray[np.bool_]) -> Numbers:
        """Count the hashes that each document uses: all as the larger one of a pair, otherwise the indexable ones."""
        return np.where(is_larger, self.counts, self.indexable)

    def prefixes(
        self, is_larger: npt.NDArray[np.bool_], shared: Numbers, shared_indexable: Numbers
    ) -> tuple[Numbers, Numbers]:
        """Return the lengths of the index prefixes and of the probe prefixes, counted in shared hashes.

        Hashes of one document only are the rarest of all and come first; the lengths exclude them. `shared` and
        `shared_indexable` count the hashes of each document that other documents have, too. A length of 0 or less means
        an empty prefix.
        """
        index_lengths = np.where(self.indexable > 0, shared_indexable - self.min_indexable_shared + 1, 0)
        return index_lengths, np.where(is_larger & (self.counts > 0), shared - self.min_shared + 1, 0)


@dataclass(frozen=True, slots=True)
class Round:
    """One pass over documents with sketches of about `aim` hashes.

    A pair just at the threshold is found with probability `recall`.
    """

    pair_options: PairOptions
    aim: int
    recall: Fraction
    is_last: bool

    @property
    def is_jaccard(self) -> bool:
        """Whether the documents of a pair have similar sizes."""
        return self.pair_options.metric is Metric.JACCARD

    def base_levels(self, sketches: Sketches, sizes: Numbers) -> Numbers:
        """Return the home levels of documents: the levels at which they may be the larger document of a pair."""
        # A level finer than the sketch's own has no further hashes.
        own = sketches.scheme.levels(sizes)
        return np.maximum(own, level_beyond(sizes, self.aim)) if self.is_jaccard else own

    def participants(self, sizes: Numbers, homes: Numbers, level: int, smallest_size: int) -> npt.NDArray[np.bool_]:
        """Return a mask of the documents compared at a level, at home there or smaller.

        `smallest_size` is the size of the smallest document with this home level.
        """
        least = self.pair_options.smallest_partner(np.array([smallest_size]))[0]
        return np.asarray((homes == level) | ((homes < level) & (sizes >= least)))

    def prefix_lengths(self, sketches: Sketches, places: Numbers, level: int) -> PrefixLengths:
        sizes = sketches.sizes[places]
        counts = sketches.at_level(places, np.full(places.shape, level))
        indexable = counts if self.is_jaccard else np.minimum(counts, self.aim)
        min_indexable_shared = self._min_shared(sizes, indexable, self.pair_options.share_of_smaller)
        # The smaller document may be of any size, so one shared hash is all that containment guarantees.
        alone = np.ones_like(counts)
        least = self._min_shared(sizes, counts, self.pair_options.threshold) if self.is_jaccard else alone
        return PrefixLengths(counts, indexable, min_indexable_shared, least)

    def _min_shared(self, sizes: Numbers, counts: Numbers, share: Fraction) -> Numbers:
        """Return the number of hashes that a partner with this share of the shingles has, with the recall."""
        part, whole = share.as_integer_ratio()
        distinct = np.flatnonzero(np.bincount(counts, minlength=1))
        good = -(-part * _ENDLESS // whole)
        of_counts = np.zeros(distinct.max(initial=0) + 1, np.int64)
        of_counts[distinct] = min_should_match_for(_ENDLESS, good, distinct, self.recall)
        drawn = of_counts[counts]
        # A complete sketch is no sample, so the count is exact.
        return np.maximum(1, np.where(counts == sizes, -(-part * sizes // whole), drawn))

    def has_more_hashes(self, sketches: Sketches, places: Numbers, lengths: PrefixLengths) -> npt.NDArray[np.bool_]:
        return np.asarray(sketches.counts[places] > (lengths.counts if self.is_jaccard else lengths.indexable))


def rounds(pair_options: PairOptions, largest: int) -> list[Round]:
    """Return the rounds of a search over sketches of at most `largest` hashes."""
    # Share as many hashes at the threshold as with the first aim at 80 %.
    aim = FIRST_AIM
    while aim * pair_options.threshold < FIRST_AIM // 2 or (pair_options.recall == 1 and aim < largest):
        aim *= 2
    aims = [aim]
    while aims[-1] < largest:
        aims.append(aims[-1] * _GROWTH)
    recall = 1 - (1 - pair_options.recall) * _OF_MISSES / (2 * len(aims))
    return [Round(pair_options, aim, recall, aim == aims[-1]) for aim in aims]


@dataclass(frozen=True, slots=True)
class JoinOptions:
    """Options of the similarity join.

    Args:
        spanning_only: Whether a block of near-copies needs only the pairs that keep its connected components together.
            Time then grows linearly with the block, not quadratically.
        spanning_everywhere: Whether that holds for all documents, not only for blocks. Pairs must then be final: no
            later exact verification may reject one.
        most: Pairs that one hash may produce in a round; in the last round a hash with more pairs becomes a block.
        rounds: Rounds to run, if earlier rounds ran elsewhere; None for all.
        workers: Threads for the compiled loops; the result does not depend on it.
    """

    pairs: PairOptions
    _: KW_ONLY
    spanning_only: bool = False
    spanning_everywhere: bool = False
    most: int = MOST_PAIRS
    rounds: Sequence[Round] | None = None
    workers: int = 1
