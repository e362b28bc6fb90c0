"""`whorl solr init`: what a collection lacks, added through the Schema and Config APIs; what is there stays.

The definitions are those of solr/configset, so that a collection made from it needs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from whorl.engine.solr.answer import Json
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.fields import DYNAMIC_FIELDS
from whorl.engine.solr.fields import TYPES as VALUE_TYPES
from whorl.engine.solr.schema import FieldNames, described
from whorl.engine.solr.sketches import NEEDED, SAMPLE, SCHEME, SIZE, SKETCH
from whorl.errors import EngineResponseError, SchemaError

_ICU = "icu"
_FOLD: Json = {"class": "solr.ICUNormalizer2FilterFactory", "form": "nfkc_cf", "mode": "compose"}
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

FIELDS: tuple[Json, ...] = (
    {"name": "name", "type": "text_whorl", "indexed": True, "stored": True},
    {"name": "content", "type": "text_whorl", "indexed": True, "stored": True},
    {
        "name": "MINHASH",
        "type": "text_min_hash",
        "indexed": True,
        "stored": False,
        "termVectors": True,
        "omitNorms": True,
        "omitTermFreqAndPositions": True,
    },
    {"name": "DBID", "type": "string", "indexed": True, "stored": True},
    {"name": "LID", "type": "string", "indexed": True, "stored": True},
    {"name": "whorl_digest", "type": "string", "indexed": False, "stored": True, "docValues": False},
    {"name": SIZE, "type": "pint", "indexed": True, "stored": False, "docValues": True},
    {
        "name": SAMPLE,
        "type": "string",
        "indexed": True,
        "stored": False,
        "docValues": False,
        "multiValued": True,
        "omitNorms": True,
        "omitTermFreqAndPositions": True,
    },
    {"name": SKETCH, "type": "binary", "indexed": False, "stored": True},
    {"name": SCHEME, "type": "string", "indexed": True, "stored": False, "docValues": True},
)

VECTOR_COMPONENT: Json = {"name": "termVectors", "class": "solr.TermVectorComponent"}
VECTOR_HANDLER: Json = {
    "name": "/tvrh",
    "class": "solr.SearchHandler",
    "defaults": {"tv": True, "echoParams": "none"},
    "last-components": ["termVectors"],
}


def initialise(client: SolrClient, wanted: FieldNames, *, dry_run: bool) -> list[str]:
    """Add what is missing; return a line for each thing added, kept or found to differ.

    Args:
        client: Where the collection is.
        wanted: What it calls, or shall call, its fields.
        dry_run: Say what would be added, and add nothing.

    Raises:
        SchemaError: The schema cannot be changed, or Solr lacks the ICU classes.
    """
    schema = client.get("schema")["schema"]
    config = client.get("config")["config"]
    lines = []
    definitions = _definitions(wanted)
    steps = [*_schema_steps(schema, wanted, definitions), *_config_steps(config)]
    for path, command, body in steps:
        if dry_run:
            lines.append(f"would send to {client.url}/{path}: {json.dumps({command: body})}")
        else:
            _send(client, path, command, body)
            lines.append(f"added {body.get('name', body.get('dest'))} ({command})")
    lines += _differences(schema, definitions)
    if not steps:
        return [*lines, "nothing to add: all is there"]
    lines.append(f"{len(steps)} things {'would be ' if dry_run else ''}added")
    if not dry_run:
        lines.append(
            "documents that are there already get a fingerprint when they are indexed again (whorl index --all)"
        )
        if any(body.get("name") in NEEDED for _, _, body in steps):
            lines.append(f"or, if the sketch is all they lack: whorl solr backfill {client.url}")
    return lines


def _definitions(wanted: FieldNames) -> list[Json]:
    """Return the fields under the names that the user has for them."""
    names = {"name": wanted.name, "content": wanted.content, "MINHASH": wanted.minhash, "DBID": wanted.dbid}
    names["LID"] = wanted.noderef
    return [{**field, "name": names.get(field["name"], field["name"])} for field in FIELDS]


def _schema_steps(schema: Json, wanted: FieldNames, definitions: list[Json]) -> Iterator[tuple[str, str, Json]]:
    types = {each["name"] for each in schema.get("fieldTypes", [])}
    for field_type in TYPES:
        if field_type["name"] not in types:
            yield "schema", "add-field-type", field_type
    fields = {each["name"]: each for each in schema["fields"]}
    dynamic = {each["name"]: each for each in schema.get("dynamicFields", [])}
    for definition in definitions:
        # A dynamic field may hold data under this name already, which a field of its own would read otherwise.
        is_covered = definition["name"] in (wanted.name, wanted.content) and described(definition["name"], {}, dynamic)
        if definition["name"] not in fields and not is_covered:
            yield "schema", "add-field", definition
    for definition in DYNAMIC_FIELDS:
        if definition["name"] not in dynamic:
            yield "schema", "add-dynamic-field", definition
    sources = [each["source"] for each in schema.get("copyFields", []) if each["dest"] == wanted.minhash]
    # A field that something fills already stays as it is: Alfresco's, filled from outside, or one with another copy.
    if not sources and fields.get(wanted.minhash, {"type": "text_min_hash"})["type"] == "text_min_hash":
        yield "schema", "add-copy-field", {"source": wanted.content, "dest": wanted.minhash}


def _config_steps(config: Json) -> Iterator[tuple[str, str, Json]]:
    components = config.get("searchComponent", {})
    vector = [name for name, each in components.items() if "TermVectorComponent" in each.get("class", "")]
    if not vector:
        yield "config", "add-searchcomponent", VECTOR_COMPONENT
    uses = [*(vector or [VECTOR_COMPONENT["name"]])]
    handlers = config.get("requestHandler", {}).values()
    if not any(set(uses).intersection(_components(each)) for each in handlers):
        yield "config", "add-requesthandler", {**VECTOR_HANDLER, "last-components": uses[:1]}


def _components(handler: Json) -> list[str]:
    return [*handler.get("last-components", []), *handler.get("components", [])]


def _differences(schema: Json, definitions: list[Json]) -> Iterator[str]:
    """Say where a field that is there is not what we would have made: it is kept, the doctor says what it means."""
    there = {each["name"]: each for each in schema["fields"]}
    for definition in definitions:
        found = there.get(definition["name"])
        if found is None:
            continue
        differing = [
            f"{key} is {json.dumps(found[key])}, ours {json.dumps(value)}"
            for key, value in definition.items()
            if key in found and found[key] != value and key != "type"
        ]
        if differing:
            yield f"kept field {definition['name']} as it is ({'; '.join(differing)}); 'whorl solr check' says more"


def _send(client: SolrClient, path: str, command: str, body: Json) -> None:
    try:
        client.change(path, {command: body})
    except EngineResponseError as error:
        hint = ""
        if "ICU" in error.detail or "SPI class" in error.detail or _ICU in error.detail:
            hint = "; Solr needs its module analysis-extras (start it with SOLR_MODULES=analysis-extras)"
        elif "not editable" in error.detail:
            hint = "; its schema is a file that Solr may not change: use solr/configset instead"
        raise SchemaError(f"{client.url} refused {command} {body.get('name', body)}: {error.detail}{hint}") from error
