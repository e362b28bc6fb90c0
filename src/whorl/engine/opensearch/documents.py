"""Documents in an index: the source that other clients see, and the values of whorl's own fields."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from whorl.engine.lucene import passage_tokens, value_term
from whorl.engine.opensearch.fields import (
    BETWEEN_WORDS,
    DIGEST,
    FIELDS,
    HANDLE,
    ID,
    MINHASH,
    OWN,
    PASSAGES,
    PROPERTIES,
    SAMPLE,
    SCHEME,
    SIZE,
    SKETCH,
    VALUES,
    WORDS,
    Json,
    SourceNames,
    field_term,
    handle,
    spelled_minhash,
    stored_name,
    word_term,
)
from whorl.engine.protocol import mark_in
from whorl.fingerprint.batch import Hashed
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.codec import encode
from whorl.fingerprint.sketch.sketch import SketchScheme, lookup_tokens
from whorl.fingerprint.winnowing import PassageScheme
from whorl.fingerprint.words.shingles import joined_words
from whorl.model import CLUSTER, IS_PRINCIPAL, Document, PropertyValue
from whorl.query.plan.fields import split_name


def source(document: Document, names: SourceNames) -> Json:
    """Return a document's source; names with dots create nested objects."""
    made: Json = {PROPERTIES: {name: list(values) for name, values in document.contents().items()}}
    for place, text in ((names.name, document.name), (names.content, document.text)):
        *path, last = place.split(".")
        inner = made
        for each in path:
            inner = inner.setdefault(each, {})
        inner[last] = text
    return made


def own_fields(
    document: Document,
    found: Hashed,
    scheme: Scheme,
    sketch_scheme: SketchScheme,
    names: SourceNames,
    passages: PassageScheme | None,
    *,
    clusters: bool = False,
    split_names: bool = True,
) -> Json:
    """Return the values of whorl's own fields for a document.

    Args:
        document: The document.
        found: Minima, hashes and words of its text.
        scheme: The scheme of its tokens.
        sketch_scheme: The scheme of its sketch.
        names: The names of the properties that can name the document.
        passages: The scheme of its passages; None if the index has no field for them.
        clusters: Whether the index has the fields of cluster labels.
        split_names: Whether the words of names are also split at `_` and `.`.
    """
    wholes, texts, sketch = document.wholes(), document.values(), found.sketch(sketch_scheme)
    named = [("name", document.name)] if document.name else []
    values = [(name, value) for name, some in texts.items() for value in some if value]
    texts_of_words = (
        (name, split_name(value) if split_names and name == "name" else value) for name, value in (*named, *values)
    )
    words = [(name, joined_words(value, scheme.profile).words()) for name, value in texts_of_words]
    kinds = {(name, kind.name) for name, kind, _ in wholes} | ({("content", "TEXT")} if document.text else set())
    return {
        ID: document.id,
        WORDS: [
            BETWEEN_WORDS.join([word_term(name, word) for word in some])
            for name, some in (*words, ("content", found.words.words()))
            if some
        ],
        VALUES: sorted({value_term(name, kind, value) for name, kind, value in wholes}),
        FIELDS: sorted(field_term(*each) for each in kinds),
        HANDLE: [handle(name, value) for name in (names.dbid, names.noderef) for value in texts.get(name, ())],
        MINHASH: spelled_minhash(np.unique(found.minima[:, 0])),
        SAMPLE: list(lookup_tokens(sketch)),
        SKETCH: base64.b64encode(encode(sketch)).decode("ascii"),
        SIZE: sketch.size,
        SCHEME: stored_name(scheme, sketch_scheme),
        DIGEST: document.digest,
        **({PASSAGES: passage_tokens(found.words, passages)} if passages else {}),
        **(_cluster_fields(document) if clusters else {}),
    }


def _cluster_fields(document: Document) -> Json:
    mark = mark_in(document.properties)
    # None removes the value that a partial update finds.
    return {CLUSTER: mark.cluster if mark else document.id, IS_PRINCIPAL: mark.is_principal if mark else None}


def without_text(names: SourceNames) -> Json:
    """Return the `_source` filter for name and properties only."""
    return {"excludes": [OWN, names.content]}


def text_in(source: Json, names: SourceNames) -> str:
    """Return a document's text, several values joined; "" if it has none."""
    return "\n".join(_texts(_at(source, names.content)))


def name_in(source: Json, names: SourceNames) -> str:
    """Return a document's first display name; "" if it has none."""
    return next(iter(_texts(_at(source, names.name))), "")


def properties_in(source: Json, names: SourceNames) -> dict[str, tuple[PropertyValue, ...]]:
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
