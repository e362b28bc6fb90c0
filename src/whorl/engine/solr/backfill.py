"""`whorl solr backfill`: sketches for documents that are there already, made from their stored texts.

Only the four fields of the sketch are set, by atomic updates; what these would lose of other fields is looked for
beforehand. Each update names the version that was read: a document that somebody changes meanwhile is left alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from whorl.engine.solr.answer import Json, first_text
from whorl.engine.solr.atomic_updates import require_safe
from whorl.engine.solr.clauses import exists
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.paging import pages
from whorl.engine.solr.request import lost_sketches, one_of, without_sketch
from whorl.engine.solr.schema import Collection, FieldNames, inspect
from whorl.engine.solr.sketches import sketch_fields, stored_name
from whorl.errors import EngineError, EngineResponseError, ParameterError, SchemaError
from whorl.fingerprint.batch import text_sketch
from whorl.fingerprint.sketch.sketch import SketchScheme

#: Documents fetched, and sent, at once; each brings its whole text.
DEFAULT_BATCH = 100
#: After so many the index is told to keep what it has: the next run then knows of them, however this one ends.
_COMMIT_EVERY = 10_000
#: Of a document without a version, Solr only asks that it is there.
_ANY_VERSION = 1


@dataclass(frozen=True, slots=True)
class Backfilled:
    """What a run did so far.

    Args:
        total: Documents that had no sketch when it began.
        sent: Documents whose sketch was made and sent.
        unread: Documents whose text is in the index, but was not stored with them.
        refused: Documents that Solr refuses, with its reason.
        left: Documents without a sketch at the end, beside those: changed meanwhile, or new.
    """

    total: int
    sent: int = 0
    unread: int = 0
    refused: tuple[tuple[str, str], ...] = ()
    left: int = 0


def prepare(client: SolrClient, wanted: FieldNames) -> tuple[Collection, int]:
    """Return what a collection offers and how many of its documents have no sketch; nothing is changed.

    Raises:
        SchemaError: The documents cannot be given sketches; the message says why and what would work.
    """
    collection = inspect(client, wanted)
    if not collection.has_sketches:
        raise SchemaError(
            f"{client.url} lacks the fields of the sketches, or has others of their names; "
            f"'whorl solr init {client.url}' adds them, 'whorl solr check {client.url}' says more"
        )
    if collection.content is None:
        raise SchemaError(
            f"{client.url} gives no texts back: {wanted.content!r} is not a stored field; where the texts are in "
            "another, name that in whorl.toml: [fields] content. Else index again (whorl index --all)"
        )
    require_safe(client, collection)
    name = _name(collection)
    # Two questions: together they would be asked slowly for each page.
    return collection, _count(client, without_sketch(name)) + _count(client, lost_sketches(name))


def backfill(
    client: SolrClient,
    wanted: FieldNames,
    *,
    batch: int = DEFAULT_BATCH,
    progress: Callable[[Backfilled], None] | None = None,
) -> Backfilled:
    """Give every document without a sketch its own; those that have one are left alone.

    A run that is stopped, however that happens, is completed by another one.

    Args:
        client: Where the collection is.
        wanted: What it calls its fields.
        batch: Documents at once, at least 1.
        progress: Called before the first batch and after each with what is done by then.

    Raises:
        SchemaError: The documents cannot be given sketches; nothing has been changed.
        EngineError: Solr fails; what was sent before stays.
    """
    if batch < 1:
        raise ParameterError(f"batch must be at least 1, got {batch}")
    collection, total = prepare(client, wanted)
    done, committed = Backfilled(total), 0
    # What is not visible yet would be read in its old version, and be refused.
    client.commit()
    tell = progress or _ignore
    tell(done)
    try:
        for documents in _pages(client, collection, batch):
            done = _filled(client, collection, documents, done)
            if done.sent - committed >= _COMMIT_EVERY:
                client.commit()
                committed = done.sent
            tell(done)
    except BaseException:
        with contextlib.suppress(EngineError):
            client.commit()
        raise
    client.commit()
    still = _count(client, without_sketch(_name(collection)))
    return replace(done, left=max(0, still - done.unread - len(done.refused)))


def _filled(client: SolrClient, collection: Collection, documents: list[Json], done: Backfilled) -> Backfilled:
    unread = _unread(client, collection, documents)
    updates = [_update(collection, each) for each in documents if str(each[collection.names.key]) not in unread]
    refused = _send(client, updates, collection.names.key)
    return replace(
        done,
        sent=done.sent + len(updates) - len(refused),
        unread=done.unread + len(unread),
        refused=(*done.refused, *refused),
    )


def _pages(client: SolrClient, collection: Collection, batch: int) -> Iterator[list[Json]]:
    """Yield the documents without a sketch in the order of their ids, with their texts and versions."""
    key, name = collection.names.key, _name(collection)
    fields = [key, str(collection.content), "_version_"]
    for query in (without_sketch(name), lost_sketches(name)):
        for documents, _ in pages(client, query, key, fields, batch):
            yield documents


def _unread(client: SolrClient, collection: Collection, documents: Sequence[Json]) -> set[str]:
    """Return the ids of documents that came without a text although they have one: an update would lose it."""
    key, content = collection.names.key, str(collection.content)
    about = collection.describe(content) or {}
    bare = [str(each[key]) for each in documents if not first_text(each.get(content))]
    if not bare or not about.get("indexed"):
        return set()
    query = {"bool": {"filter": [one_of(key, bare), exists(content)]}}
    found = client.post("select", {"query": query, "limit": len(bare), "fields": [key]})["response"]["docs"]
    return {str(each[key]) for each in found}


def _update(collection: Collection, document: Json) -> Json:
    key = collection.names.key
    text = first_text(document.get(str(collection.content)))
    fields = sketch_fields(text_sketch(text, collection.scheme, SketchScheme()), collection.scheme)
    # No tokens are no values, not an empty list of them.
    changes = {name: {"set": None if value == [] else value} for name, value in fields.items()}
    return {key: document[key], "_version_": document.get("_version_", _ANY_VERSION), **changes}


def _send(client: SolrClient, updates: list[Json], key: str) -> list[tuple[str, str]]:
    """Send updates; return the ids of those that Solr refuses, with its reasons. Outdated ones are passed over."""
    if not updates:
        return []
    try:
        client.post("update", updates, failOnVersionConflicts="false")
    except EngineResponseError as error:
        if "updateLog" in error.detail:
            raise SchemaError(
                f"{client.url} keeps no update log, without which Solr changes no document in part ({error.detail}); "
                "add <updateLog/> to the updateHandler in solrconfig.xml"
            ) from error
        if error.status != 400:
            raise
        if len(updates) > 1:
            # Some of them have been taken: they have another version now, and are passed over.
            return [refused for update in updates for refused in _send(client, [update], key)]
        return [(str(updates[0][key]), error.detail)]
    return []


def _name(collection: Collection) -> str:
    return stored_name(collection.scheme, SketchScheme())


def _count(client: SolrClient, query: dict[str, Any]) -> int:
    return int(client.post("select", {"query": query, "limit": 0})["response"]["numFound"])


def _ignore(done: Backfilled) -> None:
    """Tell nobody."""
