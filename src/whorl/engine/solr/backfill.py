"""`whorl solr backfill`: sketches for documents that are there already, made from their stored texts.

Only the four fields of the sketch are set, by atomic updates; what these would lose of other fields is looked for
beforehand. Each update names the version that was read: a document that somebody changes meanwhile is left alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from whorl.arrays import batches
from whorl.engine.backfilled import Backfilled
from whorl.engine.passages import passage_tokens
from whorl.engine.solr.answer import Answer, Json, first_text, whole_text
from whorl.engine.solr.atomic_updates import require_safe
from whorl.engine.solr.clauses import exists
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.fields import NEEDED, PASSAGES, SAMPLE, SCHEME, SIZE, stored_name
from whorl.engine.solr.passages import without_passages
from whorl.engine.solr.request import EVERYTHING, empty_sketches, listed, lost_sketches, one_of, without_sketch
from whorl.engine.solr.schema import Collection, FieldNames, inspect
from whorl.engine.solr.sketches import sketch_fields
from whorl.engine.solr.texts import listing, stored_texts
from whorl.errors import EngineError, EngineResponseError, ParameterError, SchemaError
from whorl.fingerprint.batch import Parts, hashed
from whorl.fingerprint.sketch.sketch import SketchScheme
from whorl.fingerprint.winnow import PassageScheme

#: Documents fetched, and sent, at once; each brings its whole text.
DEFAULT_BATCH = 100
#: Ids listed at once. Whatever their number, Solr goes through all documents that match to tell which ones are next.
_LISTED_AT_ONCE = 10_000
#: After so many the index is told to keep what it has: the next run then knows of them, however this one ends.
_COMMIT_EVERY = 10_000
#: Of a document without a version, Solr only asks that it is there.
_ANY_VERSION = 1


def prepare(client: SolrClient, wanted: FieldNames, *, repair: bool = False) -> tuple[Collection, int]:
    """Return what a collection offers and how many of its documents are to be looked at; nothing is changed.

    Args:
        client: Where the collection is.
        wanted: What it calls its fields.
        repair: Whether sketches of no shingles are made again.

    Raises:
        SchemaError: The documents cannot be given sketches; the message says why and what would work.
    """
    collection = inspect(client, wanted)
    if not collection.has_sketches:
        raise SchemaError(
            f"{client.url} lacks the fields of the sketches, or has others of their names; "
            f"'whorl solr init {client.url}' adds them, 'whorl solr check {client.url}' says more"
        )
    _require_text(client, collection, wanted, repair=repair)
    require_safe(client, collection)
    # A question for each: together they would be asked slowly for each page.
    return collection, sum(map(client.count, _queries(collection, repair=repair)))


def _require_text(client: SolrClient, collection: Collection, wanted: FieldNames, *, repair: bool) -> None:
    """Raise unless there is something to make sketches from, or there are empty ones to take away."""
    content = collection.content
    if content is not None:
        if not collection.has_searchable_text or client.count(exists(content)) or not client.count(EVERYTHING):
            return
        reason = f"no document has a text in {content!r}"
    else:
        reason = f"{wanted.content!r} is not a stored field"
    texts = stored_texts(client, collection.schema, wanted)
    if repair and not texts:
        return
    there = f"stored texts are in {listing(texts)}" if texts else "no field with a stored text is there"
    raise SchemaError(
        f"{client.url} gives no texts back: {reason}, and {there}; where the texts are in another field, name it in "
        "whorl.toml: [fields] content. Else index again (whorl index --all)"
    )


def backfill(
    client: SolrClient,
    wanted: FieldNames,
    *,
    batch: int = DEFAULT_BATCH,
    repair: bool = False,
    progress: Callable[[Backfilled], None] | None = None,
) -> Backfilled:
    """Give every document that has a text and no sketch its own; those that have one are left alone.

    A run that is stopped, however that happens, is completed by another one.

    Args:
        client: Where the collection is.
        wanted: What it calls its fields.
        batch: Documents at once, at least 1.
        repair: Whether to make sketches of no shingles again too, as they are written while the wrong field is taken
            for the text; where a document has no text, its sketch is taken away.
        progress: Called before the first batch and after each with what is done by then.

    Raises:
        SchemaError: The documents cannot be given sketches; nothing has been changed.
        EngineError: Solr fails; what was sent before stays.
    """
    if batch < 1:
        raise ParameterError(f"batch must be at least 1, got {batch}")
    collection, total = prepare(client, wanted, repair=repair)
    done, committed = Backfilled(total), 0
    # What is not visible yet would be read in its old version, and be refused.
    client.commit()
    tell = progress or _ignore
    tell(done)
    try:
        for documents in _pages(client, collection, batch, repair=repair):
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
    still = client.count(_queries(collection, repair=False)[0])
    return replace(done, left=max(0, still - done.textless - len(done.refused)))


def _filled(client: SolrClient, collection: Collection, documents: list[Answer], done: Backfilled) -> Backfilled:
    unread = _unread(client, collection, documents)
    name = stored_name(collection.scheme, SketchScheme())
    made, removed, kept = [], [], 0
    passages = PassageScheme() if collection.has_passages else None
    texts = [whole_text(document.get(collection.content or "")) for document in documents]
    parts = Parts.HASHES | Parts.WORDS if passages else Parts.HASHES
    read = hashed(filter(None, texts), collection.scheme, parts, workers=1)
    for document, text in zip(documents, texts, strict=True):
        is_empty = first_text(document.get(SIZE)) == "0"
        if text:
            found = next(read)
            sketch = found.sketch(SketchScheme())
            if is_empty and not sketch.size and first_text(document.get(SCHEME)) == name:
                kept += 1
            else:
                fields = sketch_fields(sketch, collection.scheme)
                if passages:
                    fields[PASSAGES] = passage_tokens(found.words, passages)
                made.append(update(collection, document, fields))
        elif is_empty and str(document[collection.names.key]) not in unread:
            removed.append(update(collection, document, dict.fromkeys([*NEEDED, *([PASSAGES] if passages else [])])))
    refused = [send_updates(client, updates, collection.names.key) for updates in (made, removed)]
    return replace(
        done,
        sent=done.sent + len(made) - len(refused[0]),
        removed=done.removed + len(removed) - len(refused[1]),
        kept=done.kept + kept,
        textless=done.textless + len(unread),
        refused=(*done.refused, *refused[0], *refused[1]),
    )


def _pages(client: SolrClient, collection: Collection, batch: int, *, repair: bool) -> Iterator[list[Answer]]:
    """Yield the documents to look at, about in the order of their ids, with their texts, sizes and versions."""
    key = collection.names.key
    fields = listed([key, *([collection.content] if collection.content else []), SIZE, SCHEME, "_version_"])
    for query in _queries(collection, repair=repair):
        for found, _ in client.pages(query, key, listed([key]), _LISTED_AT_ONCE):
            ids = [str(each[key]) for each in found]
            for some in batches(ids, batch):
                # Who was given a sketch since then is left alone.
                wanted = {"bool": {"filter": [one_of(key, some), query]}}
                yield client.select({"query": wanted, "limit": len(some), "fields": fields}).documents


def _queries(collection: Collection, *, repair: bool) -> list[dict[str, Any]]:
    """Return what matches documents without a sketch, without its tokens, without passages, with an empty sketch."""
    name = stored_name(collection.scheme, SketchScheme())
    bare = without_sketch(name, collection.content if collection.has_searchable_text else None)
    unread = []
    if collection.has_passages:
        # Of those that have a sketch, and have not lost its tokens: the others are looked at anyway.
        query = without_passages(PassageScheme(), None)
        unread.append({"bool": {"filter": [query, {"term": {"f": SCHEME, "query": name}}, exists(SAMPLE)]}})
    return [bare, lost_sketches(name), *unread, *([empty_sketches(name)] if repair else [])]


def _unread(client: SolrClient, collection: Collection, documents: Sequence[Answer]) -> set[str]:
    """Return the ids of documents that came without a text and may have one all the same: they are left alone."""
    key, content = collection.names.key, collection.content
    bare = [str(each[key]) for each in documents if not whole_text(each.get(content or ""))]
    if not bare or content is None:
        return set()
    if not collection.has_searchable_text:
        return set(bare)
    query = {"bool": {"filter": [one_of(key, bare), exists(content)]}}
    found = client.select({"query": query, "limit": len(bare), "fields": [key]}).documents
    return {str(each[key]) for each in found}


def update(collection: Collection, document: Answer, fields: Json) -> Json:
    """Return the atomic update that sets some fields of a document, if it is still what was read; None takes away."""
    key = collection.names.key
    # No tokens are no values, not an empty list of them.
    changes = {name: {"set": None if value == [] else value} for name, value in fields.items()}
    return {key: document[key], "_version_": document.get("_version_", _ANY_VERSION), **changes}


def send_updates(client: SolrClient, updates: list[Json], key: str) -> list[tuple[str, str]]:
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
            return [refused for update in updates for refused in send_updates(client, [update], key)]
        return [(str(updates[0][key]), error.detail)]
    return []


def _ignore(done: Backfilled) -> None:
    """Tell nobody."""
