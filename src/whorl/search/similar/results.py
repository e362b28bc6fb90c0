"""Result of a similarity search: hits, pages, and estimated or exact shares."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar, TypeAlias

from whorl.engine.protocol import Engine
from whorl.errors import UnknownDocumentError
from whorl.fingerprint.compare import ResidualOverlap
from whorl.fingerprint.minhash.bucket_estimates import compare_buckets, estimate_buckets
from whorl.fingerprint.minhash.signature import Signature, buckets_from, shared_tokens
from whorl.fingerprint.sketch.sketch import Sketch
from whorl.fingerprint.statistics.estimate import Estimate, estimate
from whorl.fingerprint.statistics.metric import Metric, Shares
from whorl.model import Hit
from whorl.search.similar.minhash_plan import MinHashPlan
from whorl.search.similar.plan import ResidualPlan, SketchPlan
from whorl.search.similar.sources import Source, Sources

#: Plan of the candidates: by sketches; by MinHash tokens, if documents have no sketches; or without common text.
SimilarPlan: TypeAlias = SketchPlan | MinHashPlan | ResidualPlan


@dataclass(frozen=True, slots=True)
class SimilarHit:
    """A document that shares content with the source.

    Args:
        hit: The document; its score is the percentage of the requested metric.
        estimate: Shared content of the two texts, each share with its 95 % interval.
        residual: Shared content without common text; None if boilerplate is not separated, or the texts were not read.
        tells_common: Whether boilerplate is separated.
    """

    JSON_FIELDS: ClassVar[tuple[str, ...]] = (
        *("id=hit.id", "name=hit.name", "score=hit.score", "*estimate"),
        "without_common?tells_common=residual",
    )

    hit: Hit
    estimate: Estimate
    residual: ResidualOverlap | None = None
    tells_common: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """Verified candidates of one request; `total` counts all candidates of the search."""

    total: int
    ids: tuple[str, ...]
    hits: tuple[SimilarHit, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verified:
    """All hits of a search in order; `seen` of its `candidates` were verified."""

    hits: tuple[SimilarHit, ...]
    candidates: int
    seen: int
    warnings: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether every candidate was verified."""
        return self.seen >= self.candidates

    @property
    def projected(self) -> int:
        """Number of hits, projected from the verified candidates to all."""
        if self.is_whole or not self.seen:
            return len(self.hits)
        return round(len(self.hits) * self.candidates / self.seen)


@dataclass(frozen=True, slots=True)
class Similar:
    """One page of a calibrated search: the best hits by the metric first, ties by Jaccard.

    Args:
        is_total_exact: False if there were more candidates than a search verifies; the total is then projected from the
            verified ones.
        plan: Plan of the search, with the promised recall.
        candidates: Number of documents found by the look-ups.
    """

    JSON_FIELDS: ClassVar[tuple[str, ...]] = (
        *("metric=plan.metric", "threshold=plan.threshold", "recall=plan.recall", "promised=plan.promised"),
        *("ignore_common", "source_shingles=plan.source_size", "total", "total_is_exact=is_total_exact"),
        *("candidates", "warnings", "hits=found"),
    )

    total: int
    is_total_exact: bool
    found: tuple[SimilarHit, ...]
    plan: SimilarPlan
    candidates: int
    warnings: tuple[str, ...] = ()

    @property
    def ignore_common(self) -> bool:
        """Whether common text is ignored."""
        return isinstance(self.plan, ResidualPlan)


def scored(hit: Hit, estimate: Estimate, metric: Metric) -> SimilarHit:
    return SimilarHit(replace(hit, score=round(100 * estimate.shares.by(metric), 4)), estimate)


def order_of(metric: Metric) -> Metric:
    """Return the metric that hits are ordered by.

    With containment a sentence that the source contains has 100 %, as a copy of the source has. Jaccard puts the copy
    first; `benchmarks/licences.py` measures what that is worth.
    """
    return Metric.JACCARD if metric is Metric.CONTAINMENT else metric


def best_first(hits: Iterable[SimilarHit], metric: Metric) -> list[SimilarHit]:
    """Sort hits by `order_of(metric)`, highest first; ties by Jaccard, score and id."""
    order = order_of(metric)

    def rank(similar: SimilarHit) -> tuple[float, float, float, str]:
        shares = (similar.residual or similar.estimate).shares
        return -round(shares.by(order), 6), -shares.jaccard, -similar.hit.score, similar.hit.id

    return sorted(hits, key=rank)


def exact_estimate(source_size: int, hit_size: int, shared: int) -> Estimate:
    shares = Shares.of_counts(shared, source_size, hit_size)
    return Estimate(shares, shares, shares, shared, source_size, source_size, hit_size, is_exact=True)


@dataclass(frozen=True, slots=True)
class Measured:
    """Shared content of a hit and a source.

    Args:
        shared_tokens: Tokens of the source that the hit has, repeats counted.
        source_tokens: All tokens of the source, repeats counted.
        estimate: Shares of shingles with their 95 % intervals; None if the tokens do not support an estimate.
    """

    shared_tokens: int
    source_tokens: int
    estimate: Estimate | None


def measure(
    sources: Sources, reference: str, ids: Collection[str], counts: Mapping[str, int] = MappingProxyType({})
) -> Mapping[str, Measured]:
    """Return the shared content of documents and a source, by id, for documents with a fingerprint.

    Estimates use the sketches if both sides have one, otherwise the MinHash tokens, which are less precise.

    An unknown source gives an empty result. `counts` has the shared tokens of hits where the search has counted them;
    signatures of these hits are read only if they have no sketch.
    """
    try:
        source = sources.source(reference)
    except UnknownDocumentError:
        return {}
    own = sources.signatures({reference: False}).get(reference)
    if own is None or not len(own) or not ids:
        return {}
    engine = sources.engine
    scheme = engine.sketch_scheme
    sketch = None if scheme is None else sources.sketch(source, scheme)
    signatures = _signatures(engine, source, own, [name for name in ids if sketch is None or name not in counts])
    counted = {name: shared_tokens(own, signature) for name, signature in signatures.items()} | {**counts}
    present = [name for name in ids if name in counted]
    estimates = {} if sketch is None else _by_sketches(engine, source, sketch, present)
    rough = [name for name in present if name not in estimates]
    if rough and own.scheme.fills_every_bucket:
        signatures |= _signatures(engine, source, own, [name for name in rough if name not in signatures])
        estimates |= _by_tokens(own, {name: signatures[name] for name in rough if name in signatures})
    return {name: Measured(counted[name], len(own), estimates.get(name)) for name in present}


def _signatures(engine: Engine, source: Source, own: Signature, ids: Iterable[str]) -> dict[str, Signature]:
    """Return the signatures of the source and other documents, by id, except empty ones."""
    others = dict.fromkeys(ids, False)
    is_asked = others.pop(source.document_id or "", None) is not None
    signatures = engine.signatures(others) if others else {}
    nonempty = {name: signature for name, signature in signatures.items() if len(signature)}
    return {source.document_id or "": own, **nonempty} if is_asked else nonempty


def _by_tokens(own: Signature, signatures: Mapping[str, Signature]) -> dict[str, Estimate]:
    overlaps = compare_buckets(buckets_from(own), [buckets_from(signature) for signature in signatures.values()])
    return dict(zip(signatures, estimate_buckets(overlaps), strict=True))


def _by_sketches(engine: Engine, source: Source, own: Sketch, ids: Iterable[str]) -> dict[str, Estimate]:
    others = dict.fromkeys(ids)
    is_asked = source.document_id in others
    sketches = dict(engine.sketches([name for name in others if name != source.document_id]))
    if source.document_id is not None and is_asked:
        sketches[source.document_id] = own
    return dict(zip(sketches, estimate(own, list(sketches.values())), strict=True))
