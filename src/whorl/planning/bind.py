"""Puts the sources' tokens, and the numbers that follow from them, into a resolved plan."""

from __future__ import annotations

from collections.abc import Mapping

from whorl.errors import UnknownDocumentError
from whorl.fingerprint.minhash.banding import band_rows, min_should_match, wrapped_bands
from whorl.fingerprint.minhash.signature import Signature
from whorl.planning.build import (
    BoundLeaf,
    BoundNode,
    BoundPlan,
    FingerprintClause,
    Nothing,
    ResolvedLeaf,
    ResolvedPlan,
    SharedBands,
    SharedTokens,
    mapped,
)


def bind(plan: ResolvedPlan, signatures: Mapping[str, Signature]) -> BoundPlan:
    """Return a plan that an engine can run.

    Args:
        plan: What `resolve` returned.
        signatures: By reference; a reference that is absent names no document of the store.

    Source: Solr4QueryParser.createFingerPrintQuery: one part asks for any shared token, two parts set a minimum,
    three parts make bands and set none.
    """
    warnings: list[str] = []

    def bound(leaf: ResolvedLeaf) -> BoundLeaf:
        return _bound(leaf, signatures, warnings) if isinstance(leaf, FingerprintClause) else leaf

    root: BoundNode = mapped(plan, bound)
    return BoundPlan(root, tuple(dict.fromkeys(warnings)))


def _bound(clause: FingerprintClause, signatures: Mapping[str, Signature], warnings: list[str]) -> BoundLeaf:
    signature = signatures.get(clause.reference)
    if signature is None or not len(signature):
        reason = (
            str(UnknownDocumentError(clause.reference)) if signature is None else no_tokens(clause.reference, signature)
        )
        warnings.append(reason)
        return Nothing(reason)
    if not signature.is_exact:
        unknown = "how often some tokens of {0!r} repeat: scores may be a few off"
        if clause.probability is not None:
            unknown = "the order of some tokens of {0!r}: its bands differ from Solr's own"
        warnings.append(f"the index does not tell {unknown.format(clause.reference)}")
    if clause.overlap is None:
        return SharedTokens(clause.reference, signature.integers, 1, clause.weight)
    if clause.probability is None:
        minimum = min_should_match(len(signature), clause.overlap)
        return SharedTokens(clause.reference, signature.integers, minimum, clause.weight)
    rows = band_rows(len(signature), clause.overlap, clause.probability)
    return SharedBands(clause.reference, wrapped_bands(signature.integers, rows), clause.weight)


def no_tokens(reference: str, signature: Signature) -> str:
    """Say that a document has no fingerprint."""
    return (
        f"document {reference!r} has no fingerprint: its text has fewer than {signature.scheme.shingle_size} words, "
        "or it was indexed before this store made fingerprints"
    )
