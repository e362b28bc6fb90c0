"""The four fields in which a document of a Solr collection carries its sketch, and who has them.

`whorl_size` says how many distinct shingles there are, `whorl_sample` holds the tokens to look up, `whorl_sketch` the
sketch to give back, `whorl_scheme` what all three depend on: sketches of another scheme are never compared.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.engine.solr.answer import Json, first_text
from whorl.errors import SchemeMismatchError, StoreError
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.codec import decode, encode
from whorl.fingerprint.sketch.sketch import Sketch, SketchScheme, lookup_tokens

if TYPE_CHECKING:
    from whorl.engine.solr.client import SolrClient

SIZE, SAMPLE, SKETCH, SCHEME = "whorl_size", "whorl_sample", "whorl_sketch", "whorl_scheme"
#: What each of them must be for searches to work.
NEEDED: Mapping[str, tuple[str, ...]] = {
    SIZE: ("indexed",),
    SAMPLE: ("indexed", "multiValued"),
    SKETCH: ("stored",),
    SCHEME: ("indexed", "docValues"),
}
#: Schemes told apart in a count; nobody has had so many.
_MOST_SCHEMES = 1000


def stored_name(scheme: Scheme | str, sketch_scheme: SketchScheme) -> str:
    """Return what `whorl_scheme` holds: all that a sketch depends on, `minhash1-icu74-w5-b512+sketch1-…`."""
    return f"{scheme if isinstance(scheme, str) else scheme.name}+{sketch_scheme.name}"


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
        return decode(base64.b64decode(first_text(document.get(SKETCH)), validate=True), sketch_scheme)
    except (binascii.Error, StoreError, SchemeMismatchError):
        return None


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many documents a collection holds, and how many of them have a sketch of which scheme."""

    documents: int
    by_scheme: Mapping[str, int]

    def without(self, name: str) -> int:
        """Return how many documents have no sketch under a scheme."""
        return self.documents - self.by_scheme.get(name, 0)


def coverage(client: SolrClient) -> Coverage:
    """Count the documents by the scheme of their sketches, in one request; the four fields must be there."""
    schemes = {"type": "terms", "field": SCHEME, "limit": _MOST_SCHEMES}
    answer = client.post("select", {"query": {"bool": {"must": ["*:*"]}}, "limit": 0, "facet": {"schemes": schemes}})
    # An empty collection has no facets.
    buckets = answer.get("facets", {}).get("schemes", {}).get("buckets", [])
    return Coverage(
        int(answer["response"]["numFound"]), {str(bucket["val"]): int(bucket["count"]) for bucket in buckets}
    )
