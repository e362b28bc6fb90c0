"""Cluster labels in an index: two of whorl's fields, which the cluster's own `collapse` uses.

A partial update rebuilds the whole document from its source. In an index made by whorl, the source contains none of
whorl's fields, so the update includes all of them, made again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress

from whorl.arrays import batches
from whorl.engine.lucene import explain_refusals
from whorl.engine.opensearch.backfill import updates
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.documents import (
    OF_CLUSTERS,
    OWN,
    PROPERTIES,
    Json,
    SourceNames,
    name_in,
    properties_in,
    text_in,
)
from whorl.engine.opensearch.setup import keeps_own, require_fields
from whorl.engine.opensearch.transport import guard_responses
from whorl.engine.protocol import ClusterLabel, cluster_label, cluster_labels, with_cluster_label
from whorl.errors import DocumentError, EngineResponseError, SchemaError
from whorl.model import CLUSTER, IS_PRINCIPAL, Document
from whorl.query.plan.nodes import BoundPlan

#: Documents per update request, with their texts, and per read request.
_CHANGED_AT_ONCE, _READ_AT_ONCE = 100, 1000
#: Clusters counted in one request.
_COUNTED_AT_ONCE = 10_000
_CONFLICT, _MISSING = 409, 404


@guard_responses
class OpenSearchLabels:
    """Cluster labels of the documents of an index.

    Args:
        client: Client of the index.
        names: The index's names for the parts of a document.
        query: Returns the query of a plan.
    """

    def __init__(self, client: IndexClient, names: SourceNames, query: Callable[[BoundPlan], Json]) -> None:
        self._client, self._names, self._query = client, names, query

    def prepare(self) -> None:
        """Raise SchemaError unless the fields exist; write its own id into each document without a cluster."""
        if not require_fields(self._client, self._names).clusters:
            raise SchemaError(
                f"{self._client.url} has no fields for clusters; 'whorl opensearch init {self._client.shown}' adds them"
            )
        self._client.refresh()
        bare = {"bool": {"must_not": [{"exists": {"field": CLUSTER}}]}}
        body = {"query": bare, "size": _CHANGED_AT_ONCE, "_source": {"excludes": [OWN]}, "seq_no_primary_term": True}
        for hits in self._client.scroll(body):
            self._change(hits, {})

    def everything(self) -> Iterator[Mapping[str, ClusterLabel]]:
        """Yield all cluster labels by document id, a batch at a time."""
        body = {"query": {"exists": {"field": IS_PRINCIPAL}}, "size": _READ_AT_ONCE, **_LABEL_FIELDS}
        self._client.refresh()
        for hits in self._client.scroll(body):
            yield _read_labels(hits)

    def labels_of(self, ids: Collection[str]) -> Mapping[str, ClusterLabel]:
        """Return the cluster labels of documents by id; documents without one are left out."""
        found = dict[str, ClusterLabel]()
        for some in batches(ids, _READ_AT_ONCE):
            found |= _read_labels(
                self._client.hits({"query": {"ids": {"values": some}}, "size": len(some), **_LABEL_FIELDS})
            )
        return found

    def counts(self, plan: BoundPlan) -> Mapping[str, int]:
        """Return the number of documents per cluster that match a plan, for clusters with at least one."""
        clusters: Json = {"size": _COUNTED_AT_ONCE, "sources": [{"id": {"terms": {"field": CLUSTER}}}]}
        query = {"bool": {"filter": [self._query(plan), {"exists": {"field": IS_PRINCIPAL}}]}}
        counts = dict[str, int]()
        while True:
            with explain_refusals(plan):
                found = self._client.search({"size": 0, "query": query, "aggs": {"clusters": {"composite": clusters}}})
            composite = found["aggregations"]["clusters"]
            counts |= {each["key"]["id"]: int(each["doc_count"]) for each in composite["buckets"]}
            if len(composite["buckets"]) < _COUNTED_AT_ONCE:
                return counts
            clusters = {**clusters, "after": composite["after_key"]}

    def write(self, changes: Mapping[str, ClusterLabel | None]) -> None:
        """Set or remove (None) the cluster labels of documents; the next refresh makes the change searchable."""
        for some in batches(changes, _CHANGED_AT_ONCE):
            hits = self._client.documents(some, {"excludes": [OWN]})
            self._change(list(hits.values()), {each: changes[each] for each in some})

    def _change(self, hits: list[Json], changes: Mapping[str, ClusterLabel | None]) -> None:
        features = require_fields(self._client, self._names)
        is_kept_in_source = keeps_own(self._client.mapping(OWN) or {})
        documents = []
        for hit in hits:
            source = hit.get("_source", {})
            # A document that whorl cannot read is in no cluster.
            with suppress(DocumentError):
                text, name = text_in(source, self._names), name_in(source, self._names)
                document = Document(hit["_id"], text, name, properties_in(source, self._names))
                documents.append((hit, with_cluster_label(document, changes.get(document.id))))
        sent = updates(documents, self._names, features)
        if not is_kept_in_source:
            for (_, body), (_, document) in zip(sent, documents, strict=True):
                mark = cluster_label(document.properties)
                own = {CLUSTER: [mark.cluster], IS_PRINCIPAL: [mark.is_principal]} if mark else _NO_LABEL
                (body or {})["doc"][PROPERTIES] = own
        for document_id, status, reason in self._client.bulk(sent):
            if status not in (_CONFLICT, _MISSING):
                raise EngineResponseError(f"{self._client.url} refuses the cluster of {document_id!r}: {reason}")


_LABEL_FIELDS: Json = {"_source": False, "docvalue_fields": list(OF_CLUSTERS)}
_NO_LABEL: Json = {CLUSTER: [], IS_PRINCIPAL: []}


def _read_labels(hits: list[Json]) -> dict[str, ClusterLabel]:
    return cluster_labels({hit["_id"]: hit.get("fields", {}) for hit in hits})
