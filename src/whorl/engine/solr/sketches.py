"""Reads the sketches of documents in a Solr collection.

`whorl_size` is the number of distinct shingles, `whorl_sample` holds the look-up tokens, `whorl_sketch` the encoded
sketch, and `whorl_scheme` the schemes that all three depend on: sketches of different schemes are never compared.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whorl.engine.solr.client import Json, SolrClient, first_text
from whorl.engine.solr.fields import SAMPLE, SCHEME, SIZE, SKETCH, stored_name
from whorl.engine.solr.request import EVERYTHING, without_sketch
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.codec import decode_texts, encode
from whorl.fingerprint.sketch.sketch import Sketch, SketchScheme, lookup_tokens

#: Maximum number of schemes in a count; far more than a collection can have in practice.
_MOST_SCHEMES = 1000


def sketch_fields(sketch: Sketch, scheme: Scheme) -> Json:
    """Return the values of a sketch's four fields; raise ParameterError for 2**32 shingles or more."""
    return {
        SIZE: sketch.size,
        SAMPLE: list(lookup_tokens(sketch)),
        SKETCH: base64.b64encode(encode(sketch)).decode("ascii"),
        SCHEME: stored_name(scheme, sketch.scheme),
    }


def read_sketches(documents: Sequence[Json], scheme: Scheme, sketch_scheme: SketchScheme) -> list[Sketch | None]:
    """Return the sketch of each document, or None if its sketch is missing, malformed or of another scheme."""
    name = stored_name(scheme, sketch_scheme)
    encoded = [
        first_text(document.get(SKETCH)) if first_text(document.get(SCHEME)) == name else None for document in documents
    ]
    return decode_texts(encoded, sketch_scheme)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Numbers of documents with and without a sketch.

    Args:
        documents: All documents.
        by_scheme: Documents with a sketch, by the name of the scheme.
        searchable: Documents with a sketch that is not empty, by the name of the scheme.
        without: Documents that may have a text and lack a sketch of the collection's scheme.
    """

    documents: int
    by_scheme: Mapping[str, int]
    searchable: Mapping[str, int]
    without: int

    @property
    def only_scheme(self) -> str | None:
        """The scheme of all sketches; None if there are several schemes or no sketches."""
        return next(iter(self.by_scheme)) if len(self.by_scheme) == 1 else None

    def warnings(self, url: str, *, can_be_filled: bool) -> list[str]:
        if not self.without:
            return []
        makes = f"'whorl solr backfill {url}'" if can_be_filled else "indexing them again"
        share = f"{self.without:,} of {self.documents:,} documents"
        return [f"{share} have no sketch and cannot be found so; {makes} makes them"]


def coverage(client: SolrClient, scheme: str, text: str | None) -> Coverage:
    """Count the documents by the scheme of their sketches; the four fields of a sketch must exist.

    Args:
        scheme: The `stored_name` of the collection's own schemes.
        text: The text field, if it can be searched: then only documents with a text count as lacking a sketch.
    """
    filled = {"type": "query", "q": f"{SIZE}:[1 TO *]"}
    schemes = {"type": "terms", "field": SCHEME, "limit": _MOST_SCHEMES, "facet": {"filled": filled}}
    selected = client.select({"query": EVERYTHING, "limit": 0, "facet": {"schemes": schemes}})
    # An empty collection has no facets.
    facet = selected.answer.object("facets", is_optional=True).object("schemes", is_optional=True)
    buckets = {str(bucket["val"]): bucket for bucket in facet.objects("buckets", is_optional=True)}
    return Coverage(
        selected.total,
        {name: bucket.count("count") for name, bucket in buckets.items()},
        {name: count for name, bucket in buckets.items() if (count := bucket.object("filled").count("count"))},
        client.count(without_sketch(scheme, text)),
    )
