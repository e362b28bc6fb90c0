"""The four fields in which a document of a Solr collection carries its sketch, and who has them.

`whorl_size` says how many distinct shingles there are, `whorl_sample` holds the tokens to look up, `whorl_sketch` the
sketch to give back, `whorl_scheme` what all three depend on: sketches of another scheme are never compared.
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

#: Schemes told apart in a count; nobody has had so many.
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
    """Return the sketches of documents as they came from Solr; None where one has none, another scheme's or a bad one.

    Args:
        documents: With their fields SKETCH and SCHEME, where they have them.
        scheme: The collection's.
        sketch_scheme: The sketches' own.
    """
    name = stored_name(scheme, sketch_scheme)
    has_own = (first_text(document.get(SCHEME)) == name for document in documents)
    texts = [
        first_text(document.get(SKETCH)) if own else None for document, own in zip(documents, has_own, strict=True)
    ]
    return decode_texts(texts, sketch_scheme)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many documents of a collection have a sketch.

    Args:
        documents: All that there are.
        by_scheme: Those with a sketch of a scheme, by its name.
        searchable: Those of them whose sketch holds any shingles, by the scheme's name.
        without: Those that could be given a sketch under the collection's scheme and have none.
    """

    documents: int
    by_scheme: Mapping[str, int]
    searchable: Mapping[str, int]
    without: int

    @property
    def only_scheme(self) -> str | None:
        """The name of the scheme that all sketches have; None where there are none, or several."""
        return next(iter(self.by_scheme)) if len(self.by_scheme) == 1 else None

    def warnings(self, url: str, *, can_be_filled: bool) -> list[str]:
        """Say how many documents cannot be found by their sketch, if any cannot.

        Args:
            url: Of the collection.
            can_be_filled: Whether the documents' texts are there to make sketches of.
        """
        if not self.without:
            return []
        makes = f"'whorl solr backfill {url}'" if can_be_filled else "indexing them again"
        share = f"{self.without:,} of {self.documents:,} documents"
        return [f"{share} have no sketch and cannot be found so; {makes} makes them"]


def coverage(client: SolrClient, scheme: str, text: str | None) -> Coverage:
    """Count the documents by the scheme of their sketches; the four fields must be there.

    Args:
        client: Where the collection is.
        scheme: The `stored_name` of the collection's own.
        text: The field of the texts, where a query can tell who has one; else any document may.
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
