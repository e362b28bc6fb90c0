"""Estimates for the hits of a FINGERPRINT: shared tokens, and the three shares with their intervals."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from whorl.errors import UnknownDocumentError
from whorl.fingerprint.minhash.bucket_estimates import compare_buckets, estimate_buckets
from whorl.fingerprint.minhash.signature import Signature, buckets_from, shared_tokens
from whorl.fingerprint.statistics.estimate import Estimate, estimate
from whorl.search.similar.sources import Source, Sources


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


def measure(sources: Sources, reference: str, ids: Collection[str]) -> Mapping[str, Measured]:
    """Return the shared content of documents and a source, by id, for documents with a fingerprint.

    Estimates use the sketches if both sides have one, otherwise the MinHash tokens, which are less precise.

    Args:
        sources: Sources of the query.
        reference: Name of the source; an unknown name gives an empty result.
        ids: Ids of the hits.
    """
    try:
        source = sources.source(reference)
    except UnknownDocumentError:
        return {}
    own = sources.signatures({reference: False}).get(reference)
    if own is None or not len(own) or not ids:
        return {}
    others = [each for each in ids if each != source.document_id]
    signatures = dict(sources.engine.signatures(dict.fromkeys(others, False))) if others else {}
    if source.document_id is not None:
        signatures[source.document_id] = own
    there = {each: signatures[each] for each in ids if each in signatures and len(signatures[each])}
    estimates = {**_by_tokens(own, there), **_by_sketches(sources, source, list(there))}
    return {
        each: Measured(shared_tokens(own, signature), len(own), estimates.get(each))
        for each, signature in there.items()
    }


def _by_tokens(own: Signature, there: Mapping[str, Signature]) -> dict[str, Estimate]:
    if not own.scheme.fills_every_bucket:
        return {}
    others = [buckets_from(signature) for signature in there.values()]
    overlaps = compare_buckets(buckets_from(own), others)
    return dict(zip(there, estimate_buckets(overlaps), strict=True))


def _by_sketches(sources: Sources, source: Source, ids: list[str]) -> dict[str, Estimate]:
    engine = sources.engine
    scheme = engine.sketch_scheme
    own = None if scheme is None else sources.sketch(source, scheme)
    if own is None:
        return {}
    sketches = dict(engine.sketches([each for each in ids if each != source.document_id]))
    if source.document_id is not None:
        sketches[source.document_id] = own
    measured = [each for each in ids if each in sketches]
    return dict(zip(measured, estimate(own, [sketches[each] for each in measured]), strict=True))
