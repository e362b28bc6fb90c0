"""JSON values of a calibrated search: the page of hits with their shares."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from whorl.fingerprint.statistics.estimate import Estimate
from whorl.output.comparison import RestShares, rest_shares
from whorl.output.numbers import SharesValues, shares_values
from whorl.search.similar.plan import RestPlan
from whorl.search.similar.results import Found, Similar


class EstimateValues(SharesValues):
    """The shares of a hit, and their counts: shared hashes of the sketches, and all distinct shingles of the hit."""

    shared_hashes: int
    source_hashes: int
    shingles: int


class SimilarHit(EstimateValues):
    """A hit of a calibrated search; `without_common` is present if common text is treated separately."""

    id: str
    name: str
    score: float
    without_common: NotRequired[RestShares | None]


class SimilarValues(TypedDict):
    """One page of a calibrated search; `promised` says whether the recall is guaranteed."""

    metric: str
    threshold: float
    recall: float
    promised: bool
    ignore_common: bool
    source_shingles: int
    total: int
    total_is_exact: bool
    candidates: int
    warnings: list[str]
    hits: list[SimilarHit]


def similar_values(page: Similar) -> SimilarValues:
    """Return a page as JSON values; shares are fractions, and estimates have `intervals`."""
    plan = page.plan
    return {
        "metric": plan.metric.value,
        "threshold": float(plan.threshold),
        "recall": float(plan.recall),
        "promised": plan.promised,
        "ignore_common": isinstance(plan, RestPlan),
        "source_shingles": plan.source_size,
        "total": page.total,
        "total_is_exact": page.is_total_exact,
        "candidates": page.candidates,
        "warnings": list(page.warnings),
        "hits": [_hit(found, tells_common=page.tells_common) for found in page.found],
    }


def _hit(found: Found, *, tells_common: bool) -> SimilarHit:
    values: SimilarHit = {
        "id": found.hit.id,
        "name": found.hit.name,
        "score": found.hit.score,
        **estimate_values(found.estimate),  # type: ignore[typeddict-item]  # without_common is no part of it
    }
    if tells_common:
        # The hit's text may not have been read.
        values["without_common"] = None if found.rest is None else rest_shares(found.rest)
    return values


def estimate_values(estimate: Estimate) -> EstimateValues:
    """Return an estimate as JSON values: the shares and their counts."""
    return {
        **shares_values(estimate.shares, estimate.low, estimate.high, is_exact=estimate.is_exact),
        "shared_hashes": estimate.shared_hashes,
        "source_hashes": estimate.source_hashes,
        "shingles": estimate.hit_size,
    }
