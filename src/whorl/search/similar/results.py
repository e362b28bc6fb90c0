"""Result of a similarity search: hits, pages, and estimated or exact shares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

from whorl.fingerprint.compare import ResidualOverlap
from whorl.fingerprint.statistics.estimate import Estimate
from whorl.fingerprint.statistics.metric import Metric, Shares
from whorl.model import Hit
from whorl.search.similar.minhash_plan import MinHashPlan
from whorl.search.similar.plan import ResidualPlan, SketchPlan

#: Plan by sketches, by MinHash tokens, or without common text.
SimilarPlan: TypeAlias = SketchPlan | MinHashPlan | ResidualPlan


@dataclass(frozen=True, slots=True)
class SimilarHit:
    """A document that shares content with the source.

    Args:
        hit: The document; its score is the percentage of the requested metric.
        estimate: Shared content of the two texts, each share with its 95 % interval.
        residual: Shared content without common text; None if it is not separated, or the texts were not read.
        separates_boilerplate: Whether the search separated boilerplate, so that `residual` is in the JSON.
    """

    JSON_FIELDS: ClassVar[tuple[str, ...]] = (
        *("id=hit.id", "name=hit.name", "score=hit.score", "*estimate"),
        "without_common?separates_boilerplate=residual",
    )

    hit: Hit
    estimate: Estimate
    residual: ResidualOverlap | None = None
    separates_boilerplate: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """Verified candidates of one request; `total` counts all candidates of the search."""

    total: int
    ids: tuple[str, ...]
    hits: tuple[SimilarHit, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verified:
    """All hits of a search, in order; `seen` of its `candidates` were verified."""

    hits: tuple[SimilarHit, ...]
    candidates: int
    seen: int
    warnings: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether every candidate was verified."""
        return self.seen >= self.candidates

    @property
    def projected(self) -> int:
        if self.is_whole or not self.seen:
            return len(self.hits)
        return round(len(self.hits) * self.candidates / self.seen)


@dataclass(frozen=True, slots=True)
class Similar:
    """One page of a calibrated search: the best hits by the metric first, ties by Jaccard.

    Args:
        is_total_exact: False if the total is projected from the verified candidates, because a search cannot verify
            more.
        plan: Plan of the search, with the promised recall.
        candidates: Number of documents found by the look-ups.
    """

    JSON_FIELDS: ClassVar[tuple[str, ...]] = (
        *("metric=plan.metric", "threshold=plan.threshold", "recall=plan.recall", "promised=plan.promised"),
        *("ignore_common", "source_shingles=plan.source_size", "total", "total_is_exact=is_total_exact"),
        *("candidates", "warnings", "hits=found"),
    )

    total: int
    is_total_exact: bool
    found: tuple[SimilarHit, ...]
    plan: SimilarPlan
    candidates: int
    warnings: tuple[str, ...] = ()

    @property
    def ignore_common(self) -> bool:
        return isinstance(self.plan, ResidualPlan)


def scored(hit: Hit, estimate: Estimate, metric: Metric) -> SimilarHit:
    return SimilarHit(replace(hit, score=round(100 * estimate.shares.by(metric), 4)), estimate)


def order_of(metric: Metric) -> Metric:
    """Return the metric that hits are ordered by.

    By containment, a copy of the source and a single sentence of it both have 100 %; Jaccard puts the copy first
    (`benchmarks/licences.py`).
    """
    return Metric.JACCARD if metric is Metric.CONTAINMENT else metric


def best_first(hits: Iterable[SimilarHit], metric: Metric) -> list[SimilarHit]:
    """Sort hits by `order_of(metric)`, highest first; ties by Jaccard, score and id."""
    order = order_of(metric)

    def rank(similar: SimilarHit) -> tuple[float, float, float, str]:
        shares = (similar.residual or similar.estimate).shares
        return -round(shares.by(order), 6), -shares.jaccard, -similar.hit.score, similar.hit.id

    return sorted(hits, key=rank)


def exact_estimate(source_size: int, hit_size: int, shared: int) -> Estimate:
    shares = Shares.of_counts(shared, source_size, hit_size)
    return Estimate(shares, shares, shares, shared, source_size, source_size, hit_size, is_exact=True)


@dataclass(frozen=True, slots=True)
class Measured:
    """Shared content of a hit and a source.

    Args:
        shared_tokens: Tokens of the source that the hit has, repeats counted.
        source_tokens: All tokens of the source, repeats counted.
        estimate: Shares of shingles with their 95 % intervals; None if the tokens do not support an estimate.
    """

    shared_tokens: int
    source_tokens: int
    estimate: Estimate | None
