"""Results of a similarity search: hits, pages of hits, and each hit's overlap with the source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from heapq import nsmallest
from itertools import chain, groupby, repeat
from operator import attrgetter
from typing import ClassVar, NamedTuple, TypeAlias

from whorl.engine.protocol import CandidatePage, Candidates
from whorl.fingerprint.compare_texts import ResidualOverlap
from whorl.fingerprint.statistics.metric import Metric, Shares
from whorl.fingerprint.statistics.overlap_estimates import Estimate, Estimates
from whorl.model import Hit
from whorl.search.similar.minhash_plan import MinHashPlan
from whorl.search.similar.sketch_plan import ResidualPlan, SketchPlan

#: Plan of a search by sketches, by MinHash tokens, or without common text.
SimilarPlan: TypeAlias = SketchPlan | MinHashPlan | ResidualPlan


@dataclass(frozen=True, slots=True)
class SimilarHit:
    """A document that shares content with the source.

    Args:
        hit: The document; its score is the share that the requested metric measures, in percent.
        estimate: Shares of the two texts, each with its 95 % interval.
        residual: Shares without common text; None if unknown.
        separates_boilerplate: Whether the JSON includes `residual`.
    """

    JSON_FIELDS: ClassVar[tuple[str, ...]] = (
        *("id=hit.id", "name=hit.name", "score=hit.score", "*estimate"),
        "without_common?separates_boilerplate=residual",
    )

    hit: Hit
    estimate: Estimate
    residual: ResidualOverlap | None = None
    separates_boilerplate: bool = False


#: Sort key of hits: the metric that orders them, then Jaccard, then the score; negated, so that the best hit is first.
_Rank: TypeAlias = tuple[float, float, float]


class HitGroup(NamedTuple):
    """Hits with equal estimates.

    Attributes:
        lowest: Lower end of the 95 % interval of the share that the metric measures.
        candidates, positions: A page of candidates, and the positions of the hits on this page.
        number: Index of the hits' estimate in `estimates`.
        residual: Shares without common text; only for a group of one hit.
    """

    rank: _Rank
    lowest: float
    candidates: Candidates
    positions: Sequence[int]
    estimates: Estimates | tuple[Estimate, ...]
    number: int
    residual: ResidualOverlap | None = None

    @property
    def estimate(self) -> Estimate:
        return self.estimates[self.number]


class RankedHits:
    """Hits, best first by `ordering_metric(metric)`; ties by Jaccard, score and id.

    Ids are read only to order equal hits near the shown page, and `SimilarHit` objects are created on access.
    """

    def __init__(self, groups: Iterable[HitGroup] = ()) -> None:
        self.groups = sorted(groups, key=attrgetter("rank"))
        self._count = sum(len(group.positions) for group in self.groups)

    @classmethod
    def from_estimates(
        cls, candidates: Candidates, positions: Iterable[Sequence[int]], estimates: Estimates, metric: Metric
    ) -> RankedHits:
        """Return hits of a page of candidates; `positions` has the positions of the hits with each estimate."""
        ranks = map(_rank, *map(estimates.shares, (ordering_metric(metric), Metric.JACCARD, metric)))
        columns = zip(ranks, estimates.lowest_shares(metric), positions, strict=True)
        return cls(
            HitGroup(rank, lowest, candidates, together, estimates, number)
            for number, (rank, lowest, together) in enumerate(columns)
        )

    @classmethod
    def from_hits(cls, hits: Sequence[SimilarHit], metric: Metric) -> RankedHits:
        candidates = CandidatePage(len(hits), tuple((similar.hit, None) for similar in hits))
        return cls(
            HitGroup(
                _rank_of(hit, metric), estimate.low.measured_by(metric), candidates, (at,), (estimate,), 0, hit.residual
            )
            for at, (hit, estimate) in enumerate((hit, hit.estimate) for hit in hits)
        )

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: slice) -> tuple[SimilarHit, ...]:
        start, stop, _ = index.indices(self._count)
        return tuple(self._slice(start, stop))

    def __iter__(self) -> Iterator[SimilarHit]:
        return self._slice(0, self._count)

    def _slice(self, start: int, stop: int) -> Iterator[SimilarHit]:
        chosen = list[tuple[HitGroup, int]]()
        passed = 0
        for _, equal in groupby(self.groups, key=attrgetter("rank")):
            if passed >= stop:
                break
            together = list(equal)
            count = sum(len(group.positions) for group in together)
            if passed + count > start:
                chosen += _sort_by_id(together, stop - passed)[max(0, start - passed) :]
            passed += count
        pages = {id(group.candidates): group.candidates for group, _ in chosen}
        hits = {
            key: page.fetch_hits([position for group, position in chosen if group.candidates is page])
            for key, page in pages.items()
        }
        for group, position in chosen:
            if hit := hits[id(group.candidates)].get(position):
                yield SimilarHit(replace(hit, score=-group.rank[2]), group.estimate, group.residual)

    def split(self, threshold: Fraction) -> tuple[RankedHits, RankedHits]:
        """Split hits into decided ones (exact, or the whole interval at or above the threshold) and undecided ones."""
        parts: tuple[list[HitGroup], list[HitGroup]] = [], []
        for group in self.groups:
            # Even a hit whose whole interval is below the threshold is undecided, because the test that accepted it
            # allows more error.
            parts[group.lowest < float(threshold) and not group.estimate.is_exact].append(group)
        return RankedHits(parts[0]), RankedHits(parts[1])


def _sort_by_id(groups: Sequence[HitGroup], most: int) -> list[tuple[HitGroup, int]]:
    """Return the first `most` hits, by id, of groups of equal rank; a hit is (group, position in its candidates)."""
    if len(groups) == len(groups[0].positions) == 1:
        return [(groups[0], groups[0].positions[0])]
    named = chain.from_iterable(
        zip(group.candidates.ids(group.positions), repeat(number), group.positions, strict=False)
        for number, group in enumerate(groups)
    )
    return [(groups[number], position) for _, number, position in nsmallest(most, named)]


class Batch(NamedTuple):
    candidates: Candidates
    hits: RankedHits


@dataclass(frozen=True, slots=True)
class Verified:
    """Hits of a search, best first.

    Args:
        candidates: Number of documents found by the look-ups.
        seen: Number of candidates that were verified.
    """

    hits: RankedHits
    candidates: int
    seen: int
    warnings: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        return self.seen >= self.candidates

    @property
    def projected(self) -> int:
        """Number of hits, extrapolated from the verified candidates to all candidates."""
        if self.is_whole or not self.seen:
            return len(self.hits)
        return round(len(self.hits) * self.candidates / self.seen)


@dataclass(frozen=True, slots=True)
class Similar:
    """One page of a calibrated search: the best hits by the metric first, ties by Jaccard.

    Args:
        is_total_exact: Whether the total was counted, not extrapolated from the verified candidates.
        plan: Plan of the search, with the promised recall.
        candidates: Number of documents found by the look-ups.
        is_complete: Whether the look-ups can find all documents; false if the index lacks some.
    """

    JSON_FIELDS: ClassVar[tuple[str, ...]] = (
        *("metric=plan.metric", "threshold=plan.threshold", "recall=plan.recall", "promised"),
        *("ignore_common", "source_shingles=plan.source_size", "total", "total_is_exact=is_total_exact"),
        *("candidates", "warnings", "hits=found"),
    )

    total: int
    is_total_exact: bool
    found: tuple[SimilarHit, ...]
    plan: SimilarPlan
    candidates: int
    warnings: tuple[str, ...] = ()
    is_complete: bool = True

    @property
    def promised(self) -> bool:
        """Whether documents of every size are found with the wanted recall. If not, the search is best effort."""
        return self.plan.promised and self.is_complete

    @property
    def ignore_common(self) -> bool:
        return isinstance(self.plan, ResidualPlan)


def score_hit(hit: Hit, estimate: Estimate, metric: Metric) -> SimilarHit:
    return SimilarHit(replace(hit, score=_percent_score(estimate.shares.measured_by(metric))), estimate)


def ordering_metric(metric: Metric) -> Metric:
    """Return the metric that orders the hits: Jaccard for a search by containment.

    Containment is equal for a copy of the source and for one of its sentences (`benchmarks/licences.py`).
    """
    return Metric.JACCARD if metric is Metric.CONTAINMENT else metric


def sort_hits(hits: Iterable[SimilarHit], metric: Metric) -> list[SimilarHit]:
    """Sort hits by `ordering_metric(metric)`, highest first; ties by Jaccard, score and id."""
    return sorted(hits, key=lambda similar: (*_rank_of(similar, metric), similar.hit.id))


def _rank_of(similar: SimilarHit, metric: Metric) -> _Rank:
    shares = (similar.residual or similar.estimate).shares
    return _rank(shares.measured_by(ordering_metric(metric)), shares.jaccard, shares.measured_by(metric))


def _rank(ordered: float, jaccard: float, share: float) -> _Rank:
    return -round(ordered, 6), -jaccard, -_percent_score(share)


def _percent_score(share: float) -> float:
    return round(100 * share, 4)


def exact_estimate(source_size: int, hit_size: int, shared: int) -> Estimate:
    shares = Shares.of_counts(shared, source_size, hit_size)
    return Estimate(shares, shares, shares, shared, source_size, source_size, hit_size, is_exact=True)


@dataclass(frozen=True, slots=True)
class Measured:
    """Overlap of a hit with the source of a query.

    Args:
        shared_tokens: Number of the source's tokens that the hit has; repeated tokens count each time.
        source_tokens: Number of the source's tokens; repeated tokens count each time.
        estimate: Shares of shingles with their 95 % intervals; None if the tokens do not support an estimate.
    """

    shared_tokens: int
    source_tokens: int
    estimate: Estimate | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Explanation of a query, without running it.

    Args:
        plan: Lines that describe the query in words and numbers.
        fingerprints: Source and search plan of each calibrated FINGERPRINT, in the order of the query.
        request: The engine's request as JSON values; for calibrated FINGERPRINTs, the requests for their candidates.
    """

    plan: tuple[str, ...]
    fingerprints: tuple[tuple[str, SimilarPlan], ...]
    warnings: tuple[str, ...]
    request: Mapping[str, object]
