"""Adds sketches (`whorl solr backfill`) and cluster labels to Solr documents; checks that no update loses a field.

Atomic updates set only whorl's fields. An update of a backfill contains the version that whorl has read
(compare-and-set), so Solr skips a document that has changed since.

In an atomic update, Solr rebuilds the whole document: it reads stored fields, and docValues with useDocValuesAsStored,
and fills copyField destinations from their sources. Any other field would silently become empty, so `require_safe`
first checks that documents use no other fields. The exceptions are the fields of look-up tokens and passage hashes;
each update sends their values again.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from whorl.arrays_and_batches import batches
from whorl.engine.backfill_loop import DEFAULT_BATCH, BackfillReport, fill_batches, ignore_progress, require_batch
from whorl.engine.cluster_labels import READ_AT_ONCE, ServerLabels, cluster_labels
from whorl.engine.configured_fields import FieldNames, describe_fields, init_command
from whorl.engine.protocol import ClusterLabel
from whorl.engine.server_engine import explain_refusals, guard_response, guard_responses
from whorl.engine.solr.client import Json, SolrClient, escape_field_names, first_text, texts, whole_text
from whorl.engine.solr.document_fields import (
    fingerprint_fields,
    read_sketches,
    searched_sketch_fields,
)
from whorl.engine.solr.field_definitions import (
    PASSAGES,
    SAMPLE,
    SCHEME,
    SIZE,
    SKETCH,
    SKETCH_FIELDS,
    definitions,
)
from whorl.engine.solr.inspect_collection import SolrCollection, find_text_fields, inspect, names_in_use
from whorl.engine.solr.request_body import (
    EVERYTHING,
    empty_sketches,
    exists,
    lacks_passages,
    lost_sketches,
    one_of,
    without_sketch,
)
from whorl.errors import EngineResponseError, SchemaError
from whorl.model import CLUSTER, IS_PRINCIPAL
from whorl.query.plan.nodes import BoundPlan, Kind

#: Number of ids per page. It is large, because Solr visits all matching documents for each page.
_LISTED_AT_ONCE = 10_000
#: Value of `_version_` for an existing document: Solr refuses the update only if the document does not exist.
_ANY_VERSION = 1


@guard_response
def prepare(client: SolrClient, names: FieldNames, *, repair: bool = False) -> tuple[SolrCollection, int]:
    """Return the collection and the number of documents to process, without changing anything.

    If `repair`, also count documents with empty sketches, which are computed again.

    Raises:
        SchemaError: The documents cannot get sketches; the message gives the reason and a remedy.
    """
    collection = inspect(client, names)
    if not collection.schema.has_sketches:
        problem = f"{client.url} lacks the fields of the sketches, or has others of their names"
        remedy = f"'whorl solr init {client.url}' adds them, 'whorl solr check {client.url}' says more"
        raise SchemaError(f"{problem}; {remedy}")
    _require_text(client, collection, names, repair=repair)
    require_safe(client, collection)
    # Count the hits of each query, because `backfill` also runs the queries one by one. A combined query would slow
    # down every page.
    return collection, sum(map(client.count, _queries(collection, repair=repair)))


def _require_text(client: SolrClient, collection: SolrCollection, names: FieldNames, *, repair: bool) -> None:
    """Raise SchemaError if no document has a stored text in the configured field.

    If `repair`, the collection need not have any texts: the run then only removes empty sketches.
    """
    content = collection.content
    if content is not None:
        if not collection.searchable_text or client.count(exists(content)) or not client.count(EVERYTHING):
            return
        reason = f"no document has a text in {content!r}"
    else:
        reason = f"{names.content!r} is not a stored field"
    texts = find_text_fields(client, collection.schema, names)
    if repair and not texts:
        return
    others = f"stored texts are in {describe_fields(texts)}" if texts else "no field with a stored text is there"
    remedy = (
        f"where the texts are in another field, name it: {init_command(f'whorl solr init {client.url}', texts, names)}"
    )
    message = f"{client.url} gives no texts back: {reason}, and {others}; {remedy}"
    raise SchemaError(f"{message}. Else index again (whorl index --all)")


@guard_response
def backfill(
    client: SolrClient,
    names: FieldNames,
    *,
    batch: int = DEFAULT_BATCH,
    repair: bool = False,
    progress: Callable[[BackfillReport], None] = ignore_progress,
) -> BackfillReport:
    """Add sketches to all documents that have a text and no sketch. If Solr fails, earlier updates remain.

    If `repair`, also compute empty sketches again, because they may come from a wrong text field, and remove the
    sketches of documents without a text. `progress` gets the counts so far, see `fill_batches`.
    """
    require_batch(batch)
    collection, total = prepare(client, names, repair=repair)
    copied, identity = [*_Losses(client, collection).find_comparable()], identity_fields(client, collection)
    fields = [*identity, *filter(None, [collection.content]), SIZE, SCHEME, "_version_", *names_of(copied)]
    # Without a commit, Solr would return old versions of documents, and then refuse their updates.
    client.commit()
    return fill_batches(
        total,
        _pages(client, collection, batch, fields, repair=repair),
        partial(_fill, client, collection, identity, copied),
        commit=client.commit,
        lacking=lambda: client.count(_queries(collection, repair=False)[0]),
        progress=progress,
    )


def _fill(
    client: SolrClient,
    collection: SolrCollection,
    identity: Sequence[str],
    copied: CopiedFields,
    documents: list[Json],
) -> BackfillReport:
    """Compute and send whorl's fields for a batch of documents; return the counts of the batch.

    Leave out documents that would lose values in an atomic update (see `uncopied_values`).
    """
    key, content = collection.names.key, collection.content or ""
    unsafe = uncopied_values(copied, documents, key)
    documents = [document for document in documents if str(document[key]) not in unsafe]
    unreadable = _find_unreadable(client, collection, documents)
    made, cleared, too_short, with_words = [], [], 0, list[str]()
    # Queries cannot distinguish an empty text from other texts, so treat it as a text.
    texts = [whole_text(document[content]) for document in documents if content in document]
    computed = fingerprint_fields(texts, collection)
    removed = dict.fromkeys([*SKETCH_FIELDS, *([PASSAGES] if collection.schema.passage_scheme else [])])
    for document in documents:
        is_empty = first_text(document.get(SIZE)) == "0"
        if content in document:
            fields = next(computed)
            if is_empty and not fields[SIZE] and first_text(document.get(SCHEME)) == fields[SCHEME]:
                too_short += 1
                continue
            made.append(update(identity, document, fields))
            with_words += [str(document[key])] * bool(fields[SIZE])
        elif is_empty and str(document[key]) not in unreadable:
            cleared.append(update(identity, document, removed))
    refused = [send_updates(client, updates, key) for updates in (made, cleared)]
    return BackfillReport(
        example=min(with_words, default=""),
        sent=len(made) - len(refused[0]),
        cleared=len(cleared) - len(refused[1]),
        too_short=too_short,
        textless=len(unreadable),
        refused=(*refused[0], *refused[1], *unsafe.items()),
    )


def _pages(
    client: SolrClient, collection: SolrCollection, batch: int, fields: Sequence[str], *, repair: bool
) -> Iterator[list[Json]]:
    """Yield batches of the documents to process, each with the given fields, roughly ordered by id.

    If `repair`, include documents with empty sketches.
    """
    key = collection.names.key
    for query in _queries(collection, repair=repair):
        for page, _ in client.pages(query, key, [key], _LISTED_AT_ONCE):
            for ids in batches([str(document[key]) for document in page], batch):
                # Skip a document that got a sketch after the ids were listed.
                still_lacking = {"bool": {"filter": [one_of(key, ids), query]}}
                yield client.fetch(still_lacking, fields, len(ids))


def _queries(collection: SolrCollection, *, repair: bool) -> list[dict[str, Any]]:
    """Return a query for each reason to process a document: no sketch, no look-up tokens, no passage hashes.

    If `repair`, add the query for empty sketches.
    """
    name = collection.sketch_schemes
    queries = [without_sketch(name, collection.searchable_text), lost_sketches(name)]
    if scheme := collection.schema.passage_scheme:
        # Leave out documents without a sketch, or without the look-up tokens of their sketch. The two queries above
        # match these documents.
        lacking = lacks_passages(scheme, None)
        queries.append({"bool": {"filter": [lacking, {"term": {"f": SCHEME, "query": name}}, exists(SAMPLE)]}})
    return [*queries, *([empty_sketches(name)] if repair else [])]


def _find_unreadable(client: SolrClient, collection: SolrCollection, documents: Sequence[Json]) -> set[str]:
    """Return the ids of documents that may have a text, although Solr returns none."""
    key, content = collection.names.key, collection.content
    bare = [str(document[key]) for document in documents if content not in document]
    if not bare or content is None:
        return set()
    if not collection.searchable_text:
        return set(bare)
    query = {"bool": {"filter": [one_of(key, bare), exists(content)]}}
    return {str(hit[key]) for hit in client.fetch(query, [key], len(bare))}


def identity_fields(client: SolrClient, collection: SolrCollection) -> list[str]:
    """Return the fields that every update must contain: the key, and the router's field if there is one."""
    return [collection.names.key, *filter(None, [client.route_field()])]


def update(identity: Sequence[str], document: Json, fields: Json) -> Json:
    """Return the update that sets fields; None removes a field. Solr skips the update if the document has changed."""
    named = {name: document[name] for name in identity if name in document}
    # Solr removes a field for null, but not for an empty list.
    changes = {name: {"set": None if value == [] else value} for name, value in fields.items()}
    return {**named, "_version_": document.get("_version_", _ANY_VERSION), **changes}


def send_updates(client: SolrClient, updates: list[Json], key: str) -> list[tuple[str, str]]:
    """Send updates; return the id and the reason for each refused document. Ignore documents that have changed."""
    if not updates:
        return []
    try:
        client.post("update", updates, failOnVersionConflicts="false")
    except EngineResponseError as error:
        if "updateLog" in error.detail:
            problem = f"{client.url} keeps no update log, without which Solr changes no document in part"
            remedy = "add <updateLog/> to the updateHandler in solrconfig.xml"
            raise SchemaError(f"{problem} ({error.detail}); {remedy}") from error
        # A SolrCloud of version 8.11 does not pass `failOnVersionConflicts` on to other shards, so a conflict can still
        # be an error.
        is_outdated = error.status == 409
        if error.status != 400 and not is_outdated:
            raise
        if len(updates) > 1:
            # Send the updates again, one by one. If Solr has already applied an update, its version check skips the
            # repeated update.
            return [refused for update in updates for refused in send_updates(client, [update], key)]
        return [] if is_outdated else [(str(updates[0][key]), error.detail)]
    return []


#: Fields that an atomic update never loses, because Solr or the update itself sets them.
_NOT_LOST = frozenset({"_version_", "_root_", "_nest_path_", PASSAGES, *SKETCH_FIELDS})
#: Part of the name of each subfield. Solr rebuilds a subfield from its parent field.
_SUBFIELD_MARK = "___"
#: Maximum number of documents to check one by one for values in a copyField destination that were not copied.
_MOST_SUSPECTS = 1000


def require_safe(client: SolrClient, collection: SolrCollection) -> None:
    """Raise SchemaError if atomic updates would lose fields, or if the schema has no `_version_`.

    A copyField destination may also have values that were not copied. `uncopied_values` finds them if the destination
    is stored. If it is only indexed, whorl finds them only in documents without a value in the sources.
    """
    client.require_updatable()
    if "_version_" not in collection.schema.fields:
        problem = f"{client.url} has no field '_version_', without which Solr changes no document in part"
        raise SchemaError(f"{problem}; add it to the schema, or index the documents again (whorl index --all)")
    possible = _Losses(client, collection)
    possible.require_no_nested()
    if losses := list(possible.describe_all()):
        problem = f"a change of documents in part would lose what {client.url} has in other fields: {'; '.join(losses)}"
        raise SchemaError(f"{problem}. Make what is named stored and index the documents again (whorl index --all)")


@dataclass(frozen=True, slots=True)
class CopiedField:
    """A copyField destination that is stored, and whose sources are stored.

    Args:
        sources: Fields that Solr copies; a field is listed twice if two copyFields name it.
        is_text: Whether the destination and all sources have texts. Otherwise, a copy can differ from its source, like
            the text "007" from the number 7.
    """

    destination: str
    sources: Sequence[str]
    is_text: bool

    def holds_others(self, document: Json) -> bool:
        """Check whether the destination has values that are not copies."""
        copies = [value for name in self.sources for value in texts(document.get(name))]
        values = texts(document.get(self.destination))
        # More values than copies mean that some are not copies. A copy may be only the beginning of its source, because
        # `maxChars` may have cut it.
        is_other = self.is_text and any(not any(copy.startswith(value) for copy in copies) for value in values)
        return is_other or len(values) > len(copies)


CopiedFields = Sequence[CopiedField]


def names_of(copied: CopiedFields) -> list[str]:
    return [*dict.fromkeys(name for field in copied for name in (field.destination, *field.sources))]


def uncopied_values(copied: CopiedFields, documents: Sequence[Json], key: str) -> dict[str, str]:
    """Find documents that would lose values in an atomic update; return the reason for each, keyed by document id.

    These documents have values in a copyField destination (`copied`) that are not copies. In an atomic update, Solr
    fills the destination only from its sources, and so loses the other values.
    """
    unsafe = {}
    for document in documents:
        if field := next((field for field in copied if field.holds_others(document)), None):
            named = ", ".join(map(repr, sorted({*field.sources})))
            reason = f"{field.destination!r} holds values that were not copied from {named}; Solr would lose them"
            unsafe[str(document[key])] = f"{reason}, so index the document again"
    return unsafe


class _Losses:
    """Describes the fields whose values an atomic update would lose, for an error message."""

    def __init__(self, client: SolrClient, collection: SolrCollection) -> None:
        self._client, self._schema, self._key = client, collection.schema, collection.names.key
        self._sources: dict[str, list[str]] = {}
        for source, destination in self._schema.copies:
            self._sources.setdefault(destination, []).append(source)

    def describe_all(self) -> Iterator[str]:
        fields = self._schema.fields
        yield from self._describe_unreadable([name for name in fields if name != self._key])
        if any(not self._is_readable(field) and _has_values(field) for field in self._schema.dynamic.values()):
            yield from self._describe_unreadable([name for name in self._names_in_use if name not in fields])
        for destination in self._sources:
            yield from self._describe_copy_field(destination)

    def _describe_unreadable(self, names: list[str]) -> Iterator[str]:
        """Describe fields in use whose values Solr cannot read back."""
        for name in sorted(names):
            field = self._schema.describe(name)
            is_made = name in _NOT_LOST or _SUBFIELD_MARK in name or self._is_destination(name)
            is_lost = field is not None and not is_made and not self._is_readable(field) and _has_values(field)
            if is_lost and (count := self._count(exists(name))):
                yield f"{name!r} is neither stored nor docValues ({count})"

    def _describe_copy_field(self, destination: str) -> Iterator[str]:
        """Describe a copyField destination if Solr could not fill it again from its sources."""
        field = self._schema.describe(destination)
        if destination in _NOT_LOST or field is None or not (_has_values(field) or self._is_readable(field)):
            return
        sources = self._source_fields(destination)
        unreadable = [name for name in sources if not self._is_readable(self._schema.describe(name) or {})]
        if not _has_values(field) or "*" in destination:
            # No query can count the values of this field that were not copied, so only check whether the sources are
            # stored.
            if unreadable:
                yield f"{destination!r} is copied from {unreadable[0]!r}, which is not stored"
        elif unreadable:
            if count := self._count(exists(destination)):
                yield f"{destination!r} is copied from {unreadable[0]!r}, which is not stored ({count})"
        elif all(_has_values(self._schema.describe(name) or {}) for name in sources) and (
            uncopied := self._count_uncopied(destination)
        ):
            yield f"{destination!r} holds values that were not copied from {', '.join(map(repr, sources))} ({uncopied})"

    def _count_uncopied(self, destination: str) -> str:
        """Return, as text, the number of documents with a value in `destination` that was not copied; "" for 0."""
        if "*" in self._sources[destination]:
            return ""
        sources = self._source_fields(destination)
        query = {"bool": {"filter": [exists(destination)], "must_not": [exists(name) for name in sources]}}
        body = {"query": query, "limit": _MOST_SUSPECTS, "fields": escape_field_names([self._key, *sources])}
        suspects = self._client.select(body)
        # The query also matches documents whose source values contain no words, because such values are not indexed.
        # The response has these values, so subtract the documents with a source value.
        false_suspects = sum(any(name in document for name in sources) for document in suspects.documents)
        return _format_count(suspects.total - false_suspects)

    def find_comparable(self) -> Iterator[CopiedField]:
        """Yield the copyField destinations that `uncopied_values` can compare with their sources."""
        for destination, patterns in self._sources.items():
            if "*" in destination or "*" in patterns or destination in _NOT_LOST:
                continue
            sources = self._source_fields(destination)
            fields = [self._schema.describe(name) or {} for name in (destination, *sources)]
            if sources and all(field.get("stored") for field in fields):
                is_text = {self._schema.kind(name) for name in (destination, *sources)} <= {Kind.TEXT, Kind.KEYWORD}
                yield CopiedField(destination, sources, is_text)

    def _source_fields(self, destination: str) -> list[str]:
        return [name for pattern in self._sources[destination] for name in self._match_pattern(pattern)]

    def require_no_nested(self) -> None:
        """Raise SchemaError for nested documents, because an atomic update would separate them from their parents."""
        root, key = "_root_", self._key
        if not self._schema.fields.get(root, {}).get("indexed"):
            return
        roots = {"join": {"from": root, "to": key, "query": "*:*"}}
        if count := self._count({"bool": {"filter": [exists(root)], "must_not": [roots]}}):
            problem = f"{self._client.url} has documents within documents ({count})"
            cause = "which a change of documents in part would separate"
            remedy = "if their own client indexes them again, FINGERPRINT and 'whorl similar' use their MINHASH tokens"
            raise SchemaError(f"{problem}, {cause}; {remedy}")

    def _count(self, query: Mapping[str, Any]) -> str:
        """Return the number of matching documents as text; "" for 0."""
        try:
            return _format_count(self._client.count(query))
        except EngineResponseError as error:
            if error.status != 400:
                raise
            return "some documents, perhaps: it cannot be searched"

    def _is_readable(self, field: Json) -> bool:
        """Check whether Solr can read back the values of a field unchanged."""
        kind = str(self._schema.types.get(str(field.get("type")), {}).get("class"))
        has_values = field.get("docValues") and field.get("useDocValuesAsStored") and "Collation" not in kind
        return bool(field.get("stored") or has_values)

    def _is_destination(self, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self._sources)

    def _match_pattern(self, pattern: str) -> list[str]:
        """Return the fields that match the source pattern of a copyField."""
        if "*" not in pattern:
            return [pattern]
        names = [*self._schema.fields, *self._names_in_use]
        fitting = dict.fromkeys(name for name in names if fnmatch.fnmatchcase(name, pattern))
        # Leave out the destinations of copyFields, because Solr does not copy from them.
        return [name for name in fitting if name not in _NOT_LOST and not self._is_destination(name)]

    @cached_property
    def _names_in_use(self) -> list[str]:
        """Names of all fields that are or were in use, including dynamic fields."""
        return sorted(names_in_use(self._client))


def _has_values(field: Json) -> bool:
    return bool(field.get("indexed") or field.get("docValues"))


def _format_count(count: int) -> str:
    return f"{count:,} document{'' if count == 1 else 's'}" if count > 0 else ""


@guard_responses
class SolrLabels(ServerLabels):
    """Reads and writes the cluster labels of documents.

    `request` turns a plan into the JSON body of a request that only counts the hits.
    """

    def __init__(
        self, client: SolrClient, collection: Callable[[], SolrCollection], request: Callable[[BoundPlan], Json]
    ) -> None:
        super().__init__(client.url)
        self._client, self._collection, self._request = client, collection, request
        self._copied: CopiedFields | None = None
        self._identity: Sequence[str] = ()

    def prepare(self) -> None:
        """Raise SchemaError if the label fields are missing, or if an atomic update would lose data."""
        collection, url = self._collection(), self._client.url
        for name in (CLUSTER, IS_PRINCIPAL):
            existing, kind = collection.schema.fields.get(name), definitions("field")[name]["type"]
            if existing is None:
                raise self._client.missing_field(f"{name!r} for clusters")
            if existing.get("type") != kind or not existing.get("docValues") or existing.get("multiValued"):
                raise SchemaError(f"{url} has a field {name!r} of another kind, by which nothing collapses")
        if collection.schema.passage_scheme and collection.content is None:
            lost = f"what {url} has in {PASSAGES!r}, which is made from texts that are not stored"
            raise SchemaError(f"a change of documents in part would lose {lost}")
        require_safe(self._client, collection)

    def read_all(self) -> Iterator[Mapping[str, ClusterLabel]]:
        collection = self._collection()
        if CLUSTER not in collection.schema.fields:
            return
        key = collection.names.key
        for documents, _ in self._client.pages(exists(CLUSTER), key, [key, CLUSTER, IS_PRINCIPAL], READ_AT_ONCE):
            yield _read_labels(documents, key)

    def counts(self, plan: BoundPlan) -> Mapping[str, int]:
        if CLUSTER not in self._collection().schema.fields:
            return {}
        facet = {"clusters": {"type": "terms", "field": CLUSTER, "limit": -1}}
        with explain_refusals(plan):
            clusters = self._client.select({**self._request(plan), "facet": facet}).facets.get("clusters", {})
        return {str(bucket["val"]): int(bucket["count"]) for bucket in clusters.get("buckets", [])}

    def _read(self, ids: Sequence[str]) -> Mapping[str, ClusterLabel]:
        key = self._collection().names.key
        return _read_labels(self._client.fetch(one_of(key, ids), [key, CLUSTER, IS_PRINCIPAL], len(ids)), key)

    def _change(self, ids: Sequence[str], changes: Mapping[str, ClusterLabel | None]) -> list[tuple[str, str]]:
        collection = self._collection()
        key = collection.names.key
        if self._copied is None:
            self._copied = [*_Losses(self._client, collection).find_comparable()]
            self._identity = identity_fields(self._client, collection)
        fields = [*self._identity, SKETCH, SCHEME, "_version_", *names_of(self._copied)]
        if collection.schema.passage_scheme:
            fields.append(str(collection.content))
        documents = self._client.fetch(one_of(key, ids), fields, len(ids))
        # If an update would lose a value, change no document of the batch, because the caller then ends the run.
        if unsafe := uncopied_values(self._copied, documents, key):
            return [*unsafe.items()]
        updates = []
        for document, unreadable in zip(documents, self._unreadable_fields(documents, collection), strict=True):
            if (document_id := str(document[key])) in changes:
                label = changes[document_id]
                labels = {CLUSTER: label and label.cluster, IS_PRINCIPAL: label and label.is_principal}
                updates.append(update(self._identity, document, labels | unreadable))
        return send_updates(self._client, updates, key)

    def _unreadable_fields(self, documents: list[Json], collection: SolrCollection) -> Iterator[Json]:
        """For each document, yield the fields that Solr cannot read and would lose in an atomic update."""
        texts = [whole_text(document.get(collection.content or "")) for document in documents]
        made = fingerprint_fields(texts, collection, with_sketches=False)
        for sketch, passages in zip(read_sketches(self._client, collection, documents), made, strict=True):
            # An atomic update keeps the encoded sketch, which Solr stores, but not the hashes made from it.
            yield passages if sketch is None else searched_sketch_fields(sketch, collection.scheme) | passages


def _read_labels(documents: list[Json], key: str) -> dict[str, ClusterLabel]:
    return cluster_labels({str(document[key]): document for document in documents})
