"""Sketches and passage hashes of the documents in a Solr collection, and the stored texts that they are made from.

`whorl_size` is the number of distinct shingles, `whorl_sample` holds the look-up tokens, `whorl_sketch` the encoded
sketch, and `whorl_scheme` the schemes that all three depend on: sketches of different schemes are never compared.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whorl.arrays import batches
from whorl.engine.lucene import holders_plan, look_up_holders, passage_hash_terms
from whorl.engine.protocol import PassageHolders
from whorl.engine.setup import FieldNames, TextField
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.fields import PASSAGES, SAMPLE, SCHEME, SIZE, SKETCH, stored_name
from whorl.engine.solr.request import EVERYTHING, exists, listed, without_sketch
from whorl.engine.solr.response import Json, SolrResponse, first_text
from whorl.engine.solr.schema import Schema, minhash_chain, names_in_use
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.codec import decode_texts, encode
from whorl.fingerprint.sketch.sketch import Sketch, SketchScheme, lookup_tokens
from whorl.fingerprint.winnowing import PassageScheme
from whorl.query.plan.nodes import BoundNode, BoundPlan

#: Maximum number of schemes in a count; far above any real number.
_MOST_SCHEMES = 1000


def sketch_fields(sketch: Sketch, scheme: Scheme) -> Json:
    """Return the values of the four fields for a sketch.

    Raises:
        ParameterError: The document has 2**32 shingles or more.
    """
    return {
        SIZE: sketch.size,
        SAMPLE: list(lookup_tokens(sketch)),
        SKETCH: base64.b64encode(encode(sketch)).decode("ascii"),
        SCHEME: stored_name(scheme, sketch.scheme),
    }


def read_sketches(documents: Sequence[Json], scheme: Scheme, sketch_scheme: SketchScheme) -> list[Sketch | None]:
    """Return the sketches of documents from Solr; None for a missing or malformed one, or one of another scheme.

    Args:
        documents: Documents with the fields SKETCH and SCHEME, if they have them.
        scheme: The collection's scheme.
        sketch_scheme: The scheme of the sketches.
    """
    name = stored_name(scheme, sketch_scheme)
    has_own = (first_text(document.get(SCHEME)) == name for document in documents)
    texts = [
        first_text(document.get(SKETCH)) if own else None for document, own in zip(documents, has_own, strict=True)
    ]
    return decode_texts(texts, sketch_scheme)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Number of documents of a collection with a sketch.

    Args:
        documents: Number of all documents.
        by_scheme: Number of documents with a sketch, by scheme name.
        searchable: Number of documents with a sketch of at least one shingle, by scheme name.
        without: Number of documents that could have a sketch under the collection's scheme, but have none.
    """

    documents: int
    by_scheme: Mapping[str, int]
    searchable: Mapping[str, int]
    without: int

    @property
    def only_scheme(self) -> str | None:
        """The name of the only scheme of all sketches; None if there are no sketches or several schemes."""
        return next(iter(self.by_scheme)) if len(self.by_scheme) == 1 else None

    def warnings(self, url: str, *, can_be_filled: bool) -> list[str]:
        """Return a warning with the number of documents that cannot be found by their sketch, if any.

        Args:
            url: The collection's URL.
            can_be_filled: Whether sketches can be made from stored texts.
        """
        if not self.without:
            return []
        makes = f"'whorl solr backfill {url}'" if can_be_filled else "indexing them again"
        share = f"{self.without:,} of {self.documents:,} documents"
        return [f"{share} have no sketch and cannot be found so; {makes} makes them"]


def coverage(client: SolrClient, scheme: str, text: str | None) -> Coverage:
    """Count the documents by the scheme of their sketches; the four fields must exist.

    Args:
        client: Client of the collection.
        scheme: The `stored_name` of the collection's own schemes.
        text: The text field, if a query can find the documents with a text; otherwise all documents are considered.
    """
    filled = {"type": "query", "q": f"{SIZE}:[1 TO *]"}
    schemes = {"type": "terms", "field": SCHEME, "limit": _MOST_SCHEMES, "facet": {"filled": filled}}
    found = client.select({"query": EVERYTHING, "limit": 0, "facet": {"schemes": schemes}})
    # An empty collection has no facets.
    facets = found.answer.object("facets", is_optional=True).object("schemes", is_optional=True)
    buckets = {str(each["val"]): each for each in facets.objects("buckets", is_optional=True)}
    return Coverage(
        found.total,
        {name: bucket.count("count") for name, bucket in buckets.items()},
        {name: count for name, bucket in buckets.items() if (count := bucket.object("filled").count("count"))},
        client.count(without_sketch(scheme, text)),
    )


#: Passage hashes counted in one request.
_COUNTED_AT_ONCE = 500


def lacks_passages(scheme: PassageScheme, text: str | None) -> dict[str, Any]:
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
    tokens = passage_hash_terms(tuple(numbers), scheme)
    for at in range(0, len(tokens), _COUNTED_AT_ONCE):
        batch = tokens[at : at + _COUNTED_AT_ONCE]
        # Uncached, so that these queries do not displace entries of the filter cache that are used again.
        facet = {
            f"n{place}": {"type": "query", "q": f"{{!term f={PASSAGES} cache=false v={token}}}"}
            for place, token in enumerate(batch)
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
    for at, tokens in enumerate(batches(passage_hash_terms(tuple(numbers), scheme), _NUMBERS_IN_A_VALUE)):
        terms = [f"product({1 << bit},termfreq({PASSAGES},'{token}'))" for bit, token in enumerate(tokens)]
        fields.append(f"held{at}:sum({','.join([*terms, '0'])})")
    return fields


def _held_places(document: SolrResponse, numbers: int) -> list[int]:
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


#: Fields counted in one request.
_AT_ONCE = 100


def stored_texts(client: SolrClient, schema: Schema, wanted: FieldNames) -> list[TextField]:
    """Return the stored text fields in use except that of the names, ordered by descending number of documents.

    A field that is not indexed is left out: no query can count its documents.
    """
    names = sorted(name for name in {*schema.fields, *names_in_use(client)} if _is_text(name, schema))
    texts = []
    for at in range(0, len(names), _AT_ONCE):
        batch = [name for name in names[at : at + _AT_ONCE] if name != wanted.name or name == wanted.content]
        counts = {
            f"field{number}": {"type": "query", "q": exists(name)["lucene"]["query"]}
            for number, name in enumerate(batch)
        }
        answer = client.select({"query": EVERYTHING, "limit": 0, "facet": counts}).answer
        facets = answer.object("facets", is_optional=True)
        for number, name in enumerate(batch):
            if count := int(facets.object(f"field{number}", is_optional=True).get("count", 0)):
                texts.append(TextField(name, count))
    return sorted(texts, key=lambda field: (-field.documents, field.name))


def _is_text(name: str, schema: Schema) -> bool:
    field = schema.describe(name)
    if field is None or name.startswith(("whorl_", "_")) or not schema.is_text(name):
        return False
    return (
        schema.is_stored(name) and bool(field.get("indexed", True)) and not minhash_chain(schema.types[field["type"]])
    )
