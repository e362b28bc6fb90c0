"""Calibrated search: finds the documents that share content with a source, verifies them and measures their shares."""

from __future__ import annotations

from typing import TypeAlias

from whorl.context import require_time, trace
from whorl.errors import ParameterError, quoted
from whorl.fingerprint.batch import text_hashes
from whorl.fingerprint.compiled.first_use import count_search
from whorl.query.plan.nodes import Bool, BoundNode, BoundPlan, DocumentIds, MatchAll, Nothing
from whorl.search.boilerplate import Commons
from whorl.search.similar.options import SimilarCriteria
from whorl.search.similar.results import Found, Similar, Verified, best_first
from whorl.search.similar.searchers import MinHashSearch, RestSearch, SketchSearch
from whorl.search.similar.sources import Sources
from whorl.search.similar.verify import TextVerifier

SimilarSearch: TypeAlias = SketchSearch | MinHashSearch | RestSearch


def search_for(sources: Sources, reference: str, question: SimilarCriteria) -> SketchSearch | MinHashSearch:
    """Return the search of a source: by sketches, or by MinHash tokens in a store without sketches.

    Raises:
        UnknownDocumentError: The reference names nothing.
        ParameterError: The reference names a document without a sketch, or without a fingerprint.
    """
    engine, scheme = sources.engine, sources.engine.sketch_scheme
    source = sources.source(reference, with_sketch=scheme is not None)
    if scheme is None:
        size = None if source.text is None else len(text_hashes(source.text, engine.scheme))
        return MinHashSearch(engine, source, sources.signature(source), size, question)
    sketch = sources.sketch(source, scheme)
    if sketch is None:
        raise ParameterError(
            f"document {quoted(reference)} has no sketch; 'whorl solr backfill' or indexing it adds one"
        )
    return SketchSearch(engine, source, sketch, question)


def search_of_rest(sources: Sources, reference: str, question: SimilarCriteria, commons: Commons) -> RestSearch:
    """Return the search of a source without common text.

    Raises:
        UnknownDocumentError: The reference names nothing.
        ParameterError: The reference names a document without a text, or the documents have no sketches.
    """
    return RestSearch(sources.engine, sources.source(reference), question, commons)


def look_ups(search: SimilarSearch, only: BoundNode = MatchAll()) -> BoundPlan:  # noqa: B008 - frozen
    """Return the bound plan for candidates that match a filter."""
    found = search.look_ups()
    if found is None:
        return BoundPlan(Nothing("the source has no tokens to look for"))
    return BoundPlan(found if isinstance(only, MatchAll) else Bool(must=(found, only)))


def verify(search: SimilarSearch, only: BoundNode = MatchAll()) -> Verified:  # noqa: B008 - frozen
    """Find candidates, verify them and return the hits."""
    plan = look_ups(search, only)
    if isinstance(plan.root, Nothing):
        return Verified((), 0, 0, search.warnings)
    kept: list[Found] = []
    # During concurrent writes, a document can move from one page of candidates to the next.
    seen: set[str] = set()
    warnings = list(search.warnings)
    start, total = 0, 1
    while start < min(total, search.most_verified):
        require_time()
        batch = search.batch(plan, start, seen)
        if batch is None:
            plan = look_ups(search, only)
            continue
        total = batch.total
        if not batch.ids:
            # The remaining candidates were deleted during the search.
            break
        warnings += batch.warnings
        kept += batch.kept
        seen.update(batch.ids)
        start += len(batch.ids)
    trace().verified += len(seen)
    count_search(search.engine.scheme)
    settled = search.settled(kept)
    known, found = len(seen) - settled.unread, tuple(best_first(settled.kept))
    return Verified(found, total if seen else 0, known, tuple(dict.fromkeys(warnings)))


def find_similar(
    search: SimilarSearch, only: BoundPlan, *, start: int = 0, rows: int = 10, exact: bool = False
) -> Similar:
    """Return one page of the documents that share content with a source.

    Args:
        search: Prepared search of the source.
        only: Bound plan of a filter.
        start: Hits before the page.
        rows: Hits on the page.
        exact: Whether the hits on the page are compared on their whole texts.
    """
    verified = verify(search, only.root)
    warnings = [*only.warnings, *search.question.notes, *verified.warnings]
    total, hits = verified.projected, verified.kept
    if exact:
        hits, more = TextVerifier(search.engine, search.source, search.question).exact(verified.kept, start + rows)
        total -= len(verified.kept) - len(hits)
        warnings += more
    if not verified.is_whole:
        warnings.append(
            f"{verified.candidates:,} candidates, and {verified.seen:,} of them verified, those with most in common "
            "first: the total is projected; a higher threshold or a filter makes it exact"
        )
    page = hits[start : start + rows]
    return Similar(total, verified.is_whole, page, search.plan, verified.candidates, tuple(dict.fromkeys(warnings)))


def choose(search: SimilarSearch, verified: Verified, weight: float) -> DocumentIds | Nothing:
    """Return verified hits, and the source itself, as a node of a plan; each scores its percentage times a weight."""
    groups: dict[int, list[str]] = {}
    for found in verified.kept:
        # Round to whole percentages: the engine's query has one group of documents for each score.
        groups.setdefault(max(1, round(found.hit.score)), []).append(found.hit.id)
    source = search.source
    if source.document_id is not None:
        groups.setdefault(100, []).append(source.document_id)
    scored = tuple((score * weight, tuple(sorted(ids))) for score, ids in sorted(groups.items(), reverse=True))
    return DocumentIds(source.name, scored) if scored else Nothing(f"nothing shares enough with {source.name!r}")
