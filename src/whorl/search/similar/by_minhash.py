"""Calibrated search by MinHash tokens, for collections without sketches: the same options, wider intervals."""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from whorl.engine.protocol import Engine
from whorl.fingerprint.minhash.bucket_estimates import compare_buckets, estimate_buckets, judge_buckets
from whorl.fingerprint.minhash.codec import integers
from whorl.fingerprint.minhash.signature import Signature, bucket_of_each, buckets_from
from whorl.model import Hit
from whorl.query.plan.nodes import BoundNode, BoundPlan, SharedTokens
from whorl.search.similar.minhash_plan import MinHashPlan, make_minhash_plan
from whorl.search.similar.options import Question
from whorl.search.similar.results import Batch, Found, Settled, scored
from whorl.search.similar.sources import Source

#: Largest number of candidates whose tokens are fetched; each takes some 10 KB.
MOST_VERIFIED = 2_000
#: Candidates fetched at once.
AT_ONCE = 500
_ROUGH = (
    "the documents have no sketches ('whorl solr check' or 'whorl opensearch check' says how they get them), so the "
    "percentages are rough and a short text in a long one can be missed"
)


class MinHashSearch:
    """Calibrated search for one source, in a store whose documents have no sketches.

    Args:
        engine: Engine of the store.
        source: Source that documents are compared with.
        signature: Tokens of the source, as the collection encodes them.
        size: Distinct shingles of the source, if its text was given; otherwise estimated from the tokens.
        question: Options of the search.
    """

    def __init__(
        self, engine: Engine, source: Source, signature: Signature, size: int | None, question: Question
    ) -> None:
        self.engine, self.source, self.question, self._signature = engine, source, question, signature
        self._size = size
        self.warnings = (_ROUGH if len(signature) else source.no_fingerprint(engine.scheme),)
        self._buckets = buckets_from(signature)
        metric, threshold, recall = question.metric, question.threshold, question.recall
        self.plan: MinHashPlan = make_minhash_plan(self._buckets, metric, threshold, recall, source_size=size)

    @property
    def most_verified(self) -> int:
        """Largest number of candidates that are verified."""
        return MOST_VERIFIED

    @property
    def at_once(self) -> int:
        """Candidates fetched at once."""
        return AT_ONCE

    def look_ups(self) -> BoundNode | None:
        """Return the query for documents with enough of the tokens; None if there are no tokens to look up."""
        if not self.plan.buckets:
            return None
        is_asked = np.isin(bucket_of_each(self._signature), list(self.plan.buckets))
        tokens = tuple(dict.fromkeys(integers(self._signature.hashes[is_asked])))
        return SharedTokens(self.source.name, tokens, min(self.plan.min_should_match, len(tokens)))

    def batch(self, look_ups: BoundPlan, start: int, seen: Set[str]) -> Batch:
        """Fetch the candidates after the first `start` ones, and verify those not seen yet."""
        page = self.engine.search(look_ups, start=start, rows=AT_ONCE)
        fresh = [hit for hit in page.hits if hit.id not in seen and hit.id != self.source.document_id]
        return Batch(page.total, tuple(hit.id for hit in page.hits), tuple(self._judged(fresh)), page.warnings)

    def settled(self, kept: list[Found]) -> Settled:
        """Return the hits unchanged: the intervals are so wide that too many texts would have to be read."""
        return Settled(kept)

    def _judged(self, hits: list[Hit]) -> list[Found]:
        signatures = self.engine.signatures(dict.fromkeys((hit.id for hit in hits), False)) if hits else {}
        there = [hit for hit in hits if hit.id in signatures and len(signatures[hit.id])]
        others = [buckets_from(signatures[hit.id]) for hit in there]
        overlaps = compare_buckets(self._buckets, others, self._size)
        plan = self.plan
        is_kept = judge_buckets(overlaps, plan.metric, plan.threshold, plan.second_recall).tolist()
        judged = zip(there, is_kept, estimate_buckets(overlaps), strict=True)
        return [scored(hit, estimate, plan.metric) for hit, keep, estimate in judged if keep]
