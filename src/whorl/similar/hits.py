"""What a calibrated search finds: hits with what they share, and pages of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from whorl.fingerprint.passages import Rest
from whorl.fingerprint.statistics.estimate import Estimate
from whorl.fingerprint.statistics.metric import Metric, Shares
from whorl.model import Hit
from whorl.similar.minhash_plan import MinHashPlan
from whorl.similar.plan import SketchPlan
from whorl.similar.rest_plan import RestPlan

#: How candidates are found: by their sketches, or where there are none by their MinHash tokens; and where common text
#: counts for nothing.
SimilarPlan: TypeAlias = SketchPlan | MinHashPlan | RestPlan


@dataclass(frozen=True, slots=True)
class Found:
    """A document that shares content with the source.

    Args:
        hit: The document; its score is the percentage of the metric asked for.
        estimate: What the two have in common, each share with its 95 % interval.
        rest: What they have in common without what is common; None where nobody has told what that is, or the texts
            were not read.
    """

    hit: Hit
    estimate: Estimate
    rest: Rest | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Some candidates, verified.

    Args:
        total: Candidates in all.
        ids: Those of this batch.
        kept: Those of them that are hits.
        warnings: What the user should know beside them.
    """

    total: int
    ids: tuple[str, ...]
    kept: tuple[Found, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settled:
    """What is left of the hits of all batches.

    Args:
        kept: The hits.
        unread: Candidates of which nothing is known, because their texts were not read.
    """

    kept: list[Found]
    unread: int = 0


@dataclass(frozen=True, slots=True)
class Verified:
    """All hits of a question, best first, equal ones in the order of their ids.

    Args:
        kept: The hits.
        candidates: Documents that the look-ups found.
        seen: How many of them were verified.
        warnings: What the user should know beside them.
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
        """How many hits there are, if the candidates that were not verified are like those that were."""
        if self.is_whole or not self.seen:
            return len(self.kept)
        return round(len(self.kept) * self.candidates / self.seen)


@dataclass(frozen=True, slots=True)
class Similar:
    """One page of a calibrated search: the best by the metric first, equal ones in the order of their ids.

    Args:
        total: Hits in all.
        is_total_exact: False where there were more candidates than are verified; the total is then projected from
            those that were.
        found: Those on this page.
        plan: What was asked and promised.
        candidates: Documents that the look-ups found.
        warnings: What the user should know beside the hits.
        tells_common: Whether it was told what is common, so that hits have a `rest`.
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
    """Return hits by their percentages, equal ones by their ids."""
    return sorted(found, key=lambda each: (-each.hit.score, each.hit.id))


def exact_estimate(source_size: int, hit_size: int, shared: int) -> Estimate:
    """Return what is known of two documents whose shingles were all compared."""
    shares = Shares.of_counts(shared, source_size, hit_size)
    return Estimate(shares, shares, shares, shared, source_size, source_size, hit_size, is_exact=True)
