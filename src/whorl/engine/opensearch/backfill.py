"""`whorl opensearch backfill`: our fields for documents that are there already, made from their sources.

Only fields of ours are set, by partial updates; each names the change that was read, so a document that somebody
changes meanwhile is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from whorl.engine.backfilled import Backfilled
from whorl.engine.opensearch.answers import reads_answers_of
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.documents import name_in, own_fields, properties_in, text_in
from whorl.engine.opensearch.fields import OWN, PASSAGES, SCHEME, Json, SourceNames, stored_name
from whorl.engine.opensearch.setup import Further, require_fields
from whorl.errors import DocumentError, ParameterError, SchemaError
from whorl.fingerprint.batch import Parts, hashed
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import SketchScheme
from whorl.fingerprint.winnow import PassageScheme
from whorl.model import Document

#: Documents fetched, and sent, at once; each brings its whole text.
DEFAULT_BATCH = 100
_CONFLICT = 409


@reads_answers_of
def prepare(client: IndexClient, names: SourceNames, *, again: bool = False) -> int:
    """Return how many documents are to be looked at; nothing is changed.

    Args:
        client: Where the index is.
        names: What it calls the parts of a document.
        again: Whether those that have our fields are looked at, too.

    Raises:
        SchemaError: The documents cannot be given our fields; the message says why and what would work.
    """
    there = client.mapping()
    if there is None:
        raise SchemaError(f"{client.url} is no index; 'whorl index --store {client.shown}' makes it, with all it needs")
    passages = require_fields(client, names).passages
    if reason := source_trap(there, names):
        raise SchemaError(f"{client.url} gives no texts back: {reason}; index the documents again (whorl index)")
    client.refresh()
    return client.count(wanted(again=again, passages=passages))


def source_trap(there: Json, names: SourceNames) -> str:
    """Return why a mapping keeps no texts in the sources of documents, "" where it does."""
    source = there.get("_source", {})
    if source.get("enabled") is False:
        return "its _source is disabled"
    if any(fnmatchcase(names.content, pattern) for pattern in source.get("excludes", [])):
        return f"its _source excludes {names.content!r}"
    if source.get("includes") and not any(fnmatchcase(names.content, pattern) for pattern in source["includes"]):
        return f"its _source does not include {names.content!r}"
    return ""


def wanted(*, again: bool = False, passages: bool = False) -> Json:
    """Return the query for documents without our fields, or with those of another scheme; or for all.

    Args:
        again: Whether all are meant.
        passages: Whether those without the field of passages are meant, too.
    """
    has = [{"term": {SCHEME: {"value": stored_name(Scheme(), SketchScheme())}}}]
    if passages:
        has.append({"term": {PASSAGES: {"value": PassageScheme().name}}})
    return {"match_all": {}} if again else {"bool": {"must_not": [{"bool": {"filter": has}}]}}


@reads_answers_of
def backfill(
    client: IndexClient,
    names: SourceNames,
    *,
    batch: int = DEFAULT_BATCH,
    again: bool = False,
    progress: Callable[[Backfilled], None] = lambda _: None,
) -> Backfilled:
    """Give every document that has a text our fields; those that have them are left alone.

    A run that is stopped, however that happens, is completed by another one.

    Args:
        client: Where the index is.
        names: What it calls the parts of a document.
        batch: Documents at once, at least 1.
        again: Whether to make the fields again of documents that have them.
        progress: Called before the first batch and after each with what is done by then.

    Raises:
        SchemaError: The documents cannot be given our fields; nothing has been changed.
        EngineError: The cluster fails; what was sent before stays.
    """
    if batch < 1:
        raise ParameterError(f"batch must be at least 1, got {batch}")
    done = Backfilled(prepare(client, names, again=again))
    further = require_fields(client, names)
    progress(done)
    body: Json = {
        "query": wanted(again=again, passages=further.passages), "size": batch, "seq_no_primary_term": True,
        "_source": {"excludes": [OWN]},
    }  # fmt: skip
    for hits in client.scroll(body):
        done = _filled(client, names, hits, done, further)
        progress(done)
    client.refresh()
    return replace(
        done, left=max(0, client.count(wanted(passages=further.passages)) - done.textless - len(done.refused))
    )


def _filled(
    client: IndexClient, names: SourceNames, hits: list[Json], done: Backfilled, further: Further
) -> Backfilled:
    documents, refused = list[tuple[Json, Document]](), list[tuple[str, str]]()
    for hit in hits:
        told = hit.get("_source", {})
        if text := text_in(told, names):
            try:
                document = Document(hit["_id"], text, name_in(told, names), properties_in(told, names))
            except DocumentError as error:
                refused.append((hit["_id"], str(error)))
            else:
                documents.append((hit, document))
    textless = len(hits) - len(documents) - len(refused)
    changes = updates(documents, names, further)
    answered = client.bulk(changes)
    refused += [(document_id, reason) for document_id, status, reason in answered if status != _CONFLICT]
    return replace(
        done,
        sent=done.sent + len(changes) - len(answered),
        textless=done.textless + textless,
        refused=(*done.refused, *refused),
    )


def updates(
    documents: Sequence[tuple[Json, Document]], names: SourceNames, further: Further
) -> list[tuple[Json, Json | None]]:
    """Return the partial updates that give documents our fields, if they are still what was read.

    Args:
        documents: Hits with their numbers of changes, each with the document that was read from it.
        names: What an index calls the parts of a document.
        further: Which further fields it has.
    """
    scheme, sketch_scheme = Scheme(), SketchScheme()
    passages = PassageScheme() if further.passages else None
    read = hashed((document.text for _, document in documents), scheme, Parts.ALL, workers=1)
    return [
        (
            _update(hit),
            {"doc": own_fields(document, found, scheme, sketch_scheme, names, passages, clusters=further.clusters)},
        )
        for (hit, document), found in zip(documents, read, strict=True)
    ]


def _update(hit: Json) -> Json:
    routing = {"routing": hit["_routing"]} if "_routing" in hit else {}
    read = {"if_seq_no": hit["_seq_no"], "if_primary_term": hit["_primary_term"]}
    return {"update": {"_id": hit["_id"], **read, **routing}}
