"""`whorl solr backfill`: add sketches to documents already in a collection, made from their stored texts.

Atomic updates set only the four fields of the sketch (and the field of passages); a check beforehand makes sure that
they lose no other field. Each update names the version that was read, so a document that changes in the meantime is
left alone.

At an atomic update, Solr rebuilds the whole document from the values that it can read back: stored fields, and
docValues fields with useDocValuesAsStored. It fills copyField destinations from their sources and discards their
previous values. An atomic update silently empties every other field; `require_safe` refuses it then.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from whorl.arrays import batches
from whorl.engine.backfill import DEFAULT_BATCH, BackfillReport, fill_batches, ignore_progress, require_batch
from whorl.engine.lucene import passage_terms
from whorl.engine.setup import FieldNames, init_command, listing
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.fields import NEEDED, PASSAGES, SAMPLE, SCHEME, SIZE, stored_name
from whorl.engine.solr.request import EVERYTHING, empty_sketches, exists, listed, lost_sketches, one_of, without_sketch
from whorl.engine.solr.response import Json, SolrResponse, first_text, whole_text
from whorl.engine.solr.schema import Collection, inspect, names_in_use
from whorl.engine.solr.sketches import lacks_passages, sketch_fields, stored_texts
from whorl.errors import EngineResponseError, SchemaError
from whorl.fingerprint.batch import Parts, hashed
from whorl.fingerprint.sketch.sketch import SketchScheme
from whorl.fingerprint.winnowing import PassageScheme

#: Ids listed per request. Solr goes through all matching documents to find the next page, whatever its size.
_LISTED_AT_ONCE = 10_000
#: `_version_` for a document without a version: Solr then only requires that it exists.
_ANY_VERSION = 1


def prepare(client: SolrClient, wanted: FieldNames, *, repair: bool = False) -> tuple[Collection, int]:
    """Return the collection and the number of documents to process; nothing is changed.

    Args:
        client: Client of the collection.
        wanted: The collection's field names.
        repair: Whether empty sketches are made again.

    Raises:
        SchemaError: The documents cannot get sketches; the message gives the reason and a remedy.
    """
    collection = inspect(client, wanted)
    if not collection.has_sketches:
        raise SchemaError(
            f"{client.url} lacks the fields of the sketches, or has others of their names; "
            f"'whorl solr init {client.url}' adds them, 'whorl solr check {client.url}' says more"
        )
    _require_text(client, collection, wanted, repair=repair)
    require_safe(client, collection)
    # One query each: combined, they would run slowly for every page.
    return collection, sum(map(client.count, _queries(collection, repair=repair)))


def _require_text(client: SolrClient, collection: Collection, wanted: FieldNames, *, repair: bool) -> None:
    """Raise SchemaError unless documents have stored texts, or empty sketches can be removed."""
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
        f"{client.url} gives no texts back: {reason}, and {there}; where the texts are in another field, name it: "
        f"{init_command(f'whorl solr init {client.url}', texts, wanted)}. Else index again (whorl index --all)"
    )


def backfill(
    client: SolrClient,
    wanted: FieldNames,
    *,
    batch: int = DEFAULT_BATCH,
    repair: bool = False,
    progress: Callable[[BackfillReport], None] = ignore_progress,
) -> BackfillReport:
    """Add sketches to all documents that have a text and no sketch; documents with a sketch stay unchanged.

    Args:
        client: Client of the collection.
        wanted: The collection's field names.
        batch: Documents per request, at least 1.
        repair: Whether to make empty sketches again too (they come from runs with the wrong text field), and to remove
            the sketches of documents without a text.
        progress: Called before the first batch and after each one with the counts so far.

    Raises:
        SchemaError: The documents cannot get sketches; nothing has been changed.
        EngineError: Solr failed; updates sent before remain.
    """
    require_batch(batch)
    collection, total = prepare(client, wanted, repair=repair)
    # Solr would return uncommitted documents in their old version, and then refuse the updates.
    client.commit()
    return fill_batches(
        total,
        _pages(client, collection, batch, repair=repair),
        partial(_fill, client, collection),
        commit=client.commit,
        lacking=lambda: client.count(_queries(collection, repair=False)[0]),
        progress=progress,
    )


def _fill(client: SolrClient, collection: Collection, documents: list[SolrResponse]) -> BackfillReport:
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
                    fields[PASSAGES] = passage_terms(found.words, passages)
                made.append(update(collection, document, fields))
        elif is_empty and str(document[collection.names.key]) not in unread:
            removed.append(update(collection, document, dict.fromkeys([*NEEDED, *([PASSAGES] if passages else [])])))
    refused = [send_updates(client, updates, collection.names.key) for updates in (made, removed)]
    return BackfillReport(
        example=str(made[0][collection.names.key]) if made else "",
        sent=len(made) - len(refused[0]),
        removed=len(removed) - len(refused[1]),
        kept=kept,
        textless=len(unread),
        refused=(*refused[0], *refused[1]),
    )


def _pages(client: SolrClient, collection: Collection, batch: int, *, repair: bool) -> Iterator[list[SolrResponse]]:
    """Yield the documents to process with their texts, sizes and versions, roughly in the order of their ids."""
    key = collection.names.key
    fields = listed([key, *([collection.content] if collection.content else []), SIZE, SCHEME, "_version_"])
    for query in _queries(collection, repair=repair):
        for found, _ in client.pages(query, key, listed([key]), _LISTED_AT_ONCE):
            ids = [str(each[key]) for each in found]
            for some in batches(ids, batch):
                # Skip documents that got a sketch since the ids were listed.
                wanted = {"bool": {"filter": [one_of(key, some), query]}}
                yield client.select({"query": wanted, "limit": len(some), "fields": fields}).documents


def _queries(collection: Collection, *, repair: bool) -> list[dict[str, Any]]:
    """Return the queries for documents with no sketch, no tokens of a sketch, no passages, or an empty sketch."""
    name = stored_name(collection.scheme, SketchScheme())
    bare = without_sketch(name, collection.content if collection.has_searchable_text else None)
    unread = []
    if collection.has_passages:
        # Only documents with a sketch and its tokens: the other queries match the rest.
        query = lacks_passages(PassageScheme(), None)
        unread.append({"bool": {"filter": [query, {"term": {"f": SCHEME, "query": name}}, exists(SAMPLE)]}})
    return [bare, lost_sketches(name), *unread, *([empty_sketches(name)] if repair else [])]


def _unread(client: SolrClient, collection: Collection, documents: Sequence[SolrResponse]) -> set[str]:
    """Return the ids of documents that came without a text but may have one; they are left alone."""
    key, content = collection.names.key, collection.content
    bare = [str(each[key]) for each in documents if not whole_text(each.get(content or ""))]
    if not bare or content is None:
        return set()
    if not collection.has_searchable_text:
        return set(bare)
    query = {"bool": {"filter": [one_of(key, bare), exists(content)]}}
    found = client.select({"query": query, "limit": len(bare), "fields": [key]}).documents
    return {str(each[key]) for each in found}


def update(collection: Collection, document: SolrResponse, fields: Json) -> Json:
    """Return the atomic update that sets fields of a document if its version is unchanged; None removes a field."""
    key = collection.names.key
    # Solr needs null, not an empty list, to remove a field.
    changes = {name: {"set": None if value == [] else value} for name, value in fields.items()}
    return {key: document[key], "_version_": document.get("_version_", _ANY_VERSION), **changes}


def send_updates(client: SolrClient, updates: list[Json], key: str) -> list[tuple[str, str]]:
    """Send updates; return the ids of refused documents with Solr's reasons. Outdated updates are skipped."""
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
        # A SolrCloud of 8.11 does not pass `failOnVersionConflicts` on to other shards.
        is_outdated = error.status == 409
        if error.status != 400 and not is_outdated:
            raise
        if len(updates) > 1:
            # Solr has applied some of them: those now have another version and are skipped.
            return [refused for update in updates for refused in send_updates(client, [update], key)]
        return [] if is_outdated else [(str(updates[0][key]), error.detail)]
    return []


#: Fields that Solr fills itself, and fields that the update sets.
_NOT_LOST = frozenset({"_version_", "_root_", "_nest_path_", PASSAGES, *NEEDED})
#: Part of the names of subfields of a multi-part field type; Solr rebuilds them with their parent field.
_PART_OF_A_FIELD = "___"
#: Documents checked one by one when a query cannot decide.
_MOST_SUSPECTS = 1000


def require_safe(client: SolrClient, collection: Collection) -> None:
    """Raise an error unless an atomic update of any document leaves all its fields unchanged.

    The check misses documents whose copyField destination has other values in addition to the copied ones.

    Raises:
        SchemaError: The schema has no `_version_`, or documents have values that would be lost; the message names all
            these fields.
    """
    if "_version_" not in collection.schema.fields:
        raise SchemaError(
            f"{client.url} has no field '_version_', without which Solr changes no document in part; add it to the "
            "schema, or index the documents again (whorl index --all)"
        )
    losses = list(_Losses(client, collection).all())
    if losses:
        raise SchemaError(
            f"a change of documents in part would lose what {client.url} has in other fields: {'; '.join(losses)}. "
            "Make what is named stored and index the documents again (whorl index --all)"
        )


class _Losses:
    def __init__(self, client: SolrClient, collection: Collection) -> None:
        self._client, self._collection = client, collection
        self._dynamic = collection.schema.dynamic
        self._sources: dict[str, list[str]] = {}
        for source, destination in collection.schema.copies:
            self._sources.setdefault(destination, []).append(source)

    def all(self) -> Iterator[str]:
        """Yield a description of each loss, with the field and the reason."""
        fields = self._collection.schema.fields
        yield from self._unreadable([name for name in fields if name != self._collection.names.key])
        if any(not self._is_kept(each) and _holds(each) for each in self._dynamic.values()):
            yield from self._unreadable([name for name in self._names_in_use if name not in fields])
        for destination in self._sources:
            yield from self._copied(destination)
        yield from self._nested()

    def _unreadable(self, names: list[str]) -> Iterator[str]:
        for name in sorted(names):
            about = self._about(name)
            is_made = name in _NOT_LOST or _PART_OF_A_FIELD in name or self._is_destination(name)
            if about is None or is_made or self._is_kept(about) or not _holds(about):
                continue
            if count := self._count(exists(name)):
                yield f"{name!r} is neither stored nor docValues ({count})"

    def _copied(self, destination: str) -> Iterator[str]:
        """Yield the destination if Solr would not fill it again from its sources."""
        about = self._about(destination)
        if destination in _NOT_LOST or about is None or not (_holds(about) or self._is_kept(about)):
            return
        sources = [name for pattern in self._sources[destination] for name in self._matching(pattern)]
        unreadable = [name for name in sources if not self._is_kept(self._about(name) or {})]
        if not _holds(about) or "*" in destination:
            # A query cannot find out if the destination is in use, so only its sources decide.
            if unreadable:
                yield f"{destination!r} is copied from {unreadable[0]!r}, which is not stored"
        elif unreadable:
            if count := self._count(exists(destination)):
                yield f"{destination!r} is copied from {unreadable[0]!r}, which is not stored ({count})"
        elif all(_holds(self._about(name) or {}) for name in sources) and (own := self._own(destination)):
            yield f"{destination!r} holds values that were not copied from {', '.join(map(repr, sources))} ({own})"

    def _own(self, destination: str) -> str:
        """Return the number of documents with a filled destination and no source, as text; "" for none."""
        if "*" in self._sources[destination]:
            return ""
        sources = [name for pattern in self._sources[destination] for name in self._matching(pattern)]
        query = {"bool": {"filter": [exists(destination)], "must_not": [exists(name) for name in sources]}}
        body = {"query": query, "limit": _MOST_SUSPECTS, "fields": listed([self._collection.names.key, *sources])}
        found = self._client.select(body)
        # A source whose analysis leaves no word cannot be searched, but can be read back.
        innocent = sum(any(name in document for name in sources) for document in found.documents)
        return _counted(found.total - innocent)

    def _nested(self) -> Iterator[str]:
        """Yield a description of nested documents, since an atomic update would break their blocks."""
        root, key = "_root_", self._collection.names.key
        if not self._collection.schema.fields.get(root, {}).get("indexed"):
            return
        roots = {"join": {"from": root, "to": key, "query": "*:*"}}
        if count := self._count({"bool": {"filter": [exists(root)], "must_not": [roots]}}):
            yield f"there are documents within documents ({count})"

    def _count(self, query: Mapping[str, Any]) -> str:
        """Return the number of matching documents as text, "" for none; a field that is not searchable may have any."""
        try:
            return _counted(self._client.count(query))
        except EngineResponseError as error:
            if error.status != 400:
                raise
            return "some documents, perhaps: it cannot be searched"

    def _about(self, name: str) -> Json | None:
        return self._collection.schema.describe(name)

    def _is_kept(self, about: Json) -> bool:
        """Check whether Solr can read a field's values back unchanged."""
        kind = str(self._collection.schema.types.get(str(about.get("type")), {}).get("class"))
        has_values = about.get("docValues") and about.get("useDocValuesAsStored") and "Collation" not in kind
        return bool(about.get("stored") or has_values)

    def _is_destination(self, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self._sources)

    def _matching(self, pattern: str) -> list[str]:
        """Return the fields that match the source pattern of a copyField."""
        if "*" not in pattern:
            return [pattern]
        names = [*self._collection.schema.fields, *self._names_in_use]
        fitting = dict.fromkeys(name for name in names if fnmatch.fnmatchcase(name, pattern))
        # Solr does not copy a copyField destination on to other fields.
        return [name for name in fitting if name not in _NOT_LOST and not self._is_destination(name)]

    @cached_property
    def _names_in_use(self) -> list[str]:
        """Names of all fields that documents have or had, including dynamic fields."""
        return sorted(names_in_use(self._client))


def _holds(about: Json) -> bool:
    """Check whether documents can have searchable values in a field."""
    return bool(about.get("indexed") or about.get("docValues"))


def _counted(count: int) -> str:
    return f"{count:,} document{'' if count == 1 else 's'}" if count > 0 else ""
