"""Results of the calibrated search: hits with their estimated or exact shares, and pages of hits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from whorl.fingerprint.compare import Rest
from whorl.fingerprint.statistics.estimate import Estimate
from whorl.fingerprint.statistics.metric import Metric, Shares
from whorl.model import Hit
from whorl.search.similar.minhash_plan import MinHashPlan
from whorl.search.similar.plan import SketchPlan
from whorl.search.similar.rest_plan import RestPlan

#: Plan of the candidates: by sketches; by MinHash tokens, if documents have no sketches; or without common text.
SimilarPlan: TypeAlias = SketchPlan | MinHashPlan | RestPlan


@dataclass(frozen=True, slots=True)
class Found:
    """A document that shares content with the source.

    Args:
        hit: The document; its score is the percentage of the requested metric.
        estimate: Shared content of the two texts, each share with its 95 % interval.
        rest: Shared content without common text; None if boilerplate is not separated, or the texts were not read.
    """

    hit: Hit
    estimate: Estimate
    rest: Rest | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Verified candidates of one request.

    Args:
        total: Number of all candidates.
        ids: Ids of the candidates in this batch.
        kept: Hits in this batch.
        warnings: Warnings for the user.
    """

    total: int
    ids: tuple[str, ...]
    kept: tuple[Found, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settled:
    """Hits of all batches after exact verification.

    Args:
        kept: The hits.
        unread: Number of candidates left undecided, since their texts were not read.
    """

    kept: list[Found]
    unread: int = 0


@dataclass(frozen=True, slots=True)
class Verified:
    """All hits of a search, best first, ties by id.

    Args:
        kept: The hits.
        candidates: Number of documents found by the look-ups.
        seen: Number of candidates verified.
        warnings: Warnings for the user.
    """

    kept: tuple[Found, ...]
    candidates: int
    seen: int
    warnings: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether every candidate was verified."""
        return self.seen >= self.candidates

    @property
    def projected(self) -> int:
        """Number of hits, projected from the verified candidates to all."""
        if self.is_whole or not self.seen:
            return len(self.kept)
        return round(len(self.kept) * self.candidates / self.seen)


@dataclass(frozen=True, slots=True)
class Similar:
    """One page of a calibrated search: best hits by the metric first, ties by id.

    Args:
        total: Number of all hits.
        is_total_exact: False if there were more candidates than a search verifies; the total is then projected from the
            verified ones.
        found: Hits on this page.
        plan: Plan of the search, with the promised recall.
        candidates: Number of documents found by the look-ups.
        warnings: Warnings for the user.
        tells_common: Whether boilerplate is separated, so that hits have a `rest`.
    """

    total: int
    is_total_exact: bool
    found: tuple[Found, ...]
    plan: SimilarPlan
    candidates: int
    warnings: tuple[str, ...] = ()
    tells_common: bool = False


def scored(hit: Hit, estimate: Estimate, metric: Metric) -> Found:
    """Return a hit with the percentage of a metric as its score."""
    return Found(replace(hit, score=round(100 * estimate.shares.by(metric), 4)), estimate)


def best_first(found: Iterable[Found]) -> list[Found]:
    """Return hits by descending percentage, ties by id."""
    return sorted(found, key=lambda each: (-each.hit.score, each.hit.id))


def exact_estimate(source_size: int, hit_size: int, shared: int) -> Estimate:
    """Return the estimate of two documents all of whose shingles were compared."""
    shares = Shares.of_counts(shared, source_size, hit_size)
    return Estimate(shares, shares, shares, shared, source_size, source_size, hit_size, is_exact=True)
