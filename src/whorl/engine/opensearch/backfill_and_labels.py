"""Updates documents of an OpenSearch index: adds whorl's fields (`whorl opensearch backfill`) and cluster labels.

Each update sets only whorl's fields, which whorl computes from the `_source`. It contains the sequence number that
whorl has read (compare-and-set), so the cluster does not update a document that has changed since.

In a partial update, the cluster rebuilds the whole document from its source. In an index made by whorl, the source
lacks whorl's fields, so an update of a label also sets all other fields of whorl.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial

from whorl.engine.backfill_loop import DEFAULT_BATCH, BackfillReport, fill_batches, ignore_progress, require_batch
from whorl.engine.cluster_labels import (
    CHANGED_AT_ONCE,
    READ_AT_ONCE,
    ServerLabels,
    cluster_label,
    cluster_labels,
    with_cluster_label,
)
from whorl.engine.configured_fields import FieldNames
from whorl.engine.opensearch.client import IndexClient, address
from whorl.engine.opensearch.create_index import (
    ensure_index,
    has_own_fields_in_source,
    missing_texts_reason,
    whole_documents,
)
from whorl.engine.opensearch.document_fields import (
    CLUSTER_FIELDS,
    HAS_OWN_FIELDS,
    OWN,
    PASSAGES,
    PROPERTIES,
    SCHEME,
    WITHOUT_TOKENS,
    IndexFeatures,
    Json,
    document_in,
    has_text_field,
    own_fields,
)
from whorl.engine.protocol import ClusterLabel
from whorl.engine.server_engine import explain_refusals, guard_response, guard_responses
from whorl.errors import DocumentError, SchemaError
from whorl.model import CLUSTER, IS_PRINCIPAL, Document
from whorl.query.plan.nodes import BoundPlan

#: HTTP statuses of an update that the cluster refuses: the document has changed, or does not exist.
CONFLICT, _MISSING = 409, 404
#: Maximum number of clusters to count in one request.
_COUNTED_AT_ONCE = 10_000
#: Features of an index without optional fields, for queries that concern only the required fields.
_NO_FEATURES = IndexFeatures(minhash=False)
_LABEL_FIELDS: Json = {"_source": False, "docvalue_fields": list(CLUSTER_FIELDS)}


@guard_response
def prepare(client: IndexClient, names: FieldNames, *, all_documents: bool = False) -> int:
    """Return the number of documents to process (all of them if `all_documents`), without changing anything.

    Raises:
        SchemaError: The documents cannot get whorl's fields; the message gives the reason and a remedy.
    """
    mapping = client.mapping()
    if mapping is None:
        message = f"{client.url} is not an index; 'whorl index --store {client.store_url}' makes it, with all it needs"
        raise SchemaError(message)
    features = ensure_index(client, names)
    if reason := missing_texts_reason(mapping, names.content):
        raise SchemaError(f"{client.url} gives no texts back: {reason}; index the documents again (whorl index)")
    client.refresh()
    return client.count(missing_fields_query(features, all_documents=all_documents))


def missing_fields_query(
    features: IndexFeatures = _NO_FEATURES, *, all_documents: bool = False, text: str | None = None
) -> Json:
    """Return the query for documents without whorl's fields, or with fields for other schemes.

    Args:
        features: Also match documents without passages or MinHash tokens, if the index has fields for them.
        all_documents: Match all documents.
        text: Match only documents with a value in this field (`searchable_text`), or with fields for another scheme.
    """
    has = [HAS_OWN_FIELDS]
    if features.passages:
        has.append({"term": {PASSAGES: {"value": features.passages.name}}})
    if features.minhash:
        has.append({"bool": {"must_not": WITHOUT_TOKENS}})
    if all_documents:
        return {"match_all": {}}
    with_text = [{"exists": {"field": field}} for field in (text, SCHEME) if text]
    return {"bool": {"must_not": [{"bool": {"filter": has}}], "filter": {"bool": {"should": with_text}}}}


@guard_response
def backfill(
    client: IndexClient,
    names: FieldNames,
    *,
    batch: int = DEFAULT_BATCH,
    all_documents: bool = False,
    progress: Callable[[BackfillReport], None] = ignore_progress,
) -> BackfillReport:
    """Add whorl's fields to all documents that have a text. If the cluster fails, earlier updates remain.

    An empty text counts as a text, because queries cannot distinguish it from other texts. If `all_documents`, compute
    the fields again for documents that already have them. `progress` gets the counts so far, see `fill_batches`.
    """
    require_batch(batch)
    total = prepare(client, names, all_documents=all_documents)
    features = ensure_index(client, names)
    query = missing_fields_query(features, all_documents=all_documents)
    body: Json = {"query": query, "size": batch, **whole_documents(client)}
    return fill_batches(
        total,
        client.scroll(body),
        partial(_fill, client, names, features),
        commit=client.refresh,
        lacking=lambda: client.count(missing_fields_query(features)),
        progress=progress,
    )


def _fill(client: IndexClient, names: FieldNames, features: IndexFeatures, hits: list[Json]) -> BackfillReport:
    documents, refused = list[tuple[Json, Document]](), list[tuple[str, str]]()
    for hit in hits:
        if has_text_field(hit.get("_source", {}), names):
            try:
                documents.append((hit, document_in(hit, names)))
            except DocumentError as error:
                refused.append((hit["_id"], str(error)))
    textless = len(hits) - len(documents) - len(refused)
    changes = updates(documents, names, features)
    failures = client.bulk(changes)
    refused += [(key, reason) for key, status, reason in failures if status not in (CONFLICT, _MISSING)]
    example = min((document.id for _, document in documents if document.text.strip()), default="")
    return BackfillReport(
        example=example,
        sent=len(changes) - len(failures),
        textless=textless,
        refused=tuple(refused),
        changed=sum(status == CONFLICT for _, status, _ in failures),
    )


def updates(
    documents: Sequence[tuple[Json, Document]], names: FieldNames, features: IndexFeatures
) -> list[tuple[Json, Json | None]]:
    """Return bulk updates that add whorl's fields to hits. The cluster skips documents that have changed."""
    read = [document for _, document in documents]
    changes = zip(documents, own_fields(read, names, features), strict=True)
    return [({"update": require_unchanged(hit)}, {"doc": changed}) for (hit, _), changed in changes]


def require_unchanged(hit: Json) -> Json:
    """Return the metadata of a bulk action that the cluster refuses if the document has changed since it was read."""
    return {**address(hit), "if_seq_no": hit["_seq_no"], "if_primary_term": hit["_primary_term"]}


@guard_responses
class OpenSearchLabels(ServerLabels):
    """Reads and writes the cluster labels of documents in an index."""

    def __init__(self, client: IndexClient, names: FieldNames, query: Callable[[BoundPlan], Json]) -> None:
        super().__init__(client.url)
        self._client, self._names, self._query = client, names, query

    @cached_property
    def _whole_documents(self) -> Json:
        return whole_documents(self._client)

    def prepare(self) -> None:
        """Give unlabelled documents their id as cluster, because `collapse` merges all documents without a cluster."""
        if not ensure_index(self._client, self._names).clusters:
            problem = f"{self._client.url} has no fields for clusters"
            raise SchemaError(f"{problem}; 'whorl opensearch init {self._client.store_url}' adds them")
        self._client.refresh()
        bare = {"bool": {"must_not": [{"exists": {"field": CLUSTER}}]}}
        body = {"query": bare, "size": CHANGED_AT_ONCE, **self._whole_documents}
        for hits in self._client.scroll(body):
            self._require_written(self._label(hits, {}))

    def read_all(self) -> Iterator[Mapping[str, ClusterLabel]]:
        body = {"query": {"exists": {"field": IS_PRINCIPAL}}, "size": READ_AT_ONCE, **_LABEL_FIELDS}
        self._client.refresh()
        for hits in self._client.scroll(body):
            yield _read_labels(hits)

    def counts(self, plan: BoundPlan) -> Mapping[str, int]:
        clusters: Json = {"size": _COUNTED_AT_ONCE, "sources": [{"id": {"terms": {"field": CLUSTER}}}]}
        query = {"bool": {"filter": [self._query(plan), {"exists": {"field": IS_PRINCIPAL}}]}}
        counts = dict[str, int]()
        while True:
            with explain_refusals(plan):
                response = self._client.search(
                    {"size": 0, "query": query, "aggs": {"clusters": {"composite": clusters}}}
                )
            composite = response["aggregations"]["clusters"]
            counts |= {bucket["key"]["id"]: int(bucket["doc_count"]) for bucket in composite["buckets"]}
            if len(composite["buckets"]) < _COUNTED_AT_ONCE:
                return counts
            clusters = {**clusters, "after": composite["after_key"]}

    def _read(self, ids: Sequence[str]) -> Mapping[str, ClusterLabel]:
        body = {"query": {"ids": {"values": list(ids)}}, "size": len(ids), **_LABEL_FIELDS}
        return _read_labels(self._client.hits(body))

    def _change(self, ids: Sequence[str], changes: Mapping[str, ClusterLabel | None]) -> list[tuple[str, str]]:
        body = {"query": {"ids": {"values": list(ids)}}, "size": len(ids), **self._whole_documents}
        return self._label(self._client.hits(body), changes)

    def _label(self, hits: list[Json], changes: Mapping[str, ClusterLabel | None]) -> list[tuple[str, str]]:
        features = ensure_index(self._client, self._names)
        is_in_source = has_own_fields_in_source(self._client.mapping(OWN) or {})
        documents = []
        for hit in hits:
            # Skip a document that whorl cannot read, because it is in no cluster.
            with suppress(DocumentError):
                document = document_in(hit, self._names)
                documents.append((hit, with_cluster_label(document, changes.get(document.id))))
        changed = updates(documents, self._names, features)
        if not is_in_source:
            for (_, body), (_, document) in zip(changed, documents, strict=True):
                label = cluster_label(document.properties)
                values = ([label.cluster], [label.is_principal]) if label else ([], [])
                (body or {})["doc"][PROPERTIES] = dict(zip((CLUSTER, IS_PRINCIPAL), values, strict=True))
        refused = self._client.bulk(changed)
        return [(document_id, reason) for document_id, status, reason in refused if status not in (CONFLICT, _MISSING)]


def _read_labels(hits: list[Json]) -> dict[str, ClusterLabel]:
    return cluster_labels({hit["_id"]: hit.get("fields", {}) for hit in hits})
