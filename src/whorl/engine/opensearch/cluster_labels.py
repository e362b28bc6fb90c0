"""Writes cluster labels into two fields of an OpenSearch index, so that `collapse` shows one hit per cluster.

In a partial update, the cluster rebuilds the whole document from its source. In an index made by whorl, the source
lacks whorl's fields, so whorl computes them again for the update.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from whorl.engine.cluster_labels import (
    CHANGED_AT_ONCE,
    READ_AT_ONCE,
    ServerLabels,
    cluster_label,
    cluster_labels,
    with_cluster_label,
)
from whorl.engine.configured_and_guessed_fields import FieldNames
from whorl.engine.opensearch.backfill import updates
from whorl.engine.opensearch.client import IndexClient, guard_responses
from whorl.engine.opensearch.create_or_extend_index import require_fields
from whorl.engine.opensearch.inspect_index import keeps_own
from whorl.engine.opensearch.mapping_and_fields import (
    OF_CLUSTERS,
    OWN,
    PROPERTIES,
    Json,
    name_in,
    properties_in,
    text_in,
)
from whorl.engine.protocol import ClusterLabel
from whorl.engine.server_engine import explain_refusals
from whorl.errors import DocumentError, SchemaError
from whorl.model import CLUSTER, IS_PRINCIPAL, Document
from whorl.query.plan.nodes import BoundPlan

#: Maximum number of clusters to count in one request.
_COUNTED_AT_ONCE = 10_000
_CONFLICT, _MISSING = 409, 404


@guard_responses
class OpenSearchLabels(ServerLabels):
    """Reads and writes the cluster labels of documents in an index."""

    def __init__(self, client: IndexClient, names: FieldNames, query: Callable[[BoundPlan], Json]) -> None:
        super().__init__(client.url)
        self._client, self._names, self._query = client, names, query

    def prepare(self) -> None:
        """Label each document without a cluster as the only member of a cluster with the document's id.

        Otherwise `collapse` would put all unlabelled documents into one group.

        Raises:
            SchemaError: The index has no fields for labels.
        """
        if not require_fields(self._client, self._names).clusters:
            raise SchemaError(
                f"{self._client.url} has no fields for clusters; 'whorl opensearch init {self._client.shown}' adds them"
            )
        self._client.refresh()
        bare = {"bool": {"must_not": [{"exists": {"field": CLUSTER}}]}}
        body = {"query": bare, "size": CHANGED_AT_ONCE, "_source": {"excludes": [OWN]}, "seq_no_primary_term": True}
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
        hits = self._client.documents(ids, {"excludes": [OWN]})
        return self._label([*hits.values()], changes)

    def _label(self, hits: list[Json], changes: Mapping[str, ClusterLabel | None]) -> list[tuple[str, str]]:
        features = require_fields(self._client, self._names)
        is_in_source = keeps_own(self._client.mapping(OWN) or {})
        documents = []
        for hit in hits:
            source = hit.get("_source", {})
            # Skip an unreadable document, because it is in no cluster.
            with suppress(DocumentError):
                text, name = text_in(source, self._names), name_in(source, self._names)
                document = Document(hit["_id"], text, name, properties_in(source, self._names))
                documents.append((hit, with_cluster_label(document, changes.get(document.id))))
        changed = updates(documents, self._names, features)
        if not is_in_source:
            for (_, body), (_, document) in zip(changed, documents, strict=True):
                label = cluster_label(document.properties)
                own = {CLUSTER: [label.cluster], IS_PRINCIPAL: [label.is_principal]} if label else _NO_LABEL
                (body or {})["doc"][PROPERTIES] = own
        refused = self._client.bulk(changed)
        return [(document_id, reason) for document_id, status, reason in refused if status not in (_CONFLICT, _MISSING)]


_LABEL_FIELDS: Json = {"_source": False, "docvalue_fields": list(OF_CLUSTERS)}
_NO_LABEL: Json = {CLUSTER: [], IS_PRINCIPAL: []}


def _read_labels(hits: list[Json]) -> dict[str, ClusterLabel]:
    return cluster_labels({hit["_id"]: hit.get("fields", {}) for hit in hits})
