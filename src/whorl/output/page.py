"""JSON values of a page of hits, of an explained query, and of snippets, for the command line and the service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired

from typing_extensions import TypedDict

from whorl.model import Hit, Page
from whorl.output.comparison import CharRange
from whorl.output.plan import plan_lines
from whorl.output.similar import EstimateValues, estimate_values
from whorl.search.prepared import Explanation
from whorl.search.similar.results import Measured
from whorl.search.snippets import Snippet


class HitValues(TypedDict):
    """A hit; `copies` and `cluster` are present if clusters are collapsed to their best hit."""

    id: str
    name: str
    score: float
    shared_tokens: NotRequired[int | None]
    copies: NotRequired[int]
    cluster: NotRequired[str | None]


class MeasuredHit(HitValues):
    """A hit, and its overlap with the query's only source; null without a source, or with several."""

    measured: EstimateValues | None


class Told(TypedDict):
    """Totals of a search; `matches` is present if `total` counts clusters."""

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
    """Search plan of a calibrated FINGERPRINT."""

    source: str
    plan: list[str]


class ExplanationValues(TypedDict):
    """The plan of a query in words, and the engine's request."""

    query: str
    plan: list[str]
    fingerprints: list[FingerprintPlan]
    warnings: list[str]
    request: dict[str, Any]


class SnippetValues(TypedDict):
    """The part of a text with most words of a query, and the positions of these words in it."""

    text: str
    places: list[CharRange]
    cut_before: bool
    cut_behind: bool


def page_values(query: str, page: Page) -> PageValues:
    """Return a page as JSON values, with `shared_tokens` and `copies` of hits if these were counted."""
    return {"query": query, **_told(page), "hits": [_hit(hit) for hit in page.hits]}


def measured_page_values(
    query: str, page: Page, sources: tuple[str, ...], measured: Mapping[str, Measured]
) -> MeasuredPage:
    """Return a page as JSON values, with the sources of the query and each hit's overlap with a single source.

    Args:
        query: Text of the query.
        page: The page of hits.
        sources: References of the query's FINGERPRINTs.
        measured: Overlap of hits with the source, by id; null in all other hits.
    """
    hits = [_measured(hit, measured.get(hit.id)) for hit in page.hits]
    return {"query": query, "sources": list(sources), **_told(page), "hits": hits}


def explanation_values(query: str, explained: Explanation) -> ExplanationValues:
    """Return an explained query as JSON values; `fingerprints` has the plans of calibrated FINGERPRINTs."""
    return {
        "query": query,
        "plan": list(explained.plan),
        "fingerprints": [{"source": name, "plan": list(plan_lines(plan))} for name, plan in explained.fingerprints],
        "warnings": list(explained.warnings),
        "request": dict(explained.request),
    }


def snippet_values(shown: Snippet) -> SnippetValues:
    """Return a snippet as JSON values."""
    return {
        "text": shown.text,
        "places": [{"start": start, "end": end} for start, end in shown.places],
        "cut_before": shown.is_cut_before,
        "cut_behind": shown.is_cut_behind,
    }


def _told(page: Page) -> Told:
    """Return the totals of a search."""
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
