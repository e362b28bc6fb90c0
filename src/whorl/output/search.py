"""JSON values and lines of searches: pages of hits, plans, explanations, snippets, repeats of new documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NotRequired

from typing_extensions import TypedDict

from whorl.fingerprint.statistics.estimate import Estimate
from whorl.fingerprint.statistics.metric import Metric
from whorl.model import Hit, Page
from whorl.output.comparison import CharRange, RestShares, rest_shares
from whorl.output.format import SharesValues, counted, percent, printable, shares_values, titled
from whorl.search.novelty import Repeats
from whorl.search.prepared import Explanation
from whorl.search.similar.minhash_plan import MinHashPlan
from whorl.search.similar.plan import Branch, RestPlan, SketchPlan, final_false_positives, reach
from whorl.search.similar.results import Found, Measured, Similar, SimilarPlan
from whorl.search.snippets import Snippet


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
        "hits": [_similar_hit(found, tells_common=page.tells_common) for found in page.found],
    }


def _similar_hit(found: Found, *, tells_common: bool) -> SimilarHit:
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


_WANTED = {
    Metric.JACCARD: "share at least {0} of what both have together (Jaccard)",
    Metric.A_IN_B: "contain at least {0} of the source",
    Metric.B_IN_A: "lie in the source with at least {0} of theirs",
}


def _few(number: float) -> str:
    return "none" if number < 0.005 else f"{number:.2f}"


def promise(plan: SimilarPlan) -> str:
    """Return a line with the guaranteed recall."""
    if isinstance(plan, RestPlan):
        return _promise_of_rest(plan)
    if isinstance(plan, MinHashPlan):
        return _promise_of_tokens(plan)
    if not plan.branches:
        return "the source has fewer words than one shingle, so nothing can share content with it"
    wanted = f"{float(100 * plan.recall):g} of 100"
    if plan.promised:
        return f"at least {wanted} documents just at the threshold are found, more of those above it"
    weak = [branch for branch in plan.branches if not branch.promised]
    return f"best effort: {wanted} is not promised for {_sizes(weak[0])}: {_reach(plan, weak[0])}"


def _promise_of_rest(plan: RestPlan) -> str:
    if plan.source_size and not plan.left:
        return "all of the source is common, so nothing is left to look for"
    if plan.metric is not Metric.B_IN_A or not plan.candidates.promised:
        return promise(plan.candidates)
    wanted = f"at least {float(100 * plan.recall):g} of 100 documents"
    return (
        f"{wanted} with {plan.least:,} of the source's shingles that are not common are found, of those with fewer less"
    )


def _promise_of_tokens(plan: MinHashPlan) -> str:
    wanted = f"about {float(100 * plan.recall):g} of 100"
    if not plan.buckets:
        return "the source has fewer words than one shingle, so nothing can share content with it"
    if plan.promised:
        return f"{wanted} documents just at the threshold are found, by their MinHash tokens alone"
    if plan.promised_sizes is None:
        return f"best effort: with MinHash tokens alone {wanted} is not promised for any size"
    smallest, largest = plan.promised_sizes
    return f"best effort: {wanted} is promised for documents of {smallest:,} to {largest:,} shingles only"


def _sizes(branch: Branch) -> str:
    to = "and more" if branch.largest_size is None else f"to {branch.largest_size:,}"
    return f"documents of {branch.smallest_size:,} {to} shingles"


def _reach(plan: SketchPlan, branch: Branch) -> str:
    held_from = reach(plan, branch)
    if held_from is not None:
        return f"there it holds from {100 * held_from:.0f} % on"
    return f"the source is too short to be met there; {100 * branch.recall:.0f} of 100 are found"


def plan_lines(plan: SimilarPlan) -> Iterator[str]:
    """Yield the plan in words and numbers."""
    yield f"find documents that {_WANTED[plan.metric].format(f'{float(100 * plan.threshold):g} %')}"
    yield f"the source has {counted(plan.source_size, 'distinct shingle')}"
    if isinstance(plan, RestPlan):
        yield f"of which {plan.left:,} are not common; those alone count"
        yield f"candidates have at least {plan.least:,} of them:"
        if plan.candidates.branches:
            yield from _look_ups(plan.candidates)
        yield "then the texts of the candidates are compared without what is common"
        yield promise(plan)
        return
    if isinstance(plan, MinHashPlan):
        tokens = counted(len(plan.buckets), "MinHash token")
        yield f"at least {plan.min_should_match} of {tokens} (the documents have no sketches)"
        yield "then all tokens of each candidate are compared, and those below the threshold are dropped"
        yield promise(plan)
        return
    yield from _look_ups(plan)
    yield promise(plan)


def _look_ups(plan: SketchPlan) -> Iterator[str]:
    for branch in plan.branches:
        tokens = counted(len(branch.tokens), "token")
        yield f"{_sizes(branch)}: at least {branch.min_should_match} of {tokens}"
        near, far = (100 * chance for chance in final_false_positives(plan, branch))
        yield (
            f"  finds {100 * branch.recall:.1f} of 100 at the threshold; passes {_few(near)} of 100 that are 10 points "
            f"below, {_few(far)} that are 20"
        )
    yield f"{counted(plan.look_ups, 'look-up')} in all"
    if plan.second_recall is not None:
        yield "then each candidate's whole sketch is compared, and those below the threshold are dropped"


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


class Repeated(EstimateValues):
    """A stored document repeated by a new one, as B."""

    id: str
    name: str


class RepeatsValues(TypedDict):
    """A new document, and the documents it repeats."""

    id: str
    hits: list[Repeated]


def repeats_values(repeats: Repeats) -> RepeatsValues:
    """Return the documents that a new one repeats as JSON values; A is the new document."""
    return {
        "id": repeats.id,
        "hits": [
            {"id": each.hit.id, "name": each.hit.name, **estimate_values(each.estimate)} for each in repeats.found
        ],
    }


def repeats_lines(repeats: Repeats, metric: Metric) -> Iterator[str]:
    """Yield a line for each document that a new one repeats, with its share by a metric; `~` marks an estimate."""
    yield f"{printable(repeats.id)} repeats"
    for each in repeats.found:
        share = percent(each.estimate.shares.by(metric), is_exact=each.estimate.is_exact)
        yield f"{share:>10}  {titled(each.hit.id, each.hit.name)}"
