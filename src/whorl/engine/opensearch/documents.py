"""Documents in an index: their source, whorl's own fields with their mapping, and the encoding of terms.

whorl makes words, tokens and values itself and stores them in its own fields of the document, so every clause has the
same meaning on a cluster as in the other engines, whatever analysers and plug-ins the cluster has. In an index made by
whorl, the source does not contain these fields; sketch, scheme and digest are read as stored fields.

    whorl_id      the id, to sort by and to look up
    whorl_words   words in the order of the text, prefixed with the name of their field; has positions, for phrases
    whorl_values  whole values, prefixed with field and type, in an encoding that sorts like the values
    whorl_fields  names of the document's fields, each with its type
    whorl_handles the properties that can name the document, in addition to its id
    whorl_minhash the distinct MinHash tokens
    whorl_sample  the look-up tokens of the sketch, whorl_sketch the sketch, whorl_size its number of distinct shingles
    whorl_scheme  the schemes that tokens and sketch depend on
    whorl_passages the passage hashes, preceded by their scheme; optional
    whorl_cluster the id of its cluster, or its own id, and whorl_is_principal whether it represents the cluster
    whorl_digest  the digest of the indexed document, so that unchanged documents are not indexed again
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.arrays import sorted_distinct
from whorl.engine.labels import cluster_label
from whorl.engine.lucene import BETWEEN_WORDS, SHORT_TEXT, passage_terms, plain_words, value_term
from whorl.engine.setup import FieldNames
from whorl.fingerprint.batch import Hashed
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.shingling import JoinedWords, joined_words
from whorl.fingerprint.sketch.codec import encode
from whorl.fingerprint.sketch.sketch import SketchScheme, lookup_tokens
from whorl.fingerprint.winnowing import PassageScheme
from whorl.fingerprint.words.tokenizer import tokens
from whorl.model import CLUSTER, IS_PRINCIPAL, Document, PropertyValue
from whorl.query.plan.fields import split_name


def source(document: Document, names: FieldNames) -> Json:
    """Return a document's source; names with dots create nested objects."""
    made: Json = {PROPERTIES: {name: list(values) for name, values in document.contents().items()}}
    for place, text in ((names.name, document.name), (names.content, document.text)):
        *path, last = place.split(".")
        inner = made
        for each in path:
            inner = inner.setdefault(each, {})
        inner[last] = text
    return made


@dataclass(frozen=True, slots=True)
class IndexFeatures:
    """Optional features of an index.

    Args:
        passages: Whether it has the field of passages.
        clusters: Whether it has the fields of cluster labels.
        split_names: Whether the words of names are also split at `_` and `.`.
    """

    passages: bool = False
    clusters: bool = False
    split_names: bool = True


def own_fields(
    document: Document,
    fingerprints: Hashed,
    scheme: Scheme,
    sketch_scheme: SketchScheme,
    names: FieldNames,
    features: IndexFeatures,
) -> Json:
    """Return the values of whorl's own fields for a document.

    Args:
        document: The document.
        fingerprints: Minima, hashes and words of its text.
        scheme: The scheme of its tokens.
        sketch_scheme: The scheme of its sketch.
        names: The names of the properties that can name the document.
        features: The optional features of the index.
    """
    wholes, properties, sketch = document.wholes(), document.values(), fingerprints.sketch(sketch_scheme)
    texts = [("name", document.name), *((name, value) for name, values in properties.items() for value in values)]
    terms = [
        text_terms(name, split_name(text) if features.split_names and name == "name" else text, scheme.profile)
        for name, text in texts
    ]
    kinds = {(name, kind.name) for name, kind, _ in wholes} | ({("content", "TEXT")} if document.text else set())
    return {
        ID: document.id,
        WORDS: [*filter(None, terms), *filter(None, [word_terms("content", fingerprints.words)])],
        VALUES: sorted({value_term(name, kind, value) for name, kind, value in wholes}),
        FIELDS: sorted(field_term(name, kind) for name, kind in kinds),
        HANDLE: [handle(name, value) for name in (names.dbid, names.noderef) for value in properties.get(name, ())],
        MINHASH: spelled_minhash(sorted_distinct([fingerprints.minima[:, 0]])),
        SAMPLE: list(lookup_tokens(sketch)),
        SKETCH: base64.b64encode(encode(sketch)).decode("ascii"),
        SIZE: sketch.size,
        SCHEME: stored_name(scheme, sketch_scheme),
        DIGEST: document.digest,
        **({PASSAGES: passage_terms(fingerprints.words, PassageScheme())} if features.passages else {}),
        **(_cluster_fields(document) if features.clusters else {}),
    }


def _cluster_fields(document: Document) -> Json:
    mark = cluster_label(document.properties)
    # None removes the value that a partial update finds.
    return {CLUSTER: mark.cluster if mark else document.id, IS_PRINCIPAL: mark.is_principal if mark else None}


def without_text(names: FieldNames) -> Json:
    """Return the `_source` filter for name and properties only."""
    return {"excludes": [OWN, names.content]}


def text_in(source: Json, names: FieldNames) -> str:
    """Return a document's text, several values joined; "" if it has none."""
    return "\n".join(_texts(_at(source, names.content)))


def name_in(source: Json, names: FieldNames) -> str:
    """Return a document's first display name; "" if it has none."""
    return next(iter(_texts(_at(source, names.name))), "")


def properties_in(source: Json, names: FieldNames) -> dict[str, tuple[PropertyValue, ...]]:
    """Return a document's properties; values in nested objects get names with dots.

    Values other than text, numbers and booleans (geo points, ranges) are left out, and so are whorl's own fields.
    """
    found: dict[str, list[PropertyValue]] = {}
    own = source.get(PROPERTIES)
    if isinstance(own, dict):
        _collect(own, "", found)
    rest = {name: value for name, value in source.items() if not (name == PROPERTIES and isinstance(value, dict))}
    _collect({name: value for name, value in rest.items() if not name.startswith(OWN[:-1])}, "", found)
    if source.get(IS_PRINCIPAL) is not None:
        # The index was made by others, so its sources contain whorl's fields; a document in no cluster has its own id
        # here.
        _collect({name: source.get(name) for name in (CLUSTER, IS_PRINCIPAL)}, "", found)
    return {name: tuple(values) for name, values in found.items() if name not in (names.content, names.name)}


def _at(source: Json, place: str) -> Any:
    if place in source:
        return source[place]
    first, dot, rest = place.partition(".")
    inner = source.get(first)
    return _at(inner, rest) if dot and isinstance(inner, dict) else None


def _texts(value: Any) -> Sequence[str]:
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, str) and each]


def _collect(values: Mapping[str, Any], above: str, found: dict[str, list[PropertyValue]]) -> None:
    for name, value in values.items():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                _collect(each, f"{above}{name}.", found)
            elif isinstance(each, str | int | float):
                found.setdefault(f"{above}{name}", []).append(each)


Json: TypeAlias = dict[str, Any]

ID, WORDS, VALUES, FIELDS, HANDLE = "whorl_id", "whorl_words", "whorl_values", "whorl_fields", "whorl_handles"
MINHASH, SAMPLE, SKETCH, SIZE = "whorl_minhash", "whorl_sample", "whorl_sketch", "whorl_size"
SCHEME, DIGEST, PASSAGES = "whorl_scheme", "whorl_digest", "whorl_passages"
#: Pattern for all of these names, to exclude them from the source and from responses.
OWN = "whorl_*"
#: Field of the source with the document's properties.
PROPERTIES = "properties"

_WHOLE: Json = {"type": "keyword"}
#: The boolean similarity scores 1 per matching token, so one query of words can look up many tokens.
_TOKENS: Json = {"type": "keyword", "doc_values": False, "similarity": "boolean"}
#: The only analyser of every server that keeps whorl's terms unchanged.
WHITESPACE = "whitespace"
MAPPING: Mapping[str, Json] = {
    ID: _WHOLE,
    WORDS: {"type": "text", "analyzer": WHITESPACE, "norms": False, "position_increment_gap": 100},
    VALUES: _WHOLE,
    FIELDS: _WHOLE,
    HANDLE: _WHOLE,
    MINHASH: _TOKENS,
    SAMPLE: _TOKENS,
    SKETCH: {"type": "binary", "store": True},
    SIZE: {"type": "long"},
    SCHEME: {"type": "keyword", "store": True},
    DIGEST: {"type": "keyword", "index": False, "doc_values": False, "store": True},
}
#: Additional fields for passages.
OF_PASSAGES: Mapping[str, Json] = {PASSAGES: _TOKENS}
#: Fields of cluster labels. A document in no cluster has its own id as cluster: the cluster's `collapse` would
#: otherwise merge all documents without a value.
OF_CLUSTERS: Mapping[str, Json] = {CLUSTER: _WHOLE, IS_PRINCIPAL: {"type": "boolean"}}


#: Mark in the mapping of an index whose names are split at `_` and `.`; older indexes keep them whole.
SPLIT_NAMES: Json = {"whorl_names": "split"}


def mapping(names: FieldNames, *, passages: bool = False) -> dict[str, Json]:
    """Return the fields that whorl needs in a new or existing index.

    Args:
        names: The index's names for the parts of a document.
        passages: Whether to include the field of passages.
    """
    # All searchable data is in whorl's own fields, so no name or value of a property can break the mapping.
    source = {
        names.name: {"type": "keyword", "index": False, "doc_values": False},
        names.content: {"type": "text", "index": False},
        PROPERTIES: {"type": "object", "enabled": False},
    }
    return {**MAPPING, **OF_CLUSTERS, **(OF_PASSAGES if passages else {}), **source}


def index_body(
    names: FieldNames, shards: int | None = None, replicas: int | None = None, *, passages: bool = False
) -> Json:
    """Return the settings and the mapping of a new index; None leaves a number to the cluster's default."""
    numbers = {"number_of_shards": shards, "number_of_replicas": replicas}
    settings = {name: number for name, number in numbers.items() if number is not None}
    source = {"excludes": [OWN]}
    return {
        "settings": settings,
        "mappings": {
            "dynamic": False,
            "_meta": SPLIT_NAMES,
            "_source": source,
            "properties": mapping(names, passages=passages),
        },
    }


@lru_cache
def stored_name(scheme: Scheme, sketch_scheme: SketchScheme) -> str:
    """Return the value of `whorl_scheme`, the schemes that tokens and sketch depend on."""
    return f"{scheme.name} {sketch_scheme.name}"


def spelled_minhash(numbers: npt.NDArray[np.uint64]) -> list[str]:
    """Return MinHash tokens as terms: 11 letters of base64 each, the highest bits first."""
    padded = np.zeros((len(numbers), 9), dtype=np.uint8)
    padded[:, :8] = numbers.astype(">u8").view(np.uint8).reshape(-1, 8)
    letters = np.frombuffer(base64.b64encode(padded.tobytes()), np.uint8).reshape(-1, 12).copy()
    # Nine bytes are twelve letters; the last letter encodes bits of the ninth byte only.
    letters[:, 11] = ord(" ")
    return letters.tobytes().decode("ascii").split()


_AFTER_FIELD, _AFTER_BEGINNING, _SPACE, _BLANK = "\x01", "\x02", "\x03", "\x04"
#: The analyser cuts terms at this number of UTF-16 units; whorl shortens longer words to a prefix and a digest.
_LONGEST_TERM, _LONGEST_FIELD, _BEGINNING = 255, 80, 40
#: White space for the analyser (Java's Character.isWhitespace). Names of fields may contain any of it, words only the
#: blank: a narrow no-break space (U+202F) does not separate words and is folded to a blank.
_WHITE_SPACE = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a"
    "\u2028\u2029\u205f\u3000"
)
_SPELLED_SPACE = str.maketrans({char: f"{_SPACE}{chr(ord('a') + at)}" for at, char in enumerate(_WHITE_SPACE)})


def word_term(field: str, word: str) -> str:
    """Return the term for a word in a field."""
    prefix = _field_prefix(field)
    return prefix + _short(in_word(word), _LONGEST_TERM - _units(prefix))


def word_terms(field: str, words: JoinedWords) -> str:
    """Return the terms of a field's words, separated by blanks; "" for no words."""
    prefix = _field_prefix(field)
    text = plain_words(words, _LONGEST_TERM - _units(prefix), _BLANK)
    if text is None:
        return BETWEEN_WORDS.join([word_term(field, word) for word in words.words()])
    return prefix + text.replace(BETWEEN_WORDS, BETWEEN_WORDS + prefix) if text else ""


def text_terms(field: str, text: str, profile: str) -> str:
    """Return the terms of the words of a text, separated by blanks; "" for no words."""
    if len(text) > SHORT_TEXT:
        return word_terms(field, joined_words(text, profile))
    return BETWEEN_WORDS.join([word_term(field, word) for word in tokens(text, profile)])


@lru_cache
def _field_prefix(field: str) -> str:
    return f"{_short(field.translate(_SPELLED_SPACE), _LONGEST_FIELD)}{_AFTER_FIELD}"


def in_word(text: str) -> str:
    """Return a word, or a part of one, in the encoding used in terms."""
    return text.replace(BETWEEN_WORDS, _BLANK)


def _short(text: str, longest: int) -> str:
    if len(text) * 2 <= longest or _units(text) <= longest:
        return text
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return f"{text[: min(_BEGINNING, (longest - 33) // 2)]}{_AFTER_BEGINNING}{digest}"


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def field_term(name: str, kind: str) -> str:
    """Return the term of documents that have values of a type in a field."""
    return f"{name}\x1f{kind}"


def handle(name: str, value: str) -> str:
    """Return the term of documents with this value in a naming property."""
    return f"{name}\x1f{value}"
