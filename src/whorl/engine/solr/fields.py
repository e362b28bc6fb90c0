"""Fields that whorl reads and fills in a Solr collection: names, definitions and types.

`solr/configset` has the same definitions in XML; `whorl solr init` adds the missing ones to a collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from whorl.engine.solr.response import Json
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import SketchScheme
from whorl.model import CLUSTER, IS_PRINCIPAL
from whorl.query.plan.nodes import Kind

#: The four fields of a sketch: the number of distinct shingles, the look-up tokens, the encoded sketch, and the name of
#: the schemes that all three depend on.
SIZE, SAMPLE, SKETCH, SCHEME = "whorl_size", "whorl_sample", "whorl_sketch", "whorl_scheme"
#: Properties that searches need each of these fields to have.
NEEDED: Mapping[str, tuple[str, ...]] = {
    SIZE: ("indexed",),
    SAMPLE: ("indexed", "multiValued"),
    SKETCH: ("stored",),
    SCHEME: ("indexed", "docValues"),
}
#: The optional field of passage hashes and the properties that it needs.
PASSAGES, NEEDED_OF_PASSAGES = "whorl_passages", ("indexed", "multiValued")
#: Field of the indexed document's digest, so that unchanged documents are not indexed again.
DIGEST = "whorl_digest"
#: Prefixes of the dynamic fields that hold whole values in addition to a text field.
BESIDE: Mapping[Kind, str] = {
    Kind.KEYWORD: "whorl_keyword_",
    Kind.INTEGER: "whorl_integer_",
    Kind.FLOAT: "whorl_float_",
    Kind.DATE: "whorl_date_",
    Kind.BOOLEAN: "whorl_boolean_",
}
#: Field types of these dynamic fields.
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
#: Definitions of these dynamic fields.
DYNAMIC_FIELDS: tuple[Json, ...] = tuple(
    {"name": f"{BESIDE[kind]}*", "type": name, "indexed": True, "stored": False, "docValues": True, "multiValued": True}
    for kind, name in _TYPE_NAMES.items()
)

# nfkc_cf is the filter's default form; its parameter has another name in Solr 8.
_FOLD: Json = {"class": "solr.ICUNormalizer2FilterFactory"}
_WORDS: Json = {"class": "solr.ICUTokenizerFactory"}
# Folding can make a word too long for Lucene, which would then refuse the document.
_SHORT_ENOUGH: Json = {"class": "solr.LengthFilterFactory", "min": "0", "max": "8000"}
#: Splits names at `_` and `.`, which Unicode's word-break rules do not.
SPLIT_NAMES: Json = {"class": "solr.PatternReplaceCharFilterFactory", "pattern": "[_.]", "replacement": " "}

TYPES: tuple[Json, ...] = (
    {
        "name": "text_whorl",
        "class": "solr.TextField",
        "positionIncrementGap": "100",
        "analyzer": {"tokenizer": _WORDS, "filters": [_FOLD, _SHORT_ENOUGH]},
    },
    {
        "name": "text_whorl_names",
        "class": "solr.TextField",
        "positionIncrementGap": "100",
        "analyzer": {"charFilters": [SPLIT_NAMES], "tokenizer": _WORDS, "filters": [_FOLD, _SHORT_ENOUGH]},
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
#: A document's cluster labels; `{!collapse field=…}` needs the docValues.
CLUSTER_FIELDS: tuple[Json, ...] = (
    {"name": CLUSTER, "type": "string", "indexed": True, "stored": False, "docValues": True},
    {"name": IS_PRINCIPAL, "type": "boolean", "indexed": True, "stored": False, "docValues": True},
)
PASSAGE_FIELD: Json = {"name": PASSAGES, **_TOKENS}
FIELDS: tuple[Json, ...] = (
    {"name": "name", "type": "text_whorl_names", "indexed": True, "stored": True},
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

#: Additional definitions for a collection without stored text to make a source's tokens from.
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
    """Return the value of `whorl_scheme`, the schemes that a sketch depends on: `minhash1-icu74-w5-b512+sketch2-…`."""
    return f"{scheme if isinstance(scheme, str) else scheme.name}+{sketch_scheme.name}"
