"""The four fields in which a document of a Solr collection carries its sketch, and who has them.

`whorl_size` says how many distinct shingles there are, `whorl_sample` holds the tokens to look up, `whorl_sketch` the
sketch to give back, `whorl_scheme` what all three depend on: sketches of another scheme are never compared.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whorl.engine.solr.answer import Json, first_text
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.fields import SAMPLE, SCHEME, SIZE, SKETCH, stored_name
from whorl.engine.solr.request import EVERYTHING, without_sketch
from whorl.errors import SchemeMismatchError, StoreError
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.codec import decode, decode_all, encode
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


def read_sketch(document: Json, scheme: Scheme, sketch_scheme: SketchScheme) -> Sketch | None:
    """Return the sketch of a document as it came from Solr; None where it has none, another scheme's or a damaged one.

    Args:
        document: With its fields SKETCH and SCHEME, where it has them.
        scheme: The collection's.
        sketch_scheme: The sketches' own.
    """
    if first_text(document.get(SCHEME)) != stored_name(scheme, sketch_scheme):
        return None
    try:
        return decode(binascii.a2b_base64(first_text(document.get(SKETCH)), strict_mode=True), sketch_scheme)
    except (ValueError, StoreError, SchemeMismatchError):
        return None


def read_sketches(documents: Sequence[Json], scheme: Scheme, sketch_scheme: SketchScheme) -> Sequence[Sketch | None]:
    """Return what `read_sketch` does, of many documents at once."""
    name = stored_name(scheme, sketch_scheme)
    own = [at for at, document in enumerate(documents) if first_text(document.get(SCHEME)) == name]
    try:
        raws = [binascii.a2b_base64(first_text(documents[at].get(SKETCH)), strict_mode=True) for at in own]
        found = dict(zip(own, decode_all(raws, sketch_scheme), strict=True))
    except (ValueError, StoreError, SchemeMismatchError):
        return [read_sketch(document, scheme, sketch_scheme) for document in documents]
    return [found.get(at) for at in range(len(documents))]


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
