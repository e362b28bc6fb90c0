"""`whorl opensearch backfill`: computes whorl's fields for existing documents from their `_source`.

Each update sets only whorl's fields. It contains the sequence number that whorl has read (compare-and-set), so the
cluster does not update a document that has changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from whorl.engine.backfill import DEFAULT_BATCH, BackfillReport, fill_batches, ignore_progress, require_batch
from whorl.engine.configured_and_guessed_fields import FieldNames
from whorl.engine.opensearch.client import IndexClient, guard_response
from whorl.engine.opensearch.create_or_extend_index import require_fields
from whorl.engine.opensearch.inspect_index import source_trap
from whorl.engine.opensearch.mapping_and_fields import (
    OWN,
    PASSAGES,
    SCHEME,
    IndexFeatures,
    Json,
    name_in,
    own_fields,
    properties_in,
    scheme_value,
    text_in,
)
from whorl.errors import DocumentError, SchemaError
from whorl.fingerprint.fingerprint_texts import hash_texts, index_parts
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import SketchScheme
from whorl.fingerprint.winnowing import PassageScheme
from whorl.model import Document

_CONFLICT = 409


@guard_response
def prepare(client: IndexClient, names: FieldNames, *, again: bool = False) -> int:
    """Check whether a backfill is possible, without changing anything; return the number of documents to process.

    If `again`, all documents are processed.

    Raises:
        SchemaError: The documents cannot get whorl's fields; the message gives the reason and a remedy.
    """
    mapping = client.mapping()
    if mapping is None:
        raise SchemaError(f"{client.url} is no index; 'whorl index --store {client.shown}' makes it, with all it needs")
    features = require_fields(client, names)
    if reason := source_trap(mapping, names.content):
        raise SchemaError(f"{client.url} gives no texts back: {reason}; index the documents again (whorl index)")
    client.refresh()
    return client.count(missing_fields_query(again=again, passages=features.passages))


def missing_fields_query(
    *, again: bool = False, passages: PassageScheme | None = None, text: str | None = None
) -> Json:
    """Return the query for documents without whorl's fields, or with fields for other schemes.

    Args:
        again: Match all documents.
        passages: Also match documents without passages of this scheme.
        text: Match only documents with a value in this field (`searchable_text`), or with another scheme.
    """
    has = [{"term": {SCHEME: {"value": scheme_value(Scheme(), SketchScheme())}}}]
    if passages:
        has.append({"term": {PASSAGES: {"value": passages.name}}})
    if again:
        return {"match_all": {}}
    with_text = [{"exists": {"field": field}} for field in (text, SCHEME) if text]
    return {"bool": {"must_not": [{"bool": {"filter": has}}], "filter": {"bool": {"should": with_text}}}}


@guard_response
def backfill(
    client: IndexClient,
    names: FieldNames,
    *,
    batch: int = DEFAULT_BATCH,
    again: bool = False,
    progress: Callable[[BackfillReport], None] = ignore_progress,
) -> BackfillReport:
    """Add whorl's fields to all documents that have a text and lack these fields.

    Args:
        again: Compute the fields again for documents that already have them.
        progress: Called with the counts so far, before the first batch and after each batch.

    Raises:
        SchemaError: The documents cannot get whorl's fields; nothing has been changed.
        EngineError: The cluster failed; earlier updates remain.
    """
    require_batch(batch)
    total = prepare(client, names, again=again)
    features = require_fields(client, names)
    query = missing_fields_query(again=again, passages=features.passages)
    body: Json = {"query": query, "size": batch, "seq_no_primary_term": True, "_source": {"excludes": [OWN]}}
    return fill_batches(
        total,
        client.scroll(body),
        partial(_fill, client, names, features),
        commit=client.refresh,
        lacking=lambda: client.count(missing_fields_query(passages=features.passages)),
        progress=progress,
    )


def _fill(client: IndexClient, names: FieldNames, features: IndexFeatures, hits: list[Json]) -> BackfillReport:
    documents, refused = list[tuple[Json, Document]](), list[tuple[str, str]]()
    for hit in hits:
        source = hit.get("_source", {})
        if text := text_in(source, names):
            try:
                document = Document(hit["_id"], text, name_in(source, names), properties_in(source, names))
            except DocumentError as error:
                refused.append((hit["_id"], str(error)))
            else:
                documents.append((hit, document))
    textless = len(hits) - len(documents) - len(refused)
    changes = updates(documents, names, features)
    failures = client.bulk(changes)
    refused += [(document_id, reason) for document_id, status, reason in failures if status != _CONFLICT]
    example = min((document.id for _, document in documents), default="")
    return BackfillReport(example=example, sent=len(changes) - len(failures), textless=textless, refused=tuple(refused))


def updates(
    documents: Sequence[tuple[Json, Document]], names: FieldNames, features: IndexFeatures
) -> list[tuple[Json, Json | None]]:
    """Return bulk updates that add whorl's fields to hits.

    The cluster refuses an update if the document has changed since it was read.
    """
    read = [document for _, document in documents]
    fingerprints = hash_texts((document.text for document in read), Scheme(), index_parts(Scheme()), workers=1)
    fields = own_fields(read, fingerprints, (Scheme(), SketchScheme()), names, features)
    return [(_update(hit), {"doc": own}) for (hit, _), own in zip(documents, fields, strict=True)]


def _update(hit: Json) -> Json:
    routing = {"routing": hit["_routing"]} if "_routing" in hit else {}
    version = {"if_seq_no": hit["_seq_no"], "if_primary_term": hit["_primary_term"]}
    return {"update": {"_id": hit["_id"], **version, **routing}}
