"""The compared search methods: Alfresco's and Solr's queries, the same tokens with a test, and whorl's own search."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Protocol

import numpy as np

from accuracy_truth import Hashed, Postings
from whorl import Document, Store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.fingerprint.minhash.bucket_estimates import buckets_of, compare_buckets, judge_buckets
from whorl.fingerprint.minhash.signature_and_tokens import band_rows, cut_bands, min_should_match
from whorl.fingerprint.statistics.metric import Metric
from whorl.fingerprint.statistics.overlap_estimates import Estimate
from whorl.search.similar.minhash_plan import make_minhash_plan
from whorl.search.similar.options import make_criteria
from whorl.search.similar.sketch_plan import SketchPlan

#: Maximum number of hits that one search returns.
MOST_HITS = 10_000


@dataclass(frozen=True, slots=True)
class Question:
    """A question to all methods: the metric, and threshold and recall in percent."""

    metric: Metric
    threshold: int
    recall: int

    @property
    def sign(self) -> str:
        """Return its name in tables: J >= 50, C >= 50 (A in B: the source in the hit), W >= 50 (B in A)."""
        letter = {Metric.JACCARD: "J", Metric.A_IN_B: "C", Metric.B_IN_A: "W"}[self.metric]
        return f"{letter} >= {self.threshold}"


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a search.

    Args:
        found: Numbers of the hits, without the source.
        look_ups: Number of tokens, or of tokens in bands, that were looked up.
        candidates: Documents checked after the look-ups; 0 if the look-ups decide.
        read: Texts read completely.
        estimates: Estimated overlaps by number of the hit, if the method gives them.
        is_total_exact: Whether all candidates were checked.
        is_promised: Whether the recall was promised for documents of every size.
    """

    found: frozenset[int]
    look_ups: int
    candidates: int = 0
    read: int = 0
    estimates: Mapping[int, Estimate] | None = None
    is_total_exact: bool = True
    is_promised: bool = False


class Method(Protocol):
    """A search method."""

    name: str

    def answers(self, source: int, question: Question) -> Answer | None:
        """Return the hits of a document of the collection; None if the method cannot search for it."""
        ...


class StockTokens:
    """Stock tokens of all documents, 512 each with repeats, and their inverted lists."""

    def __init__(self, documents: Sequence[Hashed]) -> None:
        self.minima = [document.minima for document in documents]
        self.postings = Postings(np.unique(tokens) for tokens in self.minima)
        self.buckets = [buckets_of(tokens) if tokens.size else None for tokens in self.minima]


class Overlap:
    """`FINGERPRINT:id_N`: at least N percent of the 512 tokens, with repeats, as Alfresco and Solr count them."""

    name = "stock OR"

    def __init__(self, tokens: StockTokens) -> None:
        self._tokens = tokens

    def answers(self, source: int, question: Question) -> Answer | None:
        minima = self._tokens.minima[source]
        if question.metric is Metric.B_IN_A:
            return None
        least = min_should_match(minima.size, Fraction(question.threshold, 100))
        numbers = np.flatnonzero(self._tokens.postings.shared(minima) >= max(1, least))
        return Answer(frozenset(numbers.tolist()) - {source}, minima.size)


class Bands:
    """`FINGERPRINT:id_N_P`: any band of tokens.

    Solr's `{!min_hash}` finds the same without the last band, which wraps around.
    """

    def __init__(self, tokens: StockTokens, *, is_wrapped: bool) -> None:
        self._tokens, self._is_wrapped = tokens, is_wrapped
        self.name = "stock bands" if is_wrapped else "Solr min_hash"

    def answers(self, source: int, question: Question) -> Answer | None:
        minima = self._tokens.minima[source]
        if question.metric is Metric.B_IN_A or not minima.size:
            return None
        rows = band_rows(minima.size, Fraction(question.threshold, 100), Fraction(question.recall, 100))
        bands = cut_bands(range(minima.size), rows)
        if not self._is_wrapped and minima.size % rows:
            bands = bands[:-1]
        places, owners = self._tokens.postings.pairs(minima)
        documents, at = np.unique(owners, return_inverse=True)
        has = np.zeros((documents.size, minima.size), dtype=np.bool_)
        has[at, places] = True
        is_found = np.zeros(documents.size, dtype=np.bool_)
        for band in bands:
            is_found |= has[:, list(band)].all(axis=1)
        return Answer(frozenset(documents[is_found].tolist()) - {source}, sum(map(len, bands)))


class Tested:
    """The search that whorl uses if an index has only stock tokens: `stock_plan`, then `judge_buckets`."""

    name = "stock tokens, tested"

    def __init__(self, tokens: StockTokens) -> None:
        self._tokens = tokens

    def answers(self, source: int, question: Question) -> Answer | None:
        own = self._tokens.buckets[source]
        if own is None:
            return None
        criteria = make_criteria(question.metric, question.threshold, question.recall)
        plan = make_minhash_plan(own, criteria)
        look_ups = own.minima[list(plan.buckets)]
        shared = self._tokens.postings.shared(look_ups)
        shared[source] = 0
        at = np.flatnonzero(shared >= max(1, plan.min_should_match))
        hits = [buckets for buckets in (self._tokens.buckets[number] for number in at.tolist()) if buckets is not None]
        is_kept = judge_buckets(compare_buckets(own, hits), question.metric, criteria.threshold, plan.second_recall)
        return Answer(frozenset(at[is_kept].tolist()), look_ups.size, candidates=at.size)


class CountingEngine(EmbeddedEngine):
    """The product's engine, which also counts the texts that are read."""

    read = 0

    def texts(self, ids: Collection[str]) -> Mapping[str, str]:
        self.read += len(ids)
        return super().texts(ids)


class Calibrated:
    """`Store.similar` on an embedded store."""

    name = "whorl"

    def __init__(self, documents: Sequence[Document], folder: Path) -> None:
        self._documents = documents
        self._numbers = {document.id: number for number, document in enumerate(documents)}
        self.engine = CountingEngine(folder)
        self.store = Store(self.engine)

    def answers(self, source: int, question: Question) -> Answer | None:
        self.engine.read = 0
        page = self.store.similar(
            self._documents[source].id,
            metric=question.metric,
            threshold=question.threshold,
            recall=question.recall,
            rows=MOST_HITS,
        )
        plan = page.plan
        assert isinstance(plan, SketchPlan)  # An embedded store always has sketches.
        estimates = {self._numbers[similar.hit.id]: similar.estimate for similar in page.found}
        return Answer(
            frozenset(estimates),
            plan.look_up_count,
            candidates=page.candidates,
            read=self.engine.read,
            estimates=estimates,
            is_total_exact=page.is_total_exact,
            is_promised=plan.promised,
        )
