"""`whorl solr check --sample`: compare indexed tokens with tokens that whorl makes from the stored texts."""

from __future__ import annotations

from collections.abc import Iterator

from whorl.engine.findings import Finding, Severity
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.request import EVERYTHING, listed, search_request, vector_parameters
from whorl.engine.solr.response import SolrResponse, term_vectors, texts
from whorl.engine.solr.schema import Collection, FieldNames, TokenSource, inspect
from whorl.fingerprint.minhash.signature import sign
from whorl.query.plan.nodes import Bool, BoundPlan, DocumentIds, SharedTokens

#: Sampled documents fetched per request; each includes its whole text.
_AT_ONCE = 20


def compare_sample(client: SolrClient, wanted: FieldNames, count: int) -> Finding:
    """Fingerprint the first texts of a collection and compare the tokens with its index.

    Args:
        client: Client of the collection.
        wanted: The collection's field names.
        count: Documents to compare, at least 1, in the order of their ids.

    Raises:
        SchemaError: The collection has neither a field of tokens nor the fields of sketches.
    """
    collection = inspect(client, wanted)
    if collection.content is None or not collection.sources or not collection.has_minhash:
        return Finding(
            Severity.WARNING,
            "nothing-to-compare",
            "a sample needs both the stored text and tokens, and one of them is missing",
        )
    compared = 0
    differing: list[tuple[str, int, int, int | None]] = []
    for document, indexed in _sampled(client, collection, count):
        # Solr makes a fingerprint of each value.
        signatures = [
            sign(text, collection.scheme, collection.spelling) for text in texts(document.get(collection.content))
        ]
        made = {token for signature in signatures for token in signature.tokens}
        compared += 1
        key = str(document[collection.names.key])
        if indexed is None:
            shared = _matching(client, collection, key, {each for own in signatures for each in own.integers})
            if shared != len(made):
                differing.append((key, shared, len(made), None))
        elif made != indexed:
            differing.append((key, len(made & indexed), len(made), len(indexed)))
    if not compared:
        return Finding(Severity.NOTE, "nothing-to-compare", "there are no documents to compare yet")
    return _sample_finding(collection, compared, differing)


def _matching(client: SolrClient, collection: Collection, document_id: str, tokens: set[int]) -> int:
    """Return the number of the given tokens that a document has in the index."""
    if not tokens:
        return 0
    only = DocumentIds(document_id, ((0.0, (document_id,)),))
    plan = BoundPlan(Bool(must=(SharedTokens(document_id, tuple(sorted(tokens))), only)))
    found = client.select(search_request(plan, collection.names, start=0, rows=1)).documents
    return round(found[0].number("score")) if found else 0


def _sample_finding(
    collection: Collection, compared: int, differing: list[tuple[str, int, int, int | None]]
) -> Finding:
    if not differing:
        return Finding(
            Severity.OK,
            "sample-agrees",
            f"{compared:,} stored texts compared: whorl makes the very tokens that the index holds "
            f"({collection.scheme.name})",
        )
    name, shared, made, indexed = differing[0]
    there = "" if indexed is None else f", {indexed} in the index"
    return Finding(
        Severity.WARNING,
        "sample-differs",
        f"{len(differing):,} of {compared:,} stored texts give other tokens here than in the index; the first is "
        f"{name!r}: {made} tokens made here{there}, {shared} the same",
        "index it again if its text or the schema has changed since; else texts given to whorl (--source) are compared "
        "by other words than the index",
    )


def _sampled(client: SolrClient, collection: Collection, count: int) -> Iterator[tuple[SolrResponse, set[str] | None]]:
    """Yield documents with their distinct indexed tokens, None if these cannot be read."""
    names, source = collection.names, collection.sources[0]
    by_vectors, is_read = source is TokenSource.TERM_VECTORS, source is not TokenSource.TEXT
    fields = [names.key, str(collection.content), *([names.minhash] if is_read and not by_vectors else [])]
    for start in range(0, count, _AT_ONCE):
        body = {
            "query": EVERYTHING,
            "offset": start,
            "limit": min(_AT_ONCE, count - start),
            "fields": listed(fields),
            "sort": f"{names.key} asc",
        }
        handler, parameters = "select", {}
        if by_vectors:
            handler, parameters = str(collection.vector_handler), vector_parameters(names.minhash)
        selected = client.select(body, handler, **parameters)
        found = term_vectors(selected.answer, names.minhash) if by_vectors else {}
        for document in selected.documents:
            stored = texts(document.get(names.minhash))
            tokens = set(found.get(str(document[names.key]), {}) if by_vectors else stored)
            yield document, tokens if is_read else None
