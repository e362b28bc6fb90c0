"""The fields in which a document of an index carries what whorl searches: names, mapping, settings, and their values.

Words, tokens and values are made here and put into fields of our own beside the document: so every clause means on a
cluster what it means in the other engines, whatever its analysers and plug-ins are.

    whorl_id      the id, to sort by and to look for
    whorl_words   words in the order of the text, each behind the name of its field; positions, so phrases can be asked
    whorl_values  whole values behind the names of their fields and types, spelled in the order of the values
    whorl_fields  which fields there are, of which types
    whorl_handles the properties that a document can be named by, beside its id
    whorl_minhash the distinct MinHash tokens
    whorl_sample  the look-up tokens of the sketch, whorl_sketch the sketch, whorl_size its distinct shingles,
    whorl_scheme  what tokens and sketch depend on
    whorl_digest  what the document looked like when it was indexed, so that it is not indexed twice
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.engine.terms import BETWEEN_WORDS, term, value_term
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.codec import encode
from whorl.fingerprint.sketch.sketch import Sketch, SketchScheme, lookup_tokens
from whorl.model import Document

Json: TypeAlias = dict[str, Any]

#: Properties that a document can be named by, beside its id.
HANDLES = ("DBID", "LID")
ID, WORDS, VALUES, FIELDS, HANDLE = "whorl_id", "whorl_words", "whorl_values", "whorl_fields", "whorl_handles"
MINHASH, SAMPLE, SKETCH, SIZE = "whorl_minhash", "whorl_sample", "whorl_sketch", "whorl_size"
SCHEME, DIGEST = "whorl_scheme", "whorl_digest"
#: What can be made again from the document is not kept a second time in its source.
_NOT_KEPT = (WORDS, VALUES, FIELDS, HANDLE, MINHASH, SAMPLE, SKETCH)

_TOKENS: Json = {"type": "keyword", "doc_values": False, "norms": False, "index_options": "docs"}
MAPPING: Mapping[str, Json] = {
    ID: {"type": "keyword"},
    # Whatever can be asked is in our own fields, so no name or value of a property can break the mapping.
    "name": {"type": "keyword", "index": False, "doc_values": False},
    "content": {"type": "text", "index": False},
    "properties": {"type": "object", "enabled": False},
    WORDS: {"type": "text", "analyzer": "whorl_words", "norms": False, "position_increment_gap": 100},
    VALUES: {"type": "keyword", "norms": False, "index_options": "docs"},
    FIELDS: {"type": "keyword", "norms": False, "index_options": "docs"},
    HANDLE: _TOKENS,
    MINHASH: _TOKENS,
    SAMPLE: _TOKENS,
    SKETCH: {"type": "binary", "store": True},
    SIZE: {"type": "long"},
    SCHEME: {"type": "keyword"},
    DIGEST: {"type": "keyword", "index": False, "doc_values": False},
}
#: Cuts the field of words where they were joined; of the plug-ins that every distribution has.
ANALYSIS: Json = {
    "tokenizer": {"whorl_words": {"type": "simple_pattern_split", "pattern": BETWEEN_WORDS}},
    "analyzer": {"whorl_words": {"type": "custom", "tokenizer": "whorl_words"}},
}


def index_body(shards: int | None = None, replicas: int | None = None) -> Json:
    """Return the settings and the mapping of a new index; the cluster's own numbers where none are given."""
    numbers = {"number_of_shards": shards, "number_of_replicas": replicas}
    settings = {name: number for name, number in numbers.items() if number is not None}
    return {
        "settings": {"analysis": ANALYSIS, **settings},
        "mappings": {"dynamic": False, "_source": {"excludes": list(_NOT_KEPT)}, "properties": dict(MAPPING)},
    }


def scheme_name(scheme: Scheme, sketch_scheme: SketchScheme) -> str:
    """Return what documents hold whose tokens and sketches are made under two schemes."""
    return f"{scheme.name} {sketch_scheme.name}"


def spelled_minhash(numbers: npt.NDArray[np.uint64]) -> list[str]:
    """Return MinHash tokens as terms: 11 letters of base64 each, the highest bits first."""
    padded = np.zeros((len(numbers), 9), dtype=np.uint8)
    padded[:, :8] = numbers.astype(">u8").view(np.uint8).reshape(-1, 8)
    letters = base64.b64encode(padded.tobytes()).decode("ascii")
    # Nine bytes are twelve letters, the last of which stands for the ninth byte.
    return [letters[at : at + 11] for at in range(0, len(letters), 12)]


def indexed_fields(
    document: Document,
    scheme: Scheme,
    minima: npt.NDArray[np.uint64],
    sketch: Sketch,
    values: Sequence[tuple[str, Sequence[str]]],
) -> Json:
    """Return the values of our own fields for a document.

    Args:
        document: The document.
        scheme: Of its tokens.
        minima: Its tokens; uint64 array.
        sketch: Its sketch.
        values: Each value of its fields: the field's name, and the words in order.
    """
    wholes = document.wholes()
    texts = document.values()
    return {
        ID: document.id,
        WORDS: [BETWEEN_WORDS.join([term(name, word) for word in words]) for name, words in values if words],
        VALUES: sorted({value_term(name, kind, value) for name, kind, value in wholes}),
        FIELDS: sorted({field_term(name, kind.name) for name, kind, _ in wholes} | {"content\x1fTEXT"})
        if document.text
        else sorted({field_term(name, kind.name) for name, kind, _ in wholes}),
        HANDLE: [handle(name, value) for name in HANDLES for value in texts.get(name, ())],
        MINHASH: spelled_minhash(np.unique(minima)),
        SAMPLE: list(lookup_tokens(sketch)),
        SKETCH: base64.b64encode(encode(sketch)).decode("ascii"),
        SIZE: sketch.size,
        SCHEME: scheme_name(scheme, sketch.scheme),
        DIGEST: document.digest,
    }


def field_term(name: str, kind: str) -> str:
    """Return the term of documents that have values of a type in a field."""
    return f"{name}\x1f{kind}"


def handle(name: str, value: str) -> str:
    """Return the term of documents that a property names so."""
    return f"{name}\x1f{value}"
