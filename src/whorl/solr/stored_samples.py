"""The four fields in which a document of a Solr collection carries its sample, and who has them.

`whorl_size` says how many distinct shingles there are, `whorl_sample` holds the tokens to look up, `whorl_sketch` the
sample to give back, `whorl_scheme` what all three depend on: samples of another scheme are never compared.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.errors import SchemeMismatchError, StoreError
from whorl.fingerprint.sample import Sample, SampleScheme, lookup_tokens
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch import decode, encode
from whorl.solr.answer import Json, first_text

if TYPE_CHECKING:
    from whorl.solr.client import SolrClient

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


def stored_name(scheme: Scheme | str, sample_scheme: SampleScheme) -> str:
    """Return what `whorl_scheme` holds: all that a sample depends on, `minhash1-icu74-w5-b512+sample1-…`."""
    return f"{scheme if isinstance(scheme, str) else scheme.name}+{sample_scheme.name}"


def sample_fields(sample: Sample, scheme: Scheme) -> Json:
    """Return the values of the four fields for a sample.

    Raises:
        ParameterError: The document has 2**32 shingles or more.
    """
    return {
        SIZE: sample.size,
        SAMPLE: list(lookup_tokens(sample)),
        SKETCH: base64.b64encode(encode(sample)).decode("ascii"),
        SCHEME: stored_name(scheme, sample.scheme),
    }


def read_sample(document: Json, scheme: Scheme, sample_scheme: SampleScheme) -> Sample | None:
    """Return the sample of a document as it came from Solr; None where it has none, another scheme's or a damaged one.

    Args:
        document: With its fields SKETCH and SCHEME, where it has them.
        scheme: The collection's.
        sample_scheme: The samples' own.
    """
    if first_text(document.get(SCHEME)) != stored_name(scheme, sample_scheme):
        return None
    try:
        return decode(base64.b64decode(first_text(document.get(SKETCH)), validate=True), sample_scheme)
    except (binascii.Error, StoreError, SchemeMismatchError):
        return None


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many documents a collection holds, and how many of them have a sample of which scheme."""

    documents: int
    by_scheme: Mapping[str, int]

    def without(self, name: str) -> int:
        """Return how many documents have no sample under a scheme."""
        return self.documents - self.by_scheme.get(name, 0)


def coverage(client: SolrClient) -> Coverage:
    """Count the documents by the scheme of their samples, in one request; the four fields must be there."""
    schemes = {"type": "terms", "field": SCHEME, "limit": _MOST_SCHEMES}
    answer = client.post("select", {"query": {"bool": {"must": ["*:*"]}}, "limit": 0, "facet": {"schemes": schemes}})
    # An empty collection has no facets.
    buckets = answer.get("facets", {}).get("schemes", {}).get("buckets", [])
    return Coverage(
        int(answer["response"]["numFound"]), {str(bucket["val"]): int(bucket["count"]) for bucket in buckets}
    )
