"""Compares answers with the truth: recall, precision, errors of estimates, coverage of intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from accuracy_methods import Answer, Asked
from whorl.fingerprint.statistics.estimate import Estimate
from whorl.fingerprint.statistics.metric import Metric

#: Ratios of sizes, hit by source or source by hit, at which groups of pairs begin.
RATIOS = (1, 3, 30, 100)


@dataclass(frozen=True, slots=True)
class Found:
    """How well one way answers one question, over all sources.

    Args:
        method: The way.
        asked: The question.
        sources: How many answered.
        true: Hits that there are, pairs of source and document.
        found: Pairs that were found.
        right: Those of them that are hits.
        look_ups: Mean for a source, and so the next two.
        candidates: Documents looked at after the look-ups.
        read: Texts read whole.
        most_read: For one source.
        promised: Share of the sources whose plan promised the recall.
    """

    method: str
    asked: Asked
    sources: int
    true: int
    found: int
    right: int
    look_ups: float
    candidates: float
    read: float
    most_read: int
    promised: float

    @property
    def recall(self) -> float:
        """Found hits of all hits."""
        return self.right / self.true if self.true else 1.0

    @property
    def precision(self) -> float:
        """Hits of all that was found."""
        return self.right / self.found if self.found else 1.0


def found_by(method: str, asked: Asked, pairs: Sequence[tuple[Answer, frozenset[int]]]) -> Found:
    """Return the figures of answers, each with the true hits."""
    answers = [answer for answer, _ in pairs]
    return Found(
        method,
        asked,
        len(pairs),
        sum(len(true) for _, true in pairs),
        sum(len(answer.found) for answer in answers),
        sum(len(answer.found & true) for answer, true in pairs),
        _mean(answer.look_ups for answer in answers),
        _mean(answer.candidates for answer in answers),
        _mean(answer.read for answer in answers),
        max((answer.read for answer in answers), default=0),
        _mean(answer.is_promised for answer in answers),
    )


def _mean(values: Iterable[float]) -> float:
    several = list(values)
    return sum(several) / max(1, len(several))


@dataclass(frozen=True, slots=True)
class Pair:
    """A source and a document that share something, and what is said about it.

    Args:
        source_size: Distinct shingles of the source.
        hit_size: Those of the document.
        overlap: Those that both have.
        estimate: What a method says.
    """

    source_size: int
    hit_size: int
    overlap: int
    estimate: Estimate

    def error(self, metric: Metric) -> float:
        """Return by how much the estimate is wrong, a fraction."""
        return abs(self.estimate.shares.by(metric) - self._truth(metric))

    def is_held(self, metric: Metric) -> bool:
        """Check that the truth is in the interval, up to the rounding of floats."""
        low, truth, high = self.estimate.low.by(metric), self._truth(metric), self.estimate.high.by(metric)
        return low - 1e-9 <= truth <= high + 1e-9

    def _truth(self, metric: Metric) -> float:
        whole = self.source_size if metric is Metric.A_IN_B else self.source_size + self.hit_size - self.overlap
        return self.overlap / whole

    @property
    def ratio(self) -> float:
        """The larger size by the smaller."""
        return max(self.source_size, self.hit_size) / min(self.source_size, self.hit_size)


@dataclass(frozen=True, slots=True)
class Errors:
    """How good estimates are for sizes of some ratios; errors in points.

    Args:
        method: Whose.
        least: Ratio from which on.
        below: Ratio up to which; None for no limit.
        pairs: How many.
        containment: Mean absolute error of the share of the source.
        jaccard: Mean absolute error of the similarity.
        within_10: Share of the pairs whose containment is wrong by 10 points at most.
        covered: Share of the pairs, both intervals of each counted, whose intervals hold the truth.
        sampled: Pairs whose estimate is no exact count.
        covered_sampled: As `covered`, of those.
    """

    method: str
    least: float
    below: float | None
    pairs: int
    containment: float
    jaccard: float
    within_10: float
    covered: float
    sampled: int
    covered_sampled: float


def errors_of(method: str, pairs: Sequence[Pair]) -> list[Errors]:
    """Return the figures for each group of ratios, and for all pairs at the end."""
    bounds: list[tuple[float, float | None]] = [*zip(RATIOS, (*RATIOS[1:], None), strict=True), (1, None)]
    rows = []
    for least, below in bounds:
        own = [pair for pair in pairs if pair.ratio >= least and (below is None or pair.ratio < below)]
        if not own:
            continue
        sampled = [pair for pair in own if not pair.estimate.is_exact]
        contained = np.array([pair.error(Metric.A_IN_B) for pair in own])
        alike = np.array([pair.error(Metric.JACCARD) for pair in own])
        rows.append(
            Errors(
                method,
                least,
                below,
                len(own),
                100 * float(contained.mean()),
                100 * float(alike.mean()),
                float((contained <= 0.1).mean()),
                _covered(own),
                len(sampled),
                _covered(sampled),
            )
        )
    return rows


def _covered(pairs: Sequence[Pair]) -> float:
    metrics = (Metric.JACCARD, Metric.A_IN_B)
    return _mean(pair.is_held(metric) for pair in pairs for metric in metrics) if pairs else 1.0
