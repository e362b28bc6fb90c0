"""What a search for candidates looks at, whatever engine carries it out: rounds, levels, and numbers of hashes.

`candidates` says how the search goes and why it finds what it finds; here are the numbers that it goes by. Each
depends on a document alone, and on how large the largest sketch is: none on where or in what order documents lie.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from whorl.duplicates.question import PairQuestion
from whorl.duplicates.sketches import Numbers, Sketches, level_beyond
from whorl.fingerprint.statistics.hypergeometric import min_should_match_for
from whorl.fingerprint.statistics.metric import Metric

#: Hashes in the sketches of the first round, at a threshold of 80 %; lower ones need more for the same certainty.
FIRST_AIM = 64
#: Pairs that one hash may make before its documents are looked at more closely.
MOST_PAIRS = 20_000
#: Share of the allowance for misses that the search for candidates may use; the rest is the verification's.
_OF_MISSES = Fraction(1, 5)
_GROWTH = 4
#: No population of shingles is larger, and a sketch of one as large is as good as drawn with replacement.
_ENDLESS = 1 << 39


class Looked(NamedTuple):
    """What is looked at of documents that are compared at one level; int64 arrays of shape (documents,).

    Attributes:
        counts: Their hashes below the bound of the level.
        offered: Hashes, the smallest ones, by which they are found as the smaller document.
        least_offered: How many of these a larger partner shares, with the recall.
        least_shared: How many of all of them a smaller partner shares, with the recall.
    """

    counts: Numbers
    offered: Numbers
    least_offered: Numbers
    least_shared: Numbers

    def counted(self, is_larger: npt.NDArray[np.bool_]) -> Numbers:
        """Return how many hashes of each document are looked at, the smallest ones.

        Args:
            is_larger: Which documents may be the larger one of a pair; of others only what is offered matters.
        """
        return np.where(is_larger, self.counts, self.offered)

    def prefixes(self, is_larger: npt.NDArray[np.bool_], met: Numbers, met_offered: Numbers) -> tuple[Numbers, Numbers]:
        """Return how many hashes that others have, too, the prefix filter lets through of each document.

        Hashes that nobody else has are the rarest of all, and stand before these.

        Args:
            is_larger: Which documents may be the larger one of a pair.
            met: How many of the hashes that are looked at others have.
            met_offered: How many of those that are offered.

        Returns:
            Of those that are offered, by which a document is found as the smaller one; and of all, by which it looks
            for smaller ones. None or fewer are none.
        """
        found_by = np.where(self.offered > 0, met_offered - self.least_offered + 1, 0)
        return found_by, np.where(is_larger & (self.counts > 0), met - self.least_shared + 1, 0)


@dataclass(frozen=True, slots=True)
class Round:
    """One pass over documents with sketches of about `aim` hashes.

    Args:
        question: What is to be found.
        aim: Hashes that a sketch should have, about.
        recall: With which a pair just at the threshold is to be met in this round.
        is_last: Whether no further round can tell more.
    """

    question: PairQuestion
    aim: int
    recall: Fraction
    is_last: bool

    @property
    def is_jaccard(self) -> bool:
        """Whether both documents of a pair are of about one size."""
        return self.question.metric is Metric.JACCARD

    def home_levels(self, sketches: Sketches, sizes: Numbers) -> Numbers:
        """Return the levels at which documents of these sizes are at home: there they may be the larger one."""
        # There is no way to tell more than the sketches do.
        own = sketches.scheme_levels(sizes)
        return np.maximum(own, level_beyond(sizes, self.aim)) if self.is_jaccard else own

    def taking_part(self, sizes: Numbers, homes: Numbers, level: int, smallest_at_home: int) -> npt.NDArray[np.bool_]:
        """Return which documents are compared at a level.

        Args:
            sizes: Of the documents; int64 array.
            homes: The levels at which they are at home.
            level: Where documents are compared that are at home there, with one another and with smaller ones.
            smallest_at_home: Size of the smallest document that is at home there.
        """
        least = self.question.smallest_partner(np.array([smallest_at_home]))[0]
        return np.asarray((homes == level) | ((homes < level) & (sizes >= least)))

    def looked(self, sketches: Sketches, places: Numbers, level: int) -> Looked:
        """Return what is looked at of some documents at a level."""
        sizes = sketches.sizes[places]
        counts = sketches.at_level(places, np.full(places.shape, level))
        offered = counts if self.is_jaccard else np.minimum(counts, self.aim)
        least_offered = self._least_shared(sizes, offered, self.question.share_of_smaller)
        # The smaller document may be as small as can be: one hash is all that has to be shared.
        alone = np.ones_like(counts)
        least = self._least_shared(sizes, counts, self.question.threshold) if self.is_jaccard else alone
        return Looked(counts, offered, least_offered, least)

    def _least_shared(self, sizes: Numbers, counts: Numbers, share: Fraction) -> Numbers:
        """Return how many hashes documents share with a partner that has a share of their shingles, with the recall."""
        part, whole = share.as_integer_ratio()
        distinct = np.flatnonzero(np.bincount(counts, minlength=1))
        good = -(-part * _ENDLESS // whole)
        of_counts = np.zeros(distinct.max(initial=0) + 1, np.int64)
        of_counts[distinct] = min_should_match_for(_ENDLESS, good, distinct, self.recall)
        drawn = of_counts[counts]
        # Where the sketch is all there is, nothing is left to chance.
        return np.maximum(1, np.where(counts == sizes, -(-part * sizes // whole), drawn))

    def can_tell_more(self, sketches: Sketches, places: Numbers, looked: Looked) -> npt.NDArray[np.bool_]:
        """Return of which documents there are more hashes than were looked at."""
        return np.asarray(sketches.counts[places] > (looked.counts if self.is_jaccard else looked.offered))


def rounds(question: PairQuestion, largest: int) -> list[Round]:
    """Return the rounds of a search, up to all hashes that there are.

    Args:
        question: What is to be found.
        largest: Hashes of the largest sketch.
    """
    # The hashes shared at the threshold should be as many as at 80 %.
    aim = FIRST_AIM
    while aim * question.threshold < FIRST_AIM // 2 or (question.recall == 1 and aim < largest):
        aim *= 2
    aims = [aim]
    while aims[-1] < largest:
        aims.append(aims[-1] * _GROWTH)
    recall = 1 - (1 - question.recall) * _OF_MISSES / (2 * len(aims))
    return [Round(question, aim, recall, aim == aims[-1]) for aim in aims]
