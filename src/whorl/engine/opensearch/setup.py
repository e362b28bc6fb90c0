"""`whorl opensearch init`: the index that whorl needs, made where there is none, or its fields in one that is there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from whorl.engine.opensearch.answers import reads_answers_of
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.fields import (
    MAPPING,
    OF_CLUSTERS,
    OF_PASSAGES,
    OWN,
    PASSAGES,
    Json,
    SourceNames,
    index_body,
    mapping,
)
from whorl.errors import EngineResponseError, SchemaError

#: What a field has where a mapping does not say it; other things that a mapping leaves out are not looked at.
_DEFAULTS = {"store": False, "doc_values": True, "index": True, "norms": True, "similarity": "BM25"}


@reads_answers_of
def initialise(
    client: IndexClient, names: SourceNames, *, dry_run: bool = False, passages: bool = False
) -> Iterator[str]:
    """Make an index, or add to one what it lacks; nothing that is there is changed. Yield what is done, in words.

    Args:
        client: Where the index is, or shall be.
        names: What it calls the parts of a document.
        dry_run: Whether to say it and do nothing.
        passages: Whether the index is to find passages with certainty.

    Raises:
        SchemaError: A field of ours is there and of another kind.
    """
    would = "would " if dry_run else ""
    there = client.mapping()
    if there is None:
        yield f"{would}make the index {client.index}, its numbers of shards and replicas those of the cluster"
        if not dry_run:
            create(client, names, passages=passages)
        return
    require_alike(client, there)
    wanted = mapping(names, passages=passages)
    missing = {name: field for name, field in wanted.items() if not described(there, name)}
    if missing:
        yield f"{would}add the fields {', '.join(sorted(missing))}"
        if not dry_run:
            client.add_fields({name: field for name, field in missing.items() if "." not in name})
    else:
        yield "nothing to add"
    if keeps_own(there):
        yield (
            f"the source of a document keeps {OWN} a second time, which only a new index can be told not to: about as "
            "much again on disk"
        )
    if missing and client.total():
        yield f"documents that are there are found after: whorl opensearch backfill {client.shown}"


def create(
    client: IndexClient,
    names: SourceNames,
    shards: int | None = None,
    replicas: int | None = None,
    *,
    passages: bool = False,
) -> None:
    """Make the index, unless somebody else has just made it."""
    try:
        client.create(index_body(names, shards, replicas, passages=passages))
    except EngineResponseError as error:
        if "already exists" not in error.detail:
            raise


@dataclass(frozen=True, slots=True)
class Further:
    """What an index has beside the fields that each needs.

    Args:
        passages: Whether it finds passages.
        clusters: Whether its documents can say which clusters they are in.
    """

    passages: bool
    clusters: bool


@reads_answers_of
def require_fields(client: IndexClient, names: SourceNames, *, passages: bool = False) -> Further:
    """See to it that an index has our fields: one that is not there is made. Return what it has beside them.

    Args:
        client: Where the index is.
        names: What it calls the parts of a document.
        passages: Whether it has to.

    Raises:
        SchemaError: It is there, and lacks some or has others of their names.
    """
    there = client.mapping(OWN)
    if there is None:
        create(client, names, passages=passages)
        return Further(passages, clusters=True)
    require_alike(client, there)
    if missing := sorted(name for name in MAPPING if not described(there, name)):
        raise SchemaError(
            f"{client.url} lacks the fields {', '.join(missing)}; 'whorl opensearch init {client.shown}' adds them"
        )
    if passages and not described(there, PASSAGES):
        raise SchemaError(
            f"{client.url} has no field for passages; 'whorl opensearch init {client.shown} --passages' adds it"
        )
    return Further(bool(described(there, PASSAGES)), all(described(there, name) for name in OF_CLUSTERS))


def require_alike(client: IndexClient, there: Json) -> None:
    """Raise where a field of our own is there and of another kind, as a cluster makes them by itself."""
    if differing := list(differences(there)):
        raise SchemaError(
            f"{client.url} has fields of our names that are others: {'; '.join(differing)}. A cluster makes such "
            "fields where documents are sent before 'whorl opensearch init': move the documents to a new index"
        )


def differences(there: Json) -> Iterator[str]:
    """Say where fields of our own are not what we would have made."""
    for name, field in {**MAPPING, **OF_PASSAGES, **OF_CLUSTERS}.items():
        found = described(there, name)
        for key, value in field.items() if found else ():
            actual = found.get(key, _DEFAULTS.get(key, value))
            if actual != value:
                yield f"{name} has {key} {json.dumps(actual)}, ours {json.dumps(value)}"


def described(there: Json, name: str) -> Json:
    """Return what a mapping says of a field, {} where it has none; a dot leads into an object."""
    found: Json = {"properties": there.get("properties", {})}
    for part in name.split("."):
        found = found.get("properties", {}).get(part, {})
    return found


def keeps_own(there: Json) -> bool:
    """Tell whether the source of a document holds our own fields, too."""
    return OWN not in there.get("_source", {}).get("excludes", [])
