"""What hits share with the source of a FINGERPRINT: tokens, and estimates of the three shares with their intervals."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from whorl.engine.base import Engine
from whorl.fingerprint.estimate import Estimate, estimate
from whorl.fingerprint.minhash import Signature
from whorl.fingerprint.recovery import buckets_from
from whorl.fingerprint.similarity import shared_tokens
from whorl.fingerprint.stock import compare_buckets, estimate_buckets


@dataclass(frozen=True, slots=True)
class Measured:
    """What a hit shares with a source.

    Args:
        shared: Tokens of the source that the hit has, repeats counted.
        tokens: Those that the source has.
        estimate: The shares of shingles, each with its 95 % interval; None where the tokens tell too little.
    """

    shared: int
    tokens: int
    estimate: Estimate | None


def measure(engine: Engine, reference: str, ids: Collection[str]) -> Mapping[str, Measured]:
    """Return what documents share with a source, by id, of those that have a fingerprint.

    Estimates come from samples where both sides have one, and from the MinHash tokens, more roughly, where not.

    Args:
        engine: Where they are.
        reference: The source; where it is no document of the store, nothing is known.
        ids: Of hits.
    """
    source = engine.identify([reference]).get(reference)
    if source is None or not ids:
        return {}
    signatures = engine.signatures(dict.fromkeys([source, *ids], False), are_ids=True)
    own = signatures.get(source)
    if own is None or not own.tokens:
        return {}
    there = {each: signatures[each] for each in ids if each in signatures and signatures[each].tokens}
    estimates = {**_by_tokens(own, there), **_by_samples(engine, source, list(there))}
    return {
        each: Measured(shared_tokens(own, signature), len(own.tokens), estimates.get(each))
        for each, signature in there.items()
    }


def _by_tokens(own: Signature, there: Mapping[str, Signature]) -> dict[str, Estimate]:
    if not own.scheme.fills_every_bucket:
        return {}
    others = [buckets_from(signature.tokens, signature.scheme) for signature in there.values()]
    overlaps = compare_buckets(buckets_from(own.tokens, own.scheme), others)
    return dict(zip(there, estimate_buckets(overlaps), strict=True))


def _by_samples(engine: Engine, source: str, ids: list[str]) -> dict[str, Estimate]:
    if engine.sample_scheme is None:
        return {}
    found = engine.samples([source, *ids])
    # An id of digits may name another document by its DBID.
    samples = {each: sample for each, (document_id, sample) in found.items() if each == document_id}
    if source not in samples:
        return {}
    measured = [each for each in ids if each in samples]
    return dict(zip(measured, estimate(samples[source], [samples[each] for each in measured]), strict=True))
