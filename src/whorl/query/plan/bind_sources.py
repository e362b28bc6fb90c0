"""Last planning stage: puts the sources' tokens, minimum counts and bands into a plan."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from whorl.errors import UnknownDocumentError, quoted
from whorl.fingerprint.minhash.banding import band_rows, min_should_match, wrapped_bands
from whorl.fingerprint.minhash.signature import Signature
from whorl.fingerprint.scheme import Scheme
from whorl.query.literals import quoted_apart
from whorl.query.plan.nodes import (
    BoundLeaf,
    BoundNode,
    BoundPlan,
    FingerprintClause,
    Nothing,
    ResolvedLeaf,
    ResolvedPlan,
    SharedBands,
    SharedTokens,
    leaves,
    mapped,
)


def bind(plan: ResolvedPlan, signatures: Mapping[str, Signature], texts: Collection[str] = ()) -> BoundPlan:
    """Return a plan that an engine can run.

    A missing signature means an unknown document; `texts` names the texts given with the query.

    Source: Solr4QueryParser.createFingerPrintQuery: a FINGERPRINT with one part matches any shared token, two parts set
    a minimum, three parts make bands without a minimum.
    """
    warnings: list[str] = []

    def bound(leaf: ResolvedLeaf) -> BoundLeaf:
        return _bound(leaf, signatures, texts, warnings) if isinstance(leaf, FingerprintClause) else leaf

    root: BoundNode = mapped(plan, bound)
    warnings += _inexact([leaf for leaf in leaves(plan) if isinstance(leaf, FingerprintClause)], signatures)
    return BoundPlan(root, tuple(dict.fromkeys(warnings)))


def _inexact(clauses: Sequence[FingerprintClause], signatures: Mapping[str, Signature]) -> Iterator[str]:
    """Yield one warning about the scores, and one about the bands, of all sources with inexact signatures."""
    remedy = "name the field that stores the texts (content under [fields] in whorl.toml) to know"
    inexact = [
        clause
        for clause in clauses
        if (signature := signatures.get(clause.reference)) is not None and len(signature) and not signature.is_exact
    ]
    for has_bands, unknown in (
        (False, "how often some tokens of {0} repeat: scores may be a few off"),
        (True, "the order of some tokens of {0}: bands differ from Solr's own"),
    ):
        fitting = [clause for clause in inexact if (clause.probability is not None) is has_bands]
        sources = dict.fromkeys(repr(clause.reference) for clause in fitting)
        if sources:
            yield f"the index does not tell {unknown.format(', '.join(sources))}; {remedy}"


def _bound(
    clause: FingerprintClause, signatures: Mapping[str, Signature], texts: Collection[str], warnings: list[str]
) -> BoundLeaf:
    signature = signatures.get(clause.reference)
    if signature is None or not len(signature):
        reason = (
            unknown_document(clause.reference)
            if signature is None
            else no_fingerprint(clause.reference, signature.scheme, is_text=clause.reference in texts)
        )
        warnings.append(reason)
        return Nothing(reason)
    if clause.overlap is None:
        return SharedTokens(clause.reference, signature.integers, 1, clause.weight)
    if clause.probability is None:
        minimum = min_should_match(len(signature), clause.overlap)
        return SharedTokens(clause.reference, signature.integers, minimum, clause.weight)
    rows = band_rows(len(signature), clause.overlap, clause.probability)
    return SharedBands(clause.reference, wrapped_bands(signature.integers, rows), clause.weight)


def unknown_document(reference: str) -> str:
    """Return the message for an unknown document; if its id ends in numbers, hint that these may be an overlap."""
    apart = quoted_apart(reference)
    hint = f"; if its end is an overlap, write {apart}" if apart else ""
    return f"{UnknownDocumentError(reference)}{hint}"


def no_fingerprint(reference: str, scheme: Scheme, *, is_text: bool) -> str:
    """Return the reason why a document, or a text given with the query, has no fingerprint."""
    few = f"fewer than {scheme.shingle_size} words"
    if is_text:
        return f"the text {quoted(reference)} has no fingerprint: it has {few}"
    return (
        f"document {quoted(reference)} has no fingerprint: its text has {few}, or it was indexed before this store "
        "made fingerprints"
    )
