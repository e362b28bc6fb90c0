"""Defines the fields that whorl reads and fills in a Solr collection: names, properties and types.

The definitions are in `solr/configset`. `whorl solr init` adds missing definitions to a collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, Literal
from xml.etree import ElementTree

from whorl.engine.solr.client import Json
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import SketchScheme
from whorl.fingerprint.winnowing import PassageScheme
from whorl.query.plan.nodes import Kind

#: The four fields of a sketch: number of distinct shingles, look-up tokens (the indexed hashes of the sketch), encoded
#: sketch, and names of the schemes (see `scheme_value`).
SIZE, SAMPLE, SKETCH, SCHEME = "whorl_size", "whorl_sample", "whorl_sketch", "whorl_scheme"
#: First look-up token of every non-empty sketch; no other token contains a dot. If another program updates a document
#: atomically, the document loses all look-up tokens, so a query for documents without this token finds it quickly.
SAMPLE_MARK = "sampled."
#: Schema properties that the fields of a sketch must have.
SKETCH_FIELDS: Mapping[str, tuple[str, ...]] = {
    SIZE: ("indexed",),
    SAMPLE: ("indexed", "multiValued"),
    SKETCH: ("stored",),
    SCHEME: ("indexed", "docValues"),
}
#: Optional field of passage hashes, and the properties that it must have.
PASSAGES, PASSAGE_PROPERTIES = "whorl_passages", ("indexed", "multiValued")
#: The names of all passage schemes begin with this prefix. The name of the passage field's type is that of its scheme.
_PASSAGE_TYPE_PREFIX = "passages"
#: Field for a digest of the document, to skip unchanged documents.
DIGEST = "whorl_digest"
#: Solr's field for the version of a document. Every update sets it to a new number, which Solr makes from the clock.
VERSION = "_version_"
#: Prefixes of the dynamic fields for whole (not tokenized) values of properties in text fields.
WHOLE_PREFIXES: Mapping[Kind, str] = {kind: f"whorl_{kind.name.lower()}_" for kind in Kind if kind is not Kind.TEXT}
#: Pattern of the character filter that splits names at `_` and `.`. Unicode's word-break rules do not split there.
SPLIT_PATTERN = "[_.]"

#: Additional properties of the token field if whorl cannot compute the tokens, for example without stored texts.
VECTORS: Json = {"termVectors": True}
VECTOR_COMPONENT: Json = {"name": "termVectors", "class": "solr.TermVectorComponent"}
VECTOR_HANDLER: Json = {
    "name": "/tvrh",
    "class": "solr.SearchHandler",
    "defaults": {"tv": True, "echoParams": "none"},
    "last-components": ["termVectors"],
}


@cache
def definitions(tag: Literal["field", "dynamicField", "fieldType"]) -> Mapping[str, Json]:
    """Return the definitions in whorl's configset, keyed by name, in the JSON format of Solr's Schema API."""
    # Searches do not need this module, so import it only here.
    from whorl.engine.local.solr import configset_directory

    schema = ElementTree.parse(configset_directory() / "conf" / "managed-schema.xml")
    return {element.attrib["name"]: _definition(element) for element in schema.iter(tag)}


def _definition(element: ElementTree.Element) -> Json:
    definition: Json = {key: {"true": True, "false": False}.get(value, value) for key, value in element.items()}
    for analyzer in element.iter("analyzer"):
        analysis: Json = {"tokenizer": next(dict(part.items()) for part in analyzer.iter("tokenizer"))}
        for tag in ("charFilter", "filter"):
            if parts := [dict(part.items()) for part in analyzer.iter(tag)]:
                analysis[f"{tag}s"] = parts
        side = analyzer.get("type")
        definition[f"{side}Analyzer" if side else "analyzer"] = analysis
    return definition


def dynamic_definitions() -> list[Json]:
    return [definition for name, definition in definitions("dynamicField").items() if name != "*"]


def passage_scheme(field: Mapping[str, Any]) -> PassageScheme | None:
    """Return the scheme of the passage hashes in a field; None if the field is not searchable."""
    if not all(field.get(part) for part in PASSAGE_PROPERTIES):
        return None
    kind = str(field["type"])
    # A field from an older version of whorl has the type of the look-up tokens, and the default scheme.
    return PassageScheme.parse(kind) if kind.startswith(_PASSAGE_TYPE_PREFIX) else PassageScheme()


@lru_cache
def scheme_value(scheme: Scheme | str, sketch_scheme: SketchScheme) -> str:
    """Return the value of `whorl_scheme`, which names the schemes of a sketch: `minhash1-icu74-w5-b512+sketch2-…`."""
    return f"{scheme if isinstance(scheme, str) else scheme.name}+{sketch_scheme.name}"
