"""Calibrated search in a collection that has MinHash tokens and no sketches: the same question, wider intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from whorl.context import trace
from whorl.engine.protocol import Engine
from whorl.fingerprint.minhash.buckets import compare_buckets, estimate_buckets, judge_buckets
from whorl.fingerprint.minhash.codec import integers
from whorl.fingerprint.minhash.signature import Signature, bucket_of_each, buckets_from
from whorl.model import Hit
from whorl.planning.build import BoundPlan, PlanNode, SharedTokens
from whorl.similar.by_sketch import AT_ONCE, Found, Question, Similar, among, best_first, projected, scored
from whorl.similar.minhash_plan import MinHashPlan, make_minhash_plan

#: Candidates whose tokens are fetched at most: some 10 KB each.
MOST_VERIFIED = 2_000


@dataclass(frozen=True, slots=True)
class TokenSource:
    """What a search starts from.

    Args:
        name: How the user calls it.
        signature: Its tokens, as the collection spells them.
        size: Its distinct shingles, where its text was given; else they are estimated from the tokens.
        document_id: Its id, where it is in the store: it is not among its own hits.
    """

    name: str
    signature: Signature
    size: int | None = None
    document_id: str | None = None


def plan_by_tokens(source: TokenSource, question: Question) -> MinHashPlan:
    """Return what to ask for and about what can be expected."""
    buckets = buckets_from(source.signature)
    return make_minhash_plan(buckets, question.metric, question.threshold, question.recall, source_size=source.size)


def look_ups_by_tokens(source: TokenSource, plan: MinHashPlan, only: PlanNode) -> PlanNode:
    """Return what an engine is asked for: documents with enough of the tokens that the filter lets through."""
    is_asked = np.isin(bucket_of_each(source.signature), list(plan.buckets))
    tokens = tuple(dict.fromkeys(integers(source.signature.hashes[is_asked])))
    return among(SharedTokens(source.name, tokens, min(plan.min_should_match, len(tokens))), only)


def find_by_tokens(
    engine: Engine, source: TokenSource, question: Question, only: BoundPlan, *, start: int = 0, rows: int = 10
) -> Similar:
    """Return one page of the documents that share content with a source, judged by their tokens.

    Arguments as those of `similar.find_similar`; texts are not read, so nothing is exact.
    """
    plan = plan_by_tokens(source, question)
    warnings = [
        *only.warnings,
        "the documents have no sketches ('whorl solr backfill' adds them), so the percentages are rough and a short "
        "text in a long one can be missed",
    ]
    if not plan.buckets:
        return Similar(0, True, (), plan, 0, tuple(warnings))
    bound = BoundPlan(look_ups_by_tokens(source, plan, only.root))
    kept: list[Found] = []
    total, seen = 1, 0
    while seen < min(total, MOST_VERIFIED):
        page = engine.search(bound, start=seen, rows=AT_ONCE)
        total = page.total
        if not page.hits:
            break
        seen += len(page.hits)
        kept += _judged(engine, source, plan, [hit for hit in page.hits if hit.id != source.document_id])
    kept.sort(key=best_first)
    trace().verified += seen
    is_whole = seen >= total
    if not is_whole:
        warnings.append(f"{total:,} candidates, and {seen:,} of them verified: the total is projected")
    count = projected(len(kept), total, seen)
    return Similar(count, is_whole, tuple(kept[start : start + rows]), plan, total if seen else 0, tuple(warnings))


def _judged(engine: Engine, source: TokenSource, plan: MinHashPlan, hits: list[Hit]) -> Iterator[Found]:
    signatures = engine.signatures(dict.fromkeys((hit.id for hit in hits), False))
    there = [hit for hit in hits if hit.id in signatures and len(signatures[hit.id])]
    own = buckets_from(source.signature)
    others = [buckets_from(signatures[hit.id]) for hit in there]
    overlaps = compare_buckets(own, others, source.size)
    is_kept = judge_buckets(overlaps, plan.metric, plan.threshold, plan.second_recall).tolist()
    for hit, keep, estimate in zip(there, is_kept, estimate_buckets(overlaps), strict=True):
        if keep:
            yield scored(Found(hit, estimate), plan.metric)
