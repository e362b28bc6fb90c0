"""Field of passage hashes in a Solr collection: documents without it, counts per hash, and documents per hash."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from whorl.arrays import batches
from whorl.engine.lucene import holders_plan, look_up_holders, spelled_numbers
from whorl.engine.protocol import PassageHolders
from whorl.engine.solr.answer import Answer, Json
from whorl.engine.solr.clauses import exists
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.fields import PASSAGES, SIZE
from whorl.engine.solr.request import EVERYTHING, listed
from whorl.fingerprint.winnowing import PassageScheme
from whorl.query.plan.nodes import BoundNode, BoundPlan

#: Passage hashes counted in one request.
_COUNTED_AT_ONCE = 500


def without_passages(scheme: PassageScheme, text: str | None) -> dict[str, Any]:
    """Return the query for documents without passage hashes that may have some.

    The query leaves out documents with an empty sketch, whose texts are too short.

    Args:
        scheme: The scheme of the passages.
        text: The text field, if a query can find the documents with a text; otherwise all documents are considered.
    """
    is_meant = {"filter": [exists(text)]} if text else {}
    read = [{"term": {"f": PASSAGES, "query": scheme.name}}, {"lucene": {"query": f"{SIZE}:0"}}]
    return {"bool": {"must": ["*:*"], "must_not": read, **is_meant}}


def document_counts(client: SolrClient, numbers: Sequence[int], scheme: PassageScheme) -> list[int]:
    """Return the number of documents for each passage hash."""
    counts: list[int] = []
    tokens = spelled_numbers(tuple(numbers), scheme)
    for at in range(0, len(tokens), _COUNTED_AT_ONCE):
        some = tokens[at : at + _COUNTED_AT_ONCE]
        # Uncached, so that these queries do not displace entries of the filter cache that are used again.
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


#: Passage hashes encoded in one computed field, which Solr returns as a float with 24 significant bits.
_NUMBERS_IN_A_VALUE = 24


def holders(
    client: SolrClient,
    key: str,
    request: Callable[[BoundPlan, int], Json],
    counts: Mapping[int, int],
    most: int,
    among: Iterable[str],
    left_out: BoundNode | None,
) -> PassageHolders:
    """Implement `Engine.passage_holders`.

    Args:
        client: Client of the collection.
        key: The field of the documents' ids.
        request: Returns the request for the first hits of a plan; arguments are the plan and the number of hits.
        counts: See `Engine.passage_holders`, like the following arguments.
        most: Limit for frequent passage hashes.
        among: Ids of further documents.
        left_out: Documents to leave out.
    """

    def ask(numbers: Sequence[int], ids: Sequence[str] | None, rows: int) -> Iterator[tuple[str, list[int]]]:
        body = request(holders_plan(numbers, PassageScheme(), ids, left_out), rows)
        body["fields"] = [*listed([key]), *_held_fields(numbers, PassageScheme())]
        for document in client.select(body).documents:
            yield str(document[key]), _held_places(document, len(numbers))

    return look_up_holders(counts, most, among, ask)


def _held_fields(numbers: Sequence[int], scheme: PassageScheme) -> list[str]:
    """Return computed fields that encode which of the passage hashes a document has.

    Each field is a sum of powers of two, one for each hash that the document has.
    """
    fields = []
    for at, tokens in enumerate(batches(spelled_numbers(tuple(numbers), scheme), _NUMBERS_IN_A_VALUE)):
        terms = [f"product({1 << bit},termfreq({PASSAGES},'{token}'))" for bit, token in enumerate(tokens)]
        fields.append(f"held{at}:sum({','.join([*terms, '0'])})")
    return fields


def _held_places(document: Answer, numbers: int) -> list[int]:
    """Return the positions of the passage hashes that a document has, decoded from the fields of `_held_fields`.

    Args:
        document: The document in Solr's response.
        numbers: Number of requested passage hashes.
    """
    places: list[int] = []
    for at, first in enumerate(range(0, numbers, _NUMBERS_IN_A_VALUE)):
        value = int(document.number(f"held{at}"))
        places += [first + bit for bit in range(_NUMBERS_IN_A_VALUE) if value >> bit & 1]
    return places
