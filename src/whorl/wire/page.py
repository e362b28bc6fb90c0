"""A page of hits, and what a query does, as JSON: for the command line and the service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired

from typing_extensions import TypedDict

from whorl.model import Hit, Page
from whorl.prepared import Explanation
from whorl.similar.measured import Measured
from whorl.snippets import Snippet
from whorl.wire.comparison import CharRange
from whorl.wire.plan import plan_lines
from whorl.wire.similar import EstimateValues, estimate_values


class HitValues(TypedDict):
    """A hit; `copies` and `cluster` are there where of each cluster the best hit comes alone."""

    id: str
    name: str
    score: float
    shared_tokens: NotRequired[int | None]
    copies: NotRequired[int]
    cluster: NotRequired[str | None]


class MeasuredHit(HitValues):
    """A hit, and what it shares with the only source of the query; null where there is none, or several."""

    measured: EstimateValues | None


class Told(TypedDict):
    """What is told of all hits; `matches` is there where `total` counts clusters."""

    total: int
    matches: NotRequired[int]
    total_is_exact: bool
    warnings: list[str]


class PageValues(Told):
    """One page of hits."""

    query: str
    hits: list[HitValues]


class MeasuredPage(Told):
    """One page of hits, with the sources of the query."""

    query: str
    sources: list[str]
    hits: list[MeasuredHit]


class FingerprintPlan(TypedDict):
    """How the documents of a calibrated FINGERPRINT are found."""

    source: str
    plan: list[str]


class ExplanationValues(TypedDict):
    """What a query does, in words, and what is sent to the engine."""

    query: str
    plan: list[str]
    fingerprints: list[FingerprintPlan]
    warnings: list[str]
    request: dict[str, Any]


class SnippetValues(TypedDict):
    """The part of a text that shows why a query finds it, and where in it the words stand."""

    text: str
    places: list[CharRange]
    cut_before: bool
    cut_behind: bool


def page_values(query: str, page: Page) -> PageValues:
    """Return a page as JSON values; hits have `shared_tokens` where these were counted, `copies` where collapsed."""
    return {"query": query, **_told(page), "hits": [_hit(hit) for hit in page.hits]}


def measured_page_values(
    query: str, page: Page, sources: tuple[str, ...], measured: Mapping[str, Measured]
) -> MeasuredPage:
    """Return a page as JSON values, with the sources of the query and what each hit shares with the only one.

    Args:
        query: Its text.
        page: Its hits.
        sources: What its FINGERPRINTs name.
        measured: What hits share with the source, by id; others have null for it.
    """
    hits = [_measured(hit, measured.get(hit.id)) for hit in page.hits]
    return {"query": query, "sources": list(sources), **_told(page), "hits": hits}


def explanation_values(query: str, explained: Explanation) -> ExplanationValues:
    """Return what a query does as JSON values; `fingerprints` has how calibrated ones find their documents."""
    return {
        "query": query,
        "plan": list(explained.plan),
        "fingerprints": [{"source": name, "plan": list(plan_lines(plan))} for name, plan in explained.fingerprints],
        "warnings": list(explained.warnings),
        "request": dict(explained.request),
    }


def snippet_values(shown: Snippet) -> SnippetValues:
    """Return the part of a text that shows why a query finds it as JSON values."""
    return {
        "text": shown.text,
        "places": [{"start": start, "end": end} for start, end in shown.places],
        "cut_before": shown.is_cut_before,
        "cut_behind": shown.is_cut_behind,
    }


def _told(page: Page) -> Told:
    """Return what is told of all hits."""
    told: Told = {"total": page.total, "total_is_exact": page.is_total_exact, "warnings": list(page.warnings)}
    if page.matches is not None:
        told["matches"] = page.matches
    return told


def _hit(hit: Hit) -> HitValues:
    values: HitValues = {"id": hit.id, "name": hit.name, "score": hit.score}
    if hit.shared_tokens is not None:
        values["shared_tokens"] = hit.shared_tokens
    if hit.copies is not None:
        values |= {"copies": hit.copies, "cluster": hit.cluster}
    return values


def _measured(hit: Hit, measured: Measured | None) -> MeasuredHit:
    if measured is None:
        return {**_hit(hit), "shared_tokens": None, "measured": None}
    estimate = None if measured.estimate is None else estimate_values(measured.estimate)
    return {**_hit(hit), "shared_tokens": measured.shared_tokens, "measured": estimate}
