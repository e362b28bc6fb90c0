"""The four sketch fields of a document in a Solr collection, and counts of the documents that have them.

`whorl_size` is the number of distinct shingles, `whorl_sample` holds the look-up tokens, `whorl_sketch` the encoded
sketch, and `whorl_scheme` the schemes that all three depend on: sketches of different schemes are never compared.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whorl.engine.solr.answer import Json, first_text
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.fields import SAMPLE, SCHEME, SIZE, SKETCH, stored_name
from whorl.engine.solr.request import EVERYTHING, without_sketch
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.codec import decode_texts, encode
from whorl.fingerprint.sketch.sketch import Sketch, SketchScheme, lookup_tokens

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
