"""Inspects an index's mapping, creates an index, and adds whorl's fields to one (`whorl opensearch init`)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from whorl.engine.configured_fields import (
    SAMPLE_SIZE,
    FieldNames,
    TextField,
    guess_name_field,
    rank_text_fields,
    require_named_text,
)
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.document_fields import (
    CLUSTER_FIELDS,
    ID,
    MAPPING,
    MINHASH,
    MINHASH_FIELDS,
    OWN,
    PASSAGE_FIELDS,
    PASSAGES,
    PROPERTIES,
    SPLIT_NAMES,
    WORDS,
    IndexFeatures,
    Json,
    index_body,
    mapping,
    passage_scheme,
    text_in,
)
from whorl.engine.server_engine import guard_response
from whorl.errors import EngineResponseError, SchemaError
from whorl.fingerprint.winnowing import PassageScheme

#: Defaults of the properties that a mapping may omit. `definition_differences` ignores other omitted properties.
_DEFAULTS = {"store": False, "doc_values": True, "index": True, "norms": True, "similarity": "BM25"}
#: Types of fields whose values the cluster reads from texts, too.
_NUMBERS = (
    *("byte", "short", "integer", "long", "unsigned_long"),
    *("half_float", "float", "double", "scaled_float", "boolean"),
)
#: Key in the mapping's `_meta` for the base folder. Ids of indexed files are paths relative to the base folder.
_FILE_BASE = "whorl_file_base"


def find_text_fields(client: IndexClient, mapping: Json, names: FieldNames) -> list[TextField]:
    """Return the text fields that have values, except the name field, sorted by amount of text (most text first)."""
    names_of_texts = _names_of_types(mapping.get("properties", {}), ("text", "match_only_text"))
    fields = [name for name in names_of_texts if not missing_texts_reason(mapping, name)]
    # Make the last documents searchable, if the user has the right to refresh.
    with suppress(EngineResponseError):
        client.refresh()

    def count(names: Sequence[str]) -> list[int]:
        return client.counts([{"exists": {"field": name}} for name in names])

    def sample(name: str) -> list[str]:
        hits = client.hits({"query": {"exists": {"field": name}}, "size": SAMPLE_SIZE, "_source": [name]})
        return [text_in(hit["_source"], FieldNames(content=name)) for hit in hits]

    return rank_text_fields(fields, names, count, sample)


def whole_documents(client: IndexClient) -> Json:
    """Return the options of a search for whole documents in an index, to update them.

    The cluster converts values as the mapping says: dates of any format, and numbers and Booleans from texts. whorl
    reads these values where it does not understand those of the source (`document_in`).
    """
    present = (client.mapping() or {}).get("properties", {})
    dates = _names_of_types(present, ("date", "date_nanos"))
    fields = [*({"field": name, "format": "strict_date_time"} for name in dates), *_names_of_types(present, _NUMBERS)]
    return {"_source": {"excludes": [OWN]}, "fields": fields, "seq_no_primary_term": True}


def _names_of_types(properties: Json, types: Sequence[str], prefix: str = "") -> Iterator[str]:
    for name, field in properties.items():
        if fnmatchcase(f"{prefix}{name}", OWN):
            continue
        if field.get("type") in types:
            yield f"{prefix}{name}"
        yield from _names_of_types(field.get("properties", {}), types, f"{prefix}{name}.")


def searchable_text(mapping: Json, names: FieldNames) -> str | None:
    """Return the name of the text field if a query can find all documents that have a text, otherwise None.

    Queries miss such documents if the field is not indexed, leaves out long values (`ignore_above`), or is inside
    objects of the type `nested`.
    """
    field, parts = field_definition(mapping, names.content), names.content.split(".")
    parents = (field_definition(mapping, ".".join(parts[:count])) for count in range(1, len(parts)))
    is_nested = any(parent.get("type") == "nested" for parent in parents)
    is_indexed = bool(field) and field.get("index", True) and "ignore_above" not in field
    return names.content if is_indexed and not is_nested else None


def missing_texts_reason(mapping: Json, content: str) -> str:
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
    return bool(mapping.get("_meta", {}).items() >= SPLIT_NAMES.items())


def definition_differences(mapping: Json) -> Iterator[str]:
    for name, definition in {**MAPPING, **MINHASH_FIELDS, **PASSAGE_FIELDS, **CLUSTER_FIELDS}.items():
        field = field_definition(mapping, name)
        for key, value in definition.items() if field else ():
            actual = field.get(key, _DEFAULTS.get(key, value))
            if actual != value:
                yield f"{name} has {key} {json.dumps(actual)}, ours {json.dumps(value)}"


def properties_conflict(mapping: Json) -> str:
    """Return the reason why an index refuses whorl's documents, or "" if it accepts them.

    whorl sends the properties of each document as an object, so the field PROPERTIES must accept objects.
    """
    kind = field_definition(mapping, PROPERTIES).get("type", "object")
    if kind in ("object", "nested", "flattened", "flat_object"):
        return ""
    problem = f"the field {PROPERTIES!r} has type {kind}, and documents of whorl have an object there"
    remedy = "'whorl opensearch backfill' works for documents of others; to add documents, move them to a new index"
    return f"{problem}: 'whorl index' and uploads are refused. {remedy}"


def field_definition(mapping: Json, name: str) -> Json:
    """Return the definition of a field in a mapping, or {} if it is missing; `a.b` is the member b of the object a."""
    field: Json = {"properties": mapping.get("properties", {})}
    for part in name.split("."):
        field = field.get("properties", {}).get(part, {})
    return field


def has_own_fields_in_source(mapping: Json) -> bool:
    return OWN not in mapping.get("_source", {}).get("excludes", [])


@guard_response
def initialise(
    client: IndexClient,
    names: FieldNames,
    *,
    dry_run: bool = False,
    content: str | None = None,
    passages: PassageScheme | None = None,
    without_minhash: bool = False,
) -> Iterator[str]:
    """Create an index, or add missing fields to an existing index; yield a line for each step.

    Args:
        content: Field of the texts, if it is not the field in `names`.
        without_minhash: Do not add the field of MinHash tokens, which only FINGERPRINT queries need.

    Raises:
        SchemaError: One of whorl's fields exists with another definition, or the texts are in another field.
        SchemeMismatchError: The index has passages of another scheme.
    """
    names = replace(names, content=content or names.content)
    would = "would " if dry_run else ""
    present = client.mapping()
    if present is None:
        yield f"{would}make the index {client.index}, its numbers of shards and replicas those of the cluster"
        if not dry_run:
            create(client, names, passages=passages, without_minhash=without_minhash)
        return
    if content is None and not field_definition(present, ID):
        texts = find_text_fields(client, present, names)
        likely = guess_name_field(names, partial(field_definition, present))
        require_named_text(client.url, f"whorl opensearch init {client.store_url}", texts, names, likely)
    _require_scheme(client, present, passages)
    wanted = mapping(names, passages=passages, without_minhash=without_minhash)
    missing = _missing(client, present, wanted)
    if missing and not dry_run:
        try:
            _add_fields(client, present, missing)
        except EngineResponseError as error:
            if error.status != 400:
                raise
            # Read the mapping again, because new documents may have added a field in the meantime.
            present = client.mapping() or {}
            _require_scheme(client, present, passages)
            missing = _missing(client, present, wanted)
            _add_fields(client, present, missing)
    yield f"{would}add the fields {', '.join(sorted(missing))}" if missing else "nothing to add"
    if conflict := properties_conflict(present):
        yield f"warning: {conflict}"
    if has_own_fields_in_source(present):
        cost = f"the source of a document keeps {OWN} a second time, which only a new index can be told not to"
        yield f"{cost}: about as much again on disk"
    if missing and client.total():
        yield f"next, for the documents that are there: whorl opensearch backfill {client.store_url}"


def _require_scheme(client: IndexClient, present: Json, wanted: PassageScheme | None) -> PassageScheme | None:
    """Return the scheme of the index's passage hashes, or None; raise an error if `wanted` is another scheme."""
    scheme = passage_scheme(field_definition(present, PASSAGES))
    if scheme:
        scheme.require(wanted, client.url)
    return scheme


def _missing(client: IndexClient, present: Json, wanted: Json) -> Json:
    require_same_definitions(client, present)
    return {name: field for name, field in wanted.items() if not field_definition(present, name)}


def _add_fields(client: IndexClient, present: Json, missing: Json) -> None:
    # SPLIT_NAMES marks an index that splits names. If the index already has the field WORDS, its documents may have
    # unsplit names, so set the mark only if WORDS is a new field.
    about = {**present.get("_meta", {}), **SPLIT_NAMES} if WORDS in missing else None
    client.add_fields({name: field for name, field in missing.items() if "." not in name}, about)


def create(
    client: IndexClient, names: FieldNames, *, passages: PassageScheme | None = None, without_minhash: bool = False
) -> None:
    """Create the index, unless another client has just created it."""
    try:
        client.create(index_body(names, passages=passages, without_minhash=without_minhash))
    except EngineResponseError as error:
        if "already exists" not in error.detail:
            raise


@guard_response
def ensure_index(client: IndexClient, names: FieldNames, *, passages: PassageScheme | bool = False) -> IndexFeatures:
    """Return the optional features of an index; create the index if it is missing.

    Raise SchemaError if an existing index lacks whorl's fields or defines them differently. If `passages` is True, the
    index must have the passage field. If `passages` is a scheme, the field must also have this scheme.
    """
    chosen = passages if isinstance(passages, PassageScheme) else None
    present = client.mapping(OWN)
    if present is None:
        create(client, names, passages=chosen or (PassageScheme() if passages else None))
        present = client.mapping(OWN) or {}
    require_same_definitions(client, present)
    if missing := sorted(name for name in MAPPING if not field_definition(present, name)):
        problem = f"{client.url} lacks the fields {', '.join(missing)}"
        raise SchemaError(f"{problem}; 'whorl opensearch init {client.store_url}' adds them")
    scheme = _require_scheme(client, present, chosen)
    if passages and scheme is None:
        raise without_passage_field(client)
    has_clusters = all(field_definition(present, name) for name in CLUSTER_FIELDS)
    return IndexFeatures(
        scheme,
        has_clusters,
        splits_names(present),
        keeps_texts=not missing_texts_reason(present, names.content),
        minhash=bool(field_definition(present, MINHASH)),
    )


def without_passage_field(client: IndexClient) -> SchemaError:
    message = f"{client.url} has no field for passages; 'whorl opensearch init {client.store_url} --passages' adds it"
    return SchemaError(message)


def without_minhash_field(client: IndexClient) -> SchemaError:
    problem = f"{client.url} has no field {MINHASH!r}, which FINGERPRINT needs"
    init, backfill = f"'whorl opensearch init {client.store_url}'", f"'whorl opensearch backfill {client.store_url}'"
    return SchemaError(f"{problem}; {init} adds it, {backfill} fills it; 'whorl similar' works without it")


@guard_response
def file_base(client: IndexClient, names: FieldNames, choose: Callable[[], Path] | None) -> Path | None:
    """Return the base folder in the `_meta` of the index, or None. Ids of indexed files are paths relative to it.

    If the index has no base folder, save the folder that `choose` returns; create the index if it is missing.
    """
    base = (client.mapping(ID) or {}).get("_meta", {}).get(_FILE_BASE)
    if base is None and choose is not None:
        ensure_index(client, names)
        about = (client.mapping(ID) or {}).get("_meta", {})
        chosen = os.path.realpath(choose())
        # Ignore errors, because a user with the right to write documents may lack the right to change the mapping.
        with suppress(EngineResponseError):
            client.add_fields({}, {**about, _FILE_BASE: chosen})
            base = chosen
    return None if base is None else Path(base)


def require_same_definitions(client: IndexClient, mapping: Json) -> None:
    if differing := list(definition_differences(mapping)):
        problem = f"{client.url} has fields of our names that are others: {'; '.join(differing)}"
        cause = "A cluster makes such fields where documents are sent before 'whorl opensearch init'"
        raise SchemaError(f"{problem}. {cause}: move the documents to a new index")
