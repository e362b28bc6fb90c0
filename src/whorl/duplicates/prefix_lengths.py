"""Chooses prefix lengths: how many of a document's rarest hashes each round of the prefix filter compares.

A prefix is a document's rarest hashes, and the search looks up partners by these hashes only; `prefix_filter` describes
the algorithm. Level L has the hashes in the lowest fraction 2**-L of the hash space. A prefix length depends only on
the document and on the size of the largest sketch, so every machine of a Spark cluster computes the same lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from whorl.duplicates.options import PairOptions
from whorl.duplicates.sketch_arrays import Bools, Numbers, Sketches
from whorl.fingerprint.sketch.frac_minhash import SketchScheme, level_for_count
from whorl.fingerprint.statistics.hypergeometric import min_should_match_for

#: Number of hashes per sketch in the first round, if the threshold is 50 % or more. Lower thresholds need more hashes.
FIRST_AIM = 64
#: Maximum number of candidate pairs per hash. If a hash gives more pairs, its documents are compared in the next round.
MOST_PAIRS = 20_000
#: A search with recall r may miss the share 1 - r of the pairs at the threshold. The candidate search may cause this
#: fraction of the misses; verification may cause the others.
_SHARE_OF_MISSES = Fraction(1, 5)
_GROWTH = 4
#: Number of shingles for which the hypergeometric distribution is nearly binomial.
_LARGE_POPULATION = 1 << 39


class PrefixLengths(NamedTuple):
    """Numbers of hashes that determine the prefix lengths of each document at one level.

    Attributes:
        counts: Number of the document's hashes below the bound of the level.
        indexable: Number of the document's smallest hashes that may be in its index prefix (see `prefixes`).
        min_indexable_shared: A larger partner has at least this number of the indexable hashes, with probability
            `RoundParameters.recall`.
        min_shared: A smaller partner has at least this number of the hashes, with probability `RoundParameters.recall`.
    """

    counts: Numbers
    indexable: Numbers
    min_indexable_shared: Numbers
    min_shared: Numbers

    def count_used_hashes(self, is_larger: Bools) -> Numbers:
        """Return the number of hashes to read: only indexable hashes if a document is never the larger of a pair."""
        return np.where(is_larger, self.counts, self.indexable)

    def can_reach_threshold(self, is_larger: Bools, shared: Numbers, shared_indexable: Numbers) -> Bools:
        """Return a mask of the documents that can be in a pair if they share at most these numbers of hashes.

        The arguments are those of `prefixes`. Decision 0050 describes this pruning.
        """
        is_smaller = (self.indexable > 0) & (shared_indexable >= self.min_indexable_shared)
        return np.asarray(is_smaller | (is_larger & (shared >= self.min_shared)))

    def prefixes(self, is_larger: Bools, shared: Numbers, shared_indexable: Numbers) -> tuple[Numbers, Numbers]:
        """Return the lengths of each document's index prefix and probe prefix; a prefix of length 0 or less is empty.

        Args:
            shared: Number of hashes that each document shares with other documents.
            shared_indexable: The number of shared hashes that are indexable.
        """
        index_lengths = np.where(self.indexable > 0, shared_indexable - self.min_indexable_shared + 1, 0)
        return index_lengths, np.where(is_larger & (self.counts > 0), shared - self.min_shared + 1, 0)


@dataclass(frozen=True, slots=True)
class RoundParameters:
    """Parameters of one pass of the prefix filter, which uses about `aim` hashes of each sketch.

    A pair just at the threshold is found with probability `recall`.
    """

    pair_options: PairOptions
    aim: int
    recall: Fraction
    is_last: bool

    def home_levels(self, scheme: SketchScheme, sizes: Numbers) -> Numbers:
        """Return each document's home level: the level at which it may be the larger document of a pair."""
        # A sketch has only hashes below the bound of its own level, so a lower level would not add any.
        own = scheme.levels(sizes)
        return own if self.pair_options.least_jaccard is None else np.maximum(own, level_for_count(sizes, self.aim))

    def participants(self, sizes: Numbers, home_levels: Numbers, level: int, smallest_size: int) -> Bools:
        """Return a mask of the documents with this home level, and of their possible smaller partners.

        `smallest_size` is the size of the smallest document with this home level.
        """
        least = self.pair_options.smallest_partner(np.array([smallest_size]))[0]
        return np.asarray((home_levels == level) | ((home_levels < level) & (sizes >= least)))

    def prefix_lengths(self, sketches: Sketches, indices: Numbers, level: int) -> PrefixLengths:
        sizes = sketches.sizes[indices]
        counts = sketches.count_at_level(indices, np.full(indices.shape, level))
        least_jaccard = self.pair_options.least_jaccard
        indexable = np.minimum(counts, self.aim) if least_jaccard is None else counts
        min_indexable_shared = self._min_shared(sizes, indexable, self.pair_options.share_of_smaller)
        # With containment, a smaller partner may be so small that it has only one of the document's hashes.
        min_shared = np.ones_like(counts) if least_jaccard is None else self._min_shared(sizes, counts, least_jaccard)
        return PrefixLengths(counts, indexable, min_indexable_shared, min_shared)

    def _min_shared(self, sizes: Numbers, counts: Numbers, share: Fraction) -> Numbers:
        """Return the minimum number of hashes that each document shares with a partner, with probability `recall`.

        `counts` has the number of each document's hashes. The partner contains `share` of the document's shingles.
        """
        part, whole = share.as_integer_ratio()
        distinct = np.flatnonzero(np.bincount(counts, minlength=1))
        good = -(-part * _LARGE_POPULATION // whole)
        of_counts = np.zeros(distinct.max(initial=0) + 1, np.int64)
        of_counts[distinct] = min_should_match_for(_LARGE_POPULATION, good, distinct, self.recall)
        drawn = of_counts[counts]
        # A complete sketch is not a sample, so the count is exact.
        return np.maximum(1, np.where(counts == sizes, -(-part * sizes // whole), drawn))

    def has_more_hashes(self, sketches: Sketches, indices: Numbers, lengths: PrefixLengths) -> Bools:
        """Return a mask of the documents with hashes that this round does not compare."""
        used = lengths.indexable if self.pair_options.least_jaccard is None else lengths.counts
        return np.asarray(sketches.counts[indices] > used)


def rounds(pair_options: PairOptions, largest: int) -> list[RoundParameters]:
    """Return the rounds of a search, each with more hashes; the largest sketch has `largest` hashes."""
    # Raise the aim until a pair at the threshold shares at least half of FIRST_AIM hashes. For a recall of 100 %, raise
    # it until the first round uses all hashes.
    aim = FIRST_AIM
    while aim * pair_options.threshold < FIRST_AIM // 2 or (pair_options.recall == 1 and aim < largest):
        aim *= 2
    aims = [aim]
    while aims[-1] < largest:
        aims.append(aims[-1] * _GROWTH)
    recall = 1 - (1 - pair_options.recall) * _SHARE_OF_MISSES / (2 * len(aims))
    return [RoundParameters(pair_options, aim, recall, aim == aims[-1]) for aim in aims]


@dataclass(frozen=True, slots=True)
class JoinOptions:
    """Options of the search for pairs of similar documents (similarity join).

    Args:
        spanning_only: Within a block of near-copies, find only enough pairs to connect it (spanning pairs), in linear
            instead of quadratic time.
        spanning_everywhere: Find only spanning pairs among all documents. This is wrong if exact verification rejects
            pairs later: the search has skipped other pairs that connect the same documents.
        most_pairs: Maximum number of pairs per hash in a round. If a hash has more pairs in the last round, its
            documents become a block.
        rounds: Remaining rounds, if earlier rounds ran elsewhere; None for all rounds.
    """

    pairs: PairOptions
    _: KW_ONLY
    spanning_only: bool = False
    spanning_everywhere: bool = False
    most_pairs: int = MOST_PAIRS
    rounds: Sequence[RoundParameters] | None = None
    workers: int = 1
