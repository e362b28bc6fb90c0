"""A document as an index holds it: the source that others see, and the values of our own fields beside it."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from whorl.engine.marks import mark_in
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
from whorl.engine.passages import passage_tokens
from whorl.engine.terms import value_term
from whorl.fingerprint.batch import Hashed
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.codec import encode
from whorl.fingerprint.sketch.sketch import SketchScheme, lookup_tokens
from whorl.fingerprint.winnow import PassageScheme
from whorl.fingerprint.words.shingles import joined_words
from whorl.model import CLUSTER, IS_PRINCIPAL, Document, PropertyValue


def source(document: Document, names: SourceNames) -> Json:
    """Return a document as others see it; names that lead into objects make these."""
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
) -> Json:
    """Return the values of our own fields for a document.

    Args:
        document: The document.
        found: What was made of its text: minima, hashes and words.
        scheme: Of its tokens.
        sketch_scheme: Of its sketch.
        names: Which of its properties it can be named by.
        passages: What is kept of its passages; None where the index has no field for it.
        clusters: Whether the index has the fields of clusters.
    """
    wholes, texts, sketch = document.wholes(), document.values(), found.sketch(sketch_scheme)
    named = [("name", document.name)] if document.name else []
    values = [(name, value) for name, some in texts.items() for value in some if value]
    words = [(name, joined_words(value, scheme.profile).words()) for name, value in (*named, *values)]
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
    # None takes away what a partial update finds.
    return {CLUSTER: mark.cluster if mark else document.id, IS_PRINCIPAL: mark.is_principal if mark else None}


def without_text(names: SourceNames) -> Json:
    """Return which part of a source to ask for where only name and properties are wanted."""
    return {"excludes": [OWN, names.content]}


def text_in(source: Json, names: SourceNames) -> str:
    """Return the text of a document, several values as one; "" where there is none."""
    return "\n".join(_texts(_at(source, names.content)))


def name_in(source: Json, names: SourceNames) -> str:
    """Return what people know a document by, the first of several; "" where there is nothing."""
    return next(iter(_texts(_at(source, names.name))), "")


def properties_in(source: Json, names: SourceNames) -> dict[str, tuple[PropertyValue, ...]]:
    """Return the further values of a document; those within objects are named by their way, with dots.

    What is no text, number or truth value (places on a map, ranges) is left out, and so are our own fields.
    """
    found: dict[str, list[PropertyValue]] = {}
    own = source.get(PROPERTIES)
    if isinstance(own, dict):
        _collect(own, "", found)
    rest = {name: value for name, value in source.items() if not (name == PROPERTIES and isinstance(value, dict))}
    _collect({name: value for name, value in rest.items() if not name.startswith(OWN[:-1])}, "", found)
    if source.get(IS_PRINCIPAL) is not None:
        # Of an index of others, whose sources hold our fields as well; a document in no cluster has its own id.
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
