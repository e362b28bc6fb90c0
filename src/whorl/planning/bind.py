"""Puts the sources' tokens, and the numbers that follow from them, into a resolved plan."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from whorl.errors import UnknownDocumentError
from whorl.fingerprint.minhash.banding import band_rows, min_should_match, wrapped_bands
from whorl.fingerprint.minhash.signature import Signature
from whorl.fingerprint.scheme import Scheme
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


def bind(plan: ResolvedPlan, signatures: Mapping[str, Signature], texts: Collection[str] = ()) -> BoundPlan:
    """Return a plan that an engine can run.

    Args:
        plan: What `resolve` returned.
        signatures: By reference; a reference that is absent names no document of the store.
        texts: The references that name texts given beside the query.

    Source: Solr4QueryParser.createFingerPrintQuery: one part asks for any shared token, two parts set a minimum,
    three parts make bands and set none.
    """
    warnings: list[str] = []

    def bound(leaf: ResolvedLeaf) -> BoundLeaf:
        return _bound(leaf, signatures, texts, warnings) if isinstance(leaf, FingerprintClause) else leaf

    root: BoundNode = mapped(plan, bound)
    return BoundPlan(root, tuple(dict.fromkeys(warnings)))


def _bound(
    clause: FingerprintClause, signatures: Mapping[str, Signature], texts: Collection[str], warnings: list[str]
) -> BoundLeaf:
    signature = signatures.get(clause.reference)
    if signature is None or not len(signature):
        reason = (
            str(UnknownDocumentError(clause.reference))
            if signature is None
            else no_fingerprint(clause.reference, signature.scheme, is_text=clause.reference in texts)
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


def no_fingerprint(reference: str, scheme: Scheme, *, is_text: bool) -> str:
    """Say why there is no fingerprint of a document, or of a text given beside the query."""
    few = f"fewer than {scheme.shingle_size} words"
    if is_text:
        return f"the text {reference!r} has no fingerprint: it has {few}"
    return (
        f"document {reference!r} has no fingerprint: its text has {few}, or it was indexed before this store made "
        "fingerprints"
    )
