"""`whorl solr check --sample`: a collection's own tokens beside those made here from its stored texts."""

from __future__ import annotations

from collections.abc import Iterator

from whorl.engine.solr.answer import Json, first_text, vectors
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.doctor import Finding, Level
from whorl.engine.solr.request import vector_parameters
from whorl.engine.solr.schema import Collection, FieldNames, TokenSource, inspect
from whorl.fingerprint.minhash.signature import sign

#: Documents fetched at once; each brings its whole text.
_AT_ONCE = 20


def compare_sample(client: SolrClient, wanted: FieldNames, count: int) -> Finding:
    """Fingerprint the first texts of a collection here and compare them with the tokens in its index.

    Args:
        client: Where the collection is.
        wanted: What it calls its fields.
        count: Documents to compare, at least 1, in the order of their ids.

    Raises:
        SchemaError: There is no field of tokens.
    """
    collection = inspect(client, wanted)
    if collection.content is None or not collection.sources or collection.sources[0] is TokenSource.TEXT:
        return Finding(
            Level.WARNING,
            "nothing-to-compare",
            "a sample needs both the stored text and tokens that can be read back, and one of them is missing",
        )
    compared, differing = 0, []
    for document, indexed in _documents(client, collection, count):
        # Solr makes a fingerprint of each value.
        texts = map(first_text, _values(document.get(collection.content)))
        made = {token for text in texts for token in sign(text, collection.scheme, collection.spelling).tokens}
        compared += 1
        if made != indexed:
            differing.append((str(document[collection.names.key]), len(made & indexed), len(made), len(indexed)))
    if not compared:
        return Finding(Level.NOTE, "nothing-to-compare", "there are no documents to compare yet")
    return _finding(collection, compared, differing)


def _finding(collection: Collection, compared: int, differing: list[tuple[str, int, int, int]]) -> Finding:
    if not differing:
        return Finding(
            Level.OK,
            "sample-agrees",
            f"{compared:,} stored texts compared: whorl makes the very tokens that the index holds "
            f"({collection.scheme.name})",
        )
    name, shared, made, indexed = differing[0]
    return Finding(
        Level.WARNING,
        "sample-differs",
        f"{len(differing):,} of {compared:,} stored texts give other tokens here than in the index; the first is "
        f"{name!r}: {made} tokens made here, {indexed} in the index, {shared} the same",
        "index it again if its text or the schema has changed since; else texts given to whorl (--source) are compared "
        "by other words than the index",
    )


def _documents(client: SolrClient, collection: Collection, count: int) -> Iterator[tuple[Json, set[str]]]:
    """Yield documents with the distinct tokens that the index holds for them."""
    names = collection.names
    by_vectors = collection.sources[0] is TokenSource.TERM_VECTORS
    fields = [names.key, str(collection.content), *([] if by_vectors else [names.minhash])]
    for start in range(0, count, _AT_ONCE):
        body = {
            "query": {"bool": {"must": ["*:*"]}},
            "offset": start,
            "limit": min(_AT_ONCE, count - start),
            "fields": fields,
            "sort": f"{names.key} asc",
        }
        handler, parameters = "select", {}
        if by_vectors:
            handler, parameters = str(collection.vector_handler), vector_parameters(names.minhash)
        answer = client.post(handler, body, **parameters)
        found = vectors(answer, names.minhash) if by_vectors else {}
        for document in answer["response"]["docs"]:
            stored = map(str, _values(document.get(names.minhash)))
            yield document, set(found.get(str(document[names.key]), {}) if by_vectors else stored)


def _values(value: object) -> list[object]:
    """Return the values of a field, of which Solr writes one that cannot be several without brackets."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
