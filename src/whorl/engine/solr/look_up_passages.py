"""Looks up passage hashes in Solr: finds and counts the documents that have each hash."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from whorl.arrays import batches
from whorl.engine.index_terms import passage_hash_terms
from whorl.engine.solr.client import Json, SolrClient, SolrResponse
from whorl.engine.solr.field_definitions import PASSAGES, SIZE
from whorl.engine.solr.request_body import EVERYTHING, exists, listed
from whorl.fingerprint.winnowing import PassageScheme

#: Maximum number of passage hashes to count in one request.
_COUNTED_AT_ONCE = 500


def lacks_passages(scheme: PassageScheme, text: str | None) -> dict[str, Any]:
    """Return the query for documents without passage hashes.

    If `text` names a field, match only documents with a value in it.
    """
    # An empty sketch means that the text is too short for passages.
    complete = [{"term": {"f": PASSAGES, "query": scheme.name}}, {"lucene": {"query": f"{SIZE}:0"}}]
    return {"bool": {"must": ["*:*"], "must_not": complete, **({"filter": [exists(text)]} if text else {})}}


def document_counts(client: SolrClient, numbers: Sequence[int], scheme: PassageScheme) -> list[int]:
    counts: list[int] = []
    for terms in batches(passage_hash_terms(tuple(numbers), scheme), _COUNTED_AT_ONCE):
        # These queries would displace useful entries of the filter cache, so do not cache them.
        facets = {
            f"n{position}": {"type": "query", "q": f"{{!term f={PASSAGES} cache=false v={term}}}"}
            for position, term in enumerate(terms)
        }
        answer = client.select({"query": EVERYTHING, "limit": 0, "facet": facets}).answer
        # An empty collection has no facets.
        results = answer.object("facets", is_optional=True)
        counted = [results.object(name, is_optional=True) for name in facets]
        counts += [facet.count("count") if facet else 0 for facet in counted]
    return counts


#: Number of passage hashes in a computed field (`_held_fields`): a float has 24 significant bits.
_BITS = 24


def held_hashes(
    client: SolrClient, body: Json, key: str, numbers: Sequence[int], scheme: PassageScheme
) -> Iterator[tuple[str, list[int]]]:
    """Run a search; yield each hit's id and the positions in `numbers` of its passage hashes.

    `key` is the field of ids.

    This replaces the requested fields in `body`.
    """
    body["fields"] = [*listed([key]), *_held_fields(numbers, scheme)]
    for document in client.select(body).documents:
        yield str(document[key]), _held_positions(document, len(numbers))


def _held_fields(numbers: Sequence[int], scheme: PassageScheme) -> list[str]:
    """Return computed fields. Their values are sums of powers of two, one power for each hash that a document has."""
    fields = []
    for at, terms in enumerate(batches(passage_hash_terms(tuple(numbers), scheme), _BITS)):
        powers = [f"product({1 << bit},termfreq({PASSAGES},'{term}'))" for bit, term in enumerate(terms)]
        fields.append(f"held{at}:sum({','.join([*powers, '0'])})")
    return fields


def _held_positions(document: SolrResponse, numbers: int) -> list[int]:
    """Decode the computed fields of `_held_fields` in a document; return the positions of its hashes in the request."""
    positions: list[int] = []
    for at, first in enumerate(range(0, numbers, _BITS)):
        value = int(document.number(f"held{at}"))
        positions += [first + bit for bit in range(_BITS) if value >> bit & 1]
    return positions
