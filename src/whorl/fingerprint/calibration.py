"""What a calibrated search asks for and what it promises: the plan that `planner.make_plan` makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.judgement import judge_overlaps
from whorl.fingerprint.metrics import Metric, least_overlap
from whorl.fingerprint.sample import Overlaps
from whorl.fingerprint.tails import reaches


@dataclass(frozen=True, slots=True)
class Step:
    """From documents of `smallest_size` shingles on, `min_should_match` tokens are to be shared."""

    smallest_size: int
    min_should_match: int


@dataclass(frozen=True, slots=True)
class Branch:
    """Documents of a range of sizes, and what makes them candidates.

    Args:
        smallest_size: Distinct shingles of the smallest document.
        largest_size: Those of the largest, None for no limit.
        level: The coarsest level at which a document of the branch is compared.
        tokens: Which of the sample's hashes are asked, in their order: the smallest ones.
        min_should_match: Tokens that a document of the smallest size must have; 0 where nothing can be asked.
        steps: The same for larger documents, the smallest size first; valid as a filter, and coarser than
            `Plan.is_candidate`.
        recall: Chance that a document of the smallest size just at the threshold becomes a candidate, in [0, 1].
        second_recall: With which the second phase judges the branch's candidates; None where there is none.
        promised: Whether all documents of the branch at the threshold are found with the wanted recall.
        promised_from: The size from which on they are; None for none.
        reach: Where the smallest size is not promised, the value of the metric in (threshold, 1] from which on it
            would be; None where it is promised, or where no value is enough.
        false_positives: Chances that documents 10 and 20 points below the threshold become candidates, at the size
            in the branch nearest to the source's, after `Plan.is_candidate`.
        final_false_positives: The same after the second phase, at most and about.
    """

    smallest_size: int
    largest_size: int | None
    level: int
    tokens: range
    min_should_match: int
    steps: tuple[Step, ...]
    recall: float
    second_recall: Fraction | None
    promised: bool
    promised_from: int | None
    reach: float | None
    false_positives: tuple[float, float]
    final_false_positives: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to ask for and what is promised.

    Args:
        metric: What the threshold is a share of.
        threshold: Fraction in (0, 1].
        recall: Wanted chance to find a document at the threshold, a fraction in (0, 1].
        first_recall: That of the look-ups.
        second_recall: That of the second phase; None where there is none.
        source_size: Distinct shingles of the source.
        source_level: Its level.
        branches: By size, ascending, without gaps.
    """

    metric: Metric
    threshold: Fraction
    recall: Fraction
    first_recall: Fraction
    second_recall: Fraction | None
    source_size: int
    source_level: int
    branches: tuple[Branch, ...]

    @property
    def look_ups(self) -> int:
        """Tokens asked, once for each branch that asks them."""
        return sum(len(branch.tokens) for branch in self.branches)

    @property
    def distinct_look_ups(self) -> int:
        """Tokens asked, each once: the branches ask for nested sets."""
        return max((len(branch.tokens) for branch in self.branches), default=0)

    @property
    def promised(self) -> bool:
        """Whether documents of every size are found with the wanted recall; else the plan is best effort."""
        return all(branch.promised for branch in self.branches)

    def is_candidate(self, sizes: npt.NDArray[np.int64], shared: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return which documents pass the first phase, each held to what its own size asks for.

        Args:
            sizes: Distinct shingles of the documents; int64 array of shape (documents,).
            shared: Tokens that each shares of those its branch asks; int64 array of the same shape.
        """
        is_found = np.zeros(len(sizes), dtype=np.bool_)
        needed = np.array([self.overlap_at(size) for size in sizes.tolist()], dtype=np.int64)
        is_possible = (shared >= 1) & (needed <= np.minimum(self.source_size, sizes))
        for branch, is_own in self._by_branch(sizes):
            at = np.flatnonzero(is_own & is_possible)
            is_found[at] = reaches(self.source_size, needed[at], len(branch.tokens), shared[at], self.first_recall)
        return is_found

    def is_hit(self, overlaps: Overlaps) -> npt.NDArray[np.bool_]:
        """Return which candidates pass the second phase; all where there is none.

        Args:
            overlaps: What the source's sample has in common with those of the candidates.
        """
        is_kept = np.full(len(overlaps.sizes), self.second_recall is None)
        for branch, is_own in self._by_branch(overlaps.sizes):
            if branch.second_recall is not None:
                at = np.flatnonzero(is_own)
                is_kept[at] = judge_overlaps(overlaps.of(at), self.metric, self.threshold, branch.second_recall)
        return is_kept

    def _by_branch(self, sizes: npt.NDArray[np.int64]) -> Iterator[tuple[Branch, npt.NDArray[np.bool_]]]:
        for branch in self.branches:
            is_own = sizes >= branch.smallest_size
            yield branch, is_own if branch.largest_size is None else is_own & (sizes <= branch.largest_size)

    def overlap_at(self, size: int) -> int:
        """Return how many shingles a document of `size` shares with the source at the threshold."""
        return least_overlap(self.metric, self.threshold, self.source_size, size)
