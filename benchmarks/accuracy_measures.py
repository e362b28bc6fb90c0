"""Compares answers with the truth: recall, precision, errors of estimates, coverage of intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from accuracy_methods import Answer, Question
from whorl.fingerprint.statistics.metric import Metric
from whorl.fingerprint.statistics.overlap_estimates import Estimate

#: Smallest ratio of sizes in each group of pairs: size of the larger document divided by size of the smaller one.
RATIOS = (1, 3, 30, 100)


@dataclass(frozen=True, slots=True)
class Retrieved:
    """How well one method answers one question, over all sources.

    Args:
        sources: Number of sources with an answer.
        true: Number of true hits, pairs of source and document.
        found: Number of returned pairs.
        right: Number of returned pairs that are true hits.
        look_ups: Mean number of look-ups per source. The next two numbers are also means per source.
        candidates: Documents checked after the look-ups.
        read: Texts read completely.
        most_read: Largest number of texts read for one source.
        promised: Share of the sources whose plan promised the recall.
    """

    method: str
    question: Question
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
        return self.right / self.true if self.true else 1.0

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 1.0


def score_of(method: str, question: Question, pairs: Sequence[tuple[Answer, frozenset[int]]]) -> Retrieved:
    """Return the figures of answers, each paired with its true hits."""
    answers = [answer for answer, _ in pairs]
    return Retrieved(
        method,
        question,
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
    """A source and a document that share content, with the estimate of their overlap.

    Args:
        source_size: Distinct shingles of the source.
        hit_size: Distinct shingles of the document.
        overlap: Distinct shingles in both.
    """

    source_size: int
    hit_size: int
    overlap: int
    estimate: Estimate

    def error(self, metric: Metric) -> float:
        """Return the absolute error of the estimate as a fraction."""
        return abs(self.estimate.shares.measured_by(metric) - self._truth(metric))

    def is_held(self, metric: Metric) -> bool:
        """Check that the interval contains the true share, up to float rounding."""
        low, truth, high = (
            self.estimate.low.measured_by(metric),
            self._truth(metric),
            self.estimate.high.measured_by(metric),
        )
        return low - 1e-9 <= truth <= high + 1e-9

    def _truth(self, metric: Metric) -> float:
        whole = self.source_size if metric is Metric.A_IN_B else self.source_size + self.hit_size - self.overlap
        return self.overlap / whole

    @property
    def ratio(self) -> float:
        """Return the size of the larger document divided by that of the smaller."""
        return max(self.source_size, self.hit_size) / min(self.source_size, self.hit_size)


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors of estimates for pairs within a range of size ratios, in percentage points.

    Args:
        least: Smallest ratio.
        below: Ratio that the pairs stay below; None for no limit.
        pairs: Number of pairs.
        containment: Mean absolute error of the share of the source.
        jaccard: Mean absolute error of the similarity.
        within_10: Share of the pairs with a containment error of at most 10 points.
        covered: Share of the intervals that contain the true value; each pair has two.
        sampled: Number of pairs whose estimate is not an exact count.
        covered_sampled: `covered` for the sampled pairs.
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
    """Return the errors for each group of ratios, and for all pairs at the end."""
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
