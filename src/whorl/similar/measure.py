"""What hits share with the source of a FINGERPRINT: tokens, and estimates of the three shares with their intervals."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from whorl.engine.protocol import Engine
from whorl.fingerprint.batch import text_sketch
from whorl.fingerprint.minhash.buckets import compare_buckets, estimate_buckets
from whorl.fingerprint.minhash.signature import Signature, buckets_from, shared_tokens
from whorl.fingerprint.statistics.estimate import Estimate, estimate


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


def measure(engine: Engine, reference: str, ids: Collection[str], text: str | None = None) -> Mapping[str, Measured]:
    """Return what documents share with a source, by id, of those that have a fingerprint.

    Estimates come from sketches where both sides have one, and from the MinHash tokens, more roughly, where not.

    Args:
        engine: Where they are.
        reference: The source; where it is no document of the store, nothing is known.
        ids: Of hits.
        text: The source's, where it is not in the store.
    """
    source = engine.resolve([reference]).get(reference) if text is None else None
    if (source is None and text is None) or not ids:
        return {}
    asked = [*ids] if source is None else [source, *ids]
    signatures = engine.signatures(dict.fromkeys(asked, False))
    own = engine.sign(text) if text is not None else signatures.get(source or "")
    if own is None or not len(own):
        return {}
    there = {each: signatures[each] for each in ids if each in signatures and len(signatures[each])}
    estimates = {**_by_tokens(own, there), **_by_sketches(engine, source, list(there), text)}
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


def _by_sketches(engine: Engine, source: str | None, ids: list[str], text: str | None) -> dict[str, Estimate]:
    if engine.sketch_scheme is None:
        return {}
    sketches = engine.sketches(ids if source is None else [source, *ids])
    own = sketches.get(source or "") if text is None else text_sketch(text, engine.scheme, engine.sketch_scheme)
    if own is None:
        return {}
    measured = [each for each in ids if each in sketches]
    return dict(zip(measured, estimate(own, [sketches[each] for each in measured]), strict=True))
