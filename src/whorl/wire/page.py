"""A page of hits, and what a query does, as JSON: for the command line and the service."""

from __future__ import annotations

from collections.abc import Mapping

from whorl.model import Hit, Page
from whorl.prepared import Explanation
from whorl.similar.measured import Measured
from whorl.snippets import Snippet
from whorl.wire.plan import plan_lines
from whorl.wire.similar import estimate_values


def page_values(query: str, page: Page) -> dict[str, object]:
    """Return a page as JSON values; hits have `shared_tokens` where these were counted, `copies` where collapsed."""
    return {
        "query": query,
        "total": page.total,
        **({} if page.matches is None else {"matches": page.matches}),
        "total_is_exact": page.is_total_exact,
        "warnings": list(page.warnings),
        "hits": [_hit(hit) for hit in page.hits],
    }


def measured_page_values(
    query: str, page: Page, sources: tuple[str, ...], measured: Mapping[str, Measured]
) -> dict[str, object]:
    """Return a page as JSON values, with the sources of the query and what each hit shares with the only one.

    Args:
        query: Its text.
        page: Its hits.
        sources: What its FINGERPRINTs name.
        measured: What hits share with the source, by id; others have null for it.
    """
    hits = [{**_hit(hit), **_measured(measured.get(hit.id))} for hit in page.hits]
    values = page_values(query, page)
    return {"query": values.pop("query"), "sources": list(sources), **values, "hits": hits}


def explanation_values(query: str, explained: Explanation) -> dict[str, object]:
    """Return what a query does as JSON values; `fingerprints` has how calibrated ones find their documents."""
    return {
        "query": query,
        "plan": list(explained.plan),
        "fingerprints": [{"source": name, "plan": list(plan_lines(plan))} for name, plan in explained.fingerprints],
        "warnings": list(explained.warnings),
        "request": dict(explained.request),
    }


def snippet_values(shown: Snippet) -> dict[str, object]:
    """Return the part of a text that shows why a query finds it as JSON values."""
    return {
        "text": shown.text,
        "places": [{"start": start, "end": end} for start, end in shown.places],
        "cut_before": shown.is_cut_before,
        "cut_behind": shown.is_cut_behind,
    }


def _hit(hit: Hit) -> dict[str, object]:
    values: dict[str, object] = {"id": hit.id, "name": hit.name, "score": hit.score}
    if hit.shared_tokens is not None:
        values["shared_tokens"] = hit.shared_tokens
    return values if hit.copies is None else {**values, "copies": hit.copies, "cluster": hit.cluster}


def _measured(measured: Measured | None) -> dict[str, object]:
    if measured is None:
        return {"shared_tokens": None, "measured": None}
    estimate = measured.estimate
    values = None if estimate is None else estimate_values(estimate)
    return {"shared_tokens": measured.shared_tokens, "measured": values}
