"""A calibrated search as JSON: the page of its hits, and what a hit shares with the source."""

from __future__ import annotations

from whorl.fingerprint.statistics.estimate import Estimate
from whorl.similar.hits import Found, Similar
from whorl.similar.rest_plan import RestPlan
from whorl.wire.comparison import rest_shares
from whorl.wire.numbers import shares_values


def similar_values(page: Similar) -> dict[str, object]:
    """Return a page as JSON values; shares are fractions, and where they are estimates, `intervals` has their ends."""
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
        "hits": [
            {
                "id": found.hit.id,
                "name": found.hit.name,
                "score": found.hit.score,
                **estimate_values(found.estimate),
                **({"without_common": _rest(found)} if page.tells_common else {}),
            }
            for found in page.found
        ],
    }


def _rest(found: Found) -> dict[str, object] | None:
    """Return what a hit shares without what is common; None where its text was not read."""
    return None if found.rest is None else rest_shares(found.rest)


def estimate_values(estimate: Estimate) -> dict[str, object]:
    """Return an estimate as JSON values: the shares, and what was counted."""
    return {
        **shares_values(estimate.shares, estimate.low, estimate.high, is_exact=estimate.is_exact),
        "shared_hashes": estimate.shared_hashes,
        "source_hashes": estimate.source_hashes,
        "shingles": estimate.hit_size,
    }
