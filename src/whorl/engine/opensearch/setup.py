"""`whorl opensearch init`: create an index for whorl, or add whorl's fields to an existing one."""

from __future__ import annotations

import json
from collections.abc import Iterator

from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.documents import (
    MAPPING,
    OF_CLUSTERS,
    OF_PASSAGES,
    OWN,
    PASSAGES,
    SPLIT_NAMES,
    WORDS,
    IndexFeatures,
    Json,
    SourceNames,
    index_body,
    mapping,
)
from whorl.engine.opensearch.transport import guard_response
from whorl.errors import EngineResponseError, SchemaError

#: Defaults of properties that a mapping omits; other omitted properties are not compared.
_DEFAULTS = {"store": False, "doc_values": True, "index": True, "norms": True, "similarity": "BM25"}


@guard_response
def initialise(
    client: IndexClient, names: SourceNames, *, dry_run: bool = False, passages: bool = False
) -> Iterator[str]:
    """Create an index or add missing fields, without changing existing ones; yield a line for each step.

    Args:
        client: Client of the existing or new index.
        names: The index's names for the parts of a document.
        dry_run: Whether to report the steps without taking them.
        passages: Whether to add the field of passages.

    Raises:
        SchemaError: One of whorl's fields exists with another definition.
    """
    would = "would " if dry_run else ""
    there = client.mapping()
    if there is None:
        yield f"{would}make the index {client.index}, its numbers of shards and replicas those of the cluster"
        if not dry_run:
            create(client, names, passages=passages)
        return
    wanted = mapping(names, passages=passages)
    missing = _missing(client, there, wanted)
    if missing and not dry_run:
        try:
            _add_fields(client, there, missing)
        except EngineResponseError as error:
            if error.status != 400:
                raise
            # Documents may have added a field since the mapping was read.
            there = client.mapping() or {}
            missing = _missing(client, there, wanted)
            _add_fields(client, there, missing)
    yield f"{would}add the fields {', '.join(sorted(missing))}" if missing else "nothing to add"
    if keeps_own(there):
        yield (
            f"the source of a document keeps {OWN} a second time, which only a new index can be told not to: about as "
            "much again on disk"
        )
    if missing and client.total():
        yield f"documents that are there are found after: whorl opensearch backfill {client.shown}"


def _missing(client: IndexClient, there: Json, wanted: Json) -> Json:
    require_alike(client, there)
    return {name: field for name, field in wanted.items() if not described(there, name)}


def _add_fields(client: IndexClient, there: Json, missing: Json) -> None:
    # Words indexed before stay whole, so only a new field of words gets the mark.
    about = {**there.get("_meta", {}), **SPLIT_NAMES} if WORDS in missing else None
    client.add_fields({name: field for name, field in missing.items() if "." not in name}, about)


def create(
    client: IndexClient,
    names: SourceNames,
    shards: int | None = None,
    replicas: int | None = None,
    *,
    passages: bool = False,
) -> None:
    """Create the index, unless another client has just created it."""
    try:
        client.create(index_body(names, shards, replicas, passages=passages))
    except EngineResponseError as error:
        if "already exists" not in error.detail:
            raise


@guard_response
def require_fields(client: IndexClient, names: SourceNames, *, passages: bool = False) -> IndexFeatures:
    """Make sure that an index has whorl's fields, creating a missing index; return its optional features.

    Args:
        client: Client of the index.
        names: The index's names for the parts of a document.
        passages: Whether the field of passages is required.

    Raises:
        SchemaError: An existing index lacks fields, or has fields of the same names with other definitions.
    """
    there = client.mapping(OWN)
    if there is None:
        create(client, names, passages=passages)
        return IndexFeatures(passages, clusters=True, split_names=True)
    require_alike(client, there)
    if missing := sorted(name for name in MAPPING if not described(there, name)):
        raise SchemaError(
            f"{client.url} lacks the fields {', '.join(missing)}; 'whorl opensearch init {client.shown}' adds them"
        )
    if passages and not described(there, PASSAGES):
        raise SchemaError(
            f"{client.url} has no field for passages; 'whorl opensearch init {client.shown} --passages' adds it"
        )
    has_clusters = all(described(there, name) for name in OF_CLUSTERS)
    return IndexFeatures(bool(described(there, PASSAGES)), has_clusters, splits_names(there))


def splits_names(there: Json) -> bool:
    """Check in the mapping whether the words of names are also split at `_` and `.`."""
    about: Json = there.get("_meta", {})
    return about.items() >= SPLIT_NAMES.items()


def require_alike(client: IndexClient, there: Json) -> None:
    """Raise SchemaError if one of whorl's fields has another definition, as a cluster's automatic mapping creates."""
    if differing := list(differences(there)):
        raise SchemaError(
            f"{client.url} has fields of our names that are others: {'; '.join(differing)}. A cluster makes such "
            "fields where documents are sent before 'whorl opensearch init': move the documents to a new index"
        )


def differences(there: Json) -> Iterator[str]:
    """Yield the differences between existing fields and whorl's definitions."""
    for name, field in {**MAPPING, **OF_PASSAGES, **OF_CLUSTERS}.items():
        found = described(there, name)
        for key, value in field.items() if found else ():
            actual = found.get(key, _DEFAULTS.get(key, value))
            if actual != value:
                yield f"{name} has {key} {json.dumps(actual)}, ours {json.dumps(value)}"


def described(there: Json, name: str) -> Json:
    """Return a field's entry in the mapping, {} if there is none; a dot leads into an object."""
    found: Json = {"properties": there.get("properties", {})}
    for part in name.split("."):
        found = found.get("properties", {}).get(part, {})
    return found


def keeps_own(there: Json) -> bool:
    """Check whether the source of documents contains whorl's own fields too."""
    return OWN not in there.get("_source", {}).get("excludes", [])
