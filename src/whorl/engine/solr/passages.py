"""The field by which a Solr collection finds passages with certainty: who has it, and how many have each number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whorl.engine.passages import spelled_numbers
from whorl.engine.solr.clauses import exists
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.fields import PASSAGES, SIZE
from whorl.engine.solr.request import EVERYTHING
from whorl.fingerprint.winnow import PassageScheme

#: Numbers counted in one request.
_COUNTED_AT_ONCE = 500


def without_passages(scheme: PassageScheme, text: str | None) -> dict[str, Any]:
    """Return the query that matches the documents whose passages have not been kept, though they may have some.

    A document with an empty sketch has too few words.

    Args:
        scheme: Of the passages.
        text: A field that they have, where a query can tell who has a text; else any document is meant.
    """
    is_meant = {"filter": [exists(text)]} if text else {}
    read = [{"term": {"f": PASSAGES, "query": scheme.name}}, {"lucene": {"query": f"{SIZE}:0"}}]
    return {"bool": {"must": ["*:*"], "must_not": read, **is_meant}}


def document_counts(client: SolrClient, numbers: Sequence[int], scheme: PassageScheme) -> list[int]:
    """Return how many documents have each of some numbers."""
    counts: list[int] = []
    tokens = spelled_numbers(tuple(numbers), scheme)
    for at in range(0, len(tokens), _COUNTED_AT_ONCE):
        some = tokens[at : at + _COUNTED_AT_ONCE]
        # Not in the filter cache, where they would take the place of what is asked again.
        facet = {
            f"n{place}": {"type": "query", "q": f"{{!term f={PASSAGES} cache=false v={token}}}"}
            for place, token in enumerate(some)
        }
        found = client.select({"query": EVERYTHING, "limit": 0, "facet": facet}).answer
        # An empty collection has no facets.
        facets = found.object("facets", is_optional=True)
        parts = [facets.object(name, is_optional=True) for name in facet]
        counts += [part.count("count") if part else 0 for part in parts]
    return counts
