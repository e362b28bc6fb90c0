"""Searches for documents that share content with a source, with a plan that ensures a given recall.

A plan states which tokens of the source's sketch to look up, and how many of them a candidate must have. The search
compares the sketches of the candidates with the source, and reads their texts if sketches cannot decide (a short text
in a very long text). `docs/accuracy.md` explains why the search reaches the requested recall.

A collection without sketches is searched by MinHash tokens. The estimates then have wider intervals.

A search that ignores common text reads the texts of its candidates, the largest estimated overlap first, up to a limit.
So the shares of all its hits are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from fractions import Fraction
from itertools import compress, pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import ascending_distinct, run_starts, sort_distinct
from whorl.engine.protocol import CachedSketch, CandidatePage, Candidates, Costs, Engine
from whorl.errors import ParameterError, UnknownDocumentError, shorten_repr
from whorl.fingerprint.compare_texts import TextWords, common_shingles, words_of
from whorl.fingerprint.compiled.kernel import count_search
from whorl.fingerprint.fingerprint_texts import hashes_of_words, text_hashes
from whorl.fingerprint.minhash.bucket_estimates import compare_buckets, estimate_buckets, judge_buckets
from whorl.fingerprint.minhash.signature_and_tokens import Signature, bucket_of_each, buckets_from, integers
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import Sketch, sketch_of_distinct
from whorl.fingerprint.statistics.metric import SIMILAR_METRICS, Metric, least_overlap, metric_named
from whorl.fingerprint.statistics.overlap_estimates import Estimate, estimate_overlaps
from whorl.model import Hit
from whorl.query.plan.nodes import (
    Bool,
    BoundLeaf,
    BoundNode,
    BoundPlan,
    DocumentsByScore,
    FingerprintClause,
    MatchAll,
    Nothing,
    ResolvedLeaf,
    ResolvedPlan,
    SharedTokens,
    SketchTokens,
    Words,
    map_leaves,
)
from whorl.query.plan.planner import unknown_document_message
from whorl.request_context import require_time, trace
from whorl.search.boilerplate import BoilerplateDetector
from whorl.search.similar.compare_hit_texts import TextVerifier, compare_with_documents
from whorl.search.similar.fetch_query_sources import QuerySource, QuerySources, text_of
from whorl.search.similar.minhash_plan import MinHashPlan, make_minhash_plan
from whorl.search.similar.options import DEFAULT_RECALL, SimilarCriteria
from whorl.search.similar.results import (
    Batch,
    HitGroup,
    RankedHits,
    Similar,
    SimilarHit,
    SimilarPlan,
    Verified,
    exact_estimate,
    score_hit,
)
from whorl.search.similar.sketch_plan import (
    BUDGET,
    Branch,
    ResidualPlan,
    SketchPlan,
    make_plan,
    part_of_source,
    with_phrases,
)

#: Maximum number of candidates that a search verifies, the best first.
MOST_VERIFIED = 10_000
#: Number of candidates to fetch at a time with their sketches, which take about 3 MB together.
CANDIDATES_AT_ONCE = 2_000
#: Maximum number of documents that a first query, with few tokens, may match. If it matches more, a second query with
#: more tokens is faster.
MOST_OF_FIRST_QUERY = 100
#: Maximum size, in shingles, of a source whose shingles are looked up as phrases.
MOST_PHRASES = 128
#: Threshold of a calibrated FINGERPRINT clause without an overlap.
_OVERLAP = Fraction(1, 5)


class SketchSearch:
    """Calibrated search for one source among documents with sketches."""

    def __init__(
        self,
        engine: Engine,
        source: QuerySource,
        sketch: Sketch,
        criteria: SimilarCriteria,
        budget: int = BUDGET,
    ) -> None:
        self._budget = budget
        self.engine, self.source, self.criteria, self._sketch = engine, source, criteria, sketch
        # With some metrics, a hit may be of any size, so only the largest document limits it.
        self._largest = engine.largest_size() if criteria.metric.allows_larger else None
        # Include the size of the source, which may have been added after the engine had read `largest_size`.
        if self._largest is not None and source.document_id is not None:
            self._largest = max(self._largest, sketch.size)
        self._costs = engine.costs
        self._phrases: tuple[str, ...] | None = None
        #: Cached sketch of the source; the response to the first query shows whether it is current. None if the sketch
        #: is known to be current.
        self.cached_sketch: CachedSketch | None = None
        self.plan: SketchPlan = self._make_plan(self._costs)
        self._verifier = TextVerifier(engine, source, criteria)
        self.warnings: tuple[str, ...] = () if sketch.size else (source.no_fingerprint_message(engine.scheme),)
        self.most_verified = MOST_VERIFIED

    def _make_plan(self, costs: Costs | None) -> SketchPlan:
        requests = 1 if self._costs is None else 2
        plan = make_plan(
            self._sketch, self.criteria, budget=self._budget, requests=requests, costs=costs, largest_size=self._largest
        )
        if plan.promised or not self.criteria.metric.allows_larger or plan.source_size > MOST_PHRASES:
            return plan
        if self._phrases is None:
            text = text_of(self.engine, self.source)
            self._phrases = () if text is None else phrases_of(text, self._sketch, self.engine.scheme)
        return with_phrases(plan) if len(self._phrases) == plan.source_size else plan

    def batch_size(self, query: BoundPlan) -> int:
        """Return the number of candidates to fetch in one request."""
        return MOST_VERIFIED if self.engine.has_lazy_candidates(query) else CANDIDATES_AT_ONCE

    def candidate_query(self) -> BoundNode | None:
        """Return the query for the candidates of all branches, or None if the plan has no tokens to look up."""
        looked_up = [branch for branch in self.plan.branches if branch.min_should_match]
        branches = tuple(self._look_up(branch) for branch in looked_up if not branch.by_phrases)
        minima = [branch.min_should_match for branch in looked_up if branch.by_phrases]
        if minima:
            field = self.engine.fields().content_field
            shingles = tuple(Words(phrase, field, any_apostrophe="'" in phrase) for phrase in self._phrases or ())
            phrases = Bool(should=shingles, min_should_match=min(minima))
            return Bool(should=(*branches, phrases), min_should_match=1)
        if len(branches) < 2:
            return next(iter(branches), None)
        return Bool(should=branches, min_should_match=1)

    def _look_up(self, branch: Branch) -> SketchTokens:
        hashes = self._sketch.hashes[branch.tokens.start : branch.tokens.stop]
        distinct = ascending_distinct(hashes)
        # If several shingles have the same token, this token matches only once. So lower the minimum by the number of
        # repeated tokens.
        minimum = max(1, branch.min_should_match - (hashes.size - distinct.size))
        is_whole = self._sketch.is_complete and distinct.size == len(self._sketch.hashes)
        sizes = branch.smallest_size, self.plan.size_limit(branch)
        tokens = tuple(distinct.tolist())
        return SketchTokens(self.source.name, self._sketch.scheme, tokens, minimum, *sizes, is_whole)

    def batch(self, query: BoundPlan, start: int, seen: Set[str], rows: int | None = None) -> Batch | None:
        """Fetch up to `rows` candidates (default: `CANDIDATES_AT_ONCE`) from `start` on; verify all except `seen`.

        If the first query, with few tokens, matches too many documents, return None; `candidate_query` is then more
        precise.
        """
        is_cheap = self._costs is not None and not start
        candidates = self.engine.candidates(
            query,
            start=start,
            rows=MOST_OF_FIRST_QUERY if is_cheap else rows or CANDIDATES_AT_ONCE,
            in_order=not is_cheap,
        )
        if self.cached_sketch is not None and not self.engine.is_current(self.cached_sketch, candidates):
            raise ChangedSourceError
        self.cached_sketch = None
        if is_cheap and candidates.total > MOST_OF_FIRST_QUERY:
            # A plan with more tokens finds fewer candidates, and allows large batches, so take it for the next query.
            precise = self._make_plan(None)
            self.plan, self._costs = max(self.plan, precise, key=lambda plan: plan.look_up_count), None
            return None
        own = self.source.document_id
        return Batch(candidates, self._judge_candidates(candidates, seen if own is None else seen | {own}))

    def _judge_candidates(self, candidates: Candidates, left_out: Set[str]) -> RankedHits:
        """Return the candidates, except `left_out`, that are hits according to their sketches."""
        positions, overlaps = candidates.compare(self._sketch, left_out)
        if not positions:
            return RankedHits()
        # Copies of a text overlap equally with the source, so judge each overlap once. If different overlaps have the
        # same sort key, equal ones may not be adjacent. They are then judged several times, with the same result.
        order = np.argsort(overlaps.sizes << 32 ^ overlaps.counts << 16 ^ overlaps.shared)
        ordered = overlaps.select(order)
        starts = run_starts(ordered.sizes, ordered.counts, ordered.shared)
        distinct = ordered.select(starts)
        is_hit = self.plan.is_hit(distinct)
        estimates = estimate_overlaps(distinct.select(np.flatnonzero(is_hit)))
        by_overlap = np.array(positions)[order].tolist()
        ranges = compress(pairwise([*starts.tolist(), len(by_overlap)]), is_hit.tolist())
        groups = (by_overlap[start:end] for start, end in ranges)
        return RankedHits.from_estimates(candidates, groups, estimates, self.criteria.metric)

    def verify_exact(self, hits: RankedHits) -> tuple[RankedHits, int]:
        """Compare the texts of undecided hits; return the hits that reach the threshold, and 0 unread candidates.

        A hit without a readable text is returned, too.
        """
        decided, undecided = hits.split(self.criteria.threshold)
        if not undecided:
            return hits, 0
        kept = RankedHits.from_hits(list(self._verifier.verify_exact(list(undecided))), self.criteria.metric)
        return RankedHits([*decided.groups, *kept.groups]), 0


def phrases_of(text: str, sketch: Sketch, scheme: Scheme) -> tuple[str, ...]:
    """Return the shingles in a text's sketch as phrases; empty if the index would split them in another way."""
    words = words_of(text, scheme).words
    if words_of(" ".join(words), scheme).words != words:
        return ()
    hashes = hashes_of_words(words, scheme) >> np.uint64(64 - sketch.scheme.bits)
    places = np.flatnonzero(np.isin(hashes, sketch.hashes)).tolist()
    return tuple(dict.fromkeys(" ".join(words[at : at + scheme.shingle_size]) for at in places))


#: Maximum number of candidates whose tokens are fetched; the tokens of one candidate take about 10 KB.
MOST_MINHASH_VERIFIED = 2_000
MINHASH_AT_ONCE = 500
_ROUGH = (
    "the documents have no sketches ('whorl solr check' or 'whorl opensearch check' says how they get them), so the "
    "percentages are rough and a short text in a long one can be missed"
)


class MinHashSearch:
    """Calibrated search for one source by MinHash tokens, in a collection without sketches.

    Args:
        signature: Tokens of the source, as the collection encodes them.
        size: Number of distinct shingles of the source, if its text was given; None to estimate it from the tokens.
    """

    def __init__(
        self, engine: Engine, source: QuerySource, signature: Signature, size: int | None, criteria: SimilarCriteria
    ) -> None:
        self.engine, self.source, self.criteria, self._signature = engine, source, criteria, signature
        self._size, self.most_verified = size, MOST_MINHASH_VERIFIED
        self.warnings = (_ROUGH if len(signature) else source.no_fingerprint_message(engine.scheme),)
        self._buckets = buckets_from(signature)
        self.plan: MinHashPlan = make_minhash_plan(self._buckets, criteria, source_size=size)

    def batch_size(self, query: BoundPlan) -> int:
        return MINHASH_AT_ONCE

    def candidate_query(self) -> BoundNode | None:
        """Return the query for documents with enough of the source's tokens; None if the source has no tokens."""
        if not self.plan.buckets:
            return None
        is_planned = np.isin(bucket_of_each(self._signature), list(self.plan.buckets))
        tokens = tuple(dict.fromkeys(integers(self._signature.hashes[is_planned])))
        return SharedTokens(self.source.name, tokens, min(self.plan.min_should_match, len(tokens)))

    def batch(self, query: BoundPlan, start: int, seen: Set[str], rows: int | None = None) -> Batch:
        page = self.engine.search(query, start=start, rows=rows or MINHASH_AT_ONCE)
        fresh = [hit for hit in page.hits if hit.id not in seen and hit.id != self.source.document_id]
        candidates = CandidatePage(page.total, tuple((hit, None) for hit in page.hits), page.warnings)
        return Batch(candidates, RankedHits.from_hits(self._judge_hits(fresh), self.criteria.metric))

    def verify_exact(self, hits: RankedHits) -> tuple[RankedHits, int]:
        """Return all hits without verifying them, and 0 unread candidates.

        The intervals are so wide that too many texts would be read.
        """
        return hits, 0

    def _judge_hits(self, hits: list[Hit]) -> list[SimilarHit]:
        signatures = self.engine.signatures(dict.fromkeys((hit.id for hit in hits), False)) if hits else {}
        with_tokens = [hit for hit in hits if hit.id in signatures and len(signatures[hit.id])]
        others = [buckets_from(signatures[hit.id]) for hit in with_tokens]
        overlaps = compare_buckets(self._buckets, others, self._size)
        plan = self.plan
        is_kept = judge_buckets(overlaps, plan.metric, plan.threshold, plan.second_recall).tolist()
        judged = zip(with_tokens, is_kept, estimate_buckets(overlaps), strict=True)
        return [score_hit(hit, estimate, plan.metric) for hit, keep, estimate in judged if keep]


#: Maximum number of texts to read in a search that ignores common text.
MOST_READ_WITHOUT_COMMON = 1_000
#: Number of tokens to look up in a branch if hits may be small parts of the source.
_BUDGET_WITHIN = 4 * BUDGET


class ResidualSearch:
    """Calibrated search for one source that ignores common text.

    Raises:
        ParameterError: The documents have no sketches, or the source has no stored text.
    """

    def __init__(
        self, engine: Engine, source: QuerySource, criteria: SimilarCriteria, detector: BoilerplateDetector
    ) -> None:
        scheme = engine.sketch_scheme
        if scheme is None:
            raise ParameterError(
                "common text can be ignored only if documents have sketches, and these have none: 'whorl solr check' "
                "or 'whorl opensearch check' says how they get them"
            )
        text = text_of(engine, source)
        if text is None:
            raise ParameterError(f"{source.name!r} has no stored text, so its common text cannot be left out")
        self.engine, self.source, self.criteria = engine, source, criteria
        self._text, self._detector = text, detector
        words = words_of(text, engine.scheme)
        uncommon, self._size = _hashes_without_common(words, detector, engine.scheme)
        part = part_of_source(criteria.metric, criteria.threshold, uncommon.size)
        #: Search for the candidates, by the source's uncommon shingles.
        self._by_sketch = by_sketch = SketchSearch(
            engine,
            source,
            sketch_of_distinct(uncommon, scheme),
            SimilarCriteria(Metric.A_IN_B, part, criteria.recall),
            budget=_BUDGET_WITHIN if criteria.metric.allows_smaller else BUDGET,
        )
        self.candidate_query, self.batch = by_sketch.candidate_query, by_sketch.batch
        self.batch_size = by_sketch.batch_size
        self.most_verified, self.warnings = by_sketch.most_verified, by_sketch.warnings
        if self._size and not uncommon.size:
            self.warnings = (f"all of {source.name!r} is common, so nothing is left to look for",)

    @property
    def plan(self) -> ResidualPlan:
        criteria = self.criteria
        return ResidualPlan(criteria.metric, criteria.threshold, criteria.recall, self._size, self._by_sketch.plan)

    def verify_exact(self, candidates: RankedHits) -> tuple[RankedHits, int]:
        """Read the texts of the best candidates; return the hits, and the number of unread candidates.

        A candidate is a hit if its share without common text reaches the threshold.
        """
        # The most similar candidates come first (by a sketch of the source's uncommon shingles), so read only these.
        by_id = {candidate.hit.id: candidate for candidate in candidates[:MOST_READ_WITHOUT_COMMON]}
        metric, hits, read = self.criteria.metric, list[SimilarHit](), 0
        for document_id, comparison in compare_with_documents(self.engine, self._text, list(by_id), self._detector):
            read += 1
            residual = comparison.residual
            assert residual is not None
            least = least_overlap(metric, self.criteria.threshold, residual.shingles_a, residual.shingles_b)
            if residual.shared_shingles >= max(1, least):
                counts = comparison.a.shingles, comparison.b.shingles, comparison.shared_shingles
                hits.append(SimilarHit(by_id[document_id].hit, exact_estimate(*counts), residual))
        return RankedHits.from_hits(hits, metric), len(candidates) - read


def _hashes_without_common(
    words: TextWords, detector: BoilerplateDetector, scheme: Scheme
) -> tuple[npt.NDArray[np.uint64], int]:
    """Return the sorted hashes of a text's uncommon shingles, and the number of all distinct shingles."""
    hashes = hashes_of_words(words.words, scheme)
    require_time()
    common = sort_distinct([hashes[common_shingles(detector.mark_common(words), scheme.shingle_size)]])
    require_time()
    distinct = sort_distinct([hashes])
    require_time()
    return np.setdiff1d(distinct, common, assume_unique=True), distinct.size


class ChangedSourceError(Exception):
    """The source has changed since its sketch was read, so the search must run again with the current sketch."""


SimilarSearch: TypeAlias = SketchSearch | MinHashSearch | ResidualSearch


def make_search(sources: QuerySources, reference: str, criteria: SimilarCriteria) -> SketchSearch | MinHashSearch:
    """Return the search for documents similar to a source: by sketches if the store has them, else by MinHash tokens.

    Raises:
        UnknownDocumentError: The reference names no document or text.
        ParameterError: The reference names a document without a sketch or fingerprint.
    """
    engine, scheme = sources.engine, sources.engine.sketch_scheme
    if scheme is not None and (cached_sketch := sources.find_cached_sketch(reference)):
        search = SketchSearch(engine, QuerySource(reference, cached_sketch.document_id), cached_sketch.sketch, criteria)
        search.cached_sketch = cached_sketch
        # Try the cached sketch: the response to a look-up of candidates shows whether it is current.
        if search.candidate_query() is not None:
            return search
    source = sources.source(reference, with_sketch=scheme is not None)
    if scheme is None:
        size = None if source.text is None else len(text_hashes(source.text, engine.scheme))
        return MinHashSearch(engine, source, sources.signature(source), size, criteria)
    sketch = sources.sketch(source, scheme)
    if sketch is None:
        raise ParameterError(
            f"document {shorten_repr(reference)} has no sketch; 'whorl solr backfill', 'whorl opensearch backfill' or "
            "indexing it adds one"
        )
    return SketchSearch(engine, source, sketch, criteria)


def make_search_ignoring(
    ignored: BoilerplateDetector | None, sources: QuerySources, reference: str, criteria: SimilarCriteria
) -> SimilarSearch:
    """Return the search for one source; it ignores the common text that `ignored` detects."""
    if ignored is None:
        return make_search(sources, reference, criteria)
    return ResidualSearch(sources.engine, sources.source(reference), criteria, ignored)


def candidate_plan(search: SimilarSearch, wanted: BoundNode = MatchAll()) -> BoundPlan:  # noqa: B008 - frozen
    """Return the query for the candidates of a search; only documents that match `wanted` are candidates."""
    plan = search.candidate_query()
    if plan is None:
        return BoundPlan(Nothing("the source has no tokens to look for"))
    return BoundPlan(plan if isinstance(wanted, MatchAll) else Bool(must=(plan, wanted)))


def verify(search: SimilarSearch, wanted: BoundNode = MatchAll()) -> Verified:  # noqa: B008 - frozen
    """Fetch the candidates of a search in batches, verify them by sketches, tokens or texts, and return the hits."""
    plan = candidate_plan(search, wanted)
    if isinstance(plan.root, Nothing):
        return Verified(RankedHits(), 0, 0, search.warnings)
    groups = list[HitGroup]()
    # Concurrent writes can move a candidate to the next page; verify it only once.
    seen = set[str]()
    warnings = list(search.warnings)
    start, total, verified = 0, 1, 0
    while start < min(total, search.most_verified):
        require_time()
        batch = search.batch(plan, start, seen, search.batch_size(plan))
        if batch is None:
            plan = candidate_plan(search, wanted)
            continue
        candidates, hits = batch
        total, count = candidates.total, len(candidates)
        if not count:
            # Documents were deleted during the search, so fewer candidates than `total` exist: stop.
            break
        warnings += candidates.warnings
        groups += hits.groups
        start += count
        if seen or start < min(total, search.most_verified):
            known = len(seen)
            seen.update(candidates.ids(range(count)))
            count = len(seen) - known
        verified += count
    trace().verified += verified
    count_search(search.engine.scheme)
    verified_hits, unread = search.verify_exact(RankedHits(groups))
    return Verified(verified_hits, total if verified else 0, verified - unread, tuple(dict.fromkeys(warnings)))


def find_similar(
    search: SimilarSearch, filter_plan: BoundPlan, *, start: int = 0, rows: int = 10, exact: bool = False
) -> Similar:
    verified = verify(search, filter_plan.root)
    warnings = [*filter_plan.warnings, *search.criteria.notes, *verified.warnings]
    total = verified.projected
    hits: RankedHits | tuple[SimilarHit, ...] = verified.hits
    if exact:
        verifier = TextVerifier(search.engine, search.source, search.criteria)
        hits, more = verifier.compare_best(verified.hits, start + rows)
        total -= len(verified.hits) - len(hits)
        warnings += more
    if not verified.is_whole:
        warnings.append(
            f"{verified.candidates:,} candidates, and {verified.seen:,} of them verified, those with most in common "
            "first: the total is projected; a higher threshold or a filter makes it exact"
        )
    page, gaps = tuple(hits[start : start + rows]), _phrase_gaps(search)
    warnings = [*dict.fromkeys((*warnings, *gaps))]
    is_exact = verified.is_whole and not gaps
    return Similar(total, is_exact, page, search.plan, verified.candidates, tuple(warnings), is_complete=not gaps)


def _phrase_gaps(search: SimilarSearch) -> tuple[str, ...]:
    """Return warnings about documents that a look-up of phrases misses; empty if the search looks up no phrases."""
    plan = search.plan.candidates if isinstance(search.plan, ResidualPlan) else search.plan
    if not isinstance(plan, SketchPlan) or not any(branch.by_phrases for branch in plan.branches):
        return ()
    return search.engine.gaps("phrases")


def as_clause(search: SimilarSearch, verified: Verified, weight: float) -> DocumentsByScore | Nothing:
    """Return a clause that matches the verified hits, and the source if it is a document.

    The score of a hit is its percentage, rounded to a whole number, times `weight`.
    """
    groups: dict[int, list[str]] = {}
    for similar in verified.hits:
        # The engine's query has a group for each score, so round the scores.
        groups.setdefault(max(1, round(similar.hit.score)), []).append(similar.hit.id)
    source = search.source
    if source.document_id is not None:
        groups.setdefault(100, []).append(source.document_id)
    scored = tuple((score * weight, tuple(sorted(ids))) for score, ids in sorted(groups.items(), reverse=True))
    return DocumentsByScore(source.name, scored) if scored else Nothing(f"nothing shares enough with {source.name!r}")


class CalibratedFingerprints:
    """Runs the searches of a query's calibrated FINGERPRINT clauses, each only once.

    A calibrated FINGERPRINT finds the same documents as `Store.similar`. `is_whole` is true if every search has
    verified all of its candidates.
    """

    def __init__(self, sources: QuerySources, metric: Metric | str, ignored: BoilerplateDetector | None) -> None:
        self._sources, self._metric, self._ignored = sources, metric_named(metric, SIMILAR_METRICS), ignored
        self._searches: dict[tuple[str, SimilarCriteria], SimilarSearch | str] = {}
        self._verified: dict[SimilarSearch, Verified] = {}
        self.is_whole = True

    def bind(self, plan: ResolvedPlan) -> BoundPlan:
        """Replace the FINGERPRINTs of a plan by the documents that their searches find."""
        warnings: list[str] = []

        def bind_leaf(leaf: ResolvedLeaf) -> BoundLeaf:
            return self._find_documents(leaf, warnings) if isinstance(leaf, FingerprintClause) else leaf

        return BoundPlan(map_leaves(plan, bind_leaf), tuple(warnings))

    def explain(
        self, clauses: Iterable[FingerprintClause]
    ) -> tuple[tuple[tuple[str, SimilarPlan], ...], dict[str, object], list[str]]:
        """Return the source and search plan of each FINGERPRINT, the engine's requests, and warnings."""
        warnings = list[str]()
        requests = list[dict[str, object]]()
        plans = list[tuple[str, SimilarPlan]]()
        for clause in clauses:
            search = self._search_of(clause)
            if isinstance(search, str):
                warnings.append(search)
                continue
            warnings += [*search.warnings, *_best_effort_warnings(search)]
            plans.append((clause.reference, search.plan))
            plan = candidate_plan(search)
            request = search.engine.explain(plan, start=0, rows=search.batch_size(plan))
            requests.append({"source": clause.reference, "request": request})
        return tuple(plans), {"candidates": requests}, warnings

    def exact_estimates(self, reference: str) -> dict[str, Estimate]:
        """Return the exact overlaps of hits with the source `reference` that the searches have computed, by id."""
        return {
            similar.hit.id: similar.estimate
            for search, verified in self._verified.items()
            if search.source.name == reference
            for similar in verified.hits
            if similar.estimate.is_exact
        }

    def _find_documents(self, clause: FingerprintClause, warnings: list[str]) -> BoundLeaf:
        search = self._search_of(clause)
        if isinstance(search, str):
            warnings.append(search)
            return Nothing(search)
        if search not in self._verified:
            self._verified[search] = verify(search)
        verified = self._verified[search]
        warnings += [*verified.warnings, *_best_effort_warnings(search)]
        if not verified.is_whole:
            self.is_whole = False
            warnings.append(
                f"FINGERPRINT:{clause.reference} has {verified.candidates:,} candidates, and {verified.seen:,} of them "
                "were verified, those with most in common first: there may be more hits than the total says; a higher "
                "threshold finds all of its own"
            )
        return as_clause(search, verified, clause.weight)

    def _search_of(self, clause: FingerprintClause) -> SimilarSearch | str:
        """Return the search of a calibrated FINGERPRINT, or the reason why it finds nothing."""
        overlap, probability = clause.overlap or _OVERLAP, clause.probability or DEFAULT_RECALL
        # Do not use `make_criteria`: for an overlap of 1, it would add a note, even if the user wrote 100 %.
        criteria = SimilarCriteria(self._metric, overlap, probability)
        key = (clause.reference, criteria)
        if key not in self._searches:
            try:
                self._searches[key] = make_search_ignoring(self._ignored, self._sources, clause.reference, criteria)
            except UnknownDocumentError as error:
                self._searches[key] = unknown_document_message(error)
            except ParameterError as error:
                self._searches[key] = str(error)
        return self._searches[key]


def _best_effort_warnings(search: SimilarSearch) -> list[str]:
    if gaps := _phrase_gaps(search):
        return [*gaps]
    if search.plan.promised or not search.plan.source_size:
        return []
    return [f"FINGERPRINT:{search.source.name} is best effort, so hits may be missing; explain the query to see why"]
