"""Chooses the prefix lengths for each round of the prefix filter, on one machine and on Spark.

The module `prefix_filter` describes the algorithm, and why it finds its pairs. This module computes the numbers for it.
Each number depends only on one document and on the size of the largest sketch, and never on the place or order of
documents.
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

#: Number of hashes per sketch in the first round at a threshold of 80 %. Lower thresholds need more for the same
#: certainty.
FIRST_AIM = 64
#: Number of pairs that one hash may produce. If it produces more, its documents wait for the next round.
MOST_PAIRS = 20_000
#: Share of the allowed missed pairs that the candidate search may miss. Verification may miss the remaining share.
_OF_MISSES = Fraction(1, 5)
_GROWTH = 4
#: Number of shingles that stands for any size: sampling from this many is as good as sampling with replacement.
_ENDLESS = 1 << 39


class PrefixLengths(NamedTuple):
    """Numbers of hashes of each document that the prefix filter uses at one level.

    Attributes:
        counts: Hashes below the bound of the level.
        indexable: Number of smallest hashes that may enter the index prefix, where the document is the smaller one of a
            pair.
        min_indexable_shared: Smallest number of indexable hashes that a larger partner shares with probability
            `Round.recall`.
        min_shared: Smallest number of hashes that a smaller partner shares with probability `Round.recall`.
    """

    counts: Numbers
    indexable: Numbers
    min_indexable_shared: Numbers
    min_shared: Numbers

    def used_hashes(self, is_larger: npt.NDArray[np.bool_]) -> Numbers:
        """Count the hashes of each document that the search uses.

        If a document may be the larger one of a pair, this is the number of all its hashes, otherwise of the indexable
        ones.
        """
        return np.where(is_larger, self.counts, self.indexable)

    def prefixes(
        self, is_larger: npt.NDArray[np.bool_], shared: Numbers, shared_indexable: Numbers
    ) -> tuple[Numbers, Numbers]:
        """Return the lengths of the index prefixes and of the probe prefixes, counted in shared hashes.

        Hashes that only one document has make no pair, so the lengths exclude them. `shared` and `shared_indexable`
        count the hashes of each document that other documents have, too. If a length is 0 or less, the prefix is empty.
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
        # A finer level than the sketch's own has no further hashes.
        own = sketches.scheme.levels(sizes)
        return np.maximum(own, level_beyond(sizes, self.aim)) if self.is_jaccard else own

    def participants(self, sizes: Numbers, homes: Numbers, level: int, smallest_size: int) -> npt.NDArray[np.bool_]:
        """Return a mask of the documents compared at a level: documents with this home level, and smaller documents.

        `smallest_size` is the size of the smallest document with this home level.
        """
        least = self.pair_options.smallest_partner(np.array([smallest_size]))[0]
        return np.asarray((homes == level) | ((homes < level) & (sizes >= least)))

    def prefix_lengths(self, sketches: Sketches, places: Numbers, level: int) -> PrefixLengths:
        sizes = sketches.sizes[places]
        counts = sketches.at_level(places, np.full(places.shape, level))
        indexable = counts if self.is_jaccard else np.minimum(counts, self.aim)
        min_indexable_shared = self._min_shared(sizes, indexable, self.pair_options.share_of_smaller)
        # The smaller document may have any size. So containment guarantees only one shared hash.
        alone = np.ones_like(counts)
        least = self._min_shared(sizes, counts, self.pair_options.threshold) if self.is_jaccard else alone
        return PrefixLengths(counts, indexable, min_indexable_shared, least)

    def _min_shared(self, sizes: Numbers, counts: Numbers, share: Fraction) -> Numbers:
        """Return the number of hashes that a partner shares with probability `recall`.

        The partner has the given share of the shingles.
        """
        part, whole = share.as_integer_ratio()
        distinct = np.flatnonzero(np.bincount(counts, minlength=1))
        good = -(-part * _ENDLESS // whole)
        of_counts = np.zeros(distinct.max(initial=0) + 1, np.int64)
        of_counts[distinct] = min_should_match_for(_ENDLESS, good, distinct, self.recall)
        drawn = of_counts[counts]
        # A complete sketch is not a sample, so the count is exact.
        return np.maximum(1, np.where(counts == sizes, -(-part * sizes // whole), drawn))

    def has_more_hashes(self, sketches: Sketches, places: Numbers, lengths: PrefixLengths) -> npt.NDArray[np.bool_]:
        return np.asarray(sketches.counts[places] > (lengths.counts if self.is_jaccard else lengths.indexable))


def rounds(pair_options: PairOptions, largest: int) -> list[Round]:
    """Return the rounds of a search over sketches of at most `largest` hashes."""
    # Raise the aim until a pair at the threshold shares at least half of FIRST_AIM hashes.
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
        spanning_only: Whether only the pairs that connect the components of a block of near-copies are needed. Time
            then grows linearly with the size of the block, not quadratically.
        spanning_everywhere: Whether only spanning pairs are needed among all documents, not only in blocks. Exact
            verification must then not reject a pair later.
        most: Largest number of pairs that one hash may produce in a round. In the last round, the documents of a hash
            with more pairs become a block.
        rounds: Rounds to run, if earlier rounds ran elsewhere; None for all.
        workers: Number of threads of the compiled loops; it does not change the result.
    """

    pairs: PairOptions
    _: KW_ONLY
    spanning_only: bool = False
    spanning_everywhere: bool = False
    most: int = MOST_PAIRS
    rounds: Sequence[Round] | None = None
    workers: int = 1
