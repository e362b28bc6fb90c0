"""Calibrated search: candidates by few look-ups, each verified on its sketch, each hit with its percentages.

`docs/accuracy.md` says why the recall asked for is the recall delivered. Steps: the plan says which tokens of the
source's sketch to ask for and how many a document must have; the engine gives those documents with their sketches; on
these every candidate is judged anew. Hits of which the sketches leave open whether they are any (a short text in a very
long one) are read whole, so that their numbers are exact: as many as `MOST_READ` and `MOST_CHARACTERS` allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.context import trace
from whorl.engine.protocol import Engine
from whorl.fingerprint.batch import text_hashes
from whorl.fingerprint.passages import compare as compare_texts
from whorl.fingerprint.sketch.sketch import Sketch, compare, lookup_numbers
from whorl.fingerprint.statistics.estimate import Estimate, estimate_overlaps
from whorl.fingerprint.statistics.metric import Metric, Percent, Shares, fraction_of, least_overlap, metric_named
from whorl.model import Hit
from whorl.planning.build import Bool, BoundPlan, Chosen, MatchAll, Nothing, PlanNode, SketchTokens
from whorl.similar.calibration import SketchPlan
from whorl.similar.minhash_plan import MinHashPlan
from whorl.similar.plan import make_plan

#: The metrics that a search for one source can have.
METRICS = (Metric.JACCARD, Metric.A_IN_B, Metric.B_IN_A)
#: The words for them that people may type.
SimilarWord: TypeAlias = Literal["jaccard", "a_in_b", "b_in_a", "similarity", "contains", "within"]
DEFAULT_THRESHOLD, DEFAULT_RECALL = Fraction(20, 100), Fraction(95, 100)
#: Candidates that are verified at most, best first; of more, totals are an estimate that says so.
MOST_VERIFIED = 10_000
#: Candidates fetched at once: their sketches take about 3 MB.
AT_ONCE = 500
#: What is read whole for one search: so many texts, and no more of them once they have so many characters.
MOST_READ, MOST_CHARACTERS = 300, 10_000_000

#: Texts fetched in one request, and about how many shingles they may have together.
_TEXTS_AT_ONCE, _SHINGLES_AT_ONCE = 25, 100_000


@dataclass(frozen=True, slots=True)
class Question:
    """What a calibrated search is to find.

    Args:
        metric: What the threshold is a share of.
        threshold: Fraction in (0, 1].
        recall: Wanted chance to find a document at the threshold, a fraction in (0, 1].
        is_exact: Whether the texts of the hits on the page, and of those before it, are compared whole.

    Raises:
        ParameterError: The metric is none of METRICS.
    """

    metric: Metric = Metric.JACCARD
    threshold: Fraction = DEFAULT_THRESHOLD
    recall: Fraction = DEFAULT_RECALL
    is_exact: bool = False

    def __post_init__(self) -> None:
        metric_named(self.metric, METRICS)


def ask(metric: Metric | str, threshold: Percent, recall: Percent, *, is_exact: bool = False) -> Question:
    """Return the question of numbers as people give them.

    Raises:
        ParameterError: There is no such metric, or a number is no percentage above 0.
    """
    chosen = metric_named(metric, METRICS)
    return Question(chosen, fraction_of("threshold", threshold), fraction_of("recall", recall), is_exact)


@dataclass(frozen=True, slots=True)
class Found:
    """A document that shares content with the source.

    Args:
        hit: The document; its score is the percentage of the metric asked for.
        estimate: What the two have in common, each share with its 95 % interval.
    """

    hit: Hit
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Similar:
    """One page of a calibrated search: the best by the metric first, equal ones in the order of their ids.

    Args:
        total: Hits in all.
        is_total_exact: False where there were more candidates than are verified; the total is then projected from
            those that were.
        found: Those on this page.
        plan: What was asked and promised.
        candidates: Documents that the look-ups found.
        warnings: What the user should know beside the hits.
    """

    total: int
    is_total_exact: bool
    found: tuple[Found, ...]
    plan: SketchPlan | MinHashPlan
    candidates: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """What a search starts from.

    Args:
        name: How the user calls it.
        sketch: Its sketch.
        text: Its text, where that was given and is not in the store.
        document_id: Its id, where it is in the store: it is not among its own hits.
    """

    name: str
    sketch: Sketch
    text: str | None = None
    document_id: str | None = None


def find_similar(
    engine: Engine, source: Source, question: Question, only: BoundPlan, *, start: int = 0, rows: int = 10
) -> Similar:
    """Return one page of the documents that share content with a source.

    Args:
        engine: Where they are.
        source: What they are compared with.
        question: What is to be found.
        only: A filter, already bound.
        start: Hits before the page.
        rows: Hits on the page.
    """
    plan = calibrate(engine, source.sketch, question)
    kept, candidates, seen, warnings = _all_kept(engine, source, plan, question, only)
    if question.is_exact:
        kept, more = _read_whole(engine, source, kept, question, start + rows)
        warnings += more
    is_whole = seen >= candidates
    if not is_whole:
        warnings.append(
            f"{candidates:,} candidates, and {seen:,} of them verified, those with most in common first: the total is "
            "projected; a higher threshold or a filter makes it exact"
        )
    total = projected(len(kept), candidates, seen)
    page = tuple(kept[start : start + rows])
    return Similar(total, is_whole, page, plan, candidates, tuple(dict.fromkeys((*only.warnings, *warnings))))


def choose(
    engine: Engine, source: Source, question: Question, reference: str, weight: float
) -> tuple[PlanNode, SketchPlan]:
    """Return all hits of a question as a part of another plan, each scoring its percentage times a weight."""
    plan = calibrate(engine, source.sketch, question)
    kept, *_ = _all_kept(engine, source, plan, question, BoundPlan(MatchAll()))
    groups: dict[int, list[str]] = {}
    for found in kept:
        # Whole percentages: a store is asked for as many groups of documents as there are scores.
        groups.setdefault(max(1, round(found.hit.score)), []).append(found.hit.id)
    if source.document_id is not None:
        groups.setdefault(100, []).append(source.document_id)
    scored = tuple((score * weight, tuple(sorted(ids))) for score, ids in sorted(groups.items(), reverse=True))
    return Chosen(reference, scored) if scored else Nothing(f"nothing shares enough with {reference!r}"), plan


def _all_kept(
    engine: Engine, source: Source, plan: SketchPlan, question: Question, only: BoundPlan
) -> tuple[list[Found], int, int, list[str]]:
    """Return the verified hits, best first; how many candidates there are and were verified; and warnings."""
    batches = list(_verified(engine, source, plan, question, only))
    kept = [found for batch in batches for found in batch.kept]
    kept.sort(key=best_first)
    trace().verified += sum(batch.seen for batch in batches)
    candidates = batches[0].total if batches else 0
    warnings = [warning for batch in batches[:1] for warning in batch.warnings]
    return kept, candidates, sum(batch.seen for batch in batches), warnings


def calibrate(engine: Engine, sketch: Sketch, question: Question) -> SketchPlan:
    """Return the plan of a question.

    Documents that contain the source may have any size: those larger than there are need no promise.
    """
    largest = engine.largest_size() if question.metric is Metric.A_IN_B else None
    return make_plan(sketch, question.metric, question.threshold, question.recall, largest_size=largest)


def look_ups(name: str, sketch: Sketch, plan: SketchPlan, only: PlanNode) -> PlanNode:
    """Return what an engine is asked for: documents of any branch that the filter lets through."""
    numbers = lookup_numbers(sketch).tolist()
    largest = max((branch.largest_size or 0 for branch in plan.branches), default=0)
    branches = tuple(
        SketchTokens(
            name,
            sketch.scheme,
            tuple(numbers[branch.tokens.start : branch.tokens.stop]),
            branch.min_should_match,
            branch.smallest_size,
            # Larger ones may have come since.
            branch.largest_size if branch.largest_size != largest or plan.metric is not Metric.A_IN_B else None,
        )
        for branch in plan.branches
        if branch.min_should_match
    )
    return among(Bool(should=branches, min_should_match=1), only)


def among(found: PlanNode, only: PlanNode) -> PlanNode:
    """Return what finds the documents that a filter lets through."""
    return found if isinstance(only, MatchAll) else Bool(must=(found, only))


def projected(hits: int, candidates: int, seen: int) -> int:
    """Return how many hits there are in all, if the candidates that were not seen are like those that were."""
    return hits if seen >= candidates else round(hits * candidates / seen)


def best_first(found: Found) -> tuple[float, str]:
    """Return what hits are sorted by: their percentages, equal ones by their ids."""
    return -found.hit.score, found.hit.id


@dataclass(frozen=True, slots=True)
class _Batch:
    total: int
    seen: int
    kept: list[Found]
    warnings: tuple[str, ...]


def _verified(
    engine: Engine, source: Source, plan: SketchPlan, question: Question, only: BoundPlan
) -> Iterator[_Batch]:
    if not any(branch.min_should_match for branch in plan.branches):
        return
    bound = BoundPlan(look_ups(source.name, source.sketch, plan, only.root))
    reader = _Reader(engine, source, question)
    start, total = 0, 1
    while start < min(total, MOST_VERIFIED):
        candidates = engine.candidates(bound, start=start, rows=AT_ONCE)
        total = candidates.total
        if not candidates.found:
            # They were deleted meanwhile.
            return
        start += len(candidates.found)
        pairs = [
            (hit, sketch) for hit, sketch in candidates.found if sketch is not None and hit.id != source.document_id
        ]
        yield _Batch(total, len(candidates.found), _judged(source, plan, pairs, reader), candidates.warnings)


def _judged(source: Source, plan: SketchPlan, pairs: list[tuple[Hit, Sketch]], reader: _Reader) -> list[Found]:
    """Return the candidates that are kept, with their estimates."""
    overlaps = compare(source.sketch, [sketch for _, sketch in pairs])
    at = np.flatnonzero(plan.is_hit(overlaps))
    estimates = estimate_overlaps(overlaps.of(at))
    kept = [Found(pairs[place][0], estimate) for place, estimate in zip(at.tolist(), estimates, strict=True)]
    return [scored(found, plan.metric) for found in reader.settled(kept)]


def scored(found: Found, metric: Metric) -> Found:
    """Return a hit with the percentage of a metric as its score."""
    return replace(found, hit=replace(found.hit, score=round(100 * found.estimate.shares.by(metric), 4)))


class _Reader:
    """Reads the texts of hits of which sketches say too little, as far as the means of one search go."""

    def __init__(self, engine: Engine, source: Source, question: Question) -> None:
        self._engine, self._source, self._question = engine, source, question
        self._read, self._characters = 0, 0
        self._own: npt.NDArray[np.uint64] | None = None

    def settled(self, kept: list[Found]) -> Iterator[Found]:
        """Yield the hits, those that were open with exact numbers, without those that turn out to be none."""
        is_open = [found for found in kept if self._is_open(found.estimate)]
        # The smallest first: so most of them are settled.
        is_open.sort(key=lambda found: (found.estimate.hit_size, found.hit.id))
        own = self._own_hashes() if is_open else None
        hashes = {} if own is None else dict(self._hashes(is_open))
        for found in kept:
            if own is None or found.hit.id not in hashes:
                yield found
            elif exact := self._exact(own, hashes[found.hit.id]):
                yield replace(found, estimate=exact)

    def _is_open(self, estimate: Estimate) -> bool:
        # An interval below the threshold is as open: it may come of a sharper law than the one that kept the hit.
        return not estimate.is_exact and estimate.low.by(self._question.metric) < float(self._question.threshold)

    def _own_hashes(self) -> npt.NDArray[np.uint64] | None:
        """Return all hashes of the source, None where they are not known and not worth its text."""
        sketch = self._source.sketch
        if self._own is None and sketch.is_complete:
            self._own = sketch.hashes
        elif self._own is None and self._question.metric is not Metric.A_IN_B:
            # Few are as large and open, and those within are short; what contains a large source is neither.
            text = _text_of(self._engine, self._source)
            self._own = None if text is None else text_hashes(text, self._engine.scheme, sketch.scheme)
        return self._own

    def _hashes(self, is_open: list[Found]) -> Iterator[tuple[str, npt.NDArray[np.uint64]]]:
        for some in _read_together(is_open):
            texts: Mapping[str, str] = {}
            if self._read < MOST_READ and self._characters < MOST_CHARACTERS:
                texts = _texts(self._engine, some[: MOST_READ - self._read])
            for document_id, text in texts.items():
                self._read, self._characters = self._read + 1, self._characters + len(text)
                yield document_id, text_hashes(text, self._engine.scheme, self._source.sketch.scheme)

    def _exact(self, own: npt.NDArray[np.uint64], hashes: npt.NDArray[np.uint64]) -> Estimate | None:
        question, size, shared = self._question, len(hashes), int(np.isin(own, hashes, assume_unique=True).sum())
        if shared < least_overlap(question.metric, question.threshold, len(own), size):
            return None
        return exact_estimate(len(own), size, shared)


def _read_together(hits: list[Found]) -> Iterator[list[Found]]:
    """Yield hits in groups whose texts are fetched at once: few, or one that is long."""
    group, shingles = list[Found](), 0
    for found in hits:
        if group and (len(group) == _TEXTS_AT_ONCE or shingles + found.estimate.hit_size > _SHINGLES_AT_ONCE):
            yield group
            group, shingles = [], 0
        group.append(found)
        shingles += found.estimate.hit_size
    if group:
        yield group


def _texts(engine: Engine, hits: list[Found]) -> Mapping[str, str]:
    return engine.texts([found.hit.id for found in hits])


def _text_of(engine: Engine, source: Source) -> str | None:
    if source.text is None and source.document_id is not None:
        return engine.texts([source.document_id]).get(source.document_id)
    return source.text


def exact_estimate(source_size: int, hit_size: int, shared: int) -> Estimate:
    """Return what is known of two documents whose shingles were all compared."""
    shares = Shares.of_counts(shared, source_size, hit_size)
    return Estimate(shares, shares, shares, shared, source_size, source_size, hit_size, is_exact=True)


def _read_whole(
    engine: Engine, source: Source, kept: list[Found], question: Question, end: int
) -> tuple[list[Found], list[str]]:
    """Compare the texts of hits with the source's, at least up to a place; keep those that are hits indeed."""
    own = _text_of(engine, source)
    if own is None:
        return kept, [f"{source.name!r} has no stored text, so the percentages are estimates"]
    looked_at = kept[: max(MOST_READ, end)]
    exact, missing = [], 0
    for some in _read_together(looked_at):
        texts = _texts(engine, some)
        for found in some:
            if found.hit.id not in texts:
                exact.append(found)
                missing += 1
                continue
            told = compare_texts(own, texts[found.hit.id], engine.scheme)
            if told.shared >= least_overlap(question.metric, question.threshold, told.a.shingles, told.b.shingles):
                estimate = exact_estimate(told.a.shingles, told.b.shingles, told.shared)
                exact.append(scored(replace(found, estimate=estimate), question.metric))
    warnings = [f"{missing} of the hits have no stored text, so their percentages are estimates"] if missing else []
    exact.sort(key=best_first)
    return exact + kept[len(looked_at) :], warnings
