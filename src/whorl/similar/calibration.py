"""What a calibrated search asks for and what it promises: the plan that `planner.make_plan` makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.sketch.sketch import Overlaps, Sketch
from whorl.fingerprint.statistics.hypergeometric import reaches
from whorl.fingerprint.statistics.metric import Metric, least_overlap
from whorl.fingerprint.statistics.verify import judge_overlaps


@dataclass(frozen=True, slots=True)
class Branch:
    """Documents of a range of sizes, and what makes them candidates.

    Args:
        smallest_size: Distinct shingles of the smallest document.
        largest_size: Those of the largest, None for no limit.
        level: The coarsest level at which a document of the branch is compared.
        tokens: Which of the sketch's hashes are asked, in their order: the smallest ones.
        min_should_match: Tokens that a document of the smallest size must have; 0 where nothing can be asked. Valid
            as a filter for larger ones too, and coarser than `SketchPlan.is_candidate`.
        recall: Chance that a document of the smallest size just at the threshold becomes a candidate, in [0, 1].
        second_recall: With which the second phase judges the branch's candidates; None where there is none.
        promised: Whether all documents of the branch at the threshold are found with the wanted recall.
    """

    smallest_size: int
    largest_size: int | None
    level: int
    tokens: range
    min_should_match: int
    recall: float
    second_recall: Fraction | None
    promised: bool


@dataclass(frozen=True, slots=True)
class SketchPlan:
    """What to ask for and what is promised.

    Args:
        metric: What the threshold is a share of.
        threshold: Fraction in (0, 1].
        recall: Wanted chance to find a document at the threshold, a fraction in (0, 1].
        first_recall: That of the look-ups.
        second_recall: That of the second phase; None where there is none.
        source: Sketch of the source.
        branches: By size, ascending, without gaps.
    """

    metric: Metric
    threshold: Fraction
    recall: Fraction
    first_recall: Fraction
    second_recall: Fraction | None
    source: Sketch
    branches: tuple[Branch, ...]

    @property
    def source_size(self) -> int:
        """Distinct shingles of the source."""
        return self.source.size

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
            overlaps: What the source's sketch has in common with those of the candidates.
        """
        is_kept = np.full(len(overlaps.sizes), self.second_recall is None)
        for branch, is_own in self._by_branch(overlaps.sizes):
            at = np.flatnonzero(is_own)
            if branch.second_recall is not None and at.size:
                is_kept[at] = judge_overlaps(overlaps.of(at), self.metric, self.threshold, branch.second_recall)
        return is_kept

    def _by_branch(self, sizes: npt.NDArray[np.int64]) -> Iterator[tuple[Branch, npt.NDArray[np.bool_]]]:
        for branch in self.branches:
            is_own = sizes >= branch.smallest_size
            yield branch, is_own if branch.largest_size is None else is_own & (sizes <= branch.largest_size)

    def overlap_at(self, size: int, threshold: Fraction | None = None) -> int:
        """Return how many shingles a document of `size` shares with the source at a threshold, by default the plan's.

        At most as many as both have, where the size is one of a branch.
        """
        at = self.threshold if threshold is None else threshold
        return least_overlap(self.metric, at, self.source_size, size)

    def nearest_size(self, smallest: int, largest: int | None) -> int:
        """Return the size nearest to the source's in a range; without a largest one the range has no end."""
        return max(smallest, self.source_size if largest is None else min(self.source_size, largest))
