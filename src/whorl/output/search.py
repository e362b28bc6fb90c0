"""Formats search results as text and JSON: hits, search plans, explanations, and earlier copies of a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from whorl.fingerprint.statistics.metric import Metric, name_whole
from whorl.model import Hit, Page
from whorl.output.formatting import percent, plural, printable, title_of
from whorl.search.similar.minhash_plan import MinHashPlan
from whorl.search.similar.results import Explanation, Measured, Similar, SimilarPlan
from whorl.search.similar.sketch_plan import (
    Branch,
    ResidualPlan,
    SketchPlan,
    final_false_positives,
    find_promised_size,
    smallest_promised_share,
)

if TYPE_CHECKING:
    from whorl.operations import SearchOperation
    from whorl.search.prepared_search import PreparedQuery
    from whorl.search.repeats_of_new_documents import NewDocumentRepeats


def format_condition(plan: SimilarPlan) -> str:
    whole = name_whole(plan.metric, "the source", "the document")
    return f"with at least {float(100 * plan.threshold):g} % of {whole} in common ({plan.metric.value})"


def _format_average(number: float) -> str:
    return "none" if number < 0.005 else f"{number:.2f}"


def page_promise(page: Similar) -> str:
    """Return a sentence about the recall of a search.

    If the store has documents that the search cannot find, the sentence says so, and gives the recall for the others.
    """
    limit = "" if page.is_complete else "best effort, as some documents cannot be found; of the others, "
    return limit + describe_promise(page.plan)


def describe_promise(plan: SimilarPlan) -> str:
    if isinstance(plan, ResidualPlan):
        return _promise_of_residual(plan)
    if isinstance(plan, MinHashPlan):
        return _promise_of_tokens(plan)
    if not plan.branches:
        return "the source has fewer words than one shingle, so nothing can share content with it"
    wanted = f"{float(100 * plan.recall):g} of 100"
    if plan.promised:
        return f"at least {wanted} documents just at the threshold are found, more of those above it"
    size = find_promised_size(plan) if plan.metric.allows_smaller else None
    if size is not None:
        return (
            f"at least {wanted} documents just at the threshold are found if they have {size:,} shingles or more, of "
            "smaller ones those with more in common"
        )
    weak = [branch for branch in plan.branches if not branch.promised]
    return f"best effort: {wanted} is not promised for {_sizes(weak[0])}: {_describe_reach(plan, weak[0])}"


def _promise_of_residual(plan: ResidualPlan) -> str:
    if plan.source_size and not plan.uncommon_size:
        return "all of the source is common, so nothing is left to look for"
    if not plan.metric.allows_smaller or not plan.candidates.promised:
        return describe_promise(plan.candidates)
    wanted = f"at least {float(100 * plan.recall):g} of 100 documents"
    least = plan.least_shared
    return f"{wanted} with {least:,} of the source's shingles that are not common are found, of those with fewer less"


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


def _describe_reach(plan: SketchPlan, branch: Branch) -> str:
    held_from = smallest_promised_share(plan, branch)
    if held_from is not None:
        return f"there it holds from {100 * held_from:.0f} % on"
    return f"the source is too short to be met there; {100 * branch.recall:.0f} of 100 are found"


def plan_lines(plan: SimilarPlan) -> Iterator[str]:
    yield f"find documents {format_condition(plan)}"
    yield f"the source has {plural(plan.source_size, 'distinct shingle')}"
    if isinstance(plan, ResidualPlan):
        yield f"of which {plan.uncommon_size:,} are not common; those alone count"
        yield f"candidates have at least {plan.least_shared:,} of them:"
        if plan.candidates.branches:
            yield from _look_ups(plan.candidates)
        yield "then the texts of the candidates are compared without what is common"
        yield describe_promise(plan)
        return
    if isinstance(plan, MinHashPlan):
        tokens = plural(len(plan.buckets), "MinHash token")
        yield f"at least {plan.min_should_match} of {tokens} (the documents have no sketches)"
        yield "then all tokens of each candidate are compared, and those below the threshold are dropped"
        yield describe_promise(plan)
        return
    yield from _look_ups(plan)
    yield describe_promise(plan)


def _look_ups(plan: SketchPlan) -> Iterator[str]:
    for branch in plan.branches:
        if branch.by_phrases:
            phrases = plural(plan.source_size, "phrase")
            yield f"{_sizes(branch)}: at least {branch.min_should_match} of {phrases}, each one shingle; finds all"
            continue
        tokens = plural(len(branch.tokens), "token")
        yield f"{_sizes(branch)}: at least {branch.min_should_match} of {tokens}"
        near, far = (100 * chance for chance in final_false_positives(plan, branch))
        yield (
            f"  finds {100 * branch.recall:.1f} of 100 at the threshold; passes {_format_average(near)} of 100 that "
            f"are 10 points below, {_format_average(far)} that are 20"
        )
    yield f"{plural(plan.look_up_count, 'look-up')} in all"
    yield "then each candidate's whole sketch is compared, and those below the threshold are dropped"


@dataclass(frozen=True, slots=True)
class MeasuredHit:
    """A hit, and its overlap with the query's source, which is null unless the query has exactly one source."""

    JSON_FIELDS = ("*hit", "shared_tokens=measured.shared_tokens", "measured=measured.estimate")

    hit: Hit
    measured: Measured | None


@dataclass(frozen=True, slots=True)
class MeasuredPage:
    """One page of the hits of a query, with the sources that its FINGERPRINTs name."""

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("query", "sources", "*page", "hits")

    query: str
    sources: tuple[str, ...]
    page: Page
    hits: tuple[MeasuredHit, ...]


class FingerprintPlan(NamedTuple):
    """Search plan of a calibrated FINGERPRINT, as sentences."""

    source: str
    plan: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExplainedQuery:
    """Explanation of a query: its plan in words, and the request that the engine gets."""

    JSON_FIELDS = (
        *("query", "plan=explanation.plan", "fingerprints", "warnings=explanation.warnings"),
        "request=explanation.request",
    )

    query: str
    explanation: Explanation

    @property
    def fingerprints(self) -> tuple[FingerprintPlan, ...]:
        return tuple(FingerprintPlan(name, tuple(plan_lines(plan))) for name, plan in self.explanation.fingerprints)


def find_and_measure(query: str, prepared: PreparedQuery, options: SearchOperation) -> MeasuredPage:
    """Return one page of the hits of a prepared query, each with its overlap with the query's source."""
    page = prepared.search(start=options.start, rows=options.rows, sort=options.sort, collapse=options.collapse)
    return make_measured_page(query, page, prepared.references, prepared.measure_hits([hit.id for hit in page.hits]))


def make_measured_page(
    query: str, page: Page, sources: tuple[str, ...], measured: Mapping[str, Measured]
) -> MeasuredPage:
    return MeasuredPage(query, sources, page, tuple(MeasuredHit(hit, measured.get(hit.id)) for hit in page.hits))


def repeats_lines(repeats: NewDocumentRepeats, metric: Metric) -> Iterator[str]:
    """Yield a heading, and a line for each document that the new one repeats; `~` marks an estimated share."""
    yield f"{printable(repeats.id)} repeats"
    for match in repeats.found:
        share = percent(match.estimate.shares.measured_by(metric), is_exact=match.estimate.is_exact)
        yield f"{share:>10}  {title_of(match.hit.id, match.hit.name)}"
