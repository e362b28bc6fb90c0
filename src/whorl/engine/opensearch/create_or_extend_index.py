"""`whorl opensearch init`: creates an index for whorl, or adds whorl's fields to an existing index."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from whorl.engine.configured_and_guessed_fields import (
    FieldNames,
    likely_name,
    require_named_text,
)
from whorl.engine.opensearch.client import IndexClient, guard_response
from whorl.engine.opensearch.inspect_index import (
    differences,
    field_definition,
    find_stored_texts,
    keeps_own,
    properties_conflict,
    source_trap,
    splits_names,
)
from whorl.engine.opensearch.mapping_and_fields import (
    ID,
    MAPPING,
    OF_CLUSTERS,
    OWN,
    PASSAGES,
    SPLIT_NAMES,
    WORDS,
    IndexFeatures,
    Json,
    index_body,
    mapping,
    passage_scheme,
)
from whorl.errors import EngineResponseError, SchemaError
from whorl.fingerprint.winnowing import PassageScheme

#: Key in the mapping's `_meta` for the folder that the ids of files are relative to.
_FILE_BASE = "whorl_file_base"


@guard_response
def initialise(
    client: IndexClient,
    names: FieldNames,
    *,
    dry_run: bool = False,
    content: str | None = None,
    passages: PassageScheme | None = None,
) -> Iterator[str]:
    """Create an index, or add missing fields to an existing index; yield a line for each step.

    Args:
        content: Field of the texts, if it is not the field in `names`.

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
            create(client, names, passages=passages)
        return
    if content is None and not field_definition(present, ID):
        texts = find_stored_texts(client, present, names)
        likely = likely_name(names, partial(field_definition, present))
        require_named_text(client.url, f"whorl opensearch init {client.shown}", texts, names, likely)
    _require_scheme(client, present, passages)
    wanted = mapping(names, passages=passages)
    missing = _missing(client, present, wanted)
    if missing and not dry_run:
        try:
            _add_fields(client, present, missing)
        except EngineResponseError as error:
            if error.status != 400:
                raise
            # New documents may have added a field, so read the mapping again.
            present = client.mapping() or {}
            _require_scheme(client, present, passages)
            missing = _missing(client, present, wanted)
            _add_fields(client, present, missing)
    yield f"{would}add the fields {', '.join(sorted(missing))}" if missing else "nothing to add"
    if conflict := properties_conflict(present):
        yield f"warning: {conflict}"
    if keeps_own(present):
        yield (
            f"the source of a document keeps {OWN} a second time, which only a new index can be told not to: about as "
            "much again on disk"
        )
    if missing and client.total():
        yield f"next, for the documents that are there: whorl opensearch backfill {client.shown}"


def _require_scheme(client: IndexClient, present: Json, wanted: PassageScheme | None) -> PassageScheme | None:
    """Return the scheme of the index's passage hashes, or None; raise an error if `wanted` is another scheme."""
    scheme = passage_scheme(field_definition(present, PASSAGES))
    if scheme:
        scheme.require(wanted, client.url)
    return scheme


def _missing(client: IndexClient, present: Json, wanted: Json) -> Json:
    """Return the wanted fields that the mapping lacks; raise SchemaError if an existing field differs."""
    require_alike(client, present)
    return {name: field for name, field in wanted.items() if not field_definition(present, name)}


def _add_fields(client: IndexClient, present: Json, missing: Json) -> None:
    # In an existing field WORDS, names are not split, so add SPLIT_NAMES only together with a new field WORDS.
    about = {**present.get("_meta", {}), **SPLIT_NAMES} if WORDS in missing else None
    client.add_fields({name: field for name, field in missing.items() if "." not in name}, about)


def create(
    client: IndexClient,
    names: FieldNames,
    shards: int | None = None,
    replicas: int | None = None,
    *,
    passages: PassageScheme | None = None,
) -> None:
    """Create the index, unless another client has just created it."""
    try:
        client.create(index_body(names, shards, replicas, passages=passages))
    except EngineResponseError as error:
        if "already exists" not in error.detail:
            raise


@guard_response
def require_fields(client: IndexClient, names: FieldNames, *, passages: PassageScheme | bool = False) -> IndexFeatures:
    """Return the optional features of an index; create the index if it is missing.

    Args:
        passages: True requires the field of passages; a scheme requires passages of this scheme.

    Raises:
        SchemaError: An existing index lacks fields, or defines them differently.
        SchemeMismatchError: The index has passages of another scheme.
    """
    chosen = passages if isinstance(passages, PassageScheme) else None
    present = client.mapping(OWN)
    if present is None:
        create(client, names, passages=chosen or (PassageScheme() if passages else None))
        present = client.mapping(OWN) or {}
    require_alike(client, present)
    if missing := sorted(name for name in MAPPING if not field_definition(present, name)):
        raise SchemaError(
            f"{client.url} lacks the fields {', '.join(missing)}; 'whorl opensearch init {client.shown}' adds them"
        )
    scheme = _require_scheme(client, present, chosen)
    if passages and scheme is None:
        raise without_passage_field(client)
    has_clusters = all(field_definition(present, name) for name in OF_CLUSTERS)
    return IndexFeatures(scheme, has_clusters, splits_names(present), not source_trap(present, names.content))


def without_passage_field(client: IndexClient) -> SchemaError:
    return SchemaError(
        f"{client.url} has no field for passages; 'whorl opensearch init {client.shown} --passages' adds it"
    )


@guard_response
def file_base(client: IndexClient, names: FieldNames, choose: Callable[[], Path] | None) -> Path | None:
    """Return the folder that the ids of files are relative to, from the `_meta` of the index.

    If the index has none, save the folder that `choose` returns. Create the index if it is missing.
    """
    base = (client.mapping(ID) or {}).get("_meta", {}).get(_FILE_BASE)
    if base is None and choose is not None:
        require_fields(client, names)
        about = (client.mapping(ID) or {}).get("_meta", {})
        chosen = os.path.realpath(choose())
        # Ignore a refusal: a user who may write documents may lack the right to change the mapping.
        with suppress(EngineResponseError):
            client.add_fields({}, {**about, _FILE_BASE: chosen})
            base = chosen
    return None if base is None else Path(base)


def require_alike(client: IndexClient, mapping: Json) -> None:
    """Raise SchemaError if fields with whorl's names have other definitions, such as the cluster's guesses."""
    if differing := list(differences(mapping)):
        raise SchemaError(
            f"{client.url} has fields of our names that are others: {'; '.join(differing)}. A cluster makes such "
            "fields where documents are sent before 'whorl opensearch init': move the documents to a new index"
        )
