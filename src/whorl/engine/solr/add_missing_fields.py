"""`whorl solr init`: adds missing fields to a collection by the Schema and Config APIs, or corrects added fields.

A collection with the configset in solr/configset already has all fields.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from whorl.engine.configured_fields import FieldNames, TextField, guess_name_field, require_named_text
from whorl.engine.server_engine import guard_response
from whorl.engine.solr.client import Json, SolrClient
from whorl.engine.solr.field_definitions import (
    PASSAGES,
    SAMPLE,
    SKETCH_FIELDS,
    VECTOR_COMPONENT,
    VECTOR_HANDLER,
    VECTORS,
    definitions,
    dynamic_definitions,
)
from whorl.engine.solr.inspect_collection import (
    Schema,
    find_text_fields,
    find_vector_handler,
    read_schema,
    read_version,
    vector_components,
)
from whorl.engine.solr.request_body import EVERYTHING, exists
from whorl.errors import EngineResponseError, SchemaError
from whorl.fingerprint.winnowing import PassageScheme

_ICU = "icu"
#: One change of a collection: path of the API ("schema" or "config"), name of the command, and its argument.
_Step: TypeAlias = tuple[str, str, Json]


@guard_response
def initialise(
    client: SolrClient,
    names: FieldNames,
    *,
    dry_run: bool = False,
    content: str | None = None,
    repair: bool = False,
    without_minhash: bool = False,
    passages: PassageScheme | None = None,
) -> list[str]:
    """Add missing definitions to a collection; return a report for the user, as lines of text.

    Args:
        content: Name of the text field; None for the field in `names`.
        repair: Also undo mistakes of an earlier run: tokens made from a field that no document has, or a token field
            that can have only one value although the text field can have several.
        without_minhash: Do not add the token field, which only FINGERPRINT queries need.

    Raises:
        SchemaError: The schema cannot be changed, Solr is too old or lacks the ICU classes, or the texts are in another
            field.
        SchemeMismatchError: The collection has passage hashes of another scheme.
    """
    read_version(client).require()
    client.require_one_collection()
    names = replace(names, content=content or names.content)
    schema = read_schema(client)
    config = client.get("config")["config"]
    texts = find_text_fields(client, schema, names) if client.count(EVERYTHING) else []
    if content is None and not schema.is_set_up(names):
        likely = guess_name_field(names, schema.is_stored)
        require_named_text(client.url, f"whorl solr init {client.url}", texts, names, likely)
    fields, types = _fields(names, schema), dict(definitions("fieldType"))
    if passages:
        _require_possible(client, schema, names, passages)
        # The type of the passage field has the name of the scheme.
        sample = dict(definitions("field")[SAMPLE])
        types[passages.name] = {**types[sample["type"]], "name": passages.name}
        fields.append({**sample, "name": PASSAGES, "type": passages.name})
    if without_minhash:
        fields = [field for field in fields if field["name"] != names.minhash]
    repairs = list(_repairs(client, schema, names))
    steps = [*(step for _, step in repairs if repair), *_schema_steps(schema, names, fields, types)]
    if _merge_fields(fields, schema).get(names.minhash, {}).get("termVectors"):
        steps += _config_steps(config)
    if dry_run:
        lines = [f"would send to {client.url}/{path}: {json.dumps({command: body})}" for path, command, body in steps]
    else:
        _change(client, steps)
        done = {"delete": "removed", "replac": "replaced"}
        changes = [(command, body.get("name", body.get("dest"))) for _, command, body in steps]
        lines = [f"{done.get(command[:6], 'added')} {name} ({command})" for command, name in changes]
    lines += _differences(schema, fields)
    if schema.is_multivalued(names.content):
        lines.append(f"{names.content!r} can have several values: they have one fingerprint, of all of them together")
    if not repair:
        lines += [f"not changed: {reason}; --repair changes it" for reason, _ in repairs]
    if not steps:
        return [*lines, "nothing to add: all is there"]
    lines.append(f"{len(steps)} things {'would be ' if dry_run else ''}{'changed' if repair else 'added'}")
    return lines if dry_run else [*lines, *_describe_next_step(client, names, texts, steps, is_repair=repair)]


def _require_possible(client: SolrClient, schema: Schema, names: FieldNames, passages: PassageScheme) -> None:
    """Raise an error if the collection has passage hashes of another scheme, or shingles longer than passages."""
    if schema.passage_scheme:
        schema.passage_scheme.require(passages, client.url)
    # `lacks_passages` treats a text without shingles as too short for passages, so a passage must be at least as long
    # as a shingle.
    if passages.run_words < (longest := schema.shingle_size(names.minhash)):
        problem = f"the shingles of {client.url} have {longest} words, so its passages cannot have {passages.run_words}"
        raise SchemaError(f"{problem}; --passages takes {longest} to 20")


@guard_response
def file_base(client: SolrClient, choose: Callable[[], Path] | None) -> Path | None:
    """Return the base folder, or None. Ids of indexed files are paths relative to this folder.

    A user property of the collection stores this folder. If the property is missing, save the folder that `choose`
    returns; Solr then reloads the collection.
    """
    # Collections of a SolrCloud may share one configuration, so the property's name ends with the collection's name.
    name = f"whorl_file_base.{client.url.rpartition('/')[2]}"
    # If the user may not read or change the configuration, go on without a base folder for the ids of files.
    with suppress(EngineResponseError):
        base = client.get("config/overlay")["overlay"].get("userProps", {}).get(name)
        if base is None and choose is not None:
            base = os.path.realpath(choose())
            client.change("config", {"set-user-property": {name: base}})
        return None if base is None else Path(base)
    return None


def _describe_next_step(
    client: SolrClient, names: FieldNames, texts: list[TextField], steps: list[_Step], *, is_repair: bool
) -> Iterator[str]:
    has_text = any(field.name == names.content for field in texts)
    if has_text and (is_repair or any(body.get("name") in (*SKETCH_FIELDS, PASSAGES) for _, _, body in steps)):
        flag = " --repair" if is_repair else ""
        yield f"next, for the documents that are there: whorl solr backfill {client.url}{flag}"
    else:
        yield "documents that are there already get a fingerprint when they are indexed again (whorl index --all)"


def _fields(names: FieldNames, schema: Schema) -> list[Json]:
    """Return the definitions of whorl's fields, with the field names that the user has configured.

    The token field gets term vectors if whorl cannot make the tokens from the stored text. This is the case if Solr
    does not store the text, or if a document can have several texts, because Solr makes the tokens of each separately.
    """
    renamed = {"name": names.name, "content": names.content, "MINHASH": names.minhash, "DBID": names.dbid}
    renamed["LID"] = names.noderef
    defined = [field for name, field in definitions("field").items() if name not in ("id", "_version_")]
    fields = [{**field, "name": renamed.get(field["name"], field["name"])} for field in defined]
    tokens: Json = {"multiValued": True, **VECTORS} if schema.is_multivalued(names.content) else {}
    if schema.describe(names.content) and not schema.is_stored(names.content):
        tokens |= VECTORS
    return [{**field, **tokens} if field["name"] == names.minhash else field for field in fields]


def _merge_fields(fields: list[Json], schema: Schema) -> dict[str, Json]:
    return {**{field["name"]: field for field in fields}, **schema.fields}


def _repairs(client: SolrClient, schema: Schema, names: FieldNames) -> Iterator[tuple[str, _Step]]:
    """Yield the steps that undo mistakes of an earlier run, each after its reason."""
    field = schema.fields.get(names.minhash, {})
    if field.get("type") != "text_min_hash":
        return
    if schema.is_multivalued(names.content) and not field.get("multiValued"):
        reason = f"{names.minhash!r} takes one value, so Solr refuses documents with several in {names.content!r}"
        explicit = dict(client.get(f"schema/fields/{quote(names.minhash, safe='')}")["field"])
        yield reason, ("schema", "replace-field", {**explicit, "multiValued": True})
    sources = schema.sources(names.minhash)
    if not sources or names.content in sources or any(client.count(exists(source)) for source in sources):
        return
    reason = f"{names.minhash!r} is made from {', '.join(map(repr, sources))}, which no document has"
    for source in sources:
        yield reason, ("schema", "delete-copy-field", {"source": source, "dest": names.minhash})
        own_type = definitions("field").get(source, {}).get("type")
        if source != names.name and schema.fields.get(source, {}).get("type", "") == own_type:
            yield f"{source!r} is empty", ("schema", "delete-field", {"name": source})
    yield reason, ("schema", "add-copy-field", {"source": names.content, "dest": names.minhash})


def _schema_steps(schema: Schema, names: FieldNames, fields: list[Json], types: Mapping[str, Json]) -> Iterator[_Step]:
    missing = [field for field in fields if field["name"] not in schema.fields]
    needed = {field["type"] for field in (*missing, *dynamic_definitions())}
    for name, field_type in types.items():
        if name in needed and name not in schema.types:
            yield "schema", "add-field-type", field_type
    for field in missing:
        # If a dynamic field already stores the names or texts, add no field, because a new field would lack them.
        if field["name"] not in (names.name, names.content) or not schema.describe(field["name"]):
            yield "schema", "add-field", field
    for field in dynamic_definitions():
        if field["name"] not in schema.dynamic:
            yield "schema", "add-dynamic-field", field
    # If Alfresco or a copyField fills the token field, leave it unchanged.
    minhash = _merge_fields(fields, schema).get(names.minhash)
    if minhash and minhash["type"] == "text_min_hash" and not schema.sources(names.minhash):
        yield "schema", "add-copy-field", {"source": names.content, "dest": names.minhash}


def _config_steps(config: Json) -> Iterator[_Step]:
    vectors = vector_components(config.get("searchComponent", {}))
    if not vectors:
        yield "config", "add-searchcomponent", VECTOR_COMPONENT
    if find_vector_handler(config) is None:
        components = vectors[:1] or [VECTOR_COMPONENT["name"]]
        yield "config", "add-requesthandler", {**VECTOR_HANDLER, "last-components": components}


def _differences(schema: Schema, fields: list[Json]) -> Iterator[str]:
    for definition in fields:
        field = schema.fields.get(definition["name"], {})
        ours = {
            key: value for key, value in definition.items() if key in field and field[key] != value and key != "type"
        }
        differing = [f"{key} is {json.dumps(field[key])}, ours {json.dumps(value)}" for key, value in ours.items()]
        if differing:
            yield f"kept field {definition['name']} as it is ({'; '.join(differing)}); 'whorl solr check' says more"


def _change(client: SolrClient, steps: list[_Step]) -> None:
    """Change the schema in a single request, so that an error leaves it unchanged; then change the configuration."""
    for path in ("schema", "config"):
        commands: dict[str, list[Json]] = {}
        for _, command, body in (step for step in steps if step[0] == path):
            commands.setdefault(command, []).append(body)
        try:
            if commands:
                client.change(path, commands)
        except EngineResponseError as error:
            hint = ""
            if "ICU" in error.detail or "SPI class" in error.detail or _ICU in error.detail:
                hint = "; Solr needs its module analysis-extras (start it with SOLR_MODULES=analysis-extras)"
            elif "not editable" in error.detail:
                remedy = 'set <schemaFactory class="ManagedIndexSchemaFactory"/> in solrconfig.xml and reload'
                hint = f"; {remedy}, or add what 'whorl solr init --dry-run' lists to its schema file"
            raise SchemaError(f"{client.url} refused to change its {path}: {error.detail}{hint}") from error
    if steps:
        client.reload()
