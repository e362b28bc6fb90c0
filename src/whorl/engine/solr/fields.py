"""The fields of a Solr collection that whorl reads and fills: their names, definitions and types, in one place.

`solr/configset` has the same definitions in XML; `whorl solr init` adds those that a collection lacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from whorl.engine.solr.answer import Json
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import SketchScheme
from whorl.model import CLUSTER, IS_PRINCIPAL
from whorl.planning.clauses import Kind

#: The four fields of a sketch: how many distinct shingles there are, the tokens to look up, the sketch to give back,
#: and what all three depend on.
SIZE, SAMPLE, SKETCH, SCHEME = "whorl_size", "whorl_sample", "whorl_sketch", "whorl_scheme"
#: What each of them must be for searches to work.
NEEDED: Mapping[str, tuple[str, ...]] = {
    SIZE: ("indexed",),
    SAMPLE: ("indexed", "multiValued"),
    SKETCH: ("stored",),
    SCHEME: ("indexed", "docValues"),
}
#: The field of the numbers of passages, which a collection has or not, and what it must be.
PASSAGES, NEEDED_OF_PASSAGES = "whorl_passages", ("indexed", "multiValued")
#: The field that holds what a document looked like when it was indexed, so that it is not indexed twice.
DIGEST = "whorl_digest"
#: What the names of the fields begin with that hold whole values beside a field of words.
BESIDE: Mapping[Kind, str] = {
    Kind.KEYWORD: "whorl_keyword_",
    Kind.INTEGER: "whorl_integer_",
    Kind.FLOAT: "whorl_float_",
    Kind.DATE: "whorl_date_",
    Kind.BOOLEAN: "whorl_boolean_",
}
#: The types that these need.
VALUE_TYPES: tuple[Json, ...] = (
    {"name": "plong", "class": "solr.LongPointField", "docValues": True},
    {"name": "pdouble", "class": "solr.DoublePointField", "docValues": True},
    {"name": "pdate", "class": "solr.DatePointField", "docValues": True},
    {"name": "boolean", "class": "solr.BoolField", "sortMissingLast": True},
)
_TYPE_NAMES = {
    Kind.KEYWORD: "string",
    Kind.INTEGER: "plong",
    Kind.FLOAT: "pdouble",
    Kind.DATE: "pdate",
    Kind.BOOLEAN: "boolean",
}
#: The dynamic fields for them.
DYNAMIC_FIELDS: tuple[Json, ...] = tuple(
    {
        "name": f"{BESIDE[kind]}*",
        "type": name,
        "indexed": True,
        "stored": False,
        "docValues": True,
        "multiValued": True,
    }
    for kind, name in _TYPE_NAMES.items()
)

# Folding by nfkc_cf is the filter's default; its parameter is called otherwise in Solr 8.
_FOLD: Json = {"class": "solr.ICUNormalizer2FilterFactory"}
_WORDS: Json = {"class": "solr.ICUTokenizerFactory"}
# Folding can make a word too long for Lucene, which would then refuse the document.
_SHORT_ENOUGH: Json = {"class": "solr.LengthFilterFactory", "min": "0", "max": "8000"}

TYPES: tuple[Json, ...] = (
    {
        "name": "text_whorl",
        "class": "solr.TextField",
        "positionIncrementGap": "100",
        "analyzer": {"tokenizer": _WORDS, "filters": [_FOLD, _SHORT_ENOUGH]},
    },
    {
        "name": "text_min_hash",
        "class": "solr.TextField",
        "positionIncrementGap": "100",
        "indexAnalyzer": {
            "tokenizer": _WORDS,
            "filters": [
                _FOLD,
                {
                    "class": "solr.ShingleFilterFactory",
                    "minShingleSize": "5",
                    "maxShingleSize": "5",
                    "outputUnigrams": "false",
                    "outputUnigramsIfNoShingles": "false",
                    "tokenSeparator": " ",
                },
                {
                    "class": "solr.MinHashFilterFactory",
                    "bucketCount": "512",
                    "hashSetSize": "1",
                    "hashCount": "1",
                    "withRotation": "true",
                },
                {"class": "solr.TruncateTokenFilterFactory", "prefixLength": "4"},
            ],
        },
        "queryAnalyzer": {"tokenizer": {"class": "solr.KeywordTokenizerFactory"}},
    },
    {"name": "pint", "class": "solr.IntPointField", "docValues": True},
    {"name": "binary", "class": "solr.BinaryField"},
    *VALUE_TYPES,
)

_TOKENS: Json = {
    "type": "string",
    "indexed": True,
    "stored": False,
    "docValues": False,
    "multiValued": True,
    "omitNorms": True,
    "omitTermFreqAndPositions": True,
}
#: What a document says of its cluster; `{!collapse field=…}` goes by the docValues.
CLUSTER_FIELDS: tuple[Json, ...] = (
    {"name": CLUSTER, "type": "string", "indexed": True, "stored": False, "docValues": True},
    {"name": IS_PRINCIPAL, "type": "boolean", "indexed": True, "stored": False, "docValues": True},
)
PASSAGE_FIELD: Json = {"name": PASSAGES, **_TOKENS}
FIELDS: tuple[Json, ...] = (
    {"name": "name", "type": "text_whorl", "indexed": True, "stored": True},
    {"name": "content", "type": "text_whorl", "indexed": True, "stored": True},
    {
        "name": "MINHASH",
        "type": "text_min_hash",
        "indexed": True,
        "stored": False,
        "omitNorms": True,
        "omitTermFreqAndPositions": True,
    },
    {"name": "DBID", "type": "string", "indexed": True, "stored": True},
    {"name": "LID", "type": "string", "indexed": True, "stored": True},
    {"name": DIGEST, "type": "string", "indexed": False, "stored": True, "docValues": False},
    {"name": SIZE, "type": "pint", "indexed": True, "stored": False, "docValues": True},
    {"name": SAMPLE, **_TOKENS},
    {"name": SKETCH, "type": "binary", "indexed": False, "stored": True},
    {"name": SCHEME, "type": "string", "indexed": True, "stored": False, "docValues": True},
    *CLUSTER_FIELDS,
)

#: What a collection needs beside these where no text is stored that a source's tokens could be made from.
VECTORS: Json = {"termVectors": True}
VECTOR_COMPONENT: Json = {"name": "termVectors", "class": "solr.TermVectorComponent"}
VECTOR_HANDLER: Json = {
    "name": "/tvrh",
    "class": "solr.SearchHandler",
    "defaults": {"tv": True, "echoParams": "none"},
    "last-components": ["termVectors"],
}


@lru_cache
def stored_name(scheme: Scheme | str, sketch_scheme: SketchScheme) -> str:
    """Return what `whorl_scheme` holds: all that a sketch depends on, `minhash1-icu74-w5-b512+sketch2-…`."""
    return f"{scheme if isinstance(scheme, str) else scheme.name}+{sketch_scheme.name}"
