"""Reads an index's mapping: its text fields, and whether whorl's fields in it are as whorl defines them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatchcase

from whorl.arrays_and_batches import batches
from whorl.engine.configured_and_guessed_fields import (
    SAMPLED,
    FieldNames,
    TextField,
    longest_first,
)
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.mapping_and_fields import (
    MAPPING,
    OF_CLUSTERS,
    OF_PASSAGES,
    OWN,
    PROPERTIES,
    SPLIT_NAMES,
    Json,
    text_in,
)
from whorl.errors import EngineResponseError

#: Default values of properties that a mapping may omit, for comparisons of mappings. Other properties are compared only
#: if the mapping has them.
_DEFAULTS = {"store": False, "doc_values": True, "index": True, "norms": True, "similarity": "BM25"}


#: Maximum number of fields for which one request counts the documents.
_COUNTED_AT_ONCE = 100


def find_stored_texts(client: IndexClient, mapping: Json, names: FieldNames) -> list[TextField]:
    """Return the text fields that have values, except the name field; the field with the most text comes first."""
    fields = [
        name
        for name in _text_names(mapping.get("properties", {}))
        if (name != names.name or name == names.content) and not source_trap(mapping, name)
    ]
    # Make the last documents searchable, if the user has the right to refresh.
    with suppress(EngineResponseError):
        client.refresh()
    texts = []
    for batch in batches(fields, _COUNTED_AT_ONCE):
        filters = {f"t{at}": {"exists": {"field": name}} for at, name in enumerate(batch)}
        response = client.search({"size": 0, "aggs": {"texts": {"filters": {"filters": filters}}}})
        buckets = response["aggregations"]["texts"]["buckets"]
        texts += [TextField(name, int(buckets[f"t{at}"]["doc_count"])) for at, name in enumerate(batch)]

    def sample(name: str) -> list[str]:
        hits = client.search({"query": {"exists": {"field": name}}, "size": SAMPLED, "_source": [name]})["hits"]["hits"]
        return [text_in(hit["_source"], FieldNames(content=name)) for hit in hits]

    return longest_first([field for field in texts if field.documents], sample)


def _text_names(properties: Json, prefix: str = "") -> Iterator[str]:
    for name, field in properties.items():
        if fnmatchcase(f"{prefix}{name}", OWN):
            continue
        if field.get("type") in ("text", "match_only_text"):
            yield f"{prefix}{name}"
        yield from _text_names(field.get("properties", {}), f"{prefix}{name}.")


def searchable_text(mapping: Json, names: FieldNames) -> str | None:
    """Return the name of the text field if it is indexed, so that queries can find documents with a text, or None."""
    field = field_definition(mapping, names.content)
    return names.content if field and field.get("index", True) else None


def source_trap(mapping: Json, content: str) -> str:
    """Return the reason why the stored documents (`_source`) do not contain the texts, or ""."""
    source = mapping.get("_source", {})
    if source.get("enabled") is False:
        return "its _source is disabled"
    if any(fnmatchcase(content, pattern) for pattern in source.get("excludes", [])):
        return f"its _source excludes {content!r}"
    if source.get("includes") and not any(fnmatchcase(content, pattern) for pattern in source["includes"]):
        return f"its _source does not include {content!r}"
    return ""


def splits_names(mapping: Json) -> bool:
    about: Json = mapping.get("_meta", {})
    return about.items() >= SPLIT_NAMES.items()


def differences(mapping: Json) -> Iterator[str]:
    for name, definition in {**MAPPING, **OF_PASSAGES, **OF_CLUSTERS}.items():
        field = field_definition(mapping, name)
        for key, value in definition.items() if field else ():
            actual = field.get(key, _DEFAULTS.get(key, value))
            if actual != value:
                yield f"{name} has {key} {json.dumps(actual)}, ours {json.dumps(value)}"


def properties_conflict(mapping: Json) -> str:
    """Return the reason why an index refuses whorl's documents, which have an object PROPERTIES; "" if it does not."""
    kind = field_definition(mapping, PROPERTIES).get("type", "object")
    if kind in ("object", "nested", "flattened", "flat_object"):
        return ""
    return (
        f"the field {PROPERTIES!r} has type {kind}, and documents of whorl have an object there: 'whorl index' and "
        "uploads are refused. 'whorl opensearch backfill' works for documents of others; to add documents, move them "
        "to a new index"
    )


def field_definition(mapping: Json, name: str) -> Json:
    """Return the definition of a field in a mapping, or {} if it is missing; `a.b` is the member b of the object a."""
    field: Json = {"properties": mapping.get("properties", {})}
    for part in name.split("."):
        field = field.get("properties", {}).get(part, {})
    return field


def keeps_own(mapping: Json) -> bool:
    """Check whether the stored sources of documents also contain whorl's own fields."""
    return OWN not in mapping.get("_source", {}).get("excludes", [])
